//! A presentation: the window enlarged for a projector, a black screen, and a ring around the pointer.

use egui::{Area, Color32, Context, Event, Id, LayerId, Order, Sense, Stroke, Vec2};

/// The radius of the ring around the pointer, in points.
const RING: f32 = 20.0;

/// The state of a presentation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Presentation {
    /// The zoom factor of the window outside of the presentation.
    zoom_before: f32,
    /// The zoom factor as it was last set here. Another one is the user's change.
    zoom: f32,
    /// The user's enlargement beyond the one that fills the window.
    enlargement: f32,
    is_black: bool,
    has_ring: bool,
}

/// Forgets where the pointer is, as its place in points is another one in the changed zoom. It is known again when the
/// pointer moves.
fn forget_pointer(ctx: &Context) {
    ctx.input_mut(|input| input.pointer = egui::PointerState::default());
}

impl Presentation {
    /// Begins the presentation of a tab that is laid out in `size` points.
    pub(super) fn begin(ctx: &Context, size: Vec2) -> Presentation {
        let zoom = ctx.zoom_factor();
        let mut begun = Presentation { zoom_before: zoom, zoom, enlargement: 1.0, is_black: false, has_ring: false };
        begun.fit(ctx, size);
        forget_pointer(ctx);
        begun
    }

    pub(super) fn end(&self, ctx: &Context) {
        ctx.set_zoom_factor(self.zoom_before);
        forget_pointer(ctx);
    }

    /// Returns the zoom factor that the presentation's end restores.
    pub(super) fn zoom_before(&self) -> f32 {
        self.zoom_before
    }

    /// Returns whether the screen is black, so that nothing else can be seen.
    pub(super) fn is_black(&self) -> bool {
        self.is_black
    }

    pub(super) fn blacken(&mut self, ctx: &Context) {
        self.is_black = true;
        ctx.request_repaint();
    }

    pub(super) fn toggle_ring(&mut self) {
        self.has_ring = !self.has_ring;
    }

    /// Enlarges the interface so that `size` points fill the window, and type, strokes and markers keep their
    /// proportions on every screen. Call in each frame, as the window may change.
    pub(super) fn fit(&mut self, ctx: &Context, size: Vec2) {
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

    /// Gives the black screen back at any key, which then has no other effect.
    pub(super) fn take_keys(&mut self, ctx: &Context) {
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
    pub(super) fn draw(&mut self, ctx: &Context) {
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
