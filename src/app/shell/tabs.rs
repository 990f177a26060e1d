//! The registry of the tabs, and the session that restores them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use egui::ThemePreference;
use serde::{Deserialize, Serialize};
use valleyscope_experiments::preset::{BuiltIn, Preset, built_ins};

use super::actions::Requests;
use super::files::OpenedContent;
use super::presets::PresetGroup;
use super::tab::{Memory, RegisteredTab, Start, Tab, TabInfo};
use super::window::WindowLayout;
use crate::app::landscape::LandscapeTab;
use crate::app::phase::PhasePanel;
use crate::app::training::TrainingPanel;

macro_rules! tabs {
    ($($name:ident($field:ident): $tab:ty,)+) => {
        /// The name of a tab, as it is stored in the session's file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub(crate) enum TabName {
            $($name,)+
        }

        impl TabName {
            /// All tabs, in the order of the menu bar.
            pub(crate) const ALL: &[TabName] = &[$(TabName::$name),+];

            pub(crate) fn info(self) -> &'static TabInfo {
                match self {
                    $(TabName::$name => const { &<$tab as RegisteredTab>::INFO },)+
                }
            }
        }

        pub(crate) struct Tabs {
            shown: TabName,
            $(pub $field: $tab,)+
        }

        impl Tabs {
            /// Restores the tabs from the last session, or makes those of a first start.
            pub(crate) fn begin(
                start: &mut Start<'_>,
                shown: TabName,
                mut memories: BTreeMap<TabName, Memory>,
            ) -> Tabs {
                Tabs {
                    shown,
                    $($field: {
                        start.memory = memories.remove(&TabName::$name);
                        RegisteredTab::begin(start)
                    },)+
                }
            }

            pub(crate) fn get(&self, name: TabName) -> &dyn Tab {
                match name {
                    $(TabName::$name => &self.$field,)+
                }
            }

            pub(crate) fn get_mut(&mut self, name: TabName) -> &mut dyn Tab {
                match name {
                    $(TabName::$name => &mut self.$field,)+
                }
            }
        }
    };
}

// A line for each tab: its name in files, the field that holds it, and its type. A first start shows the first one.
tabs! {
    Landscape(landscape): LandscapeTab,
    Phase(phase): PhasePanel,
    Training(training): TrainingPanel,
}

impl TabName {
    pub(crate) fn keys(self) -> String {
        format!("Ctrl {}", self as usize + 1)
    }

    /// Lists the built-in presets of each tab below their heading, those of this tab first.
    pub(crate) fn preset_groups(self) -> Vec<PresetGroup> {
        let tabs = std::iter::once(self).chain(TabName::ALL.iter().copied().filter(|tab| *tab != self));
        let group = |tab: TabName| {
            let is_opened = |built_in: &&BuiltIn| TabName::that_opens(&built_in.preset) == tab;
            PresetGroup {
                heading: tab.info().presets_heading,
                built_ins: built_ins().iter().filter(is_opened).collect(),
            }
        };
        tabs.map(group).collect()
    }

    /// Finds the tab that opens presets of this kind.
    pub(crate) fn that_opens(preset: &Preset) -> TabName {
        let opens = |name: &&TabName| name.info().preset_kinds.contains(&preset.kind());
        *TabName::ALL.iter().find(opens).expect("each kind of preset has a tab")
    }
}

impl Default for TabName {
    fn default() -> Self {
        TabName::ALL[0]
    }
}

impl Tabs {
    pub(crate) fn shown(&self) -> &dyn Tab {
        self.get(self.shown)
    }

    pub(crate) fn shown_mut(&mut self) -> &mut dyn Tab {
        self.get_mut(self.shown)
    }

    /// Returns the landscape's tab if it is shown.
    pub(crate) fn shown_landscape(&mut self) -> Option<&mut LandscapeTab> {
        self.is_shown(TabName::Landscape).then_some(&mut self.landscape)
    }

    pub(crate) fn shown_name(&self) -> TabName {
        self.shown
    }

    pub(crate) fn is_shown(&self, name: TabName) -> bool {
        self.shown == name
    }

    pub(crate) fn show(&mut self, name: TabName) {
        self.shown = name;
    }

    pub(crate) fn open(&mut self, mut content: OpenedContent, file: Option<&Path>, requests: &mut Requests) {
        for &name in TabName::ALL {
            match self.get_mut(name).open(content, file, requests) {
                Ok(()) => return self.show(name),
                Err(other) => content = other,
            }
        }
        log::warn!("no tab shows {content:?}");
    }

    /// Serializes the tabs' states, to restore them in the next session.
    pub(crate) fn to_memories(&self) -> BTreeMap<TabName, Memory> {
        TabName::ALL.iter().map(|&name| (name, self.get(name).to_memory())).collect()
    }
}

/// The version of the format of stored sessions.
const VERSION: u32 = 1;

/// The state of the app that the next start restores.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Session {
    version: u32,
    pub window: WindowState,
    pub tabs: BTreeMap<TabName, Memory>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WindowState {
    pub tab: TabName,
    pub layout: WindowLayout,
    pub recent: Vec<PathBuf>,
    pub theme: ThemePreference,
    pub zoom: f32,
    #[serde(default)]
    pub reduced_motion: bool,
}

impl Session {
    pub(crate) fn new(window: WindowState, tabs: BTreeMap<TabName, Memory>) -> Session {
        Session { version: VERSION, window, tabs }
    }

    pub(crate) fn to_text(&self) -> String {
        ron::ser::to_string(self).expect("a session holds no value that RON cannot express")
    }

    /// Parses a stored session, or returns why it cannot be used.
    pub(crate) fn restore(text: &str) -> Result<Session, String> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let unreadable = |error: ron::error::SpannedError| format!("the stored text is damaged: {error}");
        let found: Versioned = ron::from_str(text).map_err(unreadable)?;
        if found.version != VERSION {
            return Err(format!("expected a session of version {VERSION}, found version {}", found.version));
        }
        let mut session: Session = ron::from_str(text).map_err(unreadable)?;
        let zoom = &mut session.window.zoom;
        *zoom = if zoom.is_finite() { zoom.clamp(0.5, 3.0) } else { 1.0 };
        Ok(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_preset_opens_in_exactly_one_tab() {
        for built_in in built_ins() {
            let kind = built_in.preset.kind();
            let opens = TabName::ALL.iter().filter(|tab| tab.info().preset_kinds.contains(&kind));
            assert_eq!(opens.count(), 1, "{kind}");
        }
    }

    #[test]
    fn a_tab_is_stored_by_its_name() {
        let stored: Vec<String> = TabName::ALL.iter().map(|tab| ron::ser::to_string(tab).expect("it is RON")).collect();
        assert_eq!(stored, ["Landscape", "Phase", "Training"]);
    }
}
