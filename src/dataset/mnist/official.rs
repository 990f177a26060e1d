//! The official files: where they are and how to know them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use directories::ProjectDirs;

use super::DataError;
use super::files::{NAMES, find_file};
use crate::dataset::download::{Download, Progress, Wanted, sum};

const FILES: [Wanted<'static>; 4] = [
    Wanted {
        name: "train-images-idx3-ubyte.gz",
        bytes: 9_912_422,
        sha256: "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    },
    Wanted {
        name: "train-labels-idx1-ubyte.gz",
        bytes: 28_881,
        sha256: "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    },
    Wanted {
        name: "t10k-images-idx3-ubyte.gz",
        bytes: 1_648_877,
        sha256: "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    },
    Wanted {
        name: "t10k-labels-idx1-ubyte.gz",
        bytes: 4_542,
        sha256: "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    },
];

/// How long a mirror may say nothing.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// Where the official files are kept for the public.
pub fn mirrors() -> Vec<String> {
    [
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
        "https://azureopendatastorage.blob.core.windows.net/mnist",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Where downloaded files are kept: `valleyscope/mnist` in the user's folder for caches.
pub fn cache_folder() -> Result<PathBuf, DataError> {
    let project = ProjectDirs::from("", "", "valleyscope").ok_or(DataError::NoCache)?;
    Ok(project.cache_dir().join("mnist"))
}

/// Brings the official files into a folder, from the first of the mirrors that gives them, and checks their
/// sums. What is there already is not loaded again.
pub fn download(
    into: &Path,
    mirrors: &[String],
    patience: Duration,
    progress: &mut dyn FnMut(Progress),
    cancelled: &dyn Fn() -> bool,
) -> Result<(), DataError> {
    Ok(Download { files: &FILES, mirrors, patience }.into_folder(into, progress, cancelled)?)
}

/// What is known of one of the four files.
#[derive(Debug)]
pub struct Check {
    /// The official name, without .gz.
    pub name: &'static str,
    pub found: Found,
}

#[derive(Debug)]
pub enum Found {
    Missing,
    /// The official file, byte for byte.
    Official(PathBuf),
    /// A compressed file with another sum.
    Other {
        path: PathBuf,
        sha256: String,
    },
    /// Not compressed; only for compressed files there are official sums.
    Plain(PathBuf),
}

/// Looks which of the files are in a folder, and compares sums.
pub fn check(folder: &Path) -> Result<Vec<Check>, DataError> {
    let check = |name: &'static str| {
        let Some(path) = find_file(folder, name) else { return Ok(Check { name, found: Found::Missing }) };
        if path.extension().is_none_or(|extension| extension != "gz") {
            return Ok(Check { name, found: Found::Plain(path) });
        }
        let sha256 = File::open(&path).and_then(|mut file| sum(&mut file));
        let sha256 = sha256.map_err(|source| DataError::File { path: path.clone(), source })?;
        let official = FILES.iter().any(|file| file.name.strip_suffix(".gz") == Some(name) && file.sha256 == sha256);
        Ok(Check { name, found: if official { Found::Official(path) } else { Found::Other { path, sha256 } } })
    };
    NAMES.concat().into_iter().map(check).collect()
}
