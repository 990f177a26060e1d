use super::*;

/// Stochastic gradient descent with momentum, Polyak's or Nesterov's
/// ([PyTorch's `SGD`](https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html) without dampening, whose
/// weight decay is the coupled one).
///
/// ```text
/// m ← β₁ m + g
/// θ ← θ − η ( m + ω θ )             Nesterov's: g + β₁ m in place of m
/// ```
///
/// The momentum is not an average: with β₁ = 0.9 a steady gradient moves ten times as far.
pub struct Sgd;

hyperparameters! {
    beta1: SettingInfo::momentum()
        .help("How much of the sum of gradients is kept in each step. 0 keeps nothing."),
    weight_decay: SettingInfo::weight_decay(),
    form: SettingInfo::choice("Momentum", FORMS).help("What the step is made of."),
    decay: SettingInfo::decay_coupling(),
}

const FORMS: &[SettingChoice] = &[
    SettingChoice { key: "Plain", label: "heavy ball", help: "The step is the momentum.", text: "" },
    SettingChoice {
        key: "Nesterov",
        label: "Nesterov's",
        help: "The step is the momentum as it will be after the same gradient once more.",
        text: "Nesterov",
    },
];
const IS_NESTEROV: f64 = 1.0;

const D: StepPart = StepPart::quantity("d", "the momentum after the same gradient once more");
const M: StepPart = StepPart::state("m", "m", "momentum, a sum of the gradients");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: A,
    is_nesterov: bool,
    is_coupled: bool,
}

impl Rule for Sgd {
    const INFO: RuleInfo = RuleInfo {
        name: "SGD",
        color: [92, 140, 106],
        marker: Marker::filled(MarkerShape::Diamond),
        source: "torch.optim.SGD",
        hyperparameters: TABLE,
        states: &[&M],
        needs: &[],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 1];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(step: &StepSettings<N, Hyper<N>>, of: impl Fn(N) -> A) -> Coefficients<A> {
        let StepSettings { hyper: h, .. } = step;
        Coefficients {
            beta1: of(h.beta1),
            is_nesterov: h.form.value() == IS_NESTEROV,
            is_coupled: h.decay.value() == IS_COUPLED,
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(c: &Coefficients<A>, seen: RuleInput<A, B>, [m]: [A; 1]) -> ([A; 1], Moved<A>) {
        let seen = if c.is_coupled { seen.coupled() } else { seen };
        let gradient = seen.gradient;
        let m = c.beta1.mul_add(m, gradient).named(&M);
        let direction = if c.is_nesterov { gradient.add_product(c.beta1, m).named(&D) } else { m };
        let direction = seen.rates.masked(direction, gradient);
        A::draw(&StepArrow::MOMENTUM, || m);
        ([m], Moved { theta: seen.rates.decayed_step(seen.theta, direction, seen.theta), direction })
    }
}
