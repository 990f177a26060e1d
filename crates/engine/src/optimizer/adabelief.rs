use super::*;

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
    beta1: SettingInfo::momentum(),
    beta2: SettingInfo::decay_rate("β₂", "Deviations β₂")
        .help("How much of the running average of the squared difference of gradient and momentum is kept in each step. \
               Its root divides the step.")
        .default(0.999),
    eps: SettingInfo { label: "Deviations ε", ..SettingInfo::epsilon() }
        .help("Added to the divisor, and to the average of squared deviations in each step."),
    weight_decay: SettingInfo::weight_decay(),
}

const R: StepPart = StepPart::quantity("r", "deviation of the gradient from its average");
const S: StepPart = StepPart::state("s", "s", "running average of the squared deviations");
const D: StepPart = StepPart::quantity("d", "direction: signal over deviation");
const DIRECTION: StepArrow = StepArrow::direction("−m̂/√ŝ", "AdaBelief's direction");

impl Rule for AdaBelief {
    const INFO: RuleInfo = RuleInfo {
        name: "AdaBelief",
        color: [168, 185, 137],
        marker: Marker::open(MarkerShape::Down),
        source: "arXiv:2010.07468",
        hyperparameters: TABLE,
        states: &[&StepPart::MOMENTUM, &S],
        needs: &[],
        observed: None,
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
        let deviation = (seen.gradient - m).named(&R);
        let s = (c.beta2.average_of_squares(s, deviation) + c.ratio.epsilon).named(&S);
        let direction = m.bias_corrected_ratio(s, &c.ratio).named(&D);
        ([m, s], seen.moved_by_momentum(m, direction, &DIRECTION))
    }
}
