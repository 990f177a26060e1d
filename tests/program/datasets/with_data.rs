use valleyscope_experiments::dataset::mnist::{MnistFound, MnistSource, REBUILT, check, read_folder, write_folder};

use crate::data_folder::data_folder;
use crate::doctor::{Sandbox, stdout};

#[test]
fn real_digits_have_their_known_values() {
    let Some(folder) = data_folder(module_path!()) else { return };
    let mnist = read_folder(&folder).unwrap();
    let named = [MnistSource::Official(folder.clone()), MnistSource::Rebuilt(folder.clone())];
    assert!(named.contains(&mnist.source), "{}", mnist.source);
    assert_eq!([mnist.train.labels.len(), mnist.test.labels.len()], [60_000, 10_000]);
    assert_eq!(mnist.train.labels[..10], [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]);
    assert_eq!(mnist.test.labels[..10], [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]);
    let count = |digit| mnist.train.labels.iter().filter(|&&label| label == digit).count();
    let counts: Vec<usize> = (0..10).map(count).collect();
    assert_eq!(counts, [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]);
    let pixels = mnist.train.images.len() as f64;
    let moment =
        |power: i32| mnist.train.images.iter().map(|&p| (f64::from(p) / 255.0).powi(power)).sum::<f64>() / pixels;
    let mean = moment(1);
    let deviation = (moment(2) - mean * mean).sqrt();
    assert!((mean - 0.1307).abs() < 5e-5 && (deviation - 0.3081).abs() < 5e-5, "{mean} {deviation}");

    // Only files with the official sums are called MNIST. Former versions called this copy MNIST too: runs of the same
    // fingerprint continue.
    let found = check(&folder).unwrap();
    let official: Vec<bool> = found.iter().map(|check| matches!(check.found, MnistFound::Official(_))).collect();
    match &mnist.source {
        MnistSource::Official(_) => {
            assert_eq!(official, [true; 4]);
            assert!(mnist.source.to_string().starts_with("MNIST, in "));
        }
        _ => {
            assert_eq!(official, [false, true, true, true]);
            assert!(mnist.source.to_string().starts_with(REBUILT));
            assert_eq!(mnist.fingerprint(), "d0b27c6f136420851ecef3eb53e316175e7cb5dabf4965ed0f0052b5f2a8dc1c");
        }
    }

    // The files are read without compression too.
    let plain = tempfile::tempdir().unwrap();
    write_folder(&mnist, plain.path()).unwrap();
    assert!(matches!(
        (read_folder(plain.path()).unwrap().source, &mnist.source),
        (MnistSource::Official(_), MnistSource::Official(_)) | (MnistSource::Rebuilt(_), MnistSource::Rebuilt(_))
    ));
    let found = check(plain.path()).unwrap();
    assert!(
        found.iter().zip(official).all(|(check, official)| matches!(check.found, MnistFound::Official(_)) == official)
    );
}

#[test]
fn the_real_files_are_compared_with_the_official_sums() {
    let Some(folder) = data_folder(module_path!()) else { return };
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["data", "mnist", "--check", "--dir", folder.to_str().unwrap()]);
    let said = stdout(&output);
    assert!(said.contains("60000 images to learn from and 10000 to test with"), "{said}");
    let labels = said.lines().find(|line| line.starts_with("t10k-labels-idx1-ubyte")).unwrap();
    assert!(labels.ends_with("the official file"), "{said}");
}
