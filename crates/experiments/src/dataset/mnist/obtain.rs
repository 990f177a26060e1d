//! Obtaining digits from a folder, the cache or a download.

use std::path::PathBuf;
use std::time::Duration;

use super::{
    DataError, Mnist, MnistSource, SYNTHETIC_SEED, WHOLE, cache_folder, download, look_in, mirrors, read_folder,
    synthetic_digits,
};
use crate::dataset::DataChoice;
use crate::dataset::download::{DownloadError, DownloadProgress, PATIENCE};
use crate::dataset::sparse_lines::SparseLines;
use crate::dataset::{FOLDER_VARIABLE, named_folder};

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
    /// Returns the user's cache, the folder that `VALLEYSCOPE_DATA` names, and the official mirrors.
    pub fn of_this_machine() -> MnistSources {
        MnistSources { cache: cache_folder().ok(), folder: named_folder(), mirrors: mirrors(), patience: PATIENCE }
    }
}

/// Returns the digits that a preset requests, with warnings about them.
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
    let told = warnings.iter().any(|warning| warning.contains(DRAWN));
    if mnist.source == MnistSource::Synthetic && *choice != DataChoice::Synthetic && !told {
        warnings.push(format!("the files hold {DRAWN}, not MNIST"));
    }
    Ok((mnist, warnings))
}

/// Returns the folder whose files [`obtain`] would read, without reading them; `None` where it would download them or
/// draw digits.
///
/// # Errors
///
/// Returns an error where a folder is named that does not have all of the files.
pub fn look(choice: &DataChoice, sources: &MnistSources) -> Result<Option<PathBuf>, DataError> {
    match choice {
        DataChoice::Automatic => {
            let mut places = [&sources.cache, &sources.folder].into_iter().flatten();
            Ok(places.find(|place| look_in(place).is_ok()).cloned())
        }
        DataChoice::Folder(folder) => {
            let folder = PathBuf::from(folder);
            look_in(&folder).map(|()| Some(folder))
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
