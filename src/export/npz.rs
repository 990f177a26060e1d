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
    #[error("its `{name}` is {found}, where {expected} was expected")]
    Kind { name: String, expected: String, found: String },
}

/// Reads arrays by their names.
pub struct NpzReader<R: Read + Seek> {
    zip: ZipReader<R>,
}

impl<R: Read + Seek> NpzReader<R> {
    pub fn new(reader: R) -> Result<Self, ArchiveError> {
        Ok(NpzReader { zip: ZipReader::new(reader)? })
    }

    /// The elements, in C order, of an array that must have this type and shape.
    pub fn array<E: Element>(&mut self, name: &str, shape: &[usize]) -> Result<Vec<E>, ArchiveError> {
        let file = self.zip.file(&file_name(name))?;
        let expected = header(E::DESCR, shape);
        let elements = file.strip_prefix(expected.as_slice());
        let bytes = shape.iter().product::<usize>() * E::SIZE;
        match elements.filter(|elements| elements.len() == bytes) {
            Some(elements) => Ok(elements.chunks_exact(E::SIZE).map(E::from_bytes).collect()),
            None => Err(ArchiveError::Kind {
                name: name.to_owned(),
                expected: described(&expected),
                found: described(&file),
            }),
        }
    }

    /// A single text.
    pub fn text(&mut self, name: &str) -> Result<String, ArchiveError> {
        let file = self.zip.file(&file_name(name))?;
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
