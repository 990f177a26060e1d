//! Every rule in a training of every workload, begun by `valleyscope train`.

use std::fs::{self, File};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use valleyscope_engine::optimizer::{RuleInfo, RuleKind};
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_runs::{MetricId, RunFolder, Status};

use crate::faults::{Stage, expect, history, kill, status};
use crate::programs::{WORKER, valleyscope_program};
use crate::scan_parts::named;

/// The number of steps: it includes the second point of MNIST's curve with the costlier metrics, the first of GPT-2's,
/// and the tenth step, in which rules with periodic computations do them by default.
const STEPS: u64 = 11;

/// The time after which a run, of some seconds, counts as hanging, even on a busy processor.
const LIMIT: Duration = Duration::from_secs(300);

/// Settings that make a preset's run short, with the preset's metrics.
const SHORT: [(&str, &[(&str, &str)]); 2] = [
    ("mnist", &[("batch_size", "32")]),
    (
        "gpt2-shakespeare",
        &[
            ("data", "Synthetic"),
            ("shape.vocabulary", "128"),
            ("schedule.warmup", "2"),
            ("batch_size", "4"),
            ("eval_batches", "1"),
            ("sample.tokens", "4"),
        ],
    ),
];

/// A rule in a preset, with its description.
struct Asked {
    preset: &'static str,
    rule: String,
    info: &'static RuleInfo,
}

#[test]
fn every_rule_trains_every_workload_with_its_defaults() {
    let mut rules: Vec<(String, &RuleInfo)> =
        RuleKind::ALL.iter().map(|kind| (kind.key().to_owned(), kind.info())).collect();
    rules.push(typed_rule());
    let asked = SHORT
        .iter()
        .flat_map(|(preset, _)| rules.iter().map(move |(rule, info)| Asked { preset, rule: rule.clone(), info }));
    let asked: Mutex<Vec<Asked>> = Mutex::new(asked.collect());
    let next = || asked.lock().unwrap().pop();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| std::iter::from_fn(next).for_each(|asked| trains(&asked)));
        }
    });
}

/// Returns the typed rule of the built-in preset that has one.
fn typed_rule() -> (String, &'static RuleInfo) {
    let own_rule = built_ins().iter().find(|built_in| built_in.name == "own-rule").unwrap();
    let Preset::Landscape(preset) = &own_rule.preset else { panic!("it is no landscape") };
    let mut kinds = preset.spec().optimizers.iter().map(|optimizer| optimizer.rule.rule.kind());
    let typed = kinds.find_map(RuleKind::typed).unwrap();
    (format!("Typed(name: {:?}, text: {:?})", typed.name(), typed.text()), typed.info())
}

/// Trains a preset with a rule, in a folder of its own, and checks the logged metrics.
fn trains(Asked { preset, rule, info }: &Asked) {
    let stage = Stage::new();
    let (data, steps) = (stage.data(), STEPS.to_string());
    let (_, short) = SHORT.iter().find(|(name, _)| name == preset).unwrap();
    let settings = [("optimizer", rule.as_str()), ("steps", &steps), ("device", "cpu")];
    let settings: Vec<String> =
        settings.iter().chain(*short).map(|(key, value)| format!("--set={key}={value}")).collect();
    let mut args = vec![*preset];
    if *preset == "mnist" {
        args.extend(["--data", data.to_str().unwrap()]);
    }
    args.extend(settings.iter().map(String::as_str));
    let output = train_in_time(&stage, &args);
    let runs = named(&stage, preset);
    let log = runs.first().and_then(|run| fs::read_to_string(run.log()).ok()).unwrap_or_default();
    assert!(output.status.success(), "{preset}, {rule}: {}\n{log}", String::from_utf8_lossy(&output.stderr));
    expect(&output, 0, &["finished"]);
    let [run] = &runs[..] else { panic!("{} runs", runs.len()) };
    let history = history(run);
    assert_eq!((status(run), history.step()), (Status::Finished, STEPS), "{preset}, {rule}");
    let losses = history.curve(MetricId::LOSS).value;
    assert!(!losses.is_empty() && losses.iter().all(|loss| loss.is_finite()), "{preset}, {rule}: {losses:?}");
    // The costlier metrics: updates of layers, and the rule's observed quantity.
    let logged = &history.started().unwrap().metrics;
    let observed = info.observed.map(|observed| observed.metric);
    let costlier =
        |name: &str| name.starts_with("update_ratio.") || observed.is_some_and(|metric| name.starts_with(metric));
    let costlier: Vec<MetricId> =
        logged.iter().filter(|info| costlier(&info.name)).map(|info| info.metric().unwrap()).collect();
    let seen = costlier.iter().filter(|metric| metric.name().starts_with("update_ratio."));
    assert!(seen.count() > 3, "{preset}, {rule}: {costlier:?}");
    for metric in costlier {
        let value = history.latest(metric);
        assert!(value.is_some_and(f64::is_finite), "{preset}, {rule}: {metric} is {value:?}");
    }
}

/// Runs `valleyscope train` on one thread, and ends it and its worker if it hangs.
fn train_in_time(stage: &Stage, args: &[&str]) -> Output {
    let place = stage.place.path();
    let [out, err] = ["stdout", "stderr"].map(|name| place.join(name));
    let mut command = Command::new(valleyscope_program());
    command.args(["train", "--worker", WORKER]);
    command.arg("--runs").arg(place.join("runs")).args(args).env("HOME", place).env("XDG_DATA_HOME", place);
    command.env("OMP_NUM_THREADS", "1").env("MKL_NUM_THREADS", "1").stdin(Stdio::null());
    command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Output { status, stdout: fs::read(&out).unwrap(), stderr: fs::read(&err).unwrap() };
        }
        if begun.elapsed() > LIMIT {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(child);
    let logs: Vec<String> = named(stage, "").iter().map(end_worker).collect();
    let said = fs::read_to_string(&err).unwrap();
    panic!("{args:?} has not ended within {LIMIT:?}, and was killed: {said}\n{}", logs.concat());
}

/// Kills the worker of a run, which outlives the program that started it, and returns its log.
fn end_worker(run: &RunFolder) -> String {
    if let Status::Running(Some(worker)) = status(run) {
        Command::new("kill").args(["-KILL", &worker.pid.to_string()]).status().unwrap();
    }
    fs::read_to_string(run.log()).unwrap_or_default()
}
