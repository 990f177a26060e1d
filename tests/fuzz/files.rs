//! Files of images and labels in the IDX format, plain and compressed.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use valleyscope_experiments::dataset::mnist::{self, Digits, Mnist, MnistSource, PIXELS, read_folder, write_folder};

use crate::driver::{Target, fuzz};

fn digits(count: usize) -> Digits {
    Digits {
        images: (0..count * PIXELS).map(|pixel| (pixel % 251) as u8).collect(),
        labels: (0..count).map(|label| (label % 10) as u8).collect(),
    }
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

/// The first byte of an input is the number of the file that the rest replaces.
#[test]
fn idx() {
    let good = tempfile::tempdir().expect("a folder");
    write_folder(&Mnist { train: digits(3), test: digits(2), source: MnistSource::Synthetic }, good.path())
        .expect("written");
    let names =
        ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];
    let mut seeds = Vec::new();
    for (index, name) in (0..).zip(names) {
        let content = fs::read(good.path().join(name)).expect("it is there");
        for content in [gzipped(&content), content] {
            seeds.push([&[index], &content[..]].concat());
        }
    }
    // The heads of a million images, and of as many as there can be numbers.
    for count in [[0, 0x0f, 0x42, 0x40], [0xff; 4]] {
        let head = [&[0, 0, 8, 3], &count[..], &[0, 0, 0, 28, 0, 0, 0, 28]].concat();
        seeds.extend([gzipped(&head), head].map(|content| [&[0], &content[..]].concat()));
    }
    let target = Target { name: "idx", seeds, words: "", memory: 96 << 20, cases: 1000 };
    let mut turn = 0_u32;
    fuzz(&target, |input| {
        turn += 1;
        let Some((index, content)) = input.split_first() else { return };
        let index = usize::from(*index) % 4;
        let path = good.path().join(names[index]);
        let before = fs::read(&path).expect("it is there");
        fs::write(&path, content).expect("there is room");
        let read = read_folder(good.path());
        let checks = mnist::check(good.path());
        fs::write(&path, before).expect("there is room");
        checks.expect("all files can be read");
        match read {
            // That waits for the disk.
            Ok(read) if turn.is_multiple_of(32) => {
                let copy = tempfile::tempdir().expect("a folder");
                write_folder(&read, copy.path()).expect("there is room");
                let again = read_folder(copy.path()).expect("what is written can be read");
                assert_eq!((&again.train, &again.test), (&read.train, &read.test));
            }
            Ok(_) => {}
            Err(error) => assert!(error.to_string().contains("expected"), "{error}"),
        }
    });
}
