use super::*;
use crate::quantity::Range;

/// MARS-AdamW: Adam on a gradient whose variance is reduced by the gradient before (Yuan et al.,
/// [arXiv:2411.10438](https://arxiv.org/abs/2411.10438); `MARS/optimizers/mars.py` of
/// [AGI-Arena/MARS](https://github.com/AGI-Arena/MARS) with `optimize_1d`).
///
/// ```text
/// c = g + γ β₁ / (1 − β₁) (g − g′)      with the gradient g′ of the step before, 0 at first
/// c ← c / max(‖c‖, 1)                   with the norm over the whole parameter
/// m ← β₁ m + (1 − β₁) c
/// s ← β₂ s + (1 − β₂) c²
/// d = m̂ / (√ŝ + ε),  m̂ = m / (1 − β₁ᵗ),  ŝ = s / (1 − β₂ᵗ)
/// θ ← θ − η (d + ω θ)
/// ```
///
/// The exact form has in place of g′ the gradient of this step's samples, or with its noise, at the parameters θ′
/// before the last step. Yuan et al. take β₁ = 0.95, β₂ = 0.99 and γ = 0.025.
pub struct Mars;

hyperparameters! {
    beta1: SettingInfo::momentum().help("How much of the running average of c is kept in each step.")
        .default(0.95),
    beta2: SettingInfo::decay_rate("β₂", "Squares β₂")
        .help("How much of the running average of c² is kept in each step.")
        .default(0.99),
    gamma: SettingInfo::number("γ", "Correction γ", Range::new("gamma", 0.0, 1.0))
        .help("How much of the change of the gradient since the step before is added to it. 0 gives Adam with clipping.")
        .slider(0.0, 0.1)
        .default(0.025),
    eps: SettingInfo::epsilon(),
    weight_decay: SettingInfo::weight_decay(),
    form: SettingInfo::choice("Compared with", FORMS).help("What the gradient is compared with."),
}

const FORMS: &[SettingChoice] = &[
    SettingChoice {
        key: "Approximate",
        label: "the last gradient",
        help: "The gradient of the step before, which had its own noise or samples.",
        text: "approximate",
    },
    SettingChoice {
        key: "Exact",
        label: "g at the last place",
        help: "The gradient at the parameters before the last step, with the noise or samples of this step. Each step \
               computes two gradients.",
        text: "exact",
    },
];
const IS_EXACT: f64 = 1.0;

const C: StepPart = StepPart::quantity("c", "gradient, corrected by its change");
const CLIPPED: StepPart = StepPart::quantity("c̃", "corrected gradient c, with a norm of at most 1");
const M: StepPart = StepPart::state("m", "m", "running average of c̃");
const S: StepPart = StepPart::state("s", "s", "running average of c̃²");
const PREVIOUS: StepPart = StepPart::state("g′", "previous", "gradient, for the next step");
const POINT: StepPart = StepPart::point("θ′", "place", "parameters, for the next step");
const DIRECTION: StepArrow = StepArrow::direction("−m̂/√ŝ", "MARS's direction");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    /// γ β₁ / (1 − β₁)
    correction: A,
    beta1: DecayRate<A>,
    beta2: DecayRate<A>,
    ratio: RatioCorrection<A>,
    is_exact: bool,
    is_first: Condition<A>,
}

impl Rule for Mars {
    const INFO: RuleInfo = RuleInfo {
        name: "MARS",
        color: [108, 141, 151],
        marker: Marker::filled(MarkerShape::Left),
        source: "arXiv:2411.10438",
        hyperparameters: TABLE,
        states: &[&M, &S, &PREVIOUS, &POINT],
        needs: &[Need::WholeParameter, Need::GradientElsewhere],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 4];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(step: &StepSettings<N, Hyper<N>>, of: impl Fn(N) -> A) -> Coefficients<A> {
        let StepSettings { hyper: h, power, .. } = step;
        let one = N::splat(1.0);
        Coefficients {
            correction: of(h.gamma * h.beta1 / (one - h.beta1)),
            beta1: DecayRate::new(h.beta1, &of),
            beta2: DecayRate::new(h.beta2, &of),
            ratio: RatioCorrection::new([power.beta1, power.beta2], h.eps, &of),
            is_exact: h.form.value() == IS_EXACT,
            // Also of an optimizer that starts afresh in a run that goes on.
            is_first: Condition::new(power.beta1.compared(Relation::Equal, h.beta1), &of),
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(
        c: &Coefficients<A>,
        seen: RuleInput<A, B>,
        [m, s, previous, place]: [A; 4],
    ) -> ([A; 4], Moved<A>) {
        let RuleInput { theta, gradient, batch, .. } = seen;
        // Before the first step there is no other place; its gradient counts as 0, like g′.
        let compared = if c.is_exact && c.is_first.may_fail { batch.gradient_at(place) } else { previous };
        let corrected = gradient.add_product(c.correction, gradient - compared).named(&C);
        let clipped = (corrected / corrected.norm().larger(A::splat(1.0))).named(&CLIPPED);
        let m = c.beta1.average(m, clipped).named(&M);
        let s = c.beta2.average_of_squares(s, clipped).named(&S);
        let direction = m.bias_corrected_ratio(s, &c.ratio).named(&StepPart::DIRECTION);
        ([m, s, gradient, theta], seen.moved_by_momentum(m, direction, &DIRECTION))
    }
}
