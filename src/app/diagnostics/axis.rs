//! Axes that are linear, logarithmic, or logarithmic on both sides of 0.

use egui_plot::{GridInput, GridMark};

use crate::view::ticks::{Ticks, nice_step, short};

/// How values are placed along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AxisScale {
    Linear,
    /// By the decimal logarithm; only what is positive has a place.
    Log,
    /// `sign(x) log₁₀(1 + |x|/linear)`: linear about 0, logarithmic far from it.
    SymLog {
        linear: f64,
    },
}

/// Points between tick labels, at least.
const SPACING: f64 = 46.0;
/// Points between any two labels.
const CLOSEST: f64 = 17.0;

/// Marks of a linear vertical axis of this height for [`egui_plot::Plot::y_grid_spacer`], all strong enough to be
/// labelled: the plot's own labels need not even be two.
pub fn labelled_grid(height: f32) -> impl Fn(GridInput) -> Vec<GridMark> {
    // Lines of numbers take less room above each other than columns of them beside each other.
    const CLOSER: f64 = 1.5;
    move |input| {
        let (low, high) = input.bounds;
        let marks = AxisScale::Linear.marks(low, high, CLOSER * f64::from(height) / (high - low));
        marks.into_iter().map(|(mark, _)| GridMark { step_size: high - low, ..mark }).collect()
    }
}

impl AxisScale {
    /// Where a value lies on the axis; not finite where it has no place.
    pub fn place(self, value: f64) -> f64 {
        match self {
            AxisScale::Linear => value,
            AxisScale::Log if value > 0.0 => value.log10(),
            AxisScale::Log => f64::NAN,
            AxisScale::SymLog { linear } => (value.abs() / linear).ln_1p().copysign(value) / std::f64::consts::LN_10,
        }
    }

    /// The value at a place; the inverse of [`AxisScale::place`].
    pub fn value(self, place: f64) -> f64 {
        match self {
            AxisScale::Linear => place,
            AxisScale::Log => 10_f64.powf(place),
            AxisScale::SymLog { linear } => (linear * (place.abs() * std::f64::consts::LN_10).exp_m1()).copysign(place),
        }
    }

    /// The axis for a quantity that may be negative, logarithmic below the sizes that it takes: linear
    /// within a thousandth of the largest, or within the smallest where that is larger.
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

    /// Marks from `low` to `high`, which are places, on an axis with so many points for each unit.
    pub fn marks(self, low: f64, high: f64, points_per_unit: f64) -> Vec<(GridMark, String)> {
        let fitting = ((high - low) * points_per_unit / SPACING).max(2.0) as usize;
        // A single label says nothing of the scale: rather closer ones.
        let marks = |most: usize| self.at_most(low, high, points_per_unit, most);
        let closer = [fitting + 1, 2 * fitting, 3 * fitting].into_iter().map(marks);
        std::iter::once(marks(fitting)).chain(closer).find(|marks| marks.len() >= 2).unwrap_or_else(|| marks(fitting))
    }

    fn at_most(self, low: f64, high: f64, points_per_unit: f64, most: usize) -> Vec<(GridMark, String)> {
        match self {
            AxisScale::Linear => with_spacing(linear_marks(low, high, most)),
            AxisScale::Log => {
                let decades = high - low;
                if high.floor() - low.ceil() < 1.0 {
                    // Fewer than two powers of ten: round values, where they fall.
                    let ticks = Ticks::linear(self.value(low), self.value(high), most);
                    let note = ticks.note.unwrap_or_default();
                    return with_spacing(
                        ticks.ticks.into_iter().map(|tick| (self.place(tick.value), tick.label + &note)).collect(),
                    );
                }
                let stride = nice_step((decades / most as f64).max(1.0)) as usize;
                let exponents = (low.ceil() as i32..=high.floor() as i32).filter(|e| e.rem_euclid(stride as i32) == 0);
                with_spacing(exponents.map(|e| (f64::from(e), short(10_f64.powi(e)))).collect())
            }
            AxisScale::SymLog { linear } => {
                with_spacing(self.symlog_marks(linear, [low, high], most, CLOSEST / points_per_unit))
            }
        }
    }

    fn symlog_marks(self, linear: f64, [low, high]: [f64; 2], most: usize, closest: f64) -> Vec<(f64, String)> {
        let largest = self.value(low.abs().max(high.abs()));
        let (from, to) = (linear.log10().round() as i32, largest.log10().floor() as i32);
        let mut marks: Vec<(f64, String)> = Vec::new();
        let mut add = |value: f64| {
            let place = self.place(value);
            if (low..=high).contains(&place) {
                marks.push((place, short(value)));
            }
        };
        let decades_shown = high - low;
        let stride = nice_step((decades_shown / most as f64).max(1.0)) as usize;
        add(0.0);
        for exponent in (from..=to).step_by(stride) {
            add(10_f64.powi(exponent));
            add(-10_f64.powi(exponent));
        }
        if marks.len() < 3 {
            // Too narrow for powers of ten.
            let ticks = Ticks::linear(self.value(low), self.value(high), most);
            if ticks.note.is_none() {
                marks = ticks.ticks.into_iter().map(|tick| (self.place(tick.value), tick.label)).collect();
            }
        }
        marks.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Zero stays; what is too close to it goes.
        marks.retain(|(place, _)| *place == 0.0 || place.abs() >= closest || !(low..=high).contains(&0.0));
        marks
    }
}

fn linear_marks(low: f64, high: f64, most: usize) -> Vec<(f64, String)> {
    let Ticks { ticks, note } = Ticks::linear(low, high, most);
    let Some(note) = note else { return ticks.into_iter().map(|tick| (tick.value, tick.label)).collect() };
    if note.contains('+') || note.contains(" − ") {
        // Too many digits for small labels without an offset: write the values out.
        return ticks.into_iter().map(|tick| (tick.value, format!("{:e}", tick.value))).collect();
    }
    ticks
        .into_iter()
        .map(|tick| (tick.value, if tick.value == 0.0 { "0".to_owned() } else { tick.label + &note }))
        .collect()
}

/// Gives each mark the distance to its neighbour, by which the plot decides how strongly to draw it.
fn with_spacing(marks: Vec<(f64, String)>) -> Vec<(GridMark, String)> {
    let gap = |index: usize| {
        let from = |other: Option<&(f64, String)>| other.map_or(f64::INFINITY, |mark| (mark.0 - marks[index].0).abs());
        from(index.checked_sub(1).and_then(|before| marks.get(before))).min(from(marks.get(index + 1)))
    };
    let gaps: Vec<f64> = (0..marks.len()).map(gap).map(|gap| if gap.is_finite() { gap } else { 1e9 }).collect();
    let marks = marks.into_iter().zip(gaps);
    marks.map(|((value, label), step_size)| (GridMark { value, step_size }, label)).collect()
}
