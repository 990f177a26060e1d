//! Highlights the controls that a lesson step has set: scrolls to them and marks them for a moment.

use egui::{Align, Context, Id, Rect, Stroke, StrokeKind, Ui};

/// The time for which a control is marked, in seconds.
const SECS: f64 = 3.0;

/// The names of the marked controls.
#[derive(Clone, Default)]
pub(crate) struct Highlight {
    names: Vec<String>,
    /// True until the first of them has been scrolled into view.
    scroll: bool,
    /// The time at which the marks disappear, by egui's clock.
    until_secs: f64,
}

impl Highlight {
    /// Marks the controls of these names.
    pub(crate) fn set(ctx: &Context, names: Vec<String>) {
        let highlight = Highlight { names, scroll: true, until_secs: ctx.time() + SECS };
        ctx.data_mut(|data| data.insert_temp(id(), highlight));
    }

    /// Draws the mark of the control `name`, at `rect`, if it is highlighted.
    pub(crate) fn mark(ui: &Ui, rect: Rect, name: &str) {
        let Some(highlight) = Self::current(ui.ctx()) else { return };
        if !highlight.names.iter().any(|marked| marked == name) {
            return;
        }
        if highlight.scroll && highlight.names[0] == name {
            ui.scroll_to_rect(rect, Some(Align::Center));
            ui.ctx().data_mut(|data| data.get_temp_mut_or_default::<Highlight>(id()).scroll = false);
        }
        let left = ((highlight.until_secs - ui.ctx().time()) / SECS).clamp(0.0, 1.0) as f32;
        let color = ui.visuals().warn_fg_color.gamma_multiply((2.0 * left).min(1.0));
        ui.painter().rect_stroke(rect.expand(2.0), 3.0, Stroke::new(2.0, color), StrokeKind::Outside);
        ui.ctx().request_repaint();
    }

    /// Returns whether a control of this optimizer has just been highlighted, so that its card must be unfolded.
    pub(crate) fn includes_control_of(ctx: &Context, owner: &str) -> bool {
        Self::current(ctx).is_some_and(|highlight| {
            let of_owner = |name: &String| name.strip_prefix(owner).is_some_and(|rest| rest.starts_with(": "));
            highlight.scroll && highlight.names.iter().any(of_owner)
        })
    }

    fn current(ctx: &Context) -> Option<Highlight> {
        let highlight: Highlight = ctx.data(|data| data.get_temp(id()))?;
        (ctx.time() < highlight.until_secs).then_some(highlight)
    }
}

fn id() -> Id {
    Id::unique("highlight")
}
