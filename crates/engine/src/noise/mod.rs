//! Kinds of noise of a gradient.
//!
//! A noise is a file of this folder and a line of [`noises!`]: its table of parameters, its source, whether it
//! multiplies the gradient or is added to it, and how its draws are made from normal ones. Every noise takes the same
//! two random numbers for a pair of coordinates, so that a choice of noise shifts no later draw.
//!
//! [`NoiseSpec`] is a noise with the values of its parameters, as in presets; [`GradientNoise`] is what kernels use.

use std::collections::BTreeMap;
use std::ops::{Add, Mul};

use serde::ser::SerializeTupleVariant;
use serde::{Deserialize, Serialize, Serializer, de};

use crate::configured::{Configured, Kind};
use crate::identifier;
use crate::instructions::{OfSet, OwnFunction, VectorSet};
use crate::lanes::Real;
use crate::quantity::Noise;
use crate::setting::{NOISE, SettingInfo, SettingValue};

/// A kind of noise.
pub trait Definition {
    const INFO: NoiseInfo;
    /// Whether the draws are normal ones, which [`Definition::shaped`] leaves as they are.
    const IS_NORMAL: bool = true;

    /// Converts two independent draws from Normal(0, 1) into draws of the noise, with mean 0 and variance 1. `shape` is
    /// the value of the parameter after σ, if there is one.
    #[inline(always)]
    fn shaped<R: Real>(pair: [R; 2], _shape: f64) -> [R; 2] {
        pair
    }
}

#[derive(Debug)]
pub struct NoiseInfo {
    pub name: &'static str,
    /// The noisy gradient as a formula, such as `g + σξ, ξ ~ Normal(0, 1)`.
    pub formula: &'static str,
    /// The distribution of the factor or term ξ, such as `ξ ~ Normal(1, σ)`.
    pub draw: &'static str,
    /// A sentence that describes the noise.
    pub about: &'static str,
    pub source: &'static str,
    pub action: Action,
    /// The standard deviation σ, then at most one parameter of the distribution's shape.
    pub parameters: &'static [SettingInfo],
}

/// The standard deviation σ.
const SIGMA: SettingInfo = NOISE;

const MOST_PARAMETERS: usize = 2;

/// Registers the kinds of noise: a file of this folder and the noise in it, a line each, in the order of menus.
macro_rules! noises {
    ($($module:ident::$noise:ident,)*) => {
        $(
            mod $module;
            pub use $module::$noise;
        )*

        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum NoiseKind {
            $($noise,)*
        }

        impl NoiseKind {
            /// All kinds, in the order of menus.
            pub const ALL: &[NoiseKind] = &[$(NoiseKind::$noise),*];

            pub fn key(self) -> &'static str {
                match self {
                    $(NoiseKind::$noise => stringify!($noise),)*
                }
            }

            pub fn info(self) -> &'static NoiseInfo {
                match self {
                    $(NoiseKind::$noise => const { &<$noise as Definition>::INFO },)*
                }
            }

            fn is_normal(self) -> bool {
                match self {
                    $(NoiseKind::$noise => <$noise as Definition>::IS_NORMAL,)*
                }
            }

            /// Converts pairs of draws from Normal(0, 1) in a separate function.
            fn shape<R: Real + OfSet>(self, pairs: &mut [[R; 2]], shape: f64) {
                match self {
                    $(NoiseKind::$noise => R::Set::in_function(Shape { noise: $noise, pairs, shape }),)*
                }
            }
        }

        $(
            const _: () = {
                let parameters = <$noise as Definition>::INFO.parameters.len();
                assert!(1 <= parameters && parameters <= MOST_PARAMETERS);
            };
        )*
    };
}

noises! {
    multiplicative::Multiplicative,
    additive::Additive,
    heavy_tailed::HeavyTailed,
}

impl NoiseKind {
    /// The noise of this name, as shown or as in presets, compared after [`identifier::folded`].
    pub fn named(name: &str) -> Option<NoiseKind> {
        identifier::named(Self::ALL, |kind| [kind.info().name, kind.key()], name)
    }
}

struct Shape<'a, D, R> {
    #[expect(dead_code, reason = "it names the noise")]
    noise: D,
    pairs: &'a mut [[R; 2]],
    shape: f64,
}

impl<D: Definition, R: Real> OwnFunction for Shape<'_, D, R> {
    type Output = ();
    type Home = D;

    #[inline(always)]
    fn run(self) {
        for pair in self.pairs {
            *pair = D::shaped(*pair, self.shape);
        }
    }
}

/// How noise acts on a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Each coordinate is multiplied by a factor, whose mean is 1.
    Multiplies,
    /// A term whose mean is 0 is added to each coordinate.
    Adds,
}

impl Action {
    pub fn mean(self) -> f64 {
        match self {
            Action::Multiplies => 1.0,
            Action::Adds => 0.0,
        }
    }

    /// Applies factors or terms of the noise to exact values.
    #[inline(always)]
    pub fn apply<R: Real>(self, exact: [R; 2], noise: [R; 2]) -> [R; 2] {
        [self.apply_to(exact[0], noise[0]), self.apply_to(exact[1], noise[1])]
    }

    /// Applies a factor or a term of the noise to an exact value.
    #[inline(always)]
    pub fn apply_to<N: Add<Output = N> + Mul<Output = N>>(self, exact: N, noise: N) -> N {
        match self {
            Action::Multiplies => exact * noise,
            Action::Adds => sum(exact, noise),
        }
    }
}

/// Adds two numbers; cold, so that the compiler favours steps with factors.
#[cold]
#[inline(always)]
fn sum<N: Add<Output = N>>(exact: N, noise: N) -> N {
    exact + noise
}

/// A noise with the values of its parameters, as kernels use it. Its factors or terms are `mean + σξ`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientNoise {
    pub kind: NoiseKind,
    pub action: Action,
    /// The mean of the factors or terms, that of the action.
    pub mean: f64,
    /// The standard deviation σ.
    pub sigma: f64,
    /// The value of the parameter after σ; 0 without one.
    shape: f64,
    is_normal: bool,
}

impl GradientNoise {
    fn new(kind: NoiseKind, sigma: f64, shape: f64) -> GradientNoise {
        let action = kind.info().action;
        GradientNoise { kind, action, mean: action.mean(), sigma, shape, is_normal: kind.is_normal() }
    }

    /// Converts pairs of draws from Normal(0, 1) into draws of the noise.
    #[inline(always)]
    pub fn shape<R: Real + OfSet>(&self, pairs: &mut [[R; 2]]) {
        if !self.is_normal {
            self.kind.shape(pairs, self.shape);
        }
    }
}

/// A noise with the values of its parameters, σ first.
pub type NoiseSpec = Configured<NoiseKind, MOST_PARAMETERS>;

impl Kind for NoiseKind {
    const SETTINGS: [&'static str; 2] = ["a parameter of the noise", "parameters"];

    fn table(self) -> &'static [SettingInfo] {
        self.info().parameters
    }
}

impl From<NoiseKind> for NoiseSpec {
    fn from(kind: NoiseKind) -> NoiseSpec {
        NoiseSpec::new(kind)
    }
}

impl From<Noise> for NoiseSpec {
    /// Multiplicative noise, the paper's, with this σ.
    fn from(sigma: Noise) -> NoiseSpec {
        NoiseSpec::new(NoiseKind::Multiplicative).with_sigma(sigma)
    }
}

impl NoiseSpec {
    pub fn info(&self) -> &'static NoiseInfo {
        self.kind.info()
    }

    pub fn sigma(&self) -> f64 {
        self.values[0]
    }

    pub fn with_sigma(mut self, sigma: Noise) -> NoiseSpec {
        self.values[0] = sigma.get();
        self
    }

    /// Lists the parameters at their paths in a preset: `noise` for σ.
    pub(crate) fn settings(&self) -> impl Iterator<Item = SettingValue> + use<> {
        self.parameters().map(|(of, value)| match of.key == NOISE.key {
            true => SettingValue::new(NOISE.key, of, value),
            false => SettingValue::new(format!("noise.{}", of.key), of, value),
        })
    }

    /// Takes the other noise's values of the parameters that both have.
    pub fn in_place_of(mut self, before: &NoiseSpec) -> NoiseSpec {
        for (value, of) in self.values.iter_mut().zip(self.kind.info().parameters) {
            *value = before.get(of.key).unwrap_or(*value);
        }
        self
    }

    pub fn noise(&self) -> GradientNoise {
        GradientNoise::new(self.kind, self.values[0], self.values[1])
    }

    /// Formats the noise with its values, such as `σ = 1` for the paper's noise and `additive noise, σ = 0.5`.
    pub fn text_with(&self, number: impl Fn(f64) -> String) -> String {
        let values = self.parameters().map(|(of, value)| of.with(number(value)));
        self.kind_text().into_iter().chain(values).collect::<Vec<_>>().join(", ")
    }

    /// Formats what differs from another noise: the kind, and values.
    pub fn differences(&self, other: &NoiseSpec, number: impl Fn(f64) -> String) -> Vec<String> {
        let kind = (self.kind != other.kind).then(|| format!("{} noise", self.info().name.to_lowercase()));
        let values = self.parameters().filter(|(of, value)| other.get(of.key) != Some(*value));
        kind.into_iter().chain(values.map(|(of, value)| of.with(number(value)))).collect()
    }

    /// Completes the value that a command sets instead of this noise: a number alone is σ of the same kind, and a name
    /// alone keeps the values that both kinds have. Returns `None` for a value that is neither a number nor a noise.
    pub fn changed_by(&self, value: &str) -> Option<String> {
        let value = value.trim();
        let (name, values) = value.split_at(value.find('(').unwrap_or(value.len()));
        match NoiseKind::named(name) {
            Some(kind) if values.is_empty() => Some(NoiseSpec::new(kind).in_place_of(self).text(None)),
            Some(kind) => Some(format!("{}{values}", kind.key())),
            None if value.parse::<f64>().is_ok() => Some(self.text(Some(value))),
            None => None,
        }
    }

    /// The noise as it is written in a preset, with another text for σ.
    fn text(&self, sigma: Option<&str>) -> String {
        let mut values = self.parameters().map(|(_, value)| value.to_string()).collect::<Vec<_>>();
        if let Some(sigma) = sigma {
            sigma.clone_into(&mut values[0]);
        }
        format!("{}({})", self.kind.key(), values.join(", "))
    }

    fn kind_text(&self) -> Option<String> {
        (self.kind != NoiseKind::Multiplicative).then(|| format!("{} noise", self.info().name.to_lowercase()))
    }
}

impl<'de> Deserialize<'de> for NoiseSpec {
    /// Reads a noise: a number is σ of multiplicative noise, and `HeavyTailed(1.0, 3.0)` gives all values of a kind.
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<NoiseSpec, D::Error> {
        let named = |(name, values): (String, Values)| Some((NoiseKind::named(&name)?, values));
        let written = match Written::deserialize(deserializer)? {
            Written::Number(sigma) => Some((NoiseKind::Multiplicative, Values::One(sigma))),
            Written::Kind(call) if call.len() == 1 => call.into_iter().find_map(named),
            Written::Kind(_) | Written::Other(de::IgnoredAny) => None,
        };
        match written {
            Some((kind, Values::One(value))) => noise(kind, &[value]),
            Some((kind, Values::Some(values))) => noise(kind, &values),
            None => Err(de::Error::custom(wanted())),
        }
    }
}

fn noise<E: de::Error>(kind: NoiseKind, values: &[f64]) -> Result<NoiseSpec, E> {
    let NoiseInfo { parameters, .. } = kind.info();
    if values.len() != parameters.len() {
        return Err(E::custom(format!("expected `{}`", form(kind))));
    }
    let mut spec = NoiseSpec::new(kind);
    for (of, value) in parameters.iter().zip(values) {
        spec.set(of.key, *value).map_err(E::custom)?;
    }
    Ok(spec)
}

/// Lists what may be written. The reader of presets adds what was found.
fn wanted() -> String {
    let kinds: Vec<String> = NoiseKind::ALL.iter().map(|kind| format!("`{}`", form(*kind))).collect();
    format!("expected a number or one of {}", kinds.join(", "))
}

/// The form of a noise in presets, such as `HeavyTailed(σ, ν)`.
fn form(kind: NoiseKind) -> String {
    let symbols: Vec<&str> = kind.info().parameters.iter().map(|of| of.symbol).collect();
    format!("{}({})", kind.key(), symbols.join(", "))
}

/// A noise as written in a preset. RON is read as a map with one entry if a name precedes values.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Kind(BTreeMap<String, Values>),
    Other(de::IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    One(f64),
    Some(Vec<f64>),
}

impl Serialize for NoiseSpec {
    /// Writes multiplicative noise as its σ, and other noise as a variant of an enum with its values.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = self.kind();
        if kind == NoiseKind::Multiplicative {
            return serializer.serialize_f64(self.sigma());
        }
        let parameters = kind.info().parameters.len();
        let mut variant = serializer.serialize_tuple_variant("Noise", kind as u32, kind.key(), parameters)?;
        for (_, value) in self.parameters() {
            variant.serialize_field(&value)?;
        }
        variant.end()
    }
}
