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
    let needs_apostrophe = may_be_formula(text) && text.parse::<f64>().is_err();
    let text = if needs_apostrophe { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) };
    if text.contains(['"', ',', '\n', '\r']) {
        write!(writer, "\"{}\"", text.replace('"', "\"\""))
    } else {
        writer.write_all(text.as_bytes())
    }
}

/// Returns whether a spreadsheet takes a text, without the apostrophes before it, for a formula. With one apostrophe more,
/// it does not, and [`without_apostrophe`] returns the text.
fn may_be_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// Returns the text of a cell without the apostrophe that [`CsvWriter`] wrote before it.
pub fn without_apostrophe(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|text| may_be_formula(text)).unwrap_or(cell)
}

fn write_number(writer: &mut impl Write, number: f64) -> io::Result<()> {
    // Both forms have the same digits; an exponent shortens very large and very small numbers.
    if number == 0.0 || !number.is_finite() || (1e-5..1e16).contains(&number.abs()) {
        write!(writer, "{number}")
    } else {
        write!(writer, "{number:e}")
    }
}
