//! NumPy's array files, in NPY format 1.0.

use std::io::{self, Write};
use std::path::Path;

use valleyscope_runs::plain_file::{self, Links};

/// A type of array elements.
pub trait Element: Copy {
    /// NumPy's description of the type.
    const DESCR: &'static str;

    /// Bytes of an element.
    const SIZE: usize = size_of::<Self>();

    /// Writes the element's little-endian bytes.
    fn write_to(self, writer: &mut impl Write) -> io::Result<()>;

    /// Returns the element of [`Element::SIZE`] little-endian bytes.
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

/// Writes a single array of numbers in C order, a whole NPY file. Their number must be that of the shape.
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

/// Returns the elements, in C order, of an NPY file that must be of float64 and of this shape. No other is taken into
/// memory.
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

/// The first bytes of every NPY file of format 1.0.
const MAGIC: &[u8; 8] = b"\x93NUMPY\x01\x00";

/// The largest number of bytes before an array's elements.
pub(super) const LONGEST_HEADER: u64 = 10 + u16::MAX as u64;

/// Returns the start of an NPY file, padded so that the numbers begin at a multiple of 64 bytes.
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

/// Returns the header's description of type and shape in an NPY file, between the length of the header and the
/// elements.
pub(super) fn dict(file: &[u8]) -> Option<&str> {
    let rest = file.strip_prefix(MAGIC.as_slice())?;
    let length = u16::from_le_bytes(*rest.first_chunk()?);
    std::str::from_utf8(rest.get(2..2 + usize::from(length))?).ok()
}

/// Returns an array's type and shape, as written in its header.
pub(super) fn described(file: &[u8]) -> String {
    match dict(file) {
        Some(dict) => dict.trim_end().to_owned(),
        None => "no array in NPY format 1.0".to_owned(),
    }
}
