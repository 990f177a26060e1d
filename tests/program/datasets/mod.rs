//! MNIST: its files, its download, and the synthetic digits in its place.

mod download;
mod files;
mod with_data;

use valleyscope_experiments::dataset::mnist::{Digits, Mnist, MnistSource, PIXELS};

fn small() -> Mnist {
    let digits = |count: usize, shift: usize| Digits {
        images: (0..count * PIXELS).map(|place| ((place * 7 + shift) % 251) as u8).collect(),
        labels: (0..count).map(|index| ((index + shift) % 10) as u8).collect(),
    };
    Mnist { train: digits(12, 0), test: digits(5, 3), source: MnistSource::Folder("small".into()) }
}
