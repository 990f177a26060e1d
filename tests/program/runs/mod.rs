//! Runs: writing, reading, status and faults.

mod commands;
mod concern;
mod config;
mod events;
mod faults;
mod folders;
mod fork;
mod launch;
mod reader;
mod session;
#[cfg(unix)]
mod special;
mod status;
mod table;
mod turns;
mod worker;
