use super::*;
use crate::quantity::Range;

/// AdEMAMix: Adam with a second, slow average of the gradients (Pagliardini, Ablin and Grangier,
/// [arXiv:2409.03137](https://arxiv.org/abs/2409.03137); `ademamix.py` of
/// [apple/ml-ademamix](https://github.com/apple/ml-ademamix)).
///
/// ```text
/// m ← β₁ m + (1 − β₁) g              m̂ = m / (1 − β₁ᵗ)
/// s ← β₂ s + (1 − β₂) g²             ŝ = s / (1 − β₂ᵗ)
/// n ← β₃(t) n + (1 − β₃(t)) g
/// θ ← θ − η ( (m̂ + α(t) n) / (√ŝ + ε) + ω θ )
/// ```
///
/// α(t) grows in proportion to t until T_α, and β₃(t) from β₁ to β₃ until T_β so that its half-life does. Pagliardini
/// et al. take β₁ = 0.9, β₂ = 0.999, β₃ = 0.9999, α from 4 to 10, T_α and T_β as long as the training, and ε = 1e-8;
/// their code takes α = 2.
pub struct AdEmaMix;

const STEPS: Range = Range::new("warm-up", 0.0, 1e9);

hyperparameters! {
    beta1: SettingInfo::momentum(),
    beta2: SettingInfo::squares(),
    beta3: SettingInfo::decay_rate("β₃", "Slow β₃")
        .help("How much of the slow average of the gradient is kept in each step.")
        .slider(0.0, 0.99999)
        .default(0.9999),
    alpha: SettingInfo::number("α", "Slow share α", Range::new("alpha", 0.0, 100.0))
        .help("How much of the slow average is added to the fast one. 0 gives Adam.")
        .slider(0.0, 20.0)
        .default(2.0),
    alpha_warmup: SettingInfo::whole("T_α", "Warm-up of α", STEPS)
        .help("The steps until α has its full value. 0: from the first.")
        .slider(0.0, 10_000.0)
        .default(0.0),
    beta3_warmup: SettingInfo::whole("T_β", "Warm-up of β₃", STEPS)
        .help("The steps until β₃ has its full value, beginning with β₁. 0: from the first.")
        .slider(0.0, 10_000.0)
        .default(0.0),
    eps: SettingInfo::epsilon(),
    weight_decay: SettingInfo::weight_decay(),
}

const SLOW: StepPart = StepPart::state("n", "n", "slow average of the gradients, not corrected for its bias");
const SUM: StepPart = StepPart::quantity("p", "both averages, so that p̂ = m̂ + α n");
const ALPHA: StepPart = StepPart::coefficient("α(t)");
const HALF_LIVES: [StepPart; 2] = [StepPart::coefficient("f₁"), StepPart::coefficient("f₃")];
const BETA3: StepPart = StepPart::coefficient("β₃(t)");
const DIRECTION: StepArrow = StepArrow::direction("−p̂/√ŝ", "AdEMAMix's direction");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: DecayRate<A>,
    beta2: DecayRate<A>,
    beta3: DecayRate<A>,
    /// α(t) (1 − β₁ᵗ)
    slow: A,
    ratio: RatioCorrection<A>,
}

/// The decay rate at `part` of the way from one to another, on which half-lives grow in proportion.
fn between<N: Scalar>(from: N, to: N, part: N) -> N {
    let (half, one) = (N::splat(0.5), N::splat(1.0));
    // As in the reference, which has β = 0 in mind.
    let half_life = |beta: N| half.function(Function::Ln) / (beta + N::splat(1e-8)).function(Function::Ln) - one;
    let [from, to] = [half_life(from).named(&HALF_LIVES[0]), half_life(to).named(&HALF_LIVES[1])];
    half.power(one / ((one - part) * from + part * to + one))
}

impl Rule for AdEmaMix {
    const INFO: RuleInfo = RuleInfo {
        name: "AdEMAMix",
        color: [29, 249, 216],
        marker: Marker::open(MarkerShape::Triangle),
        source: "arXiv:2409.03137",
        hyperparameters: TABLE,
        states: &[&StepPart::MOMENTUM, &StepPart::SQUARES, &SLOW],
        needs: &[],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 3];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(step: &StepSettings<N, Hyper<N>>, of: impl Fn(N) -> A) -> Coefficients<A> {
        let StepSettings { hyper: h, t, power, .. } = step;
        let one = N::splat(1.0);
        let alpha_grows = Condition::new((*t).compared(Relation::Less, h.alpha_warmup), &|number| number);
        let alpha = if alpha_grows.may_hold {
            alpha_grows.choose(h.alpha * *t / h.alpha_warmup, h.alpha).named(&ALPHA)
        } else {
            h.alpha
        };
        let beta3_grows = Condition::new((*t).compared(Relation::Less, h.beta3_warmup), &|number| number);
        let beta3 = if beta3_grows.may_hold {
            let now = between(h.beta1.value(), h.beta3.value(), t.value() / h.beta3_warmup.value());
            let growing = h.beta3.computed("β₁ to β₃ by half-lives until T_β", now, |_| {
                between(h.beta1, h.beta3, *t / h.beta3_warmup)
            });
            beta3_grows.choose(growing, h.beta3).named(&BETA3)
        } else {
            h.beta3
        };
        Coefficients {
            beta1: DecayRate::new(h.beta1, &of),
            beta2: DecayRate::new(h.beta2, &of),
            beta3: DecayRate::new(beta3, &of),
            slow: of(alpha * (one - power.beta1)),
            ratio: RatioCorrection::new([power.beta1, power.beta2], h.eps, &of),
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(
        c: &Coefficients<A>,
        seen: RuleInput<A, B>,
        [m, s, slow]: [A; 3],
    ) -> ([A; 3], Moved<A>) {
        let gradient = seen.gradient;
        let m = c.beta1.average(m, gradient).named(&StepPart::MOMENTUM);
        let s = c.beta2.average_of_squares(s, gradient).named(&StepPart::SQUARES);
        let slow = c.beta3.average(slow, gradient).named(&SLOW);
        let sum = m.add_product(c.slow, slow).named(&SUM);
        let direction = sum.bias_corrected_ratio(s, &c.ratio).named(&StepPart::SIGNAL_OVER_NOISE);
        ([m, s, slow], seen.moved_by_momentum(m, direction, &DIRECTION))
    }
}
