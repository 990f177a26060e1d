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
mod sheet;
mod table;
mod temperature;

pub use axis::{AxisScale, labelled_grid};
pub use choices::PlotChoices;
pub use csv::csv_of;
pub use curves::{Curve, Point};
pub use metric::{Band, Metric, Value};
pub use panel::{DiagnosticsPanel, columns_for};
pub use sheet::{Mark, sheet};
