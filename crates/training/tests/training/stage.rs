//! The stage of the tests: small data, runs on them, and the programs that train them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{CheckpointInterval, LearningRate, LoggingInterval, TrainingSteps};
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::dataset::mnist::{Digits, Mnist, MnistSource};
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::{DeviceChoice, MnistPreset, MnistSpec};
use valleyscope_runs::{MetricId, RunFolder, RunHistory, RunReader, Status, Timestamp};

pub const WORKER: &str = env!("CARGO_BIN_EXE_valleyscope-train");

/// Returns the path of `valleyscope`, which cargo builds into the same folder as the worker when it tests the
/// workspace.
pub fn valleyscope_program() -> PathBuf {
    let path = PathBuf::from(WORKER).with_file_name(format!("valleyscope{}", std::env::consts::EXE_SUFFIX));
    assert!(
        path.is_file(),
        "build {} first, with `cargo build --bin valleyscope`, or test the whole workspace",
        path.display()
    );
    path
}

/// Returns a number from [0, 1) for a counter, uniformly distributed.
pub fn uniform(counter: u64) -> f64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Draws ten noisy patterns of bright pixels; some pixels are always dark, as in MNIST.
pub fn digits(count: usize, seed: u64) -> Digits {
    let labels: Vec<u8> = (0..count).map(|image| (image * 7 % 10) as u8).collect();
    let pixel = |image: usize, pixel: usize| {
        let pattern = uniform(u64::from(labels[image]) * 784 + pixel as u64) < 0.3;
        let noise = uniform(seed.wrapping_mul(1 << 40) + (image * 784 + pixel) as u64);
        match pixel % 28 {
            0 | 27 => 0,
            _ if pattern => (100.0 + 155.0 * noise) as u8,
            _ if noise < 0.15 => (255.0 * noise / 0.15) as u8,
            _ => 0,
        }
    };
    let images = (0..count).flat_map(|image| (0..784).map(move |at| (image, at))).map(|(image, at)| pixel(image, at));
    Digits { images: images.collect(), labels }
}

pub fn mnist() -> Mnist {
    Mnist { train: digits(1000, 1), test: digits(200, 2), source: MnistSource::Synthetic }
}

pub fn write(folder: &Path) {
    let Mnist { train, test, .. } = mnist();
    for (name, Digits { images, labels }) in [("train", train), ("t10k", test)] {
        let count = (labels.len() as u32).to_be_bytes();
        let side = 28_u32.to_be_bytes();
        let head = [&[0, 0, 8, 3][..], &count, &side, &side].concat();
        std::fs::write(folder.join(format!("{name}-images-idx3-ubyte")), [&head[..], &images].concat()).unwrap();
        let head = [&[0, 0, 8, 1][..], &count].concat();
        std::fs::write(folder.join(format!("{name}-labels-idx1-ubyte")), [&head[..], &labels].concat()).unwrap();
    }
}

pub fn rate(rate: f64) -> LearningRate {
    LearningRate::new(rate).unwrap()
}

/// Returns a run on the processor, with the rule of this name.
pub fn spec(rule: &str) -> MnistSpec {
    let mnist = &built_ins().iter().find(|built_in| built_in.name == "mnist").unwrap().preset;
    let Preset::Mnist(MnistPreset { runs, .. }) = mnist else { panic!("mnist is no training of MNIST") };
    let optimizer = RuleSpec::in_training(RuleKind::named(rule).unwrap());
    MnistSpec { device: DeviceChoice::Cpu, optimizer, ..runs[0].clone() }
}

/// Returns the text of a run's config on the data in a folder.
pub fn config(spec: MnistSpec, data: PathBuf) -> String {
    let spec = MnistSpec { data: DataChoice::Folder(data.to_str().unwrap().to_owned()), ..spec };
    let preset = MnistPreset {
        version: valleyscope_experiments::preset::FormatVersion,
        title: "A small training".to_owned(),
        description: String::new(),
        runs: vec![spec],
    };
    Preset::Mnist(preset).to_ron()
}

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
    pub fn change_data(&self) {
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

/// Begins a run of a very small model on generated text, with further settings.
pub fn tiny(stage: &Stage, settings: &[(&str, &str)]) -> RunFolder {
    let built_in = built_ins().iter().find(|built_in| built_in.name == "gpt2-shakespeare").unwrap();
    let shape = "(layers: 2, heads: 2, width: 32, context: 32, vocabulary: 128)";
    let usual = [
        ("shape", shape),
        ("data", "Synthetic"),
        ("device", "Cpu"),
        ("batch_size", "4"),
        ("accumulation", "2"),
        ("schedule.warmup", "5"),
        ("steps", "60"),
        ("log_every", "3"),
        ("eval_every", "20"),
        ("eval_batches", "2"),
        ("checkpoint_every", "10"),
        ("sample", "(every: 20, tokens: 8, temperature: 1.0)"),
    ];
    let set = |preset: Preset, (path, value): &(&str, &str)| preset.with(path, value).unwrap();
    let preset = usual.iter().chain(settings).fold(built_in.preset.clone(), set);
    RunFolder::create(&stage.place.path().join("runs"), "gpt2", &preset.to_ron()).unwrap()
}

pub fn train(stage: &Stage, args: &[&str]) -> Output {
    let runs = stage.place.path().join("runs");
    let usual = ["train", "--worker", WORKER, "--runs", runs.to_str().unwrap()];
    valleyscope(stage, &[&usual[..], args].concat())
}

/// Returns the runs whose names begin with `stem`, in order.
pub fn named(stage: &Stage, stem: &str) -> Vec<RunFolder> {
    let mut runs = RunFolder::list(&stage.place.path().join("runs")).unwrap();
    runs.retain(|run| run.name().starts_with(stem));
    runs.sort_by_key(RunFolder::name);
    runs
}
