//! NumPy's array files (NPY format 1.0) and archives of them (NPZ, an uncompressed ZIP).

use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

use super::zip::ZipWriter;
use crate::plain_file::{self, Links};

/// A type that arrays can be made of.
pub trait Element: Copy {
    /// NumPy's description of the type.
    const DESCR: &'static str;

    /// Bytes of an element.
    const SIZE: usize = size_of::<Self>();

    /// Little-endian bytes.
    fn write_to(self, writer: &mut impl Write) -> io::Result<()>;

    /// The element that [`Element::SIZE`] little-endian bytes stand for.
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! element {
    ($type:ty, $descr:literal) => {
        impl Element for $type {
            const DESCR: &'static str = $descr;

            fn write_to(self, writer: &mut impl Write) -> io::Result<()> {
                writer.write_all(&self.to_le_bytes())
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                <$type>::from_le_bytes(bytes.try_into().expect("as many bytes as an element has"))
            }
        }
    };
}

element!(f64, "<f8");
element!(i32, "<i4");
element!(i64, "<i8");
element!(u64, "<u8");

/// Writes an archive of named arrays, each in C order.
pub struct NpzWriter<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl<W: Write + Seek> NpzWriter<W> {
    pub fn new(writer: W) -> Self {
        NpzWriter { zip: ZipWriter::new(writer) }
    }

    /// Writes an array of numbers. There must be as many as the shape says.
    pub fn array<E: Element>(
        &mut self,
        name: &str,
        shape: &[usize],
        elements: impl IntoIterator<Item = E>,
    ) -> io::Result<()> {
        self.zip.file(&file_name(name), |contents| write_npy(BufWriter::new(contents), shape, elements))
    }

    /// Writes a one-dimensional array of texts, as NumPy's `<U`, padded to the longest.
    pub fn texts(&mut self, name: &str, texts: &[impl AsRef<str>]) -> io::Result<()> {
        self.padded_texts(name, &[texts.len()], texts)
    }

    /// Writes a single text, an array without dimensions like `np.array("…")`.
    pub fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.padded_texts(name, &[], &[text])
    }

    fn padded_texts(&mut self, name: &str, shape: &[usize], texts: &[impl AsRef<str>]) -> io::Result<()> {
        let width = texts.iter().map(|text| text.as_ref().chars().count()).max().unwrap_or(0).max(1);
        let padded =
            |text: &str| -> Vec<u32> { text.chars().map(u32::from).chain(std::iter::repeat(0)).take(width).collect() };
        let letters: Vec<u32> = texts.iter().flat_map(|text| padded(text.as_ref())).collect();
        self.zip.file(&file_name(name), |contents| {
            contents.write_all(&header(&format!("<U{width}"), shape))?;
            contents.write_all(&letters.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
        })
    }

    /// Finishes the archive and returns the writer below.
    pub fn finish(self) -> io::Result<W> {
        self.zip.finish()
    }
}

/// Writes a single array of numbers in C order, a whole NPY file. There must be as many as the shape says.
pub fn write_npy<E: Element>(
    mut writer: impl Write,
    shape: &[usize],
    elements: impl IntoIterator<Item = E>,
) -> io::Result<()> {
    writer.write_all(&header(E::DESCR, shape))?;
    let mut written = 0;
    for element in elements {
        element.write_to(&mut writer)?;
        written += 1;
    }
    assert_eq!(written, shape.iter().product::<usize>(), "an array has as many elements as its shape says");
    writer.flush()
}

/// The elements, in C order, of an NPY file that must be of float64 and of this shape. No other is taken into memory.
pub fn read_npy(path: &Path, shape: &[usize]) -> io::Result<Vec<f64>> {
    let expected = header(f64::DESCR, shape);
    let length = (shape.iter().product::<usize>() * f64::SIZE + expected.len()) as u64;
    let file = plain_file::read(path, Links::Refused, length)?;
    match file.strip_prefix(expected.as_slice()).filter(|_| file.len() as u64 == length) {
        Some(elements) => Ok(elements.chunks_exact(f64::SIZE).map(f64::from_bytes).collect()),
        None => {
            let found = if file.starts_with(&expected) { "it ends early" } else { "it begins otherwise" };
            let message = format!("expected an NPY file of float64 of the shape {shape:?}, and {found}");
            Err(io::Error::new(io::ErrorKind::InvalidData, message))
        }
    }
}

pub(super) fn file_name(array: &str) -> String {
    format!("{array}.npy")
}

/// The first bytes of every NPY file of format 1.0.
pub(super) const MAGIC: &[u8; 8] = b"\x93NUMPY\x01\x00";

/// The start of an NPY file, padded so that the numbers begin at a multiple of 64 bytes.
pub(super) fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let mut lengths: String = shape.iter().map(|length| format!("{length}, ")).collect();
    if shape.len() > 1 {
        lengths.truncate(lengths.len() - 2);
    }
    let mut dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", lengths.trim_end());
    const PREFIX: usize = 10;
    let padding = 63 - (PREFIX + dict.len()) % 64;
    dict.extend(std::iter::repeat_n(' ', padding));
    dict.push('\n');
    let length = u16::try_from(dict.len()).expect("a header of a few short entries");
    [MAGIC.as_slice(), &length.to_le_bytes(), dict.as_bytes()].concat()
}
