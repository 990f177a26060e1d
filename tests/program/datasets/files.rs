use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use valleyscope_experiments::dataset::download::DownloadError;
use valleyscope_experiments::dataset::mnist::{
    DataError, Mnist, MnistFound, MnistSource, MnistSources, copy_folder, locate, obtain, read_folder, write_folder,
};
use valleyscope_experiments::dataset::{DataChoice, mnist};

use crate::says::says;

use super::download::{Server, Way};
use super::small;

const NAMES: [&str; 4] =
    ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn written() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_folder(&small(), folder.path()).unwrap();
    folder
}

fn change(folder: &Path, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut content = fs::read(folder.join(name)).unwrap();
    change(&mut content);
    fs::write(folder.join(name), content).unwrap();
}

fn same_digits(found: &Mnist, expected: &Mnist) -> bool {
    found.train == expected.train && found.test == expected.test
}

#[test]
fn digits_are_written_and_read_back_under_any_name() {
    let folder = written();
    let path = folder.path();
    assert!(same_digits(&read_folder(path).unwrap(), &small()));
    assert_eq!(fs::metadata(path.join(NAMES[0])).unwrap().len(), 16 + 12 * 784);
    assert_eq!(fs::read(path.join(NAMES[3])).unwrap(), [0, 0, 8, 1, 0, 0, 0, 5, 3, 4, 5, 6, 7]);

    let subfolder = path.join("mnist");
    fs::create_dir(&subfolder).unwrap();
    for (index, name) in NAMES.iter().enumerate() {
        let content = fs::read(path.join(name)).unwrap();
        let dotted = name.replace("-idx", ".idx");
        match index {
            0 => fs::write(subfolder.join(format!("{name}.gz")), gzipped(&content)).unwrap(),
            1 => fs::write(subfolder.join(dotted), content).unwrap(),
            2 => fs::write(subfolder.join(format!("{dotted}.gz")), gzipped(&content)).unwrap(),
            // Some programs keep the extension but remove the compression, or the reverse.
            _ => fs::write(subfolder.join(name), gzipped(&content)).unwrap(),
        }
        fs::remove_file(path.join(name)).unwrap();
    }
    let read = read_folder(path).unwrap();
    assert!(same_digits(&read, &small()));
    assert_eq!(read.source.to_string(), format!("files in {}", path.display()));
}

#[test]
fn fingerprints_are_equal_exactly_for_equal_digits() {
    let of = |change: fn(&mut Mnist)| {
        let mut mnist = small();
        change(&mut mnist);
        mnist.fingerprint()
    };
    let same = of(|_| ());
    assert_eq!(same, of(|mnist| mnist.source = valleyscope_experiments::dataset::mnist::MnistSource::Synthetic));
    assert_eq!(same.len(), 64);
    for other in [
        of(|mnist| mnist.train.images[0] ^= 1),
        of(|mnist| mnist.test.labels[4] ^= 1),
        of(|mnist| std::mem::swap(&mut mnist.train, &mut mnist.test)),
    ] {
        assert_ne!(same, other);
    }
}

#[test]
fn every_fault_of_a_file_is_reported() {
    type Change = fn(&mut Vec<u8>);
    let cases: [(usize, Change, &[&str]); 11] = [
        (0, |content| content[3] = 1, &["magic number 0x0803 of a file of images", "found 0x0801"]),
        (1, |content| content[3] = 3, &["magic number 0x0801 of a file of labels"]),
        (0, |content| content[7] = 11, &["nothing after 8624 bytes of images", "more bytes"]),
        (0, |content| content[4] = 0xff, &["1 to 1000000 images", "found 4278190092"]),
        (3, |content| content[7] = 0, &["1 to 1000000 labels", "found 0"]),
        (2, |content| content[11] = 27, &["images of 28 × 28 pixels", "found 27 × 28"]),
        (2, |content| content.truncate(1000), &["3920 bytes of images", "only 984"]),
        (2, |content| content.truncate(10), &["IDX format", "end within the head"]),
        (3, |content| content[10] = 10, &["labels from 0 to 9", "found 10 as label 3"]),
        (3, |content| content.push(0), &["nothing after 5 bytes of labels", "more bytes"]),
        (1, Vec::clear, &["IDX format", "end within the head"]),
    ];
    for (file, mutation, expected) in cases {
        let folder = written();
        change(folder.path(), NAMES[file], mutation);
        expect_refusal(folder.path(), NAMES[file], expected);
    }
    let folder = written();
    change(folder.path(), NAMES[1], |content| {
        content[7] = 11;
        content.pop();
    });
    expect_refusal(folder.path(), NAMES[1], &["12 labels, one for each image", NAMES[0], "found 11"]);
}

fn expect_refusal(folder: &Path, name: &str, expected: &[&str]) {
    let error = read_folder(folder).unwrap_err();
    assert!(!error.is_absence());
    let said = error.to_string();
    for part in expected.iter().copied().chain([name, "`valleyscope data mnist`"]) {
        assert!(said.contains(part), "expected {part:?} in {said:?}");
    }
}

#[test]
fn a_compressed_file_that_is_cut_or_changed_anywhere_is_refused() {
    let folder = written();
    let plain = fs::read(folder.path().join(NAMES[3])).unwrap();
    fs::remove_file(folder.path().join(NAMES[3])).unwrap();
    let path = folder.path().join(format!("{}.gz", NAMES[3]));
    let whole = gzipped(&plain);
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(read_folder(folder.path()).is_err(), "cut after {length} bytes");
    }
    // The ten bytes of the header contain a time and a system, which are not checked.
    let mut refused = 0;
    for place in 10..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 0x10;
        fs::write(&path, changed).unwrap();
        match read_folder(folder.path()) {
            // A few bits between the data and their sum have no meaning.
            Ok(read) => assert!(same_digits(&read, &small()), "byte {place} changed"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused >= whole.len() - 11, "{refused} of {} changes", whole.len());
    fs::write(&path, [&whole[..], b"x"].concat()).unwrap();
    expect_refusal(folder.path(), NAMES[3], &["nothing after the compressed data", "more bytes"]);
    fs::write(&path, whole).unwrap();
    assert!(same_digits(&read_folder(folder.path()).unwrap(), &small()));
}

#[test]
fn a_short_file_that_would_fill_memory_is_refused() {
    let folder = written();
    fs::remove_file(folder.path().join(NAMES[0])).unwrap();
    let path = folder.path().join(format!("{}.gz", NAMES[0]));
    // A million blank images.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&[0, 0, 8, 3, 0, 0x0f, 0x42, 0x40, 0, 0, 0, 28, 0, 0, 0, 28]).unwrap();
    (0..784).for_each(|_| encoder.write_all(&vec![0; 1_000_000]).unwrap());
    fs::write(&path, encoder.finish().unwrap()).unwrap();
    expect_refusal(folder.path(), NAMES[0], &["784000000 bytes of images", "only "]);
    assert!(matches!(mnist::check(folder.path()).unwrap()[0].found, MnistFound::Damaged { .. }));
    // The file then has this header without the images.
    fs::write(&path, gzipped(&[0, 0, 8, 3, 0, 0, 0xff, 0xff, 0, 0, 0, 28, 0, 0, 0, 28])).unwrap();
    expect_refusal(folder.path(), NAMES[0], &["51379440 bytes of images", "only 0 of them"]);
}

#[test]
fn missing_files_are_named() {
    let folder = written();
    fs::remove_file(folder.path().join(NAMES[2])).unwrap();
    let error = read_folder(folder.path()).unwrap_err();
    assert!(error.is_absence());
    let said = error.to_string();
    assert!(said.contains(NAMES[2]) && !said.contains(NAMES[0]), "{said}");
    let error = read_folder(&folder.path().join("nowhere")).unwrap_err();
    assert!(error.is_absence() && error.to_string().contains("there is no folder"), "{error}");
}

#[test]
fn files_are_copied_as_they_are_and_nothing_is_replaced() {
    let from = written();
    let plain = fs::read(from.path().join(NAMES[0])).unwrap();
    fs::remove_file(from.path().join(NAMES[0])).unwrap();
    fs::write(from.path().join("train-images.idx3-ubyte"), gzipped(&plain)).unwrap();
    let into = tempfile::tempdir().unwrap();
    let target = into.path().join("new/folder");
    copy_folder(from.path(), &target).unwrap();
    assert!(same_digits(&read_folder(&target).unwrap(), &small()));
    assert_eq!(fs::read(target.join("train-images-idx3-ubyte.gz")).unwrap(), gzipped(&plain));

    for refused in [copy_folder(from.path(), &target).map(drop), write_folder(&small(), from.path())] {
        says(refused.unwrap_err(), &["cannot use", "exists"]);
    }
    let checks = mnist::check(&target).unwrap();
    assert!(checks.iter().all(|check| matches!(&check.found, MnistFound::Other { sha256, .. } if sha256.len() == 64)));
    let sum = |folder: &Path, index: usize| match &mnist::check(folder).unwrap()[index].found {
        MnistFound::Other { sha256, .. } => sha256.clone(),
        other => panic!("expected another file, found {other:?}"),
    };
    assert_eq!(sum(written().path(), 0), sum(&target, 0), "sums are of what is unpacked");
    fs::write(target.join("train-images-idx3-ubyte.gz"), &gzipped(&plain)[..100]).unwrap();
    let checks = mnist::check(&target).unwrap();
    assert!(matches!(&checks[0].found, MnistFound::Damaged { error, .. } if error.to_string().contains("too early")));
    let empty = mnist::check(into.path()).unwrap();
    assert!(empty.iter().all(|check| matches!(check.found, MnistFound::Missing)));
}

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
    says(drawn, &["drawn by Valleyscope", "503", &server.address()]);
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
