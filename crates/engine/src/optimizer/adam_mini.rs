use super::{
    Algebra, Batch, Elapsed, Hyperparameter, Marker, MarkerShape, Moved, Need, Rates, RatioCorrection, Rule, RuleInfo,
    RuleInput, Scalar, StepArrow, StepPart, hyperparameters,
};

/// Adam-mini: Adam with one mean square for each block of parameters (Zhang et al.,
/// [arXiv:2406.16793](https://arxiv.org/abs/2406.16793); `adam-mini` 1.1.1).
///
/// ```text
/// m ← β₁ m + (1 − β₁) g                 m̂ = m / (1 − β₁ᵗ)
/// s ← β₂ s + (1 − β₂) mean(g²)          ŝ = s / (1 − β₂ᵗ)
/// θ ← θ − η ( m̂ / (√ŝ + ε) + ω θ )
/// ```
///
/// The mean is over a block: x and y on the plane; in training a head of the queries or the keys, a row of other matrices,
/// each element of a bias, and other vectors as a whole. s is stored for each parameter, so that no memory is saved here.
/// Zhang et al. take β₁ = 0.9, β₂ from 0.95 to 0.999 and ε = 1e-8.
pub struct AdamMini;

hyperparameters! {
    beta1: Hyperparameter::momentum(),
    beta2: Hyperparameter::squares(),
    weight_decay: Hyperparameter::weight_decay(),
}

const M: StepPart = StepPart::state("m", "m", "running average of the gradients");
const S: StepPart = StepPart::state("s", "s", "running average of the mean square over the block");
const D: StepPart = StepPart::quantity("d", "direction: signal over noise");
const DIRECTION: StepArrow = StepArrow::direction("−m̂/√ŝ", "Adam-mini's direction");

/// Keeps the step finite where no gradient was ever seen.
const EPSILON: f64 = 1e-8;

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: A,
    one_minus_beta1: A,
    beta2: A,
    one_minus_beta2: A,
    ratio: RatioCorrection<A>,
}

impl Rule for AdamMini {
    const INFO: RuleInfo = RuleInfo {
        name: "Adam-mini",
        color: [225, 180, 255],
        marker: Marker::open(MarkerShape::Diamond),
        source: "arXiv:2406.16793",
        hyperparameters: TABLE,
        states: &[&M, &S],
        needs: &[Need::WholeParameter],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 2];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(
        h: &Hyper<N>,
        Elapsed { power, .. }: &Elapsed<N, Hyper<N>>,
        of: impl Fn(N) -> A,
    ) -> Coefficients<A> {
        let one = N::splat(1.0);
        Coefficients {
            beta1: of(h.beta1),
            one_minus_beta1: of(one - h.beta1),
            beta2: of(h.beta2),
            one_minus_beta2: of(one - h.beta2),
            ratio: RatioCorrection::new([power.beta1, power.beta2], N::constant("ε", EPSILON), &of),
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(
        c: &Coefficients<A>,
        rates: Rates<A>,
        RuleInput { theta, gradient, .. }: RuleInput<A, B>,
        [m, s]: [A; 2],
    ) -> ([A; 2], Moved<A>) {
        let m = c.beta1.mul_add(m, c.one_minus_beta1 * gradient).named(&M);
        let s = c.beta2.mul_add(s, c.one_minus_beta2 * (gradient * gradient).block_mean()).named(&S);
        let direction = m.bias_corrected_ratio(s, &c.ratio).named(&D);
        let direction = rates.masked(direction, gradient);
        A::draw(&StepArrow::MOMENTUM, || m);
        A::draw(&DIRECTION, || direction);
        ([m, s], Moved { theta: rates.decayed_step(theta, direction, theta), direction })
    }
}
