use super::*;
use crate::quantity::Range;

/// Sophia: the momentum divided by the curvature, at most 1 in size (Liu et al.,
/// [arXiv:2305.14342](https://arxiv.org/abs/2305.14342), Algorithm 3; Sophia-G of
/// [Liuhong99/Sophia](https://github.com/Liuhong99/Sophia)).
///
/// ```text
/// h ← β₂ h + (1 − β₂) ĥ                 in the steps k + 1, 2k + 1, …
/// m ← β₁ m + (1 − β₁) g
/// d = m / max(|m|, ρ max(0, h) + ε)     which is sign(m) min(1, |m| / (ρ max(0, h) + ε))
/// θ ← θ − η (d + ω θ)
/// ```
///
/// ĥ is an estimate of the diagonal of the loss's Hessian at θ: on the plane the exact one with noise, in training
/// `B g̃²` with the gradient g̃ for labels drawn from the model, over B samples. Where the curvature is negative, and
/// before the first estimate, the step is that of the sign. Liu et al. take β₁ = 0.965, β₂ = 0.99, k = 10, ρ from 0.03
/// to 0.05, and their code ε = 1e-15.
pub struct Sophia;

hyperparameters! {
    beta1: SettingInfo::momentum().default(0.965),
    beta2: SettingInfo::decay_rate("β₂", "Curvature β₂")
        .help("How much of the running average of the curvature is kept when it is estimated again.")
        .default(0.99),
    rho: SettingInfo::number("ρ", "Scale ρ", Range::new("rho", 0.0, 10.0))
        .help("The curvature times ρ divides the momentum. 0 gives the sign of the momentum.")
        .slider(0.0, 0.5)
        .default(0.04),
    interval: SettingInfo::whole("k", "Interval k", Range::new("interval", 1.0, 10_000.0))
        .help("The curvature is estimated after every k steps, for the first time in step k + 1.")
        .slider(1.0, 100.0)
        .default(10.0),
    eps: SettingInfo { label: "Curvature ε", ..SettingInfo::epsilon() }
        .help("Added to the curvature times ρ. Keeps steps finite where neither a gradient nor a curvature was ever seen.")
        .default(1e-15),
    weight_decay: SettingInfo::weight_decay(),
}

const H: StepPart = StepPart::state("h", "h", "running average of the curvature");
const D: StepPart = StepPart::quantity("d", "direction of the step, at most 1 in size");
const DIRECTION: StepArrow = StepArrow::direction("−d", "Sophia's direction");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: DecayRate<A>,
    beta2: DecayRate<A>,
    rho: A,
    epsilon: A,
    /// Whether the curvature is estimated in this step.
    is_estimated: Condition<A>,
}

impl Rule for Sophia {
    const INFO: RuleInfo = RuleInfo {
        name: "Sophia",
        color: [253, 125, 189],
        marker: Marker::filled(MarkerShape::Down),
        source: "arXiv:2305.14342",
        hyperparameters: TABLE,
        states: &[&StepPart::MOMENTUM, &H],
        needs: &[Need::Curvature],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 2];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(step: &StepSettings<N, Hyper<N>>, of: impl Fn(N) -> A) -> Coefficients<A> {
        let StepSettings { hyper: h, t, .. } = step;
        let (one, before) = (N::splat(1.0), *t - N::splat(1.0));
        let is_later = one.compared(Relation::Less, *t);
        Coefficients {
            beta1: DecayRate::new(h.beta1, &of),
            beta2: DecayRate::new(h.beta2, &of),
            rho: of(h.rho),
            epsilon: of(h.eps),
            is_estimated: Condition::new(is_later * before.is_multiple_of(h.interval), &of),
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(c: &Coefficients<A>, seen: RuleInput<A, B>, [m, h]: [A; 2]) -> ([A; 2], Moved<A>) {
        let RuleInput { gradient, batch, .. } = seen;
        let estimated = if c.is_estimated.may_hold { c.beta2.average(h, batch.curvature()).named(&H) } else { h };
        let h = c.is_estimated.choose(estimated, h);
        let m = c.beta1.average(m, gradient).named(&StepPart::MOMENTUM);
        // The larger one of 0 and NaN is NaN, in this order.
        let most = c.rho.mul_add(A::splat(0.0).larger(h), c.epsilon);
        let direction = (m / m.abs().larger(most)).named(&D);
        ([m, h], seen.moved_by_momentum(m, direction, &DIRECTION))
    }
}
