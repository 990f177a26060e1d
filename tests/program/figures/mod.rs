//! Result files of sweeps and scans, and figures of these and of trainings: written, read by independent code, and
//! examined.

mod curve_pictures;
mod data;
mod files;
#[cfg(all(target_os = "linux", feature = "app"))]
mod fonts;
mod landscape_pictures;
mod pictures;
mod raw;
mod run_plots;
mod scan_files;
mod scan_pictures;
mod titles;
mod training_pictures;

pub(crate) use files::{array, texts};
