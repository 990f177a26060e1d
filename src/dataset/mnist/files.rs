//! The four files of MNIST in a folder.

use std::path::{Path, PathBuf};

use super::idx::{self, Content};
use super::{DataError, Digits, Mnist, Origin, stand_in};
use crate::export::{Aside, Overwrite};

/// Names without .gz: images and labels to learn from, images and labels to test with.
pub const NAMES: [[&str; 2]; 2] =
    [["train-images-idx3-ubyte", "train-labels-idx1-ubyte"], ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]];

/// Where the files are looked for in the folder that is named; the last is where PyTorch keeps them.
const SUBFOLDERS: [&str; 3] = ["", "mnist", "MNIST/raw"];

/// Reads the four files from a folder or its subfolder `mnist`.
///
/// Each may be compressed. All is checked but the sums, so that other digits in the same format can be used:
/// kind, sizes and lengths, as many labels as images, labels from 0 to 9.
pub fn read_folder(folder: &Path) -> Result<Mnist, DataError> {
    let [train, test] = find(folder)?.map(|[images, labels]| read_digits(&images, &labels));
    let (train, test) = (train?, test?);
    let origin = if stand_in::drew(&test) { Origin::StandIn } else { Origin::Folder(folder.to_owned()) };
    Ok(Mnist { train, test, origin })
}

/// Writes the four files, uncompressed, into a folder, each as a whole or not at all.
pub fn write_folder(mnist: &Mnist, folder: &Path, overwrite: Overwrite) -> Result<(), DataError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| DataError::File { path, source }
    };
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    for (digits, names) in [&mnist.train, &mnist.test].into_iter().zip(NAMES) {
        for (name, content, data) in
            [(names[0], Content::Images, &digits.images), (names[1], Content::Labels, &digits.labels)]
        {
            let path = folder.join(name);
            let mut file = Aside::for_target(&path).map_err(failed(&path))?;
            idx::write(&mut file, content, data).and_then(|()| file.commit(overwrite)).map_err(failed(&path))?;
        }
    }
    Ok(())
}

/// The paths of the files, as in [`NAMES`].
fn find(folder: &Path) -> Result<[[PathBuf; 2]; 2], DataError> {
    if !folder.is_dir() {
        return Err(DataError::NoFolder(folder.to_owned()));
    }
    let mut nearest: Vec<&'static str> = NAMES.concat();
    for subfolder in SUBFOLDERS {
        let place = folder.join(subfolder);
        let found = NAMES.map(|names| names.map(|name| find_file(&place, name)));
        if let [[Some(a), Some(b)], [Some(c), Some(d)]] = found {
            return Ok([[a, b], [c, d]]);
        }
        let names = NAMES.concat().into_iter().zip(found.concat());
        let missing: Vec<_> = names.filter(|(_, path)| path.is_none()).map(|(name, _)| name).collect();
        if missing.len() < nearest.len() {
            nearest = missing;
        }
    }
    Err(DataError::Missing { folder: folder.to_owned(), missing: nearest })
}

pub fn find_file(folder: &Path, name: &str) -> Option<PathBuf> {
    // Some archives have a dot before the kind.
    let dotted = name.replacen("-idx", ".idx", 1);
    let names = [name, &dotted].map(|name| [name.to_owned(), format!("{name}.gz")]).concat();
    names.into_iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

fn read_digits(images_path: &Path, labels_path: &Path) -> Result<Digits, DataError> {
    let (images, labels) =
        rayon::join(|| idx::read(images_path, Content::Images), || idx::read(labels_path, Content::Labels));
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
