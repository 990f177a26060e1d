//! Tests of training: models and optimizers on tensors, runs under faults.

mod checkpoints;
#[path = "../../../../tests/support/data_folder.rs"]
mod data_folder;
mod faults;
mod fork;
#[path = "../../../../tests/support/golden_bytes.rs"]
mod golden_bytes;
mod gpt2;
mod gradient_queries;
#[path = "../../../../tests/support/left_out.rs"]
mod left_out;
mod live;
mod measures;
mod mnist;
mod optimizers;
#[allow(dead_code, reason = "the plane is of the other tests")]
#[path = "../../../../tests/numbers/oracle/mod.rs"]
mod oracle;
mod probe;
mod queue;
mod ranks;
#[path = "../../../../tests/numbers/references.rs"]
mod references;
mod runs;
mod saved_models;
#[path = "../../../../tests/support/says.rs"]
mod says;
mod stack;
mod stage;
