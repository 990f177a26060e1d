//! Colour scales for losses.

use serde::{Deserialize, Serialize};

/// A symmetric logarithm: linear about 0, logarithmic far from it, so that one scale shows both the
/// gentle slope −cu and the steep walls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SymLog {
    /// Below this size values are shown about linearly.
    pub linear: f64,
    /// The value at the upper end of the colours; its negative is at the lower end.
    pub max: f64,
}

impl SymLog {
    /// The number of equal parts of the colours at whose ends contour lines lie.
    pub const CONTOURS: u32 = 24;

    /// Returns the values at which contour lines lie, from the lowest to the highest.
    pub fn contour_levels(&self) -> impl Iterator<Item = f64> + use<> {
        let scale = *self;
        (0..=Self::CONTOURS).map(move |level| scale.value(f64::from(level) / f64::from(Self::CONTOURS)))
    }

    /// Position on the colour bar from 0 to 1, not clamped: `½ + ½ sign(L) ln(1 + |L|/linear) / ln(1 + max/linear)`.
    pub fn position(&self, value: f64) -> f64 {
        let size = (value.abs() / self.linear).ln_1p() / (self.max / self.linear).ln_1p();
        0.5 + 0.5 * size.copysign(value)
    }

    /// Returns the value at a position on the colour bar; the inverse of [`SymLog::position`].
    pub fn value(&self, position: f64) -> f64 {
        let size = 2.0 * position - 1.0;
        (self.linear * (size.abs() * (self.max / self.linear).ln_1p()).exp_m1()).copysign(size)
    }

    /// Returns the derivative of [`SymLog::position`] with respect to the value.
    pub fn slope(&self, value: f64) -> f64 {
        0.5 / ((self.linear + value.abs()) * (self.max / self.linear).ln_1p())
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
