//! Live plots of how the ensembles fare.

mod axis;
mod chart;
mod csv;
mod curves;
mod history;
mod metric;
mod panel;

pub use axis::AxisScale;
pub use csv::csv_of;
pub use curves::{Curve, Point};
pub use metric::{Band, Metric, Value};
pub use panel::{DiagnosticsPanel, columns_for};
