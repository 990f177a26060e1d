//! This module describes how the languages of rules and of losses differ, as data for one parser.

use crate::language::Input;

/// The names and the words of a kind of program.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// The names that have a value to begin with, besides `pi`.
    pub given: &'static [(&'static str, Input)],
    /// Whether the coordinates `u` and `v` of a rotated landscape are given.
    pub has_axes: bool,
    /// Whether there are states and functions of a whole parameter.
    pub has_states: bool,
    /// The name that a text assigns to.
    pub target: &'static str,
    /// The description of the line that does so.
    pub target_line: &'static str,
    pub most_parameters: usize,
    /// The word for a parameter.
    pub parameter: &'static str,
    /// Names that no parameter has, as presets use them themselves.
    pub reserved: &'static [&'static str],
}

/// The functions by the number of their arguments.
const FUNCTIONS: [&[&str]; 3] =
    [&["sign", "abs", "sqrt", "exp", "ln", "tanh", "sin", "cos"], &["min", "max"], &["clamp", "where"]];
/// The functions of a whole parameter by the number of their arguments.
const OF_WHOLE: [&[&str]; 3] = [&["norm", "mean", "sum"], &["dot"], &[]];

/// Returns the names of the functions with this number of arguments.
fn functions(arguments: usize, has_whole: bool) -> impl Iterator<Item = &'static str> {
    let of_whole = if has_whole { OF_WHOLE[arguments - 1] } else { &[] };
    FUNCTIONS[arguments - 1].iter().chain(of_whole).copied()
}

impl Dialect {
    /// Returns the number of arguments of a function.
    pub(super) fn arguments(&self, name: &str) -> Option<usize> {
        (1..=3).find(|count| functions(*count, self.has_states).any(|function| function == name))
    }

    pub(super) fn is_function(&self, name: &str) -> bool {
        self.arguments(name).is_some()
    }

    pub(super) fn functions(&self) -> Vec<&'static str> {
        (1..=3).flat_map(|count| functions(count, self.has_states)).collect()
    }

    pub(super) fn is_given(&self, name: &str) -> bool {
        name == "pi" || (self.has_axes && ["u", "v"].contains(&name)) || self.given.iter().any(|(of, _)| *of == name)
    }
}
