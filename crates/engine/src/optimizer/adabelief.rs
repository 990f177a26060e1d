use super::{
    Algebra, Batch, Elapsed, Hyperparameter, Marker, MarkerShape, Moved, Rates, RatioCorrection, Rule, RuleInfo,
    RuleInput, Scalar, StepArrow, StepPart, hyperparameters,
};

/// AdaBelief with decoupled weight decay: Adam, divided by how far gradients are from their average rather than by
/// their size (Zhuang et al., [arXiv:2010.07468](https://arxiv.org/abs/2010.07468), Algorithm 2;
/// `adabelief-pytorch` 0.2.1 with `rectify=False` is the same rule).
///
/// ```text
/// m ← β₁ m + (1 − β₁) g                  m̂ = m / (1 − β₁ᵗ)
/// r = g − m
/// s ← β₂ s + (1 − β₂) r² + ε             ŝ = s / (1 − β₂ᵗ)
/// θ ← θ − η ( m̂ / (√ŝ + ε) + ω θ )
/// ```
///
/// ε is added twice, and to the state in each step. Zhuang et al. take β₁ = 0.9, β₂ = 0.999, and ε = 1e-8 for images.
pub struct AdaBelief;

hyperparameters! {
    beta1: Hyperparameter::momentum(),
    beta2: Hyperparameter::decay_rate("β₂", "Deviations β₂")
        .help(
            "How much of the running average of the squared difference of gradient and momentum is kept in each step. \
             Its root divides the step.",
        )
        .slider(0.0, 0.9999)
        .defaults(0.999, 0.999),
    weight_decay: Hyperparameter::weight_decay(),
}

const M: StepPart = StepPart::state("m", "m", "running average of the gradients");
const R: StepPart = StepPart::quantity("r", "deviation of the gradient from its average");
const S: StepPart = StepPart::state("s", "s", "running average of the squared deviations");
const D: StepPart = StepPart::quantity("d", "direction: signal over deviation");
const DIRECTION: StepArrow = StepArrow::direction("−m̂/√ŝ", "AdaBelief's direction");

/// Keeps the step finite where all gradients were the same.
const EPSILON: f64 = 1e-8;

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: A,
    one_minus_beta1: A,
    beta2: A,
    one_minus_beta2: A,
    ratio: RatioCorrection<A>,
}

impl Rule for AdaBelief {
    const INFO: RuleInfo = RuleInfo {
        name: "AdaBelief",
        color: [120, 240, 30],
        marker: Marker::open(MarkerShape::Down),
        source: "arXiv:2010.07468",
        hyperparameters: TABLE,
        states: &[&M, &S],
        needs: &[],
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
        let deviation = (gradient - m).named(&R);
        let s = (c.beta2.mul_add(s, c.one_minus_beta2 * deviation * deviation) + c.ratio.epsilon).named(&S);
        let direction = m.bias_corrected_ratio(s, &c.ratio).named(&D);
        let direction = rates.masked(direction, gradient);
        A::draw(&StepArrow::MOMENTUM, || m);
        A::draw(&DIRECTION, || direction);
        ([m, s], Moved { theta: rates.decayed_step(theta, direction, theta), direction })
    }
}
