//! Phase diagrams: which optimizer wins where (the paper's section "Toy model" and its appendix).
//!
//! A [`SweepSpec`] names two axes, a set of optimizers and their learning rates. Every pixel of the diagram is a
//! [`Point`]: a landscape, noise and optimizers. The candidates of an optimizer are its learning rates, or all combinations
//! of these with the values of other settings that are [`Tuned`]. Each candidate is run many times; the score of an optimizer
//! is the best average of its candidates, and the optimizer with the best score wins the pixel.
//!
//! [`pixel_runs`] computes the runs of a pixel, in vector registers; [`Cell`] holds their results; [`SweepWork`] is the
//! work on all pixels, done by the threads that the caller brings; a [`Diagram`] is the whole. A run draws its random
//! numbers from a stream of its own, so that the result is the same in any order, on any number of threads, and in
//! parts.

mod axis;
mod backend;
mod cell;
mod check;
mod coordinates;
mod diagram;
mod evidence;
mod first_runs;
mod gap;
mod kernel;
mod metric;
mod names;
mod nd_batch;
mod pixel_key;
mod pixel_runs;
mod point;
mod race;
mod race_cell;
mod runs;
mod sampling;
mod shared_noise;
mod spec;
mod statistics;
mod sweep_part;
mod tally;
mod tasks;
mod tuned;
mod value_range;
mod work;

pub use axis::{Axis, Quantity};
pub use backend::{Backend, Precision};
pub use cell::{Cell, Comparison, Sampled, Score};
pub use diagram::Diagram;
pub use kernel::Metrics;
pub use metric::{Average, Metric};
pub use pixel_key::PixelKey;
pub use pixel_runs::pixel_runs;
pub use point::{Point, PointOptimizer, Variant};
pub use race::Race;
pub use runs::Runs;
pub use sampling::{Adaptive, Sampling};
pub use spec::{LearningRates, SweepOptimizer, SweepSpec};
pub use statistics::Gap;
pub use sweep_part::{PartError, SweepPart};
pub use tasks::PixelOrder;
pub use tuned::{Tuned, TunedSetting};
pub use work::{Finished, SweepJob, SweepWork};

pub use crate::spacing::Spacing;
