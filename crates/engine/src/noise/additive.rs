//! Noise of the same size everywhere.

use super::{Action, Definition, NoiseInfo, SIGMA};

/// Additive noise: `σξ` is added to each coordinate of the gradient, however large that is (Mandt, Hoffman and Blei,
/// *Stochastic Gradient Descent as Approximate Bayesian Inference*, JMLR 18, 2017).
pub struct Additive;

impl Definition for Additive {
    const INFO: NoiseInfo = NoiseInfo {
        name: "Additive",
        formula: "g + σξ, ξ ~ Normal(0, 1)",
        draw: "ξ ~ Normal(0, σ)",
        about: "The noise has the same size everywhere, also where the loss is flat.",
        source: "Mandt, Hoffman and Blei (2017)",
        action: Action::Adds,
        parameters: &[SIGMA
            .help("A draw from Normal(0, σ) is added to each gradient coordinate.")
            .paper("")
            .default(0.1)],
    };
}
