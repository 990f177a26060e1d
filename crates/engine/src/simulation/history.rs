//! The diagnostics of all steps so far, in bounded memory.
//!
//! The last steps are stored in full. In addition, a pyramid summarises all steps: each of its levels holds the newest
//! [`LEVEL_BUCKETS`] buckets of one width, and each width is [`FANOUT`] times that of the level below. Steps too old
//! for a fine level are still in a coarser one. The first steps are stored in full as well, and after them the first
//! [`FANOUT`] buckets of each level extend to the first bucket of the next one.

use std::collections::VecDeque;
use std::f64::consts::{E, TAU};

use crate::lanes::{Lanes, Real, Vector, array, each};
use crate::shares::Shares;

/// The part of the history to show, and its resolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotRequest {
    pub first_step: u64,
    /// The last step, inclusive; `None` follows the run.
    pub last_step: Option<u64>,
    /// The largest number of buckets of an optimizer's curve.
    pub buckets: usize,
    /// Whether buckets have equal width on a logarithmic axis of steps.
    pub log_steps: bool,
}

impl Default for PlotRequest {
    fn default() -> Self {
        PlotRequest { first_step: 0, last_step: None, buckets: 500, log_steps: false }
    }
}

/// The number of newest steps stored in full.
pub const RECENT_STEPS: usize = 20_000;
/// The number of first steps stored in full: on a logarithmic axis they fill most of the width. A power of [`FANOUT`],
/// so that a level's bucket begins after them.
const FIRST_STEPS: usize = 4_096;
const FANOUT: u64 = 8;
const LEVEL_BUCKETS: usize = 2_048;

/// The history over consecutive steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// The first step, from 0, the start.
    pub first_step: u64,
    /// The number of steps.
    pub steps: u64,
    pub loss: BucketSpread,
    pub u: BucketSpread,
    pub abs_v: BucketSpread,
    /// The effective step; step 0 has none and does not count.
    pub effective_step: BucketSpread,
    /// The mean entropy over the steps.
    pub entropy: f64,
    /// The mean over the steps of the free energy F = E − ΘS, each with the Θ in force at its step.
    pub free_energy: f64,
    /// The mean over the steps of the shares; unknown at step 0, which does not count.
    pub shares: Shares,
    /// The largest number of diverged particles at any of the steps.
    pub diverged: u32,
}

/// A quantity over consecutive steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketSpread {
    /// The number of steps at which the quantity is defined.
    pub steps: u64,
    /// The ensemble's mean: smallest, mean and largest over the steps. The mean is NaN or infinite if one of its values
    /// is; smallest and largest ignore NaN.
    pub mean_low: f64,
    pub mean: f64,
    pub mean_high: f64,
    /// The mean over the steps of the deviation over particles.
    pub std: f64,
    /// The smallest and the largest value of any particle at any step.
    pub min: f64,
    pub max: f64,
}

impl BucketSpread {
    const EMPTY: BucketSpread = BucketSpread {
        steps: 0,
        mean_low: f64::NAN,
        mean: f64::NAN,
        mean_high: f64::NAN,
        std: f64::NAN,
        min: f64::NAN,
        max: f64::NAN,
    };

    /// Returns the value of a quantity that only the ensemble as a whole has; its deviation and extremes are NaN.
    pub fn of_ensemble(mean: f64, steps: u64) -> Self {
        BucketSpread { steps, ..BucketSpread::of(&Spread { mean, ..Spread::UNDEFINED }) }
    }

    fn of(spread: &Spread) -> Self {
        let Spread { mean, std, min, max } = *spread;
        BucketSpread { steps: 1, mean_low: mean, mean, mean_high: mean, std, min, max }
    }

    fn merge(&self, later: &Self) -> Self {
        match (self.steps, later.steps) {
            (0, _) => *later,
            (_, 0) => *self,
            (a, b) => BucketSpread {
                steps: a + b,
                mean_low: self.mean_low.min(later.mean_low),
                mean: weighted(self.mean, a, later.mean, b),
                mean_high: self.mean_high.max(later.mean_high),
                std: weighted(self.std, a, later.std, b),
                min: self.min.min(later.min),
                max: self.max.max(later.max),
            },
        }
    }
}

/// Combines two means over `a` and `b` steps.
fn weighted(mean_a: f64, a: u64, mean_b: f64, b: u64) -> f64 {
    if mean_a == mean_b {
        // Also for equal infinities.
        return mean_a;
    }
    let share = b as f64 / (a + b) as f64;
    mean_a * (1.0 - share) + mean_b * share
}

impl Bucket {
    fn of(step: u64, FullStep { sample, free_energy }: &FullStep) -> Self {
        Bucket {
            first_step: step,
            steps: 1,
            loss: BucketSpread::of(&sample.loss),
            u: BucketSpread::of(&sample.u),
            abs_v: BucketSpread::of(&sample.abs_v),
            effective_step: if step == 0 { BucketSpread::EMPTY } else { BucketSpread::of(&sample.effective_step) },
            entropy: sample.entropy,
            free_energy: *free_energy,
            shares: sample.shares,
            diverged: sample.diverged,
        }
    }

    fn merge(&self, later: &Bucket) -> Bucket {
        Bucket {
            first_step: self.first_step,
            steps: self.steps + later.steps,
            loss: self.loss.merge(&later.loss),
            u: self.u.merge(&later.u),
            abs_v: self.abs_v.merge(&later.abs_v),
            effective_step: self.effective_step.merge(&later.effective_step),
            entropy: weighted(self.entropy, self.steps, later.entropy, later.steps),
            free_energy: weighted(self.free_energy, self.steps, later.free_energy, later.steps),
            shares: self.merged_shares(later),
            diverged: self.diverged.max(later.diverged),
        }
    }

    /// The mean shares of both buckets; each counts with its steps that have an effective step.
    fn merged_shares(&self, later: &Bucket) -> Shares {
        match [self, later].map(|bucket| bucket.effective_step.steps) {
            [0, _] => later.shares,
            [_, 0] => self.shares,
            [a, b] => {
                let (these, those) = (self.shares.to_array(), later.shares.to_array());
                Shares::from_array(std::array::from_fn(|of| weighted(these[of], a, those[of], b)))
            }
        }
    }

    fn end(&self) -> u64 {
        self.first_step + self.steps
    }
}

/// The diagnostics of one ensemble from its start until now.
#[derive(Clone, Debug, Default)]
pub struct History {
    steps: u64,
    first: Vec<FullStep>,
    recent: VecDeque<FullStep>,
    /// The levels, from fine to coarse.
    levels: Vec<Level>,
}

/// The diagnostics of a step that is stored in full.
#[derive(Clone, Copy, Debug)]
struct FullStep {
    sample: Sample,
    free_energy: f64,
}

/// Buckets of one width, each beginning at a multiple of it.
#[derive(Clone, Debug)]
struct Level {
    width: u64,
    /// The first buckets, which are never removed.
    first: Vec<Bucket>,
    /// The complete, consecutive buckets, the newest last.
    buckets: VecDeque<Bucket>,
    open: Option<Bucket>,
}

impl Level {
    /// Adds the next bucket of the level below, and returns the bucket of this level that it completes.
    fn push(&mut self, bucket: Bucket) -> Option<Bucket> {
        let open = match self.open.take() {
            Some(open) => open.merge(&bucket),
            None => bucket,
        };
        if open.steps < self.width {
            self.open = Some(open);
            return None;
        }
        if (self.first.len() as u64) < FANOUT {
            self.first.push(open);
        }
        if self.buckets.len() == LEVEL_BUCKETS {
            self.buckets.pop_front();
        }
        self.buckets.push_back(open);
        Some(open)
    }

    /// Returns the complete bucket that holds `step`, if it is stored.
    fn bucket_at(&self, step: u64) -> Option<&Bucket> {
        let index = |buckets_from: u64| usize::try_from(step.checked_sub(buckets_from)? / self.width).ok();
        match self.buckets.front().and_then(|oldest| index(oldest.first_step)) {
            Some(of_newest) => self.buckets.get(of_newest),
            None => self.first.get(index(0)?),
        }
    }
}

impl History {
    /// Adds the diagnostics of the next step, and the Θ in force at it; the first sample is that of the start.
    pub fn push(&mut self, sample: Sample, temperature: f64) {
        let full_step = FullStep { sample, free_energy: sample.free_energy(temperature) };
        if self.first.len() < FIRST_STEPS {
            self.first.push(full_step);
        }
        if self.recent.len() == RECENT_STEPS {
            self.recent.pop_front();
        }
        self.recent.push_back(full_step);
        let mut complete = Some(Bucket::of(self.steps, &full_step));
        let mut level = 0;
        while let Some(bucket) = complete {
            if level == self.levels.len() {
                let width = self.levels.last().map_or(FANOUT, |below| below.width.saturating_mul(FANOUT));
                self.levels.push(Level { width, first: Vec::new(), buckets: VecDeque::new(), open: None });
            }
            complete = self.levels[level].push(bucket);
            level += 1;
        }
        self.steps += 1;
    }

    /// Returns the unfinished bucket of each level. [`cut`](History::cut) needs them, as they cannot be made again from
    /// the later state.
    pub(super) fn open_buckets(&self) -> Vec<Option<Bucket>> {
        self.levels.iter().map(|level| level.open).collect()
    }

    /// Removes all steps but the first `len`. `open` are the open buckets of the time when the history had this length.
    pub(super) fn cut(&mut self, len: u64, open: &[Option<Bucket>]) {
        let oldest = self.steps - self.recent.len() as u64;
        let length = |steps: u64| usize::try_from(steps).unwrap_or(usize::MAX);
        self.first.truncate(length(len));
        self.recent.truncate(length(len.saturating_sub(oldest)));
        self.levels.truncate(open.len());
        for (level, open) in self.levels.iter_mut().zip(open) {
            level.first.truncate(level.first.partition_point(|bucket| bucket.end() <= len));
            level.buckets.truncate(level.buckets.partition_point(|bucket| bucket.end() <= len));
            level.open = *open;
        }
        self.steps = len;
    }

    /// Returns the number of steps added, the start included.
    pub fn len(&self) -> u64 {
        self.steps
    }

    pub fn is_empty(&self) -> bool {
        self.steps == 0
    }

    /// Returns the diagnostics of a step, if it is still stored in full.
    pub fn sample(&self, step: u64) -> Option<&Sample> {
        self.full_step(step).map(|full| &full.sample)
    }

    fn full_step(&self, step: u64) -> Option<&FullStep> {
        let oldest = self.steps - self.recent.len() as u64;
        match step.checked_sub(oldest) {
            Some(index) => self.recent.get(usize::try_from(index).ok()?),
            None => self.first.get(usize::try_from(step).ok()?),
        }
    }

    /// Returns the requested steps, cut into at most `buckets` buckets of about equal width on the requested axis, the
    /// oldest first. A bucket is wider if only a coarser level is stored.
    pub fn view(&self, request: &PlotRequest) -> Vec<Bucket> {
        let end = request.last_step.map_or(self.steps, |last| last.saturating_add(1).min(self.steps));
        let first = request.first_step;
        if first >= end || request.buckets == 0 {
            return Vec::new();
        }
        let cuts = Cuts::new(first, end, request.buckets as u64, request.log_steps);
        let mut view: Vec<Bucket> = Vec::with_capacity(request.buckets);
        let mut step = first;
        let mut cut = first;
        while step < end {
            let begins = step >= cut;
            if begins {
                cut = cuts.after(step);
            }
            let next = self.finest_within(step, cut - step);
            let full = view.len() == request.buckets;
            match view.last_mut() {
                Some(last) if full || !begins => *last = last.merge(&next),
                _ => view.push(next),
            }
            step = view.last().expect("not empty").end();
        }
        view
    }

    /// Returns the whole history in the finest stored buckets: a bucket for each step that is stored in full, and
    /// between them the narrowest available ones. The oldest first, without gap or overlap.
    pub fn finest(&self) -> Vec<Bucket> {
        let next = |bucket: &Bucket| (bucket.end() < self.steps).then(|| self.finest_within(bucket.end(), 1));
        let first = (!self.is_empty()).then(|| self.finest_within(0, 1));
        std::iter::successors(first, next).collect()
    }

    /// Returns the widest stored bucket at `step` that is at most `width` wide, or else the narrowest stored. It begins
    /// at `step`, or before it if only a wider one is stored.
    fn finest_within(&self, step: u64, width: u64) -> Bucket {
        let fitting = self.levels.iter().rev().filter(|level| level.width <= width && step.is_multiple_of(level.width));
        if let Some(bucket) = fitting.filter_map(|level| level.bucket_at(step)).next() {
            return *bucket;
        }
        if let Some(full) = self.full_step(step) {
            return Bucket::of(step, full);
        }
        let bucket = self.levels.iter().find_map(|level| level.bucket_at(step));
        *bucket.expect("a step that is in no level is recent")
    }
}

/// The boundaries between the buckets of a view.
enum Cuts {
    /// Cuts every `width` steps, counted from 0.
    Linear { width: u64 },
    /// Cuts at the powers of a ratio.
    Logarithmic { ratio: f64 },
}

impl Cuts {
    fn new(first: u64, end: u64, buckets: u64, log_steps: bool) -> Self {
        if log_steps {
            // Steps 0 and 1 represent the axis's lower end; a few buckets are reserved for rounding.
            let low = first.max(1) as f64;
            let ratio = (end as f64 / low).powf(1.0 / buckets.saturating_sub(2).max(1) as f64);
            Cuts::Logarithmic { ratio: ratio.max(1.0 + 1e-9) }
        } else {
            // Powers of two, so that the cuts stay in place while the run grows.
            let mut width = 1_u64;
            while (end - 1) / width - first / width >= buckets {
                width *= 2;
            }
            Cuts::Linear { width }
        }
    }

    /// Returns the first cut after `step`.
    fn after(&self, step: u64) -> u64 {
        match *self {
            Cuts::Linear { width } => (step / width + 1) * width,
            Cuts::Logarithmic { ratio } => ((step as f64 * ratio).ceil() as u64).max(step + 1),
        }
    }
}

/// The distribution of a quantity over the particles of an ensemble.
///
/// Mean and deviation are over all particles, so that a diverged particle makes them NaN or infinite. Smallest and
/// largest are over the particles whose quantity is not NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: f64,
    /// Population standard deviation, divided by n.
    pub std: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    /// The spread of a quantity without values.
    pub const UNDEFINED: Spread = Spread { mean: f64::NAN, std: f64::NAN, min: f64::NAN, max: f64::NAN };
}

/// The diagnostics of one ensemble after one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The exact loss L.
    pub loss: Spread,
    /// Depth along the valley, u.
    pub u: Spread,
    /// Distance from the valley's floor, |v|.
    pub abs_v: Spread,
    /// Mean over the two coordinates of |Δθ without weight decay| / η; NaN at the start.
    pub effective_step: Spread,
    /// The shares of the second moment of the gradients of all particles; unknown at the start.
    pub shares: Shares,
    /// The entropy S = ½ ln det(2πe Σ) with Σ the sample covariance of (x, y), divided by n − 1. NaN for fewer than 3
    /// particles, and if Σ is singular or not finite.
    pub entropy: f64,
    /// The number of particles that have diverged: whose position or loss is not finite.
    pub diverged: u32,
}

impl Sample {
    /// The sample before any measurement.
    pub(super) const UNDEFINED: Sample = Sample {
        loss: Spread::UNDEFINED,
        u: Spread::UNDEFINED,
        abs_v: Spread::UNDEFINED,
        effective_step: Spread::UNDEFINED,
        shares: Shares::UNKNOWN,
        entropy: f64::NAN,
        diverged: 0,
    };

    /// Returns the free energy F = E − ΘS with E the mean loss (the paper's discussion).
    pub fn free_energy(&self, temperature: f64) -> f64 {
        self.loss.mean - temperature * self.entropy
    }
}

/// The quantities that a step records of a block of particles.
#[derive(Clone, Copy)]
pub(super) struct Observed<R> {
    /// The loss, u, |v| and the effective step, which have a [`Spread`] each, then x and y.
    pub quantities: [R; 6],
    /// The terms of the shares, summed over the coordinates; see [`crate::shares`].
    pub shares: [R; 3],
}

impl<R: Copy> Observed<R> {
    /// Converts the quantities to another vector.
    #[inline(always)]
    pub(super) fn map<T: Copy>(self, convert: impl Fn(R) -> T) -> Observed<T> {
        Observed { quantities: each(self.quantities, &convert), shares: each(self.shares, &convert) }
    }
}

/// Sums from which a [`Sample`] is made, lane by lane.
///
/// Values are summed as their distance from a nearby pivot, the mean of the step before: a small spread about a large
/// mean would otherwise be lost in rounding.
#[derive(Clone, Copy)]
pub(super) struct Sums<R> {
    /// The pivots of the [quantities](Observed::quantities).
    pivots: [f64; 6],
    distances: [R; 6],
    /// The squares of the distances of those with a spread, and their extremes.
    squares: [R; 4],
    min: [R; 4],
    max: [R; 4],
    /// The sums of x², y² and xy.
    products: [R; 3],
    shares: [R; 3],
}

fn finite_or_zero(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

impl<R: Real> Sums<R> {
    #[inline(always)]
    pub(super) fn about(previous: &Sample, [x, y]: [f64; 2]) -> Self {
        let Sample { loss, u, abs_v, effective_step, .. } = previous;
        Sums {
            pivots: each([loss.mean, u.mean, abs_v.mean, effective_step.mean, x, y], finite_or_zero),
            distances: [R::splat(0.0); 6],
            squares: [R::splat(0.0); 4],
            min: [R::splat(f64::INFINITY); 4],
            max: [R::splat(f64::NEG_INFINITY); 4],
            products: [R::splat(0.0); 3],
            shares: [R::splat(0.0); 3],
        }
    }

    #[inline(always)]
    pub(super) fn add<const N: usize>(&mut self, Observed { quantities, shares }: &Observed<R>)
    where
        R: Vector<N>,
    {
        let distances: [R; 6] = array(|of| quantities[of] - R::splat(self.pivots[of]));
        self.distances = array(|of| self.distances[of] + distances[of]);
        self.squares = array(|of| self.squares[of] + distances[of] * distances[of]);
        self.min = array(|of| quantities[of].smaller(self.min[of]));
        self.max = array(|of| quantities[of].larger(self.max[of]));
        let [.., dx, dy] = distances;
        let [xx, yy, xy] = self.products;
        self.products = [xx + dx * dx, yy + dy * dy, xy + dx * dy];
        self.shares = array(|of| self.shares[of] + shares[of]);
    }

    /// Applies `f` to each sum.
    #[inline(always)]
    pub(super) fn map<T: Copy>(&self, f: impl Fn(R) -> T) -> Sums<T> {
        Sums {
            pivots: self.pivots,
            distances: each(self.distances, &f),
            squares: each(self.squares, &f),
            min: each(self.min, &f),
            max: each(self.max, &f),
            products: each(self.products, &f),
            shares: each(self.shares, &f),
        }
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut R> {
        let Sums { distances, squares, min, max, products, shares, .. } = self;
        distances.iter_mut().chain(squares).chain(min).chain(max).chain(products).chain(shares)
    }
}

impl<const N: usize> Sums<Lanes<f64, N>> {
    /// Adds the first `count` particles of a block.
    pub(super) fn add_some(&mut self, block: &Observed<Lanes<f64, N>>, count: usize) {
        let mut before = *self;
        self.add(block);
        for (after, before) in self.all_mut().zip(before.all_mut()) {
            after.0[count..].copy_from_slice(&before.0[count..]);
        }
    }

    /// Returns the sums of the terms of the shares.
    pub(super) fn shares(&self) -> [f64; 3] {
        self.shares.each_ref().map(total)
    }

    /// Returns the diagnostics of `particles` particles and their mean position. `diverged` counts those whose position
    /// or loss is not finite; it is called only if there may be any.
    pub(super) fn finish(&self, particles: usize, diverged: impl FnOnce() -> u32) -> (Sample, [f64; 2]) {
        let n = particles as f64;
        let [loss, u, abs_v, effective_step] = [0, 1, 2, 3].map(|of| self.spread(of, n));
        let shift = [4, 5].map(|of| total(&self.distances[of]) / n);
        let mean_position = [self.pivots[4] + shift[0], self.pivots[5] + shift[1]];
        let all_finite = loss.mean.is_finite() && mean_position.iter().all(|mean| mean.is_finite());
        let sample = Sample {
            loss,
            u,
            abs_v,
            effective_step,
            shares: Shares::UNKNOWN,
            entropy: self.entropy(n, shift),
            diverged: if all_finite { 0 } else { diverged() },
        };
        (sample, mean_position)
    }

    fn entropy(&self, n: f64, [mean_x, mean_y]: [f64; 2]) -> f64 {
        if n < 3.0 {
            return f64::NAN;
        }
        let [xx, yy, xy] = self.products.each_ref().map(total);
        let cov_xx = (xx - n * mean_x * mean_x) / (n - 1.0);
        let cov_yy = (yy - n * mean_y * mean_y) / (n - 1.0);
        let cov_xy = (xy - n * mean_x * mean_y) / (n - 1.0);
        let determinant = cov_xx * cov_yy - cov_xy * cov_xy;
        // The rounding error of the sums of so many terms, and of the determinant computed from them: a determinant up
        // to this size is meaningless.
        let rounding = f64::EPSILON * (8.0 + 0.25 * n) / (n - 1.0);
        let (lost_xx, lost_yy) = (rounding * xx, rounding * yy);
        let lost = 2.0 * (lost_xx * cov_yy.abs() + lost_yy * cov_xx.abs() + lost_xx * lost_yy);
        // Not `determinant <= lost`, which is also false for NaN.
        let regular = determinant > lost && determinant.is_finite();
        if !regular {
            return f64::NAN;
        }
        let two_pi_e = TAU * E;
        0.5 * (two_pi_e * two_pi_e * determinant).ln()
    }

    fn spread(&self, of: usize, particles: f64) -> Spread {
        let shift = total(&self.distances[of]) / particles;
        let variance = total(&self.squares[of]) / particles - shift * shift;
        let min = self.min[of].0.into_iter().fold(f64::INFINITY, f64::min);
        let max = self.max[of].0.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Spread {
            mean: self.pivots[of] + shift,
            // Rounding may leave a zero variance slightly below 0; NaN stays NaN.
            std: if variance < 0.0 { 0.0 } else { variance.sqrt() },
            min: if min > max { f64::NAN } else { min },
            max: if min > max { f64::NAN } else { max },
        }
    }
}

/// Returns the sum over lanes, always in the same order.
fn total<const N: usize>(lanes: &Lanes<f64, N>) -> f64 {
    lanes.0.iter().sum()
}
