//! The four files of MNIST in a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use valleyscope_runs::atomic_file::{AtomicFile, Overwrite, write_file};
use valleyscope_runs::plain_file::{self, Links};

use super::idx::{self, IdxContent};
use super::{DataError, Digits, Mnist};

/// Names without .gz: images and labels for training, images and labels for testing.
pub(super) const NAMES: [[&str; 2]; 2] =
    [["train-images-idx3-ubyte", "train-labels-idx1-ubyte"], ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]];

/// The places of the files in a named folder; the last is PyTorch's.
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
pub(crate) fn look_in(folder: &Path) -> Result<(), DataError> {
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
            idx::write(&mut file, content, data).and_then(|()| file.commit(Overwrite::No)).map_err(failed(&path))?;
        }
    }
    Ok(())
}

/// Reads the four files from a folder, and copies them to another as they are. Existing files are not replaced.
pub fn copy_folder(from: &Path, into: &Path) -> Result<Mnist, DataError> {
    let mnist = read_folder(from)?;
    fs::create_dir_all(into).map_err(failed(into))?;
    for (name, path) in NAMES.concat().into_iter().zip(find(from)?.concat()) {
        let content = plain_file::read(&path, Links::Followed, idx::LONGEST).map_err(failed(&path))?;
        let suffix = if idx::is_compressed(&content) { ".gz" } else { "" };
        let target = into.join(format!("{name}{suffix}"));
        write_file(&target, Overwrite::No, &content).map_err(failed(&target))?;
    }
    Ok(mnist)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> DataError {
    |source| DataError::File { path: path.to_owned(), source }
}

/// Returns the paths of the files, as in [`NAMES`].
fn find(folder: &Path) -> Result<[[PathBuf; 2]; 2], DataError> {
    if !folder.is_dir() {
        return Err(DataError::NoFolder(folder.to_owned()));
    }
    let found = look(folder);
    if let [[Some(a), Some(b)], [Some(c), Some(d)]] = found {
        return Ok([[a, b], [c, d]]);
    }
    let names = NAMES.concat().into_iter().zip(found.concat());
    let missing = names.filter(|(_, path)| path.is_none()).map(|(name, _)| name).collect();
    Err(DataError::Missing { folder: folder.to_owned(), missing })
}

/// Returns the files that are in the folder or, where there are more, in a subfolder.
pub(super) fn look(folder: &Path) -> [[Option<PathBuf>; 2]; 2] {
    let places = SUBFOLDERS.iter().rev().map(|subfolder| folder.join(subfolder));
    let found = places.map(|place| NAMES.map(|names| names.map(|name| find_file(&place, name))));
    found.max_by_key(|found| found.iter().flatten().flatten().count()).expect("there are places to look at")
}

fn find_file(folder: &Path, name: &str) -> Option<PathBuf> {
    // Some archives have a dot before the kind. The names of downloaded and checked files are tried first.
    let dotted = name.replacen("-idx", ".idx", 1);
    let names = [name, &dotted].map(|name| [format!("{name}.gz"), name.to_owned()]).concat();
    names.into_iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

fn read_digits(images_path: &Path, labels_path: &Path) -> Result<Digits, DataError> {
    let (images, labels) =
        rayon::join(|| idx::read(images_path, IdxContent::Images), || idx::read(labels_path, IdxContent::Labels));
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
