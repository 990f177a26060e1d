//! The positions of the parameters in the flat tensors.

use tch::{TchError, Tensor};
use valleyscope_experiments::workload::Gpt2Shape;

use crate::ParameterLayout;

/// Returns the layout of all parameters, with the names of Hugging Face's GPT-2. A linear layer's weight is `[outputs,
/// inputs]` here.
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
    // Queries, keys and values are matrices of their own, and their heads are blocks.
    let (heads, width) = (shape.heads as usize, width as usize);
    let is_attention = |name: &str| name.ends_with("attn.c_attn.weight");
    ParameterLayout::new(segments, 1)
        .with_matrices(|name| match name {
            "transformer.wte.weight" | "transformer.wpe.weight" => Some(0),
            name => is_attention(name).then_some(3),
        })
        .with_blocks(|name| is_attention(name).then(|| vec![(2 * heads, width / heads * width), (width, width)]))
}

/// Parts of a flat tensor: the parameters, their gradients, or a copy in half precision.
#[derive(Debug)]
pub(super) struct Views {
    /// Embedding of tokens, `[vocabulary, width]`; also the output layer.
    pub tokens: Tensor,
    /// Embedding of positions, `[context, width]`.
    pub positions: Tensor,
    pub blocks: Vec<BlockViews>,
    /// The last normalisation.
    pub norm: Norm,
}

#[derive(Debug)]
pub(super) struct BlockViews {
    pub attention_norm: Norm,
    /// The linear layer that computes queries, keys and values.
    pub attention_in: Linear,
    pub attention_out: Linear,
    pub feed_norm: Norm,
    /// The linear layer to four times the width.
    pub feed_in: Linear,
    pub feed_out: Linear,
}

#[derive(Debug)]
pub(super) struct Norm {
    pub weight: Tensor,
    pub bias: Option<Tensor>,
}

#[derive(Debug)]
pub(super) struct Linear {
    /// The weight, `[outputs, inputs]`.
    pub weight: Tensor,
    pub transposed: Tensor,
    pub bias: Option<Tensor>,
}

/// Takes the segments of a layout one after another.
struct Segments<'a> {
    layout: &'a ParameterLayout,
    flat: &'a Tensor,
    bias: bool,
    next: usize,
}

impl Segments<'_> {
    fn tensor(&mut self) -> Result<Tensor, TchError> {
        let view = self.layout.view(self.flat, self.next).f_squeeze_dim(0);
        self.next += 1;
        view
    }

    fn bias(&mut self) -> Result<Option<Tensor>, TchError> {
        if self.bias { self.tensor().map(Some) } else { Ok(None) }
    }

    fn norm(&mut self) -> Result<Norm, TchError> {
        Ok(Norm { weight: self.tensor()?, bias: self.bias()? })
    }

    fn linear(&mut self) -> Result<Linear, TchError> {
        let weight = self.tensor()?;
        Ok(Linear { transposed: weight.f_transpose(0, 1)?, weight, bias: self.bias()? })
    }

    fn block(&mut self) -> Result<BlockViews, TchError> {
        Ok(BlockViews {
            attention_norm: self.norm()?,
            attention_in: self.linear()?,
            attention_out: self.linear()?,
            feed_norm: self.norm()?,
            feed_in: self.linear()?,
            feed_out: self.linear()?,
        })
    }
}

impl Views {
    pub(super) fn new(shape: &Gpt2Shape, layout: &ParameterLayout, flat: &Tensor) -> Result<Views, TchError> {
        let mut segments = Segments { layout, flat, bias: shape.bias, next: 0 };
        Ok(Views {
            tokens: segments.tensor()?,
            positions: segments.tensor()?,
            blocks: (0..shape.layers).map(|_| segments.block()).collect::<Result<_, _>>()?,
            norm: segments.norm()?,
        })
    }

    /// Sets everything to zero except the weights of products, which each step's first products overwrite.
    pub(super) fn clear_others(&mut self) -> Result<(), TchError> {
        let clear = |tensor: Option<&mut Tensor>| tensor.map_or(Ok(()), |tensor| tensor.f_zero_().map(drop));
        let clear_norm = |norm: &mut Norm| clear(Some(&mut norm.weight)).and_then(|()| clear(norm.bias.as_mut()));
        clear(Some(&mut self.positions))?;
        clear_norm(&mut self.norm)?;
        for block in &mut self.blocks {
            for norm in [&mut block.attention_norm, &mut block.feed_norm] {
                clear_norm(norm)?;
            }
            for linear in [&mut block.attention_in, &mut block.attention_out, &mut block.feed_in, &mut block.feed_out] {
                clear(linear.bias.as_mut())?;
            }
        }
        Ok(())
    }
}

impl Linear {
    /// Computes `x Wᵗ + b`.
    pub(super) fn apply(&self, x: &Tensor) -> Result<Tensor, TchError> {
        match &self.bias {
            Some(bias) => bias.f_addmm(x, &self.transposed),
            None => x.f_mm(&self.transposed),
        }
    }

    /// Computes `stream + x Wᵗ + b`, in the stream's precision.
    pub(super) fn apply_and_add(&self, x: &Tensor, stream: &Tensor) -> Result<Tensor, TchError> {
        match &self.bias {
            _ if x.kind() != stream.kind() => stream.f_add(&self.apply(x)?),
            Some(bias) => stream.f_add(bias)?.f_addmm_(x, &self.transposed),
            None => stream.f_addmm(x, &self.transposed),
        }
    }
}

/// Computes `gradient ← byᵗ x`, added unless it is a step's first. The product has the precision of its factors, the
/// gradient its own.
pub(super) fn add_product(gradient: &mut Tensor, by: &Tensor, x: &Tensor, first: bool) -> Result<(), TchError> {
    let transposed = by.f_transpose(0, 1)?;
    if gradient.kind() == x.kind() {
        let _ = if first { transposed.f_mm_out(gradient, x)? } else { gradient.f_addmm_(&transposed, x)? };
    } else if first {
        gradient.f_copy_(&transposed.f_mm(x)?)?;
    } else {
        let _ = gradient.f_add_(&transposed.f_mm(x)?)?;
    }
    Ok(())
}
