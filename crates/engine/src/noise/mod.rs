//! Kinds of noise of a gradient.
//!
//! A noise is a file of this folder and a line of [`noises!`]: its table of parameters, its source, whether it
//! multiplies the gradient or is added to it, and how its draws are made from normal ones. Every noise takes the same
//! two random numbers for a pair of coordinates, so that a choice of noise shifts no later draw.
//!
//! [`NoiseSpec`] is a noise with the values of its parameters, as in presets; [`GradientNoise`] is what kernels use.

mod apply;
mod name;
mod read;
mod spec;
mod write;

pub use apply::{Action, GradientNoise};
pub use name::NoiseParameterName;
pub use spec::NoiseSpec;

use crate::identifier;
use crate::instructions::{OfSet, OwnFunction, VectorSet};
use crate::lanes::Real;
use crate::parameter::{BoundedParameter, NOISE};
use crate::quantity::Noise;

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

/// The description of a noise.
#[derive(Debug)]
pub struct NoiseInfo {
    /// The name for users.
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
    pub parameters: &'static [BoundedParameter],
}

/// The standard deviation σ.
const SIGMA: BoundedParameter = BoundedParameter { parameter: NOISE, range: Noise::RANGE, default: 1.0 };

/// The most parameters of a noise.
const MOST_PARAMETERS: usize = 2;

/// Registers the kinds of noise: a file of this folder and the noise in it, a line each, in the order of menus.
macro_rules! noises {
    ($($module:ident::$noise:ident,)*) => {
        $(
            mod $module;
            pub use $module::$noise;
        )*

        /// A kind of noise.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum NoiseKind {
            $($noise,)*
        }

        impl NoiseKind {
            /// All kinds, in the order of menus.
            pub const ALL: &[NoiseKind] = &[$(NoiseKind::$noise),*];

            /// Returns the name in presets.
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

            /// Converts pairs of draws from Normal(0, 1) in a function of its own.
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
    /// Returns the noise of this name, as it is shown or as in presets, up to what [`identifier::folded`] leaves out.
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
