//! Keyboard shortcuts, and their list for the help window.

use egui::{Context, Event, Key, KeyboardShortcut, Modifiers};

use super::live::{Action, Requests};
use super::tabs::{Tab, TabName};

const UNDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Z);
const REDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z);
const REDO_ALTERNATIVE: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Y);
const OPEN: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::O);
const SAVE: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::S);
const SAVE_AS: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::S);
const QUIT: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Q);

/// The keys that show the tabs, in order.
const DIGITS: [Key; 9] =
    [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8, Key::Num9];

/// The shortcuts of the whole window: keys, and their effects.
const SHORTCUTS: [(&str, &str); 10] = [
    ("Ctrl O", "Open a preset or a result"),
    ("Ctrl S", "Save the preset"),
    ("Ctrl Shift S", "Save the preset as another file"),
    ("Ctrl Z", "Undo"),
    ("Ctrl Shift Z, Ctrl Y", "Redo"),
    ("F11", "Presentation: hide panels, enlarge text"),
    ("Esc", "Leave the presentation, a message or a field"),
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

/// The keys of a frame that no dialog or open menu handles.
pub(super) struct Keys<'a> {
    ctx: &'a Context,
    is_control_focused: bool,
}

impl Keys<'_> {
    /// Returns whether a control has the focus, which then receives the keys.
    pub(super) fn is_control_focused(&self) -> bool {
        self.is_control_focused
    }

    /// Returns whether a key was pressed or is held, and consumes it.
    pub(super) fn pressed(&self, modifiers: Modifiers, key: Key) -> bool {
        self.ctx.input_mut(|input| input.consume_key(modifiers, key))
    }

    /// Returns whether a key was pressed, not held, and consumes it.
    pub(super) fn pressed_once(&self, key: Key) -> bool {
        let first = self.ctx.input(|input| input.events.iter().any(|event| is_first_press(event, key)));
        self.pressed(Modifiers::NONE, key) && first
    }

    fn shortcut(&self, shortcut: &KeyboardShortcut) -> bool {
        self.ctx.input_mut(|input| input.consume_shortcut(shortcut))
    }
}

/// Turns keys into requests, except those that a focused control or an open dialog handles.
pub(super) fn handle(ctx: &Context, is_presenting: bool, shown: &mut dyn Tab, requests: &mut Requests) {
    if ctx.memory(|memory| memory.top_modal_layer().is_some()) || egui::Popup::is_any_open(ctx) {
        return;
    }
    let typing = ctx.text_edit_focused();
    let keys = Keys { ctx, is_control_focused: ctx.egui_wants_keyboard_input() };
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
        ask(keys.shortcut(&KeyboardShortcut::new(Modifiers::COMMAND, digit)), Action::GoTo(tab));
    }
    ask(keys.pressed_once(Key::F11), Action::TogglePresentation);
    ask(keys.pressed(Modifiers::NONE, Key::F1), Action::ShowKeys);
    if typing {
        return;
    }
    ask(keys.shortcut(&REDO) || keys.shortcut(&REDO_ALTERNATIVE), Action::Redo);
    ask(keys.shortcut(&UNDO), Action::Undo);
    let question =
        keys.pressed(Modifiers::NONE, Key::Questionmark) || keys.pressed(Modifiers::SHIFT, Key::Questionmark);
    ask(question, Action::ShowKeys);
    if !keys.is_control_focused {
        let escape = is_presenting && keys.pressed(Modifiers::NONE, Key::Escape);
        ask(escape, Action::TogglePresentation);
    }
    shown.handle_keys(&keys, requests);
}

/// Returns whether a key was pressed rather than held.
fn is_first_press(event: &Event, wanted: Key) -> bool {
    matches!(event, Event::Key { key, pressed: true, repeat: false, .. } if *key == wanted)
}

#[cfg(test)]
mod tests {
    use super::shortcuts;

    #[test]
    fn the_help_lists_the_keys_of_each_tab_once() {
        let all = shortcuts();
        let listed = |keys: &str| all.iter().filter(|(listed, _)| listed == keys).count();
        for keys in ["Space", "Page Down, Page Up", "Enter on the phase diagram", "Ctrl S", "?, F1"] {
            assert_eq!(listed(keys), 1, "{keys}");
        }
        let (_, effect) = all.iter().find(|(keys, _)| keys == "Ctrl 1, Ctrl 2, Ctrl 3").expect("they show the tabs");
        assert_eq!(effect, "Show the landscape, the phase diagram, or real workloads");
    }
}
