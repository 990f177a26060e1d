//! A small set of distinguishable images, and runs on it.

use std::path::{Path, PathBuf};

use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::dataset::mnist::{Digits, Mnist, MnistSource};
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::{DeviceChoice, MnistPreset, MnistSpec};

/// Returns a number from [0, 1) for a counter, uniformly distributed.
pub fn uniform(counter: u64) -> f64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Draws ten noisy patterns of bright pixels; some pixels are always dark, as in MNIST.
pub fn digits(count: usize, seed: u64) -> Digits {
    let labels: Vec<u8> = (0..count).map(|image| (image * 7 % 10) as u8).collect();
    let pixel = |image: usize, pixel: usize| {
        let pattern = uniform(u64::from(labels[image]) * 784 + pixel as u64) < 0.3;
        let noise = uniform(seed.wrapping_mul(1 << 40) + (image * 784 + pixel) as u64);
        match pixel % 28 {
            0 | 27 => 0,
            _ if pattern => (100.0 + 155.0 * noise) as u8,
            _ if noise < 0.15 => (255.0 * noise / 0.15) as u8,
            _ => 0,
        }
    };
    let images = (0..count).flat_map(|image| (0..784).map(move |at| (image, at))).map(|(image, at)| pixel(image, at));
    Digits { images: images.collect(), labels }
}

pub fn mnist() -> Mnist {
    Mnist { train: digits(1000, 1), test: digits(200, 2), source: MnistSource::Synthetic }
}

/// Writes the digits as files into a folder.
pub fn write(folder: &Path) {
    let Mnist { train, test, .. } = mnist();
    for (name, Digits { images, labels }) in [("train", train), ("t10k", test)] {
        let count = (labels.len() as u32).to_be_bytes();
        let side = 28_u32.to_be_bytes();
        let head = [&[0, 0, 8, 3][..], &count, &side, &side].concat();
        std::fs::write(folder.join(format!("{name}-images-idx3-ubyte")), [&head[..], &images].concat()).unwrap();
        let head = [&[0, 0, 8, 1][..], &count].concat();
        std::fs::write(folder.join(format!("{name}-labels-idx1-ubyte")), [&head[..], &labels].concat()).unwrap();
    }
}

pub fn rate(rate: f64) -> LearningRate {
    LearningRate::new(rate).unwrap()
}

/// Returns a run on the processor, with the rule of this name.
pub fn spec(rule: &str) -> MnistSpec {
    let mnist = &built_ins().iter().find(|built_in| built_in.name == "mnist").unwrap().preset;
    let Preset::Mnist(MnistPreset { runs, .. }) = mnist else { panic!("mnist is no training of MNIST") };
    let optimizer = RuleSpec::in_training(RuleKind::named(rule).unwrap());
    MnistSpec { device: DeviceChoice::Cpu, optimizer, ..runs[0].clone() }
}

/// Returns the text of a run's config on the data in a folder.
pub fn config(spec: MnistSpec, data: PathBuf) -> String {
    let spec = MnistSpec { data: DataChoice::Folder(data.to_str().unwrap().to_owned()), ..spec };
    let preset = MnistPreset {
        version: valleyscope_experiments::preset::FormatVersion,
        title: "A small training".to_owned(),
        description: String::new(),
        runs: vec![spec],
    };
    Preset::Mnist(preset).to_ron()
}
