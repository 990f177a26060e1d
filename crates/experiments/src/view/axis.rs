//! Scales of axes, in the window and in figures.

use valleyscope_engine::spacing::Spacing;

/// The scale of an axis, which maps a value to a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AxisScale {
    Linear,
    /// Linear, for fractions of 1 shown in %.
    Percent,
    /// The decimal logarithm; only positive values have a place.
    Log,
    /// `−log₁₀(1 − x)`, for decay rates: 0, 0.9, 0.99 and 0.999 are equally far apart; only values below 1 have a place.
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
    /// Returns the place of a value on the axis; not finite where it has none.
    pub fn place(self, value: f64) -> f64 {
        match self {
            AxisScale::Linear | AxisScale::Percent | AxisScale::Clock => value,
            AxisScale::Log if value > 0.0 => value.log10(),
            AxisScale::LogComplement if value < 1.0 => -(1.0 - value).log10(),
            AxisScale::Log | AxisScale::LogComplement => f64::NAN,
            AxisScale::SymLog { linear } => (value.abs() / linear).ln_1p().copysign(value) / std::f64::consts::LN_10,
        }
    }

    /// Returns the value at a place; the inverse of [`AxisScale::place`].
    pub fn value(self, place: f64) -> f64 {
        match self {
            AxisScale::Linear | AxisScale::Percent | AxisScale::Clock => place,
            AxisScale::Log => 10_f64.powf(place),
            AxisScale::LogComplement => 1.0 - 10_f64.powf(-place),
            AxisScale::SymLog { linear } => (linear * (place.abs() * std::f64::consts::LN_10).exp_m1()).copysign(place),
        }
    }

    /// Returns the axis for a quantity that may be negative, logarithmic below the sizes that it takes: linear
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
}
