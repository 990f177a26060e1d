//! Runs: trainings as folders.
//!
//! A run is a folder, whose files are the only record of it. The worker that trains writes it; the window, the command
//! line and any other watcher read it, from this machine or another, while it is written or after it has been copied.
//! There is no other communication: the process that started a run may end, and so may the worker.
//!
//! | file | written by | holds |
//! | --- | --- | --- |
//! | `config.ron` | the creator of the run | the preset, fully resolved |
//! | `events.jsonl` | the worker ([`RunSession`]) | the events, one [`EventRecord`] per line, append-only; locked |
//! | `events-damaged-*.jsonl` | the worker, or mending | the old events, from before an incomplete end was removed |
//! | `commands.jsonl` | anyone ([`CommandRequest`]) | commands for the worker, one [`RunCommand`] per line |
//! | `lock` | the worker | its identity ([`LockOwner`]); locked as long as it lives |
//! | `heartbeat` | the worker | the time, renewed every 10 s |
//! | `log.txt` | the worker | output of the worker and its libraries; its last messages, if it dies |
//! | `log-rank-*.txt` | the other processes of a training by several | the same of each |
//! | `notes.ron` | the user ([`Notes`]) | a title of the user's, and a note |
//! | `reserve` | the worker | unused bytes; removed when the disk is full, so that this can still be recorded |
//!
//! ```text
//! worker:   RunFolder -> RunSession  -> record(step, event) …  commands() / answer(…) …
//! watcher:  RunFolder -> RunReader   -> poll() -> History (curves, samples, grid points)
//!                           -> status(now) -> Status
//! starter:  WorkerProgram::find -> handshake -> RunFolder::create -> start
//!                                            or Fork::create, from another run's checkpoint
//! ```
//!
//! This module depends neither on the training code nor on the window.

mod capacity;
mod check;
pub(crate) mod checkpoint;
mod choice;
mod command;
mod command_queue;
mod concern;
mod config;
mod damage;
mod event;
mod events_file;
mod findings;
mod folder;
mod fork;
mod history;
mod launch;
mod lock;
mod losses;
mod metric;
mod notes;
mod number;
mod pace;
mod points;
mod process;
mod ranks;
mod reader;
mod request;
mod saved_model;
mod scan_costs;
mod seal;
mod session;
mod signals;
mod status;
mod table;
mod tail;

pub use jiff::Timestamp;

pub use capacity::{Capacity, CapacityReport, SystemMemory};
pub use check::MendRefused;
pub(crate) use check::replace;
pub use checkpoint::{Checkpoint, CheckpointOrigin, OptimizerProgress};
pub use choice::{CheckpointChoice, ChoiceError};
pub use command::{ReceivedCommand, RunCommand, send};
pub use concern::{Concern, ConcernKind};
pub use config::{ConfigError, Difference, RunConfig, differing_fields};
pub use damage::{Damage, LineNumbers};
pub use event::{BadLine, Event, EventRecord, GridPoint, ScanAxes, Started};
pub use findings::{Condition, Finding, Findings};
pub use folder::{FolderError, RunFolder, data_folder, runs_folder};
pub use fork::{Fork, ForkError, Forked};
pub use history::{CommandAnswer, Ending, RunHistory, RunWarning, TextSample};
pub use launch::{Device, Handshake, LaunchError, Launched, SETUP, WorkerProgram};
#[cfg(feature = "torch")]
pub(crate) use lock::host;
pub use lock::{LockOwner, LockState};
pub use metric::{Better, MetricId, MetricInfo, MetricScale, MetricSource, MetricValues, Unit};
pub use notes::{Notes, RemoveError, check_removable, remove};
pub use points::MetricCurve;
pub use ranks::Ranks;
pub use reader::RunReader;
pub use request::{CommandRequest, Reply};
pub use saved_model::{SavedModel, WholeLoss};
pub use session::{RunSession, SessionError};
pub use signals::StopRequest;
pub use status::{Status, last_words, span};
pub use table::write_csv;
pub use tail::{LONGEST_LINE, last_lines};

/// The version of the protocol between a worker and the programs that start and watch it: the files of a run's folder
/// and the worker's command line.
pub const PROTOCOL: u32 = 1;
