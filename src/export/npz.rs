//! NumPy's arrays: single NPY files (format 1.0), and archives of them (NPZ), uncompressed ZIP files.

use std::cell::Cell;
use std::io;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::mem::ManuallyDrop;
use std::rc::Rc;

use zip::read::{ArchiveOffset, Config, ZipFile};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipArchive, ZipWriter};

pub trait Element: Copy {
    /// NumPy's description of the type.
    const DESCR: &'static str;

    const SIZE: usize = size_of::<Self>();

    fn write_to(self, writer: &mut impl Write) -> io::Result<()>;

    /// Reads the element from [`Element::SIZE`] little-endian bytes.
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

element!(f32, "<f4");
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

const MAGIC: &[u8; 8] = b"\x93NUMPY\x01\x00";

/// The largest number of bytes before an array's elements.
const LONGEST_HEADER: u64 = 10 + u16::MAX as u64;

/// Makes the start of an NPY file, padded so that the numbers begin at a multiple of 64 bytes.
fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
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

/// Finds the header's description of type and shape in an NPY file, between the length of the header and the elements.
fn dict(file: &[u8]) -> Option<&str> {
    let rest = file.strip_prefix(MAGIC.as_slice())?;
    let length = u16::from_le_bytes(*rest.first_chunk()?);
    std::str::from_utf8(rest.get(2..2 + usize::from(length))?).ok()
}

/// Reads type and shape of an array of numbers from the header's description.
fn type_and_shape(dict: &str) -> Option<(String, Vec<usize>)> {
    let (descr, _) = dict.split_once("'descr': '")?.1.split_once('\'')?;
    let (sides, _) = dict.split_once("'shape': (")?.1.split_once(')')?;
    let sides = sides.split(',').map(str::trim).filter(|side| !side.is_empty());
    Some((descr.to_owned(), sides.map(|side| side.parse().ok()).collect::<Option<_>>()?))
}

fn described(file: &[u8]) -> String {
    match dict(file) {
        Some(dict) => dict.trim_end().to_owned(),
        None => "no array in NPY format 1.0".to_owned(),
    }
}

/// Writes an archive of named arrays, each in C order. Without [`NpzWriter::finish`] it is not a valid archive.
pub struct NpzWriter<'w, W: Write + Seek> {
    /// The ZIP writer, never dropped: its destructor ends the archive, and prints to standard error on failure. It owns
    /// the list of arrays and no file.
    zip: ManuallyDrop<ZipWriter<&'w mut W>>,
}

impl<'w, W: Write + Seek> NpzWriter<'w, W> {
    pub fn new(writer: &'w mut W) -> Self {
        NpzWriter { zip: ManuallyDrop::new(ZipWriter::new(writer)) }
    }

    /// Writes an array of numbers. Their number must be that of the shape.
    pub fn array<E: Element>(
        &mut self,
        name: &str,
        shape: &[usize],
        elements: impl IntoIterator<Item = E>,
    ) -> io::Result<()> {
        self.begin(name, E::SIZE * shape.iter().product::<usize>())?;
        write_npy(BufWriter::new(&mut *self.zip), shape, elements)
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
        let padded = |text: &str| -> Vec<char> { text.chars().chain(std::iter::repeat('\0')).take(width).collect() };
        let letters = texts.iter().flat_map(|text| padded(text.as_ref()));
        let bytes: Vec<u8> = letters.flat_map(|letter| u32::from(letter).to_le_bytes()).collect();
        self.begin(name, bytes.len())?;
        self.zip.write_all(&header(&format!("<U{width}"), shape))?;
        self.zip.write_all(&bytes)
    }

    fn begin(&mut self, name: &str, bytes: usize) -> io::Result<()> {
        // The output must depend neither on the time nor on the system.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .system(System::Unix)
            .large_file(bytes as u64 + LONGEST_HEADER > u64::from(u32::MAX));
        Ok(self.zip.start_file(file_name(name), options)?)
    }

    /// Writes the list of arrays that ends the archive.
    pub fn finish(self) -> io::Result<()> {
        ManuallyDrop::into_inner(self.zip).finish()?.flush()
    }
}

fn file_name(array: &str) -> String {
    format!("{array}.npy")
}

/// The reason why an archive, or an array in it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("it cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("it is no NPZ archive: it does not begin like one")]
    Foreign,
    #[error("it is cut short: the list of arrays at an NPZ archive's end, or a part that it names, is missing")]
    Cut,
    #[error("its list of arrays is longer than {} MiB, more than in any result", LONGEST_LIST >> 20)]
    ListTooLong,
    #[error(
        "its `{0}` is encrypted, or compressed in another way than by `np.savez_compressed`; save it with `np.savez`"
    )]
    Packed(String),
    #[error("it has no `{0}`")]
    Missing(String),
    #[error("its `{0}` is damaged: the checksum does not fit what is there")]
    Damaged(String),
    #[error("its `{name}` has {found} bytes, and at most {most} were expected")]
    TooLong { name: String, most: u64, found: u64 },
    #[error("its `{name}` is {found}, where {expected} was expected")]
    Kind { name: String, expected: String, found: String },
}

const LONGEST_TEXT: u64 = 1 << 20;
/// The largest number of bytes read to find the arrays, enough for some twenty thousand.
const LONGEST_LIST: u64 = 2 << 20;

/// Reads arrays by their names.
pub struct NpzReader<R: Read + Seek> {
    zip: ZipArchive<Metered<R>>,
}

impl<R: Read + Seek> NpzReader<R> {
    pub fn new(mut reader: R) -> Result<Self, ArchiveError> {
        let mut start = Vec::new();
        reader.by_ref().take(4).read_to_end(&mut start)?;
        if start != *b"PK\x03\x04" {
            return Err(ArchiveError::Foreign);
        }
        let left = Rc::new(Cell::new(LONGEST_LIST));
        let from_start = Config { archive_offset: ArchiveOffset::Known(0) };
        let zip =
            ZipArchive::with_config(from_start, Metered { reader, left: left.clone() }).map_err(
                |error| match error {
                    _ if left.get() == 0 => ArchiveError::ListTooLong,
                    ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => ArchiveError::Read(error),
                    _ => ArchiveError::Cut,
                },
            )?;
        left.set(u64::MAX);
        Ok(NpzReader { zip })
    }

    /// Returns the names of the arrays that have a name in UTF-8.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let files = self.zip.file_names().filter_map(Result::ok);
        files.filter_map(|file| Some(file.strip_suffix(".npy")?.to_owned()))
    }

    /// Reads NumPy's description of an array's type, such as `<f8`, and its shape.
    pub fn type_and_shape(&mut self, name: &str) -> Result<(String, Vec<usize>), ArchiveError> {
        let file = self.beginning(name)?;
        dict(&file).and_then(type_and_shape).ok_or_else(|| ArchiveError::Kind {
            name: name.to_owned(),
            expected: "an array of numbers".to_owned(),
            found: described(&file),
        })
    }

    /// Reads the elements, in C order, of an array that must have this type and shape. No other array is read into
    /// memory.
    pub fn array<E: Element>(&mut self, name: &str, shape: &[usize]) -> Result<Vec<E>, ArchiveError> {
        let expected = header(E::DESCR, shape);
        let kind = |file: &[u8]| ArchiveError::Kind {
            name: name.to_owned(),
            expected: described(&expected),
            found: described(file),
        };
        let bytes = shape.iter().try_fold(E::SIZE, |bytes, side| bytes.checked_mul(*side));
        let length = bytes.and_then(|bytes| bytes.checked_add(expected.len())).map_or(u64::MAX, |length| length as u64);
        let file = match self.file(name, length) {
            Err(ArchiveError::TooLong { .. }) => return Err(kind(&self.beginning(name)?)),
            file => file?,
        };
        match file.strip_prefix(expected.as_slice()).filter(|_| file.len() as u64 == length) {
            Some(elements) => Ok(elements.chunks_exact(E::SIZE).map(E::from_bytes).collect()),
            None => Err(kind(&file)),
        }
    }

    /// Reads a single text of at most a million letters.
    pub fn text(&mut self, name: &str) -> Result<String, ArchiveError> {
        let file = self.file(name, LONGEST_HEADER + 4 * LONGEST_TEXT)?;
        let wrong = || ArchiveError::Kind {
            name: name.to_owned(),
            expected: "a single text (`<U`)".to_owned(),
            found: described(&file),
        };
        let dict = dict(&file).filter(|dict| dict.contains("'<U") && dict.contains("'shape': ()")).ok_or_else(wrong)?;
        let letters = file[10 + dict.len()..].as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        letters.take_while(|letter| *letter != 0).map(char::from_u32).collect::<Option<String>>().ok_or_else(wrong)
    }

    /// Reads the contents of an array's file of at most `most` bytes, and checks their checksum.
    fn file(&mut self, name: &str, most: u64) -> Result<Vec<u8>, ArchiveError> {
        let (name, file) = self.open(name)?;
        let found = file.size();
        if found > most {
            return Err(ArchiveError::TooLong { name, most, found });
        }
        let mut contents = Vec::new();
        // Compressed contents may be longer than declared.
        match file.take(most + 1).read_to_end(&mut contents) {
            Ok(length) if length as u64 == found => Ok(contents),
            Ok(_) => Err(ArchiveError::Damaged(name)),
            Err(error) => Err(in_file(name, error.into())),
        }
    }

    /// Reads the first bytes of an array's file, unchecked, with its whole header.
    fn beginning(&mut self, name: &str) -> Result<Vec<u8>, ArchiveError> {
        let (name, file) = self.open(name)?;
        let mut bytes = Vec::new();
        file.take(LONGEST_HEADER).read_to_end(&mut bytes).map_err(|error| in_file(name, error.into()))?;
        Ok(bytes)
    }

    fn open(&mut self, name: &str) -> Result<(String, ZipFile<'_, Metered<R>>), ArchiveError> {
        let name = file_name(name);
        match self.zip.by_name(&name) {
            Ok(file) => Ok((name, file)),
            Err(error) => Err(in_file(name, error)),
        }
    }
}

fn in_file(name: String, error: ZipError) -> ArchiveError {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    match error {
        ZipError::FileNotFound => ArchiveError::Missing(name),
        ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) => ArchiveError::Packed(name),
        ZipError::Io(error) if !matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) => error.into(),
        _ => ArchiveError::Damaged(name),
    }
}

/// Reads no more than `left` bytes, which limits the memory that a list of arrays takes.
struct Metered<R> {
    reader: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.by_ref().take(self.left.get()).read(buffer)?;
        self.left.set(self.left.get() - read as u64);
        Ok(read)
    }
}

impl<R: Seek> Seek for Metered<R> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.reader.seek(position)
    }
}
