//! The choice of the landscape, with the button that opens it as text.

use egui::{Button, Context, RichText, TextStyle, Ui};
use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec};

use crate::app::form;
use crate::app::live::{Action, Requests};
use crate::app::text_editor::{self, TextEditor, TextTab};
use crate::app::theme::text_width;

/// The label of the choice of the landscape.
pub(super) const LANDSCAPE: &str = "Landscape L";
/// The label of the button that opens the landscape as text.
const TEXT: &str = "Text";

/// The replacement of a landscape by [`landscape_choice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LandscapeChange {
    /// Another landscape was chosen.
    Chosen,
    /// The landscape was copied as text, with the same losses.
    Copied,
}

/// Shows the choice of a tab's landscape and the button that opens it as text. Another landscape keeps the parameters
/// that both have.
pub(crate) fn landscape_choice(
    ui: &mut Ui,
    tab: TextTab,
    landscape: &mut LandscapeSpec,
    requests: &mut Requests,
) -> Option<LandscapeChange> {
    let before = *landscape;
    let mut change = None;
    ui.horizontal(|ui| {
        let small = TextStyle::Small.resolve(ui.style());
        let spacing = ui.spacing();
        let button = spacing.item_spacing.x + 2.0 * spacing.button_padding.x + text_width(ui, &small, TEXT);
        form::list_field(ui, LANDSCAPE, ("landscape", tab.key()), before.kind().name(), button, |ui| {
            let known = LandscapeFormula::latest();
            let chosen = text_editor::choices(ui, Some(before.kind())).filter(|kind| *kind != before.kind());
            if let Some(kind) = chosen {
                *landscape = LandscapeSpec::new(kind).in_place_of(&before);
                if kind.formula().is_some_and(|own| !known.contains(&own)) {
                    editor(tab, "").open(ui.ctx());
                }
                change = Some(LandscapeChange::Chosen);
            }
        });
        if text_button(ui, tab, landscape) {
            match landscape.kind().formula() {
                Some(_) => editor(tab, "").open(ui.ctx()),
                None => match text_editor::landscape_as_text(landscape) {
                    Ok(copy) => {
                        *landscape = copy;
                        editor(tab, "").open(ui.ctx());
                        change = Some(LandscapeChange::Copied);
                    }
                    Err(reason) => requests.actions.push(Action::Notify(reason)),
                },
            }
        }
    });
    change
}

/// Shows the window with the text of a tab's landscape, if it is open.
pub(crate) fn landscape_editor(ctx: &Context, tab: TextTab, landscape: &mut LandscapeSpec) {
    editor(tab, landscape.kind().name()).show(ctx, landscape);
}

fn editor(tab: TextTab, owner: &str) -> TextEditor<'_, LandscapeKind> {
    TextEditor::new(tab, 0, owner)
}

/// Shows the button; its tooltip has the formulas of the gradient.
fn text_button(ui: &mut Ui, tab: TextTab, landscape: &LandscapeSpec) -> bool {
    let kind = landscape.kind();
    let has_mistake = editor(tab, "").has_mistake(ui.ctx(), landscape);
    let help = match (kind.formula(), has_mistake) {
        (Some(_), true) => "The name or the text has a mistake; the last valid landscape is in use",
        (Some(_), false) => "Edit the landscape's text",
        (None, _) => "Edit a copy of the landscape as text",
    };
    let label = RichText::new(TEXT).small();
    let label = if has_mistake { label.color(ui.visuals().error_fg_color) } else { label };
    let button = ui.add(Button::new(label)).on_hover_ui(|ui| {
        ui.label(help);
        ui.add_space(4.0);
        text_editor::gradient(ui, kind);
    });
    button.accessible_name("Landscape: text").clicked()
}
