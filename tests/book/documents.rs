//! The documents: their links and contents, and the commands in them, checked by the definition of the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

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

    pub fn name(&self) -> String {
        self.path.strip_prefix(root()).unwrap_or(&self.path).display().to_string()
    }

    fn line(&self, position: usize) -> usize {
        1 + self.text[..position].matches('\n').count()
    }

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

#[test]
fn commands_in_documents_are_valid() {
    let mut checked = 0;
    let mut faults = Vec::new();
    for document in documents() {
        for (number, line) in document.shell_lines() {
            for arguments in calls(&line) {
                checked += 1;
                if let Err(fault) = understood(&arguments) {
                    faults.push(format!("{}:{number}: {line}\n{fault}", document.name()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "commands that valleyscope refuses:\n\n{}", faults.join("\n\n"));
    assert!(checked > 10, "only {checked} commands are found");
}

fn understood(arguments: &[String]) -> Result<(), String> {
    let line = std::iter::once("valleyscope").chain(arguments.iter().map(String::as_str));
    match valleyscope::cli::command().try_get_matches_from(line) {
        // Help and version are no mistakes, but no matches either.
        Err(refusal) if refusal.use_stderr() => Err(refusal.to_string()),
        _ => Ok(()),
    }
}

/// Programs whose arguments may be files or folders named `valleyscope`.
const NO_CALLERS: [&str; 6] = ["cd", "cp", "ln", "rsync", "scp", "which"];

/// Returns the arguments of each call of valleyscope in a line of shell: alone, behind another program such as srun, by
/// cargo, or in quotation marks for another shell.
fn calls(line: &str) -> Vec<Vec<String>> {
    if !["valleyscope", "cargo"].iter().any(|program| line.contains(program)) {
        return Vec::new();
    }
    let words = shlex::split(&without_variables(line)).unwrap_or_else(|| panic!("not a line of shell: {line}"));
    let apart = |word: &String| match word.strip_suffix(';') {
        Some(word) => vec![word.to_owned(), ";".to_owned()],
        None => vec![word.clone()],
    };
    let words: Vec<String> = words.iter().flat_map(apart).collect();
    let mut calls = Vec::new();
    for command in words.split(|word| word.starts_with(['|', '&', ';'])) {
        let by_cargo = ["cargo", "run"].iter().all(|name| command.iter().any(|word| word == name));
        let starts_it = |word: &String| match by_cargo {
            true => word == "--",
            false => word == "valleyscope" || word.ends_with("/valleyscope"),
        };
        let is_call = command.first().is_some_and(|first| !NO_CALLERS.contains(&first.as_str()));
        let is_redirection = |word: &&String| word.trim_start_matches(['1', '2']).starts_with(['<', '>']);
        if let Some(program) = command.iter().position(starts_it).filter(|_| is_call) {
            let arguments = command[program + 1..].iter().take_while(|word| !is_redirection(word));
            calls.push(arguments.map(|word| word.trim_end_matches(')').to_owned()).collect());
        }
        let nested = command.iter().filter(|word| word.contains("valleyscope "));
        nested.for_each(|line| calls.extend(self::calls(line.trim_end_matches(')'))));
    }
    calls
}

/// Replaces the variables of the shell and of parallel in a line by 1, which is a valid number, name and path. A
/// command in `$(…)` that calls valleyscope stays.
fn without_variables(line: &str) -> String {
    let Some((before, after)) = line.split_once('$') else { return line.replace("{}", "1") };
    let behind = |end: &str| after.find(end).map_or(after.len(), |start| start + end.len());
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_@*#".contains(c);
    let length = match after.chars().next() {
        _ if after.starts_with("((") => behind("))"),
        Some('(') if after[..behind(")")].contains("valleyscope") => {
            return format!("{before} {}", without_variables(&after[1..]));
        }
        Some('(') => behind(")"),
        Some('{') => behind("}"),
        _ => after.find(|c| !is_name(c)).unwrap_or(after.len()),
    };
    format!("{}1{}", before.replace("{}", "1"), without_variables(&after[length..]))
}

#[test]
fn calls_are_found_in_any_position() {
    let calls = |line: &str| -> Vec<String> { calls(line).into_iter().map(|words| words.join(" ")).collect() };
    assert_eq!(calls("A=1 valleyscope train 'a b' > log 2>&1 # valleyscope"), ["train a b"]);
    assert_eq!(calls("mkdir -p x && ./valleyscope presets show mnist >x/config.ron | wc"), ["presets show mnist"]);
    assert_eq!(calls("seq 9 | parallel -j 1 valleyscope sweep fig2a --part {}/9"), ["sweep fig2a --part 1/9"]);
    assert_eq!(calls("for i in {1..8}; do valleyscope train mnist --set seed=$i; done"), ["train mnist --set seed=1"]);
    assert_eq!(calls("srun valleyscope sweep --part $((ID + 1))/8 --out \"${A}/b\""), ["sweep --part 1/8 --out 1/b"]);
    assert_eq!(calls("job=$(sbatch --wrap 'valleyscope train x --part $N/8')"), ["train x --part 1/8"]);
    assert_eq!(calls("a=$(valleyscope runs show last) b=$(date +%F)"), ["runs show last b=1"]);
    assert_eq!(calls("ssh box 'cd valleyscope && target/release/valleyscope runs list &'"), ["runs list"]);
    assert_eq!(calls("cargo xtask run -- doctor"), ["doctor"]);
    assert_eq!(calls("valleyscope-train run x; cargo build"), Vec::<String>::new());
}

#[test]
fn a_wrong_option_is_noticed() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(understood(&words("sweep fig2a --grid 2x2 --out x")).is_ok());
    assert!(understood(&words("sweep --help")).is_ok());
    assert!(understood(&words("sweep fig2a --gird 2x2 --out x")).unwrap_err().contains("--gird"));
    assert!(understood(&words("sweep fig2a --grid many --out x")).is_err());
}
