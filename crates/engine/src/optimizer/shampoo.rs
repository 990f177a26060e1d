use super::*;
use crate::quantity::Range;

/// Shampoo: the momentum, preconditioned by the roots of second moments of each axis of a tensor (Gupta et al.,
/// [arXiv:1802.09568](https://arxiv.org/abs/1802.09568); the running averages and the grafting are those of Shi et al.,
/// [arXiv:2309.06497](https://arxiv.org/abs/2309.06497), `distributed_shampoo` of
/// [facebookresearch/optimizers](https://github.com/facebookresearch/optimizers)).
///
/// ```text
/// m ← β₁ m + (1 − β₁) g,  m̂ = m / (1 − β₁ᵗ)
/// L ← β₂ L + (1 − β₂) g gᵗ,  L̂ = L / (1 − β₂ᵗ)       with sums: L ← L + g gᵗ, L̂ = L
/// P ← (L̂ + ε I)^(−½)                                  in the steps k, 2k, …; I before
/// u = P m̂
/// s ← β₂′ s + (1 − β₂′) g²,  ŝ = s / (1 − β₂′ᵗ)
/// v = m̂ / (√ŝ + ε′)                                   Adam's direction
/// d = u ‖v‖ / ‖u‖                                      grafting: Adam's length; v before step k
/// θ ← θ − η (d + ω θ)
/// ```
///
/// x and y on the plane are a vector with a statistic of 2 × 2, whose root is
/// `((tr A + D) I − A) / (D √(tr A + 2 D))` with `D = √det A`. Of a matrix g of r × c, in training, L = g gᵗ is r × r
/// and R = gᵗ g is c × c, and `u = (L̂ + ε I)^(−¼) m̂ (R̂ + ε I)^(−¼)`; an axis that is longer than 10000 has no
/// statistic.
///
/// Gupta et al. sum (`Sum`), with β₁ = 0, k = 1 and no grafting. Shi et al. take η = 1e-3, β₁ = 0.9, β₂ = 0.99 and ε =
/// 1e-12, and k from 10 to 100 where roots take long, as in training.
pub struct Shampoo;

hyperparameters! {
    beta1: SettingInfo::momentum(),
    beta2: SettingInfo::decay_rate("β₂", "Statistics β₂")
        .help("How much of the running average of g gᵗ is kept in each step.")
        .default(0.99),
    eps: SettingInfo::number("ε", "Statistics ε", Range::new("eps", 1e-16, 1.0))
        .help("Added to the diagonal of the statistics. Limits how far directions with small gradients are stretched.")
        .slider(1e-16, 1e-3)
        .logarithmic()
        .default(1e-12),
    interval: SettingInfo::whole("k", "Interval k", Range::new("interval", 1.0, 10_000.0))
        .help("The roots of the statistics are computed in every k-th step. Until the first time they have no effect.")
        .slider(1.0, 100.0)
        .defaults(1.0, 10.0),
    weight_decay: SettingInfo::weight_decay(),
    statistics: SettingInfo::choice("Statistics", STATISTICS).help("What is remembered of g gᵗ."),
    grafting: SettingInfo::choice("Length", GRAFTINGS).help("What the length of the step is taken from."),
    graft_beta2: SettingInfo::decay_rate("β₂′", "Adam's β₂")
        .help("β₂ of the Adam from which the length of the step is taken.")
        .default(0.999),
    graft_eps: SettingInfo::number("ε′", "Adam's ε", Range::new("graft_eps", 0.0, 1.0))
        .help("ε of the Adam from which the length of the step is taken.")
        .slider(1e-16, 1e-3)
        .logarithmic()
        .default(1e-10),
}

const STATISTICS: &[SettingChoice] = &[
    SettingChoice {
        key: "Average",
        label: "running average",
        help: "A running average of g gᵗ, without the bias of its start at 0.",
        text: "averages",
    },
    SettingChoice {
        key: "Sum",
        label: "sum of all steps",
        help: "The sum of g gᵗ over all steps, as in the first paper: steps get shorter.",
        text: "sums",
    },
];
const IS_SUM: f64 = 1.0;

const GRAFTINGS: &[SettingChoice] = &[
    SettingChoice {
        key: "Adam",
        label: "of Adam",
        help: "The preconditioned momentum gives the direction, and Adam's step the length (grafting).",
        text: "",
    },
    SettingChoice {
        key: "Off",
        label: "its own",
        help: "The preconditioned momentum is the step.",
        text: "no grafting",
    },
];
const IS_GRAFTED: f64 = 0.0;

/// Summand of a norm that keeps the grafted step finite where the momentum is 0.
const NO_LENGTH: f64 = 1e-16;

const S: StepPart =
    StepPart::state("s", "s", "running average of the squared gradients, for the length of Adam's step");
const L: StepPart = StepPart::state("L", "diagonal", "the statistic of g gᵗ: the diagonal");
const L_MIXED: StepPart = StepPart::state(
    "L′",
    "mixed",
    "the statistic of g gᵗ: the number beside the diagonal (swap: y in place of x, and x of y)",
);
const P: StepPart = StepPart::state("P", "root", "the statistic to the power −½: the diagonal");
const P_MIXED: StepPart =
    StepPart::state("P′", "mixed_root", "the statistic to the power −½: the number beside the diagonal");
const A: StepPart = StepPart::quantity("A", "the statistic without bias, plus ε: the diagonal");
const A_MIXED: StepPart =
    StepPart::quantity("A′", "the statistic without bias, plus ε: the number beside the diagonal");
const T: StepPart = StepPart::quantity("T", "trace of A");
const D_ROOT: StepPart = StepPart::quantity("D", "root of the determinant of A");
const U: StepPart = StepPart::quantity("u", "preconditioned momentum, P m̂");
const V: StepPart = StepPart::quantity("v", "Adam's direction");
const D: StepPart = StepPart::quantity("d", "direction of u, with the length of v");
const DIRECTION: StepArrow = StepArrow::direction("−d", "Shampoo's direction");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: DecayRate<A>,
    beta2: DecayRate<A>,
    graft_beta2: DecayRate<A>,
    epsilon: A,
    /// 1 − β₁ᵗ
    m_weight: A,
    /// 1 − β₂ᵗ
    statistic_weight: A,
    /// The bias correction of the grafted Adam.
    ratio: RatioCorrection<A>,
    is_sum: bool,
    is_grafted: bool,
    /// Whether the root is computed in this step.
    is_refreshed: Condition<A>,
    /// Whether no root was computed yet.
    is_early: Condition<A>,
}

impl Rule for Shampoo {
    const INFO: RuleInfo = RuleInfo {
        name: "Shampoo",
        color: [219, 8, 12],
        marker: Marker::open(MarkerShape::Left),
        source: "arXiv:1802.09568, arXiv:2309.06497",
        hyperparameters: TABLE,
        states: &[&StepPart::MOMENTUM, &S, &L, &L_MIXED, &P, &P_MIXED],
        needs: &[Need::WholeParameter, Need::Axes],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 6];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(step: &StepSettings<N, Hyper<N>>, of: impl Fn(N) -> A) -> Coefficients<A> {
        let StepSettings { hyper: h, t, power, .. } = step;
        let one = N::splat(1.0);
        Coefficients {
            beta1: DecayRate::new(h.beta1, &of),
            beta2: DecayRate::new(h.beta2, &of),
            graft_beta2: DecayRate::new(h.graft_beta2, &of),
            epsilon: of(h.eps),
            m_weight: of(one - power.beta1),
            statistic_weight: of(one - power.beta2),
            ratio: RatioCorrection::new([power.beta1, power.graft_beta2], h.graft_eps, &of),
            is_sum: h.statistics.value() == IS_SUM,
            is_grafted: h.grafting.value() == IS_GRAFTED,
            is_refreshed: Condition::new(t.is_multiple_of(h.interval), &of),
            is_early: Condition::new((*t).compared(Relation::Less, h.interval), &of),
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(
        c: &Coefficients<A>,
        seen: RuleInput<A, B>,
        [m, s, diagonal, mixed, root, mixed_root]: [A; 6],
    ) -> ([A; 6], Moved<A>) {
        let gradient = seen.gradient;
        let m = c.beta1.average(m, gradient).named(&StepPart::MOMENTUM);
        let statistic = c.statistic([diagonal, mixed], gradient);
        let before = if c.is_early.may_fail { [root, mixed_root] } else { [A::splat(1.0), A::splat(0.0)] };
        let refreshed = if c.is_refreshed.may_hold { c.root(statistic) } else { before };
        let root = c.is_refreshed.choose(refreshed[0], before[0]);
        let mixed_root = c.is_refreshed.choose(refreshed[1], before[1]);
        let u = (preconditioned([root, mixed_root], m) / c.m_weight).named(&U);
        let s = c.graft_beta2.average_of_squares(s, gradient).named(&S);
        let direction = if c.is_grafted {
            let v = m.bias_corrected_ratio(s, &c.ratio).named(&V);
            let grafted = if c.is_early.may_fail { u * (v.norm() / (u.norm() + A::splat(NO_LENGTH))) } else { v };
            c.is_early.choose(v, grafted).named(&D)
        } else {
            u
        };
        let [diagonal, mixed] = statistic;
        let state = [m, s, diagonal, mixed, root, mixed_root];
        (state, seen.moved_by_momentum(m, direction, &DIRECTION))
    }
}

/// The diagonal of g gᵗ and the number beside it.
#[inline(always)]
pub(super) fn outer<A: Algebra>(gradient: A) -> [A; 2] {
    match A::of_axes(AxesFunction::Outer, [gradient; 3]) {
        Some(all) => [all, A::splat(0.0)],
        None => [gradient * gradient, gradient * gradient.exchanged()],
    }
}

/// The product of a symmetric matrix and a vector.
#[inline(always)]
fn preconditioned<A: Algebra>([diagonal, mixed]: [A; 2], vector: A) -> A {
    match A::of_axes(AxesFunction::Product, [diagonal, vector, vector]) {
        Some(product) => product,
        None => diagonal.mul_add(vector, mixed * vector.exchanged()),
    }
}

impl<A: Algebra> Coefficients<A> {
    /// The diagonal of the statistic and the number beside it, with another gradient.
    #[inline(always)]
    fn statistic(&self, [diagonal, mixed]: [A; 2], gradient: A) -> [A; 2] {
        let [square, product] = outer(gradient);
        let [diagonal, mixed] = if self.is_sum {
            [diagonal + square, mixed + product]
        } else {
            [self.beta2.average(diagonal, square), self.beta2.average(mixed, product)]
        };
        [diagonal.named(&L), mixed.named(&L_MIXED)]
    }

    /// `A^(−½) = ((tr A + D) I − A) / (D √(tr A + 2 D))` with `D = √det A`, of the statistic without bias, plus ε I.
    #[inline(always)]
    fn root(&self, [diagonal, mixed]: [A; 2]) -> [A; 2] {
        let [diagonal, mixed] = if self.is_sum {
            [diagonal, mixed]
        } else {
            [diagonal / self.statistic_weight, (mixed / self.statistic_weight).named(&A_MIXED)]
        };
        if let Some(root) = A::of_axes(AxesFunction::InverseRoot, [diagonal, self.epsilon, diagonal]) {
            return [root.named(&P), A::splat(0.0)];
        }
        let a = (diagonal + self.epsilon).named(&A);
        let other = a.exchanged();
        let trace = (a + other).named(&T);
        // Rounding takes the determinant below its bound where all gradients so far lie along one line.
        let bound = self.epsilon * (trace - self.epsilon);
        let determinant = bound.larger(a * other - mixed * mixed);
        let d = determinant.sqrt().named(&D_ROOT);
        let divisor = d * A::splat(2.0).mul_add(d, trace).sqrt();
        [((other + d) / divisor).named(&P), (-(mixed / divisor)).named(&P_MIXED)]
    }
}
