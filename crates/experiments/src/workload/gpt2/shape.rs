use serde::{Deserialize, Serialize};
use valleyscope_engine::spec_error::{SpecError, broken};

/// The size of a GPT-2 and the options of its architecture.
///
/// Learned positions, normalisation before each part of a block, GELU in its tanh form, no dropout; the embedding of
/// the tokens is also the output layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpt2Shape {
    /// Blocks.
    pub layers: u32,
    /// Attention heads of a block.
    pub heads: u32,
    /// Dimension of the residual stream; a multiple of `heads`.
    pub width: u32,
    /// The largest number of tokens in a sequence.
    pub context: u32,
    /// The number of distinct tokens; 0 for those of the data, until a run is made.
    #[serde(default)]
    pub vocabulary: u32,
    /// Whether linear layers and normalisations have biases.
    #[serde(default)]
    pub bias: bool,
    /// Whether the attention scores of layer 1, 2, … are also divided by its number.
    #[serde(default)]
    pub scale_attn_by_inverse_layer_idx: bool,
    /// Whether weight decay also acts on the embeddings of tokens and positions.
    #[serde(default)]
    pub decay_embeddings: bool,
}

/// Floating-point precision of a GPT-2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gpt2Precision {
    #[default]
    Float32,
    /// Double precision, for checks.
    Float64,
    /// Matrix products in bfloat16, everything else in float32.
    BFloat16,
    /// Matrix products in float16, everything else in float32; the loss is scaled so that gradients do not underflow.
    Float16,
}

impl Gpt2Precision {
    /// Returns the name in the events of a run.
    pub fn name(self) -> &'static str {
        match self {
            Gpt2Precision::Float32 => "float32",
            Gpt2Precision::Float64 => "float64",
            Gpt2Precision::BFloat16 => "bfloat16",
            Gpt2Precision::Float16 => "float16",
        }
    }

    /// Returns the precision in which the parameters are stored.
    pub(crate) fn of_parameters(self) -> &'static str {
        if self == Gpt2Precision::Float64 { "float64" } else { "float32" }
    }
}

/// The implementation of attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Attention {
    /// One operation that never stores all scores.
    #[default]
    Fused,
    /// Scores, which are scaled after the product, softmax, and sum one after another. In float16 the scores can
    /// overflow.
    Explicit,
}

impl Gpt2Shape {
    /// GPT-2 small, 124 million parameters, with its vocabulary of 50257 padded to a multiple of 64.
    pub const SMALL: Gpt2Shape = Gpt2Shape {
        layers: 12,
        heads: 12,
        width: 768,
        context: 1024,
        vocabulary: 50_304,
        bias: false,
        scale_attn_by_inverse_layer_idx: false,
        decay_embeddings: false,
    };

    /// nanoGPT's example for a processor: the characters of Shakespeare's plays.
    pub const CHARACTERS: Gpt2Shape = Gpt2Shape {
        layers: 4,
        heads: 4,
        width: 128,
        context: 64,
        vocabulary: 65,
        decay_embeddings: true,
        ..Gpt2Shape::SMALL
    };

    /// The largest number of parameters.
    const MOST_PARAMETERS: u64 = 20_000_000_000;

    /// Checks the shape, and returns the first rule that it breaks.
    pub fn check(&self) -> Result<(), SpecError> {
        for (path, found, least, most) in [
            ("layers", self.layers, 1, 256),
            ("heads", self.heads, 1, 256),
            ("width", self.width, 1, 1 << 16),
            ("context", self.context, 1, 1 << 17),
            ("vocabulary", self.vocabulary, 0, 1 << 20),
        ] {
            if !(least..=most).contains(&found) {
                return broken(path, format!("must be a whole number from {least} to {most}, found {found}"));
            }
        }
        if !self.width.is_multiple_of(self.heads) {
            return broken("width", format!("is {}, which `heads`, {}, does not divide", self.width, self.heads));
        }
        let parameters = self.parameters();
        if parameters > Self::MOST_PARAMETERS {
            let most = Self::MOST_PARAMETERS;
            let complaint =
                format!("and `layers` make {parameters} parameters, more than the {most} that are possible");
            return broken("width", complaint);
        }
        Ok(())
    }

    /// Returns the bytes that forward and backward pass of a micro-batch need beside the parameters, their gradients
    /// and the optimizer's states.
    pub(crate) fn activations(&self, sequences: u64, precision: Gpt2Precision, attention: Attention) -> u64 {
        let [layers, heads, width, context, vocabulary] =
            [self.layers, self.heads, self.width, self.context, self.vocabulary].map(u128::from);
        let sequences = u128::from(sequences);
        let (stream, product): (u128, u128) = match precision {
            Gpt2Precision::Float32 => (4, 4),
            Gpt2Precision::Float64 => (8, 8),
            Gpt2Precision::BFloat16 | Gpt2Precision::Float16 => (4, 2),
        };
        // Both gradients of the embedding before they are added to the others.
        let lowered = 2 * vocabulary * width * stream;
        let rows = sequences * context;
        // The residual stream before both parts; inputs, results and stored tensors of attention and feed-forward net.
        let scores = if attention == Attention::Explicit { sequences * heads * context * context * stream } else { 0 };
        let block = rows * width * (2 * stream + 15 * product) + scores;
        // The logarithms of probabilities, their gradient, and that of the logits.
        let of_logit = 3 * stream;
        // Temporary tensors: of the backward pass of a block, or of the output layer.
        let logits =
            u128::from(Gpt2Shape::logits_at_once(u64::from(self.vocabulary))).min(rows) * vocabulary * of_logit;
        let passing = (rows * width * 8 * product + 2 * scores).max(logits);
        // For shapes that no machine can hold, the number may overflow.
        u64::try_from(lowered + layers * block + rows * width * 2 * stream + passing).unwrap_or(u64::MAX)
    }

    /// Returns the number of rows whose logits are computed at once: with a large vocabulary the logits of all would
    /// need more memory than the rest of the model.
    pub fn logits_at_once(vocabulary: u64) -> u64 {
        const MOST: u64 = 1 << 25;
        (MOST / vocabulary).max(1)
    }

    /// Returns the settings that determine the tensors' shapes and meaning, in words.
    pub fn words(&self) -> String {
        let Gpt2Shape { layers, heads, width, context, vocabulary, bias, .. } = self;
        let biases = if *bias { "biases" } else { "no biases" };
        format!("{layers} layers, {heads} heads, width {width}, context {context}, vocabulary {vocabulary}, {biases}")
    }

    /// Returns the shapes of the parameter tensors, and how many there are of each.
    pub fn tensors(&self) -> Vec<(u64, Vec<i64>)> {
        let [width, context, vocabulary] = [self.width, self.context, self.vocabulary].map(i64::from);
        let layers = u64::from(self.layers);
        let mut tensors = vec![(1, vec![vocabulary, width]), (1, vec![context, width])];
        for (count, shape) in [
            (2 * layers + 1, &[width][..]),
            (layers, &[3 * width, width]),
            (layers, &[width, width]),
            (layers, &[4 * width, width]),
            (layers, &[width, 4 * width]),
        ] {
            tensors.push((count, shape.to_vec()));
            if self.bias {
                tensors.push((count, vec![shape[0]]));
            }
        }
        tensors
    }

    /// Returns the number of trainable parameters. The output layer is not counted again, as it is the embedding.
    pub fn parameters(&self) -> u64 {
        let [layers, width, context, vocabulary] =
            [self.layers, self.width, self.context, self.vocabulary].map(u64::from);
        let bias = u64::from(self.bias);
        let norm = width + bias * width;
        let block = 12 * width * width + bias * 9 * width + 2 * norm;
        (vocabulary + context) * width + layers * block + norm
    }
}
