//! GPT-2 as files of Hugging Face's `transformers`. `pytorch_gpt2.py --transformers` wrote the files in `data`.

use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use tch::{Device, Kind, Tensor};
use valleyscope_engine::random::Key;
use valleyscope_experiments::workload::{Attention, Gpt2Precision, Gpt2Shape};
use valleyscope_runs::atomic_file::Overwrite;
use valleyscope_training::gpt2::Gpt2;

fn golden(bias: bool) -> PathBuf {
    let name = if bias { "gpt2-biases" } else { "gpt2-no-biases" };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/training/data").join(name)
}

/// Returns the shape of the script's model.
fn shape(bias: bool) -> Gpt2Shape {
    Gpt2Shape {
        layers: 2,
        heads: 3,
        width: 12,
        context: 8,
        vocabulary: 29,
        bias,
        scale_attn_by_inverse_layer_idx: bias,
        decay_embeddings: false,
    }
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
        let error = gpt2.export(&folder, Overwrite::No).unwrap_err().to_string();
        assert!(error.contains("model.safetensors"), "{error}");
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
        let error = import(content).unwrap_err();
        assert!(error.contains("expected a file of safetensors"), "{error}");
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
    let error = model(shape(true), Gpt2Precision::Float32).import(&missing).unwrap_err().to_string();
    assert!(error.contains("nothing"), "{error}");
    std::fs::remove_file(&path).unwrap();
    let import = || model(shape(true), Gpt2Precision::Float32).import(place.path()).unwrap_err().to_string();
    assert!(import().contains("expected model.safetensors or model.safetensors.index.json"), "{}", import());
    std::fs::write(place.path().join("pytorch_model.bin"), "PK").unwrap();
    assert!(import().contains("found pytorch_model.bin; save the model with"), "{}", import());
}

/// A tensor of a file: its name, type, shape and bytes.
type FileTensor = (String, Dtype, Vec<usize>, Vec<u8>);

/// Returns the tensors of the script's model.
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
    assert!(
        error.contains("`n_layer` 2, as `shape.layers` is, found none, which transformers takes for 12"),
        "{error}"
    );
    let error = import(r#"{"model_type": "gpt_neo"}"#).unwrap_err();
    assert!(error.contains("`model_type` \"gpt2\", found \"gpt_neo\""), "{error}");
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
