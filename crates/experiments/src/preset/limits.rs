//! Limits on the size of a preset's text. They are checked before it is parsed, as anybody may have written it.

use std::ops::Range;

use super::lexer::Token;
use super::outline::{DEEPEST, Walk};

/// The largest number of bytes of a line.
const LONGEST_LINE: usize = 1 << 20;
/// The largest number of bytes of a name.
const LONGEST_NAME: usize = 100;
/// The largest number of digits of a number. The smallest number distinct from 0 has 350 with all its zeros.
const LONGEST_NUMBER: usize = 1000;
/// The largest number of bytes of a text in quotation marks.
const LONGEST_TEXT: usize = 1 << 16;
/// The largest number of elements of a list, except for the changes of a recorded session.
const MOST_ELEMENTS: usize = 10_000;

/// Returns the first text that exceeds a limit, with its message.
pub(super) fn exceeded(text: &str) -> Option<(Range<usize>, String)> {
    long_line(text).or_else(|| {
        let mut walk = Walk::new(text);
        while let Some(step) = walk.next() {
            let length = step.span.len();
            let message = match step.token {
                Token::Word if length > LONGEST_NAME => too_long("a name", length, LONGEST_NAME),
                Token::Number if length > LONGEST_NUMBER => too_long("a number", length, LONGEST_NUMBER),
                Token::Text if length > LONGEST_TEXT => too_long("a text", length, LONGEST_TEXT),
                Token::Open(_) if walk.depth() > DEEPEST => {
                    format!("brackets are nested deeper than in any preset, which is {DEEPEST} at most")
                }
                Token::Comma if walk.elements().is_some_and(|elements| elements > MOST_ELEMENTS) => {
                    let path = walk.path(step.span.start).unwrap_or_default();
                    if path == "changes" || (path.starts_with("beside[") && path.ends_with(".changes")) {
                        continue;
                    }
                    format!("`{path}` has more than {MOST_ELEMENTS} elements, which is the most of a list")
                }
                _ => continue,
            };
            return Some((step.span, message));
        }
        None
    })
}

fn long_line(text: &str) -> Option<(Range<usize>, String)> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.len() > LONGEST_LINE {
            return Some((start..start, too_long("a line", line.len(), LONGEST_LINE)));
        }
        start += line.len();
    }
    None
}

fn too_long(what: &str, found: usize, most: usize) -> String {
    format!("expected {what} of at most {most} bytes, found {found}")
}
