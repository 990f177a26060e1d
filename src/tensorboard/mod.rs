//! TensorBoard's event files: scalars of runs, written for TensorBoard and read from other programs' runs.
//!
//! An event file is a sequence of records in TFRecord framing (module `record`), each a protobuf message `Event` (module
//! `message`; `tensorboard/compat/proto/event.proto` is its source). A folder with event files is a run.

mod live;
mod message;
mod read;
mod record;
mod write;

pub use live::{LiveError, LiveEvents, event_file};
pub use read::{Entry, event_files, is_event_file, read_entries};
pub use write::write_history;
