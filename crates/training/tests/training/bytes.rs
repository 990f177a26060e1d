//! The tensors of trainings, bit for bit those of an earlier version.

use std::fs;

use crate::faults::{Stage, expect, valleyscope};
use crate::golden_bytes::expect_same_bytes;
use crate::left_out::left_out;
use crate::programs::WORKER;
use crate::scan_parts::named;

/// The processor in the first line that is no comment, then commands and the checksums of their checkpoints' tensors.
const GOLDEN: &str = include_str!("data/bytes.txt");

/// Returns the name, family and model of the processor, which identify its kind.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim())
    };
    format!("{}, family {}, model {}", value("model name"), value("cpu family"), value("model"))
}

#[test]
fn trainings_compute_the_bits_of_before() {
    let golden_processor = GOLDEN.lines().find(|line| !line.starts_with('#')).unwrap();
    if processor() != golden_processor {
        let why = format!("on {}, libtorch's products have other bits than on {golden_processor}", processor());
        return left_out("training::bytes", &why);
    }
    let (_, golden) = GOLDEN.split_once(&format!("\n{golden_processor}\n")).unwrap();
    let stage = Stage::new();
    let runs = stage.place.path().join("runs");
    let run = |command: &str| {
        let usual = ["--worker", WORKER, "--runs", runs.to_str().unwrap()];
        let all: Vec<&str> = command.split(' ').chain(usual).collect();
        expect(&valleyscope(&stage, &all), 0, &["finished"]);
    };
    expect_same_bytes(golden, run, |command, file| {
        let preset = command.split(' ').nth(1).unwrap();
        let [run] = &named(&stage, preset)[..] else { panic!("expected one run of {preset}") };
        run.path().join(file)
    });
}
