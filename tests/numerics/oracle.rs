//! The toy model once more, written from the paper and the specification alone.
//!
//! It imports nothing from the library, works on plain numbers, and is slow on purpose: the average
//! of FOCUS is an explicit weighted sum over all past positions, bias corrections come from logarithms,
//! and the rotation is a matrix. Feeding it the noise that the library drew must give the library's
//! trajectory.
//!
//! It can also misread the paper, in the ways in which people do. A comparison that is worth its name
//! notices each of these [`Misreading`]s.

/// A way to get the model wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misreading {
    /// The noise multiplies the gradient in valley coordinates, and is then rotated.
    NoiseBeforeRotatingBack,
    /// x and y share x's draw.
    OneDrawForBoth,
    /// FOCUS remembers the position after the step instead of the one before.
    AverageAfterStep,
    /// FOCUS decays the average where it should decay the parameters, and the other way round.
    OtherDecayTarget,
    /// The running averages are used as they are, biased towards 0.
    NoBiasCorrection,
    /// The valley is turned clockwise.
    OtherRotation,
    /// σ is taken as the variance of the noise.
    VarianceForDeviation,
}

impl Misreading {
    pub const ALL: [Misreading; 7] = [
        Misreading::NoiseBeforeRotatingBack,
        Misreading::OneDrawForBoth,
        Misreading::AverageAfterStep,
        Misreading::OtherDecayTarget,
        Misreading::NoBiasCorrection,
        Misreading::OtherRotation,
        Misreading::VarianceForDeviation,
    ];
}

/// How the model is read: rightly, or wrongly in one way.
pub type Reading = Option<Misreading>;

/// The loss `(a/2) u² v² − c u`; the valley's axis lies `phi` radians counter-clockwise from x.
#[derive(Clone, Copy, Debug)]
pub struct Valley {
    pub a: f64,
    pub c: f64,
    pub phi: f64,
}

impl Valley {
    /// The matrix that takes (x, y) to (u, v).
    fn into_valley(self, reading: Reading) -> [[f64; 2]; 2] {
        let phi = if reading == Some(Misreading::OtherRotation) { -self.phi } else { self.phi };
        [[phi.cos(), phi.sin()], [-phi.sin(), phi.cos()]]
    }

    pub fn uv(self, position: [f64; 2]) -> [f64; 2] {
        times(self.into_valley(None), position)
    }

    pub fn loss(self, position: [f64; 2]) -> f64 {
        let [u, v] = self.uv(position);
        self.a / 2.0 * u.powi(2) * v.powi(2) - self.c * u
    }

    pub fn gradient(self, position: [f64; 2]) -> [f64; 2] {
        self.noisy_gradient(position, 0.0, [0.0; 2], None)
    }

    /// The gradient as an optimizer sees it, where `draws` come from Normal(0, 1).
    pub fn noisy_gradient(self, position: [f64; 2], sigma: f64, draws: [f64; 2], reading: Reading) -> [f64; 2] {
        let spread = if reading == Some(Misreading::VarianceForDeviation) { sigma.sqrt() } else { sigma };
        let [draw_x, draw_y] = draws;
        let draw_y = if reading == Some(Misreading::OneDrawForBoth) { draw_x } else { draw_y };
        let factors = [1.0 + spread * draw_x, 1.0 + spread * draw_y];

        let rotation = self.into_valley(reading);
        let [u, v] = times(rotation, position);
        let in_valley = [self.a * u * v * v - self.c, self.a * u * u * v];
        if reading == Some(Misreading::NoiseBeforeRotatingBack) {
            times(transposed(rotation), [factors[0] * in_valley[0], factors[1] * in_valley[1]])
        } else {
            let [x, y] = times(transposed(rotation), in_valley);
            [factors[0] * x, factors[1] * y]
        }
    }
}

fn times(matrix: [[f64; 2]; 2], vector: [f64; 2]) -> [f64; 2] {
    matrix.map(|row| row[0] * vector[0] + row[1] * vector[1])
}

fn transposed([[a, b], [c, d]]: [[f64; 2]; 2]) -> [[f64; 2]; 2] {
    [[a, c], [b, d]]
}

/// −1, 0, 1, or NaN for NaN.
pub fn sign(x: f64) -> f64 {
    match x.partial_cmp(&0.0) {
        Some(std::cmp::Ordering::Less) => -1.0,
        Some(std::cmp::Ordering::Equal) => 0.0,
        Some(std::cmp::Ordering::Greater) => 1.0,
        None => f64::NAN,
    }
}

/// An update rule with its hyperparameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    Adam { eta: f64, beta1: f64, beta2: f64, omega: f64 },
    Signum { eta: f64, beta1: f64, omega: f64 },
    Focus { eta: f64, beta1: f64, beta2: f64, gamma: f64, omega: f64, decays_average: bool },
    Sgd { eta: f64, beta1: f64, omega: f64 },
    Lion { eta: f64, beta1: f64, beta2: f64, omega: f64 },
    Mars { eta: f64, beta1: f64, beta2: f64, gamma: f64, omega: f64 },
}

/// One parameter and everything its optimizer remembers.
#[derive(Clone, Debug)]
pub struct Coordinate {
    pub theta: f64,
    pub m: f64,
    /// Adam's average of squared gradients.
    pub s: f64,
    /// MARS: the gradient of the step before.
    pub previous: f64,
    /// Logarithms of the products of β₁ and of β₂ over the steps so far.
    pub log_beta1_product: f64,
    pub log_beta2_product: f64,
    /// FOCUS: every position the average is made of, with its weight.
    pub past: Vec<(f64, f64)>,
}

impl Coordinate {
    pub fn starting_at(theta: f64) -> Self {
        Coordinate {
            theta,
            m: 0.0,
            s: 0.0,
            previous: 0.0,
            log_beta1_product: 0.0,
            log_beta2_product: 0.0,
            past: Vec::new(),
        }
    }

    /// Takes one step, alone in its parameter, and returns it without weight decay, in units of −η.
    pub fn step(&mut self, law: Law, gradient: f64, reading: Reading) -> f64 {
        match law {
            Law::Mars { .. } => step_parameter(std::slice::from_mut(self), law, &[gradient], reading)[0],
            Law::Adam { eta, beta1, beta2, omega } => {
                self.m = beta1 * self.m + (1.0 - beta1) * gradient;
                self.s = beta2 * self.s + (1.0 - beta2) * gradient.powi(2);
                self.log_beta1_product += beta1.ln();
                self.log_beta2_product += beta2.ln();
                let unbiased = |average: f64, log_product: f64| match reading {
                    Some(Misreading::NoBiasCorrection) => average,
                    // 1 − Πβ, without cancellation.
                    _ => average / -log_product.exp_m1(),
                };
                let m_hat = unbiased(self.m, self.log_beta1_product);
                let s_hat = unbiased(self.s, self.log_beta2_product);
                let direction = m_hat / (s_hat.sqrt() + 1e-8);
                self.theta -= eta * (direction + omega * self.theta);
                direction
            }
            Law::Signum { eta, beta1, omega } => {
                self.m = beta1 * self.m + (1.0 - beta1) * gradient;
                let direction = sign(self.m);
                self.theta -= eta * (direction + omega * self.theta);
                direction
            }
            Law::Sgd { eta, beta1, omega } => {
                self.m = beta1 * self.m + gradient;
                self.theta -= eta * (self.m + omega * self.theta);
                self.m
            }
            Law::Lion { eta, beta1, beta2, omega } => {
                let direction = sign(beta1 * self.m + (1.0 - beta1) * gradient);
                self.m = beta2 * self.m + (1.0 - beta2) * gradient;
                self.theta -= eta * (direction + omega * self.theta);
                direction
            }
            Law::Focus { eta, beta1, beta2, gamma, omega, decays_average } => {
                self.m = beta1 * self.m + (1.0 - beta1) * gradient;
                let late = reading == Some(Misreading::AverageAfterStep);
                if !late {
                    self.remember(beta2);
                }
                let direction = sign(self.m) + gamma * self.pull(reading);
                let decays_average = decays_average != (reading == Some(Misreading::OtherDecayTarget));
                let decayed = if decays_average { self.average(reading) } else { self.theta };
                self.theta -= eta * direction + eta * omega * decayed;
                if late {
                    self.remember(beta2);
                }
                direction
            }
        }
    }

    /// `θ̄ ← β₂ θ̄ + (1 − β₂) θ`, where θ̄ is kept as the sum that it stands for.
    fn remember(&mut self, beta2: f64) {
        for (weight, _) in &mut self.past {
            *weight *= beta2;
        }
        self.past.push((1.0 - beta2, self.theta));
    }

    /// The paper's `θ̂ = θ̄ / (1 − β₂ᵗ)`; the divisor is the sum of the weights in θ̄.
    pub fn average(&self, reading: Reading) -> f64 {
        let sum: f64 = self.past.iter().map(|(weight, theta)| weight * theta).sum();
        match reading {
            Some(Misreading::NoBiasCorrection) => sum,
            _ if self.past.is_empty() => self.theta,
            _ => sum / self.past.iter().map(|(weight, _)| weight).sum::<f64>(),
        }
    }

    /// sign(θ − θ̂). Multiplied by 1 − β₂ᵗ, θ − θ̂ is the weighted sum of θ − θᵢ, in which nothing has to
    /// cancel: it is exactly 0 for a parameter that has not moved, at t = 1 for one.
    pub fn pull(&self, reading: Reading) -> f64 {
        match reading {
            Some(Misreading::NoBiasCorrection) => sign(self.theta - self.average(reading)),
            _ => sign(self.past.iter().map(|(weight, theta)| weight * (self.theta - theta)).sum()),
        }
    }
}

/// Steps the elements of one parameter (a matrix or vector) and returns the steps without weight decay, in units of −η.
pub fn step_parameter(elements: &mut [Coordinate], law: Law, gradients: &[f64], reading: Reading) -> Vec<f64> {
    let elements = elements.iter_mut().zip(gradients);
    let Law::Mars { eta, beta1, beta2, gamma, omega } = law else {
        return elements.map(|(element, gradient)| element.step(law, *gradient, reading)).collect();
    };
    let corrected: Vec<(&mut Coordinate, f64)> = elements
        .map(|(element, gradient)| {
            let change = gradient - element.previous;
            element.previous = *gradient;
            (element, gradient + gamma * (beta1 / (1.0 - beta1)) * change)
        })
        .collect();
    let norm = corrected.iter().map(|(_, c)| c.powi(2)).sum::<f64>().sqrt();
    let adam = Law::Adam { eta, beta1, beta2, omega };
    let clipped = |c: f64| if norm > 1.0 { c / norm } else { c };
    corrected.into_iter().map(|(element, c)| element.step(adam, clipped(c), reading)).collect()
}

/// Both coordinates of a particle, which are one parameter.
#[derive(Clone, Debug)]
pub struct Particle(pub [Coordinate; 2]);

impl Particle {
    pub fn starting_at(position: [f64; 2]) -> Self {
        Particle(position.map(Coordinate::starting_at))
    }

    pub fn position(&self) -> [f64; 2] {
        [self.0[0].theta, self.0[1].theta]
    }

    /// One step on `valley`; returns the step without weight decay, in units of −η.
    pub fn step(&mut self, valley: Valley, law: Law, sigma: f64, draws: [f64; 2], reading: Reading) -> [f64; 2] {
        let gradient = valley.noisy_gradient(self.position(), sigma, draws, reading);
        let steps = step_parameter(&mut self.0, law, &gradient, reading);
        [steps[0], steps[1]]
    }
}
