//! Measures how much of the second moment of noisy gradients comes from signal, noise and oscillation.
//!
//! Adam divides a step by the root of the running second moment `v` of the gradients. Gradients that agree from step
//! to step (signal) keep the step long; noise, and gradients that alternate between the walls of a valley
//! (oscillation), shorten it. With the exact gradient `g` and the variance `s` of its noise,
//!
//! ```text
//! q = ⟨g²⟩, n = ⟨s⟩ with β 0.99,   m = ⟨g⟩ with β 0.9,   V = Σ (q + n)
//! signal = Σ m² / V,   noise = Σ n / V,   oscillation = 1 − signal − noise
//! ```
//!
//! where ⟨·⟩ is a bias-corrected running average over steps, and sums are over coordinates and runs.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::lanes::Real;

/// Decay rates of the running averages of the gradient, and of its square and its noise.
const DECAYS: [f64; 2] = [0.9, 0.99];

/// Shares of the second moment of the gradients; they add to 1.
///
/// Signal and noise are never negative. Oscillation is slightly negative while the gradient grows, as its average
/// follows faster than that of its square.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    pub signal: f64,
    pub noise: f64,
    pub oscillation: f64,
}

impl Shares {
    pub const UNKNOWN: Shares = Shares { signal: f64::NAN, noise: f64::NAN, oscillation: f64::NAN };

    /// Computes the shares from the sums of m², q and n; unknown where the sums are 0 or not finite.
    pub fn of_sums([signal, square, noise]: [f64; 3]) -> Shares {
        let total = square + noise;
        if !(total > 0.0 && total.is_finite() && signal.is_finite()) {
            return Shares::UNKNOWN;
        }
        let (signal, noise) = (signal / total, noise / total);
        Shares { signal, noise, oscillation: 1.0 - signal - noise }
    }

    pub fn is_known(&self) -> bool {
        self.signal.is_finite()
    }

    /// Returns the noise σ̂ = √(Σ n / Σ q) in units of the exact gradient, which is σ where noise multiplies.
    pub fn sigma(&self) -> f64 {
        (self.noise / (self.signal + self.oscillation)).sqrt()
    }

    /// Returns signal, noise and oscillation.
    pub fn to_array(self) -> [f64; 3] {
        [self.signal, self.noise, self.oscillation]
    }

    pub fn from_array([signal, noise, oscillation]: [f64; 3]) -> Shares {
        Shares { signal, noise, oscillation }
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An oscillation of −0.001 is shown as 0.00.
        let [signal, noise, oscillation] = self.to_array().map(|share| (100.0 * share).round() / 100.0 + 0.0);
        write!(f, "signal {signal:.2}, noise {noise:.2}, oscillation {oscillation:.2}")
    }
}

/// The running averages of one coordinate before bias correction: of g, g² and the variance of the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GradientAverages<V>(pub(crate) [V; 3]);

impl<V: Real> GradientAverages<V> {
    #[inline(always)]
    pub(crate) fn start() -> Self {
        GradientAverages([V::splat(0.0); 3])
    }

    /// Returns the averages after a step with this exact gradient and this variance of its noise.
    #[inline(always)]
    pub(crate) fn after(self, gradient: V, variance: V) -> Self {
        let [m, q, n] = self.0;
        let [of_mean, of_square] = [V::splat(DECAYS[0]), V::splat(DECAYS[1])];
        let [new_mean, new_square] = [V::splat(1.0 - DECAYS[0]), V::splat(1.0 - DECAYS[1])];
        GradientAverages([
            m.mul_add(of_mean, gradient * new_mean),
            q.mul_add(of_square, gradient * gradient * new_square),
            n.mul_add(of_square, variance * new_square),
        ])
    }

    /// Returns m², q and n of the coordinate, without bias correction.
    #[inline(always)]
    pub(crate) fn terms(self) -> [V; 3] {
        let [m, q, n] = self.0;
        [m * m, q, n]
    }
}

/// The bias correction of [`GradientAverages`]: the products of the decay rates over the steps so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AverageBias([f64; 2]);

impl AverageBias {
    pub(crate) const START: AverageBias = AverageBias([1.0; 2]);

    pub(crate) fn after_step(self) -> AverageBias {
        AverageBias([self.0[0] * DECAYS[0], self.0[1] * DECAYS[1]])
    }

    /// Returns the factors of the terms m², q and n.
    pub(crate) fn factors(self) -> [f64; 3] {
        let [mean, square] = self.0.map(|product| 1.0 / (1.0 - product));
        [mean * mean, square, square]
    }

    /// Computes the shares from sums of terms without bias correction.
    pub(crate) fn shares(self, sums: [f64; 3]) -> Shares {
        let factors = self.factors();
        Shares::of_sums(std::array::from_fn(|of| sums[of] * factors[of]))
    }
}
