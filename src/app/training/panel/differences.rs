//! The settings in which runs differ.

use egui::Context;
use valleyscope_experiments::difference::{DifferenceTable, SettingColumn, run_settings};
use valleyscope_runs::RunFolder;

use super::TrainingPanel;
use crate::app::live::Action;

impl TrainingPanel {
    /// Reads the settings of two or more runs in the background, and then shows a window with the table of those that
    /// differ.
    pub(super) fn show_differences(&mut self, ctx: &Context, runs: Vec<RunFolder>) {
        let column = |run: &RunFolder| Ok(SettingColumn { name: run.name(), settings: run_settings(run)? });
        self.exports.begin(ctx, move || match runs.iter().map(column).collect::<Result<Vec<_>, String>>() {
            Ok(columns) => Action::ShowDifferences(Box::new(DifferenceTable::of(&columns))),
            Err(text) => Action::Report { title: "The runs were not compared".to_owned(), text },
        });
    }
}
