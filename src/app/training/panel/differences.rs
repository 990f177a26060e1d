//! The settings in which runs differ.

use egui::Context;
use valleyscope_experiments::difference::{DifferenceTable, run_column};
use valleyscope_runs::RunFolder;

use super::TrainingPanel;
use crate::app::live::Action;

impl TrainingPanel {
    /// Reads the settings of two or more runs in the background, and then shows a window with the table of those that
    /// differ.
    pub(super) fn show_differences(&mut self, ctx: &Context, runs: Vec<RunFolder>) {
        let name = |run: &RunFolder| self.summary(run).map_or_else(|| run.name(), |run| run.heading()[0].clone());
        let runs: Vec<(String, RunFolder)> = runs.into_iter().map(|run| (name(&run), run)).collect();
        let columns = move || runs.into_iter().map(|(name, run)| run_column(&run, name)).collect::<Result<Vec<_>, _>>();
        self.exports.begin(ctx, move || match columns() {
            Ok(columns) => Action::ShowDifferences(Box::new(DifferenceTable::of(&columns))),
            Err(text) => Action::Report { title: "The runs were not compared".to_owned(), text },
        });
    }
}
