use super::*;

/// Adam-mini: Adam with one mean square for each block of parameters (Zhang et al.,
/// [arXiv:2406.16793](https://arxiv.org/abs/2406.16793); `adam-mini` 1.1.1).
///
/// ```text
/// m ← β₁ m + (1 − β₁) g                 m̂ = m / (1 − β₁ᵗ)
/// s ← β₂ s + (1 − β₂) mean(g²)          ŝ = s / (1 − β₂ᵗ)
/// θ ← θ − η ( m̂ / (√ŝ + ε) + ω θ )
/// ```
///
/// The mean is over a block: x and y on the plane; in training a head of the queries or the keys, a row of other
/// matrices, each element of a bias, and other vectors as a whole. s is stored for each parameter, so that no memory is
/// saved here. Zhang et al. take β₁ = 0.9, β₂ from 0.95 to 0.999 and ε = 1e-8.
pub struct AdamMini;

hyperparameters! {
    beta1: SettingInfo::momentum(),
    beta2: SettingInfo::squares(),
    eps: SettingInfo::epsilon(),
    weight_decay: SettingInfo::weight_decay(),
}

const S: StepPart = StepPart::state("s", "s", "running average of the mean square over the block");
const DIRECTION: StepArrow = StepArrow::direction("−m̂/√ŝ", "Adam-mini's direction");

impl Rule for AdamMini {
    const INFO: RuleInfo = RuleInfo {
        name: "Adam-mini",
        color: [173, 134, 254],
        marker: Marker::open(MarkerShape::Diamond),
        source: "arXiv:2406.16793",
        hyperparameters: TABLE,
        states: &[&StepPart::MOMENTUM, &S],
        needs: &[Need::WholeParameter],
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
        let s = c.beta2.average(s, (seen.gradient * seen.gradient).block_mean()).named(&S);
        let direction = m.bias_corrected_ratio(s, &c.ratio).named(&StepPart::SIGNAL_OVER_NOISE);
        ([m, s], seen.moved_by_momentum(m, direction, &DIRECTION))
    }
}
