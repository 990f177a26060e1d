//! Models as files that Hugging Face's `transformers` reads and writes.

use std::collections::HashSet;
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

use super::{Gpt2, operations};
use crate::TrainError;

/// Why a model cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {reason}", path.display())]
    Unfit { path: PathBuf, reason: String },
    #[error(transparent)]
    Tensors(#[from] TrainError),
}

/// The file of tensors in a model's folder.
const TENSORS: &str = "model.safetensors";
/// The file from which `transformers` builds the model.
const CONFIG: &str = "config.json";

/// The longest description that is read, in bytes.
const LONGEST_CONFIG: u64 = 1 << 20;

/// Fields that identify the description of a GPT-2: it has at least one of them, and a `config.json` of another program
/// none.
const MARKS: [&str; 5] = ["model_type", "n_layer", "n_head", "n_embd", "n_positions"];

const ACTIVATION: &str = "activation_function";
/// Names of the tanh form of GELU.
const SAME_GELU: [&str; 3] = ["gelu_new", "gelu_fast", "gelu_pytorch_tanh"];

/// The keys of a description whose values must be this model's, each with the field of the shape that sets it; the
/// field is empty if all models of this program have the same value.
const DESCRIBED: [(&str, &str); 9] = [
    ("model_type", ""),
    ("n_layer", "shape.layers"),
    ("n_head", "shape.heads"),
    ("n_embd", "shape.width"),
    ("n_positions", "shape.context"),
    (ACTIVATION, ""),
    ("layer_norm_epsilon", ""),
    ("scale_attn_weights", ""),
    ("scale_attn_by_inverse_layer_idx", "shape.scale_attn_by_inverse_layer_idx"),
];

/// Returns the values that `transformers` uses for missing keys.
fn usual_config() -> Value {
    json!({
        "model_type": "gpt2",
        "n_layer": 12,
        "n_head": 12,
        "n_embd": 768,
        "n_positions": 1024,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "scale_attn_weights": true,
        "scale_attn_by_inverse_layer_idx": false,
    })
}

/// An expected tensor of a file.
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
    pub fn export(&self, folder: &Path, overwrite: Overwrite) -> Result<(), ImportError> {
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
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| ImportError::File { path, source }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        for (name, content) in [(TENSORS, &file[..]), (CONFIG, config.as_bytes())] {
            let path = folder.join(name);
            write_file(&path, overwrite, content).map_err(failed(&path))?;
        }
        Ok(())
    }

    /// Sets all parameters to those of a file `model.safetensors`, or of the folder that holds it.
    ///
    /// The tensors must be those of a model of this shape. A model without biases accepts a file whose biases are zero.
    /// Attention masks, which `transformers` formerly wrote beside the parameters, are ignored. If a `config.json`
    /// beside the file describes a model, that must be this one: the tensors do not show how they are used.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read, or the model is not this one. Then the parameters are unchanged.
    pub fn import(&mut self, path: &Path) -> Result<(), ImportError> {
        let path = if path.is_dir() { path.join(TENSORS) } else { path.to_owned() };
        self.check_config(&path.with_file_name(CONFIG))?;
        let expected = self.expected();
        let file = plain_file::read(&path, Links::Followed, self.longest_file(&expected))
            .map_err(|source| ImportError::File { path: path.clone(), source })?;
        let tensors = read(&file, &expected, self.shape().layers);
        let tensors = tensors.map_err(|reason| ImportError::Unfit { path: path.clone(), reason })?;
        for (expected, tensor) in expected.iter().zip(tensors) {
            if let Some(segment) = expected.segment {
                let mut view = self.layout.view(&self.parameters, segment);
                let copied = tensor.f_unsqueeze(0).and_then(|tensor| view.f_copy_(&tensor));
                copied.map_err(TrainError::from)?;
            }
        }
        Ok(())
    }

    /// Refuses the description of another model, if there is one.
    fn check_config(&self, path: &Path) -> Result<(), ImportError> {
        let described = description(path).map_err(|source| ImportError::File { path: path.to_owned(), source })?;
        let Some(described) = described else { return Ok(()) };
        let (own, usual) = (self.config(), usual_config());
        for (key, field) in DESCRIBED {
            let (expected, given) = (&own[key], described.get(key));
            let found = given.unwrap_or(&usual[key]);
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
                field => (format!(", as `{field}` is"), "choose the shape of the file's model"),
            };
            let found = match given {
                Some(found) => visible(&found.to_string()).into_owned(),
                None => format!("none, which transformers takes for {found}"),
            };
            let reason = format!("expected `{key}` {expected}{why}, found {found}; {remedy}");
            return Err(ImportError::Unfit { path: path.to_owned(), reason });
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

    /// Returns the bytes of a segment as in a file.
    fn bytes(&self, segment: usize, transposed: bool) -> Result<Vec<u8>, TrainError> {
        let view = self.layout.view(&self.parameters, segment).f_squeeze_dim(0)?;
        let view = if transposed { view.f_transpose(0, 1)? } else { view };
        let values = view.f_to_device(Device::Cpu)?.f_contiguous()?;
        let mut bytes = vec![0; values.numel() * values.kind().elt_size_in_bytes()];
        values.f_copy_data_u8(&mut bytes, values.numel())?;
        Ok(bytes)
    }

    /// Returns the longest length of a file that is read: the parameters in double precision, and masks in single
    /// precision.
    fn longest_file(&self, expected: &[Expected]) -> u64 {
        let numbers: usize = expected.iter().map(|expected| expected.shape.iter().product::<usize>()).sum();
        let Gpt2Shape { layers, context, .. } = *self.shape();
        let masks = u64::from(layers) * (u64::from(context).pow(2) + 1) * 4;
        8 * numbers as u64 + masks + Checkpoint::LONGEST_HEADER
    }

    /// Returns the model's shape in the terms of `transformers`.
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
            "layer_norm_epsilon": operations::EPSILON,
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

/// The first tensor's name in files without the prefix `transformer.`, such as that of OpenAI's model.
const WITHOUT_PREFIX: &str = "wte.weight";
/// The output layer, which is tied to the embedding of the tokens.
const HEAD: &str = "lm_head.weight";

/// Returns whether the tensor is an attention mask, which is not a parameter.
fn is_mask(name: &str) -> bool {
    name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")
}

/// Reads the tensors of a file in the expected order, or returns the fault.
fn read(file: &[u8], expected: &[Expected], layers: u32) -> Result<Vec<Tensor>, String> {
    let found =
        SafeTensors::deserialize(file).map_err(|error| format!("expected a file of safetensors, but {error}"))?;
    let prefix = if found.tensor(WITHOUT_PREFIX).is_ok() { "transformer." } else { "" };
    let of_file = |expected: &Expected| expected.name.trim_start_matches(prefix).to_owned();
    let tensors = expected.iter().map(|expected| tensor(&found, &of_file(expected), expected));
    let tensors = tensors.collect::<Result<Vec<_>, _>>()?;
    let names: HashSet<String> = expected.iter().map(of_file).collect();
    let other = found.names().into_iter().find(|name| !names.contains(*name) && !is_mask(name) && *name != HEAD);
    if let Some(other) = other {
        return Err(format!(
            "expected a GPT-2 of {layers} layers and nothing else, found `{}`; choose the shape of the file's model",
            visible(other)
        ));
    }
    if let Ok(head) = found.tensor(HEAD) {
        let embedding = found.tensor(&of_file(&expected[0])).map_err(|error| error.to_string())?;
        if head.dtype() != embedding.dtype() || head.data() != embedding.data() {
            return Err(format!("expected `{HEAD}` to be the embedding of the tokens, found other numbers"));
        }
    }
    Ok(tensors)
}

/// Reads a tensor of a file.
fn tensor(file: &SafeTensors<'_>, name: &str, expected: &Expected) -> Result<Tensor, String> {
    let view = file.tensor(name).ok();
    let kind = view.as_ref().and_then(|view| match view.dtype() {
        Dtype::F32 => Some(Kind::Float),
        Dtype::F64 => Some(Kind::Double),
        _ => None,
    });
    let fits = view.as_ref().filter(|view| view.shape() == expected.shape).zip(kind);
    let Some((fit, kind)) = fits else {
        let found = view.map_or_else(|| "nothing".to_owned(), |view| format!("{:?} {:?}", view.dtype(), view.shape()));
        return Err(format!(
            "expected `{name}` of F32 or F64 {:?}, found {found}; choose the shape of the file's model",
            expected.shape
        ));
    };
    let sides: Vec<i64> = fit.shape().iter().map(|&side| side as i64).collect();
    let tensor = Tensor::f_from_data_size(fit.data(), &sides, kind).map_err(|error| error.to_string())?;
    let zero = || tensor.f_count_nonzero(None::<i64>).map(|count| count.int64_value(&[]) == 0);
    if expected.segment.is_none() && !zero().map_err(|error| error.to_string())? {
        return Err(format!("expected `{name}` to be zeros, found others; choose a model with `bias: true`"));
    }
    Ok(if expected.transposed { tensor.tr() } else { tensor })
}
