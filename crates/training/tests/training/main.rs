//! Tests of training: models and optimizers on tensors, runs under faults, the scan.

mod batch_sampler;
mod bytes;
mod checkpoints;
#[path = "../../../../tests/support/data_folder.rs"]
mod data_folder;
mod faults;
mod fork;
#[path = "../../../../tests/numbers/golden.rs"]
mod golden;
#[path = "../../../../tests/support/golden_bytes.rs"]
mod golden_bytes;
mod gpt2;
mod gpt2_files;
mod gpt2_pytorch;
mod gpt2_run;
mod gradient_queries;
mod images;
#[path = "../../../../tests/numbers/laws.rs"]
mod laws;
#[path = "../../../../tests/support/left_out.rs"]
mod left_out;
mod live;
mod mlp;
mod needs;
mod optimizers;
#[allow(dead_code, reason = "the plane is of the other tests")]
#[path = "../../../../tests/numbers/oracle/mod.rs"]
mod oracle;
mod probe;
mod programs;
mod pytorch;
mod ranks;
mod resume;
mod rules;
mod saved_model;
mod scan;
mod scan_parts;
mod schedule_free;
mod small_mnist;
mod spikes;
mod typed;
mod with_data;
