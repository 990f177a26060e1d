//! The update rules, one file each.
//!
//! A rule's file holds everything about it: its name, colour and marker, the table of its hyperparameters, what it
//! remembers, and the step itself. A line of [`rules!`] registers it. Presets, controls, sweeps, trainings,
//! checkpoints, formulas and arrows are made from that.
//!
//! The step is written once, over [`Algebra`]: so the same lines serve one particle, vectors of particles, the vector
//! loops and tensor operations of a training, and the formulas that are shown, which record it with [`Traced`] numbers.
//! In the formulas `t` counts from 1, `g` is the gradient as the optimizer sees it (noisy), `η` the learning rate and
//! `ω` the weight decay.
//!
//! # Writing a rule
//!
//! - `hyperparameters!` lists all but the learning rate in the order of controls. Those that rules share, such as
//!   `beta1`, come from `SettingInfo::momentum()` and similar functions; shared defaults are kept where the
//!   source has others, so that optimizers side by side differ by their rules. A `decay_rate` gets its product over
//!   the steps (`power.beta1` is β₁ᵗ, unless [`Rule::decay_factor`] changes it). The macro adds the mask of
//!   cautious steps. An axis of a sweep takes its range and label from the first rule that has the key.
//! - The momentum is called `m` and the average of squares `s`, also in checkpoints: tests draw states by these
//!   names.
//! - `Coefficients` are the values that are the same for all parameters in a step. A [`DecayRate`] makes the next value
//!   of a running average; Adam's two averages and their ratio are [`AdamAverages`]. A choice becomes
//!   a `bool`.
//! - In `step` each named number is followed by `.named(&PART)`, in the order in which formulas are shown. Every
//!   state is computed in every step, whatever is chosen, so that a choice can change on the way.
//!   `A::draw(&ARROW, || value)` draws an arrow. `RuleInput::moved` ends a step: it masks, draws and decays;
//!   `moved_by_momentum` draws the momentum, too. Parts that rules share are constants of [`StepPart`].
//!   Arithmetic stands outside of closures, which are not compiled for the vector instructions of a sweep:
//!   `cargo bench --bench sweep pixel` shows a rule that is many times as slow as Adam.
//! - The rule is also recorded for all steps and for tensors of any shape, from which it is printed as code
//!   ([`notation`]). For that record a branch on the step's number is a [`Condition`], a number that is computed outside
//!   of the algebra has an expression ([`Scalar::computed`]), and statistics of axes have [`Algebra::of_axes`].
//! - [`Need`] lists what a rule may use beyond an element, its gradient and its states. One whose gradient is taken
//!   elsewhere than at θ names the state towards which that is ([`Rule::GRADIENT_TOWARD`]). One that averages over
//!   its steps weighs them by their learning rates ([`Rule::WEIGHS_STEPS`]).

mod external;
mod hyperparameter;
mod legend;
pub mod notation;
pub mod program;
mod spec;
mod step;
mod trace;

pub use crate::expression::{
    Algebra, Arithmetic, ArrowRole, AverageWeight, AxesFunction, Condition, Fold, Function, NEWTON_SCHULZ,
    NEWTON_SCHULZ_EPSILON, NEWTON_SCHULZ_STEPS, PartRole, RatioCorrection, Relation, Scalar, StepArrow, StepPart, Tape,
    Traced,
};
pub use external::{External, ExternalStep};
pub(crate) use hyperparameter::{IS_CAUTIOUS, IS_COUPLED, built_in_axis_keys};
pub use hyperparameter::{MASK, MOST_STATES, Numbers, WEIGHT_DECAY, axis_info, axis_keys};
pub use legend::{
    Marker, MarkerShape, ShownSetting, changed_texts, differing, differing_by_key, markers, with_settings,
};
pub use program::{CompiledRule, Typed, TypedRule};
pub use spec::{LONGEST_AXIS, RatedRule, RuleSpec};
pub use step::{
    AdamAverages, BiasCorrection, Decay, DecayRate, LEAST_MEAN_OF_MASK, PlaneBatch, Rates, Schedule, SideBySide,
    StepWeights,
};
pub use trace::{StepInputs, Trace, TracedBatch, trace};

use crate::identifier::{self, lasting};
use crate::setting::{SettingChoice, SettingInfo};
use hyperparameter::hyperparameters;

/// Registers the rules: a file of this folder and the rule in it, a line each, in the order of menus.
macro_rules! rules {
    (($d:tt) $($module:ident::$rule:ident,)*) => {
        $(
            pub mod $module;
            pub use $module::$rule;
        )*

        /// An update rule: a built-in one, a typed one, or one whose steps the caller takes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum RuleKind {
            $($rule,)*
            Typed(&'static TypedRule),
            External,
        }

        impl RuleKind {
            /// All built-in rules, in the order of menus.
            pub const ALL: &[RuleKind] = &[$(RuleKind::$rule),*];
            /// The names for users, in the same order.
            const NAMES: &[&str] = &[$(<$rule as Rule>::INFO.name),*];

            /// Returns the rule's name in presets.
            pub fn key(self) -> &'static str {
                match self {
                    $(RuleKind::$rule => stringify!($rule),)*
                    RuleKind::Typed(_) => Self::TYPED,
                    RuleKind::External => External::INFO.name,
                }
            }

            pub fn info(self) -> &'static RuleInfo {
                match self {
                    $(RuleKind::$rule => const { &<$rule as Rule>::INFO },)*
                    RuleKind::Typed(rule) => rule.info(),
                    RuleKind::External => const { &External::INFO },
                }
            }
        }

        /// The most hyperparameters that a rule has, without the learning rate.
        const MOST_HYPERPARAMETERS: usize = 12;

        $(
            const _: () = assert!(<$rule as Rule>::INFO.hyperparameters.len() <= MOST_HYPERPARAMETERS);
            const _: () = assert!(<$rule as Rule>::INFO.states.len() <= MOST_STATES);
            const _: () = assert!(
                <$rule as Rule>::INFO.states.len() == <<$rule as Rule>::State<f64> as Numbers<f64>>::COUNT
            );
        )*

        /// Evaluates `$body` with `$name` as the type of a [`RuleKind`]'s rule.
        #[macro_export]
        macro_rules! with_rule {
            ($d kind:expr, $d name:ident => $d body:expr) => {
                match $d kind {
                    $($crate::optimizer::RuleKind::$rule => {
                        type $d name = $crate::optimizer::$rule;
                        $d body
                    })*
                    $crate::optimizer::RuleKind::Typed(_) => {
                        type $d name = $crate::optimizer::Typed;
                        $d body
                    }
                    $crate::optimizer::RuleKind::External => {
                        type $d name = $crate::optimizer::External;
                        $d body
                    }
                }
            };
        }
        pub(crate) use with_rule;
    };
}

rules! { ($)
    adam::Adam,
    signum::Signum,
    focus::Focus,
    sgd::Sgd,
    lion::Lion,
    mars::Mars,
    sophia::Sophia,
    muon::Muon,
    rmsprop::RmsProp,
    nadam::NAdam,
    ademamix::AdEmaMix,
    adam_mini::AdamMini,
    adabelief::AdaBelief,
    shampoo::Shampoo,
    soap::Soap,
    schedule_free::ScheduleFree,
}

impl RuleKind {
    /// The names that a preset may give, as they are shown.
    fn names_in_presets() -> &'static [&'static str] {
        lasting(Self::NAMES.iter().copied().chain([Self::TYPED]).collect())
    }

    /// Returns the rule's index among the built-in ones; those of typed and of external ones follow.
    fn index(self) -> u32 {
        let after = Self::ALL.len() + usize::from(self == RuleKind::External);
        Self::ALL.iter().position(|kind| *kind == self).unwrap_or(after) as u32
    }

    /// The key of typed rules in presets.
    pub const TYPED: &str = "Typed";

    /// The typed rule, if it is one.
    pub fn typed(self) -> Option<&'static TypedRule> {
        match self {
            RuleKind::Typed(rule) => Some(rule),
            _ => None,
        }
    }

    /// Whether an optimizer can become one of another kind while it runs: the text of a typed rule may change.
    pub(crate) fn may_become(self, other: RuleKind) -> bool {
        self == other || (self.typed().is_some() && other.typed().is_some())
    }

    /// The built-in rule of this name, as it is shown or as in presets, up to what [`identifier::folded`] leaves out.
    pub fn named(name: &str) -> Option<RuleKind> {
        identifier::named(Self::ALL, |kind| [kind.info().name, kind.key()], name)
    }

    /// The built-in rule of an optimizer that is shown with this name, as [`RuleSpec::name`] gives it.
    pub fn shown_as(name: &str) -> Option<RuleKind> {
        let masked = name.split_at_checked(Self::CAUTIOUS.len());
        let masked = masked.filter(|(word, _)| word.eq_ignore_ascii_case(Self::CAUTIOUS));
        Self::named(masked.map_or(name, |(_, rule)| rule))
    }

    /// The word before the name of a rule whose steps are masked.
    pub const CAUTIOUS: &str = "Cautious ";
}

/// An update rule.
pub trait Rule: Send + Sync + 'static {
    const INFO: RuleInfo;

    /// Describes `rule`, which is of this type.
    #[inline(always)]
    fn info(_rule: &RuleSpec) -> &'static RuleInfo {
        const { &Self::INFO }
    }

    /// A number for each hyperparameter; made by [`hyperparameters!`].
    type Hyper<N: Copy>: Numbers<N>;

    /// The numbers that a step needs, the same for every parameter.
    type Coefficients<A: Algebra>: Copy;

    /// The states of each parameter, 0 before the first step: an array in the order of [`RuleInfo::states`].
    type State<A: Algebra>: Numbers<A> + AsRef<[A]>;

    /// Returns the factor of step t in the product of a decay rate: the rate, unless the rule varies it.
    #[inline(always)]
    fn decay_factor(_of: &SettingInfo, rate: f64, _hyper: &Self::Hyper<f64>, _t: f64) -> f64 {
        rate
    }

    /// The state, by its index, towards which the gradient of a step is taken: at θ and [a part](Rule::part_toward) of
    /// the state. None: at θ.
    const GRADIENT_TOWARD: Option<usize> = None;

    /// Returns the multiple of the state [`Rule::GRADIENT_TOWARD`] that is added to θ where the gradient is taken.
    #[inline(always)]
    fn part_toward(_hyper: &Self::Hyper<f64>) -> f64 {
        0.0
    }

    /// Whether it averages over steps that have weights, [`Rule::weighed`].
    const WEIGHS_STEPS: bool = false;

    /// The weights of the steps with that of step t, whose learning rate is η.
    #[inline(always)]
    fn weighed(before: StepWeights, _hyper: &Self::Hyper<f64>, _t: f64, _learning_rate: f64) -> StepWeights {
        before
    }

    /// The coefficients of a step, each made of a number by `of`.
    fn coefficients<N: Scalar, A: Algebra>(
        settings: &StepSettings<N, Self::Hyper<N>>,
        of: impl Fn(N) -> A,
    ) -> Self::Coefficients<A>;

    /// Updates the coefficients of another step of the same rule, with the same hyperparameters and text, to those of
    /// this step: only those that depend on t and on the products of decay rates need to be computed.
    #[inline(always)]
    fn set_coefficients<N: Scalar, A: Algebra>(
        coefficients: &mut Self::Coefficients<A>,
        settings: &StepSettings<N, Self::Hyper<N>>,
        of: impl Fn(N) -> A,
    ) {
        *coefficients = Self::coefficients(settings, of);
    }

    /// One step: from the parameter, its gradient and the state to the new state and the move. A pure function.
    fn step<A: Algebra, B: Batch<A>>(
        coefficients: &Self::Coefficients<A>,
        seen: RuleInput<A, B>,
        state: Self::State<A>,
    ) -> (Self::State<A>, Moved<A>);

    /// Takes a step like [`Rule::step`], and replaces the state by the new one.
    #[inline(always)]
    fn step_in_place<A: Algebra, B: Batch<A>>(
        coefficients: &Self::Coefficients<A>,
        seen: RuleInput<A, B>,
        state: &mut Self::State<A>,
    ) -> Moved<A> {
        let (after, moved) = Self::step(coefficients, seen, *state);
        *state = after;
        moved
    }

    /// Returns the observed number of a parameter in a training ([`RuleInfo::observed`]), from θ before a step and the
    /// state after it.
    fn observed(_settings: &StepSettings<f64, Self::Hyper<f64>>, _theta: f64, _state: Self::State<f64>) -> f64 {
        f64::NAN
    }
}

/// Returns the state of the rule `R` before the first step.
#[inline(always)]
pub fn zero_state<R: Rule, A: Algebra>() -> R::State<A> {
    Numbers::from_fn(|_| A::splat(0.0))
}

/// The description of a rule, besides its step.
#[derive(Debug)]
pub struct RuleInfo {
    /// The name for users.
    pub name: &'static str,
    /// Red, green, blue: the paper's colours for Adam, Signum and FOCUS, and others that differ from them and from each
    /// other, also for readers with a colour vision deficiency.
    pub color: [u8; 3],
    pub marker: Marker,
    /// The rule's publication, or the implementation that it agrees with.
    pub source: &'static str,
    /// The hyperparameters besides the learning rate, which all rules have.
    pub hyperparameters: &'static [SettingInfo],
    pub states: &'static [&'static StepPart],
    /// Inputs of the step besides an element's parameter, gradient and states.
    pub needs: &'static [Need],
    /// A metric of the rule in trainings, besides those of all rules.
    pub observed: Option<Observation>,
}

/// An input of a step besides an element's parameter, gradient and states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// All elements of the parameter together, and its shape: [`Arithmetic::norm`], [`Algebra::block_mean`],
    /// [`Algebra::orthogonal`], [`Algebra::by_shape`].
    WholeParameter,
    /// The axes of the parameter's tensor, each with a statistic of its own: [`Arithmetic::exchanged`] on the plane, and a
    /// step of its own in training (`crates/training/src/axes.rs`). There is none for sweeps in more than two
    /// dimensions.
    Axes,
    /// [`Batch::gradient_at`]
    GradientElsewhere,
    /// [`Batch::curvature`]
    Curvature,
}

impl RuleInfo {
    /// Returns whether the step of an element of a parameter depends on no other element.
    pub const fn needs_gradient_only(&self) -> bool {
        self.needs.is_empty()
    }

    pub const fn needs(&self, need: Need) -> bool {
        let mut index = 0;
        while index < self.needs.len() {
            if self.needs[index] as u8 == need as u8 {
                return true;
            }
            index += 1;
        }
        false
    }

    pub fn state_keys(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.states.iter().map(|part| match part.role {
            PartRole::State { key, .. } => key,
            PartRole::Quantity | PartRole::Coefficient => part.symbol,
        })
    }
}

/// A number for each parameter, of which a training shows a statistic over the parameters.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// The name of the metric in events.
    pub metric: &'static str,
    pub title: &'static str,
    pub statistic: ObservedStatistic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedStatistic {
    /// The mean, a fraction.
    Mean,
    /// The quantiles of 10, 50 and 90 %.
    Quantiles,
}

/// The hyperparameters of a step, and how far the run has come with it.
#[derive(Clone, Copy, Debug)]
pub struct StepSettings<N, H> {
    pub hyper: H,
    /// The number of the step, from 1.
    pub t: N,
    /// β₁ᵗ for β₁, and so on: the products of the decay rates over the steps up to this one.
    pub power: H,
    /// The weight of this step divided by those of all steps so far, in rules that [weigh them](Rule::WEIGHS_STEPS).
    pub share: f64,
    /// The typed rule that is run, if it is one.
    pub typed: Option<&'static TypedRule>,
}

/// The input of a rule's step for a parameter.
#[derive(Clone, Copy, Debug)]
pub struct RuleInput<A, B> {
    pub rates: Rates<A>,
    /// θ before the step.
    pub theta: A,
    /// g at θ, or where else [the rule](Rule::GRADIENT_TOWARD) takes it, with its noise.
    pub gradient: A,
    /// The batch, for a rule that needs more of it.
    pub batch: B,
}

/// The samples, or the draws of noise, that the gradient of a step was computed with.
pub trait Batch<A>: Copy {
    /// The gradient at other parameters, of the same samples or with the same draws of noise. The rule
    /// [needs](RuleInfo::needs) [`Need::GradientElsewhere`]; in a training the other parameters are one of its states.
    fn gradient_at(self, theta: A) -> A;

    /// An estimate of the diagonal of the loss's Hessian at θ, with noise of its own. The rule
    /// [needs](RuleInfo::needs) [`Need::Curvature`].
    fn curvature(self) -> A;
}

/// The batch of a rule that [needs the gradient only](RuleInfo::needs_gradient_only).
#[derive(Clone, Copy, Debug)]
pub struct NoBatch;

impl<A> Batch<A> for NoBatch {
    fn gradient_at(self, _theta: A) -> A {
        unreachable!("the rule does not say that it needs a gradient elsewhere")
    }

    fn curvature(self) -> A {
        unreachable!("the rule does not say that it needs the curvature")
    }
}

/// The result of one step of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved<A> {
    /// The parameter after the step.
    pub theta: A,
    /// The step without weight decay, in units of −η; where θ is an average, the step of what it averages. Its size is
    /// the effective step size.
    pub direction: A,
}

/// The names and colours of all rules, and those of typed ones.
pub fn colors() -> Vec<(&'static str, [u8; 3])> {
    let all = RuleKind::ALL.iter().map(|kind| kind.info()).chain([&Typed::INFO]);
    all.map(|info| (info.name, info.color)).collect()
}
