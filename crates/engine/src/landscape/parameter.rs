//! The parameters of landscapes.

use crate::parameter::{BoundedParameter, Extent, Parameter};
use crate::quantity::Range;

/// Sharpness a of a valley's walls.
pub(super) const SHARPNESS: BoundedParameter =
    BoundedParameter::new("sharpness", "a", "Sharpness a", [1e-6, 1e6], Extent::logarithmic(0.1, 1000.0))
        .help("How steep the valley's walls are: the factor of the loss across it.")
        .paper("10 in the examples, 0.1 to 1000 in the phase diagram")
        .drag_step(0.1)
        .default(10.0);

/// Slope c along a valley.
pub(super) const SLOPE: BoundedParameter =
    BoundedParameter::new("slope", "c", "Slope c", [-100.0, 100.0], Extent::linear(0.0, 1.0))
        .help("How steeply the floor of the valley falls along u. It is what drives every optimizer onward.")
        .paper("0.1")
        .axis(Extent::logarithmic(0.01, 1.0))
        .default(0.1);

/// Rotation φ of a landscape, in degrees counter-clockwise.
pub(super) const ROTATION: BoundedParameter = BoundedParameter {
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
