//! Presets: the built-in ones, reading and writing, errors, and the user's own.

mod builtin;
mod compared;
mod grids;
mod lessons;
mod refusals;
mod round_trip;
mod sweep_refusals;
