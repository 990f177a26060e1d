//! Fuzzing of training checkpoints, as that of other files in the `fuzz` program of the workspace's root.

mod checkpoints;
#[path = "../../../../tests/fuzz/driver.rs"]
mod driver;
#[path = "../../../../tests/fuzz/memory.rs"]
mod memory;
#[path = "../../../../tests/fuzz/mutate.rs"]
mod mutate;
