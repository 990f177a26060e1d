//! Element-wise operations and reductions as tensor operations, for GPUs and for half precision anywhere.

use tch::{Kind, TchError, Tensor};
use valleyscope_experiments::workload::Attention;

use super::operations::{EPSILON, Heads, merged, parts};
use super::views::{Norm, Views};

pub(super) struct Operations;

/// An operation that libtorch's automatic differentiation records, as tch does not offer its backward pass.
pub(super) struct Recorded {
    inputs: Vec<Tensor>,
    output: Tensor,
}

impl Recorded {
    /// Records `operation` on copies of the inputs that share their memory.
    fn new(
        inputs: &[&Tensor],
        operation: impl FnOnce(&[Tensor]) -> Result<Tensor, TchError>,
    ) -> Result<Recorded, TchError> {
        let leaf = |input: &&Tensor| input.f_detach().map(|leaf| leaf.set_requires_grad(true));
        let inputs = inputs.iter().map(leaf).collect::<Result<Vec<_>, _>>()?;
        let output = tch::with_grad(|| operation(&inputs))?;
        Ok(Recorded { inputs, output })
    }

    fn output(&self) -> Result<Tensor, TchError> {
        self.output.f_detach()
    }

    /// Returns the gradients of the inputs.
    fn backward(self, by_output: &Tensor) -> Result<Vec<Tensor>, TchError> {
        // The gradient of this scalar by the output is `by_output`; computing it costs one pass over both.
        let number = tch::with_grad(|| self.output.f_reshape(-1)?.f_dot(&by_output.f_reshape(-1)?))?;
        Tensor::f_run_backward(&[number], &self.inputs, false, false)
    }
}

/// The tensors that explicit attention stores.
pub(super) struct Explicit {
    /// Queries, keys and values, each `[batch, heads, length, width of a head]`.
    parts: [Tensor; 3],
    /// The probabilities, at least in single precision.
    probabilities: Tensor,
}

pub(super) enum Attended {
    Fused(Recorded),
    Explicit(Explicit),
}

impl super::operations::Operations for Operations {
    type Normalized = Recorded;
    type Attended = Attended;

    fn embed(tokens: &Tensor, parameters: &Views) -> Result<Tensor, TchError> {
        let positions = parameters.positions.f_narrow(0, 0, tokens.size()[1])?;
        let sum = Tensor::f_embedding(&parameters.tokens, tokens, -1, false, false)?.f_add_(&positions)?;
        sum.f_view([tokens.numel() as i64, -1])
    }

    fn embed_backward(by_rows: &Tensor, tokens: &Tensor, gradients: &mut Views) -> Result<(), TchError> {
        let vocabulary = gradients.tokens.size()[0];
        // This has a fixed order of additions, unlike adding at indices on a GPU.
        let by_tokens = Tensor::f_embedding_dense_backward(by_rows, &tokens.f_view(-1)?, vocabulary, -1, false)?;
        let _ = gradients.tokens.f_add_(&by_tokens)?;
        let [batch, length] = [tokens.size()[0], tokens.size()[1]];
        let by_positions = by_rows.f_view([batch, length, -1])?.f_sum_dim_intlist(&[0][..], false, None::<Kind>)?;
        gradients.positions.f_narrow(0, 0, length)?.f_add_(&by_positions).map(drop)
    }

    fn normalize(x: &Tensor, norm: &Norm, kind: Kind) -> Result<(Tensor, Recorded), TchError> {
        let inputs: Vec<&Tensor> = [x, &norm.weight].into_iter().chain(&norm.bias).collect();
        let recorded = Recorded::new(&inputs, |inputs| {
            let width = [inputs[1].size()[0]];
            inputs[0].f_layer_norm(width, Some(&inputs[1]), inputs.get(2), EPSILON, false)?.f_to_kind(kind)
        })?;
        Ok((recorded.output()?, recorded))
    }

    fn normalize_backward(
        by_normalized: &Tensor,
        normalized: Recorded,
        _: &Norm,
        gradient: &mut Norm,
        by_x: &mut Tensor,
    ) -> Result<(), TchError> {
        let found = normalized.backward(by_normalized)?;
        let own = [by_x, &mut gradient.weight].into_iter().chain(&mut gradient.bias);
        own.zip(&found).try_for_each(|(own, found)| own.f_add_(found).map(drop))
    }

    fn attend(rows: Tensor, heads: Heads, ahead: &Tensor) -> Result<(Tensor, Attended), TchError> {
        if heads.attention == Attention::Fused {
            let recorded = Recorded::new(&[&rows], |rows| {
                let [q, k, v] = parts(&rows[0], heads)?;
                let out =
                    Tensor::f_scaled_dot_product_attention(&q, &k, &v, None::<&Tensor>, 0.0, true, heads.scale, false)?;
                merged(&out, heads)
            })?;
            return Ok((recorded.output()?, Attended::Fused(recorded)));
        }
        let parts @ [q, k, v] = &parts(&rows, heads)?;
        let ahead = ahead.f_narrow(0, 0, heads.length)?.f_narrow(1, 0, heads.length)?;
        let mut scores = q.f_matmul(&k.f_transpose(2, 3)?)?;
        let _ = scores.f_mul_scalar_(heads.scale)?.f_masked_fill_(&ahead, f64::NEG_INFINITY)?;
        let kind = if rows.kind() == Kind::Double { Kind::Double } else { Kind::Float };
        let probabilities = scores.f_softmax(-1, kind)?;
        let out = merged(&probabilities.f_to_kind(rows.kind())?.f_matmul(v)?, heads)?;
        let parts = parts.each_ref().map(Tensor::shallow_clone);
        Ok((out, Attended::Explicit(Explicit { parts, probabilities })))
    }

    fn attend_backward(by_out: Tensor, attended: Attended, heads: Heads) -> Result<Tensor, TchError> {
        let Explicit { parts: [q, k, v], probabilities } = match attended {
            Attended::Fused(recorded) => return Ok(recorded.backward(&by_out)?.remove(0)),
            Attended::Explicit(explicit) => explicit,
        };
        let kind = by_out.kind();
        let by_out = by_out.f_view([heads.batch, heads.length, heads.heads, -1])?.f_transpose(1, 2)?;
        let by_v = probabilities.f_to_kind(kind)?.f_transpose(2, 3)?.f_matmul(&by_out)?;
        let by_probabilities = by_out.f_matmul(&v.f_transpose(2, 3)?)?.f_to_kind(probabilities.kind())?;
        let by_scores =
            Tensor::f_internal_softmax_backward_data(&by_probabilities, &probabilities, -1, probabilities.kind())?;
        let by_scores = by_scores.f_to_kind(kind)?.f_mul_scalar_(heads.scale)?;
        let by_q = by_scores.f_matmul(&k)?;
        let by_k = by_scores.f_transpose(2, 3)?.f_matmul(&q)?;
        // [batch, heads, 3, length, …] to [batch, length, 3, heads, …]
        let all = Tensor::f_stack(&[by_q, by_k, by_v], 2)?.f_transpose(1, 3)?;
        all.f_reshape([heads.batch * heads.length, -1])
    }

    fn activate(x: Tensor) -> Result<(Tensor, Tensor), TchError> {
        Ok((x.f_gelu("tanh")?, x))
    }

    fn activate_backward(by_active: Tensor, kept: &Tensor) -> Result<Tensor, TchError> {
        kept.f_gelu_backward(&by_active, "tanh")
    }

    fn cross_entropy(logits: Tensor, targets: &Tensor, factor: f64) -> Result<(Tensor, Tensor), TchError> {
        let kind = if logits.kind() == Kind::Double { Kind::Double } else { Kind::Float };
        let mut logs = logits.f_log_softmax(-1, kind)?;
        let targets = targets.f_unsqueeze(1)?;
        let loss = logs.f_gather(1, &targets, false)?.f_sum(kind)?.f_neg()?;
        let mut by_logits = logs.f_exp_()?;
        let ones = Tensor::f_full(targets.size(), -1.0, (kind, targets.device()))?;
        let by_logits = by_logits.f_scatter_add_(1, &targets, &ones)?.f_mul_scalar_(factor)?;
        Ok((loss, by_logits.f_to_kind(logits.kind())?))
    }

    fn add_rows(by_rows: &Tensor, gradient: &mut Tensor) -> Result<(), TchError> {
        let sum = by_rows.f_sum_dim_intlist(&[0][..], false, gradient.kind())?;
        gradient.f_add_(&sum).map(drop)
    }
}
