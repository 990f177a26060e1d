//! Saved models of runs: exported in Hugging Face's format, and evaluated on all data, by the programs themselves.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use safetensors::SafeTensors;
use sha2::{Digest, Sha256};
use tch::Device;
use valleyscope_experiments::dataset::text::{Corpus, Split, synthetic_text};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::{Attention, Gpt2Precision, Gpt2Shape};
use valleyscope_runs::atomic_file::Overwrite;
use valleyscope_runs::{CheckpointChoice, MetricId, RunFolder};
use valleyscope_training::gpt2::Gpt2;

use crate::faults::{Stage, expect, history, quick, scan, tensors, to_the_end, valleyscope};
use crate::gpt2_run::tiny;
use crate::programs::{WORKER, valleyscope_program};

/// Runs `valleyscope runs` on a stage's runs; with its worker, if `worker`.
fn runs(stage: &Stage, args: &[&str], worker: bool) -> Output {
    let folder = stage.place.path().join("runs");
    let place = ["--runs", folder.to_str().unwrap()];
    let worker: &[&str] = if worker { &["--worker", WORKER] } else { &[] };
    valleyscope(stage, &[&["runs"], args, &place, worker].concat())
}

/// Returns a finished run of GPT-2.
fn trained(stage: &Stage, settings: &[(&str, &str)]) -> RunFolder {
    let run = tiny(stage, settings);
    let output = to_the_end(&run, false);
    assert!(output.status.success(), "{output:?}");
    run
}

/// Returns the parameters of a checkpoint, as bytes.
fn parameters(run: &RunFolder, step: u64) -> Vec<u8> {
    SafeTensors::deserialize(&tensors(run, step)).unwrap().tensor("parameters").unwrap().data().to_vec()
}

/// Returns the model of [`tiny`] from an exported folder.
fn imported(folder: &Path) -> Gpt2 {
    let shape = Gpt2Shape {
        layers: 2,
        heads: 2,
        width: 32,
        context: 32,
        vocabulary: 128,
        bias: false,
        scale_attn_by_inverse_layer_idx: false,
        decay_embeddings: true,
    };
    let mut model = Gpt2::new(shape, Gpt2Precision::Float32, Attention::Fused, Device::Cpu).unwrap();
    model.import(folder).unwrap();
    model
}

#[test]
fn a_run_starts_from_an_exported_model() {
    let stage = Stage::new();
    let run = trained(&stage, &[("keep_every", "20")]);
    let name = run.name();
    let best = CheckpointChoice::Best.find(&run).unwrap();
    let smallest = history(&run).curve(MetricId::VAL_LOSS).value.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(best.best, Some((best.step, smallest)));
    for (point, step) in [(name.clone(), 60), (format!("{name}@20"), 20), (format!("{name}@best"), best.step)] {
        let folder = stage.place.path().join(format!("model {step} {}", point.len()));
        let output = runs(&stage, &["export", &point, "--model", folder.to_str().unwrap()], true);
        expect(&output, 0, &[&format!("the model of {name} at step {step} is in")]);
        let config: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(folder.join("config.json")).unwrap()).unwrap();
        assert_eq!((&config["model_type"], config["n_embd"].as_u64()), (&"gpt2".into(), Some(32)));
        // The rate of the first step is 0, so that the new run's parameters are still those of the file.
        let path = ron::to_string(folder.to_str().unwrap()).unwrap();
        let again = trained(&stage, &[("init_from", &path), ("steps", "1")]);
        assert_eq!(parameters(&again, 1), parameters(&run, step), "step {step}");
        let loss = |run: &RunFolder, at: u64| {
            let history = history(run);
            let curve = history.curve(MetricId::VAL_LOSS);
            let place = curve.step.iter().position(|step| *step == at).unwrap();
            curve.value[place].to_bits()
        };
        assert_eq!(loss(&again, 1), loss(&run, step), "step {step}");
    }
}

#[test]
fn exports_single_precision_of_a_half_precision_run() {
    let stage = Stage::new();
    let run = trained(&stage, &[("precision", "BFloat16"), ("steps", "10")]);
    let folder = stage.place.path().join("model");
    expect(&runs(&stage, &["export", "last", "--model", folder.to_str().unwrap()], true), 0, &["at step 10"]);
    let again = stage.place.path().join("again");
    imported(&folder).export(&again, Overwrite::No).unwrap();
    let file = |folder: &Path| fs::read(folder.join("model.safetensors")).unwrap();
    assert_eq!(file(&again), file(&folder));
    let own = parameters(&run, 10);
    let embedding =
        SafeTensors::deserialize(&file(&folder)).unwrap().tensor("transformer.wte.weight").unwrap().data().to_vec();
    assert_eq!(embedding, own[..embedding.len()]);
}

#[test]
fn a_refused_export_leaves_nothing() {
    let stage = Stage::new();
    let run = trained(&stage, &[("steps", "20")]);
    let name = run.name();
    let folder = stage.place.path().join("model");
    let to = folder.to_str().unwrap();
    let export = |point: &str| runs(&stage, &["export", point, "--model", to], true);
    expect(&export(&format!("{name}@7")), 2, &["no checkpoint of step 7", "10, 20"]);
    expect(&export(&format!("{name}@x")), 2, &["last@400 or last@best"]);
    expect(&export("nothing"), 2, &["there is no run `nothing`"]);
    let table = stage.place.path().join("points.csv");
    let with_step = ["export", &format!("{name}@10"), "--out", table.to_str().unwrap()];
    expect(&runs(&stage, &with_step, false), 2, &["whatever the checkpoint", "--model DIR"]);
    expect(&runs(&stage, &["export", &name], false), 2, &["--out", "--model"]);
    let scan = scan(&stage);
    expect(&export(&scan.name()), 2, &["has no checkpoint", "a scan saves none"]);
    let mnist = stage.run(quick(10));
    expect(&export(&mnist.name()), 2, &["has no checkpoint"]);
    assert!(to_the_end(&mnist, false).status.success());
    expect(&export(&mnist.name()), 1, &["models of MNIST cannot be exported"]);
    assert!(!folder.exists() && !table.exists());
    // Files in a folder are kept.
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("config.json"), "mine").unwrap();
    expect(&export(&name), 2, &["a new or an empty folder", "name another"]);
    assert_eq!(fs::read_to_string(folder.join("config.json")).unwrap(), "mine");
    // Another shape than the run was begun with.
    fs::remove_dir_all(&folder).unwrap();
    let config = fs::read_to_string(run.config()).unwrap();
    fs::write(run.config(), config.replacen("heads: 2", "heads: 4", 1)).unwrap();
    expect(&export(&name), 1, &["`shape.heads` was 2 and is 4"]);
    assert!(!folder.exists());
}

#[test]
fn evaluates_the_whole_validation_part_window_by_window() {
    let stage = Stage::new();
    let text = stage.place.path().join("text.txt");
    fs::write(&text, synthetic_text().chars().take(6000).collect::<String>()).unwrap();
    let tokens = stage.place.path().join("tokens");
    let mut command = Command::new(valleyscope_program());
    command.args(["data", "text", "--tokenizer", "char", "--out"]).arg(&tokens).arg(&text);
    expect(&command.output().unwrap(), 0, &[]);
    let folder = format!("Folder({})", ron::to_string(tokens.to_str().unwrap()).unwrap());
    let run = trained(&stage, &[("data", &folder), ("steps", "20"), ("batch_size", "5")]);
    let name = run.name();
    let model = stage.place.path().join("model");
    expect(&runs(&stage, &["export", &name, "--model", model.to_str().unwrap()], true), 0, &[]);
    // By hand: one window after another.
    let model = imported(&model);
    let corpus = Corpus::open(&tokens, 32).unwrap();
    let targets = corpus.count(Split::Validation) - 1;
    let windows = targets / 32;
    assert!(!windows.is_multiple_of(5) && !targets.is_multiple_of(32), "the last batch and the tail are cut");
    let losses = (0..windows).map(|window| {
        let sequences = corpus.sequences(Split::Validation, &[32 * window]).unwrap();
        let tensor = |tokens: &[u16]| {
            let tokens: Vec<i64> = tokens.iter().map(|&token| i64::from(token)).collect();
            tch::Tensor::from_slice(&tokens).view([1, 32])
        };
        let loss = model.loss(&tensor(&sequences.inputs), &tensor(&sequences.targets), &mut || Ok(()));
        loss.unwrap().double_value(&[])
    });
    let expected = losses.sum::<f64>() / windows as f64;
    let output = runs(&stage, &["evaluate", &name], true);
    expect(&output, 0, &[&format!("{name} at step 20, tokens in"), "on cpu"]);
    let said = String::from_utf8(output.stdout).unwrap();
    let number = said.split(' ').nth(2).unwrap().parse::<f64>().unwrap();
    assert!((number - expected).abs() < 1e-4, "{said} {expected}");
    let count = valleyscope_experiments::view::ticks::grouped(32 * windows);
    assert!(said.starts_with("validation loss ") && said.ends_with(&format!(" over {count} tokens\n")), "{said}");
    // Moved data count as the same; other data cause a warning.
    let moved = stage.place.path().join("moved");
    fs::rename(&tokens, &moved).unwrap();
    expect(&runs(&stage, &["evaluate", &name], true), 1, &["tokens"]);
    let elsewhere = ["evaluate", &name, "--data", moved.to_str().unwrap(), "--device", "cpu"];
    let again = runs(&stage, &elsewhere, true);
    assert_eq!(String::from_utf8_lossy(&again.stdout), said);
    assert!(!String::from_utf8_lossy(&again.stderr).contains("warning"));
    let mut bytes = fs::read(moved.join("val.bin")).unwrap();
    let sum = |bytes: &[u8]| format!("{:x}", Sha256::digest(bytes));
    let before = sum(&bytes);
    bytes.swap(0, 40);
    fs::write(moved.join("val.bin"), &bytes).unwrap();
    expect(&runs(&stage, &elsewhere, true), 1, &["val.bin: expected the tokens of meta.json"]);
    let meta = fs::read_to_string(moved.join("meta.json")).unwrap();
    fs::write(moved.join("meta.json"), meta.replacen(&before, &sum(&bytes), 1)).unwrap();
    expect(&runs(&stage, &elsewhere, true), 0, &["warning: the run has learned from other data"]);
    expect(&runs(&stage, &["evaluate", &name, "--device", "cuda:77"], true), 1, &["CUDA device 77"]);
}

#[test]
fn evaluating_mnist_repeats_the_recorded_evaluation() {
    let stage = Stage::new();
    let run = stage.run(quick(10));
    assert!(to_the_end(&run, false).status.success());
    let output = runs(&stage, &["evaluate", "last"], true);
    let loss = history(&run).latest(MetricId::TEST_LOSS).unwrap();
    let expected = format!("test loss {loss:.4} over 200 images\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{}", String::from_utf8_lossy(&output.stderr));
    // The checkpoint that a fork begins with is the other run's.
    let training = Preset::read(&run.config()).unwrap().with("optimizer", "Adam").unwrap().with("steps", "20").unwrap();
    let fork = valleyscope_experiments::run::Fork { run: run.clone(), step: None };
    let (fork, _) = fork.create(run.path().parent().unwrap(), "fork", &training).unwrap();
    let output = runs(&stage, &["evaluate", &fork.name()], true);
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{}", String::from_utf8_lossy(&output.stderr));
}
