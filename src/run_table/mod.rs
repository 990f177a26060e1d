//! Runs as a table: their columns, filters, order and groups, for the window and the command line.
//!
//! [`RunFacts`] are the values of one run, read with its events. [`Columns`] are those of all listed runs. A [`Filter`]
//! is typed text; [`ordered`] and [`grouped`] arrange the runs that it admits.

mod aggregate;
mod aliases;
mod arrange;
mod column;
mod facts;
mod filter;
mod layout;
#[cfg(test)]
mod tests;
mod value;

pub use aggregate::{Aggregate, Statistic};
pub use aliases::{MetricAliases, proposals};
pub use arrange::{Group, GroupChoice, Grouping, Replicates, SortKey, ordered};
pub use column::{Column, Columns, FieldError};
pub use facts::{RunFacts, RunSettings, RunSource};
pub use filter::{Filter, FilterError, listed_fields};
pub use layout::TableLayout;
pub use value::{Format, Value, csv_cell};
