//! Phase diagrams: which optimizer wins where (the paper's section "Toy model" and its appendix).
//!
//! A [`SweepSpec`] names two axes, a set of optimizers and their learning rates. Every pixel of the diagram is a
//! [`Point`]: a landscape, noise and optimizers. The candidates of an optimizer are its learning rates, or all
//! combinations of these with the values of other settings that are [`Tuned`]. Each candidate is run many times; the
//! score of an optimizer is the best average of its candidates, and the optimizer with the best score wins the pixel.
//!
//! [`pixel_runs`] computes the runs of a pixel, in vector registers; [`Cell`] holds their results; [`SweepWork`] is the
//! work on all pixels, done by the threads that the caller brings; a [`Diagram`] is the whole. A run draws its random
//! numbers from a stream of its own, so that the result is the same in any order, on any number of threads, and in
//! parts.

mod adaptive;
mod axis;
mod cell;
mod diagram;
mod external;
mod external_steps;
mod measured;
mod pixel_runs;
mod plane;
mod runs;
mod space;
mod spec;
mod uniform_certainty;
mod work;

pub use crate::setting::Spacing;
pub use adaptive::allocation::Race;
pub use adaptive::{Adaptive, Sampling};
pub use axis::{Axis, Point, PointOptimizer, Quantity, Tuned, Variant, can_tune, tuned_info, tuned_label, tuned_value};
pub use cell::{Cell, Comparison, Sampled, Score};
pub use diagram::Diagram;
pub use external::{ExternalRun, ExternalRuns};
pub use external_steps::external_metrics;
pub use measured::adam_shares;
pub use pixel_runs::{Backend, Precision, pixel_runs};
pub use runs::{Average, Metric, Metrics, PixelKey, Runs};
pub use spec::{LearningRates, SweepOptimizer, SweepSpec, tuned_spacing};
pub use uniform_certainty::Gap;
pub use work::{Finished, PartError, PixelOrder, SweepJob, SweepPart, SweepWork};
