//! A landscape with the values of its parameters, as in presets, and its serialization.

use std::sync::Mutex;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{
    HomeView, Landscape, LandscapeInfo, LandscapeKind, MOST_PARAMETERS, NarrowValley, ROTATION, SHARPNESS, SLOPE,
};
use crate::configured::{self, Configured, Kind};
use crate::identifier::lasting;
use crate::language::symbol;
use crate::language::{self, ProgramError};
use crate::loss::LossProgram;
use crate::quantity::{Range, StartCoordinate};
use crate::setting::{SettingInfo, SettingValue};
use crate::typed_text::{Compiled, Interned, TypedFields};

/// A landscape with the values of its parameters.
pub type LandscapeSpec = Configured<LandscapeKind, MOST_PARAMETERS>;

impl Default for LandscapeSpec {
    /// Creates the paper's landscape: the valley with a = 10, c = 0.1, φ = 30°.
    fn default() -> Self {
        LandscapeSpec::new(LandscapeKind::Valley)
    }
}

/// A point on the plane at which runs start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartPosition {
    pub x: StartCoordinate,
    pub y: StartCoordinate,
}

impl LandscapeSpec {
    pub fn info(&self) -> &'static LandscapeInfo {
        self.kind.info()
    }

    /// Lists the parameters at their paths in a preset.
    pub(crate) fn settings(&self) -> impl Iterator<Item = SettingValue> + use<> {
        self.parameters().map(|(of, value)| SettingValue::new(format!("landscape.{}", of.key), of, value))
    }

    /// Returns the point at which runs start by default.
    pub fn start(&self) -> StartPosition {
        let [x, y] = self.info().start.map(StartCoordinate::clamped);
        StartPosition { x, y }
    }

    pub fn rotation_degrees(&self) -> f64 {
        self.values[self.info().parameters.len() - 1]
    }

    /// Takes the other landscape's values of parameters with the same description, such as the sharpness of valleys,
    /// except the rotation, whose default belongs to the landscape.
    pub fn in_place_of(mut self, before: &LandscapeSpec) -> LandscapeSpec {
        for (index, own) in self.info().parameters.iter().enumerate().filter(|(_, own)| own.key != ROTATION.key) {
            let is_same = |of: &SettingInfo| SettingInfo { kind: of.kind, ..own.default(of.default) } == *of;
            let mut same = before.parameters().filter(|(of, _)| is_same(of));
            let carried_over = same.next().and_then(|(_, value)| own.checked(value).ok());
            self.values[index] = carried_over.unwrap_or(self.values[index]);
        }
        self
    }

    /// A typed landscape with another text, whose parameters keep their values if they were set and the new ranges
    /// allow them.
    pub fn with_text(&self, formula: &'static LandscapeFormula) -> LandscapeSpec {
        self.converted(LandscapeKind::Formula(formula))
    }

    /// Formats what differs from another landscape: the kind, and values; those of parameters that the other lacks if
    /// they are not the defaults.
    pub fn differences(&self, other: &LandscapeSpec, number: impl Fn(f64) -> String) -> Vec<String> {
        let kind = (self.kind != other.kind).then(|| self.kind.name().to_owned());
        let values = self.parameters().filter(|(of, value)| other.get(of.key).unwrap_or(of.default) != *value);
        kind.into_iter().chain(values.map(|(of, value)| of.with(number(value)))).collect()
    }

    pub fn landscape(&self) -> Landscape {
        let radians = self.rotation_degrees().to_radians();
        match self.valley() {
            Some([sharpness, slope]) => Landscape::Valley(NarrowValley::new(sharpness, slope, radians)),
            None => self.as_program(),
        }
    }

    /// The landscape as a program, also the paper's valley.
    pub fn as_program(&self) -> Landscape {
        let radians = self.rotation_degrees().to_radians();
        let count = self.info().parameters.len() - 1;
        Landscape::program(self.kind.program().bind(&self.values[..count], radians), radians)
    }

    /// Sharpness a and slope c of the paper's valley; `None` for other landscapes.
    pub fn valley(&self) -> Option<[f64; 2]> {
        let value = |parameter: &SettingInfo| self.get(parameter.key).expect("the valley has the parameter");
        (self.kind == LandscapeKind::Valley).then(|| [value(&SHARPNESS), value(&SLOPE)])
    }
}

/// A typed landscape.
pub type LandscapeFormula = Interned<CompiledLandscape>;

/// The program and the description of a typed landscape.
#[derive(Debug)]
pub struct CompiledLandscape {
    program: LossProgram,
    info: LandscapeInfo,
}

impl Interned<CompiledLandscape> {
    /// The name of a typed landscape whose preset gives none.
    pub const UNNAMED: &str = "Formula";

    pub fn info(&'static self) -> &'static LandscapeInfo {
        &self.compiled.info
    }

    pub fn program(&'static self) -> &'static LossProgram {
        &self.compiled.program
    }
}

impl Compiled for CompiledLandscape {
    const NOUN: &'static str = "landscape";
    const KIN: &'static str = "landscape";

    fn compile(name: &str, text: &str) -> Result<CompiledLandscape, ProgramError> {
        let program = LossProgram::new(text)?;
        let parameters = program.parameters().iter().map(parameter).chain([ROTATION]).collect::<Vec<_>>().leak();
        let info = LandscapeInfo {
            name: name.to_owned().leak(),
            formula: "",
            about: "",
            source: "a landscape of your own",
            parameters,
            metrics: super::of_text(text),
            start: [0.0, 0.0],
            home: HomeView { center: [0.0, 0.0], width: 6.0 },
        };
        Ok(CompiledLandscape { program, info })
    }

    fn name(&self) -> &'static str {
        self.info.name
    }

    fn text(&self) -> &str {
        self.program.text().expect("a typed loss keeps its text")
    }

    fn is_built_in(name: &str) -> bool {
        LandscapeKind::named(name).is_some()
    }

    fn interned() -> &'static Mutex<Vec<&'static LandscapeFormula>> {
        static INTERNED: Mutex<Vec<&'static LandscapeFormula>> = Mutex::new(Vec::new());
        &INTERNED
    }
}

/// Describes a parameter that a text declares.
fn parameter(of: &language::Parameter) -> SettingInfo {
    let key = &*of.name.clone().leak();
    let symbol = &*symbol(key).leak();
    let label = if symbol == key { key } else { format!("{key} {symbol}").leak() };
    let [low, high] = of.range;
    let parameter = SettingInfo::number(symbol, label, Range::new(key, low, high)).default(of.default);
    if low > 0.0 && high / low >= 1e3 { parameter.logarithmic() } else { parameter }
}

impl Kind for LandscapeKind {
    const SETTINGS: [&'static str; 2] = ["a parameter of the landscape", "parameters"];

    fn table(self) -> &'static [SettingInfo] {
        self.info().parameters
    }
}

impl configured::Variant for LandscapeKind {
    const TYPE: &'static str = "Landscape";
    const VALUE: &'static str = "a landscape";
    const TYPED: &'static str = LandscapeKind::FORMULA;

    fn names() -> &'static [&'static str] {
        lasting(Self::ALL.iter().map(|kind| kind.key()).chain([Self::FORMULA]).collect())
    }

    fn named(name: &str) -> Option<LandscapeKind> {
        LandscapeKind::named(name)
    }

    fn typed<E: de::Error>(fields: &TypedFields) -> Result<LandscapeKind, E> {
        let name = fields.name.as_deref().unwrap_or(LandscapeFormula::UNNAMED);
        let formula = LandscapeFormula::new(name, fields.text()?);
        formula.map(LandscapeKind::Formula).map_err(E::custom)
    }

    fn variant(self) -> (u32, &'static str) {
        let index = LandscapeKind::ALL.iter().position(|kind| *kind == self).unwrap_or(LandscapeKind::ALL.len());
        (index as u32, self.key())
    }

    fn texts(self) -> Option<[&'static str; 2]> {
        self.formula().map(|formula| [formula.name(), formula.text()])
    }
}

impl<'de> Deserialize<'de> for LandscapeSpec {
    /// Reads a landscape. Missing parameters have their defaults.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LandscapeSpec, D::Error> {
        configured::deserialize(deserializer, LandscapeSpec::new, None).map(|(landscape, _)| landscape)
    }
}

impl Serialize for LandscapeSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        configured::serialize(self, serializer, (0, |_| Ok(())))
    }
}
