//! Result files of sweeps, figures of these, of trainings and of grids: written, read by independent code, and
//! examined.

mod files;
mod grids;
mod landscapes;
mod pictures;
mod trainings;

pub(crate) use files::{array, texts};
