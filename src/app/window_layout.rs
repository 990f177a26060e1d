//! The shown panels.

use serde::{Deserialize, Serialize};

use super::presentation::Presentation;
use super::side_panel::PanelSizes;

/// The shown panels, and their sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WindowLayout {
    pub controls: bool,
    pub plots: bool,
    pub sizes: PanelSizes,
    /// True if the window is wide enough to show the plots.
    #[serde(skip)]
    pub room_for_plots: bool,
    #[serde(skip)]
    pub presentation: Option<Presentation>,
}

impl WindowLayout {
    pub(super) fn is_presenting(&self) -> bool {
        self.presentation.is_some()
    }
}

impl Default for WindowLayout {
    fn default() -> Self {
        WindowLayout {
            controls: true,
            plots: true,
            sizes: PanelSizes::default(),
            room_for_plots: true,
            presentation: None,
        }
    }
}
