//! The worker's program when it is stopped or killed, or lacks resources.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tch::Device;
use tempfile::TempDir;
use valleyscope_engine::quantity::{CheckpointInterval, LoggingInterval, TrainingSteps};
use valleyscope_experiments::run::PresetConfigs;
use valleyscope_experiments::workload::{MnistSpec, NotFinite};
use valleyscope_runs::{self as run, MetricId, RunFolder, RunHistory, RunReader, Status, Timestamp, WorkerProgram};
use valleyscope_training::mnist::MnistRun;
use valleyscope_training::{CheckpointOrigin, Training, checkpoint};

use crate::programs::{WORKER, valleyscope_program};
use crate::small_mnist::{config, mnist, rate, spec, uniform, write};

/// A folder with data and runs.
pub struct Stage {
    pub place: TempDir,
}

impl Stage {
    pub fn new() -> Stage {
        let place = tempfile::tempdir().unwrap();
        let data = place.path().join("data");
        std::fs::create_dir(&data).unwrap();
        write(&data);
        Stage { place }
    }

    pub fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }

    /// Changes the label of the last image.
    fn change_data(&self) {
        let labels = self.data().join("train-labels-idx1-ubyte");
        let mut bytes = std::fs::read(&labels).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&labels, bytes).unwrap();
    }

    pub fn run(&self, spec: MnistSpec) -> RunFolder {
        RunFolder::create(&self.place.path().join("runs"), "test", &config(spec, self.data())).unwrap()
    }
}

pub fn quick(steps: u64) -> MnistSpec {
    MnistSpec {
        steps: TrainingSteps::new(steps).unwrap(),
        checkpoint_every: CheckpointInterval::new(10).unwrap(),
        log_every: LoggingInterval::new(1).unwrap(),
        ..spec("FOCUS")
    }
}

pub fn worker(run: &RunFolder, resume: bool) -> Command {
    let mut command = Command::new(WORKER);
    command.arg("run").arg(run.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    // Sums over many threads depend on their number.
    command.env("OMP_NUM_THREADS", "1").env("MKL_NUM_THREADS", "1");
    if resume {
        command.arg("--resume");
    }
    command
}

pub fn to_the_end(run: &RunFolder, resume: bool) -> Output {
    worker(run, resume).output().unwrap()
}

/// Runs the program, with a stage's folder as the user's.
pub fn valleyscope(stage: &Stage, args: &[&str]) -> Output {
    let mut command = Command::new(valleyscope_program());
    command.env("HOME", stage.place.path()).env("XDG_DATA_HOME", stage.place.path()).args(args);
    command.env("OMP_NUM_THREADS", "1").env("MKL_NUM_THREADS", "1").output().unwrap()
}

/// Checks the exit code, and words on either output.
#[track_caller]
pub fn expect(output: &Output, code: i32, said: &[&str]) {
    let all = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(code), "{all}");
    for words in said {
        assert!(all.contains(words), "no {words:?} in {all}");
    }
}

/// Kills a worker.
pub fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

pub fn history(run: &RunFolder) -> RunHistory {
    let mut reader = RunReader::new(run.clone());
    reader.poll().unwrap();
    reader.history().clone()
}

pub fn status(run: &RunFolder) -> Status {
    RunReader::new(run.clone()).status(Timestamp::now()).unwrap()
}

/// Waits until the run has reached a step.
pub fn wait_for(run: &RunFolder, child: &mut Child, step: u64) {
    wait_until(run, child, |history| history.step() >= step);
}

/// Waits until the run's events meet a condition. A worker may be slow, on a busy machine, but must make progress.
pub fn wait_until(run: &RunFolder, child: &mut Child, say: impl Fn(&RunHistory) -> bool) {
    let mut progress = (0, Instant::now());
    let mut reader = RunReader::new(run.clone());
    while !say(reader.history()) {
        let ended = child.try_wait().unwrap().is_some();
        reader.poll().unwrap();
        assert!(!ended || say(reader.history()), "the worker ended early: {:?}", reader.history().last());
        let length = std::fs::metadata(run.events()).map_or(0, |events| events.len());
        if length != progress.0 {
            progress = (length, Instant::now());
        }
        assert!(progress.1.elapsed() < Duration::from_secs(300), "the worker does not get on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Begins a run, and kills its worker at a step.
pub fn kill_at(run: &RunFolder, step: u64) {
    let mut child = worker(run, false).spawn().unwrap();
    wait_for(run, &mut child, step);
    kill(child);
}

/// Returns steps and losses of the training curve, as bits.
pub fn curve(run: &RunFolder) -> Vec<(u64, u64)> {
    let history = history(run);
    let curve = history.curve(MetricId::LOSS);
    curve.step.iter().copied().zip(curve.value.iter().map(|loss| loss.to_bits())).collect()
}

pub fn tensors(run: &RunFolder, step: u64) -> Vec<u8> {
    std::fs::read(run.path().join(format!("checkpoint-{step:08}.safetensors"))).unwrap()
}

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
fn two_workers_never_train_one_run() {
    let stage = Stage::new();
    let run = stage.run(quick(100_000));
    let mut first = worker(&run, false).spawn().unwrap();
    wait_for(&run, &mut first, 2);
    let second = to_the_end(&run, true);
    assert!(!second.status.success());
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("already being trained"), "{said}");
    assert!(first.try_wait().unwrap().is_none());
    first.kill().unwrap();
    first.wait().unwrap();
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

/// Returns the origin recorded in a checkpoint's text.
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
    checkpoint::load(&run, step, &origin, &training.state()).unwrap();
    let digits: Vec<usize> = (0..text.len()).filter(|&at| text[at].is_ascii_digit()).collect();
    assert!(digits.len() > 20);
    for at in digits {
        let mut changed = text.clone();
        changed[at] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        let loaded = checkpoint::load(&run, step, &origin, &training.state());
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

/// Returns a scan of eight grid points, so small that each takes an instant.
pub fn scan(stage: &Stage) -> RunFolder {
    let folder = ron::to_string(stage.data().to_str().unwrap()).unwrap();
    let text = format!(
        r#"MnistScan(version: 1, title: "A small scan", scan: (
            optimizers: [(rule: Adam()), (rule: Signum())], batch_sizes: [8, 16, 32, 64],
            learning_rates: (from: 0.001, to: 0.01, count: 2), replicates: 2, steps: 40, device: Cpu,
            data: Folder({folder}),
        ))"#
    );
    RunFolder::create(&stage.place.path().join("runs"), "scan", &text).unwrap()
}

/// Returns the grid points in order, with their losses as bits.
pub fn points(run: &RunFolder) -> Vec<([usize; 2], u64, Vec<u64>)> {
    let bits = |losses: &[Vec<f64>]| losses.concat().iter().map(|loss| loss.to_bits()).collect();
    let history = history(run);
    let mut points: Vec<_> = history.grid_points().map(|it| (it.index, it.done, bits(&it.test_loss))).collect();
    points.sort_unstable();
    points
}

#[test]
fn a_scan_resumes_with_its_next_point() {
    let stage = Stage::new();
    let [whole, cut] = [scan(&stage), scan(&stage)];
    assert!(to_the_end(&whole, false).status.success());
    let expected = points(&whole);
    assert_eq!(expected.len(), 8);
    kill_at(&cut, 1);
    assert!(!points(&cut).is_empty());
    let mut child = worker(&cut, true).spawn().unwrap();
    run::send(&cut, run::RunCommand::Stop).unwrap();
    assert!(child.wait().unwrap().success());
    let ended = to_the_end(&cut, true);
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(status(&cut), Status::Finished);
    assert_eq!(points(&cut), expected);

    // With an unreadable line, that grid point and those after it are trained again.
    let events = std::fs::read_to_string(cut.events()).unwrap();
    let damaged = events.replacen(r#""event":"grid_point","step":2"#, r#""event":"gr"#, 1);
    assert_ne!(damaged, events);
    std::fs::write(cut.events(), damaged).unwrap();
    assert!(to_the_end(&cut, true).status.success());
    assert_eq!(points(&cut), expected);
}

#[test]
fn a_scan_resumes_only_with_the_same_data() {
    let stage = Stage::new();
    let run = scan(&stage);
    kill_at(&run, 1);
    stage.change_data();
    let output = to_the_end(&run, true);
    assert!(String::from_utf8_lossy(&output.stderr).contains("other data"), "{output:?}");
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
    for part in ["the disk is full", "checkpoint-00000010", "make room and resume"] {
        assert!(message.contains(part), "expected {part} in {message}");
    }
    assert!(checkpoint::steps(&run).unwrap().is_empty());
    let whole = stage.run(quick(60));
    for (run, resume) in [(&run, true), (&whole, false)] {
        assert!(to_the_end(run, resume).status.success());
    }
    assert_eq!(curve(&run), curve(&whole));
}
