//! The sweep engine: random streams, bits, distributions against an independent oracle, certainty against many
//! replicates, and control.

mod adaptive;
mod behaviour;
mod bits;
mod boundary;
mod calibration;
mod checkpoint;
mod diagram;
mod hyperparameters;
mod landscapes;
mod noise_kinds;
mod oracle;
mod parts;
mod precision;
mod schedule_free;
mod schedules;
mod space;
mod specs;
mod streams;
mod truth;
mod tuned;
mod two_samples;
mod typed;
