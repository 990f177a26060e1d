//! Colour scales for losses.

use serde::{Deserialize, Serialize};

/// A logarithm of values with a sign: linear about 0, logarithmic far from it on both sides, so that one scale shows both
/// the gentle slope −cu and the steep walls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct SymLog {
    /// Below this size values are shown about linearly.
    pub linear: f64,
    /// The value at the lower end of the colours: 0 or less.
    pub min: f64,
    /// The value at the upper end of the colours: more than 0.
    pub max: f64,
}

/// A scale as presets have it.
#[derive(Deserialize)]
#[serde(rename = "SymLog", deny_unknown_fields)]
struct Written {
    linear: f64,
    #[serde(default)]
    min: Option<f64>,
    max: f64,
}

impl From<Written> for SymLog {
    /// Returns the scale. Without a lower end it is symmetric about 0.
    fn from(Written { linear, min, max }: Written) -> SymLog {
        SymLog { linear, min: min.unwrap_or(-max), max }
    }
}

impl SymLog {
    /// The number of equal parts of the colours that contour lines separate.
    pub const CONTOURS: u32 = 24;

    /// Returns a scale from `−max` to `max`.
    pub const fn symmetric(linear: f64, max: f64) -> SymLog {
        SymLog { linear, min: -max, max }
    }

    /// Returns the values at which contour lines lie, from the lowest to the highest. One of them is 0.
    pub fn contour_levels(&self) -> impl Iterator<Item = f64> + use<> {
        let scale = *self;
        let [lowest, highest] = self.contour_range(Self::CONTOURS);
        (lowest..=highest).map(move |level| scale.contour_value(Self::CONTOURS, level))
    }

    /// Returns the numbers of the lowest and of the highest contour line, counted from the one at 0, where the lines
    /// separate this number of equal parts of the colours.
    pub fn contour_range(&self, parts: u32) -> [i32; 2] {
        let zero = self.zero();
        // The tolerance includes a line at an end.
        let whole = |part: f64| (part * f64::from(parts) + 1e-9).floor() as i32;
        [-whole(zero), whole(1.0 - zero)]
    }

    /// Returns the value of a contour line, counted from the one at 0.
    pub fn contour_value(&self, parts: u32, level: i32) -> f64 {
        self.value(self.zero() + f64::from(level) / f64::from(parts))
    }

    /// Position on the colour bar from 0 to 1, not clamped: `(s(L) − s(min)) / (s(max) − s(min))` with
    /// `s(L) = sign(L) ln(1 + |L|/linear)`.
    pub fn position(&self, value: f64) -> f64 {
        self.zero() + self.log(value) / self.length()
    }

    /// Returns the value at a position on the colour bar; the inverse of [`SymLog::position`].
    pub fn value(&self, position: f64) -> f64 {
        let log = (position - self.zero()) * self.length();
        (self.linear * log.abs().exp_m1()).copysign(log)
    }

    /// Returns the derivative of [`SymLog::position`] with respect to the value.
    pub fn slope(&self, value: f64) -> f64 {
        1.0 / ((self.linear + value.abs()) * self.length())
    }

    /// Returns the position of 0 on the colour bar.
    pub fn zero(&self) -> f64 {
        self.log(self.min).abs() / self.length()
    }

    /// Returns the length of the colour bar in the units of `s`: `s(max) − s(min)`.
    pub fn length(&self) -> f64 {
        self.log(self.max) - self.log(self.min)
    }

    /// `sign(L) ln(1 + |L|/linear)`
    fn log(&self, value: f64) -> f64 {
        (value.abs() / self.linear).ln_1p().copysign(value)
    }
}

/// A colour map. All are perceptually uniform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Colormap {
    #[default]
    Viridis,
    /// Made for readers with a colour vision deficiency.
    Cividis,
    Magma,
    Inferno,
    Plasma,
}

impl Colormap {
    pub const ALL: [Colormap; 5] =
        [Colormap::Viridis, Colormap::Cividis, Colormap::Magma, Colormap::Inferno, Colormap::Plasma];

    /// Returns the sRGB colour at a position from 0 to 1.
    pub fn rgb(self, position: f64) -> [u8; 3] {
        let gradient = match self {
            Colormap::Viridis => colorous::VIRIDIS,
            Colormap::Cividis => colorous::CIVIDIS,
            Colormap::Magma => colorous::MAGMA,
            Colormap::Inferno => colorous::INFERNO,
            Colormap::Plasma => colorous::PLASMA,
        };
        gradient.eval_continuous(position.clamp(0.0, 1.0)).as_array()
    }
}
