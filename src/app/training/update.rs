//! The updates of the training threads for the window.

use std::sync::Arc;

use valleyscope_experiments::preset::Preset;
use valleyscope_runs::{Handshake, LaunchError, RunFolder};

use super::editor::ForkPoint;
use super::install::Installation;
use super::outlook::OutlookAnswer;
use super::run_detail::RunDetail;
use super::summary::Summary;
use crate::run_table::{Columns, MetricAliases};

/// The known runs.
pub(super) struct ListedRuns {
    pub runs: Vec<Arc<Summary>>,
    pub columns: Arc<Columns>,
    /// The reason why the folder cannot be read, if it cannot.
    pub trouble: Option<String>,
    /// The names under which metrics are shown.
    pub aliases: Arc<MetricAliases>,
}

/// A message of a thread to the window.
pub(super) enum Update {
    Runs(ListedRuns),
    Detail(RunFolder, Box<RunDetail>),
    /// A text by a run's newest checkpoint with its step, or why there is none.
    Text(RunFolder, Result<(u64, String), String>),
    Worker(Box<WorkerState>),
    /// The status of the worker's set-up.
    SetUp(Box<Installation>),
    /// The worker's set-up has begun, or why it has not.
    InstallBegun(Result<(), String>),
    /// The data and the requirements of a training, or why it could not begin.
    Outlook(Box<Preset>, OutlookAnswer),
    /// A run was made, and its worker is being started; with the checkpoint of a fork.
    Made(RunFolder, Option<ForkPoint>),
    /// A message for a notice.
    Notice(String),
    Failed(String),
    /// The desktop's trash has refused runs.
    NotTrashed {
        runs: Vec<RunFolder>,
        reason: String,
    },
    Removed(Vec<RunFolder>),
    /// Runs from elsewhere were read: how many were made, and what became of each.
    Imported {
        made: usize,
        report: String,
    },
}

/// The state of the worker.
#[derive(Clone, Debug)]
pub enum WorkerState {
    Asked,
    Ready(Handshake),
    /// The worker is not installed.
    Missing(String),
    /// The worker is installed and cannot be used.
    Unusable(String),
}

impl WorkerState {
    pub(super) fn of(error: &LaunchError) -> WorkerState {
        match error {
            LaunchError::Missing | LaunchError::NoFile { .. } => WorkerState::Missing(error.to_string()),
            _ => WorkerState::Unusable(error.to_string()),
        }
    }
}
