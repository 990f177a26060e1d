use super::*;

/// Lion: the sign of a momentum that is mixed with the gradient once more (Chen et al.,
/// [arXiv:2302.06675](https://arxiv.org/abs/2302.06675), Algorithm 2; `lion-pytorch` 0.2.5 is the same rule).
///
/// ```text
/// d = sign( β₁ m + (1 − β₁) g )
/// m ← β₂ m + (1 − β₂) g
/// θ ← θ − η (d + ω θ)
/// ```
///
/// β₁ only mixes, β₂ is the decay rate of the momentum, and the momentum is updated after the direction was taken. Chen
/// et al. take β₁ = 0.9 and β₂ = 0.99, a learning rate of a third to a tenth of Adam's, and a weight decay that is
/// larger by the same factor.
pub struct Lion;

hyperparameters! {
    beta1: SettingInfo::decay_rate("β₁", "Mixing β₁")
        .help("How much of the direction comes from the momentum rather than from the new gradient."),
    beta2: SettingInfo::decay_rate("β₂", "Momentum β₂")
        .help("How much of the running average of the gradient is kept in each step.")
        .default(0.99),
    weight_decay: SettingInfo::weight_decay(),
}

const C: StepPart = StepPart::quantity("c", "momentum mixed with the gradient");
const M: StepPart = StepPart::state("m", "m", "running average of the gradients, for the next step");
const DIRECTION: StepArrow = StepArrow::direction("−sign c", "Lion's direction");

impl Rule for Lion {
    const INFO: RuleInfo = RuleInfo {
        name: "Lion",
        color: [157, 111, 168],
        marker: Marker::filled(MarkerShape::Right),
        source: "arXiv:2302.06675",
        hyperparameters: TABLE,
        states: &[&M],
        needs: &[],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = [DecayRate<A>; 2];
    type State<A: Algebra> = [A; 1];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(step: &StepSettings<N, Hyper<N>>, of: impl Fn(N) -> A) -> [DecayRate<A>; 2] {
        [DecayRate::new(step.hyper.beta1, &of), DecayRate::new(step.hyper.beta2, &of)]
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(c: &[DecayRate<A>; 2], seen: RuleInput<A, B>, [m]: [A; 1]) -> ([A; 1], Moved<A>) {
        let [mixing, momentum] = c;
        let mixed = mixing.average(m, seen.gradient).named(&C);
        let direction = mixed.sign().named(&StepPart::DIRECTION);
        let m = momentum.average(m, seen.gradient).named(&M);
        ([m], seen.moved_by_momentum(m, direction, &DIRECTION))
    }
}
