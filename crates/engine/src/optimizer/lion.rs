use super::{
    Algebra, Batch, Elapsed, Hyperparameter, Marker, MarkerShape, Moved, Rates, Rule, RuleInfo, RuleInput, Scalar,
    StepArrow, StepPart, hyperparameters,
};

/// Lion: the sign of a momentum that is mixed anew with the gradient (Chen et al.,
/// [arXiv:2302.06675](https://arxiv.org/abs/2302.06675), Algorithm 2; `lion-pytorch` 0.2.5 is the same rule).
///
/// ```text
/// d = sign( β₁ m + (1 − β₁) g )
/// m ← β₂ m + (1 − β₂) g
/// θ ← θ − η (d + ω θ)
/// ```
///
/// β₁ only mixes, β₂ is the decay rate of the momentum, and the momentum is updated after the direction was taken. Chen
/// et al. take β₁ = 0.9 and β₂ = 0.99, a learning rate of a third to a tenth of Adam's, and a weight decay that is larger by
/// the same factor.
pub struct Lion;

hyperparameters! {
    beta1: Hyperparameter::decay_rate("β₁", "Mixing β₁")
        .help("How much of the direction comes from the momentum rather than from the new gradient."),
    beta2: Hyperparameter::decay_rate("β₂", "Momentum β₂")
        .help("How much of the running average of the gradient is kept in each step.")
        .defaults(0.99, 0.99),
    weight_decay: Hyperparameter::weight_decay(),
}

const C: StepPart = StepPart::quantity("c", "momentum mixed with the gradient");
const D: StepPart = StepPart::quantity("d", "direction of the step");
const M: StepPart = StepPart::state("m", "m", "running average of the gradients, for the next step");
const DIRECTION: StepArrow = StepArrow::direction("−sign c", "Lion's direction");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: A,
    one_minus_beta1: A,
    beta2: A,
    one_minus_beta2: A,
}

impl Rule for Lion {
    const INFO: RuleInfo = RuleInfo {
        name: "Lion",
        color: [178, 132, 190],
        marker: Marker::filled(MarkerShape::Right),
        source: "arXiv:2302.06675",
        hyperparameters: TABLE,
        states: &[&M],
        needs: &[],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 1];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(
        h: &Hyper<N>,
        _elapsed: &Elapsed<N, Hyper<N>>,
        of: impl Fn(N) -> A,
    ) -> Coefficients<A> {
        let one = N::splat(1.0);
        Coefficients {
            beta1: of(h.beta1),
            one_minus_beta1: of(one - h.beta1),
            beta2: of(h.beta2),
            one_minus_beta2: of(one - h.beta2),
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(
        c: &Coefficients<A>,
        rates: Rates<A>,
        RuleInput { theta, gradient, .. }: RuleInput<A, B>,
        [m]: [A; 1],
    ) -> ([A; 1], Moved<A>) {
        let mixed = c.beta1.mul_add(m, c.one_minus_beta1 * gradient).named(&C);
        let direction = mixed.sign().named(&D);
        let m = c.beta2.mul_add(m, c.one_minus_beta2 * gradient).named(&M);
        let direction = rates.masked(direction, gradient);
        A::draw(&StepArrow::MOMENTUM, || m);
        A::draw(&DIRECTION, || direction);
        ([m], Moved { theta: rates.decayed_step(theta, direction, theta), direction })
    }
}
