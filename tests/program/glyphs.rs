//! The bundled font has a glyph for every character of every text that the program can show: the string
//! and character literals of its sources and of its presets. Comments are left out.

use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::str::Chars;

use skrifa::{FontRef, MetadataProvider};
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
    collect(&root.join("src"), "rs", &mut files);
    collect(&root.join("presets"), "ron", &mut files);
    let mut characters = 0;
    let mut missing = Vec::new();
    for file in &files {
        for (line, c) in shown(&fs::read_to_string(file).expect("a text file")) {
            characters += 1;
            if !has_glyph(c) {
                let file = file.strip_prefix(root).unwrap_or(file).display();
                missing.push(format!("{file}:{line}: {c:?} (U+{:04X})", u32::from(c)));
            }
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
    let text = |source: &str| shown(source).into_iter().map(|(_, c)| c).collect::<String>();
    assert_eq!(text(r#"// "no" é"#), "");
    assert_eq!(text("/* a /* b */ \"no\" */ \"yes\""), "yes");
    assert_eq!(text(r#"f("a\"b", 'c', '\'', "d")"#), "a\"bc'd");
    assert_eq!(text(r##"r#"raw "quoted" \u"# + br"é""##), "raw \"quoted\" \\ué");
    assert_eq!(text(r#"fn f<'a>(x: &'a str) { g("β", '\u{2207}') }"#), "β∇");
    assert_eq!(text("\"one // two\""), "one // two");
    assert_eq!(shown("x\n\"a\nb\""), [(2, 'a'), (2, '\n'), (3, 'b')]);
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

/// Returns the characters of all string and character literals of a Rust or RON source, with their lines.
fn shown(source: &str) -> Vec<(usize, char)> {
    let mut reader = Reader { rest: source.chars().peekable(), line: 1, shown: Vec::new() };
    let mut before = ' ';
    while let Some(c) = reader.next() {
        match c {
            '/' if reader.eat('/') => while reader.next().is_some_and(|c| c != '\n') {},
            '/' if reader.eat('*') => reader.block_comment(),
            '"' => reader.string(),
            '\'' => reader.character_or_lifetime(),
            'r' if !is_name(before) || before == 'b' => reader.raw_string(),
            _ => {}
        }
        before = c;
    }
    reader.shown
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    line: usize,
    shown: Vec<(usize, char)>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn eat(&mut self, expected: char) -> bool {
        self.rest.next_if_eq(&expected).is_some()
    }

    fn show(&mut self, c: char) {
        // A line break belongs to the line that it ends.
        self.shown.push((self.line - usize::from(c == '\n'), c));
    }

    /// Skips a block comment after its `/*`; comments nest.
    fn block_comment(&mut self) {
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                Some('/') if self.eat('*') => depth += 1,
                Some('*') if self.eat('/') => depth -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }

    /// Reads a string after its opening quote.
    fn string(&mut self) {
        loop {
            match self.next() {
                None | Some('"') => return,
                Some('\\') => self.escape(),
                Some(c) => self.show(c),
            }
        }
    }

    /// Reads an escape after its backslash. Control characters are not shown.
    fn escape(&mut self) {
        match self.next() {
            Some('u') => {
                let digits: String = std::iter::from_fn(|| self.rest.next_if(|&c| c != '}')).skip(1).collect();
                self.eat('}');
                let c = u32::from_str_radix(&digits.replace('_', ""), 16).ok().and_then(char::from_u32);
                self.show(c.unwrap_or_else(|| panic!("line {}: \\u{{{digits}}} is no character", self.line)));
            }
            Some(c @ ('\\' | '"' | '\'')) => self.show(c),
            _ => {}
        }
    }

    /// Reads a raw string, if one begins after an `r`.
    fn raw_string(&mut self) {
        let mut hashes = 0;
        while self.eat('#') {
            hashes += 1;
        }
        if !self.eat('"') {
            return;
        }
        while let Some(c) = self.next() {
            if c == '"' {
                let closing = (0..hashes).take_while(|_| self.eat('#')).count();
                if closing == hashes {
                    return;
                }
                self.show('"');
                (0..closing).for_each(|_| self.show('#'));
            } else {
                self.show(c);
            }
        }
    }

    /// Reads a character or a lifetime after a single quote: `'c'` or `'a`.
    fn character_or_lifetime(&mut self) {
        if self.eat('\\') {
            self.escape();
            self.eat('\'');
            return;
        }
        let mut ahead = self.rest.clone();
        if let (Some(c), Some('\'')) = (ahead.next(), ahead.next()) {
            self.next();
            self.next();
            self.show(c);
        }
    }
}
