//! The numbers that an update rule computes with.

use crate::elementary;
use crate::lanes::{Arithmetic, Real, Relation, each};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    Exp,
    /// The natural logarithm.
    Ln,
    Tanh,
    Sin,
    Cos,
}

impl Function {
    pub(crate) const ALL: [Function; 5] = [Function::Exp, Function::Ln, Function::Tanh, Function::Sin, Function::Cos];

    pub fn name(self) -> &'static str {
        match self {
            Function::Exp => "exp",
            Function::Ln => "ln",
            Function::Tanh => "tanh",
            Function::Sin => "sin",
            Function::Cos => "cos",
        }
    }

    /// The function itself, with the same bits on every system.
    #[inline(always)]
    pub fn of_number(self) -> fn(f64) -> f64 {
        match self {
            Function::Exp => elementary::exp_of_any,
            Function::Ln => elementary::ln_of_any,
            Function::Tanh => elementary::tanh,
            Function::Sin => elementary::sin_of_any,
            Function::Cos => elementary::cos_of_any,
        }
    }
}

/// A function of the statistics that a rule keeps for each axis of a parameter, in which the statistics of all axes
/// are one number of the [record](super::Tape::of_all_steps). On the plane the rules compute them from
/// [`Arithmetic::exchanged`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AxesFunction {
    /// `g gᵗ` of each axis of g.
    Outer,
    /// `(A + ε I)^(−1/(2k))` of the statistics A, ε and a tensor of k axes.
    InverseRoot,
    /// The product of a tensor with symmetric matrices, along each axis.
    Product,
    /// The eigenvectors of the statistics as columns, by falling eigenvalue.
    Eigenvectors,
    /// The components of a tensor along columns of matrices: the product with their transposes, along each axis.
    Turned,
    /// The product of a tensor with matrices, along each axis: the inverse of [`AxesFunction::Turned`].
    TurnedBack,
    /// The eigenvectors Q of statistics A after a step of orthogonal iteration: the orthogonal factor of A Q, with the
    /// columns of Q by falling `diag(Qᵗ A Q)`.
    Refreshed,
    /// A tensor of components along columns that [`AxesFunction::Refreshed`] has put in another order.
    Reordered,
}

impl AxesFunction {
    /// The number of operands.
    pub fn operands(self) -> usize {
        match self {
            AxesFunction::Outer | AxesFunction::Eigenvectors => 1,
            AxesFunction::Reordered => 3,
            _ => 2,
        }
    }
}

/// The accumulation of a number over all steps so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    Product,
    Sum,
    Largest,
}

impl Fold {
    pub fn name(self) -> &'static str {
        match self {
            Fold::Product => "product",
            Fold::Sum => "sum",
            Fold::Largest => "max",
        }
    }
}

/// A number of a kind that update rules are written for: a plain float, a vector of runs, both coordinates of a
/// point in one vector, or a [`Traced`](super::Traced) number that records what is computed.
///
/// Operations act on each element of a parameter alone, but for those over the whole parameter that [`Arithmetic`]
/// lists, [`Algebra::block_mean`] and [`Algebra::orthogonal`].
pub trait Algebra: Arithmetic {
    /// The larger of two numbers; NaN where either is.
    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        self.compared(Relation::Equal, self).choose(self.larger(other), self)
    }

    /// The smaller of two numbers; NaN where either is.
    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        -(-self).maximum(-other)
    }

    fn function(self, function: Function) -> Self;

    /// `selfᵉ`; of a negative number for whole exponents only.
    fn power(self, exponent: Self) -> Self;

    /// The mean over the block that an element of the parameter belongs to, the same for each element of it (Adam-mini,
    /// [arXiv:2406.16793](https://arxiv.org/abs/2406.16793)): x and y on the plane; a head of queries or keys, a row of
    /// another matrix, an element of a bias, or the whole of another vector in training. A rule that uses it
    /// [needs](super::RuleInfo::needs) [`Need::WholeParameter`](super::Need::WholeParameter).
    fn block_mean(self) -> Self;

    /// `√max(1, r/c) X`, where X is `self` as a matrix of r × c with its singular values brought near 1, by five steps
    /// of a Newton-Schulz iteration (Muon, [Jordan et al.](https://kellerjordan.github.io/posts/muon)): with
    /// `X = self / (‖self‖ + 1e-7)` at first, on the transpose if r > c,
    ///
    /// ```text
    /// K = X Xᵗ,  X ← 3.4445 X − 4.775 K X + 2.0315 K² X
    /// ```
    ///
    /// x and y of the plane are a matrix of 2 × 1. A rule that uses it [needs](super::RuleInfo::needs)
    /// [`Need::WholeParameter`](super::Need::WholeParameter).
    fn orthogonal(self) -> Self;

    /// Chooses between the value for matrices and that for parameters that the rule does not treat as matrices. On the
    /// plane there are only matrices, and `other` is not called. Neither may be a coefficient alone.
    #[inline(always)]
    fn by_shape(matrix: Self, _other: impl FnOnce() -> Self) -> Self {
        matrix
    }

    /// A function of the statistics of a parameter's axes, where numbers are recorded for parameters of any shape; else
    /// `None`.
    #[inline(always)]
    fn of_axes(_function: AxesFunction, _operands: [Self; 3]) -> Option<Self> {
        None
    }

    /// `self + a × b`, rounded once: [`Arithmetic::mul_add`] for formulas in which the sum is first.
    #[inline(always)]
    fn add_product(self, a: Self, b: Self) -> Self {
        a.mul_add(b, self)
    }

    /// `self + w (target − self)`: a running average after its next value.
    ///
    /// Computed as `target − (1 − w)(target − self)`, which is `target` itself where w is 1 or where it equals `self`.
    #[inline(always)]
    fn toward(self, target: Self, weight: AverageWeight<Self>) -> Self {
        weight.weight_minus_one.mul_add(target - self, target)
    }

    /// `m̂ / (√ŝ + ε)` of running averages `self` = m and `s` that start at 0, with their bias corrected (Adam,
    /// [arXiv:1412.6980](https://arxiv.org/abs/1412.6980), Algorithm 1).
    ///
    /// Vectors of singles compute it to 1e-6, as described at [`Real::over_root`].
    fn bias_corrected_ratio(self, s: Self, correction: &RatioCorrection<Self>) -> Self;

    /// The number itself, recorded as a part of the step for formulas.
    #[inline(always)]
    fn named(self, _part: &'static StepPart) -> Self {
        self
    }

    /// Draws the negative of a value as an arrow at the particle, if the step is recorded.
    #[inline(always)]
    fn draw(_arrow: &'static StepArrow, _value: impl FnOnce() -> Self) {}
}

impl<R: Real> Algebra for R {
    #[inline(always)]
    fn function(self, function: Function) -> Self {
        match function {
            // Inlined, loops over them are compiled for vectors.
            Function::Sin => self.of_each(elementary::sin_of_any),
            Function::Cos => self.of_each(elementary::cos_of_any),
            _ => self.of_each(function.of_number()),
        }
    }

    #[inline(always)]
    fn power(self, exponent: Self) -> Self {
        self.of_each_pair(exponent, elementary::power_of_any)
    }

    #[inline(always)]
    fn block_mean(self) -> Self {
        self.mean()
    }

    #[inline(always)]
    fn orthogonal(self) -> Self {
        orthogonal_column(self, 2.0)
    }

    #[inline(always)]
    fn bias_corrected_ratio(self, s: Self, correction: &RatioCorrection<Self>) -> Self {
        self.over_root(s, correction.factor, correction.term)
    }
}

/// The coefficients of Muon's iteration.
pub const NEWTON_SCHULZ: [f64; 3] = [3.4445, -4.7750, 2.0315];
/// The number of steps of Muon's iteration.
pub const NEWTON_SCHULZ_STEPS: usize = 5;
/// Added to the norm, so that a matrix of zeros stays finite.
pub const NEWTON_SCHULZ_EPSILON: f64 = 1e-7;

/// Computes [`Algebra::orthogonal`] of a matrix of `rows` rows and one column: each step multiplies X by a number.
#[inline(always)]
pub(crate) fn orthogonal_column<A: Algebra>(column: A, rows: f64) -> A {
    let [linear, cubic, quintic] = each(NEWTON_SCHULZ, A::splat);
    let norm = column.norm();
    let mut factor = A::splat(1.0) / (norm + A::splat(NEWTON_SCHULZ_EPSILON));
    for _ in 0..NEWTON_SCHULZ_STEPS {
        let size = factor * norm;
        let square = size * size;
        factor = factor * square.mul_add(square.mul_add(quintic, cubic), linear);
    }
    A::splat(rows.sqrt()) * factor * column
}

/// A number that is the same for all parameters: a hyperparameter or what follows from hyperparameters.
pub trait Scalar: Algebra {
    fn value(self) -> f64;

    /// Creates a number whose value was computed elsewhere, and which formulas show as `formula`. A record of all steps
    /// computes it by `expression` from the learning rate.
    fn computed(self, formula: &'static str, value: f64, expression: impl FnOnce(Self) -> Self) -> Self;

    /// 1 where this is a multiple of another number, else 0.
    fn is_multiple_of(self, of: Self) -> Self;

    /// The product, the sum or the largest of this number over all steps so far; only in expressions of
    /// [`Scalar::computed`].
    fn over_steps(self, _fold: Fold) -> Self {
        unreachable!("only a record of all steps needs it")
    }

    /// Whether a number can be other than 0, and whether it can be 0: both in a record of all steps.
    fn can_hold_and_fail(self) -> [bool; 2] {
        [self.value() != 0.0, self.value() == 0.0]
    }
}

impl Scalar for f64 {
    fn value(self) -> f64 {
        self
    }

    fn computed(self, _formula: &'static str, value: f64, _expression: impl FnOnce(f64) -> f64) -> f64 {
        value
    }

    #[inline(always)]
    fn is_multiple_of(self, of: f64) -> f64 {
        f64::from(self % of == 0.0)
    }
}

/// A condition on the step, such as whether it is the first. A record of all steps takes both branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition<A> {
    /// Whether the branch where it holds is taken.
    pub may_hold: bool,
    /// Whether the branch where it does not hold is taken.
    pub may_fail: bool,
    number: A,
}

impl<A: Algebra> Condition<A> {
    /// Creates a condition that holds where a number is not 0.
    #[inline(always)]
    pub(crate) fn new<S: Scalar>(number: S, of: &impl Fn(S) -> A) -> Condition<A> {
        let [may_hold, may_fail] = number.can_hold_and_fail();
        // As in `DecayRate::new`.
        Condition { may_hold, may_fail, number: (*of)(number) }
    }

    /// Returns `then` where the condition holds, else `otherwise`.
    #[inline(always)]
    pub(crate) fn choose(self, then: A, otherwise: A) -> A {
        match (self.may_hold, self.may_fail) {
            (true, true) => self.number.choose(then, otherwise),
            (true, false) => then,
            _ => otherwise,
        }
    }
}

/// The weight of the next value in a running average, as two coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AverageWeight<A> {
    /// w
    pub weight: A,
    /// w − 1
    pub weight_minus_one: A,
}

impl<A> AverageWeight<A> {
    pub(super) fn map<B>(self, mut of: impl FnMut(A) -> B) -> AverageWeight<B> {
        AverageWeight { weight: of(self.weight), weight_minus_one: of(self.weight_minus_one) }
    }

    #[inline(always)]
    pub(crate) fn new<S: Scalar>(weight: S, of: &impl Fn(S) -> A) -> AverageWeight<A> {
        // As in `DecayRate::new`.
        AverageWeight { weight: (*of)(weight), weight_minus_one: (*of)(weight - S::splat(1.0)) }
    }
}

/// The coefficients that correct the bias in the ratio of two running averages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RatioCorrection<A> {
    /// `(1 − β₁ᵗ) / √(1 − β₂ᵗ)`
    pub factor: A,
    /// `(1 − β₁ᵗ) ε`
    pub term: A,
    /// `1 − β₁ᵗ`, the weight that m has gathered.
    pub m_weight: A,
    /// `1 − β₂ᵗ`
    pub s_weight: A,
    pub epsilon: A,
}

impl<A> RatioCorrection<A> {
    pub(super) fn map<B>(self, mut of: impl FnMut(A) -> B) -> RatioCorrection<B> {
        let RatioCorrection { factor, term, m_weight, s_weight, epsilon } = self;
        RatioCorrection {
            factor: of(factor),
            term: of(term),
            m_weight: of(m_weight),
            s_weight: of(s_weight),
            epsilon: of(epsilon),
        }
    }

    /// Creates the coefficients from the powers β₁ᵗ and β₂ᵗ, and ε.
    #[inline(always)]
    pub(crate) fn new<S: Scalar>([beta1, beta2]: [S; 2], epsilon: S, of: &impl Fn(S) -> A) -> RatioCorrection<A> {
        let (m_weight, s_weight) = (S::splat(1.0) - beta1, S::splat(1.0) - beta2);
        // As in `DecayRate::new`.
        RatioCorrection {
            factor: (*of)(m_weight / s_weight.sqrt()),
            term: (*of)(m_weight * epsilon),
            m_weight: (*of)(m_weight),
            s_weight: (*of)(s_weight),
            epsilon: (*of)(epsilon),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct StepPart {
    pub symbol: &'static str,
    pub meaning: &'static str,
    pub role: PartRole,
}

/// The role of a part in formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartRole {
    /// A number that is remembered from step to step: `m ← …`.
    State {
        /// The name in checkpoints.
        key: &'static str,
        /// Whether it is a point in the space of parameters, which is marked on the landscape.
        is_point: bool,
    },
    /// An intermediate result of the step: `d = …`.
    Quantity,
    /// A number that is the same for all parameters; shown after the formula that uses it.
    Coefficient,
}

impl StepPart {
    /// The momentum m of most rules.
    pub(crate) const MOMENTUM: StepPart = StepPart::state("m", "m", "running average of the gradients");
    /// The average s of squares of most rules.
    pub(crate) const SQUARES: StepPart = StepPart::state("s", "s", "running average of the squared gradients");
    pub(crate) const DIRECTION: StepPart = StepPart::quantity("d", "direction of the step");
    /// The direction d of Adam and of rules like it.
    pub(crate) const SIGNAL_OVER_NOISE: StepPart = StepPart::quantity("d", "direction: signal over noise");

    /// A number that the rule remembers for each parameter, with its name in checkpoints.
    pub(crate) const fn state(symbol: &'static str, key: &'static str, meaning: &'static str) -> StepPart {
        StepPart { symbol, meaning, role: PartRole::State { key, is_point: false } }
    }

    /// A remembered point in the space of parameters.
    pub(crate) const fn point(symbol: &'static str, key: &'static str, meaning: &'static str) -> StepPart {
        StepPart { symbol, meaning, role: PartRole::State { key, is_point: true } }
    }

    pub(crate) fn is_state_of(&self, name: &str) -> bool {
        matches!(self.role, PartRole::State { key, .. } if key == name)
    }

    pub(crate) const fn quantity(symbol: &'static str, meaning: &'static str) -> StepPart {
        StepPart { symbol, meaning, role: PartRole::Quantity }
    }

    pub(crate) const fn coefficient(symbol: &'static str) -> StepPart {
        StepPart { symbol, meaning: "", role: PartRole::Coefficient }
    }
}

/// A vector that is drawn at a particle.
#[derive(Debug, PartialEq, Eq)]
pub struct StepArrow {
    pub label: &'static str,
    pub meaning: &'static str,
    pub role: ArrowRole,
}

/// The role of an arrow; arrows of one role have one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowRole {
    Momentum,
    /// The direction that the rule makes from the momentum, or a part that it adds.
    Direction,
    /// The decoupled weight decay, which a rule adds to its direction.
    Decay,
}

impl StepArrow {
    /// The momentum m, along which the particle is moved.
    pub(crate) const MOMENTUM: StepArrow = StepArrow { label: "−m", meaning: "momentum", role: ArrowRole::Momentum };

    /// The decoupled weight decay, −ω times what decays.
    pub(crate) const DECAY: StepArrow = StepArrow { label: "decay", meaning: "weight decay", role: ArrowRole::Decay };

    pub(crate) const fn direction(label: &'static str, meaning: &'static str) -> StepArrow {
        StepArrow { label, meaning, role: ArrowRole::Direction }
    }
}
