//! Live plots of how the ensembles fare.

mod chart;
mod choices;
mod coincidence;
mod csv;
mod curves;
mod detail;
mod history;
mod legend;
mod panel;
mod table;
mod temperature;

pub use choices::PlotChoices;
pub use csv::csv_of;
pub use curves::{CurvePoint, DiagnosticCurve};
pub use panel::{DiagnosticsPanel, columns_for};
pub use valleyscope_experiments::view::{Band, DiagnosticMetric};
