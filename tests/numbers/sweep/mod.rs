//! Whether the sweep engine tells the truth: its random streams, its bits, its distributions against an
//! independent oracle, its certainty against the outcome of many replicates, and how it is driven.

mod behaviour;
mod bits;
mod boundary;
mod calibration;
mod checkpoint;
mod diagram;
mod oracle;
mod parts;
mod precision;
mod schedule_free;
mod schedules;
mod space;
mod specs;
mod streams;
mod truth;
mod two_samples;
mod typed;
