//! A diagram with the preset that it comes from, and the map of it that is shown.

use std::sync::Arc;
use std::time::Duration;

use valleyscope_engine::sweep::{Diagram, Metric, Precision, SweepSpec};
use valleyscope_experiments::difference::{DifferenceTable, SettingColumn};
use valleyscope_experiments::preset::{ListedSetting, Preset, SweepPreset};

use crate::draw::Map;
use crate::sweep::pool::Progress;
use crate::sweep::result::SweepResult;
use crate::sweep::titles::as_changed;

/// A diagram, and the preset that it comes from.
#[derive(Clone)]
pub struct TitledDiagram {
    /// Identifies the diagram in its store.
    pub number: u64,
    /// The preset as opened or saved; the diagram's own sweep may have been changed since.
    pub preset: Arc<SweepPreset>,
    pub diagram: Diagram,
    pub precision: Precision,
    /// The progress of its last sweep when it was stopped or ended.
    pub progress: Option<Progress>,
    /// The total computing time of all its sweeps.
    pub worked: Duration,
    /// True for an intermediate diagram of a drag.
    pub is_passing: bool,
    /// True if the user removed it from the kept diagrams, and for as long as it is shown.
    pub is_removed: bool,
    /// True if it is shipped with the program, and not a result of the user.
    pub is_example: bool,
}

impl TitledDiagram {
    /// Makes a diagram without results.
    pub fn empty(number: u64, preset: Arc<SweepPreset>, sweep: SweepSpec) -> TitledDiagram {
        let diagram = Diagram::new(Arc::new(sweep));
        TitledDiagram {
            number,
            preset,
            diagram,
            precision: Precision::Single,
            progress: None,
            worked: Duration::ZERO,
            is_passing: false,
            is_removed: false,
            is_example: false,
        }
    }

    /// Makes a diagram of a result that was computed elsewhere.
    pub fn of_result(number: u64, preset: Arc<SweepPreset>, result: SweepResult) -> TitledDiagram {
        let SweepResult { diagram, precision, .. } = result;
        let sweep = (**diagram.spec()).clone();
        TitledDiagram { diagram, precision, ..TitledDiagram::empty(number, preset, sweep) }
    }

    pub fn spec(&self) -> &Arc<SweepSpec> {
        self.diagram.spec()
    }

    /// Returns a title that includes the changes of the preset.
    pub fn title(&self) -> String {
        self.named(self.preset.sweep.metric).title
    }

    /// Returns the diagram with a title and a description that include the changes of the preset.
    pub fn result(&self) -> SweepResult {
        self.result_by(self.preset.sweep.metric)
    }

    /// Returns the result for a picture that compares by this metric.
    pub fn result_by(&self, metric: Metric) -> SweepResult {
        let SweepPreset { title, description, .. } = self.named(metric);
        SweepResult { title, description, diagram: self.diagram.clone(), precision: self.precision }
    }

    /// Returns the preset of the diagram by this metric, with a title and a description that include the changes.
    pub(super) fn named(&self, metric: Metric) -> SweepPreset {
        as_changed((*self.preset).clone(), SweepSpec { metric, ..(**self.spec()).clone() })
    }
}

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

/// The displayed map of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MapStyle {
    pub map: Map,
    pub metric: Metric,
    /// Whether winners have letters, and their regions borders.
    pub letters: bool,
}
