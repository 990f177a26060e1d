//! Runs as folders: the protocol between the worker that trains and the programs that watch it.
//!
//! A run is a folder, and its files are the only record of it. The worker writes them while it trains; the window, the
//! command line and any other watcher read them, on this machine or another, then or later, even after copying. There
//! is no other communication: both the process that started a run and the worker may end at any time.
//!
//! | file | written by | holds |
//! | --- | --- | --- |
//! | `config.ron` | the creator of the run | the preset, fully resolved |
//! | `events.jsonl` | the worker ([`RunSession`]) | the events, one [`EventRecord`] per line, append-only; locked |
//! | `commands.jsonl` | anyone ([`CommandRequest`]) | commands for the worker, one [`RunCommand`] per line |
//! | `lock` | the worker | its identity ([`LockOwner`]); locked as long as it lives |
//! | `heartbeat` | the worker | the time, renewed every 10 s |
//! | `log.txt` | the worker | output of the worker and its libraries |
//! | `log-rank-*.txt` | the other ranks | output of each rank |
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
//! The crate depends neither on presets nor on trainings: it treats a run's config as text.

// Only items that other crates need are public, so that the compiler reports unused ones.
#![warn(unreachable_pub)]

pub mod atomic_file;
mod check;
pub mod checkpoint;
mod choice;
mod command;
mod command_queue;
mod concern;
mod event;
mod event_interval;
mod events_file;
mod findings;
mod folder;
mod forked;
mod history;
mod launch;
mod link_checkpoint;
mod lock;
mod loss_tally;
mod metric;
mod notes;
mod number;
pub mod plain_file;
mod points;
mod process;
mod ranks;
mod reader;
mod request;
mod saved_model;
mod scan_costs;
mod session;
mod signals;
mod status;
mod tail;
mod turns;

pub use jiff::Timestamp;

pub use check::{ConfigReader, RepairRefused};
pub use checkpoint::{Checkpoint, CheckpointOrigin, OptimizerProgress};
pub use choice::{CheckpointChoice, ChoiceError, first_usable};
pub use command::{ReceivedCommand, RunCommand, send};
pub use concern::{Concern, ConcernKind};
pub use event::{BadLine, Event, EventRecord, GridPoint, ScanAxes, Started};
pub use findings::{Condition, Finding, Findings, replace};
pub use folder::{FolderError, RunFolder, data_folder, runs_folder};
pub use forked::Forked;
pub use history::{CommandAnswer, Ending, RunHistory, RunWarning, TextSample};
pub use launch::{Device, Handshake, LaunchError, Launched, SETUP, WorkerProgram};
pub use link_checkpoint::link_checkpoint;
pub use lock::host;
pub use lock::{LockOwner, LockState};
pub use loss_tally::LossTally;
pub use metric::{Better, MetricId, MetricInfo, MetricScale, MetricSource, MetricValues, Unit};
pub use notes::{Notes, NotesEdit, RemoveError, check_removable, remove};
pub use points::MetricCurve;
pub use ranks::Ranks;
pub use reader::{RunReader, forked_run};
pub use request::{CommandRequest, Reply};
pub use saved_model::{SavedModel, TextRequest, WholeLoss};
pub use session::{RunSession, SessionError};
pub use signals::StopRequest;
pub use status::{Status, last_words, now, span};
pub use tail::{LONGEST_LINE, last_lines};
pub use turns::{MarkKind, RunMark, SettingChange};

/// The version of the protocol between a worker and the programs that start and watch it: the files of a run's folder
/// and the worker's command line.
pub const PROTOCOL: u32 = 1;
