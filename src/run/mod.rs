//! Runs: trainings as folders.
//!
//! A run is a folder, and the folder is the truth. The worker that trains writes it; the window, the command
//! line and whoever else wants to watch read it, from this machine or another, while it is written or after it
//! has been copied. Nobody needs to talk to anybody else: whoever started a run may die, and so may the worker.
//!
//! | file | written by | holds |
//! | --- | --- | --- |
//! | `config.ron` | whoever creates the run | the preset, fully resolved |
//! | `events.jsonl` | the worker ([`RunSession`]) | what has happened, a [`EventRecord`] a line, appended only; locked too |
//! | `events-damaged-*.jsonl` | the worker, or who mends the run | the events as they were, before an end that is no line was removed |
//! | `commands.jsonl` | anyone ([`CommandRequest`]) | what the worker is asked to do, a [`RunCommand`] a line |
//! | `lock` | the worker | who it is ([`LockOwner`]); locked as long as it lives |
//! | `heartbeat` | the worker | the time, renewed every 10 s |
//! | `log.txt` | the worker | what it and its libraries say; its last words, if it dies |
//! | `notes.ron` | the user ([`Notes`]) | another title, and a note |
//! | `reserve` | the worker | nothing; given up when the disk is full, so that this can still be said |
//!
//! ```text
//! worker:   RunFolder -> RunSession  -> record(step, event) …  commands() / answer(…) …
//! watcher:  RunFolder -> RunReader   -> poll() -> History (curves, samples, grid points)
//!                           -> status(now) -> Status
//! starter:  WorkerProgram::find -> handshake -> RunFolder::create -> start
//!                                            or Fork::create, from another run's checkpoint
//! ```
//!
//! This room knows nothing of how training works and nothing of windows.

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
pub use checkpoint::{Checkpoint, CheckpointOrigin};
pub use choice::{CheckpointChoice, ChoiceError};
pub use command::{ReceivedCommand, RunCommand, send};
pub use concern::{Concern, ConcernKind};
pub use config::{ConfigError, Difference, RunConfig};
pub use damage::{Damage, LineNumbers};
pub use event::{BadLine, Event, EventRecord, GridPoint, ScanAxes, Started};
pub use findings::{Condition, Finding, Findings};
pub use folder::{FolderError, RunFolder, data_folder, runs_folder};
pub use fork::{Fork, ForkError, Forked};
pub use history::{CommandAnswer, Ending, RunHistory, TextSample};
pub use launch::{Device, Handshake, LaunchError, Launched, SETUP, WorkerProgram};
pub use lock::{LockOwner, LockState};
pub use metric::{Better, MetricId, MetricInfo, MetricScale, MetricSource, MetricValues, Unit};
pub use notes::{Notes, RemoveError, check_removable, remove};
pub use points::MetricCurve;
pub use reader::RunReader;
pub use request::{CommandRequest, Reply};
pub use saved_model::{SavedModel, WholeLoss};
pub use session::{RunSession, SessionError};
pub use signals::StopRequest;
pub use status::{Status, last_words, span};
pub use table::write_csv;
pub use tail::{LONGEST_LINE, last_lines};

/// The version of what a worker and those who start and watch it understand each other by: the files of a run's
/// folder and the worker's command line.
pub const PROTOCOL: u32 = 5;
