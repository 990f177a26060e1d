//! What commands say on stderr and print on stdout. Whatever text comes from a file, nothing in it acts on a terminal.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{self, IsTerminal, Write};

use super::Failure;
use crate::visible::{visible, visible_lines};

/// Writes a line, or some, to stderr. Where nobody listens, that is no reason to fail.
pub(super) fn say(line: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", visible_lines(&line.to_string()));
}

/// Prints a text that is made to be read.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    write(&visible_lines(text))
}

/// Prints the content of a file: the very bytes where they go to a file or another program, which may read them in
/// their turn; made visible where they go to a terminal.
pub(super) fn print_content(text: &str) -> Result<(), Failure> {
    write(&on_stdout(text))
}

/// A field of a table that goes to stdout, which is made visible on a terminal only.
pub(super) fn on_stdout(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { visible_lines(text) } else { Cow::Borrowed(text) }
}

/// A cell of a list: the first characters of a text, in one line.
pub(super) fn cell(text: &str, longest: usize) -> String {
    let text = visible(text);
    match text.char_indices().nth(longest) {
        None => text.into_owned(),
        Some(_) => text.chars().take(longest - 1).chain(['…']).collect(),
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}
