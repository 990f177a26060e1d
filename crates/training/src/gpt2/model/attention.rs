//! Attention on the processor.

use tch::{TchError, Tensor};
use valleyscope_experiments::workload::Attention;

use super::loops::{causal_softmax, causal_softmax_backward};
use super::operations::{Heads, merged, parts};
use crate::loops::{Number, numbers, numbers_mut};
use crate::openmp::share;

/// The tensors that the backward pass of attention needs.
pub(super) enum Attended {
    /// Rows of queries, keys and values; the result and the logarithms of the softmax's denominators, as libtorch's
    /// operation returns them.
    Fused { rows: Tensor, out: Tensor, logarithms: Tensor },
    /// Queries, keys and values `[3, batch × heads, length, width of a head]`, and the probabilities
    /// `[batch × heads, length, length]`.
    Explicit { parts: Tensor, probabilities: Tensor },
}

pub(super) fn attend<T: Number>(rows: Tensor, heads: Heads) -> Result<(Tensor, Attended), TchError> {
    if heads.attention == Attention::Fused {
        let [q, k, v] = parts(&rows, heads)?;
        let (out, logarithms) = Tensor::f_internal_scaled_dot_product_flash_attention_for_cpu(
            &q,
            &k,
            &v,
            0.0,
            true,
            None::<&Tensor>,
            heads.scale,
        )?;
        return Ok((merged(&out, heads)?, Attended::Fused { rows, out, logarithms }));
    }
    let parts = split::<T>(&rows, 3, heads)?;
    let [q, k, v] = [parts.f_get(0)?, parts.f_get(1)?, parts.f_get(2)?];
    let mut scores = q.f_bmm(&k.f_transpose(1, 2)?)?;
    let length = heads.length as usize;
    share(numbers_mut::<T>(&mut scores).chunks_exact_mut(length * length), |scores| {
        causal_softmax(scores, length, T::splat(heads.scale));
    });
    let out = merge::<T>(&scores.f_bmm(&v)?, 1, heads)?;
    Ok((out, Attended::Explicit { parts, probabilities: scores }))
}

pub(super) fn attend_backward<T: Number>(
    by_out: &Tensor,
    attended: Attended,
    heads: Heads,
) -> Result<Tensor, TchError> {
    let (parts, probabilities) = match attended {
        Attended::Fused { rows, out, logarithms } => return fused_backward(by_out, &rows, &out, &logarithms, heads),
        Attended::Explicit { parts, probabilities } => (parts, probabilities),
    };
    let [q, k, v] = [parts.f_get(0)?, parts.f_get(1)?, parts.f_get(2)?];
    let by_out = split::<T>(by_out, 1, heads)?.f_get(0)?;
    let by_parts = parts.f_empty_like()?;
    let _ = probabilities.f_transpose(1, 2)?.f_bmm_out(&by_parts.f_get(2)?, &by_out)?;
    let mut by_scores = by_out.f_bmm(&v.f_transpose(1, 2)?)?;
    let length = heads.length as usize;
    let of_heads = numbers_mut::<T>(&mut by_scores)
        .chunks_exact_mut(length * length)
        .zip(numbers::<T>(&probabilities).chunks_exact(length * length));
    share(of_heads, |(by_scores, probabilities)| {
        causal_softmax_backward(by_scores, probabilities, length, T::splat(heads.scale));
    });
    let _ = by_scores.f_bmm_out(&by_parts.f_get(0)?, &k)?;
    let _ = by_scores.f_transpose(1, 2)?.f_bmm_out(&by_parts.f_get(1)?, &q)?;
    merge::<T>(&by_parts, 3, heads)
}

fn fused_backward(
    by_out: &Tensor,
    rows: &Tensor,
    out: &Tensor,
    logarithms: &Tensor,
    heads: Heads,
) -> Result<Tensor, TchError> {
    let [q, k, v] = parts(rows, heads)?;
    let by_out = by_out.f_view([heads.batch, heads.length, heads.heads, -1])?.f_transpose(1, 2)?;
    let (by_q, by_k, by_v) = Tensor::f_internal_scaled_dot_product_flash_attention_for_cpu_backward(
        &by_out,
        &q,
        &k,
        &v,
        out,
        logarithms,
        0.0,
        true,
        None::<&Tensor>,
        heads.scale,
    )?;
    let by_parts = [by_q, by_k, by_v].map(|by| by.transpose(1, 2));
    Tensor::f_stack(&by_parts, 2)?.f_view(&rows.size()[..])
}

/// Rearranges rows `[batch × length, parts × heads × width of a head]` into `[parts, batch × heads, length, width of a
/// head]`.
fn split<T: Number>(rows: &Tensor, parts: usize, heads: Heads) -> Result<Tensor, TchError> {
    let width = rows.size()[1] as usize / (parts * heads.heads as usize);
    let shape = [parts as i64, heads.batch * heads.heads, heads.length, width as i64];
    let mut out = Tensor::f_empty(shape, (rows.kind(), rows.device()))?;
    let of_row = rows.size()[1] as usize;
    let from = numbers::<T>(rows);
    let of_heads = numbers_mut::<T>(&mut out).chunks_exact_mut(heads.length as usize * width).enumerate();
    share(of_heads, |(index, head)| {
        let (start, first_row) = place(index, heads);
        let rows = from[first_row * of_row..].chunks_exact(of_row);
        for (to, row) in head.chunks_exact_mut(width).zip(rows) {
            to.copy_from_slice(&row[start * width..][..width]);
        }
    });
    Ok(out)
}

/// Returns the place of a head in a row and the first row of its sequence, for its index in `[parts, batch, heads]`.
fn place(index: usize, heads: Heads) -> (usize, usize) {
    let (count, batch) = (heads.heads as usize, heads.batch as usize);
    let (part, sequence, head) = (index / count / batch, index / count % batch, index % count);
    (part * count + head, sequence * heads.length as usize)
}

/// Rearranges heads into rows: the inverse of [`split`].
fn merge<T: Number>(split: &Tensor, parts: usize, heads: Heads) -> Result<Tensor, TchError> {
    let (length, count) = (heads.length as usize, heads.heads as usize);
    let width = *split.size().last().expect("it has sides") as usize;
    let of_row = parts * count * width;
    let mut rows = Tensor::f_empty([heads.batch * heads.length, of_row as i64], (split.kind(), split.device()))?;
    let from = numbers::<T>(split);
    let sequences = numbers_mut::<T>(&mut rows).chunks_exact_mut(length * of_row).enumerate();
    share(sequences, |(sequence, rows)| {
        for (token, row) in rows.chunks_exact_mut(of_row).enumerate() {
            for (at, to) in row.chunks_exact_mut(width).enumerate() {
                let head = (at / count * heads.batch as usize + sequence) * count + at % count;
                to.copy_from_slice(&from[(head * length + token) * width..][..width]);
            }
        }
    });
    Ok(rows)
}
