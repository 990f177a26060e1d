//! MNIST (LeCun, Cortes and Burges): 60,000 handwritten digits for training and 10,000 for testing.

mod error;
mod files;
mod idx;
mod obtain;
mod official;
mod synthetic;

use std::fmt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use self::official::Likeness;
pub use error::DataError;
pub(crate) use files::look_in;
pub use files::{copy_folder, read_folder, write_folder};
pub use obtain::{MnistSources, look, obtain};
pub use official::{MnistCheck, MnistFound, cache_folder, check, download, mirrors};
pub use synthetic::{SYNTHETIC_SEED, synthetic_digits};

/// Pixels along each side of an image.
const SIDE: usize = 28;
/// Pixels of an image.
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

/// The origin of digits; displayed in words.
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
    /// Returns the digits that were read from a folder.
    fn read_from(folder: &Path, train: Digits, test: Digits) -> Mnist {
        let mut mnist = Mnist { train, test, source: MnistSource::Folder(folder.to_owned()) };
        if synthetic::drew(&mnist.test) {
            mnist.source = MnistSource::Synthetic;
        } else if mnist.counts() == WHOLE {
            match official::likeness(&mnist) {
                Likeness::Equal => mnist.source = MnistSource::Official(folder.to_owned()),
                Likeness::Rebuilt => mnist.source = MnistSource::Rebuilt(folder.to_owned()),
                Likeness::None => {}
            }
        }
        mnist
    }

    /// Returns the number of images for training, and for testing.
    fn counts(&self) -> [usize; 2] {
        [&self.train, &self.test].map(|digits| digits.labels.len())
    }

    /// Returns a hash of all images and labels, whatever files they came from: SHA-256 in hexadecimal. A run resumes
    /// only with data of the same fingerprint.
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
