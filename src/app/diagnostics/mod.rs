//! Live plots of how the ensembles fare.

mod chart;
mod choices;
mod csv;
mod curves;
mod detail;
mod history;
mod legend;
mod panel;
mod table;
mod temperature;

pub use crate::view::{Band, DiagnosticMetric, DiagnosticValue};
pub use choices::PlotChoices;
pub use csv::csv_of;
pub use curves::{CurvePoint, DiagnosticCurve};
pub use panel::{DiagnosticsPanel, columns_for};
