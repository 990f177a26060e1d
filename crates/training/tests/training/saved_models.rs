//! GPT-2 as files of Hugging Face's `transformers`, and saved models of runs, exported and evaluated by the programs.
//! `pytorch_gpt2.py --transformers` wrote the files in `data`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use sha2::{Digest, Sha256};
use tch::{Device, Kind, Tensor};
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::text::{Corpus, Split, synthetic_text};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::{Attention, Gpt2Precision, Gpt2Shape};
use valleyscope_runs::atomic_file::Overwrite;
use valleyscope_runs::{CheckpointChoice, MetricId, RunFolder};
use valleyscope_training::gpt2::Gpt2;

use crate::gpt2;
use crate::says::says;
use crate::stage::{
    Stage, WORKER, expect, history, quick, tensors, tiny, to_the_end, valleyscope, valleyscope_program,
};

fn golden(bias: bool) -> PathBuf {
    let name = if bias { "gpt2-biases" } else { "gpt2-no-biases" };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/training/data").join(name)
}

fn shape(bias: bool) -> Gpt2Shape {
    Gpt2Shape { context: 8, vocabulary: 29, ..gpt2::shape(bias) }
}

fn model(shape: Gpt2Shape, precision: Gpt2Precision) -> Gpt2 {
    Gpt2::new(shape, precision, Attention::Explicit, Device::Cpu).unwrap()
}

#[test]
fn imported_models_have_the_logits_of_transformers() {
    for bias in [false, true] {
        let golden = golden(bias);
        let text = std::fs::read_to_string(golden.join("logits.json")).unwrap();
        let expected: Vec<Vec<f64>> = serde_json::from_str(&text).unwrap();
        for (precision, limit) in [(Gpt2Precision::Float64, 1e-12), (Gpt2Precision::Float32, 1e-5)] {
            let mut gpt2 = model(shape(bias), precision);
            gpt2.import(&golden).unwrap();
            let tokens: Vec<i64> = (0..2).flat_map(|row| (0..8).map(move |at| (5 * at + 3 * row) % 29)).collect();
            let logits =
                gpt2.logits(&Tensor::from_slice(&tokens).view([2, 8]), &mut || Ok(())).unwrap().to_kind(Kind::Double);
            let expected = Tensor::from_slice(&expected.concat()).view([2, 29]);
            let off = (logits - expected).abs().max().double_value(&[]);
            assert!(off < limit, "bias {bias}, {precision:?}: {off:e}");
        }
    }
}

#[test]
fn exports_the_tensors_that_transformers_wrote() {
    for bias in [false, true] {
        let mut gpt2 = model(shape(bias), Gpt2Precision::Float32);
        gpt2.import(&golden(bias)).unwrap();
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("new/folder");
        gpt2.export(&folder, Overwrite::No).unwrap();
        says(gpt2.export(&folder, Overwrite::No).unwrap_err(), &["model.safetensors"]);
        gpt2.export(&folder, Overwrite::Yes).unwrap();
        let files =
            [golden(bias), folder.clone()].map(|folder| std::fs::read(folder.join("model.safetensors")).unwrap());
        let [theirs, ours] = files.each_ref().map(|file| SafeTensors::deserialize(file).unwrap());
        let mut names = [&theirs, &ours].map(|file| file.names());
        names.iter_mut().for_each(|names| names.sort());
        assert_eq!(names[0], names[1]);
        for name in ours.names() {
            assert_eq!(theirs.tensor(name).unwrap(), ours.tensor(name).unwrap(), "{name}");
        }
        let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
        let config: serde_json::Value = serde_json::from_str(&config).unwrap();
        assert_eq!((config["n_embd"].as_u64(), config["n_positions"].as_u64()), (Some(12), Some(8)));
        assert_eq!(config["scale_attn_by_inverse_layer_idx"], bias);
        // There and back in double precision too.
        let mut double = model(shape(bias), Gpt2Precision::Float64);
        double.initialize(Key::new(5)).unwrap();
        double.export(&folder, Overwrite::Yes).unwrap();
        let mut again = model(shape(bias), Gpt2Precision::Float64);
        again.import(&folder.join("model.safetensors")).unwrap();
        assert!(double.parameters().equal(again.parameters()));
    }
}

#[test]
fn a_refused_file_of_another_model_changes_nothing() {
    let with = |change: fn(&mut Gpt2Shape)| {
        let mut shape = shape(true);
        change(&mut shape);
        shape
    };
    for (shape, parts) in [
        (
            with(|shape| shape.layers = 3),
            ["`transformer.h.2.ln_1.weight`", "found none of this name; choose the shape"],
        ),
        (with(|shape| shape.layers = 1), ["a GPT-2 of 1 layers", "found `transformer.h.1."]),
        (with(|shape| shape.width = 24), ["`transformer.wte.weight`", "[29, 24], found [29, 12]; choose the shape"]),
        (with(|shape| shape.context = 9), ["`transformer.wpe.weight`", "[9, 12], found [8, 12]; choose the shape"]),
        (with(|shape| shape.bias = false), ["`transformer.h.0.ln_1.bias` to be zeros", "`bias: true`"]),
    ] {
        let mut gpt2 = model(shape, Gpt2Precision::Float32);
        gpt2.initialize(Key::new(1)).unwrap();
        let before = gpt2.parameters().copy();
        let error = gpt2.import(&golden(true)).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)) && error.contains("model.safetensors"), "{error}");
        assert!(gpt2.parameters().equal(&before));
    }
}

#[test]
fn refuses_damaged_and_crafted_files() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("model.safetensors");
    let whole = std::fs::read(golden(true).join("model.safetensors")).unwrap();
    let import = |content: &[u8]| {
        std::fs::write(&path, content).unwrap();
        model(shape(true), Gpt2Precision::Float32).import(place.path()).map_err(|error| error.to_string())
    };
    assert_eq!(import(&whole), Ok(()));
    for content in [&[][..], b"PK", &whole[..whole.len() / 2], &u64::MAX.to_le_bytes()] {
        says(import(content).unwrap_err(), &["expected a file of safetensors"]);
    }
    let error = import(&[whole.clone(), vec![0; 3 << 20]].concat()).unwrap_err();
    assert!(error.contains("expected at most") && error.contains("choose the shape"), "{error}");
    let error = import(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 548105171\n").unwrap_err();
    assert!(error.contains("a pointer of Git LFS; fetch the file itself"), "{error}");
    let replaced = |from: &[u8], to: &[u8]| {
        let at = whole.windows(from.len()).position(|window| window == from).unwrap();
        [&whole[..at], to, &whole[at + from.len()..]].concat()
    };
    let error = import(&replaced(b"\"F32\"", b"\"I32\"")).unwrap_err();
    assert!(error.contains("of BF16, F16, F32 or F64, found I32; save the model in one of these"), "{error}");
    let error = import(&replaced(b"transformer.wpe", b"transformer.wqe")).unwrap_err();
    assert!(error.contains("`transformer.wpe.weight`") && error.contains("found none of this name"), "{error}");
    assert!(!error.contains("shape of the file"), "{error}");
    let missing = place.path().join("nothing");
    says(model(shape(true), Gpt2Precision::Float32).import(&missing).unwrap_err(), &["nothing"]);
    std::fs::remove_file(&path).unwrap();
    let import = || model(shape(true), Gpt2Precision::Float32).import(place.path()).unwrap_err().to_string();
    assert!(import().contains("expected model.safetensors or model.safetensors.index.json"), "{}", import());
    std::fs::write(place.path().join("pytorch_model.bin"), "PK").unwrap();
    assert!(import().contains("found pytorch_model.bin; save the model with"), "{}", import());
}

type FileTensor = (String, Dtype, Vec<usize>, Vec<u8>);

fn golden_tensors() -> Vec<FileTensor> {
    let file = std::fs::read(golden(true).join("model.safetensors")).unwrap();
    let found = SafeTensors::deserialize(&file).unwrap();
    let tensors = found.tensors().into_iter();
    tensors.map(|(name, view)| (name, view.dtype(), view.shape().to_vec(), view.data().to_vec())).collect()
}

fn write_tensors(path: &Path, tensors: &[FileTensor]) {
    let views = tensors
        .iter()
        .map(|(name, dtype, shape, bytes)| (name.clone(), TensorView::new(*dtype, shape.clone(), bytes).unwrap()));
    let file = safetensors::serialize(views, None).unwrap();
    std::fs::write(path, file).unwrap();
}

#[test]
fn imports_numbers_of_16_bits_as_their_nearest_numbers_of_32() {
    let place = tempfile::tempdir().unwrap();
    let mut whole = model(shape(true), Gpt2Precision::Float32);
    whole.import(&golden(true)).unwrap();
    for (dtype, kind) in [(Dtype::BF16, Kind::BFloat16), (Dtype::F16, Kind::Half)] {
        let shortened = golden_tensors().into_iter().map(|(name, _, shape, bytes)| {
            let numbers: Vec<f32> = bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
            let short = Tensor::from_slice(&numbers).to_kind(kind);
            let mut bytes = vec![0; 2 * numbers.len()];
            short.copy_data_u8(&mut bytes, numbers.len());
            (name, dtype, shape, bytes)
        });
        write_tensors(&place.path().join("model.safetensors"), &shortened.collect::<Vec<_>>());
        let mut short = model(shape(true), Gpt2Precision::Float32);
        short.import(place.path()).unwrap();
        let expected = whole.parameters().to_kind(kind).to_kind(Kind::Float);
        assert!(short.parameters().equal(&expected), "{dtype:?}");
        assert!(!short.parameters().equal(whole.parameters()), "{dtype:?}");
    }
}

/// Writes the script's model as three shards with an index, and returns the map of the index.
fn write_shards(folder: &Path) -> serde_json::Map<String, serde_json::Value> {
    let mut map = serde_json::Map::new();
    let tensors = golden_tensors();
    for (number, part) in tensors.chunks(tensors.len().div_ceil(3)).enumerate() {
        let name = format!("model-0000{}-of-00003.safetensors", number + 1);
        write_tensors(&folder.join(&name), part);
        map.extend(part.iter().map(|(tensor, ..)| (tensor.clone(), name.clone().into())));
    }
    write_index(folder, &map);
    map
}

fn write_index(folder: &Path, map: &serde_json::Map<String, serde_json::Value>) {
    let index = serde_json::json!({"metadata": {"total_size": 1}, "weight_map": map});
    std::fs::write(folder.join("model.safetensors.index.json"), index.to_string()).unwrap();
}

#[test]
fn imports_a_model_in_shards() {
    let place = tempfile::tempdir().unwrap();
    write_shards(place.path());
    let mut whole = model(shape(true), Gpt2Precision::Float32);
    whole.import(&golden(true)).unwrap();
    for path in [place.path().to_owned(), place.path().join("model.safetensors.index.json")] {
        let mut gpt2 = model(shape(true), Gpt2Precision::Float32);
        gpt2.import(&path).unwrap();
        assert!(gpt2.parameters().equal(whole.parameters()));
    }
    let shard = place.path().join("model-00002-of-00003.safetensors");
    let error = model(shape(true), Gpt2Precision::Float32).import(&shard).unwrap_err().to_string();
    assert!(error.contains("choose the folder, as the file is one of several"), "{error}");
}

#[test]
fn refuses_shards_that_are_missing_damaged_elsewhere_or_overlapping() {
    let place = tempfile::tempdir().unwrap();
    let inside = place.path().join("model");
    std::fs::create_dir(&inside).unwrap();
    let map = write_shards(&inside);
    let [first, second] = [1, 2].map(|number| inside.join(format!("model-0000{number}-of-00003.safetensors")));
    let whole = std::fs::read(&second).unwrap();
    let import = || model(shape(true), Gpt2Precision::Float32).import(&inside).map_err(|error| error.to_string());
    let refused = |parts: &[&str]| {
        let error = import().unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        assert!(!error.contains("shape of the file"), "{error}");
    };
    assert_eq!(import(), Ok(()));
    std::fs::rename(&second, place.path().join("outside.safetensors")).unwrap();
    refused(&["model-00002-of-00003.safetensors: is missing", "index.json names it", "download or save"]);
    for outside in ["../outside.safetensors", "/outside.safetensors", "..\\outside.safetensors", "a\nb.safetensors"] {
        let mut map = map.clone();
        map.values_mut()
            .filter(|name| name.as_str().unwrap().contains("model-00002"))
            .for_each(|name| *name = outside.into());
        write_index(&inside, &map);
        refused(&["index.json", "names of files beside it", "outside.safetensors"].map(|part| match outside {
            "a\nb.safetensors" if part == "outside.safetensors" => "a\\nb.safetensors",
            _ => part,
        }));
    }
    write_index(&inside, &map);
    std::fs::write(&second, &whole[..whole.len() - 5]).unwrap();
    refused(&["model-00002-of-00003.safetensors", "expected a file of safetensors", "damaged", "download or save"]);
    std::fs::copy(&first, &second).unwrap();
    refused(&["model-00002-of-00003.safetensors", "in one file, found it in", "model-00001-of-00003.safetensors too"]);
    std::fs::write(&second, &whole).unwrap();
    for index in ["", "{}", "{\"weight_map\": {}}", "{\"weight_map\": {\"a\": 1}}", "{\"weight_map\": [[[[[["] {
        std::fs::write(inside.join("model.safetensors.index.json"), index).unwrap();
        refused(&["index.json", "expected JSON with a `weight_map`"]);
    }
    // A shard that the index does not name is none of the model's.
    let mut two = map.clone();
    two.retain(|_, name| !name.as_str().unwrap().contains("model-00003"));
    write_index(&inside, &two);
    refused(&["index.json: expected a tensor `", "found none of this name; download or save"]);
    write_index(&inside, &map);
    assert_eq!(import(), Ok(()));
}

/// Tensors do not show the number of heads, nor how they are used.
#[test]
fn refuses_a_file_whose_config_describes_another_model() {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("config.json");
    let mut gpt2 = model(shape(true), Gpt2Precision::Float32);
    gpt2.import(&golden(true)).unwrap();
    gpt2.export(place.path(), Overwrite::No).unwrap();
    let whole: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&config).unwrap()).unwrap();
    let import = |key: &str, value: Option<serde_json::Value>, path: &Path| {
        let mut changed = whole.clone();
        let fields = changed.as_object_mut().unwrap();
        fields.remove(key).unwrap();
        fields.extend(value.map(|value| (key.to_owned(), value)));
        std::fs::write(&config, changed.to_string()).unwrap();
        let mut gpt2 = model(shape(true), Gpt2Precision::Float32);
        gpt2.import(path).map_err(|error| {
            assert_eq!(gpt2.parameters().abs().sum(Kind::Float).double_value(&[]), 0.0, "nothing is set");
            error.to_string()
        })
    };
    let others: [(&str, serde_json::Value, [&str; 2]); 9] = [
        ("n_head", 4.into(), ["`n_head` 3, as `shape.heads` is, found 4", "choose the shape of the file's model"]),
        ("n_layer", 5.into(), ["`n_layer` 2, as `shape.layers` is, found 5", "choose the shape"]),
        ("n_embd", 24.into(), ["`n_embd` 12, as `shape.width` is, found 24", "choose the shape"]),
        ("n_positions", 16.into(), ["`n_positions` 8, as `shape.context` is, found 16", "choose the shape"]),
        ("model_type", "gpt_neo".into(), ["`model_type` \"gpt2\", found \"gpt_neo\"", "a file of such a model"]),
        ("activation_function", "relu".into(), ["`activation_function` \"gelu_new\"", "found \"relu\""]),
        ("layer_norm_epsilon", 1e-6.into(), ["`layer_norm_epsilon` 0.00001, found 1e-6", "a file of such a model"]),
        ("scale_attn_weights", false.into(), ["`scale_attn_weights` true, found false", "a file of such a model"]),
        (
            "scale_attn_by_inverse_layer_idx",
            false.into(),
            ["`scale_attn_by_inverse_layer_idx` true", "`shape.scale_attn_by_inverse_layer_idx` is, found false"],
        ),
    ];
    for (key, value, parts) in others {
        for path in [place.path().to_owned(), place.path().join("model.safetensors")] {
            let error = import(key, Some(value.clone()), &path).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)) && error.contains("config.json"), "{error}");
        }
    }
    // The defaults of `transformers`.
    let error = import("n_head", None, place.path()).unwrap_err();
    assert!(error.contains("`n_head` 3, as `shape.heads` is, found none, which transformers takes for 12"), "{error}");
    assert_eq!(import("model_type", None, place.path()), Ok(()));
    assert_eq!(import("layer_norm_epsilon", None, place.path()), Ok(()));
    assert_eq!(import("activation_function", Some("gelu_pytorch_tanh".into()), place.path()), Ok(()));
    let import = |description: &str| {
        std::fs::write(&config, description).unwrap();
        model(shape(true), Gpt2Precision::Float32).import(place.path()).map_err(|error| error.to_string())
    };
    let error = import(r#"{"n_positions": 8}"#).unwrap_err();
    says(&error, &["`n_layer` 2, as `shape.layers` is, found none, which transformers takes for 12"]);
    says(import(r#"{"model_type": "gpt_neo"}"#).unwrap_err(), &["`model_type` \"gpt2\", found \"gpt_neo\""]);
}

#[test]
fn ignores_a_config_of_another_program() {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("config.json");
    model(shape(true), Gpt2Precision::Float32).export(place.path(), Overwrite::No).unwrap();
    let long = format!("{{\"model_type\": {:?}}}", "x".repeat(1 << 20));
    for content in [&b"{"[..], b"", b"\xff", b"[\"n_layer\"]", b"{}", b"{\"theme\": \"dark\"}", long.as_bytes()] {
        std::fs::write(&config, content).unwrap();
        let imported = model(shape(true), Gpt2Precision::Float32).import(place.path());
        assert!(imported.is_ok(), "{imported:?}");
    }
    std::fs::remove_file(&config).unwrap();
    std::fs::create_dir(&config).unwrap();
    assert!(model(shape(true), Gpt2Precision::Float32).import(place.path()).is_ok());
}

/// Runs `valleyscope runs` on a stage's runs; with its worker, if `worker`.
fn runs(stage: &Stage, args: &[&str], worker: bool) -> Output {
    let folder = stage.place.path().join("runs");
    let place = ["--runs", folder.to_str().unwrap()];
    let worker: &[&str] = if worker { &["--worker", WORKER] } else { &[] };
    valleyscope(stage, &[&["runs"], args, &place, worker].concat())
}

fn trained(stage: &Stage, settings: &[(&str, &str)]) -> RunFolder {
    let run = tiny(stage, settings);
    let output = to_the_end(&run, false);
    assert!(output.status.success(), "{output:?}");
    run
}

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
        expect(&output, 0, &[&format!("Wrote {}, the model of {name} at step {step}", folder.display())]);
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
