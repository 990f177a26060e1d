//! MNIST's files: the IDX format, folders of four files, and the official files with their sums.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use flate2::bufread::GzDecoder;
use sha2::{Digest, Sha256};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_file};
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::Links;

use super::{DataError, Digits, Mnist, MnistSource, PIXELS, SIDE};
use crate::dataset;
use crate::dataset::download::{Download, DownloadFile, DownloadProgress};

/// Names without .gz: images and labels for training, images and labels for testing.
pub(super) const NAMES: [[&str; 2]; 2] =
    [["train-images-idx3-ubyte", "train-labels-idx1-ubyte"], ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]];

/// The subfolders in which the files are searched; the last is PyTorch's.
const SUBFOLDERS: [&str; 3] = ["", "mnist", "MNIST/raw"];

/// Reads the four files from a folder or its subfolder `mnist`.
///
/// Each may be compressed. Everything is checked except the sums, so that other digits in the same format can be used:
/// kind, sizes and lengths, as many labels as images, labels from 0 to 9.
pub fn read_folder(folder: &Path) -> Result<Mnist, DataError> {
    let [train, test] = find(folder)?.map(|[images, labels]| read_digits(&images, &labels));
    Ok(Mnist::read_from(folder, train?, test?))
}

/// Checks that the four files are in a folder, without reading them.
pub(crate) fn check_present(folder: &Path) -> Result<(), DataError> {
    find(folder).map(drop)
}

/// Writes the four files, uncompressed, into a folder, each as a whole or not at all. Existing files are not replaced.
pub fn write_folder(mnist: &Mnist, folder: &Path) -> Result<(), DataError> {
    fs::create_dir_all(folder).map_err(failed(folder))?;
    for (digits, names) in [&mnist.train, &mnist.test].into_iter().zip(NAMES) {
        for (name, content, data) in
            [(names[0], IdxContent::Images, &digits.images), (names[1], IdxContent::Labels, &digits.labels)]
        {
            let path = folder.join(name);
            let mut file = AtomicFile::for_target(&path).map_err(failed(&path))?;
            write(&mut file, content, data).and_then(|()| file.commit(Overwrite::No)).map_err(failed(&path))?;
        }
    }
    Ok(())
}

/// Reads the four files from a folder, and copies them to another as they are. Existing files are not replaced.
pub fn copy_folder(from: &Path, into: &Path) -> Result<Mnist, DataError> {
    let mnist = read_folder(from)?;
    fs::create_dir_all(into).map_err(failed(into))?;
    for (name, path) in NAMES.concat().into_iter().zip(find(from)?.concat()) {
        let content = plain_file::read(&path, Links::Followed, LONGEST).map_err(failed(&path))?;
        let suffix = if is_compressed(&content) { ".gz" } else { "" };
        let target = into.join(format!("{name}{suffix}"));
        write_file(&target, Overwrite::No, &content).map_err(failed(&target))?;
    }
    Ok(mnist)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> DataError {
    |source| DataError::File { path: path.to_owned(), source }
}

fn find(folder: &Path) -> Result<[[PathBuf; 2]; 2], DataError> {
    if !folder.is_dir() {
        return Err(DataError::NoFolder(folder.to_owned()));
    }
    let found = present(folder);
    if let [[Some(a), Some(b)], [Some(c), Some(d)]] = found {
        return Ok([[a, b], [c, d]]);
    }
    let names = NAMES.concat().into_iter().zip(found.concat());
    let missing = names.filter(|(_, path)| path.is_none()).map(|(name, _)| name).collect();
    Err(DataError::Missing { folder: folder.to_owned(), missing })
}

/// The files that are in the folder or, where there are more, in a subfolder.
pub(super) fn present(folder: &Path) -> [[Option<PathBuf>; 2]; 2] {
    let folders = SUBFOLDERS.iter().rev().map(|subfolder| folder.join(subfolder));
    let found = folders.map(|subfolder| NAMES.map(|names| names.map(|name| find_file(&subfolder, name))));
    found.max_by_key(|found| found.iter().flatten().flatten().count()).expect("there are subfolders")
}

fn find_file(folder: &Path, name: &str) -> Option<PathBuf> {
    // Some archives have a dot before the kind. The names of downloaded and checked files are tried first.
    let dotted = name.replacen("-idx", ".idx", 1);
    let names = [name, &dotted].map(|name| [format!("{name}.gz"), name.to_owned()]).concat();
    names.into_iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

fn read_digits(images_path: &Path, labels_path: &Path) -> Result<Digits, DataError> {
    let (images, labels) =
        rayon::join(|| read(images_path, IdxContent::Images), || read(labels_path, IdxContent::Labels));
    let (images, labels) = (images?, labels?);
    let count = images.len() / super::PIXELS;
    if labels.len() != count {
        return Err(DataError::Damaged {
            path: labels_path.to_owned(),
            expected: format!("{count} labels, one for each image in {}", images_path.display()),
            found: labels.len().to_string(),
        });
    }
    Ok(Digits { images, labels })
}

const FILES: [DownloadFile<'static>; 4] = [
    DownloadFile {
        name: "train-images-idx3-ubyte.gz",
        bytes: 9_912_422,
        sha256: "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    },
    DownloadFile {
        name: "train-labels-idx1-ubyte.gz",
        bytes: 28_881,
        sha256: "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    },
    DownloadFile {
        name: "t10k-images-idx3-ubyte.gz",
        bytes: 1_648_877,
        sha256: "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    },
    DownloadFile {
        name: "t10k-labels-idx1-ubyte.gz",
        bytes: 4_542,
        sha256: "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    },
];

/// SHA-256 of the uncompressed files, in the order of [`NAMES`].
const SUMS: [[&str; 2]; 2] = [
    [
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ],
    [
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ],
];

/// SHA-256 of the uncompressed training images of the copy that is called [`super::REBUILT`].
const REBUILT_TRAINING_IMAGES: &str = "b61ffb6f513fd9ff8d89824731f6b4ed7863c759c33056d701efb8412469fb04";

/// Compares digits of files in a folder, in the format of the files, with the official ones.
pub(super) fn source(train: &Digits, test: &Digits, folder: &Path) -> MnistSource {
    let sum = |content, data: &[u8]| {
        let mut hash = Sha256::new();
        write(&mut hash, content, data).expect("a hash takes all bytes");
        format!("{:x}", hash.finalize())
    };
    let [[train_images, train_labels], [test_images, test_labels]] = SUMS;
    // The short files first: they already differ for most other digits.
    let official = sum(IdxContent::Labels, &test.labels) == test_labels
        && sum(IdxContent::Labels, &train.labels) == train_labels
        && sum(IdxContent::Images, &test.images) == test_images;
    if !official {
        return MnistSource::Folder(folder.to_owned());
    }
    match sum(IdxContent::Images, &train.images) {
        sum if sum == train_images => MnistSource::Official(folder.to_owned()),
        sum if sum == REBUILT_TRAINING_IMAGES => MnistSource::Rebuilt(folder.to_owned()),
        _ => MnistSource::Folder(folder.to_owned()),
    }
}

pub fn mirrors() -> Vec<String> {
    [
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
        "https://azureopendatastorage.blob.core.windows.net/mnist",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The folder of downloaded files: `valleyscope/mnist` in the user's cache folder.
pub fn cache_folder() -> Result<PathBuf, DataError> {
    dataset::cache_folder("mnist").ok_or(DataError::NoCache)
}

/// Downloads the official files into a folder, from the first mirror that has them, and checks their sums. Existing
/// files are not downloaded again.
pub fn download(
    into: &Path,
    mirrors: &[String],
    patience: Duration,
    progress: &mut dyn FnMut(DownloadProgress),
    cancelled: &dyn Fn() -> bool,
) -> Result<(), DataError> {
    Ok(Download { files: &FILES, mirrors, patience }.into_folder(into, progress, cancelled)?)
}

/// The result of checking one of the four files.
#[derive(Debug)]
pub struct MnistCheck {
    /// The official name, without .gz.
    pub name: &'static str,
    pub found: MnistFound,
}

#[derive(Debug)]
pub enum MnistFound {
    Missing,
    /// The official file, byte for byte once it is unpacked.
    Official(PathBuf),
    /// A file with another SHA-256, unpacked.
    Other {
        path: PathBuf,
        sha256: String,
    },
    /// A compressed file that cannot be unpacked.
    Damaged {
        path: PathBuf,
        error: DataError,
    },
}

/// Finds the files in a folder, and compares the sums of their unpacked contents.
///
/// # Errors
///
/// Fails where a file cannot be read.
pub fn check(folder: &Path) -> Result<Vec<MnistCheck>, DataError> {
    let names = NAMES.concat().into_iter().zip(SUMS.concat());
    names.zip(present(folder).concat()).map(|((name, official), path)| check_file(name, official, path)).collect()
}

fn check_file(name: &'static str, official: &str, path: Option<PathBuf>) -> Result<MnistCheck, DataError> {
    let found = match path {
        None => MnistFound::Missing,
        Some(path) => match sum(&path) {
            Ok(sha256) if sha256 == official => MnistFound::Official(path),
            Ok(sha256) => MnistFound::Other { path, sha256 },
            Err(error @ DataError::Damaged { .. }) => MnistFound::Damaged { path, error },
            Err(error) => return Err(error),
        },
    };
    Ok(MnistCheck { name, found })
}

// The IDX format: a magic number with type and dimensions, the sizes, and the bytes.
//
// Numbers have four bytes, big-endian. The magic number is 0x0800 plus the number of dimensions for unsigned bytes,
// the only type that MNIST uses.

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

pub(super) fn is_compressed(content: &[u8]) -> bool {
    content.starts_with(&[0x1f, 0x8b])
}

/// Reads the images or labels in a file, which may be compressed whatever its name is.
pub(super) fn read(path: &Path, content: IdxContent) -> Result<Vec<u8>, DataError> {
    let data = unpacked(path, |from, most| IdxReader { from, path, content, most }.all())?;
    if content == IdxContent::Labels
        && let Some(wrong) = data.iter().position(|&label| label > 9)
    {
        return Err(damaged(path, "labels from 0 to 9", &format!("{} as label {}", data[wrong], wrong + 1)));
    }
    Ok(data)
}

/// The SHA-256, in hexadecimal, of the unpacked content of a file.
pub(super) fn sum(path: &Path) -> Result<String, DataError> {
    unpacked(path, |from, most| {
        let mut hash = Sha256::new();
        let length = io::copy(&mut from.take(most + 1), &mut hash).map_err(|source| unreadable(path, source))?;
        if length > most {
            return Err(damaged(path, &format!("at most {most} bytes, once unpacked"), "more"));
        }
        Ok(format!("{:x}", hash.finalize()))
    })
}

/// Passes on a file's bytes, unpacked where they are compressed, with the largest number of them.
fn unpacked<T>(path: &Path, take: impl FnOnce(&mut dyn Read, u64) -> Result<T, DataError>) -> Result<T, DataError> {
    let failed = |source| DataError::File { path: path.to_owned(), source };
    let file = plain_file::open(path, Links::Followed).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut file = BufReader::new(file);
    if !is_compressed(file.fill_buf().map_err(failed)?) {
        return take(&mut file, length);
    }
    let mut decoder = GzDecoder::new(file);
    let limit = UNPACKED_AT_LEAST.max(length.saturating_mul(MAX_COMPRESSION_RATIO)).min(LONGEST);
    let taken = take(&mut decoder, limit)?;
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
    most: u64,
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

    /// Reads `count` bytes, or as many as the file can have.
    fn bytes(&mut self, count: usize) -> Result<Vec<u8>, DataError> {
        let room = self.most.min(count as u64);
        let mut bytes = Vec::with_capacity(room as usize);
        let from = &mut self.from;
        from.take(room).read_to_end(&mut bytes).map_err(|error| unreadable(self.path, error))?;
        Ok(bytes)
    }
}
