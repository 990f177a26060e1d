//! A noise with the values of its parameters, as in presets.

use super::{BoundedParameter, GradientNoise, MOST_PARAMETERS, NoiseInfo, NoiseKind};
use crate::quantity::{Noise, OutOfRange};

/// A noise with the values of its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseSpec {
    kind: NoiseKind,
    /// The values of the parameters in the order of the noise's table, σ first; the rest stays 0.
    values: [f64; MOST_PARAMETERS],
}

impl From<NoiseKind> for NoiseSpec {
    fn from(kind: NoiseKind) -> NoiseSpec {
        NoiseSpec::new(kind)
    }
}

impl From<Noise> for NoiseSpec {
    /// Returns multiplicative noise, the paper's, with this σ.
    fn from(sigma: Noise) -> NoiseSpec {
        NoiseSpec::new(NoiseKind::Multiplicative).with_sigma(sigma)
    }
}

impl NoiseSpec {
    /// Creates a noise whose parameters have their defaults.
    pub fn new(kind: NoiseKind) -> NoiseSpec {
        let mut values = [0.0; MOST_PARAMETERS];
        for (value, parameter) in values.iter_mut().zip(kind.info().parameters) {
            *value = parameter.default;
        }
        NoiseSpec { kind, values }
    }

    pub fn kind(&self) -> NoiseKind {
        self.kind
    }

    pub fn info(&self) -> &'static NoiseInfo {
        self.kind.info()
    }

    /// Returns the standard deviation σ.
    pub fn sigma(&self) -> f64 {
        self.values[0]
    }

    /// Returns the noise with another σ.
    pub fn with_sigma(mut self, sigma: Noise) -> NoiseSpec {
        self.values[0] = sigma.get();
        self
    }

    /// Lists the parameters with their values, σ first.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static BoundedParameter, f64)> + use<> {
        self.info().parameters.iter().zip(self.values)
    }

    /// Returns the value of a parameter; `None` if the noise lacks it.
    pub fn get(&self, key: &str) -> Option<f64> {
        self.parameters().find_map(|(of, value)| (of.parameter.key == key).then_some(value))
    }

    /// Returns the index of a parameter in the table; `None` if the noise lacks it.
    pub fn index(&self, key: &str) -> Option<usize> {
        self.info().parameters.iter().position(|of| of.key() == key)
    }

    /// Sets the parameter with this index in the table.
    ///
    /// # Errors
    ///
    /// Fails for a value out of range.
    pub fn set(&mut self, index: usize, value: f64) -> Result<(), OutOfRange> {
        self.values[index] = self.info().parameters[index].checked(value)?;
        Ok(())
    }

    /// Returns the noise of this kind with the values of the parameters that both have.
    pub fn in_place_of(mut self, before: &NoiseSpec) -> NoiseSpec {
        for (value, of) in self.values.iter_mut().zip(self.kind.info().parameters) {
            *value = before.get(of.parameter.key).unwrap_or(*value);
        }
        self
    }

    /// Returns the noise as kernels use it.
    pub fn noise(&self) -> GradientNoise {
        GradientNoise::new(self.kind, self.values[0], self.values[1])
    }

    /// Formats the noise with its values, such as `σ = 1` for the paper's noise and `additive noise, σ = 0.5`.
    pub fn words(&self, number: impl Fn(f64) -> String) -> String {
        let values = self.parameters().map(|(of, value)| of.parameter.with(number(value)));
        self.kind_in_words().into_iter().chain(values).collect::<Vec<_>>().join(", ")
    }

    /// Formats what differs from another noise: the kind, and values.
    pub fn differences(&self, other: &NoiseSpec, number: impl Fn(f64) -> String) -> Vec<String> {
        let kind = (self.kind != other.kind).then(|| format!("{} noise", self.info().name.to_lowercase()));
        let values = self.parameters().filter(|(of, value)| other.get(of.parameter.key) != Some(*value));
        kind.into_iter().chain(values.map(|(of, value)| of.parameter.with(number(value)))).collect()
    }

    /// Completes the value that a command sets in place of this noise: a number alone is σ of the same kind, and a name
    /// alone keeps the values that both kinds have. Returns `None` for a value that is neither a number nor a noise.
    pub fn changed_by(&self, value: &str) -> Option<String> {
        let value = value.trim();
        let (name, values) = value.split_at(value.find('(').unwrap_or(value.len()));
        match NoiseKind::named(name) {
            Some(kind) if values.is_empty() => Some(NoiseSpec::new(kind).in_place_of(self).text(None)),
            Some(kind) => Some(format!("{}{values}", kind.key())),
            None if value.parse::<f64>().is_ok() => Some(self.text(Some(value))),
            None => None,
        }
    }

    /// Returns the noise as it is written in a preset, with another text for σ.
    fn text(&self, sigma: Option<&str>) -> String {
        let mut values = self.parameters().map(|(_, value)| value.to_string()).collect::<Vec<_>>();
        if let Some(sigma) = sigma {
            sigma.clone_into(&mut values[0]);
        }
        format!("{}({})", self.kind.key(), values.join(", "))
    }

    fn kind_in_words(&self) -> Option<String> {
        (self.kind != NoiseKind::Multiplicative).then(|| format!("{} noise", self.info().name.to_lowercase()))
    }
}
