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
//! watcher:  RunFolder -> RunReader   -> poll() -> History (curves, samples)
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
mod command;
mod curves;
mod event;
mod folder;
mod history;
mod launch;
mod lock;
mod measure;
mod metric;
pub mod plain_file;
mod queue;
mod reader;
mod session;
mod status;
mod tail;
mod words;

pub use jiff::Timestamp;
pub use valleyscope_machine::data_folder;

pub use check::{Condition, ConfigReader, Finding, Findings, RunRefused, check_removable, remove, replace};
pub use checkpoint::{
    Checkpoint, CheckpointChoice, CheckpointOrigin, ChoiceError, OptimizerProgress, first_usable, link_checkpoint,
};
pub use command::{CommandRequest, ReceivedCommand, Reply, RunCommand, TextRequest, send};
pub use curves::{LossTally, MetricCurve};
pub use event::{Event, EventRecord, Forked, LONGEST_LINE, SettingChange, Started, now};
pub use folder::{FolderError, Notes, NotesEdit, RUNS_VARIABLE, RunFolder, runs_folder};
pub use history::{CommandAnswer, Ending, MarkKind, Ranks, RunHistory, RunMark, RunWarning, TextSample};
pub use launch::{COMMAND, Device, Handshake, LaunchError, Launched, SETUP, SavedModel, WholeLoss, WorkerProgram};
pub use lock::{LockOwner, LockState, StopRequest, host};
pub use measure::Measure;
pub use metric::{Better, MetricId, MetricInfo, MetricScale, MetricSource, MetricValues, Unit};
pub use plain_file::last_lines;
pub use queue::{Claim, EntryEnd, Queue, QueueEntry, QueueError, QueueRunner};
pub use reader::{RunReader, forked_run};
pub use session::{RunSession, SessionError};
pub use status::{Concern, ConcernKind, Status, last_output, span};
pub use words::{Words, training_loss};

/// The version of the protocol between a worker and the programs that start and watch it: the files of a run's folder
/// and the worker's command line.
pub const PROTOCOL: u32 = 1;
