//! Trainings as folders: the protocol between the worker that trains and those that watch it.
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
//! ```
//!
//! The crate knows neither presets nor trainings: it keeps a run's config as text.

// Only items that other crates need are public, so that the compiler reports unused ones.
#![warn(unreachable_pub)]

pub mod atomic_file;
mod check;
pub mod checkpoint;
mod choice;
mod command;
mod command_queue;
mod concern;
mod damage;
mod event;
mod events_file;
mod findings;
mod folder;
mod forked;
mod history;
mod launch;
mod link_checkpoint;
mod lock;
mod losses;
mod metric;
mod notes;
mod number;
mod pace;
pub mod plain_file;
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
mod tail;

pub use jiff::Timestamp;

pub use check::{ConfigReader, MendRefused};
pub use checkpoint::{Checkpoint, CheckpointOrigin, OptimizerProgress};
pub use choice::{CheckpointChoice, ChoiceError, first_usable};
pub use command::{ReceivedCommand, RunCommand, send};
pub use concern::{Concern, ConcernKind};
pub use damage::{Damage, LineNumbers};
pub use event::{BadLine, Event, EventRecord, GridPoint, ScanAxes, Started};
pub use findings::{Condition, Finding, Findings, replace};
pub use folder::{FolderError, RunFolder, data_folder, runs_folder};
pub use forked::Forked;
pub use history::{CommandAnswer, Ending, RunHistory, RunWarning, TextSample};
pub use launch::{Device, Handshake, LaunchError, Launched, SETUP, WorkerProgram};
pub use link_checkpoint::link_checkpoint;
pub use lock::host;
pub use lock::{LockOwner, LockState};
pub use metric::{Better, MetricId, MetricInfo, MetricScale, MetricSource, MetricValues, Unit};
pub use notes::{Notes, RemoveError, check_removable, remove};
pub use points::MetricCurve;
pub use ranks::Ranks;
pub use reader::RunReader;
pub use request::{CommandRequest, Reply};
pub use saved_model::{SavedModel, WholeLoss};
pub use seal::seal;
pub use session::{RunSession, SessionError};
pub use signals::StopRequest;
pub use status::{Status, last_words, span};
pub use tail::{LONGEST_LINE, last_lines};

/// The version of the protocol between a worker and the programs that start and watch it: the files of a run's folder
/// and the worker's command line.
pub const PROTOCOL: u32 = 1;
