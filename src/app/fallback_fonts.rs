//! Fonts of the system in the window and in pictures, for characters that the bundled font lacks.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use egui::{Context, FallbackRequest, FontData, FontInsert, FontProvider};

use crate::figure::{SystemFonts, blank_warning, is_ignorable};

/// Finds fonts for the texts of a context.
pub(super) struct FallbackFonts {
    /// Whether the system's fonts are read on another thread; until then, texts go without them.
    in_background: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether a text needs fonts that have not been read.
    is_wanted: bool,
    is_reading: bool,
    /// Characters that no font has.
    blank: BTreeSet<char>,
    /// The characters that a warning has named already.
    named: BTreeSet<char>,
}

impl FallbackFonts {
    pub(super) fn install(ctx: &Context, in_background: bool) -> Arc<FallbackFonts> {
        let fonts = Arc::new(FallbackFonts { in_background, state: Mutex::default() });
        ctx.set_font_providers(vec![Arc::clone(&fonts) as Arc<dyn FontProvider>]);
        fonts
    }

    /// Reads the system's fonts in the background once a text needs them, and lays texts out anew with them.
    pub(super) fn update(self: &Arc<Self>, ctx: &Context) {
        let mut state = self.state();
        if state.is_wanted && !state.is_reading {
            state.is_reading = true;
            let ctx = ctx.clone();
            std::thread::spawn(move || {
                SystemFonts::get();
                ctx.request_repaint();
            });
        }
        if state.is_reading && SystemFonts::are_read() {
            (state.is_wanted, state.is_reading) = (false, false);
            drop(state);
            ctx.set_font_providers(vec![Arc::clone(self) as Arc<dyn FontProvider>]);
        }
    }

    /// Returns a warning about characters that no font has and that no warning has named yet.
    pub(super) fn take_warning(&self) -> Option<String> {
        let State { blank, named, .. } = &mut *self.state();
        let new: BTreeSet<char> = blank.difference(named).copied().collect();
        named.append(blank);
        blank_warning(&new)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FontProvider for FallbackFonts {
    fn font_for(&self, request: &FallbackRequest<'_>) -> Option<FontInsert> {
        if request.cluster.chars().all(is_ignorable) {
            return None;
        }
        if self.in_background && !SystemFonts::are_read() {
            self.state().is_wanted = true;
            return None;
        }
        let fonts = SystemFonts::get();
        let found = fonts.with(request.cluster).and_then(|font| Some((font, fonts.file(font)?)));
        let Some((font, (bytes, index))) = found else {
            self.state().blank.extend(request.cluster.chars().next());
            return None;
        };
        let data = FontData { index, ..FontData::from_owned(bytes) };
        Some(FontInsert { name: format!("{} {}", font.family, font.id), data, families: Vec::new() })
    }
}
