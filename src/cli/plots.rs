//! The names of plots on the command line.

use anyhow::anyhow;
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_experiments::view::{Band, DiagnosticMetric};

use super::Failure;
use crate::figure::RunPlots;

/// An axis that can be logarithmic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogAxis {
    Steps,
    Of(DiagnosticMetric),
}

/// Returns the name of a plot: that of its metric in files, with hyphens.
fn name(metric: DiagnosticMetric) -> String {
    metric.key().replace('_', "-")
}

fn names() -> String {
    DiagnosticMetric::ALL.map(name).join(", ")
}

/// Parses the name of a plot.
pub(super) fn metric(text: &str) -> Result<DiagnosticMetric, String> {
    let wanted = text.trim().replace('_', "-");
    let found = DiagnosticMetric::ALL.into_iter().find(|metric| name(*metric) == wanted);
    found.ok_or_else(|| format!("expected plots among {}, found {text}", names()))
}

/// Parses the name of a plot with a logarithmic axis, or `steps`.
pub(super) fn log_axis(text: &str) -> Result<LogAxis, String> {
    match text.trim() {
        "steps" => Ok(LogAxis::Steps),
        text => metric(text)
            .map(LogAxis::Of)
            .map_err(|_| format!("expected `steps` or plots among {}, found {text}", names())),
    }
}

/// Checks that runs on a landscape have these plots.
pub(super) fn check_known(plots: &[DiagnosticMetric], landscape: &LandscapeSpec) -> Result<(), Failure> {
    let Some(unknown) = plots.iter().find(|metric| metric.info(landscape).is_none()) else { return Ok(()) };
    let known: Vec<String> = DiagnosticMetric::of(landscape).map(name).collect();
    Err(Failure::BadInput(anyhow!(
        "--plots: expected plots that the landscape {} has, which are {}, found {}",
        landscape.kind().name(),
        known.join(", "),
        name(*unknown)
    )))
}

/// Returns the plots of a figure. `log` names the logarithmic axes; without it, that of |v| is one.
pub(super) fn run_plots(metrics: &[DiagnosticMetric], log: Option<&[LogAxis]>) -> RunPlots {
    let log = log.unwrap_or(&[LogAxis::Of(DiagnosticMetric::AbsV)]);
    let of_metric = |axis: &LogAxis| match axis {
        LogAxis::Of(metric) => Some(*metric),
        LogAxis::Steps => None,
    };
    RunPlots {
        metrics: metrics.to_vec(),
        log: log.iter().filter_map(of_metric).collect(),
        log_steps: log.contains(&LogAxis::Steps),
        band: Band::default(),
        whole_range: false,
    }
}
