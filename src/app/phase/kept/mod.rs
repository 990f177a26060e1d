//! Diagrams that are kept: in memory, and in a folder that survives the program.
//!
//! Each has a folder of its own, which is also that of a sweep's results: `phase.npz` or, while it is unfinished, a
//! checkpoint as `valleyscope sweep` writes it; `spec.ron`; a picture; and `kept.ron`, its name, pin and time. A
//! thread of its own reads and writes these files.

mod files;
mod keeper;
mod library;
mod record;
mod thumbnail;

pub(super) use library::{KeptDiagram, Library, LibraryEvent, Limits, is_dear};
