//! The fields of typed rules and landscapes in presets.

use serde::Deserialize;
use serde::de::{Error, IgnoredAny, MapAccess};

use crate::identifier::lasting;
use crate::quantity::OutOfRange;

/// The field with the name of a typed rule or landscape.
pub(crate) const NAME: &str = "name";
/// The field with the text of a typed rule or landscape.
pub(crate) const TEXT: &str = "text";

/// The fields of a typed rule or landscape, as far as they were read. The names of its parameters are known only once
/// its text is read.
#[derive(Default)]
pub(crate) struct TypedFields {
    pub name: Option<String>,
    text: Option<String>,
    values: Vec<(String, Given)>,
}

/// A value that should be a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Given {
    Number(f64),
    Other(IgnoredAny),
}

impl TypedFields {
    /// Reads the value of the field with this key.
    pub(crate) fn read<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        let field = match key.as_str() {
            NAME => Some((NAME, &mut self.name)),
            TEXT => Some((TEXT, &mut self.text)),
            _ => None,
        };
        match field {
            Some((key, Some(_))) => return Err(Error::duplicate_field(key)),
            Some((_, field)) => *field = Some(map.next_value()?),
            None => self.values.push((key, map.next_value()?)),
        }
        Ok(())
    }

    /// Returns the text, which must be given.
    pub(crate) fn text<E: Error>(&self) -> Result<&str, E> {
        self.text.as_deref().ok_or_else(|| E::missing_field(TEXT))
    }

    /// Sets the parameters that were given. `keys` are those of all parameters, and `others` the further fields of the
    /// typed rule or landscape.
    pub(crate) fn set_parameters<E: Error>(
        &self,
        others: &[&'static str],
        keys: &[&'static str],
        mut set: impl FnMut(usize, f64) -> Result<(), OutOfRange>,
    ) -> Result<(), E> {
        for (place, (key, value)) in self.values.iter().enumerate() {
            let Some(index) = keys.iter().position(|known| known == key) else {
                let fields = [NAME, TEXT].iter().chain(others).chain(keys).copied().collect();
                return Err(E::unknown_field(key, lasting(fields)));
            };
            if self.values[..place].iter().any(|(before, _)| before == key) {
                return Err(E::duplicate_field(keys[index]));
            }
            match value {
                Given::Number(value) => set(index, *value).map_err(E::custom)?,
                Given::Other(IgnoredAny) => return Err(E::custom(format!("the parameter `{key}` must be a number"))),
            }
        }
        Ok(())
    }
}
