//! Landscapes that are typed: losses in the language of [`crate::loss`] with a name.
//!
//! [`LandscapeKind::Formula`](super::LandscapeKind) holds a `&'static LandscapeFormula`: equal names and texts are kept
//! once, so that landscapes stay `Copy` and are compared by their address. Each text without a mistake that is typed
//! stays in memory, some kB.

use std::hash::{Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::parameter::ROTATION;
use super::{BoundedParameter, HomeView, LandscapeInfo, LandscapeKind};
use crate::language::{self, ProgramError};
use crate::latest::{latest, make_latest};
use crate::loss::LossProgram;
use crate::optimizer::symbol;
use crate::parameter::Extent;
use crate::terminal_escape::{escaped_name, is_visible_name};

/// A typed landscape. Equal ones are kept once, for as long as the program runs.
#[derive(Debug)]
pub struct LandscapeFormula {
    name: &'static str,
    program: LossProgram,
    info: LandscapeInfo,
}

/// The reason why a typed landscape is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormulaError {
    #[error("the landscape's text, {0}")]
    Text(#[from] ProgramError),
    #[error(
        "a typed landscape has a name of 1 to {} characters, found {found} of them",
        LandscapeFormula::LONGEST_NAME
    )]
    Name { found: usize },
    #[error(
        "a typed landscape's name has a visible character, no spaces around it, and no control characters or other \
         invisible ones, found `{0}`"
    )]
    Characters(String),
    #[error("the name `{0}` is that of another landscape; a typed landscape has a name of its own")]
    NameOfAnother(String),
}

/// All that were made so far.
static KNOWN: Mutex<Vec<&'static LandscapeFormula>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<&'static LandscapeFormula>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LandscapeFormula {
    pub const LONGEST_NAME: usize = 60;
    /// The name of a typed landscape whose preset gives none.
    pub const UNNAMED: &str = "Formula";

    /// Returns the landscape of this name and text.
    ///
    /// # Errors
    ///
    /// Returns the first mistake in the text, or why the name is refused.
    pub fn new(name: &str, text: &str) -> Result<&'static LandscapeFormula, FormulaError> {
        let is_it = |formula: &&&'static LandscapeFormula| formula.name == name && formula.text() == text;
        if let Some(formula) = known().iter().find(is_it) {
            return Ok(formula);
        }
        let length = name.chars().count();
        if length == 0 || length > Self::LONGEST_NAME {
            return Err(FormulaError::Name { found: length });
        }
        if name.trim() != name || !is_visible_name(name) {
            return Err(FormulaError::Characters(escaped_name(name)));
        }
        if LandscapeKind::named(name).is_some() {
            return Err(FormulaError::NameOfAnother(name.to_owned()));
        }
        let program = LossProgram::new(text)?;
        let mut known = known();
        if let Some(formula) = known.iter().find(is_it) {
            return Ok(formula);
        }
        let name = &*name.to_owned().leak();
        let parameters = program.parameters().iter().map(parameter).chain([ROTATION]).collect::<Vec<_>>().leak();
        let info = LandscapeInfo {
            name,
            formula: "",
            about: "",
            source: "a landscape of your own",
            parameters,
            start: [0.0, 0.0],
            home: HomeView { center: [0.0, 0.0], width: 6.0 },
        };
        let formula = Box::leak(Box::new(LandscapeFormula { name, info, program }));
        known.push(formula);
        Ok(formula)
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn text(&self) -> &str {
        self.program.text().expect("a typed loss keeps its text")
    }

    pub fn info(&'static self) -> &'static LandscapeInfo {
        &self.info
    }

    pub fn program(&'static self) -> &'static LossProgram {
        &self.program
    }

    /// Makes the landscape the last of its name, as where its text is typed once more after others.
    pub fn make_latest(&'static self) {
        make_latest(&mut known(), self, LandscapeFormula::name);
    }

    /// Returns the last landscape of each name, in the order of the names' first.
    pub fn latest() -> Vec<&'static LandscapeFormula> {
        latest(&known(), LandscapeFormula::name)
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

/// Each is kept once.
impl PartialEq for LandscapeFormula {
    fn eq(&self, other: &LandscapeFormula) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for LandscapeFormula {}

impl Hash for LandscapeFormula {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}
