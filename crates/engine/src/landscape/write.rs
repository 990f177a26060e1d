//! Landscapes as they are written to presets.

use serde::ser::SerializeStructVariant;
use serde::{Serialize, Serializer};

use super::{LandscapeKind, LandscapeSpec};
use crate::typed_fields::{NAME, TEXT};

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
            variant.serialize_field(parameter.key(), &value)?;
        }
        variant.end()
    }
}
