//! The keys of a frame.

use egui::{Context, Event, Key, KeyboardShortcut, Modifiers};

/// The keys of a frame that no dialog or open menu handles.
pub(super) struct Keys<'a> {
    ctx: &'a Context,
    is_control_focused: bool,
}

impl Keys<'_> {
    pub(super) fn new(ctx: &Context) -> Keys<'_> {
        Keys { ctx, is_control_focused: ctx.egui_wants_keyboard_input() }
    }

    pub(super) fn ctx(&self) -> &Context {
        self.ctx
    }

    /// Returns whether a control has the focus, which then receives the keys.
    pub(super) fn is_control_focused(&self) -> bool {
        self.is_control_focused
    }

    /// Returns whether a key was pressed or is held, and consumes it.
    pub(super) fn pressed(&self, modifiers: Modifiers, key: Key) -> bool {
        self.ctx.input_mut(|input| input.consume_key(modifiers, key))
    }

    /// Returns how often a key was pressed, also by being held, and consumes it.
    pub(super) fn presses(&self, modifiers: Modifiers, key: Key) -> usize {
        self.ctx.input_mut(|input| input.count_and_consume_key(modifiers, key))
    }

    /// Returns whether a key was pressed, not held, and consumes it.
    pub(super) fn pressed_once(&self, key: Key) -> bool {
        let first = self.ctx.input(|input| input.events.iter().any(|event| is_first_press(event, key)));
        self.pressed(Modifiers::NONE, key) && first
    }

    /// Returns whether Shift was held as a key was pressed. In a slow frame, both may be released by now.
    pub(super) fn has_shift(&self, wanted: Key) -> bool {
        let is_it =
            |event: &Event| matches!(event, Event::Key { key, modifiers, .. } if *key == wanted && modifiers.shift);
        self.ctx.input(|input| input.events.iter().any(is_it))
    }

    /// Returns whether a character was typed, on whatever key the keyboard has it, and consumes it.
    pub(super) fn typed(&self, character: &str) -> bool {
        let is_typed = |event: &Event| matches!(event, Event::Text(text) if text == character);
        self.ctx.input_mut(|input| {
            let before = input.events.len();
            input.events.retain(|event| !is_typed(event));
            input.events.len() < before
        })
    }

    /// Returns whether a shortcut was pressed or is held, and consumes it.
    pub(super) fn shortcut(&self, shortcut: &KeyboardShortcut) -> bool {
        self.ctx.input_mut(|input| input.consume_shortcut(shortcut))
    }
}

/// Returns whether a key was pressed rather than held.
fn is_first_press(event: &Event, wanted: Key) -> bool {
    matches!(event, Event::Key { key, pressed: true, repeat: false, .. } if *key == wanted)
}
