//! Keyboard shortcuts, and the list that the help window shows of them.

use egui::{Context, Event, Key, KeyboardShortcut, Modifiers};

use super::live::{Action, Requests};
use super::window_layout::Tab;

const UNDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Z);
const REDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z);
const REDO_TOO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Y);
const OPEN: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::O);
const SAVE: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::S);
const SAVE_AS: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::S);
const LANDSCAPE: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Num1);
const PHASE: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Num2);
const TRAINING: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Num3);
const QUIT: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Q);

/// The shortcuts that the help window lists: keys, and what they do.
pub const SHORTCUTS: [(&str, &str); 20] = [
    ("Space", "Play or pause"),
    ("→", "Single step"),
    ("R", "Restart at step 0"),
    ("F", "Follow the particles, or stop following"),
    ("Page Down, Page Up", "Next or previous step of a lesson"),
    ("Ctrl 1, Ctrl 2, Ctrl 3", "Show the landscape, the phase diagram, or real workloads"),
    ("Ctrl O", "Open a preset or a result"),
    ("Ctrl S", "Save the preset"),
    ("Ctrl Shift S", "Save the preset as another file"),
    ("Ctrl Z", "Undo"),
    ("Ctrl Shift Z, Ctrl Y", "Redo"),
    ("F11", "Presentation: panels away, large type"),
    ("Esc", "Leave the presentation, a message or a field"),
    ("Ctrl +, Ctrl −, Ctrl 0", "Larger, smaller, normal interface"),
    ("Tab, Shift Tab", "Next or previous control"),
    ("← and → on a slider", "Change its value"),
    ("Arrows on the phase diagram", "Choose a pixel; first Tab to the diagram"),
    ("Enter on the phase diagram", "Show the chosen pixel as a landscape"),
    ("Ctrl Q", "Quit"),
    ("?, F1", "This sheet"),
];

/// The target of keys in this frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    pub tab: Tab,
    pub presenting: bool,
    /// The index of the lesson's step that is shown, and how many there are.
    pub lesson: Option<(usize, usize)>,
}

/// Turns keys into requests. Keys that a focused control or an open dialog handles are left to it.
pub(super) fn handle(ctx: &Context, situation: Situation, follow: &mut bool, requests: &mut Requests) {
    if ctx.memory(|memory| memory.top_modal_layer().is_some()) || egui::Popup::is_any_open(ctx) {
        return;
    }
    let typing = ctx.text_edit_focused();
    let focused = ctx.egui_wants_keyboard_input();
    let pressed = |modifiers: Modifiers, key: Key| ctx.input_mut(|input| input.consume_key(modifiers, key));
    let once = |key: Key| {
        let first = ctx.input(|input| input.events.iter().any(|event| is_first_press(event, key)));
        pressed(Modifiers::NONE, key) && first
    };
    let shortcut = |shortcut: &KeyboardShortcut| ctx.input_mut(|input| input.consume_shortcut(shortcut));
    let mut ask = |asked: bool, action: Action| {
        if asked {
            requests.actions.push(action);
        }
    };
    // Longer shortcuts first: the shorter ones would match them too.
    ask(shortcut(&SAVE_AS), Action::SaveAs);
    ask(shortcut(&SAVE), Action::Save);
    ask(shortcut(&OPEN), Action::OpenPreset);
    ask(shortcut(&QUIT), Action::Quit);
    ask(shortcut(&LANDSCAPE), Action::GoTo(Tab::Landscape));
    ask(shortcut(&PHASE), Action::GoTo(Tab::Phase));
    ask(shortcut(&TRAINING), Action::GoTo(Tab::Training));
    ask(once(Key::F11), Action::TogglePresentation);
    ask(pressed(Modifiers::NONE, Key::F1), Action::ShowKeys);
    if typing {
        return;
    }
    ask(shortcut(&REDO) || shortcut(&REDO_TOO), Action::Redo);
    ask(shortcut(&UNDO), Action::Undo);
    let question = pressed(Modifiers::NONE, Key::Questionmark) || pressed(Modifiers::SHIFT, Key::Questionmark);
    ask(question, Action::ShowKeys);
    if !focused {
        let escape = situation.presenting && pressed(Modifiers::NONE, Key::Escape);
        ask(escape, Action::TogglePresentation);
    }
    // The following keys are for the landscape.
    if situation.tab != Tab::Landscape {
        return;
    }
    ask(once(Key::R), Action::Restart);
    if once(Key::F) {
        *follow = !*follow;
    }
    if let Some((step, count)) = situation.lesson {
        ask(step + 1 < count && pressed(Modifiers::NONE, Key::PageDown), Action::GoToStep(step + 1));
        ask(step > 0 && pressed(Modifiers::NONE, Key::PageUp), Action::GoToStep(step.saturating_sub(1)));
    }
    if !focused {
        ask(once(Key::Space), Action::TogglePlay);
        ask(pressed(Modifiers::NONE, Key::ArrowRight), Action::SingleStep);
    }
}

/// Whether a key went down, rather than being held.
fn is_first_press(event: &Event, wanted: Key) -> bool {
    matches!(event, Event::Key { key, pressed: true, repeat: false, .. } if *key == wanted)
}
