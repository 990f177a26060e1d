//! A landscape with the values of its parameters, as in presets.

use serde::{Deserialize, Serialize};

use super::parameter::{ROTATION, SHARPNESS, SLOPE};
use super::{
    BoundedParameter, Landscape, LandscapeFormula, LandscapeInfo, LandscapeKind, MOST_PARAMETERS, NarrowValley,
};
use crate::quantity::{OutOfRange, StartCoordinate};

/// A landscape with the values of its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LandscapeSpec {
    kind: LandscapeKind,
    /// The values of the parameters in the order of the landscape's table; the rest stays 0.
    values: [f64; MOST_PARAMETERS],
}

impl Default for LandscapeSpec {
    /// Returns the paper's landscape: the valley with a = 10, c = 0.1, φ = 30°.
    fn default() -> Self {
        LandscapeSpec::new(LandscapeKind::Valley)
    }
}

/// A place on the plane at which runs start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartPlace {
    pub x: StartCoordinate,
    pub y: StartCoordinate,
}

impl LandscapeSpec {
    /// Creates a landscape whose parameters have their defaults.
    pub fn new(kind: LandscapeKind) -> LandscapeSpec {
        let mut values = [0.0; MOST_PARAMETERS];
        for (value, parameter) in values.iter_mut().zip(kind.info().parameters) {
            *value = parameter.default;
        }
        LandscapeSpec { kind, values }
    }

    pub fn kind(&self) -> LandscapeKind {
        self.kind
    }

    pub fn info(&self) -> &'static LandscapeInfo {
        self.kind.info()
    }

    /// Lists the parameters with their values.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static BoundedParameter, f64)> + use<> {
        self.info().parameters.iter().zip(self.values)
    }

    /// Finds a parameter by its key.
    pub fn parameter(&self, key: &str) -> Option<&'static BoundedParameter> {
        self.info().parameters.iter().find(|parameter| parameter.key() == key)
    }

    /// Returns the value of a parameter; `None` if the landscape lacks it.
    pub fn get(&self, key: &str) -> Option<f64> {
        Some(self.values[self.index(key)?])
    }

    /// Sets a parameter.
    ///
    /// # Errors
    ///
    /// Fails for a value out of range, and for a parameter that the landscape lacks.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), OutOfRange> {
        let Some(index) = self.index(key) else {
            let keys: Vec<&str> = self.info().parameters.iter().map(BoundedParameter::key).collect();
            let expected = format!("one of {}", keys.join(", "));
            return Err(OutOfRange { name: "a parameter of the landscape", expected, found: key.to_owned() });
        };
        self.values[index] = self.info().parameters[index].checked(value)?;
        Ok(())
    }

    /// Returns the landscape with a parameter set.
    ///
    /// # Errors
    ///
    /// Fails as [`LandscapeSpec::set`] does.
    pub fn with(mut self, key: &str, value: f64) -> Result<LandscapeSpec, OutOfRange> {
        self.set(key, value)?;
        Ok(self)
    }

    /// Returns the place at which runs start by default.
    pub fn start(&self) -> StartPlace {
        let [x, y] = self.info().start.map(StartCoordinate::clamped);
        StartPlace { x, y }
    }

    /// Returns the rotation φ in degrees.
    pub fn rotation_degrees(&self) -> f64 {
        self.values[self.info().parameters.len() - 1]
    }

    /// Returns the landscape in place of another: parameters with the same description, such as the sharpness of
    /// valleys, keep the other's values, apart from the rotation, whose default belongs to the landscape.
    pub fn in_place_of(mut self, before: &LandscapeSpec) -> LandscapeSpec {
        for (index, own) in self.info().parameters.iter().enumerate().filter(|(_, own)| own.key() != ROTATION.key()) {
            let mut same = before.parameters().filter(|(of, _)| of.parameter == own.parameter);
            let kept = same.next().and_then(|(_, value)| own.checked(value).ok());
            self.values[index] = kept.unwrap_or(self.values[index]);
        }
        self
    }

    /// Returns a typed landscape with another text, whose parameters keep their values if they were set and the new
    /// ranges allow them.
    pub fn with_text(&self, formula: &'static LandscapeFormula) -> LandscapeSpec {
        let mut spec = LandscapeSpec::new(LandscapeKind::Formula(formula));
        for (of, value) in self.parameters().filter(|(of, value)| *value != of.default) {
            if let Some(index) = spec.index(of.key()) {
                spec.values[index] = spec.info().parameters[index].checked(value).unwrap_or(spec.values[index]);
            }
        }
        spec
    }

    /// Formats what differs from another landscape: the kind, and values; those of parameters that the other lacks if
    /// they are not the defaults.
    pub fn differences(&self, other: &LandscapeSpec, number: impl Fn(f64) -> String) -> Vec<String> {
        let kind = (self.kind != other.kind).then(|| self.kind.name().to_owned());
        let values = self.parameters().filter(|(of, value)| other.get(of.key()).unwrap_or(of.default) != *value);
        kind.into_iter().chain(values.map(|(of, value)| of.parameter.with(number(value)))).collect()
    }

    /// Returns the landscape as it is evaluated.
    pub fn landscape(&self) -> Landscape {
        let radians = self.rotation_degrees().to_radians();
        match self.valley() {
            Some([sharpness, slope]) => Landscape::Valley(NarrowValley::new(sharpness, slope, radians)),
            None => self.as_program(),
        }
    }

    /// Returns the landscape as a program, also the paper's valley.
    pub fn as_program(&self) -> Landscape {
        let radians = self.rotation_degrees().to_radians();
        let count = self.info().parameters.len() - 1;
        Landscape::program(self.kind.program().bind(&self.values[..count], radians), radians)
    }

    /// Returns sharpness a and slope c of the paper's valley; `None` for other landscapes.
    pub fn valley(&self) -> Option<[f64; 2]> {
        let value = |parameter: &BoundedParameter| self.get(parameter.key()).expect("the valley has the parameter");
        (self.kind == LandscapeKind::Valley).then(|| [value(&SHARPNESS), value(&SLOPE)])
    }

    pub(super) fn index(&self, key: &str) -> Option<usize> {
        self.info().parameters.iter().position(|parameter| parameter.key() == key)
    }

    /// Sets the value with this index, which was checked.
    pub(super) fn set_checked(&mut self, index: usize, value: f64) {
        self.values[index] = value;
    }
}
