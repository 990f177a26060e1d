//! Landscapes: losses L(x, y) with their parameters, written once each.
//!
//! A landscape is a file of this folder and a line of [`landscapes!`]: its table of parameters, its source, its home
//! view and start, and its loss in the coordinates u and v, which φ turns. The gradient and the Hessian's diagonal are
//! derived from the loss ([`crate::loss`]), as are the heatmap's shader and the formulas on the screen. [`Valley`]
//! alone is evaluated by code of its own ([`NarrowValley`]), so that sweeps of the paper's landscape have it compiled
//! into their innermost loop.
//!
//! [`LandscapeSpec`] is a landscape with the values of its parameters, as in presets; [`Landscape`] evaluates it.

mod evaluate;
mod formula;
mod metric;
mod name;
mod narrow_valley;
mod parameter;
mod read;
mod rotation;
mod spec;
mod write;

pub use evaluate::{Landscape, Local, ProgramLandscape};
pub use formula::{CompiledLandscape, LandscapeFormula};
pub use metric::{Coordinate, LandscapeMetric};
pub use name::LandscapeParameterName;
pub use narrow_valley::{NarrowValley, Slopes, ValleyInSpace, ValleyTerms};
pub use rotation::Uv;
pub use spec::{LandscapeSpec, StartPlace};

use std::sync::LazyLock;

use crate::identifier;
use crate::loss::{Loss, LossProgram};
use crate::parameter::BoundedParameter;

/// A built-in landscape.
pub trait Definition: Loss {
    const INFO: LandscapeInfo;
}

/// The description of a landscape, besides its loss.
#[derive(Debug)]
pub struct LandscapeInfo {
    /// The name for users.
    pub name: &'static str,
    /// The loss as a formula, such as `(a/2) u²v² − cu`.
    pub formula: &'static str,
    /// A sentence that describes the landscape.
    pub about: &'static str,
    /// The publication of the landscape.
    pub source: &'static str,
    /// The parameters of the loss in the order in which it takes them, then the rotation φ.
    pub parameters: &'static [BoundedParameter],
    /// The metrics of particles besides the loss.
    pub metrics: &'static [LandscapeMetric],
    /// The start of particles, (x, y).
    pub start: [f64; 2],
    /// The view before the user moves it.
    pub home: HomeView,
}

/// The part of the plane that a landscape is first seen in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HomeView {
    pub center: [f64; 2],
    /// The width of the view in units of x and y.
    pub width: f64,
}

/// The most parameters of a landscape, with the rotation.
pub const MOST_PARAMETERS: usize = crate::loss::MOST_PARAMETERS + 1;

/// Registers the landscapes: a file of this folder and the landscape in it, a line each, in the order of menus.
macro_rules! landscapes {
    ($($module:ident::$landscape:ident,)*) => {
        $(
            mod $module;
            pub use $module::$landscape;
        )*

        /// A landscape: a built-in one or a typed one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum LandscapeKind {
            $($landscape,)*
            Formula(&'static LandscapeFormula),
        }

        impl LandscapeKind {
            /// All built-in landscapes, in the order of menus.
            pub const ALL: &[LandscapeKind] = &[$(LandscapeKind::$landscape),*];

            /// Returns the landscape's name in presets.
            pub fn key(self) -> &'static str {
                match self {
                    $(LandscapeKind::$landscape => stringify!($landscape),)*
                    LandscapeKind::Formula(_) => Self::FORMULA,
                }
            }

            pub fn info(self) -> &'static LandscapeInfo {
                match self {
                    $(LandscapeKind::$landscape => const { &<$landscape as Definition>::INFO },)*
                    LandscapeKind::Formula(formula) => formula.info(),
                }
            }

            /// Returns the loss with its derivatives as a program.
            pub fn program(self) -> &'static LossProgram {
                match self {
                    $(LandscapeKind::$landscape => {
                        static PROGRAM: LazyLock<LossProgram> = LazyLock::new(LossProgram::record::<$landscape>);
                        &PROGRAM
                    })*
                    LandscapeKind::Formula(formula) => formula.program(),
                }
            }
        }

        $(
            const _: () = assert!(<$landscape as Definition>::INFO.parameters.len() == <$landscape as Loss>::PARAMETERS + 1);
        )*
    };
}

landscapes! {
    valley::Valley,
    power_valley::PowerValley,
    bounded_valley::BoundedValley,
    river::River,
    two_valleys::TwoValleys,
    bumpy_valley::BumpyValley,
    quadratic::Quadratic,
    rosenbrock::Rosenbrock,
    beale::Beale,
    himmelblau::Himmelblau,
    rastrigin::Rastrigin,
    saddle::Saddle,
    factorization::Factorization,
}

impl LandscapeKind {
    /// The key of typed landscapes in presets.
    pub const FORMULA: &str = "Formula";

    /// Returns the name that is shown.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Returns the typed landscape, if it is one.
    pub fn formula(self) -> Option<&'static LandscapeFormula> {
        match self {
            LandscapeKind::Formula(formula) => Some(formula),
            _ => None,
        }
    }

    /// Finds the built-in landscape with this name, as it is shown or as in presets, up to what [`identifier::folded`] leaves out.
    pub fn named(name: &str) -> Option<LandscapeKind> {
        identifier::named(Self::ALL, |kind| [kind.name(), kind.key()], name)
    }
}
