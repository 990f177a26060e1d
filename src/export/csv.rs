//! Tables as comma-separated values (RFC 4180, with line feeds).

use std::borrow::Cow;
use std::io::{self, Write};

/// One value of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CsvCell<'t> {
    Text(&'t str),
    Whole(u64),
    /// A number, written with the fewest digits that give the same bits back; `NaN`, `inf` and `-inf` where it is not
    /// finite.
    Number(f64),
}

/// Writes a table row by row.
pub struct CsvWriter<W: Write> {
    writer: W,
    columns: usize,
}

impl<W: Write> CsvWriter<W> {
    /// Returns a table with these column names, which are written at once.
    pub fn new(mut writer: W, header: &[&str]) -> io::Result<Self> {
        write_row(&mut writer, header.iter().map(|name| CsvCell::Text(name)))?;
        Ok(CsvWriter { writer, columns: header.len() })
    }

    /// Writes a row with one cell for each column.
    pub fn row(&mut self, cells: &[CsvCell<'_>]) -> io::Result<()> {
        assert_eq!(cells.len(), self.columns, "a row has as many cells as the header has names");
        write_row(&mut self.writer, cells.iter().copied())
    }

    /// Returns the underlying writer, to which all rows have been written.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

fn write_row<'t>(writer: &mut impl Write, cells: impl Iterator<Item = CsvCell<'t>>) -> io::Result<()> {
    for (column, cell) in cells.enumerate() {
        if column > 0 {
            writer.write_all(b",")?;
        }
        match cell {
            CsvCell::Text(text) => write_text(writer, text)?,
            CsvCell::Whole(number) => write!(writer, "{number}")?,
            CsvCell::Number(number) => write_number(writer, number)?,
        }
    }
    writer.write_all(b"\n")
}

fn write_text(writer: &mut impl Write, text: &str) -> io::Result<()> {
    // A spreadsheet takes such a text for a formula, which may come from anyone's file; after an apostrophe it does not.
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    let text = if is_formula { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) };
    if text.contains(['"', ',', '\n', '\r']) {
        write!(writer, "\"{}\"", text.replace('"', "\"\""))
    } else {
        writer.write_all(text.as_bytes())
    }
}

fn write_number(writer: &mut impl Write, number: f64) -> io::Result<()> {
    // Both forms have the same digits; an exponent shortens very large and very small numbers.
    if number == 0.0 || !number.is_finite() || (1e-5..1e16).contains(&number.abs()) {
        write!(writer, "{number}")
    } else {
        write!(writer, "{number:e}")
    }
}
