//! The settings in which diagrams differ.

use valleyscope_experiments::difference::{DifferenceTable, ListedSetting, SettingColumn};
use valleyscope_experiments::preset::Preset;

use super::titled_diagram::TitledDiagram;

/// Returns the table of the settings in which diagrams with these titles differ.
pub(super) fn differences(diagrams: &[(&TitledDiagram, String)]) -> DifferenceTable {
    let column = |(titled, title): &(&TitledDiagram, String)| {
        let preset = titled.named(titled.preset.sweep.metric);
        let mut settings = Preset::Sweep(preset).listed_settings();
        settings.push(ListedSetting::new("precision", "Precision", titled.precision.name()));
        SettingColumn::new(title.clone(), settings)
    };
    DifferenceTable::of(&diagrams.iter().map(column).collect::<Vec<_>>())
}
