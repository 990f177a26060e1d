//! Requests as much detail from the player as the plots can show.

use egui::Ui;
use valleyscope_engine::simulation::PlotRequest;

use crate::app::Requests;
use crate::player::PlayerCommand;

/// The time for which the axis of steps must rest before more detail is requested, in seconds.
const SETTLED_SECS: f64 = 0.12;

/// The last request for detail that was sent, and the one that waits for the axis to rest.
#[derive(Default)]
pub(super) struct DetailRequest {
    sent: Option<(u64, PlotRequest)>,
    waiting: Option<(PlotRequest, f64)>,
}

impl DetailRequest {
    /// Sends the wanted detail of this run, once it has stayed the same for a moment.
    pub(super) fn request(&mut self, ui: &Ui, run: u64, wanted: PlotRequest, requests: &mut Requests) {
        let now = ui.input(|input| input.time);
        if self.sent == Some((run, wanted)) {
            self.waiting = None;
            return;
        }
        let first = self.sent.is_none_or(|(sent, _)| sent != run);
        match self.waiting {
            Some((waiting, since)) if waiting == wanted && now - since >= SETTLED_SECS => {}
            _ if first => {}
            Some((waiting, _)) if waiting == wanted => return ui.ctx().request_repaint(),
            _ => {
                self.waiting = Some((wanted, now));
                return ui.ctx().request_repaint();
            }
        }
        requests.commands.push(PlayerCommand::Plot(wanted));
        *self = DetailRequest { sent: Some((run, wanted)), waiting: None };
    }
}
