//! A training's needs of the machine, and its errors when they are not met.

use std::process::Command;

use valleyscope_engine::quantity::SequenceCount;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::RunConfig;
use valleyscope_runs::Status;

use crate::faults::{Stage, kill, status, wait_until, worker};
use crate::gpt2_run::tiny;

#[test]
#[cfg(target_os = "linux")]
fn a_training_needs_the_estimated_memory_and_disk() {
    // With a single sequence the checkpoint needs more than the passes. Passes in half precision are slow on many
    // processors.
    for (precision, sequences) in [("Float32", "4"), ("BFloat16", "1"), ("Float32", "1")] {
        let stage = Stage::new();
        let shape = "(layers: 6, heads: 6, width: 384, context: 256, vocabulary: 20000)";
        let every_step = [("eval_every", "1"), ("checkpoint_every", "1"), ("sample.every", "1"), ("eval_batches", "1")];
        let size = [("shape", shape), ("batch_size", sequences), ("accumulation", "1"), ("precision", precision)];
        let run = tiny(&stage, &[&size[..], &every_step].concat());
        let preset = RunConfig::read(&run).unwrap().preset;
        let needs = preset.workload().unwrap().needs(0).unwrap();
        let mut child = worker(&run, false).spawn().unwrap();
        wait_until(&run, &mut child, |history| history.checkpoints().len() >= 2);
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        kill(child);
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB")).unwrap();
        let peak = peak.trim().parse::<f64>().unwrap() * 1024.0;
        let said = needs.memory(false) as f64;
        assert!((0.75..1.3).contains(&(said / peak)), "{precision}: {said} were said, {peak} used");
        // Four checkpoints at the most.
        let newest = *run.checkpoints().unwrap().last().unwrap();
        let disk = std::fs::metadata(run.path().join(format!("checkpoint-{newest:08}.safetensors")));
        let disk = disk.unwrap().len() as f64;
        assert!((3.9..4.1).contains(&(needs.disk as f64 / disk)), "{precision}: {} {disk}", needs.disk);
    }
}

#[test]
fn finds_the_largest_batch_that_fits() {
    let stage = Stage::new();
    let run = tiny(&stage, &[("shape", "(layers: 6, heads: 6, width: 384, context: 256, vocabulary: 20000)")]);
    let mut preset = RunConfig::read(&run).unwrap().preset;
    let mut needs = |batch: u64| {
        let Preset::Gpt2(gpt2) = &mut preset else { panic!("it is a GPT-2") };
        gpt2.runs[0].batch_size = SequenceCount::clamped(batch);
        let workload = preset.workload().unwrap();
        (
            workload.needs(0).unwrap().memory(false),
            [1 << 20, 1 << 30, 2 << 30, 1 << 50].map(|there| workload.fitting(0, there, false)),
        )
    };
    let (_, [nothing, some, more, all]) = needs(64);
    assert_eq!((nothing, all), (None, Some(64)));
    for (fits, there) in [(some.unwrap(), 1 << 30), (more.unwrap(), 2 << 30)] {
        assert!(needs(fits).0 <= there && needs(fits + 1).0 > there, "{fits} fits into {there}");
    }
    assert!(some < more && more < all);
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_without_enough_memory_fails_with_advice() {
    let stage = Stage::new();
    let shape = "(layers: 1, heads: 64, width: 512, context: 1024, vocabulary: 200)";
    let run =
        tiny(&stage, &[("shape", shape), ("batch_size", "100"), ("accumulation", "1"), ("attention", "Explicit")]);
    let worker = worker(&run, false);
    // The scores of each sequence alone take 256 MiB.
    let limited = "ulimit -v 12000000; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited]).arg(worker.get_program()).args(worker.get_args());
    let output = command.env("OMP_NUM_THREADS", "1").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("the device ran out of memory"), "{said}");
    assert!(said.contains("; take a ") && !said.contains("alloc_cpu.cpp"), "{said}");
    assert!(matches!(status(&run), Status::Failed(_)), "{:?}", status(&run));
}
