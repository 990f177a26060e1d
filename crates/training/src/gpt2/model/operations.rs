use tch::{Kind, TchError, Tensor};
use valleyscope_experiments::workload::Attention;

use super::views::{Norm, Views};

/// ε of the normalisations.
pub(super) const EPSILON: f64 = 1e-5;

/// The parameters of a layer's attention.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heads {
    pub attention: Attention,
    pub batch: i64,
    /// Tokens of a sequence.
    pub length: i64,
    pub heads: i64,
    /// The factor of the attention scores.
    pub scale: f64,
}

/// Returns queries, keys and values as views `[batch, heads, length, width of a head]` of rows that hold all three.
pub(super) fn parts(rows: &Tensor, heads: Heads) -> Result<[Tensor; 3], TchError> {
    let all = rows.f_view([heads.batch, heads.length, 3, heads.heads, -1])?;
    let part = |which| all.f_select(2, which)?.f_transpose(1, 2);
    Ok([part(0)?, part(1)?, part(2)?])
}

/// Rearranges `[batch, heads, length, width of a head]` into rows.
pub(super) fn merged(of_heads: &Tensor, heads: Heads) -> Result<Tensor, TchError> {
    of_heads.f_transpose(1, 2)?.f_reshape([heads.batch * heads.length, -1])
}

/// Element-wise operations and reductions, in two forms. Rows are tokens, sequence after sequence.
pub(super) trait Operations {
    /// The tensors that the backward pass of a normalisation needs.
    type Normalized;
    /// The tensors that the backward pass of attention needs.
    type Attended;

    /// Computes the sum of the embeddings of tokens `[batch, length]` and of their positions, `[rows, width]`.
    fn embed(tokens: &Tensor, parameters: &Views) -> Result<Tensor, TchError>;

    /// Adds to the gradients of both embeddings.
    fn embed_backward(by_rows: &Tensor, tokens: &Tensor, gradients: &mut Views) -> Result<(), TchError>;

    /// Computes `(x − mean x) / √(var x + ε) γ + β` of each row, as a tensor of this kind.
    fn normalize(x: &Tensor, norm: &Norm, kind: Kind) -> Result<(Tensor, Self::Normalized), TchError>;

    /// Adds to the gradients of γ and β, and to the gradient of x.
    fn normalize_backward(
        by_normalized: &Tensor,
        normalized: Self::Normalized,
        norm: &Norm,
        gradient: &mut Norm,
        by_x: &mut Tensor,
    ) -> Result<(), TchError>;

    /// Applies attention to rows of queries, keys and values `[rows, 3 width]`; returns `[rows, width]`. `ahead` is the
    /// causal mask, true where a token would attend to a later one, `[context, context]`.
    fn attend(rows: Tensor, heads: Heads, ahead: &Tensor) -> Result<(Tensor, Self::Attended), TchError>;

    /// Computes the gradient of the rows of queries, keys and values.
    fn attend_backward(by_out: Tensor, attended: Self::Attended, heads: Heads) -> Result<Tensor, TchError>;

    /// Computes GELU in its tanh form, and the tensor that its backward pass needs.
    fn activate(x: Tensor) -> Result<(Tensor, Tensor), TchError>;

    fn activate_backward(by_active: Tensor, kept: &Tensor) -> Result<Tensor, TchError>;

    /// Computes the sum of the cross entropies of some rows, and its gradient with respect to the logits times
    /// `factor`.
    fn cross_entropy(logits: Tensor, targets: &Tensor, factor: f64) -> Result<(Tensor, Tensor), TchError>;

    /// Adds the sum of all rows to a bias's gradient.
    fn add_rows(by_rows: &Tensor, gradient: &mut Tensor) -> Result<(), TchError>;
}
