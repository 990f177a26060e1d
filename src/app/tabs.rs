//! The registry of the window's tabs.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use valleyscope_experiments::preset::Preset;

use super::landscape_tab::LandscapeTab;
use super::live::Requests;
use super::opened::OpenedContent;
use super::phase::PhasePanel;
use super::tab::{Memory, RegisteredTab, Start, Tab, TabInfo};
use super::training::TrainingPanel;

macro_rules! tabs {
    ($($name:ident($field:ident): $tab:ty,)+) => {
        /// The name of a tab, as it is stored in the session's file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub(super) enum TabName {
            $($name,)+
        }

        impl TabName {
            /// All tabs, in the order of the menu bar.
            pub(super) const ALL: &[TabName] = &[$(TabName::$name),+];

            pub(super) fn info(self) -> &'static TabInfo {
                match self {
                    $(TabName::$name => const { &<$tab as RegisteredTab>::INFO },)+
                }
            }
        }

        /// The tabs of the window, one of which is shown.
        pub(super) struct Tabs {
            shown: TabName,
            $(pub $field: $tab,)+
        }

        impl Tabs {
            /// Restores the tabs from the last session, or makes those of a first start.
            pub(super) fn begin(
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

            pub(super) fn get(&self, name: TabName) -> &dyn Tab {
                match name {
                    $(TabName::$name => &self.$field,)+
                }
            }

            pub(super) fn get_mut(&mut self, name: TabName) -> &mut dyn Tab {
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
    /// Returns its shortcut, formatted.
    pub(super) fn keys(self) -> String {
        format!("Ctrl {}", self as usize + 1)
    }

    /// Returns the tab that opens presets of this kind.
    pub(super) fn that_opens(preset: &Preset) -> TabName {
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
    pub(super) fn shown(&self) -> &dyn Tab {
        self.get(self.shown)
    }

    pub(super) fn shown_mut(&mut self) -> &mut dyn Tab {
        self.get_mut(self.shown)
    }

    pub(super) fn shown_name(&self) -> TabName {
        self.shown
    }

    pub(super) fn is_shown(&self, name: TabName) -> bool {
        self.shown == name
    }

    /// Shows a tab from now on.
    pub(super) fn show(&mut self, name: TabName) {
        self.shown = name;
    }

    /// Opens a preset, a result or a run in the tab for it, and shows this tab.
    pub(super) fn open(&mut self, mut content: OpenedContent, file: Option<&Path>, requests: &mut Requests) {
        for &name in TabName::ALL {
            match self.get_mut(name).open(content, file, requests) {
                Ok(()) => return self.show(name),
                Err(other) => content = other,
            }
        }
        log::warn!("no tab shows {content:?}");
    }

    /// Returns the tabs' states, to restore in the next session.
    pub(super) fn to_memories(&self) -> BTreeMap<TabName, Memory> {
        TabName::ALL.iter().map(|&name| (name, self.get(name).to_memory())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::TabName;
    use valleyscope_experiments::preset::built_ins;

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
