//! Fuzzing of training checkpoints; the workspace root's `fuzz` program has that of other files.

mod checkpoints;
#[path = "../../../../tests/fuzz/driver.rs"]
mod driver;
#[path = "../../../../tests/fuzz/memory.rs"]
mod memory;
#[path = "../../../../tests/fuzz/mutate.rs"]
mod mutate;
