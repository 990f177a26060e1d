//! Models as files that Hugging Face's `transformers` reads and writes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::{Value, json};
use tch::{Device, Kind, Tensor};
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::workload::Gpt2Shape;
use valleyscope_runs::Checkpoint;
use valleyscope_runs::atomic_file::{Overwrite, write_file};
use valleyscope_runs::plain_file::{self, Links};

use super::Gpt2;
use super::network;
use crate::TrainError;

fn unfit(path: &Path, reason: impl Display) -> TrainError {
    TrainError::Refused(format!("{}: {reason}", path.display()))
}

/// Converts an error of reading or writing a file.
fn at(path: &Path) -> impl FnOnce(io::Error) -> TrainError {
    move |error| unfit(path, error)
}

/// The file of tensors in a model's folder.
const TENSORS: &str = "model.safetensors";
/// The file that names the file of each tensor, where these are divided among several files (shards).
const INDEX: &str = "model.safetensors.index.json";
const LONGEST_INDEX: u64 = 16 << 20;
/// The file from which `transformers` builds the model.
const CONFIG: &str = "config.json";

const LONGEST_CONFIG: u64 = 1 << 20;

/// Fields that identify the description of a GPT-2: it has at least one of them, and a `config.json` of another program
/// none.
const MARKS: [&str; 5] = ["model_type", "n_layer", "n_head", "n_embd", "n_positions"];

const ACTIVATION: &str = "activation_function";
/// Names of the tanh form of GELU.
const SAME_GELU: [&str; 3] = ["gelu_new", "gelu_fast", "gelu_pytorch_tanh"];

/// The keys of a description whose values must be this model's, each with the field of the shape that sets it, which is
/// empty if all models of this program have the same value, and with the value that `transformers` uses if it is
/// missing.
fn described() -> [(&'static str, &'static str, Value); 9] {
    [
        ("model_type", "", json!("gpt2")),
        ("n_layer", "shape.layers", json!(12)),
        ("n_head", "shape.heads", json!(12)),
        ("n_embd", "shape.width", json!(768)),
        ("n_positions", "shape.context", json!(1024)),
        (ACTIVATION, "", json!("gelu_new")),
        ("layer_norm_epsilon", "", json!(1e-5)),
        ("scale_attn_weights", "", json!(true)),
        ("scale_attn_by_inverse_layer_idx", "shape.scale_attn_by_inverse_layer_idx", json!(false)),
    ]
}

struct Expected {
    name: String,
    shape: Vec<usize>,
    /// The segment of the layout; None for a bias that this model does not have.
    segment: Option<usize>,
    /// Whether the file's tensor has inputs before outputs.
    transposed: bool,
}

impl Gpt2 {
    /// Writes `model.safetensors` and `config.json` into a folder, which is created if needed. Parameters that the
    /// model lacks are zeros.
    pub fn export(&self, folder: &Path, overwrite: Overwrite) -> Result<(), TrainError> {
        let kind = if self.parameters.kind() == Kind::Double { Dtype::F64 } else { Dtype::F32 };
        let mut contents = Vec::new();
        for Expected { name, shape, segment, transposed } in self.expected() {
            let bytes = match segment {
                Some(segment) => self.bytes(segment, transposed)?,
                None => vec![0; shape.iter().product::<usize>() * kind.bitsize() / 8],
            };
            contents.push((name, shape, bytes));
        }
        let views = contents.iter().map(|(name, shape, bytes)| {
            let view = TensorView::new(kind, shape.clone(), bytes).expect("a tensor has the bytes of its shape");
            (name.as_str(), view)
        });
        let about = [("format".to_owned(), "pt".to_owned())];
        let file = safetensors::serialize(views, Some(about.into())).expect("floats have a whole number of bytes");
        let config = serde_json::to_string_pretty(&self.config()).expect("it is plain text");
        fs::create_dir_all(folder).map_err(at(folder))?;
        for (name, content) in [(TENSORS, &file[..]), (CONFIG, config.as_bytes())] {
            let path = folder.join(name);
            write_file(&path, overwrite, content).map_err(at(&path))?;
        }
        Ok(())
    }

    /// Sets all parameters to those of a file `model.safetensors`, of the shards that a `model.safetensors.index.json`
    /// names, or of the folder that holds one of these. Numbers in bfloat16, float16, float32 and float64 are converted
    /// to the model's.
    ///
    /// The tensors must be those of a model of this shape. A model without biases accepts a file whose biases are zero.
    /// Attention masks, which `transformers` formerly wrote with the parameters, are ignored. If a `config.json` in the
    /// file's folder describes a model, it must be this one: tensors alone do not show how they are used.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read, or the model is not this one. The parameters are unchanged then.
    pub fn import(&mut self, path: &Path) -> Result<(), TrainError> {
        let path = tensors_at(path)?;
        self.check_config(&path.with_file_name(CONFIG))?;
        let expected = self.expected();
        let files = read_files(&path, self.longest_file(&expected))?;
        let tensors = ModelTensors::of(&path, &files)?.in_order(&expected, self.shape().layers)?;
        for (expected, tensor) in expected.iter().zip(tensors) {
            if let Some(segment) = expected.segment {
                let mut view = self.layout.view(&self.parameters, segment);
                view.f_copy_(&tensor.f_unsqueeze(0)?)?;
            }
        }
        Ok(())
    }

    fn check_config(&self, path: &Path) -> Result<(), TrainError> {
        let Some(fields) = description(path).map_err(at(path))? else { return Ok(()) };
        let own = self.config();
        for (key, field, usual) in described() {
            let (expected, given) = (&own[key], fields.get(key));
            let found = given.unwrap_or(&usual);
            let is_same = match (expected.as_f64(), found.as_f64()) {
                (Some(expected), Some(found)) => expected == found,
                _ => {
                    expected == found
                        || key == ACTIVATION && found.as_str().is_some_and(|name| SAME_GELU.contains(&name))
                }
            };
            if is_same {
                continue;
            }
            let (why, remedy) = match field {
                "" => (String::new(), "choose a file of such a model"),
                field => (format!(", as `{field}` is"), CHOOSE_SHAPE),
            };
            let found = match given {
                Some(found) => visible(&found.to_string()).into_owned(),
                None => format!("none, which transformers takes for {found}"),
            };
            let reason = format!("expected `{key}` {expected}{why}, found {found}; {remedy}");
            return Err(unfit(path, reason));
        }
        Ok(())
    }

    /// Lists all tensors of a file, in the order of the layout.
    fn expected(&self) -> Vec<Expected> {
        let mut all = Vec::new();
        for (index, segment) in self.layout.segments().iter().enumerate() {
            let transposed = segment.name.contains(".h.") && segment.shape.len() == 2;
            let mut shape: Vec<usize> = segment.shape.iter().map(|&side| side as usize).collect();
            let outputs = shape[0];
            if transposed {
                shape.reverse();
            }
            all.push(Expected { name: segment.name.clone(), shape, segment: Some(index), transposed });
            if !self.shape().bias && index > 1 {
                let name = segment.name.replace("weight", "bias");
                all.push(Expected { name, shape: vec![outputs], segment: None, transposed: false });
            }
        }
        all
    }

    /// The bytes of a segment as in a file.
    fn bytes(&self, segment: usize, transposed: bool) -> Result<Vec<u8>, TrainError> {
        let view = self.layout.view(&self.parameters, segment).f_squeeze_dim(0)?;
        let view = if transposed { view.f_transpose(0, 1)? } else { view };
        let values = view.f_to_device(Device::Cpu)?.f_contiguous()?;
        let mut bytes = vec![0; values.numel() * values.kind().elt_size_in_bytes()];
        values.f_copy_data_u8(&mut bytes, values.numel())?;
        Ok(bytes)
    }

    /// Computes the largest total length of the files of tensors: the parameters in double precision, and masks in
    /// single precision.
    fn longest_file(&self, expected: &[Expected]) -> u64 {
        let numbers: usize = expected.iter().map(|expected| expected.shape.iter().product::<usize>()).sum();
        let Gpt2Shape { layers, context, .. } = *self.shape();
        let masks = u64::from(layers) * (u64::from(context).pow(2) + 1) * 4;
        8 * numbers as u64 + masks + Checkpoint::LONGEST_HEADER
    }

    /// Describes the model's shape with the keys of `transformers`.
    fn config(&self) -> Value {
        let Gpt2Shape { layers, heads, width, context, vocabulary, scale_attn_by_inverse_layer_idx, .. } =
            *self.shape();
        json!({
            "architectures": ["GPT2LMHeadModel"],
            "model_type": "gpt2",
            "vocab_size": vocabulary,
            "n_positions": context,
            "n_embd": width,
            "n_layer": layers,
            "n_head": heads,
            "activation_function": "gelu_new",
            "layer_norm_epsilon": network::EPSILON,
            "resid_pdrop": 0.0,
            "embd_pdrop": 0.0,
            "attn_pdrop": 0.0,
            "scale_attn_weights": true,
            "scale_attn_by_inverse_layer_idx": scale_attn_by_inverse_layer_idx,
            "tie_word_embeddings": true,
            "bos_token_id": null,
            "eos_token_id": null,
        })
    }
}

/// Reads the fields of a model's description; `None` if there is no file, or it describes no model.
fn description(path: &Path) -> io::Result<Option<serde_json::Map<String, Value>>> {
    use std::io::ErrorKind::{FileTooLarge, InvalidData, InvalidInput, NotFound};
    let text = match plain_file::read_text(path, Links::Followed, LONGEST_CONFIG) {
        Err(error) if matches!(error.kind(), NotFound | InvalidInput | FileTooLarge | InvalidData) => return Ok(None),
        text => text?,
    };
    let fields: Option<serde_json::Map<String, Value>> = serde_json::from_str(&text).ok();
    Ok(fields.filter(|fields| MARKS.iter().any(|mark| fields.contains_key(*mark))))
}

/// The remedy for a model of another shape.
const CHOOSE_SHAPE: &str = "choose the shape of the file's model";
const CHOOSE_GPT2: &str = "choose the file of a GPT-2 that predicts tokens";
const FETCH_AGAIN: &str = "download or save the whole model again";

/// Finds the file of tensors, or of their index, at a path to it or to its folder.
fn tensors_at(path: &Path) -> Result<PathBuf, TrainError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let found = [TENSORS, INDEX].map(|name| path.join(name)).into_iter().find(|file| file.exists());
    found.ok_or_else(|| {
        let remedy = match path.join("pytorch_model.bin").exists() {
            true => "found pytorch_model.bin; save the model with `save_pretrained(…, safe_serialization=True)`",
            false => "found neither; choose the folder of a model in Hugging Face's format",
        };
        unfit(path, format!("expected {TENSORS} or {INDEX} in the folder, {remedy}"))
    })
}

fn is_index(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Reads a file of tensors, or the shards of an index. All together must have at most `longest` bytes.
fn read_files(path: &Path, longest: u64) -> Result<Vec<(PathBuf, Vec<u8>)>, TrainError> {
    let paths = if is_index(path) { shards(path)? } else { vec![path.to_owned()] };
    let mut left = longest;
    let read = |file: PathBuf| {
        let content = plain_file::read(&file, Links::Followed, left).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound if is_index(path) => {
                unfit(&file, format!("is missing, and {INDEX} names it; {FETCH_AGAIN}"))
            }
            io::ErrorKind::FileTooLarge => {
                let expected = format!("expected at most {longest} bytes for a model of this shape, found more");
                unfit(&file, format!("{expected}; {CHOOSE_SHAPE}"))
            }
            _ => at(&file)(source),
        })?;
        left -= content.len() as u64;
        Ok((file, content))
    };
    paths.into_iter().map(read).collect()
}

fn shards(index: &Path) -> Result<Vec<PathBuf>, TrainError> {
    let text = plain_file::read_text(index, Links::Followed, LONGEST_INDEX).map_err(at(index))?;
    let expected = "expected JSON with a `weight_map` of the names of tensors to the names of files beside it";
    let refused = |found: &str| unfit(index, format!("{expected}, found {found}; {FETCH_AGAIN}"));
    let content: Value = serde_json::from_str(&text).map_err(|error| refused(&error.to_string()))?;
    let map = content["weight_map"].as_object().filter(|map| !map.is_empty()).ok_or_else(|| refused("none"))?;
    let mut names = BTreeSet::new();
    for name in map.values() {
        let file = name.as_str().filter(|name| {
            // A file in another folder is not of the model.
            !name.contains(['/', '\\', ':']) && !name.chars().any(char::is_control) && name.ends_with(".safetensors")
        });
        names.insert(file.ok_or_else(|| refused(&visible(&name.to_string())))?);
    }
    Ok(names.into_iter().map(|name| index.with_file_name(name)).collect())
}

/// The first tensor's name in files without the prefix `transformer.`, such as that of OpenAI's model.
const WITHOUT_PREFIX: &str = "wte.weight";
const PREFIX: &str = "transformer.";
/// The output layer, which is tied to the embedding of the tokens.
const HEAD: &str = "lm_head.weight";

/// Whether the tensor is an attention mask, which is not a parameter.
fn is_mask(name: &str) -> bool {
    name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")
}

fn layer(name: &str) -> Option<u32> {
    name.trim_start_matches(PREFIX).strip_prefix("h.")?.split('.').next()?.parse().ok()
}

/// The tensors of a model by their names, each with its file.
struct ModelTensors<'f> {
    /// The file of all tensors, or the index.
    path: &'f Path,
    by_name: HashMap<String, (TensorView<'f>, &'f Path)>,
}

impl<'f> ModelTensors<'f> {
    fn of(path: &'f Path, files: &'f [(PathBuf, Vec<u8>)]) -> Result<ModelTensors<'f>, TrainError> {
        let mut by_name: HashMap<String, (TensorView<'f>, &Path)> = HashMap::new();
        for (file, content) in files {
            let found = SafeTensors::deserialize(content).map_err(|error| {
                let found = match content.starts_with(b"version https://git-lfs") {
                    true => "a pointer of Git LFS; fetch the file itself by `git lfs pull`".to_owned(),
                    false => format!("another or a damaged one: {error}; {FETCH_AGAIN}"),
                };
                unfit(file, format!("expected a file of safetensors, found {found}"))
            })?;
            for (name, view) in found.tensors() {
                if let Some((_, other)) = by_name.get(&name) {
                    let files = format!("found it in {} too", other.display());
                    let reason = format!("expected `{}` in one file, {files}; {FETCH_AGAIN}", visible(&name));
                    return Err(unfit(file, reason));
                }
                by_name.insert(name, (view, file));
            }
        }
        Ok(ModelTensors { path, by_name })
    }

    /// Converts the tensors in the expected order, and refuses others.
    fn in_order(&self, expected: &[Expected], layers: u32) -> Result<Vec<Tensor>, TrainError> {
        let prefix = if self.by_name.contains_key(WITHOUT_PREFIX) { PREFIX } else { "" };
        let of_file = |expected: &Expected| expected.name.trim_start_matches(prefix).to_owned();
        let tensors = expected.iter().map(|expected| self.tensor(&of_file(expected), expected));
        let tensors = tensors.collect::<Result<Vec<_>, _>>()?;
        let names: HashSet<String> = expected.iter().map(of_file).collect();
        let is_other = |name: &&String| !names.contains(*name) && !is_mask(name) && *name != HEAD;
        if let Some(other) = self.by_name.keys().filter(is_other).min() {
            let is_layer = layer(other).is_some_and(|layer| layer >= layers);
            let remedy = if is_layer { CHOOSE_SHAPE } else { CHOOSE_GPT2 };
            let expected = format!("expected a GPT-2 of {layers} layers and nothing else");
            let reason = format!("{expected}, found `{}`; {remedy}", visible(other));
            return Err(unfit(self.by_name[other].1, reason));
        }
        if let Some((head, file)) = self.by_name.get(HEAD) {
            let (embedding, _) = &self.by_name[&of_file(&expected[0])];
            if head.dtype() != embedding.dtype() || head.data() != embedding.data() {
                let expected = format!("expected `{HEAD}` to be the embedding of the tokens, found other numbers");
                return Err(unfit(file, format!("{expected}; choose a model with tied embeddings")));
            }
        }
        Ok(tensors)
    }

    fn tensor(&self, name: &str, expected: &Expected) -> Result<Tensor, TrainError> {
        let shape = &expected.shape;
        let Some((view, file)) = self.by_name.get(name) else {
            let lacks_layer = layer(name).is_some_and(|it| !self.by_name.keys().any(|name| layer(name) == Some(it)));
            let is_shard = !is_index(self.path) && self.path.with_file_name(INDEX).exists();
            let is_gpt2 = self.by_name.keys().any(|name| layer(name).is_some());
            let remedy = match lacks_layer {
                _ if is_shard => "choose the folder, as the file is one of several",
                _ if !is_gpt2 => CHOOSE_GPT2,
                true => CHOOSE_SHAPE,
                false => FETCH_AGAIN,
            };
            let reason = format!("expected a tensor `{name}` of {shape:?}, found none of this name; {remedy}");
            return Err(unfit(self.path, reason));
        };
        let kind = match view.dtype() {
            Dtype::BF16 => Kind::BFloat16,
            Dtype::F16 => Kind::Half,
            Dtype::F32 => Kind::Float,
            Dtype::F64 => Kind::Double,
            other => {
                let reason = format!("expected `{name}` of BF16, F16, F32 or F64, found {other:?}");
                return Err(unfit(file, format!("{reason}; save the model in one of these types")));
            }
        };
        if view.shape() != shape {
            let reason = format!("expected `{name}` of {shape:?}, found {:?}; {CHOOSE_SHAPE}", view.shape());
            return Err(unfit(file, reason));
        }
        let sides: Vec<i64> = shape.iter().map(|&side| side as i64).collect();
        let tensor = Tensor::f_from_data_size(view.data(), &sides, kind)?;
        let is_zero = || Ok::<_, TrainError>(tensor.f_count_nonzero(None::<i64>)?.f_int64_value(&[])? == 0);
        if expected.segment.is_none() && !is_zero()? {
            let reason = format!("expected `{name}` to be zeros, found others; choose a model with `bias: true`");
            return Err(unfit(file, reason));
        }
        Ok(if expected.transposed { tensor.tr() } else { tensor })
    }
}
