//! Fuzzing: any file or command line is read or refused, without a panic or a hang, and in bounded memory. What is read
//! is written and read again as equal.
//!
//! Each test is a target. It tries its seeds and the files of its name in `corpus/`, then inputs made from them.
//! `cargo xtask fuzz` does this for some minutes. An input that did harm belongs into the corpus once that is fixed.

mod driver;
mod targets;
