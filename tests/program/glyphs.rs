//! The bundled font has a glyph for every character of every text that the program can show: the string
//! and character literals of its sources and of its presets. Comments are left out.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use skrifa::{FontRef, MetadataProvider};
use syn::Lit;
use valleyscope_engine::terminal_escape::visible;

const FONT: &[u8] = include_bytes!("../../assets/fonts/ValleyscopeSans.otf");

#[test]
fn every_character_shown_has_a_glyph() {
    let font = FontRef::new(FONT).expect("the bundled font is a font");
    let charmap = font.charmap();
    // The byte order mark is taken off texts that are read; control characters are shown as escapes.
    let invisible = |c: char| c == '\u{feff}' || visible(&c.to_string()) != c.to_string();
    let has_glyph = |c: char| invisible(c) || charmap.map(c).is_some_and(|glyph| glyph.to_u32() != 0);

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let crates = fs::read_dir(root.join("crates")).expect("there are crates");
    let packages = crates.map(|package| package.expect("a crate's folder").path()).chain([root.to_owned()]);
    packages.for_each(|package| collect(&package.join("src"), "rs", &mut files));
    collect(&root.join("presets"), "ron", &mut files);
    let mut characters = 0;
    let mut missing = Vec::new();
    for file in &files {
        let name = file.strip_prefix(root).unwrap_or(file).display();
        let source = fs::read_to_string(file).expect("a text file").parse();
        for text in literals(source.unwrap_or_else(|error| panic!("{name}: {error}"))) {
            characters += text.chars().count();
            let without = text.chars().filter(|c| !has_glyph(*c));
            missing.extend(without.map(|c| format!("{name}: {c:?} (U+{:04X}) in {text:?}", u32::from(c))));
        }
    }
    assert!(characters > 1000, "only {characters} characters found in {} files", files.len());
    assert!(missing.is_empty(), "no glyph for\n{}", missing.join("\n"));
}

#[test]
fn digits_have_equal_widths() {
    let font = FontRef::new(FONT).expect("the bundled font is a font");
    let metrics = font.glyph_metrics(skrifa::instance::Size::unscaled(), skrifa::instance::LocationRef::default());
    let width = |c| metrics.advance_width(font.charmap().map(c).expect("a glyph")).expect("a width");
    for digit in '1'..='9' {
        assert_eq!(width(digit), width('0'), "{digit}");
    }
}

#[test]
fn literals_are_found_and_comments_left_out() {
    let text = |source: &str| literals(source.parse().expect("a source")).concat();
    assert_eq!(text("// \"no\" é\n/// \"no\" é\nstruct A;"), "");
    assert_eq!(text("/* a /* b */ \"no\" */ \"yes\""), "yes");
    assert_eq!(text(r#"f("a\"b", 'c', '\'', "d")"#), "a\"bc'd");
    assert_eq!(text(r##"r#"raw "quoted" \u"# + "é""##), "raw \"quoted\" \\ué");
    assert_eq!(text(r#"fn f<'a>(x: &'a str) { g("β", '\u{2207}') }"#), "β∇");
    assert_eq!(text("\"one // two\""), "one // two");
}

fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            collect(&path, extension, files);
        } else if path.extension().is_some_and(|it| it == extension) {
            files.push(path);
        }
    }
}

/// The texts of all string and character literals of a Rust or RON source.
fn literals(source: TokenStream) -> Vec<String> {
    let texts = source.into_iter().map(|token| match token {
        TokenTree::Group(group) if !is_doc(&group) => literals(group.stream()),
        TokenTree::Literal(literal) => match Lit::new(literal) {
            Lit::Str(text) => vec![text.value()],
            Lit::Char(c) => vec![c.value().to_string()],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    });
    texts.flatten().collect()
}

/// Whether it is a comment of documentation, which is read as the attribute `[doc = "…"]`.
fn is_doc(group: &Group) -> bool {
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket && first.is_some_and(|first| first.to_string() == "doc")
}
