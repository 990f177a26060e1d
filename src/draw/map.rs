//! Maps: the quantities by which the cells of a diagram are coloured, and the sides of a map.

use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::setting::Key;
use valleyscope_engine::sweep;
use valleyscope_engine::sweep::{Cell, Diagram, Metric, SweepSpec, tuned_label, tuned_spacing};
use valleyscope_experiments::view::ticks::short;
use valleyscope_experiments::view::{AxisScale, OwnColors, assigned_colors, faded};

use super::axis::{Axis, ticks};
use super::canvas::MapImage;
use super::scale::{Mark, Scale};
use crate::sweep::titles::axis_label;

/// The quantity that is shown for each cell of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map {
    /// The best optimizer, in its own colour; with `certainty`, mixed with white where the winner is less certain.
    Winner { certainty: bool },
    /// An optimizer's best average over its candidates.
    Score(usize),
    /// The learning rate of an optimizer's score.
    BestRate(usize),
    /// The value of a tuned setting of an optimizer's score.
    BestValue(usize, Key),
    /// The standard deviation over replicates of an optimizer's metric of its best candidate.
    Spread(usize),
    /// The advantage of the first optimizer's score over the second's.
    Difference(usize, usize),
    /// The number of runs of all optimizers, which adaptive sampling spends where the winner is open.
    Runs,
    /// The winners as for [`Map::Winner`] with certainty, and beside them the pixels in the triangle of the shares of
    /// Adam's gradients.
    Triangle,
}

/// A colour and its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swatch {
    /// The colour; none for a text that explains other colours.
    pub color: Option<[u8; 3]>,
    pub text: String,
}

/// The colours of maps that are shown together.
#[derive(Clone, Debug, PartialEq)]
pub struct MapColors {
    /// The optimizers, in their order.
    pub winners: Vec<SharedOptimizer>,
    /// The scale of values; none for a map of winners.
    pub scale: Option<Scale>,
    /// The colour of cells that are not known.
    pub unknown: [u8; 3],
}

/// The colour of an unknown cell, in figures.
pub(super) const UNKNOWN: [u8; 3] = [205, 205, 205];
/// The colour of a cell whose best scores are equal.
const TIE: [u8; 3] = [70, 70, 70];
/// The colour of a cell whose value is not finite, as runs of every candidate diverged.
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

/// An optimizer of a sweep that is shown together with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedOptimizer {
    /// Equal for optimizers of several sweeps that have one colour and one letter.
    pub identity: String,
    /// The name with the settings that differ among the sweeps.
    pub name: String,
    pub color: [u8; 3],
}

/// The optimizers of several sweeps that are shown together, each sweep's in its order. Those of the same name and rule
/// have the same colour in all sweeps, that of the first.
pub fn shared_optimizers(specs: &[&SweepSpec]) -> Vec<Vec<SharedOptimizer>> {
    let names = SweepSpec::names_together(specs);
    let mut distinct: Vec<(String, OwnColors)> = Vec::new();
    let mut indices: Vec<Vec<usize>> = Vec::new();
    for (spec, names) in specs.iter().zip(&names) {
        let mut of_spec: Vec<usize> = Vec::new();
        for (name, optimizer) in names.iter().zip(&spec.optimizers) {
            let home = optimizer.rule.rgb();
            // A setting that differs between sweeps makes no other optimizer, one that differs within a sweep does.
            let label = optimizer.label();
            let identity = if is_unique(label, specs) { label } else { name.as_str() };
            let is_same = |(other, (_, its_home)): &(String, OwnColors)| other == identity && *its_home == home;
            let known = (0..distinct.len()).find(|index| is_same(&distinct[*index]) && !of_spec.contains(index));
            of_spec.push(known.unwrap_or(distinct.len()));
            if known.is_none() {
                distinct.push((identity.to_owned(), (optimizer.color, home)));
            }
        }
        indices.push(of_spec);
    }
    let colors = assigned_colors(distinct.iter().map(|(_, own)| *own));
    let shared = |(index, name): (usize, String)| {
        let identity = distinct[index].0.clone();
        SharedOptimizer { identity, name, color: colors[index] }
    };
    indices
        .into_iter()
        .zip(names)
        .map(|(indices, names)| indices.into_iter().zip(names).map(shared).collect())
        .collect()
}

fn is_unique(label: &str, specs: &[&SweepSpec]) -> bool {
    specs.iter().all(|spec| spec.optimizers.iter().filter(|optimizer| optimizer.label() == label).count() <= 1)
}

/// The optimizer of a diagram whose best value is shown beside that of another sweep's: the one with the same name if
/// it tunes the setting, else one with the same label that does, else the first that does.
fn tuning(setting: Key, same: usize, from: &SweepSpec, index: usize, to: &Diagram) -> usize {
    let optimizers = &to.spec().optimizers;
    let tunes = |at: &usize| optimizers.get(*at).is_some_and(|optimizer| optimizer.tuned(setting).is_some());
    let all = || (0..optimizers.len()).filter(tunes);
    let label = from.optimizers[index].label();
    let of_label = all().find(|at| optimizers[*at].label() == label);
    Some(same).filter(tunes).or(of_label).or(all().next()).unwrap_or(same)
}

impl Map {
    /// Returns whether the winners' colours show their certainty; `None` for a map that shows no winners.
    pub fn winners_with_certainty(self) -> Option<bool> {
        match self {
            Map::Winner { certainty } => Some(certainty),
            Map::Triangle => Some(true),
            _ => None,
        }
    }

    /// The picture of the map in a figure.
    pub fn image(self, diagram: &Diagram, metric: Metric) -> MapImage {
        self.image_with(diagram, metric, &self.colors(diagram, metric, UNKNOWN))
    }

    /// The colours of the map of a diagram that is shown alone, with this one for cells that are not known.
    pub fn colors(self, diagram: &Diagram, metric: Metric, unknown: [u8; 3]) -> MapColors {
        let winners = shared_optimizers(&[diagram.spec()]).pop().unwrap_or_default();
        MapColors {
            scale: self.shared_scale(&[diagram], metric).map(|scale| self.colored(scale, &winners)),
            winners,
            unknown,
        }
    }

    /// The picture of the map in these colours.
    pub fn image_with(self, diagram: &Diagram, metric: Metric, colors: &MapColors) -> MapImage {
        let [height, width] = diagram.spec().shape();
        let mut rgba = Vec::with_capacity(4 * width * height);
        for pixel in (0..height).rev().flat_map(|row| (0..width).map(move |column| [row, column])) {
            let [red, green, blue] = match (self.content(diagram, metric, pixel), &colors.scale) {
                (Content::Winner(index, certainty), _) => faded(colors.winners[index].color, certainty),
                (Content::Value(value), Some(scale)) => scale.rgb(value),
                (Content::Tie, _) => TIE,
                (Content::Diverged, _) => DIVERGED,
                (Content::Unknown | Content::Value(_), _) => colors.unknown,
            };
            rgba.extend([red, green, blue, u8::MAX]);
        }
        MapImage { width, height, rgba }
    }

    /// The optimizer that wins each cell, row by row from below; none where the map shows no winner.
    pub fn winners(self, diagram: &Diagram, metric: Metric) -> Vec<Option<usize>> {
        let winner = |pixel| match self.content(diagram, metric, pixel) {
            Content::Winner(index, _) => Some(index),
            _ => None,
        };
        diagram.spec().pixels().map(winner).collect()
    }

    /// The colour scale that diagrams share; `None` for winners, which have their own colours. Scores and spreads of all
    /// optimizers share a scale, so that they can be compared, and so do all differences and all learning rates.
    pub fn shared_scale(self, diagrams: &[&Diagram], metric: Metric) -> Option<Scale> {
        let mut values = Vec::new();
        for diagram in diagrams {
            let maps = self.of_all_optimizers(diagram.spec())?;
            for (pixel, cell) in diagram.spec().pixels().filter_map(|pixel| Some((pixel, diagram.cell(pixel)?))) {
                values.extend(maps.iter().map(|map| map.value(diagram, metric, pixel, cell)));
            }
        }
        values.retain(|value| value.is_finite());
        Some(match self {
            Map::BestRate(_) | Map::Runs => Scale::log(values),
            Map::BestValue(_, setting) => {
                Scale::spaced(values, tuned_spacing(setting, diagrams.iter().map(|diagram| &**diagram.spec())))
            }
            Map::Difference(..) => Scale::diverging(values),
            _ => Scale::linear(values),
        })
    }

    /// The scale in the colours of the two optimizers that a map of differences compares.
    pub(super) fn colored(self, scale: Scale, optimizers: &[SharedOptimizer]) -> Scale {
        match self {
            Map::Difference(one, other) => scale.between([other, one].map(|index| optimizers[index].color)),
            _ => scale,
        }
    }

    /// The maps of this kind of all optimizers of a sweep; `None` for the map of winners.
    fn of_all_optimizers(self, spec: &SweepSpec) -> Option<Vec<Map>> {
        let count = spec.optimizers.len();
        Some(match self {
            Map::Winner { .. } | Map::Triangle => return None,
            Map::Score(_) => (0..count).map(Map::Score).collect(),
            Map::Spread(_) => (0..count).map(Map::Spread).collect(),
            Map::Runs => vec![Map::Runs],
            Map::BestRate(_) => (0..count).map(Map::BestRate).collect(),
            Map::BestValue(_, setting) => {
                let tuned = (0..count).filter(|index| spec.optimizers[*index].tuned(setting).is_some());
                tuned.map(|index| Map::BestValue(index, setting)).collect()
            }
            Map::Difference(..) => {
                (0..count).flat_map(|one| (one + 1..count).map(move |other| Map::Difference(one, other))).collect()
            }
        })
    }

    /// The colours that need a name in a picture in these colours: those of winners, and of cells without a value.
    pub fn legend_with(self, diagram: &Diagram, metric: Metric, colors: &MapColors) -> Vec<Swatch> {
        let [mut ties, mut diverged, mut unknowns] = [false; 3];
        for pixel in diagram.spec().pixels() {
            match self.content(diagram, metric, pixel) {
                Content::Tie => ties = true,
                Content::Diverged => diverged = true,
                Content::Unknown => unknowns = true,
                Content::Winner(..) | Content::Value(_) => {}
            }
        }
        let swatch = |color: [u8; 3], text: &str| Swatch { color: Some(color), text: text.to_owned() };
        let mut legend = Vec::new();
        if let Map::Difference(one, other) = self {
            let better = |index: usize| (colors.winners[index].color, &colors.winners[index].name);
            legend.extend([one, other].map(better).map(|(color, name)| swatch(color, &format!("{name} better"))));
        }
        if let Some(certainty) = self.winners_with_certainty() {
            legend.extend(colors.winners.iter().map(|winner| swatch(winner.color, &winner.name)));
            let is_known = |pixel| diagram.cell(pixel).is_none_or(|cell| cell.replicates >= Cell::FEWEST_TO_BE_SURE);
            if certainty && diagram.spec().pixels().any(is_known) {
                legend.push(Swatch { color: None, text: "paler: less certain, to 50 %".to_owned() });
            } else if certainty {
                legend.push(Swatch { color: None, text: "pale: too few replicates to be certain".to_owned() });
            }
        }
        let rare = [(ties, TIE, "tie"), (diverged, DIVERGED, "diverged"), (unknowns, colors.unknown, "not computed")];
        legend.extend(rare.into_iter().filter(|(there, ..)| *there).map(|(_, color, text)| swatch(color, text)));
        legend
    }

    /// This map if the diagram has its optimizers and tuned settings, else the map of winners.
    pub fn within(self, diagram: &Diagram) -> Map {
        let count = diagram.spec().optimizers.len();
        match self {
            Map::Triangle if diagram.spec().adam().is_none() => Map::Winner { certainty: true },
            Map::Score(index) | Map::BestRate(index) | Map::Spread(index) if index >= count => {
                Map::Winner { certainty: true }
            }
            Map::BestValue(index, setting)
                if diagram.spec().optimizers.get(index).is_none_or(|it| it.tuned(setting).is_none()) =>
            {
                Map::Winner { certainty: true }
            }
            Map::Difference(one, other) if one.max(other) >= count => Map::Winner { certainty: true },
            map => map,
        }
    }

    /// The map of another diagram that shows the same: of the optimizers with the same names, or else in the same
    /// indices; without these, the map of winners.
    pub fn carried_over(self, from: &SweepSpec, to: &Diagram) -> Map {
        if *from == **to.spec() {
            return self.within(to);
        }
        let (names, others) = (from.shown_names(), to.spec().shown_names());
        let same = |index: usize| {
            let name = names.get(index);
            others.iter().position(|other| Some(other) == name).unwrap_or(index)
        };
        let map = match self {
            Map::Winner { .. } | Map::Runs | Map::Triangle => self,
            Map::Score(index) => Map::Score(same(index)),
            Map::BestRate(index) => Map::BestRate(same(index)),
            Map::BestValue(index, setting) => Map::BestValue(tuning(setting, same(index), from, index, to), setting),
            Map::Spread(index) => Map::Spread(same(index)),
            Map::Difference(one, other) if same(one) == same(other) => Map::Difference(one, other),
            Map::Difference(one, other) => Map::Difference(same(one), same(other)),
        };
        map.within(to)
    }

    pub fn subject(self, diagram: &Diagram) -> Option<String> {
        let names = diagram.spec().shown_names();
        match self {
            Map::Winner { .. } | Map::Runs | Map::Triangle => None,
            Map::Score(index) | Map::BestRate(index) | Map::BestValue(index, _) | Map::Spread(index) => {
                Some(names[index].clone())
            }
            Map::Difference(one, other) => Some(format!("{} over {}", names[one], names[other])),
        }
    }

    /// The quantity that the colours show on this landscape, without the optimizers.
    pub fn quantity(self, landscape: &LandscapeSpec, metric: Metric) -> String {
        let metric_name = metric.label(landscape);
        match self {
            Map::Winner { .. } | Map::Triangle => "winner".to_owned(),
            Map::Score(_) => metric_name.to_owned(),
            Map::BestRate(_) => "best learning rate η".to_owned(),
            Map::BestValue(_, setting) => format!("best {}", tuned_label(setting)),
            Map::Spread(_) => format!("deviation of {metric_name}"),
            Map::Difference(..) => format!("advantage in {metric_name}"),
            Map::Runs => "runs spent".to_owned(),
        }
    }

    /// The number that determines a cell's colour; a difference is infinite if a score is not finite.
    fn value(self, diagram: &Diagram, metric: Metric, pixel: [usize; 2], cell: &Cell) -> f64 {
        let score = |index: usize| cell.score(index, metric);
        match self {
            Map::Winner { .. } | Map::Triangle => f64::NAN,
            Map::Score(index) => score(index).value,
            Map::BestRate(index) if score(index).value.is_finite() => {
                diagram.learning_rate(pixel, index, score(index).best)
            }
            Map::BestValue(index, setting) if score(index).value.is_finite() => {
                let tuned = diagram.spec().optimizers[index].tuned(setting);
                tuned.map_or(f64::NAN, |tuned| diagram.tuned_value(index, tuned, score(index).best))
            }
            Map::BestRate(_) | Map::BestValue(..) => f64::NAN,
            Map::Spread(index) => cell.score_deviation(index, metric),
            Map::Difference(one, other) => metric.advantage(score(one).value, score(other).value),
            Map::Runs => cell.runs() as f64,
        }
    }

    fn content(self, diagram: &Diagram, metric: Metric, pixel: [usize; 2]) -> Content {
        let Some(cell) = diagram.cell(pixel) else { return Content::Unknown };
        if let Some(certainty) = self.winners_with_certainty() {
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

/// A side of a map, from 0 at the first row or column's outer edge to 1 at the last one's.
pub(crate) struct MapSide<'a>(pub &'a sweep::Axis);

impl MapSide<'_> {
    /// The position of a value: that of a row or column is in the middle of its cells. It is outside 0 to 1 where the
    /// value is not on the map.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let sweep::Axis { from, to, count, spacing, .. } = *self.0;
        let along = if from == to { 0.0 } else { spacing.position([from, to], value) };
        let count = count.get() as f64;
        (0.5 + along * (count - 1.0)) / count
    }

    pub(crate) fn value(&self, position: f64) -> f64 {
        let sweep::Axis { from, to, count, spacing, .. } = *self.0;
        let count = count.get() as f64;
        let along = if count > 1.0 { ((position * count - 0.5) / (count - 1.0)).clamp(0.0, 1.0) } else { 0.0 };
        spacing.value([from, to], along)
    }

    /// The row or column at a position.
    pub(crate) fn index(&self, position: f64) -> usize {
        let count = self.0.count.get();
        ((position * count as f64).floor().max(0.0) as usize).min(count - 1)
    }

    /// The axis of this side, with about as many labels as fit.
    pub(crate) fn axis(&self, spec: &SweepSpec, room: f32) -> Axis {
        let of = self.0;
        let (label, range) = (axis_label(spec, of), [of.from.min(of.to), of.from.max(of.to)]);
        if range[0] == range[1] || of.count.get() == 1 {
            let only = Mark { position: self.position(of.from), label: short(of.from) };
            return Axis { label, marks: vec![only], minor: Vec::new() };
        }
        let scale = AxisScale::from(of.spacing);
        let ticks = ticks(scale, range, (room as usize).clamp(2, 8));
        let ticks = ticks.into_iter().filter(|tick| !of.of.is_whole() || tick.value.fract() == 0.0);
        let mut axis = Axis::over(&label, scale, range, ticks, |value| self.position(value));
        // An axis can go down.
        axis.marks.sort_by(|one, other| one.position.total_cmp(&other.position));
        axis
    }
}
