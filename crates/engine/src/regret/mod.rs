//! The regret of FOCUS on sequences of convex losses, beside the bound of the paper's theorem.
//!
//! The theorem (the paper's section on convergence) is about θ in a convex set, here the box `[−1, 1]^d`, and about
//! FOCUS with `η_t = η/√t`, `β₁,t = β₁ λ_β^t` and `γ_t = γ λ_γ^t`, without weight decay. It bounds the regret:
//!
//! ```text
//! R(T) = Σ_t L_t(θ_t) − min_θ Σ_t L_t(θ)
//! R(T) ≤ G (D² + d D∞² √T) / (2 η (1 − β₁)) + G η d √T (1 + |γ|)² / (1 − β₁)
//!        + (β₁ λ_β / (1 − λ_β) + |γ| λ_γ / (1 − λ_γ)) d G D∞ / (1 − β₁)
//! ```
//!
//! Here no entry of a gradient is larger than G, and points of the set are at most D apart, and D∞ in any coordinate.
//!
//! The paper's update has no projection. Here θ is moved to the nearest point of the box after each step, without which
//! the distances have no bound; the proof allows it, as it brings θ nearer to every point of the box.
//!
//! # Where the proof fails
//!
//! The proof sums `(θ_t − θ*)² (|m_t|/η_t − |m_{t−1}|/η_{t−1})` over t and replaces the square by `D∞²`, which is right
//! only if no bracket is negative: `|m_t|/η_t` would have to grow with t. (Before that it replaces `1 − β₁,t` by `1 −
//! β₁` under differences that may be negative too.) If gradients differ in size, brackets are negative, and the theorem
//! does not hold: see [`Losses::RareSteep`].

mod descent;
mod losses;

pub use descent::{Record, RegretCurve, run};
pub use losses::{Losses, Sequence};

/// The settings that the theorem assumes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theorem {
    /// The dimension d.
    pub dimension: usize,
    /// The learning rate η.
    pub learning_rate: f64,
    /// The decay rate β₁ and its factor λ_β.
    pub beta1: [f64; 2],
    /// The attraction γ, which may be negative, and its factor λ_γ.
    pub gamma: [f64; 2],
}

/// Half a side of the box.
pub const RADIUS: f64 = 1.0;
/// The side of the box, D∞.
const SIDE: f64 = 2.0 * RADIUS;

impl Theorem {
    /// Creates the paper's settings: β₁ = 0.9, and η = 1, near which the bound is smallest.
    pub fn usual(dimension: usize, gamma: f64) -> Theorem {
        Theorem { dimension, learning_rate: 1.0, beta1: [0.9, 0.9], gamma: [gamma, 0.9] }
    }

    /// Formats γ for users.
    pub fn shown_gamma(&self) -> String {
        let sign = if self.gamma[0] < 0.0 { "−" } else { "" };
        format!("{sign}{}", self.gamma[0].abs())
    }

    /// Returns the bound on the regret after `steps` steps with gradients whose entries are at most `largest`, G.
    pub fn bound(&self, steps: u64, largest: f64) -> f64 {
        let Theorem { dimension, learning_rate: eta, beta1: [beta1, beta_decay], gamma: [gamma, gamma_decay] } = *self;
        let (d, root, gamma) = (dimension as f64, (steps as f64).sqrt(), gamma.abs());
        let diameter_squared = d * SIDE * SIDE;
        let distances = (diameter_squared + d * SIDE * SIDE * root) / (2.0 * eta);
        let steps = eta * d * root * (1.0 + gamma).powi(2);
        let decayed = beta1 * beta_decay / (1.0 - beta_decay) + gamma * gamma_decay / (1.0 - gamma_decay);
        largest * (distances + steps + decayed * d * SIDE) / (1.0 - beta1)
    }
}
