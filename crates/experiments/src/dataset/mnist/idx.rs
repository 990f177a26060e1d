//! The IDX format: a magic number with type and dimensions, the sizes, and the bytes.
//!
//! Numbers have four bytes, big-endian. The magic number is 0x0800 plus the number of dimensions for unsigned bytes,
//! the only type that MNIST uses.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use flate2::bufread::GzDecoder;
use sha2::{Digest, Sha256};
use valleyscope_runs::plain_file::{self, Links};

use super::{DataError, PIXELS, SIDE};

/// The content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdxContent {
    Images,
    Labels,
}

/// The largest number of images: more than any variant of MNIST has, and few enough for memory.
const MOST_IMAGES: u32 = 1_000_000;
/// The length of a file of that number of images.
pub(super) const LONGEST: u64 = 16 + MOST_IMAGES as u64 * PIXELS as u64;
/// The largest compression ratio. Images of digits can be compressed to a fifth; a file with a larger ratio was made to
/// fill memory, unless it is short.
const MAX_COMPRESSION_RATIO: u64 = 100;
const UNPACKED_AT_LEAST: u64 = 64 << 20;

impl IdxContent {
    fn sizes(self) -> usize {
        match self {
            IdxContent::Images => 3,
            IdxContent::Labels => 1,
        }
    }

    fn magic(self) -> u32 {
        0x0800 + self.sizes() as u32
    }

    fn name(self) -> &'static str {
        match self {
            IdxContent::Images => "images",
            IdxContent::Labels => "labels",
        }
    }

    fn bytes_each(self) -> usize {
        match self {
            IdxContent::Images => PIXELS,
            IdxContent::Labels => 1,
        }
    }
}

/// Returns whether a file that begins with these bytes is compressed with gzip.
pub(super) fn is_compressed(content: &[u8]) -> bool {
    content.starts_with(&[0x1f, 0x8b])
}

/// Returns the images or labels in a file, which may be compressed whatever its name is.
pub(super) fn read(path: &Path, content: IdxContent) -> Result<Vec<u8>, DataError> {
    let data = unpacked(path, |from, most| IdxReader { from, path, content, most }.all())?;
    if content == IdxContent::Labels
        && let Some(place) = data.iter().position(|&label| label > 9)
    {
        return Err(damaged(path, "labels from 0 to 9", &format!("{} as label {}", data[place], place + 1)));
    }
    Ok(data)
}

/// Returns the SHA-256, in hexadecimal, of the unpacked content of a file.
pub(super) fn sum(path: &Path) -> Result<String, DataError> {
    unpacked(path, |from, most| {
        let mut hash = Sha256::new();
        let most = most.bytes();
        let length = io::copy(&mut from.take(most + 1), &mut hash).map_err(|source| unreadable(path, source))?;
        if length > most {
            return Err(damaged(path, &format!("at most {most} bytes, once unpacked"), "more"));
        }
        Ok(format!("{:x}", hash.finalize()))
    })
}

/// The largest unpacked length of a file, in bytes.
#[derive(Clone, Copy)]
enum LengthBound {
    /// The length of a file that is not compressed.
    Length(u64),
    /// The limit for a compressed file.
    Limit(u64),
}

impl LengthBound {
    fn bytes(self) -> u64 {
        match self {
            LengthBound::Length(bytes) | LengthBound::Limit(bytes) => bytes,
        }
    }
}

/// Passes on a file's bytes, unpacked where they are compressed.
fn unpacked<T>(
    path: &Path,
    take: impl FnOnce(&mut dyn Read, LengthBound) -> Result<T, DataError>,
) -> Result<T, DataError> {
    let failed = |source| DataError::File { path: path.to_owned(), source };
    let file = plain_file::open(path, Links::Followed).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut file = BufReader::new(file);
    if !is_compressed(file.fill_buf().map_err(failed)?) {
        return take(&mut file, LengthBound::Length(length));
    }
    let mut decoder = GzDecoder::new(file);
    let limit = UNPACKED_AT_LEAST.max(length.saturating_mul(MAX_COMPRESSION_RATIO)).min(LONGEST);
    let taken = take(&mut decoder, LengthBound::Limit(limit))?;
    if !decoder.into_inner().fill_buf().map_err(failed)?.is_empty() {
        return Err(damaged(path, "nothing after the compressed data", "more bytes"));
    }
    Ok(taken)
}

fn unreadable(path: &Path, error: io::Error) -> DataError {
    let found = match error.kind() {
        io::ErrorKind::UnexpectedEof => "its end too early",
        // The decoder returns these kinds for bytes that are not valid compressed data.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => "other bytes",
        _ => return DataError::File { path: path.to_owned(), source: error },
    };
    damaged(path, "a whole compressed file", found)
}

/// Writes images or labels, uncompressed.
pub(super) fn write(out: &mut impl Write, content: IdxContent, data: &[u8]) -> io::Result<()> {
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

struct IdxReader<'a> {
    from: &'a mut dyn Read,
    path: &'a Path,
    content: IdxContent,
    most: LengthBound,
}

impl IdxReader<'_> {
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
        if content == IdxContent::Images {
            let sides = [self.number()?, self.number()?];
            if sides != [SIDE as u32; 2] {
                let found = format!("{} × {}", sides[0], sides[1]);
                return Err(damaged(self.path, &format!("images of {SIDE} × {SIDE} pixels"), &found));
            }
        }
        let expected = count as usize * content.bytes_each();
        if let LengthBound::Limit(most) = self.most
            && expected as u64 > most
        {
            let most = format!("at most {most} bytes of {name} in a compressed file of this length");
            return Err(damaged(self.path, &most, &expected.to_string()));
        }
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

    /// Reads exactly `count` bytes. Memory for the count in the header is allocated only as far as the file can be that
    /// long.
    fn bytes(&mut self, count: usize) -> Result<Vec<u8>, DataError> {
        let room = self.most.bytes().min(count as u64);
        let mut bytes = Vec::with_capacity(room as usize);
        let from = &mut self.from;
        from.take(room).read_to_end(&mut bytes).map_err(|error| unreadable(self.path, error))?;
        Ok(bytes)
    }
}
