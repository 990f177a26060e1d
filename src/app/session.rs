//! The session: the state of the app that the next start restores.

use std::collections::BTreeMap;
use std::path::PathBuf;

use egui::ThemePreference;
use serde::{Deserialize, Serialize};

use super::tab::Memory;
use super::tabs::TabName;
use super::window_layout::WindowLayout;

/// The key of the session in eframe's storage.
pub(super) const KEY: &str = "valleyscope.session";
/// The key of an unreadable session that was set aside.
pub(super) const UNREADABLE_KEY: &str = "valleyscope.session.unreadable";

const VERSION: u32 = 1;

/// A session as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Session {
    version: u32,
    pub window: WindowState,
    pub tabs: BTreeMap<TabName, Memory>,
}

/// The state of the window around the tabs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WindowState {
    /// The shown tab.
    pub tab: TabName,
    pub layout: WindowLayout,
    pub recent: Vec<PathBuf>,
    pub theme: ThemePreference,
    pub zoom: f32,
}

impl Session {
    pub(super) fn new(window: WindowState, tabs: BTreeMap<TabName, Memory>) -> Session {
        Session { version: VERSION, window, tabs }
    }

    pub(super) fn to_text(&self) -> String {
        ron::ser::to_string(self).expect("a session holds no value that RON cannot express")
    }

    /// Parses a stored session, or returns why it cannot be used.
    pub(super) fn restore(text: &str) -> Result<Session, String> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let unreadable = |error: ron::error::SpannedError| format!("the stored text is damaged: {error}");
        let found: Versioned = ron::from_str(text).map_err(unreadable)?;
        if found.version != VERSION {
            return Err(format!("expected a session of version {VERSION}, found version {}", found.version));
        }
        let session: Session = ron::from_str(text).map_err(unreadable)?;
        Ok(Session { window: session.window.clamped(), ..session })
    }
}

impl WindowState {
    /// Clamps the state to values that are valid for a window.
    fn clamped(mut self) -> WindowState {
        self.layout.sizes = std::mem::take(&mut self.layout.sizes).clamped();
        self.zoom = if self.zoom.is_finite() { self.zoom.clamp(0.5, 3.0) } else { 1.0 };
        self
    }
}
