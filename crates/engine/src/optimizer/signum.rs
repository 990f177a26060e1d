use super::*;

/// Signum: the sign of the momentum (Bernstein et al., [arXiv:1802.04434](https://arxiv.org/abs/1802.04434)), with
/// decoupled weight decay.
///
/// ```text
/// m ← β₁ m + (1 − β₁) g
/// θ ← θ − η ( sign(m) + ω θ )
/// ```
///
/// It is FOCUS with γ = 0 and β₂ = 0. The paper's toy model uses β₁ = 0.9 and ω = 0.1.
pub struct Signum;

hyperparameters! {
    beta1: SettingInfo::momentum().paper("0.9"),
    weight_decay: SettingInfo::weight_decay().paper("0.1"),
}

const DIRECTION: StepArrow = StepArrow::direction("−sign m", "Signum's direction");

impl Rule for Signum {
    const INFO: RuleInfo = RuleInfo {
        name: "Signum",
        color: [251, 221, 133],
        marker: Marker::filled(MarkerShape::Square),
        source: "arXiv:1802.04434",
        hyperparameters: TABLE,
        states: &[&StepPart::MOMENTUM],
        needs: &[],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = DecayRate<A>;
    type State<A: Algebra> = [A; 1];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(step: &StepSettings<N, Hyper<N>>, of: impl Fn(N) -> A) -> DecayRate<A> {
        DecayRate::new(step.hyper.beta1, &of)
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(beta1: &DecayRate<A>, seen: RuleInput<A, B>, [m]: [A; 1]) -> ([A; 1], Moved<A>) {
        let m = beta1.average(m, seen.gradient).named(&StepPart::MOMENTUM);
        let direction = m.sign().named(&StepPart::DIRECTION);
        ([m], seen.moved_by_momentum(m, direction, &DIRECTION))
    }
}
