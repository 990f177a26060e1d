//! Files and command lines are read or refused, whatever they hold: without a panic, without a hang, in bounded memory.
//! What is read is written and read again as equal.
//!
//! Each test is a target. It tries its seeds and the files of its name in `corpus/`, then inputs made from them.
//! `cargo xtask fuzz` does this for some minutes. An input that did harm belongs into the corpus once that is mended.

mod driver;
mod files;
mod memory;
mod messages;
mod mutate;
mod presets;
mod records;
mod sweeps;
