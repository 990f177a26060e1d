//! The tensors of trainings, bit for bit those of an earlier version.

use std::fs;

use sha2::{Digest, Sha256};

use crate::faults::{Stage, expect, valleyscope};
use crate::programs::WORKER;
use crate::scan_parts::named;

/// The processor, then arguments of `valleyscope train` after `$`, and below each the SHA-256 of a checkpoint's tensors.
const GOLDEN: &str = include_str!("data/bytes.txt");

/// Returns the lines of `/proc/cpuinfo` that tell processors apart, in one line.
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
    let mut lines = GOLDEN.lines().filter(|line| !line.starts_with('#'));
    let golden_processor = lines.next().unwrap();
    if processor() != golden_processor {
        return eprintln!("skipped on {}: libtorch's products have other bits than on {golden_processor}", processor());
    }
    let stage = Stage::new();
    let runs = stage.place.path().join("runs");
    let mut differing = Vec::new();
    let mut stem = "";
    for line in lines {
        if let Some(arguments) = line.strip_prefix("$ valleyscope train ") {
            stem = arguments.split(' ').next().unwrap();
            let mut all = vec!["train", "--worker", WORKER, "--runs", runs.to_str().unwrap()];
            all.extend(arguments.split(' '));
            expect(&valleyscope(&stage, &all), 0, &["finished"]);
        } else if let Some((expected, file)) = line.split_once("  ") {
            let [run] = &named(&stage, stem)[..] else { panic!("expected one run of {stem}") };
            let digest = Sha256::digest(fs::read(run.path().join(file)).unwrap());
            let found: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            if found != expected {
                differing.push(format!("{found}  {file} of {stem}"));
            }
        }
    }
    assert!(differing.is_empty(), "these tensors have other bits than in data/bytes.txt:\n{}", differing.join("\n"));
}
