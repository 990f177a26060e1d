//! The parameters of landscapes.

use crate::parameter::{Extent, Parameter};
use crate::quantity::{OutOfRange, Range};

/// A parameter of a landscape: its description, its range and its default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LandscapeParameter {
    pub parameter: Parameter,
    pub range: Range,
    pub default: f64,
}

impl LandscapeParameter {
    /// Creates a parameter whose slider and axis span this extent of the range.
    pub(super) const fn new(
        key: &'static str,
        symbol: &'static str,
        label: &'static str,
        [min, max]: [f64; 2],
        extent: Extent,
    ) -> LandscapeParameter {
        let parameter = Parameter::new(key, label, extent).symbol(symbol).drag_step(0.01);
        LandscapeParameter { parameter, range: Range { name: key, min, max }, default: extent.low }
    }

    pub(super) const fn help(self, help: &'static str) -> LandscapeParameter {
        LandscapeParameter { parameter: self.parameter.help(help), ..self }
    }

    pub(super) const fn paper(self, paper: &'static str) -> LandscapeParameter {
        LandscapeParameter { parameter: self.parameter.paper(paper), ..self }
    }

    /// Sets the initial extent of an axis, if it differs from that of the slider.
    pub(super) const fn axis(self, axis: Extent) -> LandscapeParameter {
        LandscapeParameter { parameter: self.parameter.axis(axis), ..self }
    }

    pub(super) const fn drag_step(self, step: f64) -> LandscapeParameter {
        LandscapeParameter { parameter: self.parameter.drag_step(step), ..self }
    }

    pub(super) const fn default(self, default: f64) -> LandscapeParameter {
        LandscapeParameter { default, ..self }
    }

    /// Returns the key in presets.
    pub const fn key(&self) -> &'static str {
        self.parameter.key
    }

    /// Returns the value, or an error if it is out of range.
    pub fn checked(&self, value: f64) -> Result<f64, OutOfRange> {
        self.range.checked(value)
    }

    /// Returns the nearest value of the range; of NaN the default.
    pub fn nearest(&self, value: f64) -> f64 {
        if value.is_nan() { self.default } else { value.clamp(self.range.min, self.range.max) }
    }
}

/// Sharpness a of a valley's walls.
pub(super) const SHARPNESS: LandscapeParameter =
    LandscapeParameter::new("sharpness", "a", "Sharpness a", [1e-6, 1e6], Extent::logarithmic(0.1, 1000.0))
        .help("How steep the valley's walls are: the factor of the loss across it.")
        .paper("10 in the examples, 0.1 to 1000 in the phase diagram")
        .drag_step(0.1)
        .default(10.0);

/// Slope c along a valley.
pub(super) const SLOPE: LandscapeParameter =
    LandscapeParameter::new("slope", "c", "Slope c", [-100.0, 100.0], Extent::linear(0.0, 1.0))
        .help("How steeply the floor of the valley falls along u. It is what drives every optimizer onward.")
        .paper("0.1")
        .axis(Extent::logarithmic(0.01, 1.0))
        .default(0.1);

/// Rotation φ of a landscape, in degrees counter-clockwise.
pub(super) const ROTATION: LandscapeParameter = LandscapeParameter {
    parameter: Parameter::new("rotation_degrees", "Rotation φ (°)", Extent::linear(-90.0, 90.0))
        .symbol("φ")
        .unit("°")
        .help(
            "The angle between u and the x axis, counter-clockwise. Optimizers that work on each coordinate alone behave \
             differently when a valley is not along an axis.",
        )
        .paper("30")
        .axis(Extent::linear(0.0, 90.0)),
    range: Range { name: "rotation_degrees", min: -360.0, max: 360.0 },
    default: 0.0,
};
