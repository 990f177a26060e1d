//! A diagram with what it is called.

use std::sync::Arc;
use std::time::Duration;

use valleyscope_engine::sweep::{Diagram, Metric, Precision, Progress, SweepSpec};
use valleyscope_experiments::preset::SweepPreset;

use crate::figure::as_changed;
use crate::result::SweepResult;

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
    /// The total time of all its sweeps.
    pub worked: Duration,
    /// Whether it is an intermediate one of a drag.
    pub is_passing: bool,
    /// The number of complete pixels in the last file with its results, if one was written.
    pub exported: Option<usize>,
}

/// A diagram, by its number in the store, and how many of its pixels were complete when it was exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportedDiagram {
    pub number: u64,
    pub complete: usize,
}

impl TitledDiagram {
    /// A diagram of which nothing is known.
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
            exported: None,
        }
    }

    /// A diagram that was computed elsewhere.
    pub fn of_result(number: u64, preset: Arc<SweepPreset>, result: SweepResult) -> TitledDiagram {
        let SweepResult { diagram, precision, .. } = result;
        let sweep = (**diagram.spec()).clone();
        TitledDiagram { diagram, precision, ..TitledDiagram::empty(number, preset, sweep) }
    }

    pub fn spec(&self) -> &Arc<SweepSpec> {
        self.diagram.spec()
    }

    /// Whether it has results that are in no file.
    pub fn is_unsaved(&self) -> bool {
        let is_begun = self.diagram.known_near([0, 0]).is_some();
        is_begun && self.exported.is_none_or(|complete| complete < self.diagram.complete())
    }

    /// The diagram as it is now, for the record of what was exported.
    pub fn to_export(&self) -> ExportedDiagram {
        ExportedDiagram { number: self.number, complete: self.diagram.complete() }
    }

    /// A title that says what was changed.
    pub fn title(&self) -> String {
        self.named(self.preset.sweep.metric).title
    }

    /// The diagram with a title and a description that say what was changed.
    pub fn result(&self) -> SweepResult {
        self.result_by(self.preset.sweep.metric)
    }

    /// The same for a picture that compares by this metric.
    pub fn result_by(&self, metric: Metric) -> SweepResult {
        let SweepPreset { title, description, .. } = self.named(metric);
        SweepResult { title, description, diagram: self.diagram.clone(), precision: self.precision }
    }

    fn named(&self, metric: Metric) -> SweepPreset {
        as_changed((*self.preset).clone(), SweepSpec { metric, ..(**self.spec()).clone() })
    }
}
