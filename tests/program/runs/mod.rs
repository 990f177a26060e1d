//! Runs: writing, reading, status and faults.

mod commands;
mod files;
mod reader;
mod session;
mod status;
mod worker;
