//! The shown panels of the window, their sizes, and its presentation to an audience.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use egui::accesskit::Action;
use egui::containers::panel::PanelState;
use egui::{
    Area, Color32, Context, Event, Frame, Id, IdSalt, LayerId, Order, Panel, Pos2, Rect, Sense, Stroke, Ui, Vec2,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WindowLayout {
    pub controls: bool,
    pub plots: bool,
    pub sizes: PanelSizes,
    /// True if the window is wide enough to show the plots.
    #[serde(skip)]
    pub room_for_plots: bool,
    #[serde(skip)]
    pub presentation: Option<Presentation>,
}

impl WindowLayout {
    pub(crate) fn is_presenting(&self) -> bool {
        self.presentation.is_some()
    }
}

impl Default for WindowLayout {
    fn default() -> Self {
        WindowLayout {
            controls: true,
            plots: true,
            sizes: PanelSizes::default(),
            room_for_plots: true,
            presentation: None,
        }
    }
}

/// The widths and heights that the user gave to panels, in points, by the panels' names. Other panels have their usual
/// size.
pub(crate) type PanelSizes = BTreeMap<String, f32>;

/// The side of the window at which a panel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
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

    /// The width of a panel at the left or the right, or the height of one at the top or the bottom.
    fn size(self, of: Vec2) -> f32 {
        match self {
            Edge::Left | Edge::Right => of.x,
            Edge::Top | Edge::Bottom => of.y,
        }
    }
}

/// A panel at a side of the window. It has the size that the user set, or else the usual one, as far as it fits; when
/// the window grows again, the panel's size is restored.
pub(crate) struct SidePanel {
    pub name: &'static str,
    pub edge: Edge,
    /// The usual size in points.
    pub usual: f32,
    pub range: RangeInclusive<f32>,
    /// The frame; `None` for the usual one.
    pub frame: Option<Frame>,
}

/// The usual and the least width of the controls, in which their sliders have room, in points.
const CONTROLS_WIDTH: f32 = 376.0;
const LEAST_CONTROLS_WIDTH: f32 = 240.0;

impl SidePanel {
    /// Makes the panel of a tab's controls, in a window of this width. All tabs have the width that the user set in one.
    pub(crate) fn controls(width: f32) -> SidePanel {
        let range = LEAST_CONTROLS_WIDTH..=(0.3 * width).clamp(LEAST_CONTROLS_WIDTH, 520.0);
        SidePanel { name: "controls", edge: Edge::Left, usual: CONTROLS_WIDTH, range, frame: None }
    }

    pub(crate) fn show(self, ui: &mut Ui, sizes: &mut PanelSizes, content: impl FnOnce(&mut Ui, &mut PanelSizes)) {
        self.show_open(ui, sizes, None, content);
    }

    /// Shows the panel while it `is_open`, which dragging its edge changes too.
    pub(crate) fn show_collapsible(
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
        let chosen = sizes.get(self.name).copied().filter(|size| size.is_finite());
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
            sizes.insert(self.name.to_owned(), self.edge.size(state.size()));
        }
    }
}

/// Whether a panel's edge was released in this frame, or moved by assistive technology.
fn is_resized(ui: &Ui, panel: Id) -> bool {
    // The id that `Panel` gives its edge.
    let edge = panel.with("__resize");
    let is_asked = |action| ui.input(|input| input.has_accesskit_action_request(edge, action));
    ui.read_response(edge).is_some_and(|edge| edge.drag_stopped())
        || [Action::SetValue, Action::Increment, Action::Decrement].into_iter().any(is_asked)
}

/// The radius of the ring around the pointer, in points.
const RING: f32 = 20.0;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Presentation {
    /// The zoom factor of the window outside of the presentation.
    pub zoom_before: f32,
    /// The zoom factor as it was last set here. Another one is the user's change.
    zoom: f32,
    /// The user's enlargement beyond the one that fills the window.
    enlargement: f32,
    /// Whether the screen is black and hides everything else.
    pub is_black: bool,
    /// Whether a ring is around the pointer.
    pub has_ring: bool,
}

/// Forgets the pointer's position, which has other values in the changed zoom, until the pointer moves.
fn forget_pointer(ctx: &Context) {
    ctx.input_mut(|input| input.pointer = egui::PointerState::default());
}

impl Presentation {
    /// Begins the presentation of a tab that is laid out in `size` points.
    pub(crate) fn begin(ctx: &Context, size: Vec2) -> Presentation {
        let zoom = ctx.zoom_factor();
        let mut begun = Presentation { zoom_before: zoom, zoom, enlargement: 1.0, is_black: false, has_ring: false };
        begun.fit(ctx, size);
        forget_pointer(ctx);
        begun
    }

    pub(crate) fn end(&self, ctx: &Context) {
        ctx.set_zoom_factor(self.zoom_before);
        forget_pointer(ctx);
    }

    pub(crate) fn blacken(&mut self, ctx: &Context) {
        self.is_black = true;
        ctx.request_repaint();
    }

    /// Returns whether a presentation shows the values under the pointer: while the ring is shown or a button is pressed.
    pub(crate) fn wants_readouts(&self, ctx: &Context) -> bool {
        self.has_ring || ctx.input(|input| input.pointer.any_down())
    }

    /// Enlarges the interface so that `size` points fill the window, and type, strokes and markers keep their
    /// proportions on every screen. Call in each frame, as the window may change.
    pub(crate) fn fit(&mut self, ctx: &Context, size: Vec2) {
        let zoom = ctx.zoom_factor();
        if zoom == 1.0 && self.zoom != 1.0 {
            self.enlargement = 1.0;
        } else {
            self.enlargement *= zoom / self.zoom;
        }
        let times = ctx.content_rect().size() * zoom / size;
        self.zoom = times.min_elem().max(1.0) * self.enlargement;
        if (self.zoom / zoom - 1.0).abs() > 1e-3 {
            ctx.set_zoom_factor(self.zoom);
        } else {
            self.zoom = zoom;
        }
    }

    /// Ends the black screen at any key, which then has no other effect.
    pub(crate) fn take_keys(&mut self, ctx: &Context) {
        if !self.is_black {
            return;
        }
        let is_pressed = ctx.input_mut(|input| {
            let is_pressed = input.events.iter().any(|event| matches!(event, Event::Key { pressed: true, .. }));
            input.events.retain(|event| !matches!(event, Event::Key { .. } | Event::Text(_)));
            is_pressed
        });
        self.is_black = !is_pressed;
        if is_pressed {
            ctx.request_repaint();
        }
    }

    /// Draws the black screen, or the ring around the pointer, above everything else.
    pub(crate) fn draw(&mut self, ctx: &Context) {
        if self.is_black {
            let screen = ctx.content_rect();
            let area = Area::new(Id::unique("black screen")).order(Order::Debug).fixed_pos(screen.min);
            area.accessible_name("Black screen").show(ctx, |ui| {
                ui.painter().rect_filled(screen, 0.0, Color32::BLACK);
                if ui.allocate_rect(screen, Sense::click()).clicked() {
                    self.is_black = false;
                    ctx.request_repaint();
                }
            });
            ctx.set_cursor_icon(egui::CursorIcon::None);
        } else if let Some(at) = ctx.pointer_hover_pos().filter(|_| self.has_ring) {
            let painter = ctx.layer_painter(LayerId::new(Order::Debug, Id::unique("pointer ring")));
            painter.circle_stroke(at, RING, Stroke::new(6.0, Color32::from_black_alpha(150)));
            painter.circle_stroke(at, RING, Stroke::new(3.0, Color32::from_rgb(255, 214, 60)));
        }
    }
}
