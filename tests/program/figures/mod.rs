//! Result files of sweeps and scans, and figures made from them and from trainings: written, read by another hand, and looked at.

mod curve_pictures;
mod data;
mod files;
mod landscape_pictures;
mod pictures;
mod raw;
mod scan_files;
mod scan_pictures;
mod titles;
mod training_pictures;
