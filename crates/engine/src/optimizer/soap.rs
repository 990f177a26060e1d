use super::shampoo::outer;
use super::*;
use crate::quantity::{Beta, Range};
use crate::setting::Spacing;

/// SOAP: Adam in the eigenvectors of Shampoo's statistics (Vyas et al.,
/// [arXiv:2409.11321](https://arxiv.org/abs/2409.11321); `soap.py` of
/// [nikhilvyas/SOAP](https://github.com/nikhilvyas/SOAP) with `precondition_1d`).
///
/// ```text
/// L = (1 − β_L) g gᵗ,  Q = eigenvectors of L          step 1, in which θ stays
/// g̃ = Qᵗ g                                            all others; n = t − 1
/// m ← β₁ m + (1 − β₁) g
/// s ← β₂ s + (1 − β₂) g̃²
/// d = Q ( Qᵗ m / (√s + ε) ) √(1 − β₂ⁿ) / (1 − β₁ⁿ)
/// θ ← θ − η (d + ω (θ − η d))                          the decay follows the step
/// L ← β_L L + (1 − β_L) g gᵗ
/// Q ← orthogonal factor of L Q                         where n is a multiple of f, columns in falling order of Qᵗ L Q
/// ```
///
/// x and y on the plane are a vector, whose L is a matrix of 2 × 2, and whose Q is known by one column q: the other one
/// is perpendicular to it, and the signs do not matter. s is s₁ along q and s₂ across it. The first eigenvector is g /
/// ‖g‖. Of the orthogonal factor of L Q, q becomes `L q / ‖L q‖` if q comes first; if the other column comes first, q
/// becomes what is perpendicular to that one's product with L, which is along `(tr L − L) q`.
///
/// In training, a matrix g of r × c has two statistics, L = g gᵗ and R = gᵗ g; then `g̃ = Q_Lᵗ g Q_R`, and the
/// direction is turned back likewise. An axis that is longer than 10000 has no Q, and neither have vectors, unless
/// `precondition_1d` is `On`: then they have that of g gᵗ, as x and y always have. Vyas et al. take η = 3e-3, β₁ = β₂ =
/// β_L = 0.95, ε = 1e-8 and f = 10.
pub struct Soap;

hyperparameters! {
    beta1: SettingInfo::momentum(),
    beta2: SettingInfo::decay_rate("β₂", "Squares β₂")
        .help("How much of the running average of g̃² is kept in each step, and of that of g gᵗ unless it has a β of its own.")
        .default(0.95),
    shampoo_beta: SettingInfo::number("β_L", "Statistics β", Range { name: "shampoo_beta", min: -1.0, ..Beta::RANGE })
        .help("How much of the running average of g gᵗ is kept in each step. Below 0: as much as β₂.")
        .slider(-1.0, 0.9999)
        .spacing(Spacing::LogComplement)
        .default(-1.0),
    eps: SettingInfo::epsilon(),
    interval: SettingInfo::whole("f", "Interval f", Range::new("interval", 1.0, 10_000.0))
        .help("The eigenvectors are computed again after every f steps.")
        .slider(1.0, 100.0)
        .default(10.0),
    weight_decay: SettingInfo::weight_decay(),
    /// The step of vectors, which the plane does not have.
    precondition_1d: SettingInfo::choice("Vectors", VECTORS)
        .help("Whether biases and other vectors have eigenvectors.")
        .for_vectors(),
}

const VECTORS: &[SettingChoice] = &[
    SettingChoice {
        key: "Off",
        label: "as they are",
        help: "The step of a vector is Adam's for each element.",
        text: "",
    },
    SettingChoice {
        key: "On",
        label: "in eigenvectors",
        help: "A vector has the statistic g gᵗ and its eigenvectors, as the rows of a matrix have: with n elements, two \
               matrices of n × n.",
        text: "vectors in eigenvectors",
    },
];

const ALONG: StepPart = StepPart::state("s₁", "along", "running average of g₁²");
const ACROSS: StepPart = StepPart::state("s₂", "across", "running average of g₂²");
const L: StepPart = StepPart::state("L", "diagonal", "running average of g gᵗ: the diagonal");
const L_MIXED: StepPart = StepPart::state(
    "L′",
    "mixed",
    "running average of g gᵗ: the number beside the diagonal (swap: y in place of x, and x of y)",
);
const AXIS: StepPart = StepPart::state("q", "axis", "eigenvector of L, of length 1");
const G_ALONG: StepPart = StepPart::quantity("g₁", "gradient along q");
const G_ACROSS: StepPart = StepPart::quantity("g₂", "gradient across q, with either sign");
const M_ALONG: StepPart = StepPart::quantity("m₁", "momentum along q");
const M_ACROSS: StepPart = StepPart::quantity("m₂", "momentum across q, with either sign");
const N_ALONG: StepPart = StepPart::quantity("n₁", "Adam's step along q, with its bias");
const N_ACROSS: StepPart = StepPart::quantity("n₂", "Adam's step across q, with its bias");
const BIAS: StepPart = StepPart::coefficient("c");
const D: StepPart = StepPart::quantity("d", "direction of the step: turned back, without bias");
const TURNED: StepPart = StepPart::quantity("p", "L q, along which q turns");
const LAMBDA: StepPart = StepPart::quantity("λ", "L along q; across it, it is the trace less λ");
const IS_OTHER: StepPart = StepPart::quantity("w", "1 where L is larger across q than along it, else 0");
const NEW_AXIS: StepPart = StepPart::quantity("p′", "p, or (tr L − L) q where w is 1");
const DIRECTION: StepArrow = StepArrow::direction("−d", "SOAP's direction");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: DecayRate<A>,
    beta2: DecayRate<A>,
    /// β_L
    statistic_beta: DecayRate<A>,
    /// √(1 − β₂ⁿ) / (1 − β₁ⁿ)
    bias: A,
    /// The coefficients of the ratio of the two averages, whose bias is not corrected.
    ratio: RatioCorrection<A>,
    is_first: Condition<A>,
    /// Whether the eigenvectors are computed again in this step.
    is_refreshed: Condition<A>,
}

impl Rule for Soap {
    const INFO: RuleInfo = RuleInfo {
        name: "SOAP",
        color: [136, 106, 67],
        marker: Marker::open(MarkerShape::Right),
        source: "arXiv:2409.11321",
        hyperparameters: TABLE,
        states: &[&StepPart::MOMENTUM, &ALONG, &ACROSS, &L, &L_MIXED, &AXIS],
        needs: &[Need::WholeParameter, Need::Axes],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 6];

    /// The first step takes no average.
    #[inline(always)]
    fn decay_factor(_of: &SettingInfo, rate: f64, _hyper: &Hyper<f64>, t: f64) -> f64 {
        if t == 1.0 { 1.0 } else { rate }
    }

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(step: &StepSettings<N, Hyper<N>>, of: impl Fn(N) -> A) -> Coefficients<A> {
        let StepSettings { hyper: h, t, power, .. } = step;
        let bias = (1.0 - power.beta2.value()).sqrt() / (1.0 - power.beta1.value());
        let one = N::splat(1.0);
        let n = *t - one;
        let bias = power.beta1.computed("√(1 − β₂ⁿ) / (1 − β₁ⁿ),  n = t − 1", bias, |_| {
            (one - h.beta2.power(n)).sqrt() / (one - h.beta1.power(n))
        });
        let statistic_beta = if h.shampoo_beta.value() < 0.0 { h.beta2 } else { h.shampoo_beta };
        Coefficients {
            beta1: DecayRate::new(h.beta1, &of),
            beta2: DecayRate::new(h.beta2, &of),
            statistic_beta: DecayRate::new(statistic_beta, &of),
            bias: of(bias.named(&BIAS)),
            ratio: RatioCorrection::new([N::splat(0.0); 2], h.eps, &of),
            is_first: Condition::new((*t).compared(Relation::Equal, one), &of),
            is_refreshed: Condition::new(n.is_multiple_of(h.interval), &of),
        }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(
        c: &Coefficients<A>,
        seen: RuleInput<A, B>,
        [m, along, across, diagonal, mixed, axis]: [A; 6],
    ) -> ([A; 6], Moved<A>) {
        let RuleInput { rates, theta, gradient, .. } = seen;
        let before = [m, along, across];
        let (mut first_statistic, mut first_axis) = (None, axis);
        if c.is_first.may_hold {
            let [diagonal, mixed] = c.statistic([diagonal, mixed], gradient);
            first_axis = first_eigenvector(diagonal, gradient).named(&AXIS);
            if !c.is_first.may_fail {
                return ([m, along, across, diagonal, mixed, first_axis], Moved { theta, direction: A::splat(0.0) });
            }
            first_statistic = Some([diagonal, mixed]);
        }
        let m = c.beta1.average(m, gradient).named(&StepPart::MOMENTUM);
        let [gradient_along, gradient_across] = turned(axis, gradient, [&G_ALONG, &G_ACROSS]);
        let along = c.beta2.average_of_squares(along, gradient_along).named(&ALONG);
        let across = c.beta2.average_of_squares(across, gradient_across).named(&ACROSS);
        let [m_along, m_across] = turned(axis, m, [&M_ALONG, &M_ACROSS]);
        let step_along = m_along.bias_corrected_ratio(along, &c.ratio).named(&N_ALONG);
        let step_across = m_across.bias_corrected_ratio(across, &c.ratio).named(&N_ACROSS);
        let direction = (c.bias * turned_back(axis, [step_along, step_across])).named(&D);
        let direction = rates.masked(direction, gradient);
        let moved = theta.add_product(-rates.learning_rate, direction);
        let statistic = match first_statistic {
            Some(statistic) => statistic,
            None => c.statistic([diagonal, mixed], gradient),
        };
        let (refreshed_axis, reordered) =
            if c.is_refreshed.may_hold { refreshed(statistic, axis, along) } else { (axis, along) };
        let axis = c.is_refreshed.choose(refreshed_axis, axis);
        let along = c.is_refreshed.choose(reordered, along);
        A::draw(&StepArrow::MOMENTUM, || m);
        A::draw(&DIRECTION, || direction);
        let [diagonal, mixed] = statistic;
        let [m, along, across] = [
            c.is_first.choose(before[0], m),
            c.is_first.choose(before[1], along),
            c.is_first.choose(before[2], across),
        ];
        let axis = c.is_first.choose(first_axis, axis);
        let theta = c.is_first.choose(theta, rates.decayed_step(theta, direction, moved));
        ([m, along, across, diagonal, mixed, axis], Moved { theta, direction })
    }
}

impl<A: Algebra> Coefficients<A> {
    /// The diagonal of L and the number beside it, with another gradient.
    #[inline(always)]
    fn statistic(&self, [diagonal, mixed]: [A; 2], gradient: A) -> [A; 2] {
        let [square, product] = outer(gradient);
        let beta = self.statistic_beta;
        [beta.average(diagonal, square).named(&L), beta.average(mixed, product).named(&L_MIXED)]
    }
}

/// The eigenvector of the statistic of the first gradient.
#[inline(always)]
fn first_eigenvector<A: Algebra>(statistic: A, gradient: A) -> A {
    match A::of_axes(AxesFunction::Eigenvectors, [statistic; 3]) {
        Some(all) => all,
        None => unit(gradient, A::splat(0.5).sqrt()),
    }
}

/// Returns the components of a vector along an axis and across it, q · v and q × v. The latter has the other sign in
/// place of y, as has an axis perpendicular to q that is made of it by an exchange.
#[inline(always)]
fn turned<A: Algebra>(axis: A, vector: A, parts: [&'static StepPart; 2]) -> [A; 2] {
    if let Some(all) = A::of_axes(AxesFunction::Turned, [axis, vector, vector]) {
        return [all.named(parts[0]), A::splat(0.0)];
    }
    let (straight, crossed) = (axis * vector, axis * vector.exchanged());
    [(straight + straight.exchanged()).named(parts[0]), (crossed - crossed.exchanged()).named(parts[1])]
}

/// The vector of these components along an axis and across it.
#[inline(always)]
fn turned_back<A: Algebra>(axis: A, [along, across]: [A; 2]) -> A {
    match A::of_axes(AxesFunction::TurnedBack, [axis, along, along]) {
        Some(vector) => vector,
        None => axis * along - axis.exchanged() * across,
    }
}

/// The axis after a step of orthogonal iteration with L, and the squares along it.
#[inline(always)]
fn refreshed<A: Algebra>([diagonal, mixed]: [A; 2], axis: A, squares: A) -> (A, A) {
    if let Some(all) = A::of_axes(AxesFunction::Refreshed, [axis, diagonal, diagonal]) {
        let reordered = A::of_axes(AxesFunction::Reordered, [squares, axis, diagonal]);
        return (all, reordered.unwrap_or(squares));
    }
    let p = diagonal.mul_add(axis, mixed * axis.exchanged()).named(&TURNED);
    let straight = axis * p;
    let along = (straight + straight.exchanged()).named(&LAMBDA);
    // The larger one of 0 and NaN is NaN, in this order.
    let excess = diagonal + diagonal.exchanged() - A::splat(2.0) * along;
    let is_other = A::splat(0.0).larger(excess.sign()).named(&IS_OTHER);
    let is_same = A::splat(1.0) - is_other;
    // (tr L − L) q, where L has the diagonal (a, b) and c beside it, is (b, a) q − c swap(q).
    let other = diagonal.exchanged() * axis - mixed * axis.exchanged();
    let turned = is_same.mul_add(p, is_other * other).named(&NEW_AXIS);
    (unit(turned, axis).named(&AXIS), squares)
}

/// A vector divided by its length; another one where that is 0.
#[inline(always)]
fn unit<A: Algebra>(vector: A, otherwise: A) -> A {
    let length = vector.norm();
    let is_zero = A::splat(1.0) - length.sign();
    (vector + is_zero * otherwise) / (length + is_zero)
}
