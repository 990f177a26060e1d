//! The data that real trainings learn from: read, downloaded, or drawn by the program.

pub mod download;
pub mod mnist;
