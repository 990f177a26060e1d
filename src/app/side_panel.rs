//! Side panels, which keep the size that the user gave them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use egui::accesskit::Action;
use egui::containers::panel::PanelState;
use egui::{Frame, Id, IdSalt, Panel, Pos2, Rect, Ui, Vec2};
use serde::{Deserialize, Serialize};

/// The widths and heights that the user gave to panels, in points, by the panels' names. Other panels keep their usual
/// size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PanelSizes(BTreeMap<String, f32>);

impl PanelSizes {
    /// Removes invalid sizes.
    pub(super) fn clamped(mut self) -> PanelSizes {
        self.0.retain(|_, size| size.is_finite() && *size > 0.0);
        self
    }
}

/// The side of the window at which a panel is.
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

    /// Returns the width of a panel at the left or the right, or the height of one at the top or the bottom.
    fn size(self, of: Vec2) -> f32 {
        match self {
            Edge::Left | Edge::Right => of.x,
            Edge::Top | Edge::Bottom => of.y,
        }
    }
}

/// A panel at a side of the window. It has the size that the user set, or else the usual one, as far as it fits; a
/// window that grows again restores it.
pub(super) struct SidePanel {
    pub name: &'static str,
    pub edge: Edge,
    /// The usual size in points.
    pub usual: f32,
    pub range: RangeInclusive<f32>,
    /// The frame; `None` for the usual one.
    pub frame: Option<Frame>,
}

impl SidePanel {
    /// Shows the panel.
    pub(super) fn show(self, ui: &mut Ui, sizes: &mut PanelSizes, content: impl FnOnce(&mut Ui, &mut PanelSizes)) {
        self.show_open(ui, sizes, None, content);
    }

    /// Shows the panel while it `is_open`, which dragging its edge changes too.
    pub(super) fn show_collapsible(
        self,
        ui: &mut Ui,
        sizes: &mut PanelSizes,
        is_open: &mut bool,
        content: impl FnOnce(&mut Ui, &mut PanelSizes),
    ) {
        self.show_open(ui, sizes, Some(is_open), content);
    }

    fn show_open(
        self,
        ui: &mut Ui,
        sizes: &mut PanelSizes,
        is_open: Option<&mut bool>,
        content: impl FnOnce(&mut Ui, &mut PanelSizes),
    ) {
        let id = ui.scope_id().with_salt(IdSalt::new(self.name));
        let chosen = sizes.0.get(self.name).copied();
        let size = chosen.unwrap_or(self.usual).clamp(*self.range.start(), *self.range.end());
        // egui would start with the last size, which may be that of a smaller window.
        let state = PanelState { outer_rect: Rect::from_min_size(Pos2::ZERO, Vec2::splat(size)) };
        ui.data_mut(|data| data.insert_persisted(id, state));
        let is_resized = is_resized(ui, id);
        let mut panel = self.edge.panel(self.name).default_size(size).size_range(self.range);
        if let Some(frame) = self.frame {
            panel = panel.frame(frame);
        }
        let content = |ui: &mut Ui| content(ui, sizes);
        let is_shown = match is_open {
            Some(is_open) => panel.show_collapsible(ui, is_open, content).is_some() && *is_open,
            None => {
                panel.show(ui, content);
                true
            }
        };
        if is_resized
            && is_shown
            && let Some(state) = PanelState::load(ui, id)
        {
            sizes.0.insert(self.name.to_owned(), self.edge.size(state.size()));
        }
    }
}

/// Returns whether a panel's edge was released in this frame, or moved by assistive technology.
fn is_resized(ui: &Ui, panel: Id) -> bool {
    // The id that `Panel` gives its edge.
    let edge = panel.with("__resize");
    let is_asked = |action| ui.input(|input| input.has_accesskit_action_request(edge, action));
    ui.read_response(edge).is_some_and(|edge| edge.drag_stopped())
        || [Action::SetValue, Action::Increment, Action::Decrement].into_iter().any(is_asked)
}
