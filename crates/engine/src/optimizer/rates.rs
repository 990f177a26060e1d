use super::{Algebra, Moved, Relation, RuleInput, StepArrow, StepPart};

/// The settings of a step that may differ between parameters.
#[derive(Clone, Copy, Debug)]
pub struct Rates<A> {
    /// η
    pub learning_rate: A,
    /// ω; 0 for parameters that do not decay.
    pub weight_decay: A,
    /// Whether steps are masked, without the elements that would move up the gradient (Liang et al.,
    /// [arXiv:2411.16085](https://arxiv.org/abs/2411.16085), as the
    /// [`c_adamw.py`](https://github.com/kyleliang919/C-Optim/blob/2c0517c/c_adamw.py) of its authors has it):
    ///
    /// ```text
    /// φ = 1 where d g > 0, else 0
    /// d ← d φ / max(mean φ, 0.001)
    /// ```
    ///
    /// The mean is over the parameter: x and y on the plane, all coordinates in more dimensions, a tensor in training.
    /// Weight decay is not masked, unless it is coupled, which makes it a part of g. The states do not depend on the
    /// mask.
    pub is_cautious: bool,
}

const MASK: StepPart = StepPart::quantity("φ", "1 where d has the gradient's sign, else 0");
const MASKED: StepPart = StepPart::quantity("d′", "the direction where it has the gradient's sign");
/// The least mean of a mask that a step is divided by.
pub const LEAST_MEAN_OF_MASK: f64 = 1e-3;

impl<A: Algebra> Rates<A> {
    /// `θ − η (d + ω x)` with the direction d, where x, mostly θ itself, is what decays (decoupled weight decay,
    /// [arXiv:1711.05101](https://arxiv.org/abs/1711.05101)). The decay is drawn as an arrow.
    #[inline(always)]
    pub(crate) fn decayed_step(self, theta: A, direction: A, decayed: A) -> A {
        A::draw(&StepArrow::DECAY, || self.weight_decay * decayed);
        theta.add_product(-self.learning_rate, direction.add_product(self.weight_decay, decayed))
    }

    /// Returns the direction of a step, masked if the step [is cautious](Rates::is_cautious).
    #[inline(always)]
    pub(crate) fn masked(self, direction: A, gradient: A) -> A {
        if !self.is_cautious {
            return direction;
        }
        let mask = A::splat(0.0).compared(Relation::Less, direction * gradient).named(&MASK);
        (direction * mask / mask.mean().larger(A::splat(LEAST_MEAN_OF_MASK))).named(&MASKED)
    }
}

impl<A: Algebra, B> RuleInput<A, B> {
    /// Adds coupled weight decay to the gradient, which becomes `g + ω θ`, and removes the decoupled one.
    #[inline(always)]
    pub(crate) fn coupled(self) -> Self {
        let gradient = self.gradient.add_product(self.rates.weight_decay, self.theta);
        RuleInput { gradient, rates: Rates { weight_decay: A::splat(0.0), ..self.rates }, ..self }
    }

    /// Returns the move along a direction, which is masked and drawn as an arrow, with decay of θ.
    #[inline(always)]
    pub(crate) fn moved(self, direction: A, arrow: &'static StepArrow) -> Moved<A> {
        let direction = self.rates.masked(direction, self.gradient);
        A::draw(arrow, || direction);
        Moved { theta: self.rates.decayed_step(self.theta, direction, self.theta), direction }
    }

    /// Returns the [move](RuleInput::moved) along a direction, and draws the momentum m of which the direction is made.
    #[inline(always)]
    pub(crate) fn moved_by_momentum(self, m: A, direction: A, arrow: &'static StepArrow) -> Moved<A> {
        A::draw(&StepArrow::MOMENTUM, || m);
        self.moved(direction, arrow)
    }
}
