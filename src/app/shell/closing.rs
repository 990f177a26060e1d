//! Asks before closing the window drops diagrams that took long to compute, or stops exports.

use egui::{Context, ViewportCommand};

use super::Valleyscope;
use crate::app::quit::{self, Losses, QuitAnswer, Quitting};
use crate::app::tabs::TabName;

impl Valleyscope {
    /// Cancels a request to close the window if diagrams or exports would be lost. Presets and trainings need no
    /// question: the session keeps unsaved settings, and trainings go on without the window. A window whose graphics
    /// device is lost cannot show one.
    pub(super) fn confirm_close(&mut self, ctx: &Context) {
        let is_requested = ctx.input(|input| input.viewport().close_requested());
        if !is_requested || self.device_lost || self.quitting == Quitting::Decided {
            return;
        }
        if !self.losses().is_empty() {
            ctx.send_viewport_cmd(ViewportCommand::CancelClose);
            if ctx.input(|input| input.viewport().minimized == Some(true)) {
                ctx.send_viewport_cmd(ViewportCommand::Minimized(false));
            }
            self.quitting = Quitting::Asked;
        }
    }

    /// Shows the question, and closes the window if the user agrees.
    pub(super) fn show_quit_question(&mut self, ctx: &Context) {
        if self.quitting != Quitting::Asked {
            return;
        }
        let losses = self.losses();
        // The results were exported, or the exports finished, meanwhile.
        let answer = if losses.is_empty() { Some(QuitAnswer::Stay) } else { quit::ask(ctx, &losses) };
        match answer {
            None => {}
            Some(QuitAnswer::Stay) => self.quitting = Quitting::No,
            Some(QuitAnswer::Export) => {
                self.quitting = Quitting::No;
                if let Some(tab) = self.tab_with_unsaved_results() {
                    self.tabs.get_mut(tab).export_first_unsaved(ctx, self.worth_asking);
                }
            }
            Some(QuitAnswer::Quit) => {
                self.quitting = Quitting::Decided;
                ctx.send_viewport_cmd(ViewportCommand::Close);
            }
        }
    }

    /// Returns what closing the window would drop: the results of the first tab with some, and the exports of all.
    fn losses(&self) -> Losses {
        let tab = self.tab_with_unsaved_results();
        Losses {
            results: tab.map(|tab| self.tabs.get(tab).unsaved_results(self.worth_asking)).unwrap_or_default(),
            exports: TabName::ALL.iter().flat_map(|tab| self.tabs.get(*tab).unfinished_exports()).collect(),
        }
    }

    /// Returns the first tab with results that closing the window would drop.
    fn tab_with_unsaved_results(&self) -> Option<TabName> {
        let has_losses = |tab: &TabName| !self.tabs.get(*tab).unsaved_results(self.worth_asking).lines.is_empty();
        TabName::ALL.iter().copied().find(has_losses)
    }
}
