//! Maps: the quantities by which the cells of a diagram are coloured, and their colour scales.

use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::setting::{Key, Spacing};
use valleyscope_engine::sweep::{Cell, Diagram, Metric, SweepSpec, tuned_label, tuned_spacing};
use valleyscope_experiments::view::ticks::{Tick, Ticks, short};
use valleyscope_experiments::view::{Colormap, OwnColors, SymLog, assigned_colors, faded};

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

/// Returns the optimizers of several sweeps that are shown together, each sweep's in its order. Those of the same name
/// and rule have the same colour in all sweeps, that of the first.
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

/// Returns the optimizer of a diagram whose best value is shown beside that of another sweep's: the one with the same name
/// if it tunes the setting, else one with the same label that does, else the first that does.
fn tuning(setting: Key, same: usize, from: &SweepSpec, index: usize, to: &Diagram) -> usize {
    let optimizers = &to.spec().optimizers;
    let tunes = |at: &usize| optimizers.get(*at).is_some_and(|optimizer| optimizer.tuned(setting).is_some());
    let all = || (0..optimizers.len()).filter(tunes);
    let label = from.optimizers[index].label();
    let of_label = all().find(|at| optimizers[*at].label() == label);
    Some(same).filter(tunes).or(of_label).or(all().next()).unwrap_or(same)
}

impl MapImage {
    pub fn cell(&self, row: usize, column: usize) -> [u8; 3] {
        let at = 4 * ((self.height - 1 - row) * self.width + column);
        [self.rgba[at], self.rgba[at + 1], self.rgba[at + 2]]
    }

    /// Returns an image of at most `most` pixels a side; some rows and columns of a larger one are left out.
    pub fn thinned(&self, most: usize) -> MapImage {
        let [width, height] = [self.width, self.height].map(|side| side.min(most));
        let rows = (0..height).map(|y| y * self.height / height);
        let pixels = rows.flat_map(|row| (0..width).map(move |x| row * self.width + x * self.width / width));
        let rgba = pixels.flat_map(|pixel| &self.rgba[4 * pixel..4 * pixel + 4]).copied().collect();
        MapImage { width, height, rgba }
    }
}

impl Map {
    /// Returns the picture of the map in a figure.
    pub fn image(self, diagram: &Diagram, metric: Metric) -> MapImage {
        self.image_with(diagram, metric, &self.colors(diagram, metric, UNKNOWN))
    }

    /// Returns the colours of the map of a diagram that is shown alone, with this one for cells that are not known.
    pub fn colors(self, diagram: &Diagram, metric: Metric, unknown: [u8; 3]) -> MapColors {
        let winners = shared_optimizers(&[diagram.spec()]).pop().unwrap_or_default();
        MapColors { winners, scale: self.scale(diagram, metric), unknown }
    }

    /// Returns the picture of the map in these colours.
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

    /// Returns the optimizer that wins each cell, row by row from below; none where the map shows no winner.
    pub fn winners(self, diagram: &Diagram, metric: Metric) -> Vec<Option<usize>> {
        let winner = |pixel| match self.content(diagram, metric, pixel) {
            Content::Winner(index, _) => Some(index),
            _ => None,
        };
        cells(diagram).map(winner).collect()
    }

    /// Returns the colour scale; `None` for winners, which have their own colours. Scores and spreads of all optimizers
    /// share a scale, so that they can be compared, and so do all differences and all learning rates.
    pub fn scale(self, diagram: &Diagram, metric: Metric) -> Option<Scale> {
        self.shared_scale(&[diagram], metric)
    }

    /// Returns the colour scale that several diagrams share; `None` for winners.
    pub fn shared_scale(self, diagrams: &[&Diagram], metric: Metric) -> Option<Scale> {
        let mut values = Vec::new();
        for diagram in diagrams {
            let maps = self.of_all_optimizers(diagram.spec())?;
            for (pixel, cell) in cells(diagram).filter_map(|pixel| Some((pixel, diagram.cell(pixel)?))) {
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

    /// Returns the maps of this kind of all optimizers of a sweep; `None` for the map of winners.
    fn of_all_optimizers(self, spec: &SweepSpec) -> Option<Vec<Map>> {
        let count = spec.optimizers.len();
        Some(match self {
            Map::Winner { .. } => return None,
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

    /// Returns the colours in a figure that need a name: those of winners, and of cells without a value.
    pub fn legend(self, diagram: &Diagram, metric: Metric) -> Vec<Swatch> {
        self.legend_with(diagram, metric, &self.colors(diagram, metric, UNKNOWN))
    }

    /// Returns the colours that need a name in a picture in these colours.
    pub fn legend_with(self, diagram: &Diagram, metric: Metric, colors: &MapColors) -> Vec<Swatch> {
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
            legend.extend(colors.winners.iter().map(|winner| swatch(winner.color, &winner.name)));
            let is_known = |pixel| diagram.cell(pixel).is_none_or(|cell| cell.replicates >= Cell::FEWEST_TO_BE_SURE);
            if certainty && cells(diagram).any(is_known) {
                legend.push(Swatch { color: None, text: "paler: less certain, to 50 %".to_owned() });
            } else if certainty {
                legend.push(Swatch { color: None, text: "pale: too few replicates to be certain".to_owned() });
            }
        }
        let rare = [(ties, TIE, "tie"), (diverged, DIVERGED, "diverged"), (unknowns, colors.unknown, "not computed")];
        legend.extend(rare.into_iter().filter(|(there, ..)| *there).map(|(_, color, text)| swatch(color, text)));
        legend
    }

    /// Returns this map if the diagram has its optimizers and tuned settings, else the map of winners.
    pub fn within(self, diagram: &Diagram) -> Map {
        let count = diagram.spec().optimizers.len();
        match self {
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

    /// Returns the map of another diagram that shows the same: of the optimizers with the same names, or else in the same
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
            Map::Winner { .. } | Map::Runs => self,
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
            Map::Winner { .. } | Map::Runs => None,
            Map::Score(index) | Map::BestRate(index) | Map::BestValue(index, _) | Map::Spread(index) => {
                Some(names[index].clone())
            }
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
            Map::BestValue(_, setting) => format!("best {}", tuned_label(setting)),
            Map::Spread(_) => format!("deviation of {metric_name}"),
            Map::Difference(..) => format!("advantage in {metric_name}"),
            Map::Runs => "runs spent".to_owned(),
        }
    }

    /// Returns the number that determines a cell's colour; a difference is infinite if a score is not finite.
    fn value(self, diagram: &Diagram, metric: Metric, pixel: [usize; 2], cell: &Cell) -> f64 {
        let score = |index: usize| cell.score(index, metric);
        match self {
            Map::Winner { .. } => f64::NAN,
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

/// Colours for a range of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    kind: Kind,
    /// Whether some values lie beyond the ends; they have the colours of the ends.
    beyond: [bool; 2],
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Linear {
        low: f64,
        high: f64,
    },
    Log {
        low: f64,
        high: f64,
    },
    /// Equal quotients of 1 − x.
    LogComplement {
        low: f64,
        high: f64,
    },
    Diverging(SymLog),
    /// A linear scale symmetric about 0, in the colours of diverging scales.
    Signed {
        max: f64,
    },
    /// The scale of the window's landscape.
    Loss(SymLog, Colormap),
}

/// A labelled position on a colour bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The position on the colour bar, from 0 at the lower end to 1.
    pub position: f64,
    pub label: String,
}

/// The fraction of all values that may lie beyond an end, so that a few outliers do not take all the colours.
const TAIL: f64 = 0.01;
/// The largest difference over the one below which colours are about linear.
const DIVERGING_RANGE: f64 = 30.0;

impl Scale {
    pub(super) fn linear(values: Vec<f64>) -> Scale {
        let ([low, high], beyond) = range(values);
        // A single value has the colour in the middle.
        let pad = if low < high { 0.0 } else { low.abs().max(1.0) * 1e-3 };
        Scale { kind: Kind::Linear { low: low - pad, high: high + pad }, beyond }
    }

    /// Returns a logarithmic scale over all values, which must be positive.
    pub(super) fn log(values: Vec<f64>) -> Scale {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        let (low, high) = if low < high {
            (low, high)
        } else if high > 0.0 {
            (low / 2.0, high * 2.0)
        } else {
            (0.1, 1.0)
        };
        Scale { kind: Kind::Log { low, high }, beyond: [false; 2] }
    }

    /// Returns a scale symmetric about 0.
    pub(super) fn diverging(values: Vec<f64>) -> Scale {
        let ([_, high], _) = range(values.iter().map(|value| value.abs()).collect());
        let max = if high > 0.0 { high } else { 1.0 };
        let beyond = [values.iter().any(|value| *value < -max), values.iter().any(|value| *value > max)];
        Scale { kind: Kind::Diverging(SymLog::symmetric(max / DIVERGING_RANGE, max)), beyond }
    }

    /// Returns a scale over values with this spacing: by their signs, if both occur and the spacing is linear.
    pub(super) fn spaced(values: Vec<f64>, spacing: Spacing) -> Scale {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let kind = match spacing {
            Spacing::Log => return Scale::log(values),
            Spacing::Linear if low < 0.0 && high > 0.0 => Kind::Signed { max: high.max(-low) },
            Spacing::LogComplement if low < high && high < 1.0 => Kind::LogComplement { low, high },
            Spacing::Linear | Spacing::LogComplement => return Scale::linear(values),
        };
        Scale { kind, beyond: [false; 2] }
    }

    /// Returns the scale of the loss on a landscape, in the colours of the window.
    pub(super) fn loss(scale: SymLog, colormap: Colormap, beyond: [bool; 2]) -> Scale {
        Scale { kind: Kind::Loss(scale, colormap), beyond }
    }

    /// Returns the position of a value: 0 at the lower end, 1 at the upper end; not clamped.
    pub fn position(&self, value: f64) -> f64 {
        match &self.kind {
            Kind::Linear { low, high } => (value - low) / (high - low),
            Kind::Log { low, high } => (value / low).ln() / (high / low).ln(),
            Kind::LogComplement { low, high } => Spacing::LogComplement.position([*low, *high], value),
            Kind::Signed { max } => 0.5 + 0.5 * value / max,
            Kind::Diverging(scale) | Kind::Loss(scale, _) => scale.position(value),
        }
    }

    /// Returns the colour of a value; beyond an end, the colour of the end.
    pub fn rgb(&self, value: f64) -> [u8; 3] {
        self.rgb_at(self.position(value))
    }

    pub fn rgb_at(&self, position: f64) -> [u8; 3] {
        match self.kind {
            Kind::Linear { .. } | Kind::Log { .. } | Kind::LogComplement { .. } => Colormap::default().rgb(position),
            Kind::Loss(_, colormap) => colormap.rgb(position),
            Kind::Diverging(_) | Kind::Signed { .. } => {
                colorous::PURPLE_ORANGE.eval_continuous(1.0 - position.clamp(0.0, 1.0)).as_array()
            }
        }
    }

    pub fn ends(&self) -> [f64; 2] {
        match &self.kind {
            Kind::Linear { low, high } | Kind::Log { low, high } | Kind::LogComplement { low, high } => [*low, *high],
            Kind::Signed { max } => [-*max, *max],
            Kind::Diverging(scale) | Kind::Loss(scale, _) => [scale.min, scale.max],
        }
    }

    /// Returns whether some values lie below and above the ends.
    pub fn beyond(&self) -> [bool; 2] {
        self.beyond
    }

    /// Returns labelled positions, about `most`, and a note of the part that the labels leave out.
    pub fn marks(&self, most: usize) -> (Vec<Mark>, Option<String>) {
        let ticks = match &self.kind {
            Kind::Linear { low, high } => Ticks::linear(*low, *high, most),
            Kind::Log { low, high } => Ticks::log(*low, *high, most),
            Kind::LogComplement { low, high } => Ticks::log_complement(*low, *high, most),
            Kind::Signed { max } => Ticks::linear(-*max, *max, most),
            Kind::Diverging(scale) => diverging_ticks(scale, most),
            Kind::Loss(scale, _) => Ticks::symlog(scale, most),
        };
        let mark = |value: f64, label: String| Mark { position: self.position(value), label };
        (ticks.ticks.into_iter().map(|tick| mark(tick.value, tick.label)).collect(), ticks.note)
    }
}

/// Returns powers of ten and three times these on both sides of 0, as far as `most` labels have room.
fn diverging_ticks(scale: &SymLog, most: usize) -> Ticks {
    let top = scale.max.log10().floor() as i32;
    let all = (top - 2..=top).flat_map(|exponent| [1.0, 3.0].map(|digit| digit * 10_f64.powi(exponent)));
    let all: Vec<f64> = all.filter(|size| (scale.linear..=scale.max).contains(size)).collect();
    // A label is about half as high as its share of the bar.
    let gap = 0.6 / most.max(1) as f64;
    let (mut sizes, mut above) = (Vec::new(), f64::INFINITY);
    for size in all.into_iter().rev() {
        let position = scale.position(size);
        if above - position >= gap && position - scale.position(0.0) >= gap {
            sizes.insert(0, size);
            above = position;
        }
    }
    let values = sizes.iter().rev().map(|size| -size).chain([0.0]).chain(sizes.iter().copied());
    let ticks = values.map(|value| Tick { value, label: short(value) });
    Ticks { ticks: ticks.collect(), note: None }
}

/// Returns the ends of a range that leaves out a hundredth of the values on each side where these are far away, and
/// whether any are left out.
fn range(mut values: Vec<f64>) -> ([f64; 2], [bool; 2]) {
    if values.is_empty() {
        return ([0.0, 1.0], [false; 2]);
    }
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len() - 1;
    let tail = (TAIL * last as f64) as usize;
    let (smallest, largest) = (values[0], values[last]);
    let (low, high) = (values[tail], values[last - tail]);
    let far = 0.5 * (high - low);
    let low = if low - smallest > far { low } else { smallest };
    let high = if largest - high > far { high } else { largest };
    ([low, high], [smallest < low, largest > high])
}
