//! Hyperparameters of rules: their tables, names and values.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{RuleKind, RuleSpec, TypedRule};
use crate::identifier::NameFormat;
use crate::parameter::{Extent, Parameter, Spacing};
use crate::quantity::{Beta, Gamma, OutOfRange, Range, WeightDecay, number_text};

/// A hyperparameter of a rule: its names, texts, range and defaults for controls, presets, sweeps and figures.
#[derive(Clone, Copy, Debug)]
pub struct Hyperparameter {
    /// The name in presets, `--set`, tables and archives; the field of the rule's struct of hyperparameters.
    pub key: &'static str,
    /// The symbol in formulas.
    pub symbol: &'static str,
    /// The label beside a control: name and symbol.
    pub label: &'static str,
    /// The effect of the hyperparameter.
    pub help: &'static str,
    /// The value in the FOCUS paper; empty if the paper lacks it.
    pub paper: &'static str,
    pub kind: HyperparameterKind,
    /// The ends of a slider, and the initial ends of an axis of a diagram.
    pub slider: [f64; 2],
    /// The spacing of values along a slider and, at first, along an axis of a diagram.
    pub spacing: Spacing,
    /// Default on the plane (the paper's toy model).
    pub on_plane: f64,
    /// Default in the training of networks.
    pub in_training: f64,
    /// Whether it acts only on parameters that a rule for matrices takes for vectors ([`Algebra::by_shape`]), of which
    /// there are none on the plane.
    ///
    /// [`Algebra::by_shape`]: super::Algebra::by_shape
    pub is_for_vectors: bool,
}

/// The kind of values of a hyperparameter.
#[derive(Clone, Copy, Debug)]
pub enum HyperparameterKind {
    /// β of a running average. The product over all steps is kept, for the average's bias.
    DecayRate,
    Number(Range),
    /// A number without a fraction.
    Whole(Range),
    /// One of a few choices; the value is its index.
    Choice(&'static [HyperparameterChoice]),
}

/// A value of a hyperparameter that is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyperparameterChoice {
    /// The name in presets.
    pub key: &'static str,
    /// The label in controls, after the hyperparameter's.
    pub label: &'static str,
    pub help: &'static str,
    /// The words in the name of a run with this value; empty for one that is named only beside another value.
    pub words: &'static str,
}

const COUPLINGS: &[HyperparameterChoice] = &[
    HyperparameterChoice {
        key: "Decoupled",
        label: "of the parameters",
        help: "Each step shrinks the parameters by ηω of their size.",
        words: "",
    },
    HyperparameterChoice {
        key: "Coupled",
        label: "in the gradient",
        help: "ωθ is added to the gradient before anything is computed of it, as in PyTorch.",
        words: "coupled decay",
    },
];

const MASKS: &[HyperparameterChoice] = &[
    HyperparameterChoice { key: "Off", label: "off", help: "All elements are moved.", words: "" },
    HyperparameterChoice {
        key: "Cautious",
        label: "cautious",
        help: "Elements that the step would move up the gradient stay, and the others move the further \
               (Liang et al., arXiv:2411.16085).",
        // Its optimizer's name says it.
        words: "",
    },
];

impl Hyperparameter {
    #[inline(always)]
    pub const fn is_decay_rate(&self) -> bool {
        matches!(self.kind, HyperparameterKind::DecayRate)
    }

    /// The value, or the reason why it is none of this hyperparameter's.
    pub fn checked(&self, value: f64) -> Result<f64, OutOfRange> {
        match self.range() {
            Some(range) if self.is_whole() && value.fract() != 0.0 => {
                let expected = format!("a whole number from {} to {}", range.min, range.max);
                Err(OutOfRange { name: self.key, expected, found: value.to_string() })
            }
            Some(range) => range.checked(value),
            None if self.choices().get(value as usize).is_some() && value.fract() == 0.0 && value >= 0.0 => Ok(value),
            None => {
                let expected = format!("the number of a choice, less than {}", self.choices().len());
                Err(OutOfRange { name: self.key, expected, found: value.to_string() })
            }
        }
    }

    pub(crate) const fn decay_rate(symbol: &'static str, label: &'static str) -> Hyperparameter {
        Hyperparameter {
            key: "",
            symbol,
            label,
            help: "",
            paper: "",
            kind: HyperparameterKind::DecayRate,
            slider: [0.0, 0.9999],
            spacing: Spacing::LogComplement,
            on_plane: 0.9,
            in_training: 0.9,
            is_for_vectors: false,
        }
    }

    pub(crate) const fn number(symbol: &'static str, label: &'static str, range: Range) -> Hyperparameter {
        Hyperparameter {
            kind: HyperparameterKind::Number(range),
            slider: [range.min, range.max],
            spacing: Spacing::Linear,
            ..Hyperparameter::decay_rate(symbol, label)
        }
    }

    pub(crate) const fn whole(symbol: &'static str, label: &'static str, range: Range) -> Hyperparameter {
        Hyperparameter { kind: HyperparameterKind::Whole(range), ..Hyperparameter::number(symbol, label, range) }
    }

    /// Creates a choice whose default is the first of `choices`.
    pub(crate) const fn choice(label: &'static str, choices: &'static [HyperparameterChoice]) -> Hyperparameter {
        let kind = HyperparameterKind::Choice(choices);
        Hyperparameter { kind, on_plane: 0.0, in_training: 0.0, ..Hyperparameter::decay_rate("", label) }
    }

    /// Sets the description of the effect.
    pub(crate) const fn help(self, help: &'static str) -> Hyperparameter {
        Hyperparameter { help, ..self }
    }

    /// Sets the value in the FOCUS paper, if the paper has one.
    pub(crate) const fn paper(self, paper: &'static str) -> Hyperparameter {
        Hyperparameter { paper, ..self }
    }

    pub(crate) const fn slider(self, low: f64, high: f64) -> Hyperparameter {
        Hyperparameter { slider: [low, high], ..self }
    }

    /// Sets the defaults.
    pub(crate) const fn defaults(self, on_plane: f64, in_training: f64) -> Hyperparameter {
        Hyperparameter { on_plane, in_training, ..self }
    }

    /// Sets the spacing of values along a slider and an axis.
    pub(crate) const fn spacing(self, spacing: Spacing) -> Hyperparameter {
        Hyperparameter { spacing, ..self }
    }

    /// Restricts the effect to vectors, so that there is none on the plane.
    pub(crate) const fn for_vectors(self) -> Hyperparameter {
        Hyperparameter { is_for_vectors: true, ..self }
    }

    /// β₁, the decay rate of the momentum.
    pub(crate) const fn momentum() -> Hyperparameter {
        Hyperparameter::decay_rate("β₁", "Momentum β₁")
            .help("How much of the running average of the gradient is kept in each step. 0 keeps nothing.")
    }

    /// β₂, the decay rate of the average of squares.
    pub(crate) const fn squares() -> Hyperparameter {
        Hyperparameter::decay_rate("β₂", "Squares β₂")
            .help("How much of the running average of the squared gradient is kept in each step. Its root divides the step.")
            .defaults(0.999, 0.999)
    }

    /// ε, which is added to a divisor.
    pub(crate) const fn epsilon() -> Hyperparameter {
        Hyperparameter::number("ε", "Constant ε", Range { name: "eps", min: 0.0, max: 1.0 })
            .help("Added to the divisor. Steps get shorter where gradients are not much larger.")
            .slider(1e-16, 1e-3)
            .spacing(Spacing::Log)
            .defaults(1e-8, 1e-8)
    }

    /// Whether weight decay acts on the parameters or on the gradient.
    pub(crate) const fn decay_coupling() -> Hyperparameter {
        Hyperparameter::choice("Weight decay", COUPLINGS).help("What weight decay is added to.")
    }

    /// The value of [`Hyperparameter::decay_coupling`] for a decay that is added to the gradient.
    pub(crate) const IS_COUPLED: f64 = 1.0;

    /// The key of the mask of a step, the last hyperparameter of each built-in rule.
    pub const MASK: &'static str = "mask";
    /// The value of [`Hyperparameter::mask`] for a cautious step.
    pub(crate) const IS_CAUTIOUS: f64 = 1.0;

    /// The mask of the step, the last one of each built-in rule.
    pub(crate) const fn mask() -> Hyperparameter {
        let mask = Hyperparameter::choice("Mask", MASKS).help("Which elements a step moves.");
        Hyperparameter { key: Hyperparameter::MASK, ..mask }
    }

    /// γ, a strength of attraction.
    pub(crate) const fn attraction() -> Hyperparameter {
        Hyperparameter::number("γ", "Attraction γ", Gamma::RANGE).slider(-1.0, 1.0).defaults(0.2, 0.2)
    }

    /// The key of ω, the decoupled weight decay.
    pub const WEIGHT_DECAY: &'static str = "weight_decay";

    /// ω, the decoupled weight decay.
    pub(crate) const fn weight_decay() -> Hyperparameter {
        Hyperparameter::number("ω", "Weight decay ω", WeightDecay::RANGE)
            .help("Shrinks the parameters by ηω of their size in each step.")
            .slider(0.0, 1.0)
            .defaults(0.1, 0.01)
    }

    /// The range of its values, with the name of the quantity; none of a choice.
    pub fn range(&self) -> Option<Range> {
        match self.kind {
            HyperparameterKind::DecayRate => Some(Beta::RANGE),
            HyperparameterKind::Number(range) | HyperparameterKind::Whole(range) => Some(range),
            HyperparameterKind::Choice(_) => None,
        }
    }

    pub const fn parameter(&self) -> Parameter {
        let [low, high] = self.slider;
        let extent = Extent { low, high, spacing: self.spacing };
        let parameter =
            Parameter::new(self.key, self.label, extent).symbol(self.symbol).help(self.help).paper(self.paper);
        Parameter { is_whole: self.is_whole(), ..parameter }
    }

    pub fn choices(&self) -> &'static [HyperparameterChoice] {
        match self.kind {
            HyperparameterKind::Choice(choices) => choices,
            HyperparameterKind::DecayRate | HyperparameterKind::Number(_) | HyperparameterKind::Whole(_) => &[],
        }
    }

    /// Whether it has the meaning of another rule's: the same key and the same label. `beta2` of Adam ("Squares β₂")
    /// and of FOCUS ("Average β₂") are different hyperparameters.
    pub fn means_the_same_as(&self, other: &Hyperparameter) -> bool {
        self.key == other.key && self.label == other.label
    }

    /// Returns a value in words, such as `ω 0.1` or `Nesterov`, or for a choice without words of its own `momentum heavy
    /// ball`; empty for a mask, which is part of the rule's name.
    pub(crate) fn words(&self, value: f64) -> String {
        match self.choices().get(value as usize) {
            Some(_) if self.choices().iter().all(|choice| choice.words.is_empty()) => String::new(),
            Some(choice) if choice.words.is_empty() => format!("{} {}", self.label.to_lowercase(), choice.label),
            Some(choice) => choice.words.to_owned(),
            None if value < 0.0 => format!("{} −{}", self.symbol, number_text(-value)),
            None => format!("{} {}", self.symbol, number_text(value)),
        }
    }

    /// Returns a value in words without its symbol.
    pub(crate) fn words_of_value(&self, value: f64) -> String {
        let words = self.words(value);
        words.strip_prefix(self.symbol).map_or_else(|| words.clone(), |value| value.trim_start().to_owned())
    }

    /// Returns the label with a value, such as `Squares β₂ 0.95`.
    pub(crate) fn labelled(&self, value: f64) -> String {
        format!("{} {}", self.label, self.words_of_value(value))
    }

    /// Returns whether a value is named only beside another one.
    pub(crate) fn is_silent(&self, value: f64) -> bool {
        self.choices().get(value as usize).is_some_and(|choice| choice.words.is_empty())
    }

    /// Whether it can be an axis of a diagram: a number that matters on the plane.
    pub fn is_axis(&self) -> bool {
        self.range().is_some() && !self.is_for_vectors
    }

    pub const fn is_whole(&self) -> bool {
        matches!(self.kind, HyperparameterKind::Whole(_))
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

        const TABLE: &[$crate::optimizer::Hyperparameter] = &[
            $($crate::optimizer::Hyperparameter { key: stringify!($key), ..$definition },)*
            $crate::optimizer::Hyperparameter::mask(),
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

/// The name of the learning rate, or of a hyperparameter that some rule has and that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyperparameterName(&'static str);

const FORMAT: NameFormat = NameFormat {
    of: "Hyperparameter",
    expecting: "the name of a hyperparameter",
    built_in: HyperparameterName::built_in,
    typed: Some("OfTyped"),
};

impl HyperparameterName {
    pub const LEARNING_RATE: HyperparameterName = HyperparameterName("learning_rate");
    pub const WEIGHT_DECAY: HyperparameterName = HyperparameterName(Hyperparameter::WEIGHT_DECAY);

    /// Lists the keys of the learning rate and of the hyperparameters of the built-in rules.
    pub(crate) fn built_in() -> Vec<&'static str> {
        let mut keys = vec![HyperparameterName::LEARNING_RATE.0];
        for hyperparameter in RuleKind::ALL.iter().flat_map(|kind| kind.info().hyperparameters) {
            if hyperparameter.is_axis() && !keys.contains(&hyperparameter.key) {
                keys.push(hyperparameter.key);
            }
        }
        keys
    }

    pub fn new(key: &str) -> Option<HyperparameterName> {
        HyperparameterName::all().find(|name| name.0 == key)
    }

    /// All of them: the learning rate, those of the built-in rules, then those of the rules typed so far.
    pub fn all() -> impl Iterator<Item = HyperparameterName> {
        let mut names: Vec<HyperparameterName> =
            HyperparameterName::built_in().into_iter().map(HyperparameterName).collect();
        for hyperparameter in TypedRule::tables().into_iter().flatten() {
            if names.iter().all(|name| name.0 != hyperparameter.key) {
                names.push(HyperparameterName(hyperparameter.key));
            }
        }
        names.into_iter()
    }

    /// Returns the key in file formats.
    pub fn key(self) -> &'static str {
        self.0
    }

    /// Returns the hyperparameter of the first rule that has one of this name; `None` for the learning rate.
    pub fn hyperparameter(self) -> Option<&'static Hyperparameter> {
        let built_in = RuleKind::ALL.iter().map(|kind| kind.info().hyperparameters);
        let mut all = built_in.chain(TypedRule::tables()).flatten();
        all.find(|hyperparameter| hyperparameter.key == self.0 && hyperparameter.is_axis())
    }

    /// Whether `rule` depends on it.
    pub fn is_of(self, rule: &RuleSpec) -> bool {
        self == Self::LEARNING_RATE || rule.hyperparameter(self.0).is_some_and(Hyperparameter::is_axis)
    }
}

impl Serialize for HyperparameterName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FORMAT.serialize(self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for HyperparameterName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        FORMAT.deserialize(deserializer).map(HyperparameterName)
    }
}
