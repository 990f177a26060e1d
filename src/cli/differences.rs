//! Tables of differences on stdout.

use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::difference::{DifferenceRow, DifferenceTable, SettingColumn};

use super::Failure;
use super::output::{cell, print, table};

/// The largest number of characters of a value.
const LONGEST: usize = 60;

/// Prints the results and the settings that differ, a line each, and the number of those that are equal.
pub(super) fn print_differences(columns: &[SettingColumn]) -> Result<(), Failure> {
    let differences = DifferenceTable::of(columns);
    let name = |name: &String| cell(name, LONGEST);
    let head = ["SETTING".to_owned(), "KEY".to_owned()].into_iter().chain(differences.names.iter().map(name)).collect();
    let row = |row: &DifferenceRow| -> Vec<String> {
        let own = [&row.label, &row.path].map(|text| cell(text, LONGEST));
        own.into_iter().chain(row.shown(LONGEST).iter().map(|value| visible(value).into_owned())).collect()
    };
    let all = || differences.results.iter().chain(&differences.rows);
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(all().map(row)).collect();
    let rows = if all().next().is_none() { String::new() } else { table(&rows, "") + "\n" };
    print(&format!("{rows}{}\n", differences.equal_in_words()))
}
