//! The requests of the panels to the app, and the menu entries and keys that make them.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{Button, ColorImage, Context, Event, Key, KeyboardShortcut, Modifiers, Ui};
use valleyscope_engine::optimizer::RuleKind;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::difference::DifferenceTable;
use valleyscope_experiments::preset::Preset;

use super::editor::PresetDraft;
use super::export::ExportKind;
use super::files::Purpose;
use crate::player::PlayerCommand;

/// The requests of the panels to the app, collected over a frame and carried out at its end.
#[derive(Default)]
pub struct Requests {
    pub commands: Vec<PlayerCommand>,
    pub actions: Vec<Action>,
}

/// A request that only the app as a whole can carry out.
#[derive(Clone, Debug)]
pub enum Action {
    /// Shows a short message for some seconds.
    Notify(String),
    /// Shows a failure until it is dismissed.
    Report {
        title: String,
        text: String,
    },
    /// Opens the sheet of exports for the shown tab, with this kind, or with the kind that was chosen last.
    Export(Option<ExportKind>),
    /// Copies a picture to the clipboard.
    CopyImage(Arc<ColorImage>),
    /// Asks for the path of a file or a folder.
    Choose(Box<Purpose>),
    /// Requests an action of the landscape tab.
    Landscape(LandscapeAction),
    Undo,
    Redo,
    /// Copies the preset of the shown tab to the clipboard, as text.
    CopyPreset,
    /// Opens the preset whose text is on the clipboard.
    PastePreset,
    /// Opens this preset in the tab of its kind.
    Open(Box<Preset>),
    OpenFile(PathBuf),
    /// Saves to the preset's own file; without one, asks for the path.
    Save,
    SaveAs,
    /// Asks for a title and a path, and saves this preset there.
    AskToSave(Box<PresetDraft>),
    TogglePresentation,
    ShowKeys,
    ShowOptimizer(RuleKind),
    ShowAbout,
    /// Shows the opening of a first start.
    ShowOpening,
    /// Shows the settings in which runs, presets or diagrams differ.
    ShowDifferences(Box<DifferenceTable>),
    ComparePresets,
    Quit,
}

/// A request to the landscape tab.
#[derive(Clone, Debug, PartialEq)]
pub enum LandscapeAction {
    /// Replaces the settings under the controls by these.
    Set(Box<SimulationSpec>),
    Play,
    TogglePlay,
    /// Pauses and moves by so many steps, back where the number is negative.
    Step(i64),
    /// Pauses and shows this step, or the last one if it is later.
    Seek(u64),
    Restart,
    /// Applies the lesson step of this index, from 0.
    GoToStep(usize),
    /// Shows what was seen in the lesson, and the next one.
    EndLesson,
    /// Shows the editor of the lesson, or hides it. A preset without a lesson gets one.
    EditLesson,
    /// Saves the start of the session and every change since, so that it can be repeated exactly.
    SaveSession,
}

/// Shows a menu entry. `keys` is its shortcut; empty without one.
pub(crate) fn item(ui: &mut Ui, text: &str, keys: &str, action: Action, requests: &mut Requests) {
    let button = if keys.is_empty() { Button::new(text) } else { Button::new(text).shortcut_text(keys) };
    if ui.add(button).accessible_name(text).clicked() {
        choose(ui, action, requests);
    }
}

/// Requests an action and closes the menu, even when a key or a screen reader pressed the entry.
pub(crate) fn choose(ui: &Ui, action: Action, requests: &mut Requests) {
    requests.actions.push(action);
    ui.close();
}

/// The keys of the digits, which show the tabs with Ctrl.
pub(crate) const DIGIT_KEYS: [Key; 9] =
    [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8, Key::Num9];

/// The keys of a frame that no dialog or open menu handles.
pub(crate) struct Keys<'a> {
    ctx: &'a Context,
    is_control_focused: bool,
}

impl Keys<'_> {
    pub(crate) fn new(ctx: &Context) -> Keys<'_> {
        Keys { ctx, is_control_focused: ctx.egui_wants_keyboard_input() }
    }

    pub(crate) fn ctx(&self) -> &Context {
        self.ctx
    }

    /// Whether a control has the focus, and therefore receives the keys.
    pub(crate) fn is_control_focused(&self) -> bool {
        self.is_control_focused
    }

    /// Consumes a key; returns whether it was pressed or is held.
    pub(crate) fn pressed(&self, modifiers: Modifiers, key: Key) -> bool {
        self.ctx.input_mut(|input| input.consume_key(modifiers, key))
    }

    /// Consumes a key; returns how often it was pressed, also by being held.
    pub(crate) fn presses(&self, modifiers: Modifiers, key: Key) -> usize {
        self.ctx.input_mut(|input| input.count_and_consume_key(modifiers, key))
    }

    /// Consumes a key; returns whether it was pressed, not held.
    pub(crate) fn pressed_once(&self, key: Key) -> bool {
        let wanted = key;
        let is_first =
            |event: &Event| matches!(event, Event::Key { key, pressed: true, repeat: false, .. } if *key == wanted);
        let first = self.ctx.input(|input| input.events.iter().any(is_first));
        self.pressed(Modifiers::NONE, key) && first
    }

    /// Whether Shift was held when a key was pressed. In a slow frame, both may be released by now.
    pub(crate) fn has_shift(&self, wanted: Key) -> bool {
        let is_it =
            |event: &Event| matches!(event, Event::Key { key, modifiers, .. } if *key == wanted && modifiers.shift);
        self.ctx.input(|input| input.events.iter().any(is_it))
    }

    /// Consumes a typed character, on whatever key the keyboard has it; returns whether it was typed.
    pub(crate) fn typed(&self, character: &str) -> bool {
        let is_typed = |event: &Event| matches!(event, Event::Text(text) if text == character);
        self.ctx.input_mut(|input| {
            let before = input.events.len();
            input.events.retain(|event| !is_typed(event));
            input.events.len() < before
        })
    }

    /// Consumes a shortcut; returns whether it was pressed or is held.
    pub(crate) fn shortcut(&self, shortcut: &KeyboardShortcut) -> bool {
        self.ctx.input_mut(|input| input.consume_shortcut(shortcut))
    }
}
