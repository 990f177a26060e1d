//! A landscape with the values of its parameters, as in presets, and its serialization.

use std::fmt;
use std::sync::Mutex;

use serde::de::{EnumAccess, MapAccess, VariantAccess, Visitor};
use serde::ser::SerializeStructVariant;
use serde::{Deserialize, Serialize, Serializer, de};

use super::{
    HomeView, Landscape, LandscapeInfo, LandscapeKind, MOST_PARAMETERS, NarrowValley, ROTATION, SHARPNESS, SLOPE,
};
use crate::identifier::{Identifier, lasting};
use crate::language::symbol;
use crate::language::{self, ProgramError};
use crate::loss::LossProgram;
use crate::quantity::{OutOfRange, Range, StartCoordinate};
use crate::setting::{self, SettingInfo, SettingValue};
use crate::typed_text::{Compiled, Interned, NAME, TEXT, TypedFields};

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

/// A point on the plane at which runs start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartPosition {
    pub x: StartCoordinate,
    pub y: StartCoordinate,
}

impl LandscapeSpec {
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

    pub fn parameters(&self) -> impl Iterator<Item = (&'static SettingInfo, f64)> + use<> {
        self.info().parameters.iter().zip(self.values)
    }

    /// Lists the parameters at their paths in a preset.
    pub(crate) fn settings(&self) -> impl Iterator<Item = SettingValue> + use<> {
        self.parameters().map(|(of, value)| SettingValue::new(format!("landscape.{}", of.key), of, value))
    }

    /// Finds a parameter by its key.
    pub fn parameter(&self, key: &str) -> Option<&'static SettingInfo> {
        self.info().parameters.iter().find(|parameter| parameter.key == key)
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
        setting::set(self.info().parameters, &mut self.values, key, value, "a parameter of the landscape")
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

    /// Returns the point at which runs start by default.
    pub fn start(&self) -> StartPosition {
        let [x, y] = self.info().start.map(StartCoordinate::clamped);
        StartPosition { x, y }
    }

    pub fn rotation_degrees(&self) -> f64 {
        self.values[self.info().parameters.len() - 1]
    }

    /// Returns the landscape as a replacement of another: parameters with the same description, such as the sharpness of
    /// valleys, keep the other's values, apart from the rotation, whose default belongs to the landscape.
    pub fn in_place_of(mut self, before: &LandscapeSpec) -> LandscapeSpec {
        for (index, own) in self.info().parameters.iter().enumerate().filter(|(_, own)| own.key != ROTATION.key) {
            let is_same = |of: &SettingInfo| SettingInfo { kind: of.kind, ..own.default(of.default) } == *of;
            let mut same = before.parameters().filter(|(of, _)| is_same(of));
            let carried_over = same.next().and_then(|(_, value)| own.checked(value).ok());
            self.values[index] = carried_over.unwrap_or(self.values[index]);
        }
        self
    }

    /// Returns a typed landscape with another text, whose parameters keep their values if they were set and the new
    /// ranges allow them.
    pub fn with_text(&self, formula: &'static LandscapeFormula) -> LandscapeSpec {
        let mut spec = LandscapeSpec::new(LandscapeKind::Formula(formula));
        for (of, value) in self.parameters().filter(|(of, value)| *value != of.default) {
            if let Some(index) = spec.index(of.key) {
                spec.values[index] = spec.info().parameters[index].checked(value).unwrap_or(spec.values[index]);
            }
        }
        spec
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

    /// Returns the landscape as a program, also the paper's valley.
    pub fn as_program(&self) -> Landscape {
        let radians = self.rotation_degrees().to_radians();
        let count = self.info().parameters.len() - 1;
        Landscape::program(self.kind.program().bind(&self.values[..count], radians), radians)
    }

    /// Returns sharpness a and slope c of the paper's valley; `None` for other landscapes.
    pub fn valley(&self) -> Option<[f64; 2]> {
        let value = |parameter: &SettingInfo| self.get(parameter.key).expect("the valley has the parameter");
        (self.kind == LandscapeKind::Valley).then(|| [value(&SHARPNESS), value(&SLOPE)])
    }

    pub(super) fn index(&self, key: &str) -> Option<usize> {
        self.info().parameters.iter().position(|parameter| parameter.key == key)
    }

    /// Sets the value with this index, which was checked.
    pub(super) fn set_checked(&mut self, index: usize, value: f64) {
        self.values[index] = value;
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
    let symbol = symbol(key);
    let label = if symbol == key { key } else { format!("{key} {symbol}").leak() };
    let [low, high] = of.range;
    let parameter = SettingInfo::number(symbol, label, Range::new(key, low, high)).default(of.default);
    if low > 0.0 && high / low >= 1e3 { parameter.logarithmic() } else { parameter }
}

impl LandscapeKind {
    fn names_in_presets() -> &'static [&'static str] {
        lasting(Self::ALL.iter().map(|kind| kind.key()).chain([Self::FORMULA]).collect())
    }
}

impl<'de> Deserialize<'de> for LandscapeSpec {
    /// Reads a landscape. Missing parameters have their defaults.
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<LandscapeSpec, D::Error> {
        deserializer.deserialize_enum("Landscape", LandscapeKind::names_in_presets(), LandscapeReader)
    }
}

struct LandscapeReader;

impl<'de> Visitor<'de> for LandscapeReader {
    type Value = LandscapeSpec;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a landscape")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<LandscapeSpec, A::Error> {
        let of = |name: &str| match LandscapeKind::named(name) {
            Some(kind) => Some(Some(kind)),
            None => (name == LandscapeKind::FORMULA).then_some(None),
        };
        let names = LandscapeKind::names_in_presets();
        let (kind, fields) = data.variant_seed(Identifier { names, of, is_field: false })?;
        match kind {
            Some(kind) => {
                let names = lasting(kind.info().parameters.iter().map(|of| of.key).collect());
                fields.struct_variant(names, ParameterReader { spec: LandscapeSpec::new(kind), names })
            }
            None => fields.struct_variant(&[NAME, TEXT], FormulaReader),
        }
    }
}

/// Reads the parameters of a built-in landscape, over its defaults.
struct ParameterReader {
    spec: LandscapeSpec,
    names: &'static [&'static str],
}

impl<'de> Visitor<'de> for ParameterReader {
    type Value = LandscapeSpec;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the parameters of {}", self.spec.info().name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LandscapeSpec, A::Error> {
        let ParameterReader { mut spec, names } = self;
        let mut seen = [false; MOST_PARAMETERS];
        let of = |name: &str| names.iter().position(|key| *key == name);
        while let Some(index) = map.next_key_seed(Identifier { names, of, is_field: true })? {
            spec.set_checked(index, map.next_value_seed(&spec.info().parameters[index])?);
            if std::mem::replace(&mut seen[index], true) {
                return Err(de::Error::duplicate_field(names[index]));
            }
        }
        Ok(spec)
    }
}

/// Reads the name, the text and the parameters of a typed landscape.
struct FormulaReader;

impl<'de> Visitor<'de> for FormulaReader {
    type Value = LandscapeSpec;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name, the text and the parameters of a typed landscape")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LandscapeSpec, A::Error> {
        let mut fields = TypedFields::default();
        while let Some(key) = map.next_key()? {
            fields.read(key, &mut map)?;
        }
        let name = fields.name.as_deref().unwrap_or(LandscapeFormula::UNNAMED);
        let formula = LandscapeFormula::new(name, fields.text()?).map_err(de::Error::custom)?;
        let mut spec = LandscapeSpec::new(LandscapeKind::Formula(formula));
        let parameters = spec.info().parameters;
        let keys: Vec<&str> = parameters.iter().map(|of| of.key).collect();
        fields.set_parameters(&[], &keys, |index, value| {
            spec.set_checked(index, parameters[index].checked(value)?);
            Ok(())
        })?;
        Ok(spec)
    }
}

impl Serialize for LandscapeSpec {
    /// Writes a landscape as a variant of an enum with its parameters as fields.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let formula = self.kind().formula();
        let fields = self.info().parameters.len() + if formula.is_some() { 2 } else { 0 };
        let index = LandscapeKind::ALL.iter().position(|kind| *kind == self.kind()).unwrap_or(LandscapeKind::ALL.len());
        let mut variant = serializer.serialize_struct_variant("Landscape", index as u32, self.kind().key(), fields)?;
        if let Some(formula) = formula {
            variant.serialize_field(NAME, formula.name())?;
            variant.serialize_field(TEXT, formula.text())?;
        }
        for (parameter, value) in self.parameters() {
            variant.serialize_field(parameter.key, &value)?;
        }
        variant.end()
    }
}
