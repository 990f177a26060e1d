//! Fuzzing: any file or command line is read or refused, without a panic or a hang, and in bounded memory. What is read
//! is written and read again as equal.
//!
//! Each test is a target. It tries the seeds and the files in `corpus/`, then inputs made from them. `cargo xtask fuzz`
//! runs targets for any length of time. An input that is found to do harm is mended, and put into the corpus.

mod driver;
mod files;
mod memory;
mod messages;
mod mutate;
mod presets;
mod records;
mod sweeps;

#[test]
fn presets() {
    presets::files();
}

#[test]
fn set() {
    presets::fields();
}

#[test]
fn events() {
    records::events();
}

#[test]
fn commands() {
    records::commands();
}

#[test]
fn idx() {
    files::idx();
}

#[test]
fn npz() {
    sweeps::results();
}

#[test]
fn sweep_checkpoints() {
    sweeps::checkpoints();
}
