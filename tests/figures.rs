//! Result files of sweeps and scans, and figures made from them and from trainings: written, read by another hand, and looked at.

#[path = "figures/curve_pictures.rs"]
mod curve_pictures;
#[path = "figures/data.rs"]
mod data;
#[path = "figures/files.rs"]
mod files;
#[path = "figures/landscape_pictures.rs"]
mod landscape_pictures;
#[path = "figures/pictures.rs"]
mod pictures;
#[path = "figures/raw.rs"]
mod raw;
#[path = "figures/scan_files.rs"]
mod scan_files;
#[path = "figures/scan_pictures.rs"]
mod scan_pictures;
mod scan_run;
#[path = "figures/titles.rs"]
mod titles;
#[path = "figures/training_pictures.rs"]
mod training_pictures;
