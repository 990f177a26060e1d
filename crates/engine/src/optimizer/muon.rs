use super::*;
use crate::quantity::{Beta, Range};
use crate::setting::Spacing;

/// Muon: the momentum of a matrix, orthogonalized (Jordan et al., <https://kellerjordan.github.io/posts/muon>;
/// `muon.py` of [KellerJordan/Muon](https://github.com/KellerJordan/Muon)).
///
/// ```text
/// m ← μ m + (1 − μ) g
/// v = μ m + (1 − μ) g                 Nesterov's momentum
/// d = √max(1, r/c) NewtonSchulz(v)    of an r × c matrix: its singular values are brought near 1
/// θ ← θ − η (d + ω θ)
/// ```
///
/// x and y on the plane are a matrix of 2 × 1. Vectors, embeddings and output layers take steps of AdamW with β₁, β₂
/// and ε, and with `vector_rate` times the learning rate and `vector_decay` times the weight decay. Jordan et
/// al. take η = 0.02 and μ = 0.95, and for AdamW η = 3e-4, β₁ = 0.9, β₂ = 0.95 and ε = 1e-10.
pub struct Muon;

hyperparameters! {
    momentum: SettingInfo::number("μ", "Momentum μ", Range { name: "momentum", ..Beta::RANGE })
        .help("How much of the running average of the gradient is kept in each step. 0 keeps nothing.")
        .slider(0.0, 0.9999)
        .spacing(Spacing::LogComplement)
        .default(0.95),
    weight_decay: SettingInfo::weight_decay(),
    beta1: SettingInfo::momentum().help("AdamW's β₁, for vectors, embeddings and output layers.").for_vectors(),
    beta2: SettingInfo::decay_rate("β₂", "Squares β₂")
        .help("AdamW's β₂, for vectors, embeddings and output layers.")
        .default(0.95)
        .for_vectors(),
    eps: SettingInfo { label: "ε of vectors", ..SettingInfo::epsilon() }
        .help("AdamW's ε, for vectors, embeddings and output layers: added to the divisor.")
        .default(1e-10)
        .for_vectors(),
    vector_rate: SettingInfo::number("η′", "η of vectors", Range::new("vector_rate", 0.0, 100.0))
        .help("AdamW's learning rate for vectors, embeddings and output layers, as a multiple of the learning rate.")
        .slider(0.0, 1.0)
        .default(0.015)
        .for_vectors(),
    vector_decay: SettingInfo::number("ω′", "ω of vectors", Range::new("vector_decay", 0.0, 100.0))
        .help("AdamW's weight decay for vectors, embeddings and output layers, as a multiple of the weight decay.")
        .slider(0.0, 2.0)
        .default(1.0)
        .for_vectors(),
}

const S: StepPart = StepPart::state("s", "s", "running average of the squared gradients, for vectors");
const V: StepPart = StepPart::quantity("v", "Nesterov's momentum");
const D: StepPart = StepPart::quantity("d", "direction of the step, near 1 in length");
const DIRECTION: StepArrow = StepArrow::direction("−d", "Muon's direction");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    momentum: DecayRate<A>,
    beta1: DecayRate<A>,
    beta2: DecayRate<A>,
    ratio: RatioCorrection<A>,
    vector_rate: A,
    /// Factor of θ in the decay of vectors, in place of 1.
    vector_decay: A,
}

impl Rule for Muon {
    const INFO: RuleInfo = RuleInfo {
        name: "Muon",
        color: [142, 144, 0],
        marker: Marker::filled(MarkerShape::Plus),
        source: "https://kellerjordan.github.io/posts/muon",
        hyperparameters: TABLE,
        states: &[&StepPart::MOMENTUM, &S],
        needs: &[Need::WholeParameter],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 2];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(step: &StepSettings<N, Hyper<N>>, of: impl Fn(N) -> A) -> Coefficients<A> {
        let StepSettings { hyper: h, power, .. } = step;
        Coefficients {
            momentum: DecayRate::new(h.momentum, &of),
            beta1: DecayRate::new(h.beta1, &of),
            beta2: DecayRate::new(h.beta2, &of),
            ratio: RatioCorrection::new([power.beta1, power.beta2], h.eps, &of),
            vector_rate: of(h.vector_rate),
            vector_decay: of(h.vector_rate * h.vector_decay),
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(c: &Coefficients<A>, seen: RuleInput<A, B>, [m, s]: [A; 2]) -> ([A; 2], Moved<A>) {
        let RuleInput { rates, theta, gradient, .. } = seen;
        let kept = c.momentum.average(m, gradient);
        let m = A::by_shape(kept, || c.beta1.average(m, gradient)).named(&StepPart::MOMENTUM);
        let s = A::by_shape(s, || c.beta2.average_of_squares(s, gradient).named(&S));
        let orthogonal = c.momentum.average(m, gradient).named(&V).orthogonal();
        let direction = A::by_shape(orthogonal, || c.vector_rate * m.bias_corrected_ratio(s, &c.ratio)).named(&D);
        let decayed = A::by_shape(theta, || c.vector_decay * theta);
        let direction = rates.masked(direction, gradient);
        A::draw(&StepArrow::MOMENTUM, || m);
        A::draw(&DIRECTION, || direction);
        ([m, s], Moved { theta: rates.decayed_step(theta, direction, decayed), direction })
    }
}
