//! Runs: what is written, what is read back, how it stands with them, and what becomes of them when things go wrong.

mod commands;
mod concern;
mod config;
mod damage;
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
mod worker;
