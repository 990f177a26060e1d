//! The worker's program when it is stopped or killed, or lacks resources, and a training's needs of the machine.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tch::Device;
use valleyscope_engine::quantity::{CheckpointInterval, LoggingInterval, SequenceCount};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::{PresetConfigs, RunConfig};
use valleyscope_experiments::workload::{MnistSpec, NotFinite};
use valleyscope_runs::{self as run, MetricId, RunFolder, Status, WorkerProgram};
use valleyscope_training::mnist::MnistRun;
use valleyscope_training::{CheckpointOrigin, Training, checkpoint};

use crate::says::says;
use crate::stage::{
    Stage, WORKER, curve, history, kill, kill_at, mnist, quick, rate, spec, status, tensors, tiny, to_the_end, uniform,
    wait_for, wait_until, worker,
};

#[test]
fn a_killed_run_resumes_without_gap_repeat_or_jump() {
    let stage = Stage::new();
    let whole = stage.run(quick(300));
    assert!(to_the_end(&whole, false).status.success());
    assert_eq!(status(&whole), Status::Finished);
    let expected = curve(&whole);
    assert_eq!(expected.iter().map(|(step, _)| *step).collect::<Vec<_>>(), (1..=300).collect::<Vec<_>>());

    let killed = stage.run(quick(300));
    let mut kills = 0;
    loop {
        let mut child = worker(&killed, kills > 0).spawn().unwrap();
        let from = history(&killed).step();
        let at = from + 1 + (30.0 * uniform(kills)) as u64;
        if kills == 4 || at >= 250 {
            assert!(child.wait().unwrap().success());
            break;
        }
        wait_for(&killed, &mut child, at);
        kill(child);
        kills += 1;
        assert!(matches!(status(&killed), Status::Crashed { .. }), "{:?}", status(&killed));
    }
    assert!(kills > 0);
    assert_eq!(status(&killed), Status::Finished);
    assert_eq!(curve(&killed), expected);
    assert_eq!(tensors(&killed, 300), tensors(&whole, 300));
    // The clock does not run backwards.
    let wall = history(&killed).curve(MetricId::LOSS).wall_s.to_vec();
    assert!(wall.is_sorted(), "{wall:?}");
}

#[test]
fn a_stopped_and_resumed_run_equals_an_uninterrupted_one() {
    let stage = Stage::new();
    let whole = stage.run(quick(60));
    assert!(to_the_end(&whole, false).status.success());
    let run = stage.run(quick(100_000));
    let mut child = worker(&run, false).spawn().unwrap();
    wait_for(&run, &mut child, 5);
    let id = run::send(&run, run::RunCommand::SetSteps { n: 2 }).unwrap();
    run::send(&run, run::RunCommand::Stop).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(status(&run), Status::Stopped);
    let answers = history(&run).answers().to_vec();
    assert!(answers.iter().any(|answer| answer.id == id && !answer.ok && answer.message.contains("found 2")));
    let stopped_at = history(&run).step();
    assert_eq!(checkpoint::steps(&run).unwrap().last(), Some(&stopped_at));

    let mut child = worker(&run, true).spawn().unwrap();
    wait_for(&run, &mut child, stopped_at + 1);
    run::send(&run, run::RunCommand::SetSteps { n: stopped_at + 100_000 }).unwrap();
    wait_for(&run, &mut child, stopped_at + 40);
    run::send(&run, run::RunCommand::Stop).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(history(&run).steps(), Some(stopped_at + 100_000));
    let (run, whole) = (curve(&run), curve(&whole));
    let common = run.len().min(whole.len());
    assert_eq!(run[..common], whole[..common]);
}

#[test]
fn resumes_from_the_checkpoint_before_a_damaged_one() {
    let stage = Stage::new();
    let whole = stage.run(quick(400));
    assert!(to_the_end(&whole, false).status.success());
    let run = stage.run(quick(400));
    kill_at(&run, 32);
    let last = *checkpoint::steps(&run).unwrap().last().unwrap();
    let path = run.path().join(format!("checkpoint-{last:08}.safetensors"));
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(to_the_end(&run, true).status.success());
    assert_eq!(curve(&run), curve(&whole));
    assert!(history(&run).warnings().iter().any(|warning| warning.message.contains("cannot be used")));
}

#[test]
fn refuses_to_restart_a_run_with_only_unusable_checkpoints() {
    let stage = Stage::new();
    let run = stage.run(quick(400));
    kill_at(&run, 32);
    let before = curve(&run);
    let steps = checkpoint::steps(&run).unwrap();
    for step in &steps {
        std::fs::write(run.path().join(format!("checkpoint-{step:08}.safetensors")), "cut").unwrap();
    }
    let output = to_the_end(&run, true);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains(&format!("step {}", steps.last().unwrap())) && said.contains("delete all files"), "{said}");
    assert_eq!(curve(&run), before, "nothing of the curve is forgotten");

    let file = |step: u64, extension: &str| run.path().join(format!("checkpoint-{step:08}.{extension}"));
    steps.iter().for_each(|step| std::fs::remove_file(file(*step, "ron")).unwrap());
    let output = to_the_end(&run, true);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("checkpoint-*.ron") && said.contains("delete all files"), "{said}");
    assert!(steps.iter().all(|step| file(*step, "safetensors").exists()) && curve(&run) == before);

    // The killed worker may have begun another one.
    for entry in std::fs::read_dir(run.path()).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with("checkpoint-") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    let output = to_the_end(&run, true);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(history(&run).warnings().iter().any(|warning| warning.message.contains("begins again at step 0")));
}

#[test]
fn resumes_from_the_newest_checkpoint_when_events_are_damaged() {
    let stage = Stage::new();
    let whole = stage.run(quick(400));
    assert!(to_the_end(&whole, false).status.success());
    type Harm = fn(&Path, Vec<u8>);
    let harms: [Harm; 5] = [
        |path, mut bytes| {
            bytes[2] ^= 1;
            std::fs::write(path, bytes).unwrap();
        },
        |path, bytes| std::fs::write(path, [b"\xef\xbb\xbf", &bytes[..]].concat()).unwrap(),
        |path, _| std::fs::remove_file(path).unwrap(),
        |path, bytes| std::fs::write(path, vec![0; bytes.len()]).unwrap(),
        |path, bytes| {
            let end = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(5).unwrap().0;
            std::fs::write(path, &bytes[..=end]).unwrap();
        },
    ];
    for harm in harms {
        let run = stage.run(quick(400));
        kill_at(&run, 32);
        let newest = *checkpoint::steps(&run).unwrap().last().unwrap();
        let bytes = std::fs::read(run.events()).unwrap();
        harm(&run.events(), bytes.clone());
        let refused = to_the_end(&run, false);
        assert!(String::from_utf8_lossy(&refused.stderr).contains("resume it"), "{refused:?}");
        assert!(to_the_end(&run, true).status.success());
        let history = history(&run);
        assert_eq!(history.started().unwrap().steps, 400);
        let events = std::fs::read(run.events()).unwrap();
        let from = format!("\"from_step\":{newest}}}");
        assert!(String::from_utf8_lossy(&events).contains(&from), "it goes on from {newest}");
        assert_eq!(tensors(&run, 400), tensors(&whole, 400));
        assert!(curve(&run).ends_with(&curve(&whole)[newest as usize..]));
    }
}

#[test]
fn repeats_a_lost_last_evaluation() {
    let stage = Stage::new();
    let run = stage.run(quick(60));
    assert!(to_the_end(&run, false).status.success());
    let evaluated = |run: &RunFolder| history(run).latest_at(MetricId::TEST_LOSS);
    let known = evaluated(&run);
    assert!(matches!(known, Some((60, _))));
    let events = std::fs::read_to_string(run.events()).unwrap();
    let at = events.find("\"step\":40,").unwrap();
    std::fs::write(run.events(), &events[..events[..at].rfind('\n').unwrap() + 1]).unwrap();
    assert_ne!(evaluated(&run), known);
    assert!(to_the_end(&run, true).status.success());
    assert_eq!((status(&run), evaluated(&run)), (Status::Finished, known));
}

#[test]
fn accepts_checkpoints_of_a_config_that_computes_the_same() {
    let stage = Stage::new();
    let run = stage.run(quick(400));
    kill_at(&run, 32);
    let newest = *checkpoint::steps(&run).unwrap().last().unwrap();
    // A comment is added, and the line that holds the original config is lost.
    let config = std::fs::read_to_string(run.config()).unwrap();
    std::fs::write(run.config(), format!("// A comment.\n{config}")).unwrap();
    let events = std::fs::read_to_string(run.events()).unwrap();
    std::fs::write(run.events(), &events[events.find('\n').unwrap() + 1..]).unwrap();
    let check = run.check(false, &PresetConfigs).unwrap();
    assert!(!check.list().iter().any(|found| found.description.contains("another run")), "{:?}", check.list());
    let output = to_the_end(&run, true);
    assert!(output.status.success(), "{output:?}");
    let events = std::fs::read_to_string(run.events()).unwrap();
    assert!(events.contains(&format!("\"from_step\":{newest}}}")), "it goes on from {newest}");
    // Now the events have another hash than the older checkpoints.
    let check = run.check(false, &PresetConfigs).unwrap();
    assert!(!check.list().iter().any(|found| found.description.contains("another run")), "{:?}", check.list());
}

fn origin_in(text: &str) -> CheckpointOrigin {
    let field = |name: &str| text.split(&format!("{name}: \"")).nth(1).unwrap().split('"').next().unwrap().to_owned();
    CheckpointOrigin { data: field("data"), config: field("config"), preset: String::new() }
}

#[test]
fn detects_every_changed_digit_of_a_checkpoint() {
    let stage = Stage::new();
    let run = stage.run(quick(10));
    assert!(to_the_end(&run, false).status.success());
    let step = *checkpoint::steps(&run).unwrap().last().unwrap();
    let path = run.path().join(format!("checkpoint-{step:08}.ron"));
    let text = std::fs::read(&path).unwrap();
    let spec = quick(10);
    let training = MnistRun::new(&spec, &mnist(), Device::Cpu).unwrap();
    let origin = origin_in(std::str::from_utf8(&text).unwrap());
    checkpoint::load(&run, step, None, &origin, &training.state()).unwrap();
    let digits: Vec<usize> = (0..text.len()).filter(|&at| text[at].is_ascii_digit()).collect();
    assert!(digits.len() > 20);
    for at in digits {
        let mut changed = text.clone();
        changed[at] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        let loaded = checkpoint::load(&run, step, None, &origin, &training.state());
        assert!(loaded.is_err(), "{}", String::from_utf8(changed).unwrap());
    }
}

#[test]
fn a_diverging_run_continues_or_stops_by_its_config() {
    let stage = Stage::new();
    let wild = |not_finite| MnistSpec { learning_rate: rate(10.0), not_finite, ..MnistSpec { ..quick(60) } };
    let wild = |not_finite| {
        let spec: MnistSpec = wild(not_finite);
        // Momentum without a sign has no bound.
        MnistSpec { optimizer: self::spec("SGD").optimizer, ..spec }
    };
    let on = stage.run(wild(NotFinite::GoOn));
    assert!(to_the_end(&on, false).status.success());
    let losses: Vec<f64> = history(&on).curve(MetricId::LOSS).value.to_vec();
    assert_eq!(losses.len(), 60);
    assert!(losses.iter().any(|loss| !loss.is_finite()), "{losses:?}");
    assert!(history(&on).warnings().iter().any(|warning| warning.message.contains("diverged")));
    let ended = stage.run(wild(NotFinite::Stop));
    assert!(!to_the_end(&ended, false).status.success());
    assert!(matches!(status(&ended), Status::Failed(message) if message.contains("no longer finite")));
    let step = history(&ended).step();
    assert!(step < 60);
    // Earlier checkpoints are kept, however often the run is resumed.
    let saved = ended.checkpoints().unwrap();
    assert!(saved.last().is_some_and(|newest| *newest < step), "{saved:?} {step}");
    assert!(!to_the_end(&ended, true).status.success());
    assert_eq!((ended.checkpoints().unwrap(), history(&ended).step()), (saved, step));
}

#[test]
fn an_error_names_unreadable_data() {
    let stage = Stage::new();
    let images = stage.data().join("train-images-idx3-ubyte");
    let bytes = std::fs::read(&images).unwrap();
    for (content, expected) in [(Some(&bytes[..1000]), "train-images-idx3-ubyte"), (None, "train-images")] {
        match content {
            Some(content) => std::fs::write(&images, content).unwrap(),
            None => std::fs::remove_file(&images).unwrap(),
        }
        let run = stage.run(quick(10));
        let output = to_the_end(&run, false);
        assert_eq!(output.status.code(), Some(1));
        assert!(matches!(status(&run), Status::Failed(message) if message.contains(expected)));
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected));
    }
}

#[test]
fn resuming_detects_changed_data() {
    let stage = Stage::new();
    let run = stage.run(quick(100_000));
    kill_at(&run, 12);
    stage.change_data();
    let output = to_the_end(&run, true);
    assert!(String::from_utf8_lossy(&output.stderr).contains("other data"), "{output:?}");
}

#[test]
fn points_of_several_steps_are_the_same_after_a_stop_between_them() {
    let stage = Stage::new();
    let spec = MnistSpec {
        log_every: LoggingInterval::new(11).unwrap(),
        checkpoint_every: CheckpointInterval::new(10).unwrap(),
        ..quick(430)
    };
    let [whole, cut] = [stage.run(spec.clone()), stage.run(spec)];
    assert!(to_the_end(&whole, false).status.success());
    kill_at(&cut, 22);
    assert!(checkpoint::steps(&cut).unwrap().last().is_some_and(|step| step % 11 != 0), "it goes on between points");
    assert!(to_the_end(&cut, true).status.success());
    // The last point is at the end.
    assert_eq!(curve(&cut).len(), 40);
    assert_eq!(curve(&cut), curve(&whole));
}

#[test]
fn resuming_removes_half_saved_files_and_tolerates_missing_ones() {
    let stage = Stage::new();
    let run = stage.run(quick(100_000));
    let mut child = worker(&run, false).spawn().unwrap();
    wait_for(&run, &mut child, 25);
    // The disk has space again.
    let oldest = checkpoint::steps(&run).unwrap()[0];
    let _ = std::fs::remove_file(run.path().join(format!("checkpoint-{oldest:08}.safetensors")));
    let step = history(&run).step();
    wait_for(&run, &mut child, step + 25);
    kill(child);
    let left = ["checkpoint-00000003.safetensors", ".valleyscope-abcdef.tmp"].map(|name| run.path().join(name));
    for path in &left {
        std::fs::write(path, "half").unwrap();
    }
    let mut child = worker(&run, true).spawn().unwrap();
    let step = history(&run).step();
    wait_for(&run, &mut child, step + 1);
    kill(child);
    assert!(left.iter().all(|path| !path.exists()));
}

#[test]
fn an_error_names_a_missing_device() {
    let stage = Stage::new();
    let device = valleyscope_experiments::workload::DeviceChoice::Cuda(99);
    let run = stage.run(MnistSpec { device, ..quick(10) });
    assert!(!to_the_end(&run, false).status.success());
    assert!(matches!(status(&run), Status::Failed(message) if message.contains("CUDA device 99")));
}

#[test]
fn the_handshake_has_versions_and_devices() {
    // Without any settings.
    let output = Command::new(WORKER).arg("--handshake").env_clear().output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let handshake: run::Handshake = serde_json::from_str(said.trim()).unwrap();
    assert_eq!((handshake.protocol, &handshake.libtorch[..]), (run::PROTOCOL, "2.11.0"));
    assert_eq!(handshake.devices[0].name, "cpu");
    let found = WorkerProgram::find(Some(Path::new(WORKER))).unwrap().handshake().unwrap();
    assert_eq!(found, handshake);
}

#[cfg(target_os = "linux")]
#[test]
fn threads_spin_briefly_beside_other_work_with_the_same_results() {
    let stage = Stage::new();
    let busy = Arc::new(AtomicBool::new(true));
    let others: Vec<_> = (0..2)
        .map(|_| Arc::clone(&busy))
        .map(|busy| std::thread::spawn(move || while busy.load(Ordering::Relaxed) {}))
        .collect();
    let on_two = |run: &RunFolder| {
        let mut command = worker(run, false);
        command.env("OMP_NUM_THREADS", "2").env("MKL_NUM_THREADS", "2");
        command
    };
    let crowded = stage.run(quick(100_000));
    let mut child = on_two(&crowded).spawn().unwrap();
    let tasks = format!("/proc/{}/task", child.id());
    let has_team = || {
        let names = std::fs::read_dir(&tasks).into_iter().flatten().flatten();
        let mut names = names.map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default());
        names.any(|name| name.trim_end() == "crowded")
    };
    let begun = Instant::now();
    while !has_team() {
        assert!(child.try_wait().unwrap().is_none(), "the worker ended early");
        assert!(begun.elapsed() < Duration::from_secs(120), "it does not notice that the machine is busy");
        std::thread::sleep(Duration::from_millis(50));
    }
    let step = history(&crowded).step();
    wait_for(&crowded, &mut child, step + 60);
    kill(child);
    busy.store(false, Ordering::Relaxed);
    others.into_iter().for_each(|other| other.join().unwrap());

    let newest = *checkpoint::steps(&crowded).unwrap().last().unwrap();
    assert!(newest > step, "a checkpoint from after that");
    let alone = stage.run(quick(newest));
    // With a policy of the user's nothing is adapted.
    assert!(on_two(&alone).env("OMP_WAIT_POLICY", "PASSIVE").status().unwrap().success());
    assert!(tensors(&crowded, newest) == tensors(&alone, newest), "how threads wait changes what they compute");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_and_loses_nothing() {
    let stage = Stage::new();
    let run = stage.run(quick(60));
    // A limit on the size of files simulates a full disk: the first checkpoint does not fit.
    let script = format!("ulimit -f 1000; exec '{WORKER}' run '{}'", run.path().display());
    let output = Command::new("bash").args(["-c", &script]).stdout(Stdio::null()).output().unwrap();
    assert!(!output.status.success());
    let Status::Failed(message) = status(&run) else { panic!("{:?}", status(&run)) };
    says(&message, &["the disk is full", "checkpoint-00000010", "make room and resume"]);
    assert!(checkpoint::steps(&run).unwrap().is_empty());
    let whole = stage.run(quick(60));
    for (run, resume) in [(&run, true), (&whole, false)] {
        assert!(to_the_end(run, resume).status.success());
    }
    assert_eq!(curve(&run), curve(&whole));
}

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
