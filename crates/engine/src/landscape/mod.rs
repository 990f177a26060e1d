//! Landscapes: losses L(x, y) with their parameters, written once each.
//!
//! A landscape is a file of this folder and a line of [`landscapes!`]: its table of parameters, its source, its home
//! view and start, and its loss in the coordinates u and v, which φ turns. The gradient and the Hessian's diagonal are
//! derived from the loss ([`crate::loss`]), as are the heatmap's shader and the formulas on the screen. [`Valley`]
//! alone is evaluated by specific code ([`NarrowValley`]), so that sweeps of the paper's landscape have it compiled
//! into their innermost loop.
//!
//! [`LandscapeSpec`] is a landscape with the values of its parameters, as in presets; [`Landscape`] evaluates it.

mod evaluate;
mod spec;

pub use evaluate::{Landscape, Local, NarrowValley, ProgramLandscape, Slopes, ValleyInSpace, ValleyTerms};
pub use spec::{CompiledLandscape, LandscapeFormula, LandscapeSpec, StartPosition};

use std::sync::LazyLock;

use crate::expression::Algebra;
use crate::identifier;
use crate::language::{Token, TokenKind, tokens};
use crate::loss::LossProgram;
use crate::quantity::Range;
use crate::setting::{Extent, SettingInfo};

/// A built-in landscape, with so many parameters of its loss.
pub trait Definition<const PARAMETERS: usize> {
    const INFO: LandscapeInfo;

    /// The loss, written once for all kinds of numbers.
    fn loss<A: Algebra>(parameters: [A; PARAMETERS], at: [A; 2]) -> A;
}

/// Whether the table of a landscape has an entry for each parameter of its loss, and the rotation.
const fn has_whole_table<const PARAMETERS: usize, L: Definition<PARAMETERS>>() -> bool {
    L::INFO.parameters.len() == PARAMETERS + 1
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
    pub source: &'static str,
    /// The parameters of the loss in the order in which it takes them, then the rotation φ.
    pub parameters: &'static [SettingInfo],
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

            /// The landscape's name in presets.
            pub fn key(self) -> &'static str {
                match self {
                    $(LandscapeKind::$landscape => stringify!($landscape),)*
                    LandscapeKind::Formula(_) => Self::FORMULA,
                }
            }

            pub fn info(self) -> &'static LandscapeInfo {
                match self {
                    $(LandscapeKind::$landscape => const { &<$landscape as Definition<_>>::INFO },)*
                    LandscapeKind::Formula(formula) => formula.info(),
                }
            }

            pub fn program(self) -> &'static LossProgram {
                match self {
                    $(LandscapeKind::$landscape => {
                        static PROGRAM: LazyLock<LossProgram> = LazyLock::new(|| {
                            LossProgram::record(|parameters, at| <$landscape as Definition<_>>::loss(parameters, at))
                        });
                        &PROGRAM
                    })*
                    LandscapeKind::Formula(formula) => formula.program(),
                }
            }
        }

        $(
            const _: () = assert!(has_whole_table::<_, $landscape>());
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

    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The typed landscape, if it is one.
    pub fn formula(self) -> Option<&'static LandscapeFormula> {
        match self {
            LandscapeKind::Formula(formula) => Some(formula),
            _ => None,
        }
    }

    /// Finds the built-in landscape with this name, as shown or as in presets, compared after [`identifier::folded`].
    pub fn named(name: &str) -> Option<LandscapeKind> {
        identifier::named(Self::ALL, |kind| [kind.name(), kind.key()], name)
    }
}

/// A metric of particles that a landscape has besides the loss: one of its coordinates, under the name that it has
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LandscapeMetric {
    pub coordinate: Coordinate,
    /// The name before the coordinate's symbol, such as `depth`.
    pub name: &'static str,
    /// A sentence about what it measures.
    pub explanation: &'static str,
}

/// A coordinate of a particle in the axes that a landscape's rotation turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinate {
    /// u
    U,
    /// |v|
    AbsV,
}

impl Coordinate {
    pub fn symbol(self) -> &'static str {
        match self {
            Coordinate::U => "u",
            Coordinate::AbsV => "|v|",
        }
    }
}

impl LandscapeMetric {
    /// The name with the coordinate, such as `depth u`.
    pub fn title(&self) -> String {
        format!("{} {}", self.name, self.coordinate.symbol())
    }
}

impl LandscapeInfo {
    pub fn metric(&self, coordinate: Coordinate) -> Option<&'static LandscapeMetric> {
        self.metrics.iter().find(|metric| metric.coordinate == coordinate)
    }
}

impl LandscapeSpec {
    pub fn metric(&self, coordinate: Coordinate) -> Option<&'static LandscapeMetric> {
        self.info().metric(coordinate)
    }
}

const DEPTH: LandscapeMetric = LandscapeMetric {
    coordinate: Coordinate::U,
    name: "depth",
    explanation: "How far along the valley the particles are.",
};

/// The distance from the floor of a straight valley.
const SPREAD: LandscapeMetric = LandscapeMetric {
    coordinate: Coordinate::AbsV,
    name: "spread",
    explanation: "How far from the valley's floor the particles are.",
};

/// The metrics of a typed landscape whose text uses u or v.
const OF_TEXT: [LandscapeMetric; 2] = [
    LandscapeMetric {
        coordinate: Coordinate::U,
        name: "reach",
        explanation: "How far along the coordinate u of the landscape's text the particles are.",
    },
    LandscapeMetric {
        coordinate: Coordinate::AbsV,
        name: "distance",
        explanation: "How far from v = 0 in the landscape's text the particles are.",
    },
];

/// The metrics of a typed landscape: the coordinates u and v if its text uses them.
fn of_text(text: &str) -> &'static [LandscapeMetric] {
    let is_coordinate =
        |token: &Token| token.kind == TokenKind::Name && ["u", "v"].contains(&&text[token.range.clone()]);
    if tokens(text).iter().any(is_coordinate) { &OF_TEXT } else { &[] }
}

/// Sharpness a of a valley's walls.
const SHARPNESS: SettingInfo = SettingInfo::number("a", "Sharpness a", Range::new("sharpness", 1e-6, 1e6))
    .slider(0.1, 1000.0)
    .logarithmic()
    .help("How steep the valley's walls are: the factor of the loss across it.")
    .paper("10 in the examples, 0.1 to 1000 in the phase diagram")
    .default(10.0);

/// Slope c along a valley.
const SLOPE: SettingInfo = SettingInfo::number("c", "Slope c", Range::new("slope", -100.0, 100.0))
    .slider(0.0, 1.0)
    .help("How steeply the floor of the valley falls along u. It is what drives every optimizer onward.")
    .paper("0.1")
    .axis(Extent::logarithmic(0.01, 1.0))
    .default(0.1);

/// Rotation φ of a landscape, in degrees counter-clockwise.
const ROTATION: SettingInfo = SettingInfo::number("φ", "Rotation φ (°)", Range::new("rotation_degrees", -360.0, 360.0))
    .slider(-90.0, 90.0)
    .unit("°")
    .help(
        "The angle between u and the x axis, counter-clockwise. Optimizers that work on each coordinate alone behave \
             differently when a valley is not along an axis.",
    )
    .paper("30")
    .axis(Extent::linear(0.0, 90.0))
    .default(0.0);
