//! The numeric core, sweeps and scores, against mathematics and independent oracles.

mod diagnostics;
mod history;
mod landscapes;
mod lanes;
mod noise;
mod optimizers;
mod oracle;
mod player;
mod recorded;
mod references;
mod replay;
mod rules;
mod schedules;
mod shares;
mod specs;
mod stage;
mod statistics;
mod sweep;
mod trajectories;
mod typed;
