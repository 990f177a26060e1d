//! Output of commands on stderr and stdout. Text from files is escaped so that it cannot act on a terminal.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{self, IsTerminal, Write};

use valleyscope_engine::terminal_escape::{shortened, visible, visible_lines};

use super::Failure;

/// Writes one or more lines to stderr. A closed stderr is not an error.
pub(super) fn say(line: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", visible_lines(&line.to_string()));
}

/// Prints a text on stdout, escaped on a terminal.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    write(&visible_lines(text))
}

/// Prints the content of a file: unchanged to a file or another program, which may read it in turn; escaped to a
/// terminal.
pub(super) fn print_content(text: &str) -> Result<(), Failure> {
    write(&on_stdout(text))
}

/// Returns a field of a table for stdout, escaped only on a terminal.
pub(super) fn on_stdout(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { visible_lines(text) } else { Cow::Borrowed(text) }
}

/// Formats a cell of a list: the first characters of a text, in one line.
pub(super) fn cell(text: &str, longest: usize) -> String {
    shortened(&visible(text), longest).into_owned()
}

fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Indents the lines of a text.
pub(super) fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Formats rows of equal lengths with aligned columns, each after an indent.
pub(super) fn table<R: AsRef<[String]>>(rows: &[R], indent: &str) -> String {
    // Combining accents take no column.
    let columns = |cell: &str| cell.chars().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).count();
    let count = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |column: usize| rows.iter().map(|row| columns(&row.as_ref()[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &R| {
        let padded = |(cell, width): (&String, &usize)| cell.clone() + &" ".repeat(width + 3 - columns(cell));
        let cells: String = row.as_ref().iter().zip(&widths).map(padded).collect();
        format!("{indent}{}\n", cells.trim_end())
    };
    rows.iter().map(line).collect()
}
