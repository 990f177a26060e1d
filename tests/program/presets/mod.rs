//! Presets: the built-in ones, reading and writing, errors, and the user's own.

mod builtin;
mod differences;
mod fault;
mod lessons;
mod library;
mod limits;
mod names;
mod noise;
mod refusals;
mod round_trip;
mod simulations;
mod sweep_refusals;
mod typed_refusals;
