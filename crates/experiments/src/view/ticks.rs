//! Numbers and tick marks as text. Pure arithmetic, for axes in the window and in files.

use jiff::Timestamp;
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::setting::Spacing;

use super::SymLog;

/// A labelled mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub value: f64,
    pub label: String,
}

/// The marks of an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ticks {
    pub ticks: Vec<Tick>,
    /// The part that the labels leave out, such as `×10⁻⁷ + 0.866`: a factor by which to multiply them and an offset to
    /// add.
    pub note: Option<String>,
}

/// Seconds between marks of a clock: round times.
const CLOCK_STEPS: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21_600.0, 43_200.0, 86_400.0,
    172_800.0,
];
/// Significant digits that labels may need before the part they share is moved into the note.
const LABEL_DIGITS: i32 = 5;
/// The largest number of marks of an axis, whatever is requested.
const MOST_TICKS: f64 = 64.0;
/// Round values within a decade, from few to many, and the smallest distance between two of them.
const DIGITS: [(&[f64], f64); 5] = [
    (&[1.0], 1.0),
    (&[1.0, 3.0], 0.477),
    (&[1.0, 2.0, 5.0], USUAL_GAP),
    (&[1.0, 2.0, 3.0, 5.0, 7.0], 0.146),
    (&[1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 0.045),
];
/// The smallest distance of 1, 2 and 5, which are preferred where there is room.
const USUAL_GAP: f64 = 0.301;
/// The number of marks below which more round values are added.
const ENOUGH: usize = 4;
/// The smallest and the largest exponent of a normal number.
const EXPONENTS: [f64; 2] = [-307.0, 308.0];

impl Ticks {
    /// Makes marks at multiples of 1, 2 or 5 times a power of ten from `low` to `high`, at most about `most` of them.
    ///
    /// There are none where the range is empty, not finite, or finer than the resolution of the numbers.
    pub fn linear(low: f64, high: f64, most: usize) -> Ticks {
        let range = high - low;
        let largest = low.abs().max(high.abs());
        if !(range > 0.0 && range.is_finite()) || range < 1e-13 * largest {
            return Ticks::default();
        }
        let step = nice_step(range / most.clamp(1, 32) as f64);
        let (first, last) = ((low / step).ceil(), (high / step).floor());
        if last - first >= MOST_TICKS {
            return Ticks::default();
        }
        let values = (0..=(last - first).max(-1.0) as i64).map(|index| (first + index as f64) * step);
        Labels::new(step, low, high).ticks(values)
    }

    /// Makes marks of fractions of 1, labelled in per cent.
    pub fn percent(low: f64, high: f64, most: usize) -> Vec<Tick> {
        let ticks = Ticks::linear(100.0 * low, 100.0 * high, most).whole();
        ticks.into_iter().map(|tick| Tick { value: tick.value / 100.0, ..tick }).collect()
    }

    /// Makes marks of a linear axis of some length, not much closer than `apart`. There are at least two wherever
    /// values can be distinguished.
    pub fn at_least_two([low, high]: [f64; 2], length: f64, apart: f64) -> Ticks {
        let fitting = Ticks::linear(low, high, (length / apart) as usize);
        if fitting.ticks.len() >= 2 {
            return fitting;
        }
        Ticks { ticks: Ticks::placed(AxisScale::Linear, [low, high], length, apart), note: None }
    }

    /// Makes marks of an axis of some length between two positions, not much closer than `apart`, with complete labels.
    /// There are at least two wherever values can be distinguished, as a single one does not show the scale.
    pub fn placed(scale: AxisScale, [low, high]: [f64; 2], length: f64, apart: f64) -> Vec<Tick> {
        /// Labels of times are longer than those of numbers.
        const TIME: f64 = 1.6;
        let fitting = (length / apart).max(2.0) as usize;
        let gap = (high - low) * apart / length;
        let marks = |most: usize| match scale {
            AxisScale::Linear => Ticks::linear(low, high, most).whole(),
            AxisScale::Percent => {
                let ticks = Ticks::percent(low, high, most).into_iter();
                ticks.map(|tick| Tick { label: tick.label + " %", ..tick }).collect()
            }
            AxisScale::Log => log_ticks([low, high], most, gap),
            AxisScale::LogComplement => {
                let [low, high] = [low, high].map(|position| scale.value(position));
                Ticks::log_complement(low, high, most).ticks
            }
            AxisScale::SymLog { linear } => symlog_ticks(linear, [low, high], most, gap),
            AxisScale::Clock => Ticks::clock(low, high, TIME * gap * fitting as f64 / most as f64).ticks,
        };
        let tried = [fitting, fitting + 1, 2 * fitting, 3 * fitting].into_iter().map(marks);
        tried.into_iter().find(|marks| marks.len() >= 2).unwrap_or_else(|| marks(fitting))
    }

    /// Adds the shared note to the label of each mark.
    fn whole(self) -> Vec<Tick> {
        let Some(note) = self.note else { return self.ticks };
        let [first, second, last] = [0, 1, self.ticks.len().saturating_sub(1)]
            .map(|index| self.ticks.get(index).map_or(f64::NAN, |tick| tick.value));
        let digits = (first.abs().max(last.abs()) / (second - first)).log10().ceil().max(1.0) as usize;
        let label = |Tick { value, label }| match value {
            // Too many digits for labels without an offset.
            _ if note.contains(' ') => significant(value, digits + 1),
            0.0 => "0".to_owned(),
            _ => label + &note,
        };
        self.ticks.into_iter().map(|tick| Tick { value: tick.value, label: label(tick) }).collect()
    }

    /// Makes the labels complete.
    pub fn in_full(self) -> Vec<Tick> {
        let is_whole = self.note.is_none();
        let full = |tick: Tick| if is_whole { tick } else { Tick { label: short(tick.value), ..tick } };
        self.ticks.into_iter().map(full).collect()
    }

    /// Makes marks at round times of the day (UTC) from `low` to `high`, in seconds since 1970, no closer than `least`
    /// seconds.
    pub fn clock(low: f64, high: f64, least: f64) -> Ticks {
        let days = || 86_400.0 * (least / 86_400.0).ceil();
        let step = CLOCK_STEPS.into_iter().find(|step| *step >= least).unwrap_or_else(days);
        let count = ((high - low) / step).clamp(0.0, MOST_TICKS) as usize + 1;
        let first = (low / step).ceil();
        let values = (0..count).map(|index| (first + index as f64) * step).take_while(|value| *value <= high);
        // At midnight the label is the day that begins.
        let format = |value: f64| match step {
            _ if value.rem_euclid(86_400.0) == 0.0 => "%m-%d",
            60.0.. => "%H:%M",
            _ => "%H:%M:%S",
        };
        let ticks = values.map(|value| Tick { value, label: moment(value, format(value)) });
        Ticks { ticks: ticks.collect(), note: None }
    }

    /// Makes marks of a logarithmic axis from `low` to `high`, both positive: powers of ten, at most about `most` of
    /// them; 1, 2 and 5 times powers of ten where the range has few decades; as on a linear axis where it has not even
    /// those.
    pub fn log(low: f64, high: f64, most: usize) -> Ticks {
        if !(low > 0.0 && high > low && high.is_finite()) {
            return Ticks::default();
        }
        // The tolerance includes an end that is a power of ten up to rounding.
        let (first, last) = ((low.log10() - 1e-9).ceil() as i32, (high.log10() + 1e-9).floor() as i32);
        if last - first >= 2 || (last > first && most < 4) {
            let exponents = (first..=last).step_by(((last - first + 1) as usize).div_ceil(most.max(1)));
            let tick = |exponent| Tick { value: 10_f64.powi(exponent), label: format!("10{}", superscript(exponent)) };
            return Ticks { ticks: exponents.map(tick).collect(), note: None };
        }
        let digits = (first - 1..=last).flat_map(|exponent| [1.0, 2.0, 5.0].map(|it| it * 10_f64.powi(exponent)));
        let within = digits.filter(|value| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value));
        let values: Vec<f64> = within.collect();
        if values.len() < 2 {
            return Ticks::linear(low, high, most);
        }
        Ticks { ticks: values.into_iter().map(|value| Tick { value, label: short(value) }).collect(), note: None }
    }

    /// Marks of an axis of decay rates: 0, 0.9, 0.99, 0.999 and so on, at most about `most`; for a short axis those
    /// whose complements are 1, 2 or 5 times powers of ten.
    pub fn log_complement(low: f64, high: f64, most: usize) -> Ticks {
        let complements = Ticks::log(1.0 - high, 1.0 - low, most).ticks.into_iter().rev();
        let tick = |complement: Tick| {
            // Without the last digits, which rounding makes.
            let value = ((1.0 - complement.value) * 1e12).round() / 1e12;
            Tick { value, label: format!("{value}").replace('-', "−") }
        };
        Ticks { ticks: complements.map(tick).collect(), note: None }
    }

    /// Marks on a colour bar: 0 and powers of ten on both sides, from about the scale's linear part to its ends,
    /// thinned to about `most`.
    pub fn symlog(scale: &SymLog, most: usize) -> Ticks {
        /// The smallest distance from 0, in shares of a mark.
        const CLOSEST: f64 = 0.4;
        let ends = [-scale.min, scale.max];
        let lowest = scale.linear.log10().ceil() as i32;
        let highest = (ends[0].max(ends[1]) * (1.0 + 1e-12)).log10().floor() as i32;
        let decades = (highest - lowest + 1).max(0) as usize;
        let longer_side = scale.zero().max(1.0 - scale.zero());
        let a_side = ((most.saturating_sub(1) as f64 * longer_side) as usize).max(1);
        let stride = decades.div_ceil(a_side).max(1);
        let sizes: Vec<f64> = (lowest..=highest).rev().step_by(stride).map(|exponent| 10_f64.powi(exponent)).collect();
        let gap = CLOSEST / most.max(1) as f64;
        let of_side = |end: f64, sign: f64| -> Vec<f64> {
            let fits =
                |size: &f64| *size <= end * (1.0 + 1e-12) && (scale.position(sign * size) - scale.zero()).abs() > gap;
            let within: Vec<f64> = sizes.iter().copied().filter(fits).collect();
            // At least the end of a side shows its scale.
            if within.is_empty() && (scale.position(sign * end) - scale.zero()).abs() > gap {
                vec![end]
            } else {
                within
            }
        };
        let [below, above] = [(ends[0], -1.0), (ends[1], 1.0)].map(|(end, sign)| of_side(end, sign));
        let values = below.iter().map(|size| -size).chain([0.0]).chain(above.iter().rev().copied());
        // All labels of a bar are powers of ten if one of them needs to be.
        let powers = decades > 0 && (lowest < -3 || highest >= 5);
        let label = |value: f64| if powers { power_of_ten(value) } else { short(value) };
        Ticks { ticks: values.map(|value| Tick { value, label: label(value) }).collect(), note: None }
    }
}

/// Makes marks of a logarithmic axis between two positions, at least `gap` apart: at 1, 2 and 5 times powers of ten, at
/// more round values where that makes few marks, and at fewer where there is no room.
fn log_ticks([low, high]: [f64; 2], most: usize, gap: f64) -> Vec<Tick> {
    let at_digits = |digits: &[f64]| -> Vec<Tick> {
        let decades = exponents(low.floor(), high.floor());
        let values = decades.flat_map(|decade| digits.iter().map(move |digit| digit * 10_f64.powi(decade)));
        let within = values.filter(|value| (low..=high).contains(&value.log10()));
        within.map(|value| Tick { value, label: short(value) }).collect()
    };
    let fitting = DIGITS.iter().filter(|(_, smallest)| *smallest >= gap);
    let made: Vec<(f64, Vec<Tick>)> = fitting.map(|(digits, smallest)| (*smallest, at_digits(digits))).collect();
    let enough = made.iter().find(|(smallest, ticks)| *smallest <= USUAL_GAP && ticks.len() >= ENOUGH);
    if let Some((_, ticks)) = enough.or(made.iter().max_by_key(|(_, ticks)| ticks.len()))
        && ticks.len() >= 2
    {
        return ticks.clone();
    }
    if high.floor() - low.ceil() < 1.0 {
        // Fewer than two powers of ten: round values, where they fall.
        return Ticks::linear(10_f64.powf(low), 10_f64.powf(high), most).whole();
    }
    let stride = nice_step(((high - low) / most as f64).max(1.0)) as i32;
    let exponents = exponents(low.ceil(), high.floor()).filter(|exponent| exponent.rem_euclid(stride) == 0);
    exponents.map(|exponent| 10_f64.powi(exponent)).map(|value| Tick { value, label: short(value) }).collect()
}

/// Makes marks of a symmetric logarithmic axis between two positions: 0 and powers of ten on both sides, or round
/// values where few of these are in view.
fn symlog_ticks(linear: f64, [low, high]: [f64; 2], most: usize, gap: f64) -> Vec<Tick> {
    /// Marks closer to 0 than this fraction of the gap are removed.
    const CLOSEST: f64 = 0.4;
    let scale = AxisScale::SymLog { linear };
    let largest = scale.value(low.abs().max(high.abs()));
    let stride = nice_step(((high - low) / most as f64).max(1.0)) as usize;
    let sizes = exponents(linear.log10().round(), largest.log10().floor()).step_by(stride);
    let sizes: Vec<f64> = sizes.map(|exponent| 10_f64.powi(exponent)).collect();
    let values = sizes.iter().rev().map(|size| -size).chain([0.0]).chain(sizes.iter().copied());
    let in_view = values.filter(|value| (low..=high).contains(&scale.position(*value)));
    let mut ticks: Vec<Tick> = in_view.map(|value| Tick { value, label: short(value) }).collect();
    if ticks.len() < 3 {
        let round = Ticks::linear(scale.value(low), scale.value(high), most);
        ticks = if round.note.is_none() { round.ticks } else { ticks };
    }
    let has_zero = (low..=high).contains(&0.0);
    ticks.retain(|Tick { value, .. }| *value == 0.0 || !has_zero || scale.position(*value).abs() >= CLOSEST * gap);
    ticks
}

fn exponents(first: f64, last: f64) -> impl Iterator<Item = i32> {
    let [first, last] = [first, last].map(|end| end.clamp(EXPONENTS[0], EXPONENTS[1]) as i32);
    first..=last
}

/// Formats a moment in seconds since 1970.
pub fn moment(seconds: f64, format: &str) -> String {
    let time = Timestamp::from_millisecond((seconds * 1e3).round() as i64);
    time.map_or_else(|_| String::new(), |time| time.strftime(format).to_string())
}

/// The end of a range of tried values, at which the best of them lies: a better value may lie beyond it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeEdge {
    low: f64,
    high: f64,
    is_low: bool,
    next: f64,
}

impl RangeEdge {
    /// Finds the end at which the best of several tried values lies; `None` where it lies between others, and where
    /// only one value was tried.
    pub fn of(best: f64, tried: impl IntoIterator<Item = f64>) -> Option<RangeEdge> {
        let mut tried: Vec<f64> = tried.into_iter().filter(|value| value.is_finite()).collect();
        tried.sort_by(f64::total_cmp);
        tried.dedup();
        let (&[low, second, ..], &[.., before, high]) = (&tried[..], &tried[..]) else { return None };
        let is_low = best <= low;
        let (end, inner) = if is_low { (low, second) } else { (high, before) };
        let next = if end > 0.0 && inner > 0.0 { end * end / inner } else { 2.0 * end - inner };
        (is_low || best >= high).then_some(RangeEdge { low, high, is_low, next })
    }

    /// The next value to try beyond the end, as far from it as its neighbour, with two digits.
    pub fn next(self) -> f64 {
        format!("{:.1e}", self.next).parse().unwrap_or(self.next)
    }

    /// Drops an edge at a limit of the setting's range, beyond which nothing can be tried, and keeps the next value within.
    pub fn unless_limit(self, [min, max]: [f64; 2]) -> Option<RangeEdge> {
        let is_limit = if self.is_low { self.low <= min } else { self.high >= max };
        (!is_limit).then_some(RangeEdge { next: self.next.clamp(min, max), ..self })
    }

    pub fn is_low(self) -> bool {
        self.is_low
    }

    /// The sign before the best value: ≤ at the lower end, ≥ at the upper one.
    pub fn mark(self) -> &'static str {
        if self.is_low { "≤ " } else { "≥ " }
    }

    /// Formats advice on what to widen: `at the edge of the learning rates tried, 0.0001 to 1: widen them above 1`,
    /// where the values are called `the learning rates`.
    pub fn sentence(self, values: &str) -> String {
        let [low, high] = [self.low, self.high].map(number_text);
        let (side, end) = if self.is_low { ("below", &low) } else { ("above", &high) };
        format!("at the edge of {values} tried, {low} to {high}: widen them {side} {end}")
    }
}

/// Formats a best value after the [mark](RangeEdge::mark) of an edge.
pub fn with_edge(edge: Option<RangeEdge>, best: &str) -> String {
    format!("{}{best}", edge.map_or("", RangeEdge::mark))
}

/// Finds the smallest of 1, 2 and 5 times a power of ten that is at least `least`.
pub fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    // The tolerance lets 0.2 pass as 2 × 0.1.
    let fraction = least / power * (1.0 - 1e-9);
    let nice = [1.0, 2.0, 5.0].into_iter().find(|&nice| fraction <= nice).unwrap_or(10.0);
    nice * power
}

/// The format of one axis' labels.
struct Labels {
    offset: f64,
    factor_exponent: i32,
    decimals: usize,
    note: Option<String>,
}

impl Labels {
    fn new(step: f64, low: f64, high: f64) -> Labels {
        let exponent = |size: f64| size.log10().floor() as i32;
        let step_exponent = exponent(step * (1.0 + 1e-9));
        let largest_exponent = exponent(low.abs().max(high.abs()).max(step));
        if largest_exponent - step_exponent >= LABEL_DIGITS {
            let unit = 10_f64.powi(step_exponent + 3);
            let offset = (0.5 * (low + high) / unit).round() * unit;
            let decimals = (-(step_exponent + 3)).max(0) as usize;
            let (sign, size) = if offset < 0.0 { ("−", -offset) } else { ("+", offset) };
            let note = format!("×10{} {sign} {size:.decimals$}", superscript(step_exponent));
            return Labels { offset, factor_exponent: step_exponent, decimals: 0, note: Some(note) };
        }
        if !(-4..6).contains(&largest_exponent) {
            let decimals = (largest_exponent - step_exponent).max(0) as usize;
            let note = format!("×10{}", superscript(largest_exponent));
            return Labels { offset: 0.0, factor_exponent: largest_exponent, decimals, note: Some(note) };
        }
        Labels { offset: 0.0, factor_exponent: 0, decimals: (-step_exponent).max(0) as usize, note: None }
    }

    fn ticks(self, values: impl Iterator<Item = f64>) -> Ticks {
        let label = |value: f64| {
            let scaled = (value - self.offset) * 10_f64.powi(-self.factor_exponent);
            in_groups(&fixed(scaled, self.decimals))
        };
        Ticks { ticks: values.map(|value| Tick { value, label: label(value) }).collect(), note: self.note }
    }
}

pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if value < 0.0 && !zero { format!("−{text}") } else { text }
}

/// Formats a number with about this many significant digits: plain where that is short, else with a power of ten.
pub fn significant(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // Through scientific notation, so that 9.9996 counts as 10.000.
    let scientific = format!("{:.*e}", digits.saturating_sub(1), value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if value < 0.0 { "−" } else { "" };
    if (-4..6).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        format!("{sign}{:.decimals$}", value.abs())
    } else {
        format!("{sign}{mantissa}×10{}", superscript(exponent))
    }
}

/// Formats a round number in few characters: 0.001, 10, −10⁵.
pub fn short(value: f64) -> String {
    let size = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    if size == 0.0 {
        return "0".to_owned();
    }
    let exponent = (size * (1.0 + 1e-12)).log10().floor() as i32;
    if (-3..5).contains(&exponent) {
        let plain = format!("{size:.6}");
        return format!("{sign}{}", in_groups(plain.trim_end_matches('0').trim_end_matches('.')));
    }
    let mantissa = size / 10_f64.powi(exponent);
    if (mantissa - 1.0).abs() < 1e-9 {
        format!("{sign}10{}", superscript(exponent))
    } else {
        let mantissa = format!("{mantissa:.6}");
        format!("{sign}{}×10{}", mantissa.trim_end_matches('0').trim_end_matches('.'), superscript(exponent))
    }
}

/// Formats 0, or a power of ten with its sign, always written as one: 10⁻², −10⁵. 1 stays 1.
fn power_of_ten(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || size == 1.0 {
        return short(value);
    }
    let exponent = size.log10().round() as i32;
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}10{}", superscript(exponent))
}

fn superscript(number: i32) -> String {
    number
        .to_string()
        .chars()
        .map(|character| match character {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            digit => char::from_u32('⁰' as u32 + digit as u32 - '0' as u32).unwrap_or(digit),
        })
        .collect()
}

/// Formats a whole number with a thin space between groups of three digits.
pub fn grouped(number: u64) -> String {
    in_groups(&number.to_string())
}

/// Formats a decimal number with a thin space between groups of three digits of its whole part.
fn in_groups(text: &str) -> String {
    let sign = text.len() - text.trim_start_matches('−').len();
    let end = text.find('.').unwrap_or(text.len());
    let mut grouped = String::with_capacity(text.len() * 2);
    for (index, digit) in text.char_indices() {
        if index > sign && index < end && (end - index).is_multiple_of(3) {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    grouped
}

/// The scale of an axis, which maps a value to a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AxisScale {
    Linear,
    /// Linear, for fractions of 1 shown in %.
    Percent,
    /// The decimal logarithm; only positive values have a position.
    Log,
    /// `−log₁₀(1 − x)`, for decay rates: 0, 0.9, 0.99 and 0.999 are equally far apart; only values below 1 have a
    /// position.
    LogComplement,
    /// `sign(x) log₁₀(1 + |x|/linear)`: linear about 0, logarithmic far from it.
    SymLog {
        linear: f64,
    },
    /// Linear, for seconds since 1970 shown as times of day.
    Clock,
}

impl From<Spacing> for AxisScale {
    fn from(spacing: Spacing) -> AxisScale {
        match spacing {
            Spacing::Linear => AxisScale::Linear,
            Spacing::Log => AxisScale::Log,
            Spacing::LogComplement => AxisScale::LogComplement,
        }
    }
}

impl AxisScale {
    /// The position of a value on the axis; not finite where it has none.
    pub fn position(self, value: f64) -> f64 {
        match self {
            AxisScale::Linear | AxisScale::Percent | AxisScale::Clock => value,
            AxisScale::Log if value > 0.0 => value.log10(),
            AxisScale::LogComplement if value < 1.0 => -(1.0 - value).log10(),
            AxisScale::Log | AxisScale::LogComplement => f64::NAN,
            AxisScale::SymLog { linear } => (value.abs() / linear).ln_1p().copysign(value) / std::f64::consts::LN_10,
        }
    }

    /// The value at a position; the inverse of [`AxisScale::position`].
    pub fn value(self, position: f64) -> f64 {
        match self {
            AxisScale::Linear | AxisScale::Percent | AxisScale::Clock => position,
            AxisScale::Log => 10_f64.powf(position),
            AxisScale::LogComplement => 1.0 - 10_f64.powf(-position),
            AxisScale::SymLog { linear } => {
                (linear * (position.abs() * std::f64::consts::LN_10).exp_m1()).copysign(position)
            }
        }
    }

    /// Chooses the axis for a quantity that may be negative, logarithmic below the sizes that it takes: linear within a
    /// thousandth of the largest, or within the smallest where that is larger.
    pub fn symlog_for(values: impl Iterator<Item = f64>) -> Self {
        let sizes = values.map(f64::abs).filter(|size| *size > 0.0 && size.is_finite());
        let (smallest, largest) =
            sizes.fold((f64::INFINITY, 0.0_f64), |(low, high), size| (low.min(size), high.max(size)));
        if largest == 0.0 {
            return AxisScale::SymLog { linear: 1.0 };
        }
        let linear = smallest.max(1e-3 * largest).min(0.1 * largest);
        AxisScale::SymLog { linear: 10_f64.powf(linear.log10().floor()) }
    }
}
