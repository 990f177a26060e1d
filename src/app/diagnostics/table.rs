//! The export of the plots as a table.

use std::sync::mpsc::{Receiver, channel};

use egui::Context;
use valleyscope_engine::simulation::Bucket;
use valleyscope_experiments::view::DiagnosticMetric;

use super::csv::csv_of;
use crate::app::{Action, Requests};
use crate::player::{OptimizerHistory, PlayerCommand};

/// The contents of the table.
pub(super) struct TableContents {
    /// The shown optimizers: the places of their simulations, their ids and their names.
    pub optimizers: Vec<(usize, u32, String)>,
    pub metrics: Vec<DiagnosticMetric>,
    /// The first and the last step, both included.
    pub steps: [u64; 2],
}

/// A table in progress. The player hands over its history when it gets to the request, and a thread formats the text,
/// which may be large.
pub(super) struct Table {
    text: Receiver<String>,
}

impl Table {
    /// Begins a table of `frozen`, or else of the player's whole history.
    pub(super) fn begin(
        ctx: &Context,
        contents: TableContents,
        frozen: Option<Vec<OptimizerHistory>>,
        requests: &mut Requests,
    ) -> Table {
        let (answer, histories) = channel();
        match frozen {
            // The receiver lives until the thread has it.
            Some(frozen) => answer.send(frozen).unwrap_or_default(),
            None => requests.commands.push(PlayerCommand::History(answer)),
        }
        let (text_to, text) = channel();
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            if let Ok(histories) = histories.recv() {
                // The window may be closed.
                let _ = text_to.send(contents.table(&histories));
                ctx.request_repaint();
            }
        });
        Table { text }
    }

    /// Asks for a path once the text is ready; returns true until then.
    pub(super) fn is_under_way(&self, requests: &mut Requests) -> bool {
        let Ok(text) = self.text.try_recv() else { return true };
        requests.actions.push(Action::SaveText { text, suggested_name: "diagnostics.csv".to_owned() });
        false
    }
}

impl TableContents {
    fn table(&self, histories: &[OptimizerHistory]) -> String {
        let [from, to] = self.steps;
        let asked_for = |bucket: &Bucket| bucket.first_step <= to && bucket.first_step + bucket.steps > from;
        let of = |(place, id, name)| -> Option<(&str, &[Bucket])> {
            let OptimizerHistory { buckets, .. } =
                histories.iter().find(|history| (&history.place, &history.optimizer) == (place, id))?;
            let first = buckets.iter().position(asked_for)?;
            let last = buckets.iter().rposition(asked_for)?;
            Some((name, &buckets[first..=last]))
        };
        let ensembles: Vec<_> =
            self.optimizers.iter().filter_map(|(place, id, name)| of((place, id, name.as_str()))).collect();
        csv_of(&ensembles, &self.metrics)
    }
}
