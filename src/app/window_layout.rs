//! The tab and the panels that the window shows.

use serde::{Deserialize, Serialize};

use super::side_panel::PanelSizes;

/// A part of the window, of which one is shown at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tab {
    #[default]
    Landscape,
    Phase,
    Training,
}

/// The shown panels, and their sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowLayout {
    pub tab: Tab,
    pub controls: bool,
    pub plots: bool,
    pub sizes: PanelSizes,
    /// Whether the window is wide enough to show the plots.
    #[serde(skip)]
    pub room_for_plots: bool,
    #[serde(skip)]
    pub presenting: bool,
}

impl Default for WindowLayout {
    fn default() -> Self {
        WindowLayout {
            tab: Tab::Landscape,
            controls: true,
            plots: true,
            sizes: PanelSizes::default(),
            room_for_plots: true,
            presenting: false,
        }
    }
}
