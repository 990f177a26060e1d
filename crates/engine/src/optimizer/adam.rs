use super::*;

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
    type Coefficients<A: Algebra> = AdamCoefficients<A>;
    type State<A: Algebra> = [A; 2];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(
        StepSettings { hyper: h, power, .. }: &StepSettings<N, Hyper<N>>,
        of: impl Fn(N) -> A,
    ) -> AdamCoefficients<A> {
        AdamCoefficients::new([h.beta1, h.beta2], [power.beta1, power.beta2], EPSILON, &of)
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(
        c: &AdamCoefficients<A>,
        seen: RuleInput<A, B>,
        [m, s]: [A; 2],
    ) -> ([A; 2], Moved<A>) {
        let m = c.beta1.average(m, seen.gradient).named(&M);
        let s = c.beta2.average_of_squares(s, seen.gradient).named(&S);
        let direction = m.bias_corrected_ratio(s, &c.ratio).named(&D);
        A::draw(&StepArrow::MOMENTUM, || m);
        ([m, s], seen.moved(direction, &DIRECTION))
    }

    /// |m̂| / √ŝ: 1 where gradients agree, 0 where noise outweighs them.
    fn observed(StepSettings { power, .. }: &StepSettings<f64, Hyper<f64>>, _theta: f64, [m, s]: [f64; 2]) -> f64 {
        let unbias = (1.0 - power.beta2).sqrt() / (1.0 - power.beta1);
        if m == 0.0 { 0.0 } else { unbias * m.abs() / s.sqrt() }
    }
}
