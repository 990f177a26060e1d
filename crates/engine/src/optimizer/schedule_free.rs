use super::*;
use crate::elementary::power_of_any;
use crate::quantity::Range;

/// Schedule-Free AdamW: an average of the parameters in place of a schedule of the learning rate (Defazio et al.,
/// [arXiv:2405.15682](https://arxiv.org/abs/2405.15682); `adamw_schedulefree.py` of `schedulefree` 1.4.1).
///
/// ```text
/// y = (1 − β₁) z + β₁ x                     where the gradient g is taken
/// s ← β₂ s + (1 − β₂) g²                    ŝ = s / (1 − β₂ᵗ)
/// z ← z − ηₜ ( g / (√ŝ + ε) + ω y )         ηₜ = η min(1, t / T_w)
/// x ← (1 − c) x + c z                       c = w / Σw,  w = tʳ (max η)ᵖ
/// ```
///
/// max η is the largest ηₜ so far; where all weights so far are 0, so is c. θ is x, at which losses are measured, and z
/// is remembered as δ = z − x, which is 0 before the first step, where x, y and z are the same. With e = z − x between
/// both moves, the step is
///
/// ```text
/// y = θ + (1 − β₁) δ
/// e = δ − ηₜ ( g / (√ŝ + ε) + ω y )
/// θ ← θ + c e
/// δ ← (1 − c) e
/// ```
///
/// Defazio et al. take β₁ = 0.9, β₂ = 0.999, ε = 1e-8, r = 0, p = 2, and learning rates one to ten times those of Adam.
pub struct ScheduleFree;

const STEPS: Range = Range::new("warm-up", 0.0, 1e9);

hyperparameters! {
    beta1: SettingInfo::decay_rate("β₁", "Interpolation β₁")
        .help("Where gradients are taken: with 0 at z, which makes the steps, and the nearer to θ, its average, the nearer it is to 1."),
    beta2: SettingInfo::squares(),
    warmup: SettingInfo::whole("T_w", "Warm-up of η", STEPS)
        .help("The steps until η has its full value. 0: from the first.")
        .slider(0.0, 10_000.0)
        .default(0.0),
    r: SettingInfo::number("r", "Weight of t", Range::new("r", 0.0, 10.0))
        .help("The power of a step's number that the step counts with in the average. 0: all count the same.")
        .slider(0.0, 2.0)
        .default(0.0),
    weight_lr_power: SettingInfo::number("p", "Weight of η", Range::new("weight_lr_power", 0.0, 10.0))
        .help("The power of the largest learning rate so far that a step counts with in the average.")
        .slider(0.0, 2.0)
        .default(2.0),
    eps: SettingInfo::epsilon(),
    weight_decay: SettingInfo::weight_decay(),
}

const LEAD: StepPart = StepPart::state("δ", "lead", "how far z, which θ averages, is from θ");
const Y: StepPart = StepPart::quantity("y", "parameters at which the gradient is taken");
const D: StepPart = StepPart::quantity("d", "direction of z's step");
const E: StepPart = StepPart::quantity("e", "how far z, moved, is from θ");
const C: StepPart = StepPart::coefficient("c");
const RATE: StepPart = StepPart::coefficient("ηₜ");
const WEIGHT: StepPart = StepPart::coefficient("w");
const DIRECTION: StepArrow = StepArrow::direction("−g/√ŝ", "Schedule-Free's direction");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    one_minus_beta1: A,
    beta2: DecayRate<A>,
    ratio: RatioCorrection<A>,
    /// t / T_w, while η grows.
    warm_up: A,
    is_warming_up: Condition<A>,
    /// c
    share: A,
    one_minus_share: A,
}

impl Rule for ScheduleFree {
    const INFO: RuleInfo = RuleInfo {
        name: "Schedule-Free",
        color: [15, 179, 83],
        marker: Marker::filled(MarkerShape::Cross),
        source: "arXiv:2405.15682",
        hyperparameters: TABLE,
        states: &[&LEAD, &StepPart::SQUARES],
        needs: &[],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 2];

    const GRADIENT_TOWARD: Option<usize> = Some(0);

    #[inline(always)]
    fn part_toward(h: &Hyper<f64>) -> f64 {
        1.0 - h.beta1
    }

    const WEIGHS_STEPS: bool = true;

    #[inline(always)]
    fn weighed(before: StepWeights, h: &Hyper<f64>, t: f64, learning_rate: f64) -> StepWeights {
        let warm_up = if t < h.warmup { t / h.warmup } else { 1.0 };
        let largest_rate = before.largest_rate.max(learning_rate * warm_up);
        before.with(power_of_any(t, h.r) * power_of_any(largest_rate, h.weight_lr_power), largest_rate)
    }

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(step: &StepSettings<N, Hyper<N>>, of: impl Fn(N) -> A) -> Coefficients<A> {
        let StepSettings { hyper: h, t, power, share, .. } = step;
        let one = N::splat(1.0);
        let is_warming_up = (*t).compared(Relation::Less, h.warmup);
        let warm_up = Condition::new(is_warming_up, &|number| number).choose(*t / h.warmup, one);
        let share = h.weight_lr_power.computed("w / Σw, w = tʳ (max η)ᵖ", *share, |learning_rate| {
            let largest = (learning_rate * warm_up).named(&RATE).over_steps(Fold::Largest);
            let weight = ((*t).power(h.r) * largest.power(h.weight_lr_power)).named(&WEIGHT);
            let sum = weight.over_steps(Fold::Sum);
            sum.choose(weight / sum, N::splat(0.0))
        });
        let share = share.named(&C);
        Coefficients {
            one_minus_beta1: of(one - h.beta1),
            beta2: DecayRate::new(h.beta2, &of),
            ratio: RatioCorrection::new([N::splat(0.0), power.beta2], h.eps, &of),
            warm_up: of(warm_up),
            is_warming_up: Condition::new(is_warming_up, &of),
            share: of(share),
            one_minus_share: of(one - share),
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(
        c: &Coefficients<A>,
        seen: RuleInput<A, B>,
        [lead, s]: [A; 2],
    ) -> ([A; 2], Moved<A>) {
        let RuleInput { mut rates, theta, gradient, .. } = seen;
        if c.is_warming_up.may_hold {
            rates.learning_rate = (rates.learning_rate * c.warm_up).named(&RATE);
        }
        let y = theta.add_product(c.one_minus_beta1, lead).named(&Y);
        let s = c.beta2.average_of_squares(s, gradient).named(&StepPart::SQUARES);
        let direction = gradient.bias_corrected_ratio(s, &c.ratio).named(&D);
        let direction = rates.masked(direction, gradient);
        let ahead = rates.decayed_step(lead, direction, y).named(&E);
        let lead = (c.one_minus_share * ahead).named(&LEAD);
        A::draw(&DIRECTION, || direction);
        ([lead, s], Moved { theta: theta.add_product(c.share, ahead), direction })
    }
}
