//! Rows of comma-separated values (RFC 4180), one at a time.

use std::io::{self, BufRead};

/// The most bytes and cells of a row.
const MOST_BYTES: usize = 4 << 20;
const MOST_CELLS: usize = 4096;

/// Why a row cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum RowError {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("row {0} has more than {MOST_CELLS} cells or {MOST_BYTES} bytes; that is no table of a run")]
    Long(u64),
    #[error("a quotation mark in row {0} is not closed")]
    OpenQuote(u64),
    #[error("expected UTF-8, found other bytes in row {0}")]
    NotText(u64),
}

/// The rows of a file, without empty ones.
pub(super) struct Rows<R> {
    file: R,
    /// The number of the row, from 1.
    number: u64,
    bytes: Vec<u8>,
    /// The ends of the cells in `bytes`.
    ends: Vec<usize>,
}

/// A row of cells without their quotes.
pub(super) struct Row<'r> {
    number: u64,
    text: &'r str,
    ends: &'r [usize],
}

impl Row<'_> {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(self.ends).map(|(start, end)| &self.text[start..*end])
    }
}

impl<R: BufRead> Rows<R> {
    pub(super) fn new(file: R) -> Rows<R> {
        Rows { file, number: 0, bytes: Vec::new(), ends: Vec::new() }
    }

    /// Returns the next row; none at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>, RowError> {
        loop {
            if !self.read()? {
                return Ok(None);
            }
            if !self.bytes.is_empty() || self.ends.len() > 1 {
                break;
            }
        }
        self.number += 1;
        let text = std::str::from_utf8(&self.bytes).map_err(|_| RowError::NotText(self.number))?;
        // A byte-order mark is no part of the first name.
        let text = if self.number == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        let mark = self.bytes.len() - text.len();
        self.ends.iter_mut().for_each(|end| *end = end.saturating_sub(mark));
        Ok(Some(Row { number: self.number, text, ends: &self.ends }))
    }

    /// Reads the bytes of a row; returns whether there is one.
    fn read(&mut self) -> Result<bool, RowError> {
        let Rows { file, number, bytes, ends } = self;
        bytes.clear();
        ends.clear();
        // Whether the position is in quotes, or after a quote that may be the first of two.
        let (mut is_quoted, mut is_after_quote, mut is_begun) = (false, false, false);
        loop {
            let piece = file.fill_buf()?;
            if piece.is_empty() {
                if is_quoted {
                    return Err(RowError::OpenQuote(*number + 1));
                }
                ends.push(bytes.len());
                return Ok(is_begun);
            }
            is_begun = true;
            for (at, &byte) in piece.iter().enumerate() {
                let starts = ends.last().copied().unwrap_or(0) == bytes.len();
                match byte {
                    b'"' if is_quoted => (is_quoted, is_after_quote) = (false, true),
                    byte if is_quoted => bytes.push(byte),
                    b'"' if is_after_quote => {
                        bytes.push(b'"');
                        (is_quoted, is_after_quote) = (true, false);
                    }
                    b'"' if starts => is_quoted = true,
                    b'\n' => {
                        ends.push(bytes.len());
                        file.consume(at + 1);
                        return Ok(true);
                    }
                    b',' => {
                        is_after_quote = false;
                        ends.push(bytes.len());
                    }
                    b'\r' => {}
                    byte => {
                        is_after_quote = false;
                        bytes.push(byte);
                    }
                }
                if bytes.len() > MOST_BYTES || ends.len() >= MOST_CELLS {
                    return Err(RowError::Long(*number + 1));
                }
            }
            let read = piece.len();
            file.consume(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;

    fn rows(text: &str) -> Vec<Vec<String>> {
        let mut rows = Rows::new(std::io::BufReader::with_capacity(3, text.as_bytes()));
        let mut all = Vec::new();
        while let Some(row) = rows.next().expect("rows") {
            all.push(row.cells().map(str::to_owned).collect());
        }
        all
    }

    #[test]
    fn quotes_hold_commas_lines_and_quotes() {
        let text = "\u{feff}a,\"b, \"\"c\"\"\"\r\n\n,\n\"two\nlines\",\"\"\n5\",x";
        assert_eq!(
            rows(text),
            [vec!["a", "b, \"c\""], vec!["", ""], vec!["two\nlines", ""], vec!["5\"", "x"]]
                .map(|row| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>())
        );
        assert_eq!(rows(""), Vec::<Vec<String>>::new());
    }
}
