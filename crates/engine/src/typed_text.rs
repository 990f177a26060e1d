//! Rules and landscapes that are typed: named texts, compiled once and kept for as long as the program runs.
//!
//! [`RuleKind`](crate::optimizer::RuleKind) and [`LandscapeKind`](crate::landscape::LandscapeKind) hold a `&'static`
//! reference to an [`Interned`] text: equal names and texts are kept once, so that kinds stay `Copy` and are compared
//! by address. Each text without a mistake that is typed stays in memory, a few kB.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde::de::{Error, IgnoredAny, MapAccess};

use crate::identifier::lasting;
use crate::language::ProgramError;
use crate::quantity::OutOfRange;
use crate::terminal_escape::{escaped_name, is_visible_name};

/// The compiled content of a typed text.
pub trait Compiled: Sized + Sync + 'static {
    /// The noun in messages, such as `rule`.
    const NOUN: &'static str;
    /// The noun for everything that has a name of the same kind, such as `optimizer`.
    const KIN: &'static str;

    /// Compiles a text under a valid name.
    ///
    /// # Errors
    ///
    /// Returns the first mistake in the text.
    fn compile(name: &str, text: &str) -> Result<Self, ProgramError>;

    fn name(&self) -> &'static str;

    fn text(&self) -> &str;

    fn is_built_in(name: &str) -> bool;

    /// Returns the list of the texts interned so far.
    fn interned() -> &'static Mutex<Vec<&'static Interned<Self>>>;
}

/// A typed rule or landscape. Equal ones are kept once, for as long as the program runs.
#[derive(Debug)]
pub struct Interned<T> {
    pub(crate) compiled: T,
    /// Whether the name is offered; not after the rule or the landscape was given another one.
    is_listed: AtomicBool,
}

/// The reason why a typed rule or landscape is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypedError {
    #[error("the {noun}'s text, {mistake}")]
    Text { noun: &'static str, mistake: ProgramError },
    #[error("a typed {noun} has a name of 1 to {LONGEST_NAME} characters, found {found} of them")]
    NameLength { noun: &'static str, found: usize },
    #[error(
        "a typed {noun}'s name has a visible character, no spaces around it, and no control characters or other \
         invisible ones, found `{found}`"
    )]
    NameCharacters { noun: &'static str, found: String },
    #[error("the name `{found}` is that of another {kin}; a typed {noun} has a name of its own")]
    NameTaken { noun: &'static str, kin: &'static str, found: String },
}

const LONGEST_NAME: usize = 60;

impl<T: Compiled> Interned<T> {
    /// The largest number of characters of a name.
    pub const LONGEST_NAME: usize = LONGEST_NAME;

    /// Returns the rule or the landscape of this name and text.
    ///
    /// # Errors
    ///
    /// Returns the first mistake in the text, or why the name is refused.
    pub fn new(name: &str, text: &str) -> Result<&'static Interned<T>, TypedError> {
        let is_it = |known: &&&'static Interned<T>| known.name() == name && known.text() == text;
        if let Some(known) = known::<T>().iter().find(is_it) {
            known.is_listed.store(true, Ordering::Relaxed);
            return Ok(known);
        }
        let noun = T::NOUN;
        let length = name.chars().count();
        if length == 0 || length > LONGEST_NAME {
            return Err(TypedError::NameLength { noun, found: length });
        }
        if name.trim() != name || !is_visible_name(name) {
            return Err(TypedError::NameCharacters { noun, found: escaped_name(name) });
        }
        if T::is_built_in(name) {
            return Err(TypedError::NameTaken { noun, kin: T::KIN, found: name.to_owned() });
        }
        let compiled = T::compile(name, text).map_err(|mistake| TypedError::Text { noun, mistake })?;
        let mut known = known::<T>();
        if let Some(known) = known.iter().find(is_it) {
            return Ok(known);
        }
        let new = Box::leak(Box::new(Interned { compiled, is_listed: AtomicBool::new(true) }));
        known.push(new);
        Ok(new)
    }

    pub fn name(&self) -> &'static str {
        self.compiled.name()
    }

    pub fn text(&self) -> &str {
        self.compiled.text()
    }

    /// Withdraws the name from [`Interned::latest`], as it was replaced by another one.
    pub fn withdraw_name(&self) {
        known::<T>().iter().filter(|other| other.name() == self.name()).for_each(|other| {
            other.is_listed.store(false, Ordering::Relaxed);
        });
    }

    /// Makes this the last of its name, as where its text is typed once more after others.
    pub fn make_latest(&'static self) {
        let mut known = known::<T>();
        let own = known.iter().position(|other| std::ptr::eq(*other, self));
        let last = known.iter().rposition(|other| other.name() == self.name());
        self.is_listed.store(true, Ordering::Relaxed);
        if let (Some(own), Some(last)) = (own, last) {
            known[own..=last].rotate_left(1);
        }
    }

    /// Lists the last of each name, in the order of the names' first.
    pub fn latest() -> Vec<&'static Interned<T>> {
        let mut latest: Vec<&'static Interned<T>> = Vec::new();
        for &item in known::<T>().iter().filter(|item| item.is_listed.load(Ordering::Relaxed)) {
            match latest.iter_mut().find(|other| other.name() == item.name()) {
                Some(other) => *other = item,
                None => latest.push(item),
            }
        }
        latest
    }

    pub(crate) fn all() -> Vec<&'static Interned<T>> {
        known::<T>().clone()
    }
}

fn known<T: Compiled>() -> MutexGuard<'static, Vec<&'static Interned<T>>> {
    T::interned().lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> PartialEq for Interned<T> {
    fn eq(&self, other: &Interned<T>) -> bool {
        std::ptr::eq(self, other)
    }
}

impl<T> Eq for Interned<T> {}

impl<T> Hash for Interned<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}

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
        for (index_of_value, (key, value)) in self.values.iter().enumerate() {
            let Some(index) = keys.iter().position(|known| known == key) else {
                let fields = [NAME, TEXT].iter().chain(others).chain(keys).copied().collect();
                return Err(E::unknown_field(key, lasting(fields)));
            };
            if self.values[..index_of_value].iter().any(|(before, _)| before == key) {
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
