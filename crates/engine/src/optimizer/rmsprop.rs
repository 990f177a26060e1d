use super::*;
use crate::quantity::{Beta, Range};
use crate::setting::Spacing;

/// RMSProp: the gradient over the root of its running mean square (Hinton, [lecture 6e of Neural Networks for Machine
/// Learning](https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf), 2012; PyTorch's
/// [`RMSprop`](https://docs.pytorch.org/docs/stable/generated/torch.optim.RMSprop.html), whose weight decay is the
/// coupled one).
///
/// ```text
/// s ← α s + (1 − α) g²
/// a ← α a + (1 − α) g
/// w = g / (√v + ε),  v = s, or centred s − a²
/// b ← μ b + w
/// θ ← θ − η ( b + ω θ )
/// ```
///
/// The averages are not corrected for their bias: the first step has the size η / √(1 − α). PyTorch takes α = 0.99,
/// ε = 1e-8, μ = 0 and a learning rate of 0.01.
pub struct RmsProp;

hyperparameters! {
    beta2: SettingInfo::decay_rate("α", "Squares α")
        .help("How much of the running average of the squared gradient is kept in each step. Its root divides the step.")
        .default(0.99),
    momentum: SettingInfo::number("μ", "Momentum μ", Range { name: "momentum", ..Beta::RANGE })
        .help("How much of the sum of steps is kept in each step. 0 keeps nothing.")
        .slider(0.0, 0.9999)
        .spacing(Spacing::LogComplement)
        .default(0.0),
    eps: SettingInfo::epsilon(),
    weight_decay: SettingInfo::weight_decay(),
    /// The divisor of the gradient.
    form: SettingInfo::choice("Divided by", FORMS).help("What the gradient is divided by."),
    decay: SettingInfo::decay_coupling(),
}

const FORMS: &[SettingChoice] = &[
    SettingChoice {
        key: "Plain",
        label: "root mean square",
        help: "The root of the running average of the squared gradient.",
        text: "",
    },
    SettingChoice {
        key: "Centred",
        label: "deviation",
        help: "The root of the gradient's estimated variance: the average of its square less the square of its average.",
        text: "centred",
    },
];
const IS_CENTRED: f64 = 1.0;

const A: StepPart = StepPart::state("a", "a", "running average of the gradients, for the centred form");
const B: StepPart = StepPart::state("b", "b", "momentum, a sum of the steps");
const V: StepPart = StepPart::quantity("v", "estimated variance of the gradient");
const W: StepPart = StepPart::quantity("w", "the gradient over its size");
const DIRECTION: StepArrow = StepArrow::direction("−b", "RMSProp's direction");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<N> {
    alpha: DecayRate<N>,
    momentum: N,
    ratio: RatioCorrection<N>,
    is_centred: bool,
    is_coupled: bool,
}

impl Rule for RmsProp {
    const INFO: RuleInfo = RuleInfo {
        name: "RMSProp",
        color: [115, 217, 228],
        marker: Marker::open(MarkerShape::Square),
        source: "Hinton 2012, torch.optim.RMSprop",
        hyperparameters: TABLE,
        states: &[&StepPart::SQUARES, &A, &B],
        needs: &[],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<N: Algebra> = Coefficients<N>;
    type State<N: Algebra> = [N; 3];

    #[inline(always)]
    fn coefficients<S: Scalar, N: Algebra>(step: &StepSettings<S, Hyper<S>>, of: impl Fn(S) -> N) -> Coefficients<N> {
        let StepSettings { hyper: h, .. } = step;
        Coefficients {
            alpha: DecayRate::new(h.beta2, &of),
            momentum: of(h.momentum),
            ratio: RatioCorrection::new([S::splat(0.0); 2], h.eps, &of),
            is_centred: h.form.value() == IS_CENTRED,
            is_coupled: h.decay.value() == IS_COUPLED,
        }
    }

    #[inline(always)]
    fn step<N: Algebra, Q: Batch<N>>(
        c: &Coefficients<N>,
        seen: RuleInput<N, Q>,
        [s, a, b]: [N; 3],
    ) -> ([N; 3], Moved<N>) {
        let seen = if c.is_coupled { seen.coupled() } else { seen };
        let gradient = seen.gradient;
        let s = c.alpha.average_of_squares(s, gradient).named(&StepPart::SQUARES);
        let a = c.alpha.average(a, gradient).named(&A);
        // Rounding may take the variance of equal gradients below 0.
        let v = if c.is_centred { N::splat(0.0).larger(s.add_product(-a, a)).named(&V) } else { s };
        let w = gradient.bias_corrected_ratio(v, &c.ratio).named(&W);
        let b = c.momentum.mul_add(b, w).named(&B);
        ([s, a, b], seen.moved(b, &DIRECTION))
    }
}
