//! MNIST (LeCun, Cortes and Burges): 60,000 handwritten digits for training and 10,000 for testing.

mod files;
mod synthetic;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use sha2::{Digest, Sha256};

use super::download::{DownloadError, DownloadProgress, PATIENCE};
use super::{DataChoice, FOLDER_VARIABLE, SparseLines, named_folder};

pub(crate) use files::check_present;
pub use files::{
    MnistCheck, MnistFound, cache_folder, check, copy_folder, download, mirrors, read_folder, write_folder,
};
pub use synthetic::{SYNTHETIC_SEED, synthetic_digits};

/// Pixels along each side of an image.
const SIDE: usize = 28;
pub const PIXELS: usize = SIDE * SIDE;
/// Images of the whole training set, and of the whole test set.
pub(crate) const WHOLE: [usize; 2] = [60_000, 10_000];

/// Digits for training and for testing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mnist {
    pub train: Digits,
    pub test: Digits,
    pub source: MnistSource,
}

/// Images of single digits, with their labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digits {
    /// n × 784 bytes, image by image and row by row from the top; 0 is paper, 255 is ink.
    pub images: Vec<u8>,
    /// n digits, 0 to 9.
    pub labels: Vec<u8>,
}

/// The origin of digits, formatted as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MnistSource {
    /// MNIST, by the sums of its files, in a folder.
    Official(PathBuf),
    /// A copy of MNIST whose training images are not the official ones, in files in a folder; see [`REBUILT`].
    Rebuilt(PathBuf),
    /// Files of other digits in a folder.
    Folder(PathBuf),
    /// Digits drawn by the program, or read from files that it drew.
    Synthetic,
}

impl fmt::Display for MnistSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MnistSource::Official(folder) => write!(f, "MNIST, in {}", folder.display()),
            MnistSource::Rebuilt(folder) => write!(f, "{REBUILT}, in {}", folder.display()),
            MnistSource::Folder(folder) => write!(f, "files in {}", folder.display()),
            MnistSource::Synthetic => f.write_str("digits drawn by Valleyscope, not MNIST"),
        }
    }
}

/// The name of a known copy of MNIST. All its files are the official ones except the training images, where pixels of
/// value 1, about 1 in 1,700, are 0.
pub const REBUILT: &str = "a rebuilt copy of MNIST (training pixels of value 1 are 0)";

impl Mnist {
    fn read_from(folder: &Path, train: Digits, test: Digits) -> Mnist {
        let is_synthetic = synthetic::are_synthetic_tests(&test);
        let source = if is_synthetic { MnistSource::Synthetic } else { files::source(&train, &test, folder) };
        Mnist { train, test, source }
    }

    fn counts(&self) -> [usize; 2] {
        [&self.train, &self.test].map(|digits| digits.labels.len())
    }

    /// A hash of all images and labels, independent of their files: SHA-256 in hexadecimal. A run resumes only with
    /// data of the same fingerprint.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for digits in [&self.train, &self.test] {
            hash.update((digits.labels.len() as u64).to_le_bytes());
            hash.update(&digits.labels);
            hash.update(&digits.images);
        }
        format!("{:x}", hash.finalize())
    }
}

/// The reason why the digits cannot be obtained.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    #[error(
        "there is no folder {}; name the folder that holds the four files of MNIST, or get them with `valleyscope data \
         mnist`", .0.display()
    )]
    NoFolder(PathBuf),
    #[error(
        "expected the four files of MNIST in {} or its subfolder mnist, as they are or with .gz, found no {}; name the \
         folder that holds them, or get them with `valleyscope data mnist`",
        folder.display(), missing.join(", no ")
    )]
    Missing { folder: PathBuf, missing: Vec<&'static str> },
    #[error("cannot use {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: expected {expected}, found {found}; put the original file there, or get it with `valleyscope data mnist`", path.display())]
    Damaged { path: PathBuf, expected: String, found: String },
    #[error("there is no home folder to keep MNIST in; set HOME, or name a folder for the files")]
    NoCache,
    #[error(transparent)]
    Download(#[from] DownloadError),
}

impl DataError {
    /// Whether the files were not found, as opposed to invalid.
    pub fn is_absence(&self) -> bool {
        matches!(self, DataError::NoFolder(_) | DataError::Missing { .. })
    }
}

const DRAWN: &str = "digits drawn by Valleyscope";

/// The sources of [`DataChoice::Automatic`].
#[derive(Clone, Debug)]
pub struct MnistSources {
    pub cache: Option<PathBuf>,
    /// A folder to use where the cache is empty.
    pub folder: Option<PathBuf>,
    pub mirrors: Vec<String>,
    /// The time limit for a silent mirror.
    pub patience: Duration,
}

impl MnistSources {
    /// The user's cache, the folder that `VALLEYSCOPE_DATA` names, and the official mirrors.
    pub fn of_this_machine() -> MnistSources {
        MnistSources { cache: cache_folder().ok(), folder: named_folder(), mirrors: mirrors(), patience: PATIENCE }
    }
}

/// Obtains the digits that a preset requests, with warnings about them.
///
/// `say` receives a line from time to time about long work.
pub fn obtain(
    choice: &DataChoice,
    sources: &MnistSources,
    say: &mut dyn FnMut(&str),
    cancelled: &dyn Fn() -> bool,
) -> Result<(Mnist, Vec<String>), DataError> {
    let mut warnings = Vec::new();
    let mnist = match choice {
        DataChoice::Automatic => automatic(sources, say, cancelled, &mut warnings)?,
        DataChoice::Folder(folder) => read_folder(folder.as_ref())?,
        DataChoice::Synthetic => synthetic_digits(SYNTHETIC_SEED),
    };
    let source = &mnist.source;
    if mnist.counts() != WHOLE {
        let [[train, test], [all_train, all_test]] = [mnist.counts(), WHOLE];
        warnings.push(format!(
            "{source}: {train} images to learn from and {test} to test with; MNIST has {all_train} and {all_test}"
        ));
    } else if matches!(source, MnistSource::Folder(_)) {
        warnings.push(format!("{source}: other digits than MNIST's, though as many"));
    } else if matches!(source, MnistSource::Rebuilt(_)) {
        warnings.push(format!("{source}: get the official files with `valleyscope data mnist` to compare with others"));
    }
    let is_reported = warnings.iter().any(|warning| warning.contains(DRAWN));
    if mnist.source == MnistSource::Synthetic && *choice != DataChoice::Synthetic && !is_reported {
        warnings.push(format!("the files hold {DRAWN}, not MNIST"));
    }
    Ok((mnist, warnings))
}

/// The folder whose files [`obtain`] would read, without reading them; `None` where it would download them or draw
/// digits.
///
/// # Errors
///
/// Fails where a folder is named that does not have all of the files.
pub fn locate(choice: &DataChoice, sources: &MnistSources) -> Result<Option<PathBuf>, DataError> {
    match choice {
        DataChoice::Automatic => {
            let mut folders = [&sources.cache, &sources.folder].into_iter().flatten();
            Ok(folders.find(|folder| check_present(folder).is_ok()).cloned())
        }
        DataChoice::Folder(folder) => {
            let folder = PathBuf::from(folder);
            check_present(&folder).map(|()| Some(folder))
        }
        DataChoice::Synthetic => Ok(None),
    }
}

fn automatic(
    sources: &MnistSources,
    say: &mut dyn FnMut(&str),
    cancelled: &dyn Fn() -> bool,
    warnings: &mut Vec<String>,
) -> Result<Mnist, DataError> {
    if let Some(cache) = &sources.cache {
        match read_folder(cache) {
            Ok(mnist) => return Ok(mnist),
            Err(error) if error.is_absence() => {}
            Err(error) => warnings.push(format!("the cache cannot be used: {error}")),
        }
    }
    if let Some(folder) = &sources.folder {
        match read_folder(folder) {
            // The folder may hold other data.
            Err(error) if error.is_absence() => warnings.push(format!("{FOLDER_VARIABLE}: {error}")),
            outcome => return outcome,
        }
    }
    let error = match &sources.cache {
        Some(cache) => {
            let mut lines = SparseLines::new(say);
            let outcome = download(
                cache,
                &sources.mirrors,
                sources.patience,
                &mut |DownloadProgress { done, total }| lines.at("downloading MNIST", done, total),
                cancelled,
            );
            match outcome.and_then(|()| read_folder(cache)) {
                Ok(mnist) => return Ok(mnist),
                Err(DataError::Download(DownloadError::Cancelled)) => return Err(DownloadError::Cancelled.into()),
                Err(error) => error,
            }
        }
        None => DataError::NoCache,
    };
    warnings.push(format!("MNIST cannot be had, and {DRAWN} take its place: {error}"));
    Ok(synthetic_digits(SYNTHETIC_SEED))
}
