//! Fuzzing of training checkpoints; the workspace root's `fuzz` program has that of other files.

#[path = "../../../../tests/fuzz/driver.rs"]
mod driver;

use std::fs;

use tch::{Device, Kind, Tensor};
use valleyscope_experiments::preset::built_ins;
use valleyscope_runs::RunFolder;
use valleyscope_training::{Checkpoint, CheckpointOrigin, OptimizerProgress, TrainingState, checkpoint};

use crate::driver::{Target, fuzz};

const WORDS: &str = r#""dtype":"F64" "dtype":"U8" "dtype":"BF16" "dtype":"I64" "shape":[0] "shape":[3,4] "shape":[]
    "data_offsets":[0,8] __metadata__ Some((3,0.25)) None ( ) " NaN inf"#;

/// The separator of the two files of a checkpoint in an input.
const BETWEEN: &[u8] = b"\n----\n";

/// Sets the text's length and checksum to the right ones, so that inputs get past their checks.
fn repaired(text: &[u8], tensors: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let text = with_field(&with_field(&text, "bytes: ", tensors.len() as u64), "text_sum: ", 0);
    let zero = with_field(&text, "crc32: ", 0);
    let mut sum = crc32fast::Hasher::new();
    sum.update(tensors);
    sum.update(zero.as_bytes());
    let text = with_field(&zero, "crc32: ", sum.finalize().into());
    with_field(&text, "text_sum: ", crc32fast::hash(text.as_bytes()).into()).into_bytes()
}

fn with_field(text: &str, field: &str, number: u64) -> String {
    let Some((before, after)) = text.split_once(field) else { return text.to_owned() };
    format!("{before}{field}{number}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn replaced(input: &[u8], part: &[u8], other: &[u8]) -> Vec<u8> {
    let at = input.windows(part.len()).position(|window| window == part).expect("it is there");
    // Spaces keep the header's length.
    let mut input = input.to_vec();
    input.splice(at..at + part.len(), other.iter().copied());
    let end = input.windows(2).rposition(|window| window == b"}}").expect("the head ends") + 2;
    if part.len() > other.len() {
        input.splice(end..end, vec![b' '; part.len() - other.len()]);
    }
    input
}

#[test]
fn training_checkpoints() {
    let folder = tempfile::tempdir().expect("a folder");
    let preset = &built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in").preset;
    let run = RunFolder::create(folder.path(), "fuzz", &preset.to_ron()).expect("a run");
    let powers = [("beta1", 0.5), ("beta2", 0.9)].map(|(key, power)| (key.to_owned(), power)).into();
    let progress = OptimizerProgress { steps: 6, powers };
    let parameters = Tensor::from_slice(&[1.5_f32, -0.0, f32::NAN, 4.0, 5.0, 6.0]).reshape([2, 3]);
    let memory = Tensor::from_slice(&[0.25_f64, f64::INFINITY]);
    let named = || vec![("parameters".to_owned(), &parameters), ("optimizer.m".to_owned(), &memory)];
    let state = || TrainingState { tensors: named(), progress: progress.clone() };
    let origin = CheckpointOrigin { data: "data".to_owned(), config: "config".to_owned(), preset: String::new() };
    let new = Checkpoint::new(7, 1.5, progress.clone(), Some((3, 0.25)), origin.clone());
    checkpoint::save(new, &run, named()).expect("there is room");
    let path = run.path().join("checkpoint-00000007.safetensors");
    let about = path.with_extension("ron");
    let read = |path| fs::read(path).expect("it is there");
    let seed = [&read(&about)[..], BETWEEN, &read(&path)[..]].concat();
    let mut seeds = vec![seed.clone()];
    // Types of other sizes, with data beyond the end of the file.
    for (kind, other) in
        [("F32\",\"shape\":[2,3]", "U8\",\"shape\":[4,6]"), ("F64\",\"shape\":[2]", "I64\",\"shape\":[2]")]
    {
        seeds.push(replaced(&seed, kind.as_bytes(), other.as_bytes()));
    }
    let target = Target { name: "training_checkpoints", seeds, words: WORDS, memory: 16 << 20, cases: 1000 };
    let mut turn = 0_u32;
    fuzz(&target, |input| {
        let middle = input.windows(BETWEEN.len()).position(|window| window == BETWEEN);
        let (text, tensors) = middle.map_or((input, &[][..]), |at| (&input[..at], &input[at + BETWEEN.len()..]));
        turn += 1;
        let text = if turn.is_multiple_of(4) { text.to_vec() } else { repaired(text, tensors) };
        fs::write(&about, text).expect("there is room");
        fs::write(&path, tensors).expect("there is room");
        let Ok((checkpoint, tensors)) = checkpoint::load(&run, 7, None, &origin, &state()) else { return };
        let bits = |tensors: &[(String, Tensor)]| -> Vec<(String, Vec<i64>, Vec<u64>)> {
            let numbers = |tensor: &Tensor| {
                let wide = tensor.to_device(Device::Cpu).to_kind(Kind::Double).flatten(0, -1);
                Vec::<f64>::try_from(wide).expect("numbers").into_iter().map(f64::to_bits).collect()
            };
            let mut all: Vec<_> =
                tensors.iter().map(|(name, tensor)| (name.clone(), tensor.size(), numbers(tensor))).collect();
            all.sort();
            all
        };
        let Checkpoint { step, wall_s, best, since, .. } = checkpoint;
        let mut copy = Checkpoint::new(step, wall_s, checkpoint.progress(), best, origin.clone());
        copy.since = since;
        let saved = checkpoint::save(copy, &run, tensors.iter().map(|(name, tensor)| (name.clone(), tensor)).collect());
        saved.expect("there is room");
        let (again, same) = checkpoint::load(&run, step, None, &origin, &state()).expect("what is written can be read");
        assert_eq!(bits(&same), bits(&tensors));
        assert_eq!((again.step, format!("{:?}", again.since)), (7, format!("{since:?}")));
    });
}
