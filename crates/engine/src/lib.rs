//! Landscapes, optimizers, simulations and sweeps: all computations of Valleyscope on its toy models.
//!
//! The crate reads and writes no files, opens no window and links no libtorch. It starts no threads and reads no clock:
//! [`simulation::Simulation`] advances when called, and the threads that call [`sweep::SweepWork::run`] share a sweep.
//! All vector kernels are compiled here, once for every program of the workspace.
//!
//! ```text
//! lanes, elementary, random      numbers in vector registers, functions of them, random streams
//! quantity, setting              ranges of values, the table of settings, spacing along axes and sliders
//! configured                     landscapes, noises and rules with the values of their settings
//! expression                     graphs of rules and losses: recorded, compiled and printed
//! language                       typed rules and losses, from text to an expression graph
//! loss                           losses as programs, with their derivatives
//! landscape, noise, optimizer    losses with their gradients, noise of these, rules of a step
//! shares                         signal, noise and oscillation of gradients
//! simulation                     particles on a landscape, step by step
//! sweep                          phase diagrams: many runs a pixel
//! regret                         FOCUS on convex losses, and the bound of the paper's theorem
//! ```

// Only items that other crates need are public, so that the compiler reports unused ones.
#![warn(unreachable_pub)]

pub mod configured;
pub mod elementary;
pub mod expression;
pub mod identifier;
pub mod instructions;
pub mod landscape;
pub mod lanes;
pub mod language;
pub mod loss;
pub mod noise;
pub mod optimizer;
pub mod quantity;
pub mod random;
pub mod regret;
pub mod setting;
pub mod shares;
pub mod simulation;
pub mod spec_error;
pub mod sweep;
pub mod terminal_escape;
pub mod typed_text;
