//! The official files: their mirrors and their sums.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::files::{NAMES, look};
use super::idx::{self, IdxContent};
use super::{DataError, Mnist};
use crate::dataset;
use crate::dataset::download::{Download, DownloadFile, DownloadProgress};

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

/// The result of comparing digits with the official ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    Equal,
    /// The copy that is called [`super::REBUILT`].
    Rebuilt,
    None,
}

/// Compares digits, in the format of the files, with the official ones.
pub(super) fn likeness(mnist: &Mnist) -> Likeness {
    let sum = |content, data: &[u8]| {
        let mut hash = Sha256::new();
        idx::write(&mut hash, content, data).expect("a hash takes all bytes");
        format!("{:x}", hash.finalize())
    };
    let [[train_images, train_labels], [test_images, test_labels]] = SUMS;
    let Mnist { train, test, .. } = mnist;
    // The short files first: they already differ for most other digits.
    let official = sum(IdxContent::Labels, &test.labels) == test_labels
        && sum(IdxContent::Labels, &train.labels) == train_labels
        && sum(IdxContent::Images, &test.images) == test_images;
    if !official {
        return Likeness::None;
    }
    match sum(IdxContent::Images, &train.images) {
        sum if sum == train_images => Likeness::Equal,
        sum if sum == REBUILT_TRAINING_IMAGES => Likeness::Rebuilt,
        _ => Likeness::None,
    }
}

/// Returns the addresses of the official files.
pub fn mirrors() -> Vec<String> {
    [
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
        "https://azureopendatastorage.blob.core.windows.net/mnist",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Returns the folder of downloaded files: `valleyscope/mnist` in the user's cache folder.
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
/// Returns an error where a file cannot be read.
pub fn check(folder: &Path) -> Result<Vec<MnistCheck>, DataError> {
    let names = NAMES.concat().into_iter().zip(SUMS.concat());
    names.zip(look(folder).concat()).map(|((name, official), path)| check_file(name, official, path)).collect()
}

fn check_file(name: &'static str, official: &str, path: Option<PathBuf>) -> Result<MnistCheck, DataError> {
    let found = match path {
        None => MnistFound::Missing,
        Some(path) => match idx::sum(&path) {
            Ok(sha256) if sha256 == official => MnistFound::Official(path),
            Ok(sha256) => MnistFound::Other { path, sha256 },
            Err(error @ DataError::Damaged { .. }) => MnistFound::Damaged { path, error },
            Err(error) => return Err(error),
        },
    };
    Ok(MnistCheck { name, found })
}
