//! The metrics of particles that a landscape has besides the loss.

use super::{LandscapeInfo, LandscapeSpec};
use crate::language::{Token, TokenKind, tokens};

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
    /// Returns the name with the coordinate, such as `depth u`.
    pub fn title(&self) -> String {
        format!("{} {}", self.name, self.coordinate.symbol())
    }
}

impl LandscapeInfo {
    /// Returns the metric that this coordinate is on the landscape, if it is one.
    pub fn metric(&self, coordinate: Coordinate) -> Option<&'static LandscapeMetric> {
        self.metrics.iter().find(|metric| metric.coordinate == coordinate)
    }
}

impl LandscapeSpec {
    /// Returns the metric that this coordinate is on the landscape, if it is one.
    pub fn metric(&self, coordinate: Coordinate) -> Option<&'static LandscapeMetric> {
        self.info().metric(coordinate)
    }
}

/// The depth in a valley.
pub(super) const DEPTH: LandscapeMetric = LandscapeMetric {
    coordinate: Coordinate::U,
    name: "depth",
    explanation: "How far along the valley the particles are.",
};

/// The distance from the floor of a straight valley.
pub(super) const SPREAD: LandscapeMetric = LandscapeMetric {
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

/// Returns the metrics of a typed landscape: the coordinates u and v if its text uses them.
pub(super) fn of_text(text: &str) -> &'static [LandscapeMetric] {
    let is_coordinate =
        |token: &Token| token.kind == TokenKind::Name && ["u", "v"].contains(&&text[token.range.clone()]);
    if tokens(text).iter().any(is_coordinate) { &OF_TEXT } else { &[] }
}
