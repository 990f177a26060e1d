//! Panels at the sides, which keep the width that the user gave them.

use std::ops::RangeInclusive;

use egui::accesskit::Action;
use egui::containers::panel::PanelState;
use egui::{Id, IdSalt, Panel, Pos2, Rect, Ui, vec2};
use serde::{Deserialize, Serialize};

/// The widths that the user gave to panels by their edges, in points; none where the usual width is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Widths {
    pub controls: Option<f32>,
    pub plots: Option<f32>,
    pub sweep_controls: Option<f32>,
    pub sweep_readout: Option<f32>,
    pub training_controls: Option<f32>,
}

impl Widths {
    /// Without those that no panel can have.
    pub fn sane(self) -> Widths {
        let sane = |width: Option<f32>| width.filter(|width| width.is_finite() && *width > 0.0);
        Widths {
            controls: sane(self.controls),
            plots: sane(self.plots),
            sweep_controls: sane(self.sweep_controls),
            sweep_readout: sane(self.sweep_readout),
            training_controls: sane(self.training_controls),
        }
    }
}

/// A panel at the left or the right. It is as wide as the user has made it, or else as usual, as far as the window
/// has room for that now: in a window that was made narrow and wide again it has its width again.
pub struct SidePanel {
    pub name: &'static str,
    pub is_left: bool,
    /// In points, as all widths.
    pub usual: f32,
    pub range: RangeInclusive<f32>,
}

impl SidePanel {
    /// Shows the panel.
    pub fn show(self, ui: &mut Ui, chosen: &mut Option<f32>, content: impl FnOnce(&mut Ui)) {
        self.show_open(ui, chosen, None, content);
    }

    /// Shows the panel while it `is_open`, which its edge changes too.
    pub fn show_collapsible(
        self,
        ui: &mut Ui,
        chosen: &mut Option<f32>,
        is_open: &mut bool,
        content: impl FnOnce(&mut Ui),
    ) {
        self.show_open(ui, chosen, Some(is_open), content);
    }

    fn show_open(
        self,
        ui: &mut Ui,
        chosen: &mut Option<f32>,
        is_open: Option<&mut bool>,
        content: impl FnOnce(&mut Ui),
    ) {
        let id = ui.scope_id().with_salt(IdSalt::new(self.name));
        let width = chosen.unwrap_or(self.usual).clamp(*self.range.start(), *self.range.end());
        // The panel begins with the width that it had last, which may be that of a narrower window.
        let state = PanelState { outer_rect: Rect::from_min_size(Pos2::ZERO, vec2(width, 0.0)) };
        ui.data_mut(|data| data.insert_persisted(id, state));
        let is_resized = is_resized(ui, id);
        let panel = if self.is_left { Panel::left(self.name) } else { Panel::right(self.name) };
        let panel = panel.default_size(width).size_range(self.range);
        let is_shown = match is_open {
            Some(is_open) => panel.show_collapsible(ui, is_open, content).is_some() && *is_open,
            None => {
                panel.show(ui, content);
                true
            }
        };
        if is_resized && is_shown {
            *chosen = PanelState::load(ui, id).map(|state| state.size().x);
        }
    }
}

/// Whether the edge of a panel was let go in this frame, or moved by assistive technology.
fn is_resized(ui: &Ui, panel: Id) -> bool {
    // As `Panel` calls its edge.
    let edge = panel.with("__resize");
    let is_asked = |action| ui.input(|input| input.has_accesskit_action_request(edge, action));
    ui.read_response(edge).is_some_and(|edge| edge.drag_stopped())
        || [Action::SetValue, Action::Increment, Action::Decrement].into_iter().any(is_asked)
}
