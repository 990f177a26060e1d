use super::*;
use crate::quantity::Range;

/// Stochastic gradient descent with momentum, Polyak's or Nesterov's
/// ([PyTorch's `SGD`](https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html), whose weight decay is the
/// coupled one).
///
/// ```text
/// m ← β₁ m + c g                    c = 1 in the first step, then 1 − τ
/// θ ← θ − η ( m + ω θ )             Nesterov's: g + β₁ m in place of m
/// ```
///
/// The momentum is not an average: with β₁ = 0.9 a steady gradient moves ten times as far. With the dampening τ = β₁ it
/// is one.
pub struct Sgd;

hyperparameters! {
    beta1: SettingInfo::momentum()
        .help("How much of the sum of gradients is kept in each step. 0 keeps nothing."),
    dampening: SettingInfo::number("τ", "Dampening τ", Range::new("dampening", 0.0, 1.0))
        .help("The part of each gradient but the first that does not enter the momentum. τ = β₁ makes an average of it."),
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
const C: StepPart = StepPart::coefficient("c");
const M: StepPart = StepPart::state("m", "m", "momentum, a sum of the gradients");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: A,
    /// c
    share: A,
    is_dampened: bool,
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
        let StepSettings { hyper: h, t, .. } = step;
        let (one, two) = (N::splat(1.0), N::splat(2.0));
        let is_first = Condition::new((*t).compared(Relation::Less, two), &|number| number);
        let is_dampened = h.dampening.value() != 0.0;
        Coefficients {
            beta1: of(h.beta1),
            share: if is_dampened { of(is_first.choose(one, one - h.dampening).named(&C)) } else { of(one) },
            is_dampened,
            is_nesterov: h.form.value() == IS_NESTEROV,
            is_coupled: h.decay.value() == IS_COUPLED,
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(c: &Coefficients<A>, seen: RuleInput<A, B>, [m]: [A; 1]) -> ([A; 1], Moved<A>) {
        let seen = if c.is_coupled { seen.coupled() } else { seen };
        let gradient = seen.gradient;
        let m = c.beta1.mul_add(m, if c.is_dampened { c.share * gradient } else { gradient }).named(&M);
        let direction = if c.is_nesterov { gradient.add_product(c.beta1, m).named(&D) } else { m };
        let direction = seen.rates.masked(direction, gradient);
        A::draw(&StepArrow::MOMENTUM, || m);
        ([m], Moved { theta: seen.rates.decayed_step(seen.theta, direction, seen.theta), direction })
    }
}
