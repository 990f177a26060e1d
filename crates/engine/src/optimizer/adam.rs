use super::{
    Algebra, Batch, Elapsed, Hyperparameter, Marker, MarkerShape, Moved, Observation, ObservedStatistic, Rates,
    RatioCorrection, Rule, RuleInfo, RuleInput, Scalar, StepArrow, StepPart, hyperparameters,
};

/// Adam with decoupled weight decay, AdamW (Kingma and Ba, [arXiv:1412.6980](https://arxiv.org/abs/1412.6980);
/// Loshchilov and Hutter, [arXiv:1711.05101](https://arxiv.org/abs/1711.05101)).
///
/// ```text
/// m ← β₁ m + (1 − β₁) g          m̂ = m / (1 − β₁ᵗ)
/// s ← β₂ s + (1 − β₂) g²         ŝ = s / (1 − β₂ᵗ)
/// θ ← θ − η ( m̂ / (√ŝ + ε) + ω θ )
/// ```
///
/// The paper's toy model uses β₁ = 0.9, β₂ = 0.999, ε = 1e-8 and ω = 0.1.
pub struct Adam;

hyperparameters! {
    beta1: Hyperparameter::momentum().paper("0.9"),
    beta2: Hyperparameter::squares().paper("0.999"),
    weight_decay: Hyperparameter::weight_decay().paper("0.1"),
}

const M: StepPart = StepPart::state("m", "m", "running average of the gradients");
const S: StepPart = StepPart::state("s", "s", "running average of their squares");
const D: StepPart = StepPart::quantity("d", "direction: signal over noise");
const DIRECTION: StepArrow = StepArrow::direction("−m̂/√ŝ", "Adam's direction");

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

impl Rule for Adam {
    const INFO: RuleInfo = RuleInfo {
        name: "Adam",
        color: [244, 111, 67],
        marker: Marker::filled(MarkerShape::Circle),
        source: "arXiv:1412.6980, arXiv:1711.05101",
        hyperparameters: TABLE,
        states: &[&M, &S],
        needs: &[],
        observed: Some(Observation { metric: "signal", title: "|m̂|/√ŝ", statistic: ObservedStatistic::Quantiles }),
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
        Coefficients {
            beta1: of(h.beta1),
            one_minus_beta1: of(N::splat(1.0) - h.beta1),
            beta2: of(h.beta2),
            one_minus_beta2: of(N::splat(1.0) - h.beta2),
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
        let s = c.beta2.mul_add(s, c.one_minus_beta2 * gradient * gradient).named(&S);
        let direction = m.bias_corrected_ratio(s, &c.ratio).named(&D);
        let direction = rates.masked(direction, gradient);
        A::draw(&StepArrow::MOMENTUM, || m);
        A::draw(&DIRECTION, || direction);
        ([m, s], Moved { theta: rates.decayed_step(theta, direction, theta), direction })
    }

    /// |m̂| / √ŝ: 1 where gradients agree, 0 where noise outweighs them.
    fn observed(
        _h: &Hyper<f64>,
        Elapsed { power, .. }: &Elapsed<f64, Hyper<f64>>,
        _theta: f64,
        [m, s]: [f64; 2],
    ) -> f64 {
        let unbias = (1.0 - power.beta2).sqrt() / (1.0 - power.beta1);
        if m == 0.0 { 0.0 } else { unbias * m.abs() / s.sqrt() }
    }
}
