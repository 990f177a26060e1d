//! Panels at the sides, which keep the size that the user gave them.

use std::ops::RangeInclusive;

use egui::accesskit::Action;
use egui::containers::panel::PanelState;
use egui::{Frame, Id, IdSalt, Panel, Pos2, Rect, Ui, Vec2};
use serde::{Deserialize, Serialize};

/// The widths and heights that the user gave to panels by their edges, in points; none where the usual size is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PanelSizes {
    pub controls: Option<f32>,
    pub plots: Option<f32>,
    pub sweep_controls: Option<f32>,
    pub sweep_readout: Option<f32>,
    pub training_controls: Option<f32>,
    pub formulas: Option<f32>,
    pub run_in_words: Option<f32>,
    pub list_of_runs: Option<f32>,
}

impl PanelSizes {
    /// Without those that no panel can have.
    pub fn sane(self) -> PanelSizes {
        let sane = |size: Option<f32>| size.filter(|size| size.is_finite() && *size > 0.0);
        PanelSizes {
            controls: sane(self.controls),
            plots: sane(self.plots),
            sweep_controls: sane(self.sweep_controls),
            sweep_readout: sane(self.sweep_readout),
            training_controls: sane(self.training_controls),
            formulas: sane(self.formulas),
            run_in_words: sane(self.run_in_words),
            list_of_runs: sane(self.list_of_runs),
        }
    }
}

/// The side of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Left,
    Right,
    Top,
    Bottom,
}

impl Edge {
    fn panel(self, name: &'static str) -> Panel {
        match self {
            Edge::Left => Panel::left(name),
            Edge::Right => Panel::right(name),
            Edge::Top => Panel::top(name).resizable(true),
            Edge::Bottom => Panel::bottom(name).resizable(true),
        }
    }

    /// The width of a panel at the left or the right, and the height of one at the top or the bottom.
    fn size(self, of: Vec2) -> f32 {
        match self {
            Edge::Left | Edge::Right => of.x,
            Edge::Top | Edge::Bottom => of.y,
        }
    }
}

/// A panel at a side. Its width, or height, is that set by the user, or else the usual one, as far as it fits into the
/// window: in a window that was made small and large again it has its old size.
pub(super) struct SidePanel {
    pub name: &'static str,
    pub edge: Edge,
    /// In points, as all sizes.
    pub usual: f32,
    pub range: RangeInclusive<f32>,
    /// The frame; None for the usual one.
    pub frame: Option<Frame>,
}

impl SidePanel {
    /// Shows the panel.
    pub(super) fn show(self, ui: &mut Ui, chosen: &mut Option<f32>, content: impl FnOnce(&mut Ui)) {
        self.show_open(ui, chosen, None, content);
    }

    /// Shows the panel while it `is_open`, which its edge changes too.
    pub(super) fn show_collapsible(
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
        let size = chosen.unwrap_or(self.usual).clamp(*self.range.start(), *self.range.end());
        // The panel begins with the size that it had last, which may be that of a smaller window.
        let state = PanelState { outer_rect: Rect::from_min_size(Pos2::ZERO, Vec2::splat(size)) };
        ui.data_mut(|data| data.insert_persisted(id, state));
        let is_resized = is_resized(ui, id);
        let mut panel = self.edge.panel(self.name).default_size(size).size_range(self.range);
        if let Some(frame) = self.frame {
            panel = panel.frame(frame);
        }
        let is_shown = match is_open {
            Some(is_open) => panel.show_collapsible(ui, is_open, content).is_some() && *is_open,
            None => {
                panel.show(ui, content);
                true
            }
        };
        if is_resized && is_shown {
            *chosen = PanelState::load(ui, id).map(|state| self.edge.size(state.size()));
        }
    }
}

/// Whether the edge of a panel was let go in this frame, or moved by assistive technology.
fn is_resized(ui: &Ui, panel: Id) -> bool {
    // The id that `Panel` gives its edge.
    let edge = panel.with("__resize");
    let is_asked = |action| ui.input(|input| input.has_accesskit_action_request(edge, action));
    ui.read_response(edge).is_some_and(|edge| edge.drag_stopped())
        || [Action::SetValue, Action::Increment, Action::Decrement].into_iter().any(is_asked)
}
