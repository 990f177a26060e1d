//! SOAP, whose formulas are in [`valleyscope_engine::optimizer::Soap`].

use tch::{Kind, TchError, Tensor};
use valleyscope_engine::optimizer::{Soap, StepSettings};

use super::{Side, Step, average, eigen, sides};

/// An axis with its statistic and the statistic's eigenvectors, as columns.
struct Axis<'a> {
    side: Side,
    statistic: &'a mut Tensor,
    vectors: &'a mut Tensor,
}

impl Step<'_> {
    /// Returns the direction of SOAP's step, a flat tensor; none in the first step.
    pub(super) fn soap(&self, states: &mut [Tensor]) -> Result<Option<Tensor>, TchError> {
        let StepSettings { hyper, t, power, .. } = self.bias.settings::<Soap>(self.rule);
        let (steps, is_first) = (t - 1.0, t == 1.0);
        let statistic_beta = if hyper.shampoo_beta < 0.0 { hyper.beta2 } else { hyper.shampoo_beta };
        let [m, s, statistics @ ..] = states else { unreachable!("averages come before statistics") };
        if !is_first {
            average(m, hyper.beta1, self.gradients)?;
        }
        let flat = self.gradients.f_zeros_like()?;
        let mut statistics = statistics.iter_mut();
        for (index, segment) in self.layout.segments().iter().enumerate() {
            let gradient = self.matrices(self.gradients, index)?;
            let mut next = || statistics.next().expect("a statistic and its eigenvectors for each axis");
            let mut axes: Vec<Axis<'_>> = sides(self.rule, &segment.shape)
                .into_iter()
                .map(|(side, _)| Axis { side, statistic: next(), vectors: next() })
                .collect();
            if !is_first {
                let mut squares = self.matrices(s, index)?;
                average(&mut squares, hyper.beta2, &turned(&axes, &gradient)?.f_square()?)?;
                let momentum = turned(&axes, &self.matrices(m, index)?)?;
                let step = momentum.f_div(&squares.f_sqrt()?.f_add_scalar_(hyper.eps)?)?;
                self.matrices(&flat, index)?.f_copy_(&turned_back(&axes, &step)?)?;
            }
            for Axis { side, statistic, vectors } in &mut axes {
                **statistic = side.with_gradient(statistic, statistic_beta, 1.0 - statistic_beta, &gradient)?;
                if is_first {
                    // Eigenvectors are sorted by rising eigenvalues.
                    vectors.f_copy_(&eigen(statistic)?.1.f_flip([2_i64])?)?;
                } else if steps % hyper.interval == 0.0 {
                    refresh(*side, statistic, vectors, &mut self.matrices(s, index)?)?;
                }
            }
        }
        if is_first {
            return Ok(None);
        }
        flat.f_mul_scalar((1.0 - power.beta2).sqrt() / (1.0 - power.beta1)).map(Some)
    }
}

/// Rotates matrices into the eigenvectors of their axes.
fn turned(axes: &[Axis<'_>], matrices: &Tensor) -> Result<Tensor, TchError> {
    axes.iter().try_fold(matrices.shallow_clone(), |matrices, axis| match axis.side {
        Side::Left => axis.side.multiplied(&matrices, &axis.vectors.f_transpose(1, 2)?),
        Side::Right => axis.side.multiplied(&matrices, axis.vectors),
    })
}

/// Rotates matrices back: the inverse of [`turned`].
fn turned_back(axes: &[Axis<'_>], matrices: &Tensor) -> Result<Tensor, TchError> {
    axes.iter().try_fold(matrices.shallow_clone(), |matrices, axis| match axis.side {
        Side::Left => axis.side.multiplied(&matrices, axis.vectors),
        Side::Right => axis.side.multiplied(&matrices, &axis.vectors.f_transpose(1, 2)?),
    })
}

/// Takes a step of orthogonal iteration: sorts the eigenvectors by falling diagonal of the statistic in their basis,
/// and the squares likewise; then takes the orthogonal factor of the statistic times the eigenvectors.
fn refresh(side: Side, statistic: &Tensor, vectors: &mut Tensor, squares: &mut Tensor) -> Result<(), TchError> {
    let [statistic, old] = [statistic, &*vectors].map(|tensor| tensor.f_to_kind(Kind::Double));
    let (statistic, old) = (statistic?, old?);
    let products = statistic.f_bmm(&old)?;
    let parts = old.f_mul(&products)?.f_sum_dim_intlist(1, false, Kind::Double)?;
    let order = parts.f_argsort_stable(true, 1, true)?;
    // The product of each column is a column of the product.
    let (new, _) =
        Tensor::f_linalg_qr(&products.f_gather(2, &order.f_unsqueeze(1)?.f_expand_as(&products)?, false)?, "reduced")?;
    vectors.f_copy_(&new)?;
    let (along, order) = match side {
        Side::Left => (1, order.f_unsqueeze(2)?),
        Side::Right => (2, order.f_unsqueeze(1)?),
    };
    squares.f_copy_(&squares.f_gather(along, &order.f_expand_as(&*squares)?, false)?)
}
