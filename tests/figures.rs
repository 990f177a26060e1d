//! Result files of sweeps, and figures made from them: written, read by another hand, and looked at.

#[path = "figures/data.rs"]
mod data;
#[path = "figures/files.rs"]
mod files;
#[path = "figures/pictures.rs"]
mod pictures;
#[path = "figures/raw.rs"]
mod raw;
