//! Hyperparameters of rules: entries that rules share, the structs of their values, and the keys that axes and tuned
//! values name.

use super::{RuleKind, RuleSpec, TypedRule};
use crate::quantity::{Gamma, Range, WeightDecay};
use crate::setting::{Key, LEARNING_RATE, SCHEDULE_END, SettingChoice, SettingInfo};

/// The key of ω, the decoupled weight decay.
pub const WEIGHT_DECAY: &str = "weight_decay";
/// The key of the mask of a step, the last hyperparameter of each built-in rule.
pub const MASK: &str = "mask";
/// The value of [`SettingInfo::decay_coupling`] for a decay that is added to the gradient.
pub(crate) const IS_COUPLED: f64 = 1.0;
/// The value of [`SettingInfo::mask`] for a cautious step.
pub(crate) const IS_CAUTIOUS: f64 = 1.0;

const COUPLINGS: &[SettingChoice] = &[
    SettingChoice {
        key: "Decoupled",
        label: "of the parameters",
        help: "Each step shrinks the parameters by ηω of their size.",
        text: "",
    },
    SettingChoice {
        key: "Coupled",
        label: "in the gradient",
        help: "ωθ is added to the gradient before anything is computed of it, as in PyTorch.",
        text: "coupled decay",
    },
];

const MASKS: &[SettingChoice] = &[
    SettingChoice { key: "Off", label: "off", help: "All elements are moved.", text: "" },
    SettingChoice {
        key: "Cautious",
        label: "cautious",
        help: "Elements that the step would move up the gradient stay, and the others move the further \
               (Liang et al., arXiv:2411.16085).",
        // Its optimizer's name says it.
        text: "",
    },
];

impl SettingInfo {
    /// β₁, the decay rate of the momentum.
    pub(crate) const fn momentum() -> SettingInfo {
        SettingInfo::decay_rate("β₁", "Momentum β₁")
            .help("How much of the running average of the gradient is kept in each step. 0 keeps nothing.")
    }

    /// β₂, the decay rate of the average of squares.
    pub(crate) const fn squares() -> SettingInfo {
        SettingInfo::decay_rate("β₂", "Squares β₂")
            .help("How much of the running average of the squared gradient is kept in each step. Its root divides the step.")
            .default(0.999)
    }

    /// ε, which is added to a divisor.
    pub(crate) const fn epsilon() -> SettingInfo {
        SettingInfo::number("ε", "Constant ε", Range::new("eps", 0.0, 1.0))
            .help("Added to the divisor. Steps get shorter where gradients are not much larger.")
            .slider(1e-16, 1e-3)
            .logarithmic()
            .default(1e-8)
    }

    /// Whether weight decay acts on the parameters or on the gradient.
    pub(crate) const fn decay_coupling() -> SettingInfo {
        SettingInfo::choice("Weight decay", COUPLINGS).help("What weight decay is added to.")
    }

    /// The mask of the step, the last one of each built-in rule.
    pub(crate) const fn mask() -> SettingInfo {
        SettingInfo::choice("Mask", MASKS).key(MASK).help("Which elements a step moves.")
    }

    /// γ, a strength of attraction.
    pub(crate) const fn attraction() -> SettingInfo {
        SettingInfo::number("γ", "Attraction γ", Gamma::RANGE).slider(-1.0, 1.0).default(0.2)
    }

    /// ω, the decoupled weight decay.
    pub(crate) const fn weight_decay() -> SettingInfo {
        SettingInfo::number("ω", "Weight decay ω", WeightDecay::RANGE)
            .help("Shrinks the parameters by ηω of their size in each step.")
            .slider(0.0, 1.0)
            .defaults(0.1, 0.01)
    }
}

/// The most states that a rule has.
pub const MOST_STATES: usize = 6;

/// Numbers that can be made one by one: an array, or a struct of hyperparameters.
pub trait Numbers<S>: Copy {
    const COUNT: usize;

    /// The numbers that a function gives for their indices.
    fn from_fn(number: impl FnMut(usize) -> S) -> Self;
}

macro_rules! arrays {
    ($($count:literal: $($index:literal)*;)*) => {$(
        impl<S: Copy> Numbers<S> for [S; $count] {
            const COUNT: usize = $count;

            // Written out, as a closure in `std::array::from_fn` would not be compiled for the vector instructions
            // of the function around it.
            #[inline(always)]
            #[allow(unused_mut, unused_variables, reason = "for an empty array")]
            fn from_fn(mut number: impl FnMut(usize) -> S) -> Self {
                [$(number($index)),*]
            }
        }
    )*};
}

arrays! {
    0: ;
    1: 0;
    2: 0 1;
    3: 0 1 2;
    4: 0 1 2 3;
    5: 0 1 2 3 4;
    6: 0 1 2 3 4 5;
    12: 0 1 2 3 4 5 6 7 8 9 10 11;
}

/// Defines a rule's hyperparameters and the mask of its step: the struct `Hyper` with a field for each, and the table
/// `TABLE`.
macro_rules! hyperparameters {
    ($($(#[$attribute:meta])* $key:ident: $definition:expr,)*) => {
        /// A number for each hyperparameter.
        #[derive(Clone, Copy, Debug)]
        pub struct Hyper<S> {
            $($(#[$attribute])* pub $key: S,)*
            pub mask: S,
        }

        const TABLE: &[$crate::setting::SettingInfo] = &[
            $($definition.key(stringify!($key)),)*
            $crate::setting::SettingInfo::mask(),
        ];

        impl<S: Copy> $crate::optimizer::Numbers<S> for Hyper<S> {
            const COUNT: usize = TABLE.len();

            #[inline(always)]
            fn from_fn(mut number: impl FnMut(usize) -> S) -> Self {
                let mut index = 0;
                $(
                    let $key = number(index);
                    index += 1;
                )*
                Hyper { $($key,)* mask: number(index) }
            }
        }
    };
}

pub(super) use hyperparameters;

/// Lists the keys of the learning rate and of the hyperparameters of the built-in rules that can be axes.
pub(crate) fn built_in_axis_keys() -> Vec<Key> {
    let mut keys = vec![LEARNING_RATE.key];
    for hyperparameter in RuleKind::ALL.iter().flat_map(|kind| kind.info().hyperparameters) {
        if hyperparameter.is_axis() && !keys.contains(&hyperparameter.key) {
            keys.push(hyperparameter.key);
        }
    }
    keys
}

/// Lists the keys of the settings of rules that can be axes: the learning rate, hyperparameters of the built-in rules,
/// then those of the rules typed so far.
pub fn axis_keys() -> Vec<Key> {
    let mut keys = built_in_axis_keys();
    for hyperparameter in TypedRule::tables().into_iter().flatten() {
        if !keys.contains(&hyperparameter.key) {
            keys.push(hyperparameter.key);
        }
    }
    keys
}

/// Returns the setting of rules and schedules with this key: of a hyperparameter that of the first rule that has it.
pub fn axis_info(key: &str) -> Option<&'static SettingInfo> {
    let of_all = [&LEARNING_RATE, &SCHEDULE_END].into_iter().find(|of| of.key == key);
    let built_in = RuleKind::ALL.iter().map(|kind| kind.info().hyperparameters);
    let mut of_rules = built_in.chain(TypedRule::tables()).flatten();
    of_all.or_else(|| of_rules.find(|of| of.key == key && of.is_axis()))
}

impl RuleSpec {
    /// Whether it depends on a setting of this key that can be an axis: the learning rate or a number.
    pub fn has_axis(&self, key: &str) -> bool {
        key == LEARNING_RATE.key || self.hyperparameter(key).is_some_and(SettingInfo::is_axis)
    }
}
