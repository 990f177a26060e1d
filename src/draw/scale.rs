//! Colour scales: the colours of ranges of values, with labelled positions.

use valleyscope_engine::setting::Spacing;
use valleyscope_experiments::view::ticks::{Tick, Ticks, short};
use valleyscope_experiments::view::{Colormap, SymLog};

/// Colours for a range of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    kind: Kind,
    /// Whether some values lie beyond the ends; they have the colours of the ends.
    beyond: [bool; 2],
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// The colours go from the first value to the second.
    Spaced(Spacing, [f64; 2]),
    /// Symmetric about 0, white in the middle, from the first colour to the second.
    Diverging(SymLog, [[u8; 3]; 2]),
    /// A linear scale from −x to x.
    Signed(f64),
    /// The scale of the window's landscape.
    Loss(SymLog, Colormap),
}

/// A labelled position along an axis or a colour bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The position, from 0 at the left or lower end to 1.
    pub position: f64,
    pub label: String,
}

/// The fraction of all values that may lie beyond an end, so that a few outliers do not take all the colours.
const TAIL: f64 = 0.01;
/// The largest difference over the one below which colours are about linear.
const DIVERGING_RANGE: f64 = 30.0;
/// The ends of diverging scales without colours of their own.
const NEUTRAL: [u8; 3] = [70; 3];

impl Scale {
    pub(super) fn linear(values: Vec<f64>) -> Scale {
        let ([low, high], beyond) = range(values);
        // A single value has the colour in the middle.
        let pad = if low < high { 0.0 } else { low.abs().max(1.0) * 1e-3 };
        Scale { kind: Kind::Spaced(Spacing::Linear, [low - pad, high + pad]), beyond }
    }

    /// A logarithmic scale over all values, which must be positive.
    pub(super) fn log(values: Vec<f64>) -> Scale {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        let ends = if low < high {
            [low, high]
        } else if high > 0.0 {
            [low / 2.0, high * 2.0]
        } else {
            [0.1, 1.0]
        };
        Scale { kind: Kind::Spaced(Spacing::Log, ends), beyond: [false; 2] }
    }

    /// A scale symmetric about 0.
    pub(super) fn diverging(values: Vec<f64>) -> Scale {
        let ([_, high], _) = range(values.iter().map(|value| value.abs()).collect());
        let max = if high > 0.0 { high } else { 1.0 };
        let beyond = [values.iter().any(|value| *value < -max), values.iter().any(|value| *value > max)];
        Scale { kind: Kind::Diverging(SymLog::symmetric(max / DIVERGING_RANGE, max), [NEUTRAL; 2]), beyond }
    }

    /// The scale with these colours at its ends, if it diverges.
    pub(super) fn between(mut self, colors: [[u8; 3]; 2]) -> Scale {
        if let Kind::Diverging(_, ends) = &mut self.kind {
            *ends = colors;
        }
        self
    }

    /// A scale over values with this spacing: by their signs, if both occur and the spacing is linear.
    pub(super) fn spaced(values: Vec<f64>, spacing: Spacing) -> Scale {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let kind = match spacing {
            Spacing::Log => return Scale::log(values),
            Spacing::Linear if low < 0.0 && high > 0.0 => Kind::Signed(high.max(-low)),
            Spacing::LogComplement if low < high && high < 1.0 => Kind::Spaced(spacing, [low, high]),
            Spacing::Linear | Spacing::LogComplement => return Scale::linear(values),
        };
        Scale { kind, beyond: [false; 2] }
    }

    /// The scale of the loss on a landscape, in the colours of the window.
    pub(crate) fn loss(scale: SymLog, colormap: Colormap, beyond: [bool; 2]) -> Scale {
        Scale { kind: Kind::Loss(scale, colormap), beyond }
    }

    /// The position of a value: 0 at the lower end, 1 at the upper end; not clamped.
    pub fn position(&self, value: f64) -> f64 {
        match &self.kind {
            Kind::Spaced(spacing, ends) => spacing.position(*ends, value),
            Kind::Signed(max) => 0.5 + 0.5 * value / max,
            Kind::Diverging(scale, _) | Kind::Loss(scale, _) => scale.position(value),
        }
    }

    /// The colour of a value; beyond an end, the colour of the end.
    pub fn rgb(&self, value: f64) -> [u8; 3] {
        self.rgb_at(self.position(value))
    }

    pub fn rgb_at(&self, position: f64) -> [u8; 3] {
        match self.kind {
            Kind::Spaced(..) => Colormap::default().rgb(position),
            Kind::Loss(_, colormap) => colormap.rgb(position),
            Kind::Diverging(_, ends) => {
                let share = (2.0 * position.clamp(0.0, 1.0) - 1.0).abs();
                ends[usize::from(position > 0.5)]
                    .map(|channel| (255.0 - share * (255.0 - f64::from(channel))).round() as u8)
            }
            Kind::Signed(_) => colorous::PURPLE_ORANGE.eval_continuous(1.0 - position.clamp(0.0, 1.0)).as_array(),
        }
    }

    fn ends(&self) -> [f64; 2] {
        match &self.kind {
            Kind::Spaced(_, ends) => *ends,
            Kind::Signed(max) => [-*max, *max],
            Kind::Diverging(scale, _) | Kind::Loss(scale, _) => [scale.min, scale.max],
        }
    }

    /// Whether some values lie below and above the ends.
    pub fn beyond(&self) -> [bool; 2] {
        self.beyond
    }

    /// Labelled positions, about `most`, and a note of the part that the labels leave out.
    pub fn marks(&self, most: usize) -> (Vec<Mark>, Option<String>) {
        let [low, high] = self.ends();
        let ticks = match &self.kind {
            Kind::Spaced(Spacing::Log, _) => Ticks::log(low, high, most),
            Kind::Spaced(Spacing::LogComplement, _) => Ticks::log_complement(low, high, most),
            Kind::Spaced(Spacing::Linear, _) | Kind::Signed(_) => Ticks::linear(low, high, most),
            Kind::Diverging(scale, _) => diverging_ticks(scale, most),
            Kind::Loss(scale, _) => Ticks::symlog(scale, most),
        };
        let mark = |value: f64, label: String| Mark { position: self.position(value), label };
        (ticks.ticks.into_iter().map(|tick| mark(tick.value, tick.label)).collect(), ticks.note)
    }
}

/// Powers of ten and three times these on both sides of 0, as far as `most` labels have room.
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

/// The ends of a range that leaves out a hundredth of the values on each side where these are far away, and whether any
/// are left out.
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
