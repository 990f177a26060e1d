//! Result files of sweeps and scans, and figures of these and of trainings: written, read by independent code, and
//! examined.

mod files;
mod landscapes;
mod pictures;
mod scans;
mod trainings;

pub(crate) use files::{array, texts};
