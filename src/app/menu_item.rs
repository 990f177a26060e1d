//! Entries of menus.

use egui::{Button, Ui};

use super::live::{Action, Requests};

/// Shows a menu entry. `keys` is its shortcut; empty without one.
pub(super) fn item(ui: &mut Ui, text: &str, keys: &str, action: Action, requests: &mut Requests) {
    let button = if keys.is_empty() { Button::new(text) } else { Button::new(text).shortcut_text(keys) };
    if ui.add(button).accessible_name(text).clicked() {
        choose(ui, action, requests);
    }
}

/// Requests an action and closes the menu, even when a key or a screen reader pressed the entry.
pub(super) fn choose(ui: &Ui, action: Action, requests: &mut Requests) {
    requests.actions.push(action);
    ui.close();
}
