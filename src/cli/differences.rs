//! Tables of differences on stdout.

use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::difference::{DifferenceRow, DifferenceTable, SettingColumn};

use super::Failure;
use super::output::{cell, print, table};

/// The largest number of characters of a value.
const LONGEST: usize = 60;

/// Prints the settings that differ, a line each, and the number of those that are equal.
pub(super) fn print_differences(columns: &[SettingColumn]) -> Result<(), Failure> {
    let differences = DifferenceTable::of(columns);
    let name = |name: &String| cell(name, LONGEST);
    let head = ["SETTING".to_owned(), "KEY".to_owned()].into_iter().chain(differences.names.iter().map(name)).collect();
    let row = |row: &DifferenceRow| -> Vec<String> {
        let own = [&row.label, &row.path].map(|text| cell(text, LONGEST));
        own.into_iter().chain(row.shown(LONGEST).iter().map(|value| visible(value).into_owned())).collect()
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(differences.rows.iter().map(row)).collect();
    let rows = if differences.rows.is_empty() { String::new() } else { table(&rows, "") + "\n" };
    print(&format!("{rows}{}\n", differences.equal_in_words()))
}
