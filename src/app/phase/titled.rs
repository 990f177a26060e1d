//! A diagram with what it is called.

use std::sync::Arc;
use std::time::Duration;

use crate::figure::as_changed;
use crate::preset::SweepPreset;
use crate::result::SweepResult;
use crate::sweep::{Diagram, Metric, Precision, Progress, SweepSpec};

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
