//! The forward pass, and gradients by libtorch's automatic differentiation.
//!
//! Automatic differentiation records each block separately, from a leaf that holds the residual stream before the
//! block, so that a training can be stopped between two blocks in both directions. The logits of all tokens never exist
//! at once.

use tch::{Kind, Reduction, TchError, Tensor};
use valleyscope_experiments::workload::{Attention, Gpt2Shape};

use super::Gpt2;
use crate::drawn_labels;
use crate::{Check, ParameterLayout, TrainError};

pub(super) const EPSILON: f64 = 1e-5;

/// The lengths of sequences whose next token is sampled are multiples of this.
const SAMPLED_LENGTHS: u64 = 64;

/// Lays out all parameters, with the names of Hugging Face's GPT-2. A linear layer's weight is `[outputs, inputs]`
/// here.
pub(super) fn layout(shape: &Gpt2Shape) -> ParameterLayout {
    let [width, context, vocabulary] = [shape.width, shape.context, shape.vocabulary].map(i64::from);
    let mut segments = vec![
        ("transformer.wte.weight".to_owned(), vec![vocabulary, width], shape.decay_embeddings),
        ("transformer.wpe.weight".to_owned(), vec![context, width], shape.decay_embeddings),
    ];
    let mut add = |name: String, sides: &[i64]| {
        segments.push((format!("{name}.weight"), sides.to_vec(), sides.len() > 1));
        if shape.bias {
            segments.push((format!("{name}.bias"), vec![sides[0]], false));
        }
    };
    for layer in 0..shape.layers {
        for (part, sides) in [
            ("ln_1", &[width][..]),
            ("attn.c_attn", &[3 * width, width]),
            ("attn.c_proj", &[width, width]),
            ("ln_2", &[width]),
            ("mlp.c_fc", &[4 * width, width]),
            ("mlp.c_proj", &[width, 4 * width]),
        ] {
            add(format!("transformer.h.{layer}.{part}"), sides);
        }
    }
    add("transformer.ln_f".to_owned(), &[width]);
    // Queries, keys and values are separate matrices, and their heads are blocks.
    let (heads, width) = (shape.heads as usize, width as usize);
    let is_attention = |name: &str| name.ends_with("attn.c_attn.weight");
    ParameterLayout::new(segments, 1)
        .with_matrices(|name| match name {
            "transformer.wte.weight" | "transformer.wpe.weight" => Some(0),
            name => is_attention(name).then_some(3),
        })
        .with_blocks(|name| is_attention(name).then(|| vec![(2 * heads, width / heads * width), (width, width)]))
}

/// The parameters as leaves of automatic differentiation: views of a flat tensor, whose gradients are views of another.
#[derive(Debug)]
pub(super) struct Network {
    pub shape: Gpt2Shape,
    attention: Attention,
    /// The kind of matrix products and of the operations between two of them.
    product: Kind,
    /// Embedding of tokens, `[vocabulary, width]`; also the output layer.
    tokens: Tensor,
    /// Embedding of positions, `[context, width]`.
    positions: Tensor,
    blocks: Vec<Block>,
    norm: Affine,
    /// The causal mask, true where a token would attend to a later one, `[context, context]`.
    ahead: Tensor,
}

#[derive(Debug)]
struct Block {
    attention_norm: Affine,
    /// The linear layer that computes queries, keys and values.
    attention_in: Affine,
    attention_out: Affine,
    feed_norm: Affine,
    /// The linear layer to four times the width.
    feed_in: Affine,
    feed_out: Affine,
}

/// The parameters of a normalisation, or of a linear layer, whose weight is `[outputs, inputs]`.
#[derive(Debug)]
struct Affine {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Affine {
    /// Computes `(x − mean x) / √(var x + ε) γ + β` of each row, as a tensor of this kind.
    fn normalize(&self, x: &Tensor, kind: Kind) -> Result<Tensor, TchError> {
        let normalized = x.f_layer_norm(self.weight.size(), Some(&self.weight), self.bias.as_ref(), EPSILON, false)?;
        normalized.f_to_kind(kind)
    }

    /// Computes `x Wᵗ + b`, in the precision of x.
    fn apply(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let bias = self.bias.as_ref().map(|bias| bias.f_to_kind(x.kind())).transpose()?;
        x.f_linear(&self.weight.f_to_kind(x.kind())?, bias)
    }
}

fn recorded<T>(operation: impl FnOnce() -> Result<T, TchError>) -> Result<T, TchError> {
    tch::with_grad(operation)
}

/// Makes a leaf of automatic differentiation with the values of a tensor.
fn leaf(values: &Tensor) -> Result<Tensor, TchError> {
    Ok(values.f_detach()?.set_requires_grad(true))
}

/// Adds to the gradients of all leaves that a recorded tensor depends on, given the gradient by that tensor.
fn differentiate(output: &Tensor, by_output: &Tensor) -> Result<(), TchError> {
    // The gradient of this number by the output is `by_output`; computing it costs one pass over both.
    recorded(|| output.f_view(-1)?.f_dot(&by_output.f_reshape(-1)?))?.f_backward()
}

impl Network {
    /// Creates a network over a flat tensor of parameters; gradients are added to another, which is 0 afterwards.
    pub(super) fn new(
        shape: Gpt2Shape,
        attention: Attention,
        product: Kind,
        layout: &ParameterLayout,
        [parameters, gradients]: [&Tensor; 2],
    ) -> Result<Network, TchError> {
        let mut next = 0..layout.segments().len();
        let mut tensor = || {
            let index = next.next().expect("the layout has all segments");
            let leaf = leaf(&layout.view(parameters, index).f_squeeze_dim(0)?)?;
            // A gradient exists after a first backward pass; then its memory is replaced.
            recorded(|| leaf.f_sum(leaf.kind()))?.f_backward()?;
            leaf.f_grad()?.f_set_data(&layout.view(gradients, index).f_squeeze_dim(0)?)?;
            Ok::<_, TchError>(leaf)
        };
        let (tokens, positions) = (tensor()?, tensor()?);
        let mut affine =
            || Ok::<_, TchError>(Affine { weight: tensor()?, bias: shape.bias.then(&mut tensor).transpose()? });
        let mut block = || {
            Ok::<_, TchError>(Block {
                attention_norm: affine()?,
                attention_in: affine()?,
                attention_out: affine()?,
                feed_norm: affine()?,
                feed_in: affine()?,
                feed_out: affine()?,
            })
        };
        let blocks = (0..shape.layers).map(|_| block()).collect::<Result<_, _>>()?;
        let context = i64::from(shape.context);
        let ahead = Tensor::f_ones([context, context], (Kind::Bool, parameters.device()))?.f_triu_(1)?;
        Ok(Network { shape, attention, product, tokens, positions, blocks, norm: affine()?, ahead })
    }

    /// Computes the sum of the embeddings of tokens `[sequences, length]` and of their positions, `[rows, width]`.
    fn embed(&self, tokens: &Tensor) -> Result<Tensor, TchError> {
        let positions = self.positions.f_narrow(0, 0, tokens.size()[1])?;
        let sum = Tensor::f_embedding(&self.tokens, tokens, -1, false, false)?.f_add(&positions)?;
        sum.f_view([tokens.numel() as i64, -1])
    }

    /// Computes the residual stream after a block from that before it, `[rows, width]` each.
    fn block(&self, index: usize, stream: &Tensor, size: &[i64]) -> Result<Tensor, TchError> {
        let block = &self.blocks[index];
        let rows = block.attention_in.apply(&block.attention_norm.normalize(stream, self.product)?)?;
        let stream = stream.f_add(&block.attention_out.apply(&self.attend(index, &rows, size)?)?)?;
        let fed = block.feed_in.apply(&block.feed_norm.normalize(&stream, self.product)?)?.f_gelu("tanh")?;
        stream.f_add(&block.feed_out.apply(&fed)?)
    }

    /// Applies the attention of a block to rows of queries, keys and values `[rows, 3 width]`; returns `[rows, width]`.
    fn attend(&self, index: usize, rows: &Tensor, size: &[i64]) -> Result<Tensor, TchError> {
        let (heads, length) = (i64::from(self.shape.heads), size[1]);
        let divisor = if self.shape.scale_attn_by_inverse_layer_idx { (index + 1) as f64 } else { 1.0 };
        let scale = 1.0 / (f64::from(self.shape.width / self.shape.heads).sqrt() * divisor);
        let parts = rows.f_view([size[0], length, 3, heads, -1])?.f_transpose(1, 3)?.f_unbind(2)?;
        let [q, k, v] = &parts[..] else { unreachable!("there are three") };
        let out = match self.attention {
            Attention::Fused => {
                Tensor::f_scaled_dot_product_attention(q, k, v, None::<&Tensor>, 0.0, true, scale, false)?
            }
            Attention::Explicit => {
                let ahead = self.ahead.f_narrow(0, 0, length)?.f_narrow(1, 0, length)?;
                let scores = q.f_matmul(&k.f_transpose(2, 3)?)?.f_mul_scalar(scale)?;
                let scores = scores.f_masked_fill(&ahead, f64::NEG_INFINITY)?;
                scores.f_softmax(-1, self.tokens.kind())?.f_to_kind(rows.kind())?.f_matmul(v)?
            }
        };
        out.f_transpose(1, 2)?.f_reshape([size[0] * length, -1])
    }

    /// Computes the normalised residual stream after the last block, the inputs of the output layer, without recording.
    fn hidden(&self, tokens: &Tensor, check: &mut Check<'_>) -> Result<Tensor, TrainError> {
        let mut stream = tch::no_grad(|| self.embed(tokens))?;
        for index in 0..self.blocks.len() {
            check()?;
            stream = tch::no_grad(|| self.block(index, &stream, &tokens.size()))?;
        }
        Ok(tch::no_grad(|| self.norm.normalize(&stream, self.product))?)
    }

    /// Converts the weight of the output layer for products, `[width, vocabulary]`.
    fn head(&self) -> Result<Tensor, TchError> {
        self.tokens.f_to_kind(self.product)?.f_transpose(0, 1)
    }

    /// Splits rows into chunks whose logits are computed at once, by start and number.
    fn chunks(&self, rows: i64) -> impl Iterator<Item = (i64, i64)> + use<> {
        let most = Gpt2Shape::logits_at_once(u64::from(self.shape.vocabulary)) as i64;
        (0..rows).step_by(most as usize).map(move |start| (start, most.min(rows - start)))
    }

    /// Computes the mean loss of the rows of the output layer's inputs; `each` receives the sum of each chunk's losses.
    fn mean_loss(
        &self,
        hidden: &Tensor,
        targets: &Tensor,
        each: impl Fn(&Tensor) -> Result<(), TchError>,
    ) -> Result<Tensor, TchError> {
        let (rows, kind, targets) = (hidden.size()[0], self.tokens.kind(), targets.f_view(-1)?);
        let head = self.head()?;
        let mut sum = Tensor::f_zeros([], (kind, hidden.device()))?;
        for (start, length) in self.chunks(rows) {
            let targets = targets.f_narrow(0, start, length)?;
            // The logits themselves are dropped before the backward pass.
            let logs = hidden.f_narrow(0, start, length)?.f_mm(&head)?.f_log_softmax(-1, kind)?;
            let loss = logs.f_nll_loss(&targets, None::<&Tensor>, Reduction::Sum, -100)?;
            each(&loss)?;
            sum = sum.f_add(&loss.f_detach()?)?;
        }
        sum.f_div_scalar(rows as f64)
    }
}

impl Gpt2 {
    /// Computes the logits of the token that follows each sequence, `[sequences, vocabulary]`.
    ///
    /// Sequences are padded at the end, where causal attention ignores them, to a multiple of [`SAMPLED_LENGTHS`]:
    /// libtorch caches what it prepares for each shape of a product, in half precision more than 1 MB.
    pub fn logits(&self, tokens: &Tensor, check: &mut Check<'_>) -> Result<Tensor, TrainError> {
        let (sequences, length) = (tokens.size()[0], tokens.size()[1]);
        let padded =
            (length as u64).next_multiple_of(SAMPLED_LENGTHS).min(u64::from(self.network.shape.context)) as i64;
        let tokens = tokens.f_constant_pad_nd([0, padded - length])?;
        let hidden = self.network.hidden(&tokens, check)?.f_view([sequences, padded, -1])?;
        Ok(tch::no_grad(|| hidden.f_select(1, length - 1)?.f_mm(&self.network.head()?))?)
    }

    /// Draws targets from the model's predictions, like `tokens` in shape; `uniforms` has a number from [0, 1) for
    /// each.
    pub fn drawn_targets(
        &self,
        tokens: &Tensor,
        uniforms: &Tensor,
        check: &mut Check<'_>,
    ) -> Result<Tensor, TrainError> {
        let hidden = self.network.hidden(tokens, check)?;
        let (head, uniforms) = (tch::no_grad(|| self.network.head())?, uniforms.f_view(-1)?);
        let drawn = self.network.chunks(hidden.size()[0]).map(|(start, length)| {
            let logits = hidden.f_narrow(0, start, length)?.f_mm(&head)?;
            drawn_labels(&logits, &uniforms.f_narrow(0, start, length)?)
        });
        let drawn = drawn.collect::<Result<Vec<_>, _>>()?;
        Ok(Tensor::f_cat(&drawn, 0)?.f_view(&tokens.size()[..])?)
    }

    /// Computes the mean loss of some sequences, a tensor on the device.
    pub fn loss(&self, tokens: &Tensor, targets: &Tensor, check: &mut Check<'_>) -> Result<Tensor, TrainError> {
        let hidden = self.network.hidden(tokens, check)?;
        Ok(tch::no_grad(|| self.network.mean_loss(&hidden, targets, |_| Ok(())))?)
    }

    /// Computes the mean loss of a micro-batch, a tensor on the device, and its gradients.
    ///
    /// `tokens` and `targets` are integers `[sequences, length]`, the targets being the tokens that follow. The
    /// gradients of the loss times `weight` times `scale` are added to the stored ones, in the precision of the
    /// parameters. `weight` is the micro-batch's fraction of the batch. `scale` keeps gradients from underflowing in
    /// float16; they stay scaled until [`Gpt2::clip`] divides by it. The returned loss is neither weighted nor scaled.
    ///
    /// # Errors
    ///
    /// Fails if the tokens do not fit the model, the device runs out of memory, or `check`, which is called before each
    /// layer, fails. The gradients are void then.
    pub fn differentiate(
        &mut self,
        tokens: &Tensor,
        targets: &Tensor,
        weight: f64,
        scale: f64,
        check: &mut Check<'_>,
    ) -> Result<Tensor, TrainError> {
        let network = &self.network;
        let embedded = recorded(|| network.embed(tokens))?;
        let mut blocks = Vec::with_capacity(network.blocks.len());
        let mut stream = leaf(&embedded)?;
        for index in 0..network.blocks.len() {
            check()?;
            let after = recorded(|| network.block(index, &stream, &tokens.size()))?;
            let next = leaf(&after)?;
            blocks.push((stream, after));
            stream = next;
        }
        let normalized = recorded(|| network.norm.normalize(&stream, network.product))?;
        let hidden = leaf(&normalized)?;
        let share = weight * scale / hidden.size()[0] as f64;
        let loss = recorded(|| network.mean_loss(&hidden, targets, |sum| sum.f_mul_scalar(share)?.f_backward()))?;
        differentiate(&normalized, &hidden.f_grad()?)?;
        let mut by_stream = stream.f_grad()?;
        for (before, after) in blocks.into_iter().rev() {
            check()?;
            differentiate(&after, &by_stream)?;
            by_stream = before.f_grad()?;
        }
        differentiate(&embedded, &by_stream)?;
        Ok(loss)
    }
}
