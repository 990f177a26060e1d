//! The user's choice and order of columns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::column::{Column, Columns};

/// The columns that a user has chosen: what differs from the usual ones, which depend on the listed runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableLayout {
    /// The fields that the user shows or hides, with whether they are shown; others are shown where they are usual.
    chosen: BTreeMap<String, bool>,
    /// The fields in the user's order; others follow those before which they usually are.
    order: Vec<String>,
}

impl TableLayout {
    pub fn shows(&self, column: &Column) -> bool {
        self.chosen.get(&column.field).copied().unwrap_or(column.is_usual)
    }

    pub fn show(&mut self, field: &str, is_shown: bool) {
        self.chosen.insert(field.to_owned(), is_shown);
    }

    /// Returns all columns in the user's order.
    pub fn arranged<'c>(&self, columns: &'c Columns) -> Vec<&'c Column> {
        let mut arranged: Vec<&Column> = self.order.iter().filter_map(|field| columns.get(field)).collect();
        let mut before: Option<&str> = None;
        for column in columns.iter() {
            if !arranged.iter().any(|known| known.field == column.field) {
                let after = arranged.iter().position(|known| Some(known.field.as_str()) == before);
                arranged.insert(after.map_or(0, |index| index + 1), column);
            }
            before = Some(&column.field);
        }
        arranged
    }

    /// Returns the shown columns in the user's order.
    pub fn shown<'c>(&self, columns: &'c Columns) -> Vec<&'c Column> {
        self.arranged(columns).into_iter().filter(|column| self.shows(column)).collect()
    }

    /// Moves a column to the place of another one.
    pub fn move_to(&mut self, columns: &Columns, field: &str, to: &str) {
        let mut order: Vec<String> = self.arranged(columns).iter().map(|column| column.field.clone()).collect();
        let place = |order: &[String], field: &str| order.iter().position(|other| other == field);
        let (Some(from), Some(to)) = (place(&order, field), place(&order, to)) else { return };
        let moved = order.remove(from);
        order.insert(to, moved);
        // The places of columns that other runs have are kept.
        let others = std::mem::take(&mut self.order).into_iter().filter(|field| columns.get(field).is_none());
        self.order = order.into_iter().chain(others).collect();
    }

    /// Moves a column by one place among the shown ones.
    pub fn shift(&mut self, columns: &Columns, field: &str, to_left: bool) {
        let shown: Vec<String> = self.shown(columns).iter().map(|column| column.field.clone()).collect();
        let place = shown.iter().position(|other| other == field);
        let to = place.and_then(|place| if to_left { place.checked_sub(1) } else { Some(place + 1) });
        if let Some(to) = to.and_then(|to| shown.get(to)) {
            self.move_to(columns, field, to);
        }
    }

    /// Restores the usual columns and their order.
    pub fn reset(&mut self) {
        *self = TableLayout::default();
    }

    pub fn is_usual(&self) -> bool {
        *self == TableLayout::default()
    }
}
