//! The paper's noise.

use super::{Action, Definition, NoiseInfo, SIGMA};

/// Multiplicative noise: each coordinate of the gradient is multiplied by `1 + σξ` (Liu, Liu and Gore, 2025).
pub struct Multiplicative;

impl Definition for Multiplicative {
    const INFO: NoiseInfo = NoiseInfo {
        name: "Multiplicative",
        formula: "g(1 + σξ), ξ ~ Normal(0, 1)",
        draw: "ξ ~ Normal(1, σ)",
        about: "The noise is as large as the gradient: none where the loss is flat.",
        source: "Liu, Liu and Gore, FOCUS (2025)",
        action: Action::Multiplies,
        parameters: &[SIGMA],
    };
}
