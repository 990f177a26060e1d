//! The documents, with their links and contents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A Markdown file of the project.
pub struct Document {
    path: PathBuf,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages_folder() -> PathBuf {
    root().join("docs/src")
}

/// Returns the documents beside the manifest, and the pages of the book.
pub fn documents() -> Vec<Document> {
    let mut paths = Vec::new();
    collect(root(), false, &mut paths);
    collect(&pages_folder(), true, &mut paths);
    paths.into_iter().map(Document::read).collect()
}

/// Collects the Markdown files of a folder, sorted by name.
fn collect(folder: &Path, with_folders: bool, paths: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    entries.sort();
    for path in entries {
        if with_folders && path.is_dir() {
            collect(&path, true, paths);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
}

impl Document {
    fn read(path: PathBuf) -> Document {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Document { path, text }
    }

    /// Returns its path in the project.
    pub fn name(&self) -> String {
        self.path.strip_prefix(root()).unwrap_or(&self.path).display().to_string()
    }

    /// Returns the number of the line at a position.
    fn line(&self, position: usize) -> usize {
        1 + self.text[..position].matches('\n').count()
    }

    /// Returns the events of the Markdown parser, with the numbers of their lines.
    fn events(&self) -> impl Iterator<Item = (Event<'_>, usize)> {
        let events = Parser::new_ext(&self.text, Options::ENABLE_TABLES).into_offset_iter();
        events.map(|(event, range)| (event, self.line(range.start)))
    }

    /// Returns the lines of shell blocks, each joined with its continuation lines, and its number.
    pub fn shell_lines(&self) -> Vec<(usize, String)> {
        let mut lines: Vec<(usize, String)> = Vec::new();
        let mut is_shell = false;
        for (event, first) in self.events() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => is_shell = &*info == "sh",
                Event::End(TagEnd::CodeBlock) => is_shell = false,
                Event::Text(text) if is_shell => {
                    for (index, line) in text.lines().enumerate() {
                        match lines.last_mut() {
                            Some((_, before)) if before.ends_with('\\') => {
                                before.pop();
                                before.push_str(line.trim_start());
                            }
                            _ => lines.push((first + index, line.to_owned())),
                        }
                    }
                }
                _ => {}
            }
        }
        lines
    }

    /// Returns the targets of its links and pictures, with the numbers of their lines.
    fn links(&self) -> Vec<(usize, String)> {
        let targets = self.events().filter_map(|(event, line)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some((line, dest_url.into_string()))
            }
            _ => None,
        });
        targets.filter(|(_, target)| !["http:", "https:", "mailto:"].iter().any(|it| target.starts_with(it))).collect()
    }

    /// Returns the anchors of its headings, as mdBook and code hosts make them.
    fn anchors(&self) -> BTreeSet<String> {
        let mut counts = BTreeMap::new();
        let mut anchors = BTreeSet::new();
        let mut heading: Option<String> = None;
        for (event, _) in self.events() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => heading.iter_mut().for_each(|heading| heading.push_str(&text)),
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().unwrap_or_default());
                    let count = counts.entry(anchor.clone()).or_insert(0);
                    anchors.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
                    *count += 1;
                }
                _ => {}
            }
        }
        anchors
    }

    /// Returns the fault of a link, if it has one.
    fn fault(&self, link: &str) -> Option<String> {
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let folder = self.path.parent().expect("a file is in a folder");
        let target = if path.is_empty() { self.path.clone() } else { folder.join(path) };
        let Ok(target) = target.canonicalize() else { return Some("there is no such file".to_owned()) };
        let in_book = |path: &Path| pages_folder().canonicalize().is_ok_and(|pages| path.starts_with(pages));
        if in_book(&folder.canonicalize().unwrap_or_default()) && !in_book(&target) {
            return Some("it leads out of docs/src, which mdbook does not follow".to_owned());
        }
        if anchor.is_empty() || target.extension().is_none_or(|extension| extension != "md") {
            return None;
        }
        let is_missing = !Document::read(target).anchors().contains(anchor);
        is_missing.then(|| format!("there is no heading with the anchor #{anchor}"))
    }
}

fn anchor(heading: &str) -> String {
    let letters = heading.trim().chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    letters.collect::<String>().to_lowercase()
}

#[test]
fn links_and_pictures_have_targets() {
    let mut faults = Vec::new();
    for document in documents() {
        for (line, link) in document.links() {
            faults.extend(document.fault(&link).map(|fault| format!("{}:{line}: {link}: {fault}", document.name())));
        }
    }
    assert!(faults.is_empty(), "links that lead nowhere:\n{}", faults.join("\n"));
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = Document::read(pages_folder().join("SUMMARY.md"));
    let listed: BTreeSet<PathBuf> = summary.links().into_iter().map(|(_, link)| pages_folder().join(link)).collect();
    let mut pages = Vec::new();
    collect(&pages_folder(), true, &mut pages);
    let pages: BTreeSet<PathBuf> = pages.into_iter().filter(|path| *path != summary.path).collect();
    let unlisted: Vec<_> = pages.difference(&listed).collect();
    assert!(unlisted.is_empty(), "pages that docs/src/SUMMARY.md does not list: {unlisted:?}");
    let missing: Vec<_> = listed.difference(&pages).collect();
    assert!(missing.is_empty(), "docs/src/SUMMARY.md lists pages that are not there: {missing:?}");
}

#[test]
fn the_first_documents_stay_short() {
    let [readme, architecture] = ["README.md", "ARCHITECTURE.md"].map(|name| Document::read(root().join(name)).text);
    let (lines, words) = (readme.lines().count(), architecture.split_whitespace().count());
    assert!(lines <= 120, "README.md has {lines} lines, more than 120; details belong in docs/src");
    assert!(words <= 1500, "ARCHITECTURE.md has {words} words, more than 1,500");
}

#[test]
fn anchors_are_those_of_the_headings() {
    let text =
        "# A `b`: c\n\n## A b c\n\n## Größe, η\n\n```sh\na \\\n  b\n```\n\n- x\n\n  ```sh\n  c\n  ```\n".to_owned();
    let document = Document { path: PathBuf::new(), text };
    let expected = ["a-b-c", "a-b-c-1", "größe-η"].map(str::to_owned);
    assert_eq!(document.anchors(), BTreeSet::from(expected));
    assert_eq!(document.shell_lines(), [(8, "a b".to_owned()), (15, "c".to_owned())]);
}
