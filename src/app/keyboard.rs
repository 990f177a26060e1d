//! Keyboard shortcuts, and their list for the help window.

use egui::{Context, Key, KeyboardShortcut, Modifiers};

use super::keys::Keys;
use super::live::{Action, Requests};
use super::presentation::Presentation;
use super::tabs::{TabName, Tabs};

const UNDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Z);
const REDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z);
const REDO_ALTERNATIVE: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Y);
const OPEN: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::O);
const SAVE: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::S);
const SAVE_AS: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::S);
const QUIT: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Q);

/// The keys of the digits, which show the tabs with Ctrl.
pub(super) const DIGITS: [Key; 9] =
    [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8, Key::Num9];

/// The shortcuts of the whole window: keys, and their effects.
const SHORTCUTS: [(&str, &str); 13] = [
    ("Ctrl O", "Open a preset or a result"),
    ("Ctrl S", "Save the preset"),
    ("Ctrl Shift S", "Save the preset as another file"),
    ("Ctrl V", "Open the preset whose text is on the clipboard"),
    ("Ctrl Z", "Undo"),
    ("Ctrl Shift Z, Ctrl Y", "Redo"),
    ("F11, F5", "Presentation: a lesson or the landscape for a projector"),
    ("B or . in a presentation", "Blacken the screen and hold the run; any key gives both back"),
    ("P in a presentation", "Show a ring around the pointer, or hide it"),
    ("Esc", "End a loop over steps; leave the presentation, a message or a field"),
    ("Ctrl +, Ctrl −, Ctrl 0", "Larger, smaller, normal interface"),
    ("Tab, Shift Tab", "Next or previous control"),
    ("← and → on a slider", "Change its value"),
];
const LAST_SHORTCUTS: [(&str, &str); 2] = [("Ctrl Q", "Quit"), ("?, F1", "Show these keys")];

/// Returns all shortcuts for the help window: keys, and their effects. Those of the first tab are at the top.
pub fn shortcuts() -> Vec<(String, String)> {
    let of_tabs: Vec<_> = TabName::ALL.iter().map(|tab| tab.info().keys).collect();
    let texts = |keys: &[(&str, &str)]| -> Vec<(String, String)> {
        keys.iter().map(|(keys, effect)| ((*keys).to_owned(), (*effect).to_owned())).collect()
    };
    let mut all = texts(of_tabs[0]);
    all.push(tab_shortcuts());
    all.extend(texts(&SHORTCUTS));
    all.extend(of_tabs[1..].iter().flat_map(|keys| texts(keys)));
    all.extend(texts(&LAST_SHORTCUTS));
    all
}

/// Returns the keys that show tabs, as in "Ctrl 1, Ctrl 2, Ctrl 3", and "Show the landscape, the phase diagram, or real
/// workloads".
fn tab_shortcuts() -> (String, String) {
    let keys: Vec<String> = TabName::ALL.iter().map(|tab| tab.keys()).collect();
    let names: Vec<&str> = TabName::ALL.iter().map(|tab| tab.info().in_words).collect();
    let [others @ .., last] = &names[..] else { unreachable!("there are tabs") };
    (keys.join(", "), format!("Show {}, or {last}", others.join(", ")))
}

/// Shows the tab whose keys were pressed, and turns other keys into requests, except those that a focused control or an
/// open dialog handles.
pub(super) fn handle(
    ctx: &Context,
    mut presentation: Option<&mut Presentation>,
    tabs: &mut Tabs,
    requests: &mut Requests,
) {
    if ctx.memory(|memory| memory.top_modal_layer().is_some()) || egui::Popup::is_any_open(ctx) {
        return;
    }
    let typing = ctx.text_edit_focused();
    let keys = Keys::new(ctx);
    let mut ask = |asked: bool, action: Action| {
        if asked {
            requests.actions.push(action);
        }
    };
    // Longer shortcuts first, as shorter ones would match them too.
    ask(keys.shortcut(&SAVE_AS), Action::SaveAs);
    ask(keys.shortcut(&SAVE), Action::Save);
    ask(keys.shortcut(&OPEN), Action::OpenPreset);
    ask(keys.shortcut(&QUIT), Action::Quit);
    for (&tab, digit) in TabName::ALL.iter().zip(DIGITS) {
        if keys.shortcut(&KeyboardShortcut::new(Modifiers::COMMAND, digit)) {
            tabs.show(tab);
        }
    }
    ask(keys.pressed_once(Key::F11), Action::TogglePresentation);
    // A clicker starts a presentation with F5, and ends it with Escape.
    ask(presentation.is_none() && keys.pressed_once(Key::F5), Action::TogglePresentation);
    ask(keys.pressed(Modifiers::NONE, Key::F1), Action::ShowKeys);
    tabs.shown_mut().handle_clicker(&keys, requests);
    if typing {
        return;
    }
    let mut ask = |asked: bool, action: Action| requests.actions.extend(asked.then_some(action));
    ask(keys.shortcut(&REDO) || keys.shortcut(&REDO_ALTERNATIVE), Action::Redo);
    ask(keys.shortcut(&UNDO), Action::Undo);
    let question =
        keys.pressed(Modifiers::NONE, Key::Questionmark) || keys.pressed(Modifiers::SHIFT, Key::Questionmark);
    ask(question, Action::ShowKeys);
    if let Some(command) = tabs.shown().ended_by_escape().filter(|_| keys.pressed(Modifiers::NONE, Key::Escape)) {
        requests.commands.push(command);
    }
    if !keys.is_control_focused() {
        let escape = presentation.is_some() && keys.pressed(Modifiers::NONE, Key::Escape);
        ask(escape, Action::TogglePresentation);
    }
    if let Some(presentation) = &mut presentation {
        // With Shift, some keyboards have > on the key of the full stop.
        if [Key::B, Key::Period].into_iter().any(|key| !keys.has_shift(key) && keys.pressed_once(key)) {
            presentation.blacken(ctx);
        }
        if keys.pressed_once(Key::P) {
            presentation.toggle_ring();
        }
    }
    tabs.shown_mut().handle_keys(&keys, requests);
}

#[cfg(test)]
mod tests {
    use super::shortcuts;

    #[test]
    fn the_help_lists_the_keys_of_each_tab_once() {
        let all = shortcuts();
        let listed = |keys: &str| all.iter().filter(|(listed, _)| listed == keys).count();
        for keys in ["Space", "Page Down, Page Up, or a clicker", "Enter on the phase diagram", "Ctrl S", "?, F1"] {
            assert_eq!(listed(keys), 1, "{keys}");
        }
        let (_, effect) = all.iter().find(|(keys, _)| keys == "Ctrl 1, Ctrl 2, Ctrl 3").expect("they show the tabs");
        assert_eq!(effect, "Show the landscape, the phase diagram, or real workloads");
    }
}
