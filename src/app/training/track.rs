//! A curve of a run, ready to be drawn at any zoom over any horizontal axis.

use std::ops::Range;

use valleyscope_experiments::view::AxisScale;
use valleyscope_experiments::view::ticks::{grouped, moment};
use valleyscope_runs::{MetricCurve, span};

/// Exponential smoothing: s ← w s + (1 − w) y, divided by 1 − wᵗ which corrects the bias to 0 at the beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Smoother {
    sum: f64,
    weight: f64,
}

impl Smoother {
    /// Computes the next smoothed value; one that is not finite is returned unchanged and ignored afterwards.
    fn next(&mut self, value: f64, smoothing: f64) -> f64 {
        if !value.is_finite() {
            return value;
        }
        self.sum = smoothing * self.sum + (1.0 - smoothing) * value;
        self.weight = smoothing * self.weight + (1.0 - smoothing);
        self.sum / self.weight
    }
}

/// The samples and tokens of a step, which convert steps into these units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OfStep {
    pub samples: f64,
    /// The number of tokens; 0 for samples that are not text.
    pub tokens: f64,
}

/// The points of a curve in the order of their steps. It only grows.
#[derive(Clone, Debug, Default)]
pub struct Track {
    step: Vec<f64>,
    wall_s: Vec<f64>,
    time_s: Vec<f64>,
    of_step: OfStep,
    /// The changes of the batch: steps, and the factors of the first batch size after them.
    batches: Vec<(u64, f64)>,
    /// The steps of the first batch size with as many samples as were used up to each point; empty without changes.
    equal_steps: Vec<f64>,
    /// The step of the fork, for a run that shares the points before with another.
    fork: Option<u64>,
    smoothing: f64,
    smoother: Smoother,
    raw: Values,
    /// The smoothed values of all points, not only of the drawn ones.
    smooth: Values,
    /// The band from one deviation below to one above, if this is the mean of several runs.
    band: Option<[Values; 2]>,
}

/// The drawn part of a track, and its scales: positions are values on the axes' scales.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackView {
    pub horizontal: Horizontal,
    pub scales: [AxisScale; 2],
    /// The horizontal range in positions.
    pub x: [f64; 2],
    /// The number of pixel columns.
    pub columns: usize,
}

impl TrackView {
    /// Converts a point of the main line to positions.
    pub(super) fn position_of(&self, point: &Nearest) -> [f64; 2] {
        [self.scales[0].position(point.x), self.scales[1].position(point.smooth)]
    }
}

/// The points of a line in positions, cut where values have no position. If a line ends with such values, its last
/// piece is empty.
pub(super) type Pieces = Vec<Vec<[f64; 2]>>;

impl Track {
    pub fn new(of_step: OfStep, smoothing: f64) -> Track {
        Track { of_step, smoothing, ..Track::default() }
    }

    /// Marks the points up to a step as those of another run.
    pub fn forked_at(self, fork: Option<u64>) -> Track {
        Track { fork, ..self }
    }

    /// Sets the changes of the batch: steps, in order, and the factors of the first batch size after them.
    pub fn set_batches(&mut self, batches: &[(u64, f64)]) {
        if self.batches != batches {
            self.batches = batches.to_vec();
            self.equal_steps = self.step.iter().map(|&step| self.equal_steps_until(step)).collect();
        }
    }

    /// Computes the number of steps of the first batch size that use as many samples as those up to a step.
    fn equal_steps_until(&self, step: f64) -> f64 {
        let (mut from, mut factor, mut sum) = (0.0, 1.0, 0.0);
        for &(at, next) in self.batches.iter().take_while(|(at, _)| (*at as f64) < step) {
            sum += factor * (at as f64 - from);
            (from, factor) = (at as f64, next);
        }
        sum + factor * (step - from)
    }

    pub fn len(&self) -> usize {
        self.step.len()
    }

    /// The value of the untrained model, before smoothing; `None` for a fork whose earlier points are not found.
    pub fn initial(&self) -> Option<f64> {
        let is_untrained = self.fork.is_none_or(|fork| self.step.first().is_some_and(|first| *first <= fork as f64));
        self.raw.values().first().copied().filter(|_| is_untrained)
    }

    /// Appends the points of a curve that it does not have yet.
    pub fn extend(&mut self, curve: &MetricCurve<'_>) {
        for index in self.len()..curve.len() {
            self.push([curve.step[index] as f64, curve.wall_s[index], curve.time_s[index]], curve.value[index]);
        }
    }

    fn push(&mut self, [step, wall_s, time_s]: [f64; 3], value: f64) {
        // Clocks may be set back; an axis must not.
        let later = |column: &[f64], value: f64| column.last().map_or(value, |last: &f64| last.max(value));
        let step = later(&self.step, step);
        if !self.batches.is_empty() {
            self.equal_steps.push(self.equal_steps_until(step));
        }
        self.step.push(step);
        self.wall_s.push(later(&self.wall_s, wall_s));
        self.time_s.push(later(&self.time_s, time_s));
        self.raw.push(value);
        self.smooth.push(self.smoother.next(value, self.smoothing));
    }

    /// Averages several tracks at their common steps, with the sample deviation as a band.
    pub fn mean_of(tracks: &[&Track]) -> Track {
        let Some((first, others)) = tracks.split_first() else { return Track::default() };
        let mut mean = Track::new(first.of_step, first.smoothing).forked_at(first.fork);
        mean.set_batches(&first.batches);
        let mut band = [Values::default(), Values::default()];
        let mut next = vec![0; others.len()];
        let mut smoothed = Values::default();
        for (index, &step) in first.step.iter().enumerate() {
            let mut at = vec![(*first, index)];
            for (track, next) in others.iter().zip(&mut next) {
                while track.step.get(*next).is_some_and(|other| *other < step) {
                    *next += 1;
                }
                if track.step.get(*next) == Some(&step) {
                    at.push((track, *next));
                }
            }
            if at.len() < tracks.len() {
                continue;
            }
            let average = |of: &dyn Fn(&Track, usize) -> f64| {
                at.iter().map(|(track, index)| of(track, *index)).sum::<f64>() / at.len() as f64
            };
            let value = average(&|track, index| track.raw.values()[index]);
            let smooth = average(&|track, index| track.smooth.values()[index]);
            let squares = average(&|track, index| (track.smooth.values()[index] - smooth).powi(2));
            let deviation = (squares * at.len() as f64 / (at.len() - 1).max(1) as f64).sqrt();
            mean.push([step, average(&|track, index| track.wall_s[index]), first.time_s[index]], value);
            smoothed.push(smooth);
            band[0].push(smooth - deviation);
            band[1].push(smooth + deviation);
        }
        mean.smooth = smoothed;
        mean.band = Some(band);
        mean
    }

    /// Lists step, seconds of training and smoothed value of each point.
    pub fn points(&self) -> impl Iterator<Item = [f64; 3]> {
        let moments = self.step.iter().zip(&self.wall_s);
        moments.zip(self.smooth.values()).map(|((step, wall_s), value)| [*step, *wall_s, *value])
    }

    /// Lists step and value of each point, before smoothing.
    pub(super) fn raw_points(&self) -> impl Iterator<Item = [f64; 2]> {
        self.step.iter().zip(self.raw.values()).map(|(step, value)| [*step, *value])
    }

    pub fn is_smoothed(&self) -> bool {
        self.smoothing > 0.0
    }

    fn column(&self, horizontal: Horizontal) -> Column<'_> {
        let samples = if self.equal_steps.is_empty() { &self.step } else { &self.equal_steps };
        match horizontal {
            Horizontal::Step => Column::new(&self.step, 1.0),
            Horizontal::SinceFork => {
                Column { offset: -(self.fork.unwrap_or(0) as f64), ..Column::new(&self.step, 1.0) }
            }
            Horizontal::Samples => Column::new(samples, self.of_step.samples),
            // Without tokens there is no position.
            Horizontal::Tokens if self.of_step.tokens == 0.0 => Column::new(&[], 1.0),
            Horizontal::Tokens => Column::new(samples, self.of_step.tokens),
            Horizontal::Relative => Column::new(&self.wall_s, 1.0),
            Horizontal::Clock => Column::new(&self.time_s, 1.0),
        }
    }

    /// The position of the last point of another run, if there is one.
    pub fn fork(&self, view: &TrackView) -> Option<f64> {
        let fork = self.fork? as f64;
        let last = self.step.partition_point(|&step| step <= fork).checked_sub(1)?;
        let value = self.column(view.horizontal).get(last)?;
        Some(view.scales[0].position(value)).filter(|position| position.is_finite())
    }

    /// The positions of the main line at a step, or at the last point before, or else at the first one.
    pub(super) fn position_of_step(&self, view: &TrackView, step: u64) -> Option<[f64; 2]> {
        let index = self.step.partition_point(|&at| at <= step as f64).saturating_sub(1);
        let x = view.scales[0].position(self.column(view.horizontal).get(index)?);
        let y = view.scales[1].position(self.smooth.values()[index]);
        x.is_finite().then_some([x, y])
    }

    /// The horizontal range in positions, from the fork on over the steps since; `None` if no point has a position.
    pub fn reach(&self, horizontal: Horizontal, scale: AxisScale) -> Option<[f64; 2]> {
        let column = self.column(horizontal);
        let is_shown = |value: &f64| horizontal != Horizontal::SinceFork || *value >= 0.0;
        let values = (0..self.len()).filter_map(|index| column.get(index)).filter(is_shown);
        let mut positions = values.map(|value| scale.position(value)).filter(|position| position.is_finite());
        let first = positions.next()?;
        let last = scale.position(column.get(self.len().checked_sub(1)?)?);
        Some([first, if last.is_finite() { last } else { first }])
    }

    pub fn raw(&self, view: &TrackView) -> Pieces {
        self.pieces(&self.raw, view)
    }

    /// The main line, smoothed on the full data.
    pub fn line(&self, view: &TrackView) -> Pieces {
        self.pieces(&self.smooth, view)
    }

    /// The position and the lower and upper end of the band at each point.
    pub fn band(&self, view: &TrackView) -> Vec<[f64; 3]> {
        let Some([low, high]) = &self.band else { return Vec::new() };
        let (mut points, scale) = (Vec::new(), view.scales[1]);
        self.each_column(view, |x, range| {
            let (Some(low), Some(high)) = (low.extent(range.clone()), high.extent(range)) else { return };
            let (high, mut low) = (scale.position(high[1]), scale.position(low[0]));
            if !low.is_finite() && high.is_finite() {
                // A logarithmic axis has no position for values below 0: the band extends far down.
                low = high - 3.0;
            }
            if high.is_finite() {
                points.push([x, low, high]);
            }
        });
        points
    }

    fn pieces(&self, values: &Values, view: &TrackView) -> Pieces {
        let mut pieces = vec![Vec::new()];
        let scale = view.scales[1];
        self.each_column(view, |x, range| {
            let piece = pieces.last_mut().expect("there is always one");
            let ends = values.extent(range).map(|ends| ends.map(|end| scale.position(end)));
            match ends {
                Some([low, high]) if low.is_finite() && high.is_finite() => {
                    let rising = piece
                        .last()
                        .is_none_or(|before: &[f64; 2]| (before[1] - low).abs() <= (before[1] - high).abs());
                    let (from, to) = if rising { (low, high) } else { (high, low) };
                    piece.push([x, from]);
                    if from != to {
                        piece.push([x, to]);
                    }
                }
                _ if piece.is_empty() => {}
                _ => pieces.push(Vec::new()),
            }
        });
        pieces
    }

    /// Calls `take` for the groups of points that share a column of pixels, with the position where they are drawn. One
    /// point beyond each end is included, so that lines continue to the edge of the picture.
    fn each_column(&self, view: &TrackView, mut take: impl FnMut(f64, Range<usize>)) {
        let axis = self.column(view.horizontal);
        let column = axis.values;
        let scale = view.scales[0];
        let position = |index: usize| scale.position(axis.value(column[index]));
        let value = |position: f64| axis.in_column(scale.value(position));
        let [low, high] = view.x;
        let nowhere = if scale == AxisScale::Log { column.partition_point(|&x| axis.value(x) <= 0.0) } else { 0 };
        let begin = column.partition_point(|&x| x < value(low)).saturating_sub(1).max(nowhere);
        let end = (column.partition_point(|&x| x <= value(high)) + 1).min(column.len());
        if end <= begin {
            return;
        }
        if end - begin <= 2 * view.columns {
            (begin..end).for_each(|index| take(position(index), index..index + 1));
            return;
        }
        let width = (high - low) / view.columns as f64;
        let mut index = begin;
        while index < end {
            let x = position(index);
            let edge = value(low + (((x - low) / width).floor() + 1.0) * width);
            let count = column[index..end].partition_point(|&value| value < edge).max(1);
            take(x, index..index + count);
            index += count;
        }
    }

    /// Finds the point nearest to a position on the horizontal axis.
    pub fn nearest(&self, horizontal: Horizontal, scale: AxisScale, at: f64) -> Option<Nearest> {
        let axis = self.column(horizontal);
        let column = axis.values;
        let after = column.partition_point(|&x| axis.value(x) < scale.value(at));
        let candidates =
            [after.checked_sub(1), Some(after)].into_iter().flatten().filter(|index| *index < column.len());
        let away = |index: &usize| (scale.position(axis.value(column[*index])) - at).abs();
        let index = candidates.min_by(|a, b| away(a).total_cmp(&away(b)))?;
        let deviation = self.band.as_ref().map(|[low, high]| 0.5 * (high.values()[index] - low.values()[index]));
        let x = axis.value(column[index]);
        Some(Nearest { x, value: self.raw.values()[index], smooth: self.smooth.values()[index], deviation })
    }
}

/// The values of a track at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    pub x: f64,
    pub value: f64,
    pub smooth: f64,
    pub deviation: Option<f64>,
}

/// The quantity of the horizontal axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Horizontal {
    #[default]
    Step,
    /// Steps since the fork, or since the beginning of a run that is not a fork.
    SinceFork,
    Samples,
    Tokens,
    /// Seconds of training.
    Relative,
    /// The time of day.
    Clock,
}

impl Horizontal {
    pub const ALL: [Horizontal; 6] = [
        Horizontal::Step,
        Horizontal::SinceFork,
        Horizontal::Samples,
        Horizontal::Tokens,
        Horizontal::Relative,
        Horizontal::Clock,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Horizontal::Step => "steps",
            Horizontal::SinceFork => "steps since the fork",
            Horizontal::Samples => "samples",
            Horizontal::Tokens => "tokens",
            Horizontal::Relative => "training time (s)",
            Horizontal::Clock => "wall-clock time (UTC)",
        }
    }

    pub(super) fn text(self, x: f64) -> String {
        match self {
            Horizontal::Step => format!("step {}", grouped(x as u64)),
            Horizontal::SinceFork if x == 1.0 => "1 step since the fork".to_owned(),
            Horizontal::SinceFork => format!("{x} steps since the fork"),
            Horizontal::Samples => format!("{} samples", grouped(x as u64)),
            Horizontal::Tokens => format!("{} tokens", grouped(x as u64)),
            Horizontal::Relative if x < 100.0 => format!("{x:.2} s"),
            Horizontal::Relative => span(x as u64),
            Horizontal::Clock => moment(x, "%m-%d %H:%M:%S"),
        }
    }
}

/// The values of the points on a horizontal axis: those of a column, times a factor, plus an offset.
#[derive(Clone, Copy)]
struct Column<'t> {
    values: &'t [f64],
    factor: f64,
    offset: f64,
}

impl Column<'_> {
    fn new(values: &[f64], factor: f64) -> Column<'_> {
        Column { values, factor, offset: 0.0 }
    }

    fn value(&self, of_column: f64) -> f64 {
        of_column * self.factor + self.offset
    }

    fn get(&self, index: usize) -> Option<f64> {
        self.values.get(index).map(|&value| self.value(value))
    }

    /// Converts a value on the axis to the number in the column.
    fn in_column(&self, value: f64) -> f64 {
        (value - self.offset) / self.factor
    }
}

/// The number of values whose extremes are kept.
const BLOCK: usize = 16;

/// Values in order, with the extremes of each block, so that those of a long range are found quickly. It only grows.
#[derive(Clone, Debug, Default)]
struct Values {
    values: Vec<f64>,
    /// The smallest and largest finite value of every complete block.
    blocks: Vec<[f64; 2]>,
}

fn union(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}

/// Finds the smallest and largest finite value; the smallest is larger if there is none.
fn extremes(values: &[f64]) -> [f64; 2] {
    let finite = values.iter().filter(|value| value.is_finite());
    finite.fold([f64::INFINITY, f64::NEG_INFINITY], |found, &value| union(found, [value; 2]))
}

impl Values {
    fn push(&mut self, value: f64) {
        self.values.push(value);
        if self.values.len().is_multiple_of(BLOCK) {
            self.blocks.push(extremes(&self.values[self.values.len() - BLOCK..]));
        }
    }

    fn values(&self) -> &[f64] {
        &self.values
    }

    /// Finds the smallest and the largest finite value in a range; `None` without one.
    fn extent(&self, Range { start, end }: Range<usize>) -> Option<[f64; 2]> {
        let first = start.next_multiple_of(BLOCK).min(end);
        let last = (end - end % BLOCK).max(first);
        let ends = union(extremes(&self.values[start..first]), extremes(&self.values[last..end]));
        let found = self.blocks[first / BLOCK..last / BLOCK].iter().copied().fold(ends, union);
        (found[0] <= found[1]).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::{Horizontal, OfStep, Track, TrackView};
    use valleyscope_experiments::view::AxisScale;

    fn track(values: &[f64], smoothing: f64) -> Track {
        let mut track = Track::new(OfStep { samples: 10.0, tokens: 640.0 }, smoothing);
        for (index, &value) in values.iter().enumerate() {
            track.push([index as f64 + 1.0, 0.5 * index as f64, 1e9 + index as f64], value);
        }
        track
    }

    fn view(x: [f64; 2], columns: usize) -> TrackView {
        TrackView { horizontal: Horizontal::Step, scales: [AxisScale::Linear; 2], x, columns }
    }

    #[test]
    fn few_points_are_drawn_as_they_are_and_cut_where_they_have_no_value() {
        let track = track(&[3.0, 2.0, f64::NAN, 1.0, 0.5], 0.0);
        let pieces = track.raw(&view([1.0, 5.0], 100));
        assert_eq!(pieces, [vec![[1.0, 3.0], [2.0, 2.0]], vec![[4.0, 1.0], [5.0, 0.5]]]);
    }

    #[test]
    fn every_spike_of_a_single_step_is_drawn_at_every_zoom() {
        let mut values = vec![1.0; 100_000];
        let spikes: Vec<usize> = (0_usize..60).map(|index| index.wrapping_mul(0x9E37_79B9) % values.len()).collect();
        spikes.iter().zip(0_u32..).for_each(|(&position, index)| values[position] = 2.0 + f64::from(index));
        let track = track(&values, 0.0);
        for width in [100_000.0, 31_234.0, 5_000.0, 801.0, 40.0] {
            for columns in [50, 700] {
                for &position in &spikes {
                    // The spike is not in the middle of the view.
                    let (at, spike) = (position as f64 + 1.0, values[position]);
                    let points = track.raw(&view([at - 0.3 * width, at + 0.7 * width], columns)).concat();
                    assert!(points.len() <= 4 * columns + 4, "{} points in {columns} columns", points.len());
                    // A higher value in the same column of pixels covers it.
                    let column = 1.001 * width / columns as f64;
                    let shows = |point: &[f64; 2]| (point[0] - at).abs() <= column && point[1] >= spike;
                    assert!(points.iter().any(shows), "{position}, {width} wide, {columns} columns");
                }
            }
        }
    }

    #[test]
    fn smoothing_uses_the_full_data_whatever_is_drawn() {
        let values: Vec<f64> = (0..10_000).map(|index| f64::from(index % 2)).collect();
        let track = track(&values, 0.99);
        let coarse = track.line(&view([1.0, 1e4], 50)).concat();
        assert!(coarse.iter().skip(40).all(|point| (point[1] - 0.5).abs() < 0.02));
        let fine = track.nearest(Horizontal::Step, AxisScale::Linear, 1.0).unwrap();
        assert_eq!(fine.smooth, fine.value, "the first is not pulled to 0");
    }

    #[test]
    fn axes_show_samples_and_logarithmic_ones_omit_values_without_a_place() {
        let track = track(&[4.0, -1.0, 1.0], 0.0);
        let view =
            TrackView { horizontal: Horizontal::Samples, scales: [AxisScale::Log; 2], x: [0.0, 2.0], columns: 100 };
        let pieces = track.raw(&view);
        assert_eq!(pieces.len(), 2);
        assert_eq!(pieces[0], [[1.0, 4.0_f64.log10()]]);
        assert_eq!(pieces[1], [[30.0_f64.log10(), 0.0]]);
    }

    #[test]
    fn steps_count_as_tokens_where_samples_are_text() {
        let view = TrackView { horizontal: Horizontal::Tokens, ..view([0.0, 2000.0], 100) };
        assert_eq!(track(&[3.0, 2.0], 0.0).raw(&view), [vec![[640.0, 3.0], [1280.0, 2.0]]]);
        let mut images = Track::new(OfStep { samples: 10.0, tokens: 0.0 }, 0.0);
        images.push([1.0, 0.5, 1e9], 3.0);
        assert_eq!(images.raw(&view).concat(), Vec::<[f64; 2]>::new());
        assert_eq!(images.reach(Horizontal::Tokens, AxisScale::Linear), None);
        assert_eq!(images.nearest(Horizontal::Tokens, AxisScale::Linear, 1.0), None);
    }

    #[test]
    fn steps_since_the_fork_begin_there_and_those_before_are_negative() {
        let fork = track(&[4.0, 3.0, 2.0, 1.0], 0.0).forked_at(Some(2));
        let view = TrackView { horizontal: Horizontal::SinceFork, ..view([-5.0, 5.0], 100) };
        assert_eq!(fork.raw(&view).concat(), [[-1.0, 4.0], [0.0, 3.0], [1.0, 2.0], [2.0, 1.0]]);
        assert_eq!(fork.reach(Horizontal::SinceFork, AxisScale::Linear), Some([0.0, 2.0]));
        assert_eq!(
            fork.nearest(Horizontal::SinceFork, AxisScale::Linear, 1.1).map(|it| (it.x, it.value)),
            Some((1.0, 2.0))
        );
        let log = TrackView { scales: [AxisScale::Log, AxisScale::Linear], x: [-1.0, 1.0], ..view };
        assert_eq!(fork.raw(&log).concat(), [[0.0, 2.0], [2.0_f64.log10(), 1.0]]);
        let other = track(&[4.0, 3.0], 0.0);
        assert_eq!(other.reach(Horizontal::SinceFork, AxisScale::Linear), Some([1.0, 2.0]));
        assert_eq!(fork.position_of_step(&view, 3), Some([1.0, 2.0]));
    }

    #[test]
    fn samples_follow_changes_of_the_batch() {
        let mut track = track(&[4.0, 3.0], 0.0);
        // Ten samples in each of two steps, then thirty.
        track.set_batches(&[(2, 3.0)]);
        track.push([3.0, 1.5, 1e9 + 2.0], 2.0);
        track.push([4.0, 2.0, 1e9 + 3.0], 1.0);
        let samples = TrackView { horizontal: Horizontal::Samples, ..view([0.0, 200.0], 100) };
        assert_eq!(track.raw(&samples).concat(), [[10.0, 4.0], [20.0, 3.0], [50.0, 2.0], [80.0, 1.0]]);
        let tokens = TrackView { horizontal: Horizontal::Tokens, ..view([0.0, 1e4], 100) };
        assert_eq!(track.raw(&tokens).concat()[3], [8.0 * 640.0, 1.0]);
    }

    #[test]
    fn replicates_have_a_mean_and_a_band_at_their_common_steps() {
        let (a, b) = (track(&[1.0, 2.0, 3.0], 0.0), track(&[3.0, 2.0], 0.0));
        let mean = Track::mean_of(&[&a, &b]);
        assert_eq!(mean.raw.values(), [2.0, 2.0]);
        let band = mean.band(&view([1.0, 2.0], 100));
        // The sample deviation of 1 and 3 is √2.
        assert!((band[0][1] - (2.0 - 2.0_f64.sqrt())).abs() < 1e-12, "{band:?}");
        assert_eq!(band[1], [2.0, 2.0, 2.0]);
    }
}

#[cfg(test)]
mod extent_tests {
    use super::Values;

    #[test]
    fn extents_equal_those_of_a_full_scan() {
        let mut all = Values::default();
        let value = |index: u64| match index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40 {
            hash if hash.is_multiple_of(7) => f64::NAN,
            hash if hash.is_multiple_of(11) => f64::INFINITY,
            hash => hash as f64 - 8e6,
        };
        for length in 0..700_u64 {
            for start in [0, 1, 7, 8, 63, 64, 65, 500] {
                for end in [start, start + 1, length / 2, length] {
                    let (start, end) = (start as usize, end as usize);
                    if start > end || end > length as usize {
                        continue;
                    }
                    let finite: Vec<f64> = all.values()[start..end].iter().copied().filter(|v| v.is_finite()).collect();
                    let plain = finite.iter().copied().reduce(f64::min).zip(finite.iter().copied().reduce(f64::max));
                    assert_eq!(all.extent(start..end), plain.map(|(low, high)| [low, high]), "{start}..{end}");
                }
            }
            all.push(value(length));
        }
    }
}
