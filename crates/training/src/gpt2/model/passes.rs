//! Forward and backward pass.

use tch::{Kind, TchError, Tensor};
use valleyscope_experiments::workload::{Attention, Gpt2Shape};

use super::operations::{Heads, Operations};
use super::views::{BlockViews, Linear, Views, add_product};
use crate::{Check, TrainError, drawn_labels};

/// The tensors of a block that the backward pass needs, in the order in which they were made.
struct Passed<O: Operations> {
    attention_norm: O::Normalized,
    attention_in: Tensor,
    attended: O::Attended,
    attention_out: Tensor,
    feed_norm: O::Normalized,
    feed_in: Tensor,
    activated: Tensor,
    feed_out: Tensor,
}

/// The parameters and settings of a block for the passes.
#[derive(Clone, Copy)]
struct Layer<'a> {
    /// The parameters, and their copy for the products.
    own: &'a BlockViews,
    product: &'a BlockViews,
    heads: Heads,
    /// The causal mask, true where a token would attend to a later one, `[context, context]`.
    ahead: &'a Tensor,
}

/// Computes the forward pass of a block, from the residual stream before it to that after it.
fn through<O: Operations>(stream: Tensor, layer: Layer<'_>, kind: Kind) -> Result<(Tensor, Passed<O>), TchError> {
    let Layer { own, product, heads, ahead } = layer;
    let (attention_in, attention_norm) = O::normalize(&stream, &own.attention_norm, kind)?;
    let (attention_out, attended) = O::attend(product.attention_in.apply(&attention_in)?, heads, ahead)?;
    let stream = product.attention_out.apply_and_add(&attention_out, &stream)?;
    let (feed_in, feed_norm) = O::normalize(&stream, &own.feed_norm, kind)?;
    let (feed_out, activated) = O::activate(product.feed_in.apply(&feed_in)?)?;
    let stream = product.feed_out.apply_and_add(&feed_out, &stream)?;
    Ok((
        stream,
        Passed { attention_norm, attention_in, attended, attention_out, feed_norm, feed_in, activated, feed_out },
    ))
}

/// Computes the backward pass of a block: turns the gradient of the residual stream after it into that before it, and
/// adds to those of the block's parameters.
fn back<O: Operations>(
    by_stream: &mut Tensor,
    passed: Passed<O>,
    layer: Layer<'_>,
    gradient: &mut BlockViews,
    first: bool,
) -> Result<(), TchError> {
    let Layer { own, product, heads, .. } = layer;
    let kind = passed.feed_in.kind();
    let by_feed = back_linear::<O>(
        &by_stream.f_to_kind(kind)?,
        &passed.feed_out,
        &product.feed_out,
        &mut gradient.feed_out,
        first,
    )?;
    let by_feed = O::activate_backward(by_feed, &passed.activated)?;
    let by_feed = back_linear::<O>(&by_feed, &passed.feed_in, &product.feed_in, &mut gradient.feed_in, first)?;
    O::normalize_backward(&by_feed, passed.feed_norm, &own.feed_norm, &mut gradient.feed_norm, by_stream)?;
    let by_attention = back_linear::<O>(
        &by_stream.f_to_kind(kind)?,
        &passed.attention_out,
        &product.attention_out,
        &mut gradient.attention_out,
        first,
    )?;
    let by_attention = O::attend_backward(by_attention, passed.attended, heads)?;
    let by_attention = back_linear::<O>(
        &by_attention,
        &passed.attention_in,
        &product.attention_in,
        &mut gradient.attention_in,
        first,
    )?;
    O::normalize_backward(
        &by_attention,
        passed.attention_norm,
        &own.attention_norm,
        &mut gradient.attention_norm,
        by_stream,
    )
}

/// Returns the gradient of a linear layer's inputs, and adds to those of its parameters.
fn back_linear<O: Operations>(
    by_outputs: &Tensor,
    inputs: &Tensor,
    product: &Linear,
    gradient: &mut Linear,
    first: bool,
) -> Result<Tensor, TchError> {
    add_product(&mut gradient.weight, by_outputs, inputs, first)?;
    if let Some(bias) = &mut gradient.bias {
        O::add_rows(by_outputs, bias)?;
    }
    by_outputs.f_mm(&product.weight)
}

/// A model's parameters for the passes.
#[derive(Debug)]
pub(super) struct Network {
    pub shape: Gpt2Shape,
    pub attention: Attention,
    /// The parameters.
    pub own: Views,
    /// A copy of the parameters in half precision, if products are computed in it.
    pub lowered: Option<Views>,
    /// The causal mask, true where a token would attend to a later one, `[context, context]`.
    pub ahead: Tensor,
}

impl Network {
    fn layer(&self, index: usize, tokens: &Tensor) -> Layer<'_> {
        let size = tokens.size();
        let of_a_head = f64::from(self.shape.width / self.shape.heads);
        let divisor = if self.shape.scale_attn_by_inverse_layer_idx { (index + 1) as f64 } else { 1.0 };
        let heads = Heads {
            attention: self.attention,
            batch: size[0],
            length: size[1],
            heads: i64::from(self.shape.heads),
            scale: 1.0 / (of_a_head.sqrt() * divisor),
        };
        Layer { own: &self.own.blocks[index], product: &self.products().blocks[index], heads, ahead: &self.ahead }
    }

    /// Returns the weights for the products.
    fn products(&self) -> &Views {
        self.lowered.as_ref().unwrap_or(&self.own)
    }

    fn product_kind(&self) -> Kind {
        self.products().tokens.kind()
    }

    /// Computes the residual stream after the last block, `[rows, width]`.
    fn stream<O: Operations>(&self, tokens: &Tensor, check: &mut Check<'_>) -> Result<Tensor, TrainError> {
        let mut stream = O::embed(tokens, &self.own)?;
        for layer in 0..self.own.blocks.len() {
            check()?;
            stream = through::<O>(stream, self.layer(layer, tokens), self.product_kind())?.0;
        }
        Ok(stream)
    }

    /// Computes the logits of the last token of each sequence, `[batch, vocabulary]`.
    pub(super) fn last_logits<O: Operations>(
        &self,
        tokens: &Tensor,
        check: &mut Check<'_>,
    ) -> Result<Tensor, TrainError> {
        let rows = self.stream::<O>(tokens, check)?.f_view([tokens.size()[0], tokens.size()[1], -1])?;
        let last = rows.f_select(1, -1)?.f_contiguous()?;
        let (normalized, _) = O::normalize(&last, &self.own.norm, self.product_kind())?;
        Ok(normalized.f_mm(&self.products().tokens.f_transpose(0, 1)?)?)
    }

    /// Computes the mean loss.
    pub(super) fn loss<O: Operations>(
        &self,
        tokens: &Tensor,
        targets: &Tensor,
        check: &mut Check<'_>,
    ) -> Result<Tensor, TrainError> {
        let stream = self.stream::<O>(tokens, check)?;
        let (normalized, _) = O::normalize(&stream, &self.own.norm, self.product_kind())?;
        let head = self.products().tokens.f_transpose(0, 1)?;
        let (rows, mut sum) = (normalized.size()[0], None);
        for (start, length) in self.chunks(rows) {
            let logits = normalized.f_narrow(0, start, length)?.f_mm(&head)?;
            let targets = targets.f_view(-1)?.f_narrow(0, start, length)?;
            add_to(&mut sum, O::cross_entropy(logits, &targets, 0.0)?.0)?;
        }
        Ok(mean(sum, rows)?)
    }

    /// Draws targets from the predictions.
    pub(super) fn drawn_targets<O: Operations>(
        &self,
        tokens: &Tensor,
        uniforms: &Tensor,
        check: &mut Check<'_>,
    ) -> Result<Tensor, TrainError> {
        let stream = self.stream::<O>(tokens, check)?;
        let (normalized, _) = O::normalize(&stream, &self.own.norm, self.product_kind())?;
        let head = self.products().tokens.f_transpose(0, 1)?;
        let rows = normalized.size()[0];
        let mut drawn = Vec::new();
        for (start, length) in self.chunks(rows) {
            let logits = normalized.f_narrow(0, start, length)?.f_mm(&head)?;
            drawn.push(drawn_labels(&logits, &uniforms.f_view(-1)?.f_narrow(0, start, length)?)?);
        }
        Ok(Tensor::f_cat(&drawn, 0)?.f_view(&tokens.size()[..])?)
    }

    /// Splits the rows into chunks whose logits are computed at once, by start and number.
    fn chunks(&self, rows: i64) -> impl Iterator<Item = (i64, i64)> + use<> {
        let most = Gpt2Shape::logits_at_once(u64::from(self.shape.vocabulary)) as i64;
        (0..rows).step_by(most as usize).map(move |start| (start, most.min(rows - start)))
    }

    /// Computes the mean loss. Its gradients times `factor` are added to the stored ones, or replace them if they are a
    /// step's first.
    pub(super) fn differentiate<O: Operations>(
        &self,
        tokens: &Tensor,
        targets: &Tensor,
        factor: f64,
        gradients: &mut Views,
        first: bool,
        check: &mut Check<'_>,
    ) -> Result<Tensor, TrainError> {
        if first {
            gradients.clear_others()?;
        }
        let mut stream = O::embed(tokens, &self.own)?;
        let mut passed = Vec::with_capacity(self.own.blocks.len());
        for layer in 0..self.own.blocks.len() {
            check()?;
            let (behind, kept) = through::<O>(stream, self.layer(layer, tokens), self.product_kind())?;
            passed.push(kept);
            stream = behind;
        }
        let (normalized, kept) = O::normalize(&stream, &self.own.norm, self.product_kind())?;
        let mut by_stream = stream.f_zeros_like()?;
        drop(stream);
        let head_gradient = &mut gradients.tokens;
        let (loss, by_normalized) = self.differentiate_head::<O>(&normalized, targets, factor, head_gradient, first)?;
        O::normalize_backward(&by_normalized, kept, &self.own.norm, &mut gradients.norm, &mut by_stream)?;
        for (layer, passed) in passed.into_iter().enumerate().rev() {
            check()?;
            back::<O>(&mut by_stream, passed, self.layer(layer, tokens), &mut gradients.blocks[layer], first)?;
        }
        O::embed_backward(&by_stream, tokens, gradients)?;
        Ok(loss)
    }

    /// Computes the mean loss, and its gradient with respect to the inputs of the output layer.
    fn differentiate_head<O: Operations>(
        &self,
        normalized: &Tensor,
        targets: &Tensor,
        factor: f64,
        gradient: &mut Tensor,
        first: bool,
    ) -> Result<(Tensor, Tensor), TchError> {
        let head = &self.products().tokens;
        let transposed = head.f_transpose(0, 1)?;
        let by_normalized = normalized.f_empty_like()?;
        let (rows, mut sum) = (normalized.size()[0], None);
        for (start, length) in self.chunks(rows) {
            let part = normalized.f_narrow(0, start, length)?;
            let targets = targets.f_view(-1)?.f_narrow(0, start, length)?;
            let (loss, by_logits) = O::cross_entropy(part.f_mm(&transposed)?, &targets, factor / rows as f64)?;
            add_to(&mut sum, loss)?;
            add_product(gradient, &by_logits, &part, first && start == 0)?;
            let _ = by_logits.f_mm_out(&by_normalized.f_narrow(0, start, length)?, head)?;
        }
        Ok((mean(sum, rows)?, by_normalized))
    }
}

fn add_to(sum: &mut Option<Tensor>, term: Tensor) -> Result<(), TchError> {
    *sum = Some(match sum.take() {
        Some(sum) => sum.f_add(&term)?,
        None => term,
    });
    Ok(())
}

fn mean(sum: Option<Tensor>, rows: i64) -> Result<Tensor, TchError> {
    sum.expect("there are rows").f_div_scalar(rows as f64)
}
