use super::*;

/// FOCUS: Signum with an attraction to the averaged parameters (Liu, Liu and Gore,
/// [arXiv:2501.12243](https://arxiv.org/abs/2501.12243), Algorithm 1).
///
/// ```text
/// m ← β₁ m + (1 − β₁) g
/// θ̂ ← θ̂ + w (θ − θ̂),  w = (1 − β₂) / (1 − β₂ᵗ)      with θ before the step
/// d = sign(m) + γ sign(θ − θ̂)
/// θ ← θ − η (d + ω θ)          decay of the parameters (the paper's toy figures)
/// θ ← θ − η (d + ω θ̂)          decay of the average    (the paper's training code)
/// ```
///
/// The recursion for θ̂ is the paper's bias-corrected average in a form that is exact: at t = 1, and
/// for a parameter that has not moved, the pull is exactly 0. γ may be negative, a repulsion.
///
/// The paper's toy model uses β₁ = β₂ = 0.9, γ = 0.2 and ω = 0.1; its training runs use β₂ = 0.99.
pub struct Focus;

hyperparameters! {
    beta1: SettingInfo::momentum().paper("0.9"),
    beta2: SettingInfo::decay_rate("β₂", "Average β₂")
        .help("How much of the running average of the parameters, which attracts them, is kept in each step.")
        .paper("0.9 in the toy model, 0.99 in training")
        .defaults(0.9, 0.99),
    gamma: SettingInfo::attraction()
        .help("The strength of the pull towards the averaged parameters. Negative values push away.")
        .paper("0.2"),
    weight_decay: SettingInfo::weight_decay().paper("0.1"),
    /// The quantity that weight decay shrinks: θ or θ̂.
    decay: SettingInfo::choice("Decay of the", DECAY_TARGETS)
        .help("What weight decay shrinks.")
        .paper("the parameters in its toy figures, the average in its training code")
        .defaults(0.0, DECAY_OF_AVERAGE),
}

const DECAY_TARGETS: &[SettingChoice] = &[
    SettingChoice {
        key: "Parameters",
        label: "parameters θ",
        help: "Decay acts on the parameters, as in the paper's toy figures.",
        text: "parameters decay",
    },
    SettingChoice {
        key: "Average",
        label: "average of θ",
        help: "Decay acts on the averaged parameters, as in the paper's training code.",
        text: "average decays",
    },
];
const DECAY_OF_AVERAGE: f64 = 1.0;

const AVERAGE: StepPart = StepPart::point("θ̂", "average", "running average of the parameters, before the step");
const W: StepPart = StepPart::coefficient("w");
const D: StepPart = StepPart::quantity("d", "direction, with the pull towards the average");
const PULL: StepArrow = StepArrow::direction("pull", "pull towards the average θ̂");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: DecayRate<A>,
    /// w
    weight: AverageWeight<A>,
    gamma: A,
    decays_average: bool,
}

impl Rule for Focus {
    const INFO: RuleInfo = RuleInfo {
        name: "FOCUS",
        color: [128, 166, 226],
        marker: Marker::filled(MarkerShape::Triangle),
        source: "arXiv:2501.12243",
        hyperparameters: TABLE,
        states: &[&StepPart::MOMENTUM, &AVERAGE],
        needs: &[],
        observed: Some(Observation {
            metric: "pull_opposes",
            title: "Pull opposes momentum",
            statistic: ObservedStatistic::Mean,
        }),
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 2];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(step: &StepSettings<N, Hyper<N>>, of: impl Fn(N) -> A) -> Coefficients<A> {
        let StepSettings { hyper: h, power, .. } = step;
        let one = N::splat(1.0);
        Coefficients {
            beta1: DecayRate::new(h.beta1, &of),
            weight: AverageWeight::new(((one - h.beta2) / (one - power.beta2)).named(&W), &of),
            gamma: of(h.gamma),
            decays_average: h.decay.value() == DECAY_OF_AVERAGE,
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(
        c: &Coefficients<A>,
        seen: RuleInput<A, B>,
        [m, average]: [A; 2],
    ) -> ([A; 2], Moved<A>) {
        let RuleInput { rates, theta, gradient, .. } = seen;
        let m = c.beta1.average(m, gradient).named(&StepPart::MOMENTUM);
        let average = average.toward(theta, c.weight).named(&AVERAGE);
        let pull = (theta - average).sign();
        let direction = m.sign().add_product(c.gamma, pull).named(&D);
        let direction = rates.masked(direction, gradient);
        A::draw(&StepArrow::MOMENTUM, || m);
        A::draw(&PULL, || c.gamma * pull);
        let decayed = if c.decays_average { average } else { theta };
        ([m, average], Moved { theta: rates.decayed_step(theta, direction, decayed), direction })
    }

    /// 1 where γ sign(θ − θ̂) opposes sign(m), else 0.
    fn observed(settings: &StepSettings<f64, Hyper<f64>>, theta: f64, [m, average]: [f64; 2]) -> f64 {
        f64::from(settings.hyper.gamma * (theta - average) * m < 0.0)
    }
}
