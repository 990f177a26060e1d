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
    beta1: SettingInfo::momentum().paper("0.9"),
    beta2: SettingInfo::squares().paper("0.999"),
    eps: SettingInfo::epsilon(),
    weight_decay: SettingInfo::weight_decay().paper("0.1"),
}

const DIRECTION: StepArrow = StepArrow::direction("−m̂/√ŝ", "Adam's direction");

impl Rule for Adam {
    const INFO: RuleInfo = RuleInfo {
        name: "Adam",
        color: [244, 111, 67],
        marker: Marker::filled(MarkerShape::Circle),
        source: "arXiv:1412.6980, arXiv:1711.05101",
        hyperparameters: TABLE,
        states: &[&StepPart::MOMENTUM, &StepPart::SQUARES],
        needs: &[],
        observed: Some(Observation { metric: "signal", title: "|m̂|/√ŝ", statistic: ObservedStatistic::Quantiles }),
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = AdamAverages<A>;
    type State<A: Algebra> = [A; 2];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(step: &StepSettings<N, Hyper<N>>, of: impl Fn(N) -> A) -> AdamAverages<A> {
        let StepSettings { hyper: h, power, .. } = step;
        AdamAverages::new([h.beta1, h.beta2], [power.beta1, power.beta2], h.eps, &of)
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(c: &AdamAverages<A>, seen: RuleInput<A, B>, [m, s]: [A; 2]) -> ([A; 2], Moved<A>) {
        let m = c.beta1.average(m, seen.gradient).named(&StepPart::MOMENTUM);
        let s = c.beta2.average_of_squares(s, seen.gradient).named(&StepPart::SQUARES);
        let direction = m.bias_corrected_ratio(s, &c.ratio).named(&StepPart::SIGNAL_OVER_NOISE);
        ([m, s], seen.moved_by_momentum(m, direction, &DIRECTION))
    }

    /// |m̂| / √ŝ: 1 where gradients agree, 0 where noise outweighs them.
    fn observed(StepSettings { power, .. }: &StepSettings<f64, Hyper<f64>>, _theta: f64, [m, s]: [f64; 2]) -> f64 {
        let unbias = (1.0 - power.beta2).sqrt() / (1.0 - power.beta1);
        if m == 0.0 { 0.0 } else { unbias * m.abs() / s.sqrt() }
    }
}
