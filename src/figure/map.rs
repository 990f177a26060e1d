//! Maps: the quantities by which the cells of a diagram are coloured.

use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::sweep::{Cell, Diagram, Metric};
use valleyscope_experiments::view::{pale, sweep_colors};

use super::scale::Scale;

/// The quantity that is shown for each cell of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map {
    /// The best optimizer, in its own colour; with `certainty`, mixed with white where the winner is less certain.
    Winner { certainty: bool },
    /// An optimizer's best average over its learning rates.
    Score(usize),
    /// The learning rate of an optimizer's score.
    BestRate(usize),
    /// The standard deviation over replicates of an optimizer's metric at its best learning rate.
    Spread(usize),
    /// The advantage of the first optimizer's score over the second's.
    Difference(usize, usize),
}

/// A picture with a pixel for each cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapImage {
    /// Columns of the diagram.
    pub width: usize,
    /// Rows of the diagram.
    pub height: usize,
    /// Red, green, blue and opacity (always full), line by line from the top: the diagram's last row first.
    pub rgba: Vec<u8>,
}

/// A colour and its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swatch {
    /// The colour; none for a text that explains other colours.
    pub color: Option<[u8; 3]>,
    pub text: String,
}

/// The colour of an unknown cell, in figures.
const UNKNOWN: [u8; 3] = [205, 205, 205];
/// The colour of a cell whose best scores are equal.
const TIE: [u8; 3] = [70, 70, 70];
/// The colour of a cell whose value is not finite, as runs diverged at every learning rate.
const DIVERGED: [u8; 3] = [120, 120, 120];

/// The content of a cell.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Unknown,
    Tie,
    Diverged,
    Winner(usize, f64),
    Value(f64),
}

impl MapImage {
    /// Returns the colour of a cell.
    pub fn cell(&self, row: usize, column: usize) -> [u8; 3] {
        let at = 4 * ((self.height - 1 - row) * self.width + column);
        [self.rgba[at], self.rgba[at + 1], self.rgba[at + 2]]
    }
}

impl Map {
    /// Returns the picture of the map in a figure.
    pub fn image(self, diagram: &Diagram, metric: Metric) -> MapImage {
        self.image_with(diagram, metric, UNKNOWN)
    }

    /// Returns the picture of the map with this colour for cells that are not known.
    pub fn image_with(self, diagram: &Diagram, metric: Metric, unknown: [u8; 3]) -> MapImage {
        let [height, width] = diagram.spec().shape();
        let scale = self.scale(diagram, metric);
        let colors = sweep_colors(&diagram.spec().optimizers);
        let mut rgba = Vec::with_capacity(4 * width * height);
        for pixel in (0..height).rev().flat_map(|row| (0..width).map(move |column| [row, column])) {
            let [red, green, blue] = match (self.content(diagram, metric, pixel), &scale) {
                (Content::Winner(index, certainty), _) => pale(colors[index], certainty),
                (Content::Value(value), Some(scale)) => scale.rgb(value),
                (Content::Tie, _) => TIE,
                (Content::Diverged, _) => DIVERGED,
                (Content::Unknown | Content::Value(_), _) => unknown,
            };
            rgba.extend([red, green, blue, u8::MAX]);
        }
        MapImage { width, height, rgba }
    }

    /// Returns the colour scale; `None` for winners, which have their own colours. Scores and spreads of all optimizers
    /// share a scale, so that they can be compared, and so do all differences and all learning rates.
    pub fn scale(self, diagram: &Diagram, metric: Metric) -> Option<Scale> {
        let count = diagram.spec().optimizers.len();
        let kind: Vec<Map> = match self {
            Map::Winner { .. } => return None,
            Map::Score(_) => (0..count).map(Map::Score).collect(),
            Map::Spread(_) => (0..count).map(Map::Spread).collect(),
            Map::BestRate(_) => (0..count).map(Map::BestRate).collect(),
            Map::Difference(..) => {
                (0..count).flat_map(|one| (one + 1..count).map(move |other| Map::Difference(one, other))).collect()
            }
        };
        let mut values = Vec::new();
        for cell in cells(diagram).filter_map(|pixel| Some((pixel, diagram.cell(pixel)?))) {
            values.extend(kind.iter().map(|map| map.value(diagram, metric, cell.0, cell.1)));
        }
        values.retain(|value| value.is_finite());
        Some(match self {
            Map::BestRate(_) => Scale::log(values),
            Map::Difference(..) => Scale::diverging(values),
            _ => Scale::linear(values),
        })
    }

    /// Returns the colours in a figure that need a name: those of winners, and of cells without a value.
    pub fn legend(self, diagram: &Diagram, metric: Metric) -> Vec<Swatch> {
        self.legend_with(diagram, metric, UNKNOWN)
    }

    /// Returns the colours that need a name in a picture with this colour for cells that are not known.
    pub fn legend_with(self, diagram: &Diagram, metric: Metric, unknown: [u8; 3]) -> Vec<Swatch> {
        let [mut ties, mut diverged, mut unknowns] = [false; 3];
        for pixel in cells(diagram) {
            match self.content(diagram, metric, pixel) {
                Content::Tie => ties = true,
                Content::Diverged => diverged = true,
                Content::Unknown => unknowns = true,
                Content::Winner(..) | Content::Value(_) => {}
            }
        }
        let swatch = |color: [u8; 3], text: &str| Swatch { color: Some(color), text: text.to_owned() };
        let mut legend = Vec::new();
        if let Map::Winner { certainty } = self {
            let (colors, names) = (sweep_colors(&diagram.spec().optimizers), diagram.spec().shown_names());
            legend.extend(colors.iter().zip(&names).map(|(color, name)| swatch(*color, name)));
            let is_known = |pixel| diagram.cell(pixel).is_none_or(|cell| cell.replicates >= Cell::FEWEST_TO_BE_SURE);
            if certainty && cells(diagram).any(is_known) {
                legend.push(Swatch { color: None, text: "paler: less certain, to 50 %".to_owned() });
            } else if certainty {
                legend.push(Swatch { color: None, text: "pale: too few replicates to be certain".to_owned() });
            }
        }
        let rare = [(ties, TIE, "tie"), (diverged, DIVERGED, "diverged"), (unknowns, unknown, "not computed")];
        legend.extend(rare.into_iter().filter(|(there, ..)| *there).map(|(_, color, text)| swatch(color, text)));
        legend
    }

    /// Returns this map if the diagram has its optimizers, else the map of winners.
    pub fn within(self, diagram: &Diagram) -> Map {
        let count = diagram.spec().optimizers.len();
        match self {
            Map::Score(index) | Map::BestRate(index) | Map::Spread(index) if index >= count => {
                Map::Winner { certainty: true }
            }
            Map::Difference(one, other) if one.max(other) >= count => Map::Winner { certainty: true },
            map => map,
        }
    }

    /// Returns the optimizers that the map shows.
    pub fn subject(self, diagram: &Diagram) -> Option<String> {
        let names = diagram.spec().shown_names();
        match self {
            Map::Winner { .. } => None,
            Map::Score(index) | Map::BestRate(index) | Map::Spread(index) => Some(names[index].clone()),
            Map::Difference(one, other) => Some(format!("{} over {}", names[one], names[other])),
        }
    }

    /// Returns the quantity that the colours show on this landscape, without the optimizers.
    pub fn quantity(self, landscape: &LandscapeSpec, metric: Metric) -> String {
        let metric_name = metric.label(landscape);
        match self {
            Map::Winner { .. } => "winner".to_owned(),
            Map::Score(_) => metric_name.to_owned(),
            Map::BestRate(_) => "best learning rate η".to_owned(),
            Map::Spread(_) => format!("deviation of {metric_name}"),
            Map::Difference(..) => format!("advantage in {metric_name}"),
        }
    }

    /// Returns the number that determines a cell's colour; a difference is infinite if a score is not finite.
    fn value(self, diagram: &Diagram, metric: Metric, pixel: [usize; 2], cell: &Cell) -> f64 {
        let score = |index: usize| cell.score(index, metric);
        match self {
            Map::Winner { .. } => f64::NAN,
            Map::Score(index) => score(index).value,
            Map::BestRate(index) if score(index).value.is_finite() => {
                diagram.learning_rate(pixel, index, score(index).best_rate)
            }
            Map::BestRate(_) => f64::NAN,
            Map::Spread(index) => cell.score_deviation(index, metric),
            Map::Difference(one, other) => metric.advantage(score(one).value, score(other).value),
        }
    }

    fn content(self, diagram: &Diagram, metric: Metric, pixel: [usize; 2]) -> Content {
        let Some(cell) = diagram.cell(pixel) else { return Content::Unknown };
        if let Map::Winner { certainty } = self {
            let comparison = cell.comparison(metric);
            let mut scores = (0..diagram.spec().optimizers.len()).map(|index| cell.score(index, metric).value);
            return match comparison.winner {
                None if scores.any(f64::is_finite) => Content::Tie,
                None => Content::Diverged,
                Some(winner) if certainty => Content::Winner(winner, comparison.certainty().unwrap_or(0.0)),
                Some(winner) => Content::Winner(winner, 1.0),
            };
        }
        let value = self.value(diagram, metric, pixel, cell);
        let is_shown = value.is_finite() || matches!(self, Map::Difference(..)) && !value.is_nan();
        if is_shown { Content::Value(value) } else { Content::Diverged }
    }
}

fn cells(diagram: &Diagram) -> impl Iterator<Item = [usize; 2]> + use<> {
    let [rows, columns] = diagram.spec().shape();
    (0..rows).flat_map(move |row| (0..columns).map(move |column| [row, column]))
}
