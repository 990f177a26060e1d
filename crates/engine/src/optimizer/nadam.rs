use super::*;
use crate::elementary::quick_exp;
use crate::quantity::Range;

/// NAdam: Adam with Nesterov's momentum (Dozat, [Incorporating Nesterov Momentum into
/// Adam](https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ), 2016; PyTorch's
/// [`NAdam`](https://docs.pytorch.org/docs/stable/generated/torch.optim.NAdam.html) with `decoupled_weight_decay`).
///
/// ```text
/// μₜ = β₁ (1 − ½ · 0.96^(ψt)),  Πₜ = μ₁ μ₂ … μₜ
/// m ← β₁ m + (1 − β₁) g
/// s ← β₂ s + (1 − β₂) g²         ŝ = s / (1 − β₂ᵗ)
/// n = (1 − μₜ) / (1 − Πₜ) g + μₜ₊₁ / (1 − Πₜ μₜ₊₁) m
/// θ ← θ − η ( n / (√ŝ + ε) + ω θ )
/// ```
///
/// PyTorch takes β₁ = 0.9, β₂ = 0.999, ψ = 0.004, ε = 1e-8 and a learning rate of 0.002.
pub struct NAdam;

hyperparameters! {
    beta1: SettingInfo::momentum(),
    beta2: SettingInfo::squares(),
    momentum_decay: SettingInfo::number("ψ", "Momentum decay ψ", Range::new("momentum_decay", 0.0, 1.0))
        .help("How fast the share of the momentum grows from half of β₁ to β₁. 0 leaves it at half.")
        .slider(0.0, 0.1)
        .default(0.004),
    eps: SettingInfo::epsilon(),
    weight_decay: SettingInfo::weight_decay(),
}

const N: StepPart = StepPart::quantity("n", "the gradient and what its momentum will be");
const MU: StepPart = StepPart::coefficient("μ");
const NEXT_MU: StepPart = StepPart::coefficient("μ′");
const PRODUCT: StepPart = StepPart::coefficient("Π");
const DIRECTION: StepArrow = StepArrow::direction("−n/√ŝ", "NAdam's direction");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: DecayRate<A>,
    beta2: DecayRate<A>,
    gradient: A,
    momentum: A,
    ratio: RatioCorrection<A>,
}

const LN_0_96: f64 = -0.040_821_994_520_255_166;

/// `0.96^(ψt)`: how much of the momentum's share is still missing, up to a half.
#[inline(always)]
fn share_missing(momentum_decay: f64, t: f64) -> f64 {
    quick_exp(LN_0_96 * t * momentum_decay)
}

/// μₜ of [`share_missing`].
#[inline(always)]
fn mu(beta1: f64, missing: f64) -> f64 {
    beta1 * (1.0 - 0.5 * missing)
}

impl Rule for NAdam {
    const INFO: RuleInfo = RuleInfo {
        name: "NAdam",
        color: [208, 46, 250],
        marker: Marker::open(MarkerShape::Circle),
        source: "Dozat 2016, torch.optim.NAdam",
        hyperparameters: TABLE,
        states: &[&StepPart::MOMENTUM, &StepPart::SQUARES],
        needs: &[],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 2];

    /// Returns μₜ for β₁, so that the product over the steps is Πₜ.
    #[inline(always)]
    fn decay_factor(of: &SettingInfo, rate: f64, h: &Hyper<f64>, t: f64) -> f64 {
        if of.key == "beta1" { mu(rate, share_missing(h.momentum_decay, t)) } else { rate }
    }

    #[inline(always)]
    fn coefficients<S: Scalar, A: Algebra>(step: &StepSettings<S, Hyper<S>>, of: impl Fn(S) -> A) -> Coefficients<A> {
        let StepSettings { hyper: h, t, power, .. } = step;
        let one = S::splat(1.0);
        // The power of one step is the same in all of them, and that of t is the one in `decay_factor`: inlined, one is
        // left.
        let missing = share_missing(h.momentum_decay.value(), t.value());
        let missing_next = missing * share_missing(h.momentum_decay.value(), 1.0);
        let [now, next] = [mu(h.beta1.value(), missing), mu(h.beta1.value(), missing_next)];
        let at = |t: S| h.beta1 * (one - S::splat(0.5) * S::splat(0.96).power(h.momentum_decay * t));
        let mu = h.beta1.computed("β₁ (1 − ½ · 0.96^(ψt))", now, |_| at(*t)).named(&MU);
        let next = h.beta1.computed("β₁ (1 − ½ · 0.96^(ψ(t + 1)))", next, |_| at(*t + one)).named(&NEXT_MU);
        let product =
            power.beta1.computed("μ₁ μ₂ … μₜ", power.beta1.value(), |_| mu.over_steps(Fold::Product));
        let product = product.named(&PRODUCT);
        Coefficients {
            beta1: DecayRate::new(h.beta1, &of),
            beta2: DecayRate::new(h.beta2, &of),
            gradient: of((one - mu) / (one - product)),
            momentum: of(next / (one - product * next)),
            ratio: RatioCorrection::new([S::splat(0.0), power.beta2], h.eps, &of),
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(c: &Coefficients<A>, seen: RuleInput<A, B>, [m, s]: [A; 2]) -> ([A; 2], Moved<A>) {
        let gradient = seen.gradient;
        let m = c.beta1.average(m, gradient).named(&StepPart::MOMENTUM);
        let s = c.beta2.average_of_squares(s, gradient).named(&StepPart::SQUARES);
        let n = c.gradient.mul_add(gradient, c.momentum * m).named(&N);
        let direction = n.bias_corrected_ratio(s, &c.ratio).named(&StepPart::SIGNAL_OVER_NOISE);
        ([m, s], seen.moved_by_momentum(m, direction, &DIRECTION))
    }
}
