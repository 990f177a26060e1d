//! Reading the NPZ archives that [`super::NpzWriter`] writes.

use std::io::{self, Read, Seek};

use super::npy::{Element, MAGIC, file_name, header};
use super::unzip::ZipReader;

/// Why an archive, or an array in it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("it cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("it is no NPZ archive: it does not begin like one")]
    Foreign,
    #[error("it is cut short: the list of arrays that ends an NPZ archive, or what it points to, is not there")]
    Cut,
    #[error("its arrays are compressed; save them with `np.savez`, not `np.savez_compressed`")]
    Compressed,
    #[error("it has no `{0}`")]
    Missing(String),
    #[error("its `{0}` is damaged: the checksum does not fit what is there")]
    Damaged(String),
    #[error("its `{name}` has {found} bytes, and at most {most} were expected")]
    TooLong { name: String, most: u64, found: u64 },
    #[error("its `{name}` is {found}, where {expected} was expected")]
    Kind { name: String, expected: String, found: String },
}

/// Bytes before an array's elements.
const LONGEST_HEADER: u64 = 10 + u16::MAX as u64;
/// Letters of a text.
const LONGEST_TEXT: u64 = 1 << 20;

/// Reads arrays by their names.
pub struct NpzReader<R: Read + Seek> {
    zip: ZipReader<R>,
}

impl<R: Read + Seek> NpzReader<R> {
    pub fn new(reader: R) -> Result<Self, ArchiveError> {
        Ok(NpzReader { zip: ZipReader::new(reader)? })
    }

    /// The elements, in C order, of an array that must have this type and shape. No other array is taken into memory.
    pub fn array<E: Element>(&mut self, name: &str, shape: &[usize]) -> Result<Vec<E>, ArchiveError> {
        let expected = header(E::DESCR, shape);
        let kind = |file: &[u8]| ArchiveError::Kind {
            name: name.to_owned(),
            expected: described(&expected),
            found: described(file),
        };
        let bytes = shape.iter().try_fold(E::SIZE, |bytes, side| bytes.checked_mul(*side));
        let length = bytes.and_then(|bytes| bytes.checked_add(expected.len())).map_or(u64::MAX, |length| length as u64);
        let file = match self.zip.file(&file_name(name), length) {
            Err(ArchiveError::TooLong { .. }) => {
                return Err(kind(&self.zip.beginning(&file_name(name), LONGEST_HEADER)?));
            }
            file => file?,
        };
        match file.strip_prefix(expected.as_slice()).filter(|_| file.len() as u64 == length) {
            Some(elements) => Ok(elements.chunks_exact(E::SIZE).map(E::from_bytes).collect()),
            None => Err(kind(&file)),
        }
    }

    /// A single text of at most a million letters.
    pub fn text(&mut self, name: &str) -> Result<String, ArchiveError> {
        let file = self.zip.file(&file_name(name), LONGEST_HEADER + 4 * LONGEST_TEXT)?;
        let found = described(&file);
        let wrong = || ArchiveError::Kind {
            name: name.to_owned(),
            expected: "a single text (`<U`)".to_owned(),
            found: found.clone(),
        };
        let dict = dict(&file).filter(|dict| dict.contains("'<U") && dict.contains("'shape': ()")).ok_or_else(wrong)?;
        let letters = file[MAGIC.len() + 2 + dict.len()..].chunks_exact(4);
        let letters = letters.map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        letters.take_while(|letter| *letter != 0).map(char::from_u32).collect::<Option<String>>().ok_or_else(wrong)
    }
}

/// What stands between the length of an NPY file's header and the elements.
fn dict(file: &[u8]) -> Option<&str> {
    let rest = file.strip_prefix(MAGIC.as_slice())?;
    let length = u16::from_le_bytes([*rest.first()?, *rest.get(1)?]);
    std::str::from_utf8(rest.get(2..2 + usize::from(length))?).ok()
}

/// An array's type and shape, as its header has them.
fn described(file: &[u8]) -> String {
    match dict(file) {
        Some(dict) => dict.trim_end().to_owned(),
        None => "no array in NPY format 1.0".to_owned(),
    }
}
