//! Shampoo, whose formulas are in [`valleyscope_engine::optimizer::Shampoo`].

use tch::{TchError, Tensor};
use valleyscope_engine::optimizer::{Shampoo, StepSettings};

use super::{Step, average, eigen, sides};

/// Keeps a grafted step finite if the momentum is 0.
const NO_LENGTH: f64 = 1e-16;

impl Step<'_> {
    /// Returns the direction of Shampoo's step, a flat tensor.
    pub(super) fn shampoo(&self, states: &mut [Tensor]) -> Result<Tensor, TchError> {
        let StepSettings { hyper, t, power, .. } = self.bias.settings::<Shampoo>(self.rule);
        let is_chosen = |of: &str, key: &str| self.rule.choice(of).is_some_and(|choice| choice.key == key);
        let [m, s, statistics @ ..] = states else { unreachable!("averages come before statistics") };
        average(m, hyper.beta1, self.gradients)?;
        average(s, hyper.graft_beta2, &self.gradients.f_square()?)?;
        let (is_refreshed, is_early) = (t % hyper.interval == 0.0, t < hyper.interval);
        let [kept, added, weight] = match is_chosen("statistics", "Sum") {
            true => [1.0, 1.0, 1.0],
            false => [hyper.beta2, 1.0 - hyper.beta2, 1.0 - power.beta2],
        };
        let momentum = m.f_div_scalar(1.0 - power.beta1)?;
        let divisor = s.f_div_scalar(1.0 - power.graft_beta2)?.f_sqrt()?.f_add_scalar_(hyper.graft_eps)?;
        let flat = self.gradients.f_zeros_like()?;
        let mut statistics = statistics.iter_mut();
        for (index, segment) in self.layout.segments().iter().enumerate() {
            let gradient = self.matrices(self.gradients, index)?;
            let momentum = self.matrices(&momentum, index)?;
            // −1/(2 × order) of a tensor, even if only some of its axes have a statistic.
            let exponent = if segment.shape.len() == 2 { -0.25 } else { -0.5 };
            let mut direction = momentum.shallow_clone();
            for (side, length) in sides(self.rule, &segment.shape) {
                let mut next = || statistics.next().expect("a statistic and its root for each axis");
                let (statistic, root) = (next(), next());
                *statistic = side.with_gradient(statistic, kept, added, &gradient)?;
                if is_refreshed {
                    root.f_copy_(&inverse_root(&statistic.f_div_scalar(weight)?, hyper.eps, exponent)?)?;
                } else if is_early {
                    root.f_copy_(&Tensor::f_eye(length, (root.kind(), root.device()))?)?;
                }
                direction = side.multiplied(&direction, root)?;
            }
            if is_chosen("grafting", "Adam") {
                let adam = momentum.f_div(&self.matrices(&divisor, index)?)?;
                direction = if is_early { adam } else { with_norm_of(&direction, &adam)? };
            }
            self.matrices(&flat, index)?.f_copy_(&direction)?;
        }
        Ok(flat)
    }
}

/// Raises positive semidefinite matrices plus ε I to a negative power.
fn inverse_root(matrices: &Tensor, epsilon: f64, exponent: f64) -> Result<Tensor, TchError> {
    let (values, vectors) = eigen(matrices)?;
    // Rounding makes the smallest eigenvalues negative.
    let powers = values.f_clamp_min(0.0)?.f_add_scalar_(epsilon)?.f_pow_tensor_scalar(exponent)?;
    vectors.f_mul(&powers.f_unsqueeze(1)?)?.f_bmm(&vectors.f_transpose(1, 2)?)
}

/// Returns matrices with the directions of `direction` and the norms of `other`.
fn with_norm_of(direction: &Tensor, other: &Tensor) -> Result<Tensor, TchError> {
    let norm = |matrices: &Tensor| matrices.f_norm_scalaropt_dim(2.0, [1_i64, 2], true);
    direction.f_mul(&norm(other)?.f_div(&norm(direction)?.f_add_scalar_(NO_LENGTH)?)?)
}
