use std::path::Path;
use std::time::Duration;

use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::dataset::download::DownloadError;
use valleyscope_experiments::dataset::mnist::{
    DataError, Mnist, MnistSource, MnistSources, locate, obtain, write_folder,
};

use super::server::{Server, Way};
use super::small;

fn sources(cache: &Path, folder: Option<&Path>, mirrors: &[&Server]) -> MnistSources {
    MnistSources {
        cache: Some(cache.to_owned()),
        folder: folder.map(Path::to_owned),
        mirrors: mirrors.iter().map(|server| server.address()).collect(),
        patience: Duration::from_secs(20),
    }
}

fn automatic(sources: &MnistSources) -> Result<(Mnist, Vec<String>), DataError> {
    obtain(&DataChoice::Automatic, sources, &mut |_| (), &|| false)
}

#[test]
fn the_cache_is_tried_before_the_folder() {
    let [cache, folder] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let server = Server::start(&[], Way::Status("500 Broken"));
    let sources = sources(cache.path(), Some(folder.path()), &[&server]);
    let place = |choice: &DataChoice| locate(choice, &sources);
    assert_eq!(place(&DataChoice::Automatic).unwrap(), None);
    write_folder(&small(), folder.path()).unwrap();
    assert_eq!(place(&DataChoice::Automatic).unwrap().as_deref(), Some(folder.path()));
    let named = |folder: &Path| DataChoice::Folder(folder.display().to_string());
    assert_eq!(place(&named(folder.path())).unwrap().as_deref(), Some(folder.path()));
    assert!(matches!(place(&named(cache.path())), Err(DataError::Missing { .. })));
    let (mnist, warnings) = automatic(&sources).unwrap();
    assert_eq!(mnist.source, MnistSource::Folder(folder.path().to_owned()));
    assert!(warnings.len() == 1 && warnings[0].contains("12 images to learn from and 5 to test with"), "{warnings:?}");
    write_folder(&small(), cache.path()).unwrap();
    let (mnist, _) = automatic(&sources).unwrap();
    assert_eq!(mnist.source, MnistSource::Folder(cache.path().to_owned()));
    assert!(server.requests().is_empty(), "nothing is asked for that is there");
}

#[test]
fn a_folder_with_wrong_files_is_an_error_and_one_of_other_data_is_not() {
    let [cache, folder] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let server = Server::start(&[], Way::Status("404 Not Found"));
    let sources = sources(cache.path(), Some(folder.path()), &[&server]);
    let (mnist, warnings) = automatic(&sources).unwrap();
    assert_eq!(mnist.source, MnistSource::Synthetic);
    assert!(warnings[0].contains("VALLEYSCOPE_DATA") && warnings[0].contains("train-images"), "{warnings:?}");
    write_folder(&small(), folder.path()).unwrap();
    std::fs::write(folder.path().join("t10k-labels-idx1-ubyte"), "no labels").unwrap();
    assert!(matches!(automatic(&sources), Err(DataError::Damaged { .. })));
}

#[test]
fn without_network_digits_are_synthetic_with_a_warning() {
    let cache = tempfile::tempdir().unwrap();
    let server = Server::start(&[], Way::Status("503 Busy"));
    write_folder(&small(), cache.path()).unwrap();
    std::fs::write(cache.path().join("t10k-labels-idx1-ubyte"), "no labels").unwrap();
    let (mnist, warnings) = automatic(&sources(cache.path(), None, &[&server])).unwrap();
    assert_eq!(mnist.source, MnistSource::Synthetic);
    let [damaged, drawn] = &warnings[..] else { panic!("expected two warnings, found {warnings:?}") };
    assert!(damaged.contains("the cache cannot be used") && damaged.contains("t10k-labels"), "{damaged}");
    for part in ["drawn by Valleyscope", "503", &server.address()] {
        assert!(drawn.contains(part), "expected {part} in {drawn}");
    }
}

#[test]
fn a_requested_source_is_used_or_fails() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = MnistSources { cache: None, folder: None, mirrors: Vec::new(), patience: Duration::from_secs(1) };
    let of = |choice| obtain(&choice, &nowhere, &mut |_| (), &|| false);
    let choice = DataChoice::Folder(folder.path().to_str().unwrap().to_owned());
    assert!(matches!(of(choice.clone()), Err(DataError::Missing { .. })));
    write_folder(&small(), folder.path()).unwrap();
    assert_eq!(of(choice).unwrap().0.train, small().train);
    let (mnist, warnings) = of(DataChoice::Synthetic).unwrap();
    assert!(mnist.source == MnistSource::Synthetic && warnings.is_empty(), "{warnings:?}");
    let (mnist, warnings) = of(DataChoice::Automatic).unwrap();
    assert!(mnist.source == MnistSource::Synthetic && warnings[0].contains("no home folder"), "{warnings:?}");
}

#[test]
fn cancelling_gives_no_synthetic_digits() {
    let cache = tempfile::tempdir().unwrap();
    let server = Server::start(&[], Way::Silent);
    let asked = || !server.requests().is_empty();
    let outcome = obtain(&DataChoice::Automatic, &sources(cache.path(), None, &[&server]), &mut |_| (), &asked);
    assert!(matches!(outcome, Err(DataError::Download(DownloadError::Cancelled))));
}
