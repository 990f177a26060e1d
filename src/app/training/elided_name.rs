//! A line of text whose name is cut where space is scarce.

use egui::{Color32, Label, Response, RichText, Role, TextStyle, Ui, WidgetInfo};

use crate::app::theme::text_width;

/// Shows a small line of three parts. Where it is too long, the second, a name, is cut before the third.
pub(super) fn line_with_name(ui: &mut Ui, color: Color32, parts: [&str; 3]) -> Response {
    let font = TextStyle::Small.resolve(ui.style());
    let room = ui.available_width();
    let fits = |text: &str| text_width(ui, &font, text) <= room;
    let text = RichText::new(elided(parts, fits)).small().color(color);
    let shown = ui.add(Label::new(text).selectable(false).truncate());
    shown.widget_info(|| WidgetInfo::labeled(Role::Label, true, parts.concat()));
    shown
}

/// Returns the longest text that fits: all parts, or as much of the second as there is room for.
fn elided(parts: [&str; 3], fits: impl Fn(&str) -> bool) -> String {
    let [before, name, after] = parts;
    let whole = parts.concat();
    if name.is_empty() || fits(&whole) {
        return whole;
    }
    let elided = |end: usize| format!("{before}{}…{after}", &name[..end]);
    let ends: Vec<usize> = name.char_indices().map(|(end, _)| end).collect();
    let fitting = ends.partition_point(|end| fits(&elided(*end)));
    elided(ends[fitting.saturating_sub(1)])
}

#[cfg(test)]
mod tests {
    use super::elided;

    #[test]
    fn only_the_name_is_cut_and_the_step_stays() {
        let parts = ["fork of ", "mnist-größer-20261124", " at step 1,000"];
        let shown = |room: usize| elided(parts, |text| text.chars().count() <= room);
        assert_eq!(shown(100), "fork of mnist-größer-20261124 at step 1,000");
        assert_eq!(shown(33), "fork of mnist-größ… at step 1,000");
        assert_eq!(shown(23), "fork of … at step 1,000");
        assert_eq!(shown(5), "fork of … at step 1,000", "what is shown of it ends there");
    }
}
