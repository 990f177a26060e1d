//! The IDX format: a magic number that tells type and dimensions, the sizes, and the bytes.
//!
//! Numbers are of four bytes, the highest first. The magic number is 0x0800 plus the number of dimensions for
//! unsigned bytes, which is all that MNIST uses.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use flate2::bufread::GzDecoder;

use super::{DataError, PIXELS, SIDE};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Images,
    Labels,
}

/// More images than any relative of MNIST has, and no more than fit into memory.
const MOST_IMAGES: u32 = 1_000_000;

impl Content {
    fn sizes(self) -> usize {
        match self {
            Content::Images => 3,
            Content::Labels => 1,
        }
    }

    fn magic(self) -> u32 {
        0x0800 + self.sizes() as u32
    }

    fn name(self) -> &'static str {
        match self {
            Content::Images => "images",
            Content::Labels => "labels",
        }
    }

    fn bytes_each(self) -> usize {
        match self {
            Content::Images => PIXELS,
            Content::Labels => 1,
        }
    }
}

/// The images or labels in a file, which may be compressed whatever its name is.
pub fn read(path: &Path, content: Content) -> Result<Vec<u8>, DataError> {
    let failed = |source| DataError::File { path: path.to_owned(), source };
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let compressed = file.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
    let data = if compressed {
        let mut decoder = GzDecoder::new(file);
        let data = Reading { from: &mut decoder, path, content, compressed }.all()?;
        file = decoder.into_inner();
        if !file.fill_buf().map_err(failed)?.is_empty() {
            return Err(damaged(path, "nothing after the compressed data", "more bytes"));
        }
        data
    } else {
        Reading { from: &mut file, path, content, compressed }.all()?
    };
    if content == Content::Labels
        && let Some(place) = data.iter().position(|&label| label > 9)
    {
        return Err(damaged(path, "labels from 0 to 9", &format!("{} as label {}", data[place], place + 1)));
    }
    Ok(data)
}

/// Writes images or labels, uncompressed.
pub fn write(out: &mut impl Write, content: Content, data: &[u8]) -> io::Result<()> {
    let count = u32::try_from(data.len() / content.bytes_each()).expect("no set is so large");
    out.write_all(&content.magic().to_be_bytes())?;
    for size in [count, SIDE as u32, SIDE as u32].into_iter().take(content.sizes()) {
        out.write_all(&size.to_be_bytes())?;
    }
    out.write_all(data)
}

fn damaged(path: &Path, expected: &str, found: &str) -> DataError {
    DataError::Damaged { path: path.to_owned(), expected: expected.to_owned(), found: found.to_owned() }
}

struct Reading<'a, R> {
    from: &'a mut R,
    path: &'a Path,
    content: Content,
    compressed: bool,
}

impl<R: Read> Reading<'_, R> {
    fn all(mut self) -> Result<Vec<u8>, DataError> {
        let (content, name) = (self.content, self.content.name());
        let magic = self.number()?;
        if magic != content.magic() {
            let expected = format!("the magic number {:#06x} of a file of {name}", content.magic());
            return Err(damaged(self.path, &expected, &format!("{magic:#06x}")));
        }
        let count = self.number()?;
        if !(1..=MOST_IMAGES).contains(&count) {
            return Err(damaged(self.path, &format!("1 to {MOST_IMAGES} {name}"), &count.to_string()));
        }
        if content == Content::Images {
            let sides = [self.number()?, self.number()?];
            if sides != [SIDE as u32; 2] {
                let found = format!("{} × {}", sides[0], sides[1]);
                return Err(damaged(self.path, &format!("images of {SIDE} × {SIDE} pixels"), &found));
            }
        }
        let expected = count as usize * content.bytes_each();
        // What the sizes claim is not set aside in advance: they may be wrong.
        let data = self.bytes(expected)?;
        if data.len() < expected {
            let found = format!("only {} of them", data.len());
            return Err(damaged(self.path, &format!("{expected} bytes of {name}"), &found));
        }
        if !self.bytes(1)?.is_empty() {
            return Err(damaged(self.path, &format!("nothing after {expected} bytes of {name}"), "more bytes"));
        }
        Ok(data)
    }

    fn number(&mut self) -> Result<u32, DataError> {
        let bytes = self.bytes(4)?;
        let four = <[u8; 4]>::try_from(&bytes[..]).map_err(|_| {
            damaged(
                self.path,
                &format!("a file of {} in the IDX format", self.content.name()),
                "its end within the head",
            )
        })?;
        Ok(u32::from_be_bytes(four))
    }

    /// At most so many bytes.
    fn bytes(&mut self, most: usize) -> Result<Vec<u8>, DataError> {
        let mut bytes = Vec::new();
        let outcome = self.from.by_ref().take(most as u64).read_to_end(&mut bytes);
        outcome.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
                if self.compressed =>
            {
                let found =
                    if error.kind() == io::ErrorKind::UnexpectedEof { "its end too early" } else { "other bytes" };
                damaged(self.path, "a whole compressed file", found)
            }
            _ => DataError::File { path: self.path.to_owned(), source: error },
        })?;
        Ok(bytes)
    }
}
