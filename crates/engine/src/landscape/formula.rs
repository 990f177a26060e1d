//! Landscapes that are typed: losses in the language of [`crate::loss`] with a name.

use std::sync::Mutex;

use super::parameter::ROTATION;
use super::{BoundedParameter, HomeView, LandscapeInfo, LandscapeKind, metric};
use crate::language::{self, ProgramError};
use crate::loss::LossProgram;
use crate::optimizer::symbol;
use crate::parameter::Extent;
use crate::typed_text::{Compiled, Interned};

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
            metrics: metric::of_text(text),
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
fn parameter(of: &language::Parameter) -> BoundedParameter {
    let key = &*of.name.clone().leak();
    let symbol = symbol(key);
    let label = if symbol == key { key } else { format!("{key} {symbol}").leak() };
    let [low, high] = of.range;
    let extent =
        if low > 0.0 && high / low >= 1e3 { Extent::logarithmic(low, high) } else { Extent::linear(low, high) };
    BoundedParameter::new(key, symbol, label, [low, high], extent).default(of.default)
}
