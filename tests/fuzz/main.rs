//! Whatever a file or a command line holds, it is read or refused: no panic, no hang, a bounded amount of memory. What
//! is read is written and read again as equal.
//!
//! Each test is a target. It tries the seeds and the files in `corpus/`, then inputs made from them. `cargo xtask fuzz`
//! does the same for as long as one likes. An input that is found to do harm is mended, and put into the corpus.

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
