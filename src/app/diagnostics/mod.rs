//! Live plots of how the ensembles fare.

mod axis;
mod chart;
mod choices;
mod csv;
mod curves;
mod detail;
mod history;
mod legend;
mod metric;
mod panel;
mod plot_frame;
mod table;
mod temperature;

pub use axis::{AxisScale, labelled_grid};
pub use choices::PlotChoices;
pub use csv::csv_of;
pub use curves::{CurvePoint, DiagnosticCurve};
pub use metric::{Band, DiagnosticMetric, DiagnosticValue};
pub use panel::{DiagnosticsPanel, columns_for};
pub use plot_frame::{AxisMark, plot_frame};
