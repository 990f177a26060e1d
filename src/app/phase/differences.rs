//! The settings in which diagrams differ.

use valleyscope_experiments::difference::{DifferenceTable, ListedSetting, SettingColumn};

use super::titled_diagram::TitledDiagram;

/// Returns the table of the settings in which diagrams differ.
pub(super) fn differences(diagrams: &[&TitledDiagram]) -> DifferenceTable {
    let column = |titled: &&TitledDiagram| {
        let result = titled.result();
        let mut settings = result.preset().listed_settings();
        settings.push(ListedSetting::new("precision", "Precision", titled.precision.name()));
        SettingColumn::new(result.title, settings)
    };
    DifferenceTable::of(&diagrams.iter().map(column).collect::<Vec<_>>())
}
