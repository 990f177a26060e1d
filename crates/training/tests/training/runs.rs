//! Runs by the programs: every rule in a training of every workload, the bits of an earlier version, and runs of GPT-2.

use std::fs::{self, File};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use valleyscope_engine::optimizer::{RuleInfo, RuleKind};
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::gpt2::{CLIP_RATE, LOSS_SCALE, MOMENTUM_NORM, PARAM_NORM, SKIPPED};
use valleyscope_runs as run;
use valleyscope_runs::{MetricId, RunFolder, Status};

use crate::golden_bytes::expect_same_bytes;
use crate::left_out::left_out;
use crate::stage::{
    Stage, WORKER, curve, expect, history, kill, kill_at, named, status, tensors, tiny, to_the_end, valleyscope,
    valleyscope_program, wait_for, wait_until, worker,
};

/// The number of steps: it includes the second point of MNIST's curve with the costlier metrics, the first of GPT-2's,
/// and the tenth step, in which rules with periodic computations do them by default.
const STEPS: u64 = 11;

/// The time after which a run, of some seconds, counts as hanging, even on a busy processor.
const LIMIT: Duration = Duration::from_secs(300);

/// Settings that make a preset's run short, with the preset's metrics.
const SHORT: [(&str, &[(&str, &str)]); 2] = [
    ("mnist", &[("batch_size", "32"), ("measure_every", "5")]),
    (
        "gpt2-shakespeare",
        &[
            ("data", "Synthetic"),
            ("shape.vocabulary", "128"),
            ("schedule.warmup", "2"),
            ("batch_size", "4"),
            ("eval_batches", "1"),
            ("sample.tokens", "4"),
            ("measure_every", "5"),
        ],
    ),
];

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

/// The processor in the first line that is no comment, then commands and the checksums of their checkpoints' tensors.
const GOLDEN: &str = include_str!("data/bytes.txt");

/// Returns the name, family and model of the processor, which identify its kind.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim())
    };
    format!("{}, family {}, model {}", value("model name"), value("cpu family"), value("model"))
}

#[test]
fn trainings_compute_the_bits_of_before() {
    let golden_processor = GOLDEN.lines().find(|line| !line.starts_with('#')).unwrap();
    if processor() != golden_processor {
        let why = format!("on {}, libtorch's products have other bits than on {golden_processor}", processor());
        return left_out("training::bytes", &why);
    }
    let (_, golden) = GOLDEN.split_once(&format!("\n{golden_processor}\n")).unwrap();
    let stage = Stage::new();
    let runs = stage.place.path().join("runs");
    let run = |command: &str| {
        let usual = ["--worker", WORKER, "--runs", runs.to_str().unwrap()];
        let all: Vec<&str> = command.split(' ').chain(usual).collect();
        expect(&valleyscope(&stage, &all), 0, &["finished"]);
    };
    expect_same_bytes(golden, run, |command, file| {
        let preset = command.split(' ').nth(1).unwrap();
        let [run] = &named(&stage, preset)[..] else { panic!("expected one run of {preset}") };
        run.path().join(file)
    });
}

#[test]
fn a_killed_run_of_gpt2_resumes_bit_for_bit() {
    go_on_after_kills(&[]);
    // In float16 the scale of the loss and the counts between points of the curve continue too.
    go_on_after_kills(&[("precision", "Float16"), ("clip", "0.5"), ("log_every", "7")]);
}

/// Queries to a batch, and steps over matrices, are the same after a kill.
#[test]
fn a_killed_run_with_a_rule_that_is_not_element_wise_resumes_bit_for_bit() {
    go_on_after_kills(&[("optimizer", "Mars(form: Exact)"), ("clip", "0.5")]);
    go_on_after_kills(&[("optimizer", "Sophia(interval: 4)")]);
    go_on_after_kills(&[("optimizer", "Muon"), ("learning_rate", "0.02")]);
}

pub fn go_on_after_kills(settings: &[(&str, &str)]) {
    let stage = Stage::new();
    let whole = tiny(&stage, settings);
    assert!(to_the_end(&whole, false).status.success());
    assert_eq!(status(&whole), Status::Finished);
    let killed = tiny(&stage, settings);
    kill_at(&killed, 14);
    let mut child = worker(&killed, true).spawn().unwrap();
    wait_for(&killed, &mut child, 35);
    kill(child);
    assert!(to_the_end(&killed, true).status.success());
    assert_eq!(curve(&killed), curve(&whole));
    for metric in [MetricId::GRAD_NORM, MOMENTUM_NORM, CLIP_RATE, LOSS_SCALE, SKIPPED, MetricId::VAL_LOSS] {
        let bits = |run: &RunFolder| -> Vec<u64> {
            history(run).curve(metric).value.iter().map(|value| value.to_bits()).collect()
        };
        assert_eq!(bits(&killed), bits(&whole), "{metric}");
    }
    assert_eq!(tensors(&killed, 60), tensors(&whole, 60));
    let texts = |run: &RunFolder| -> Vec<(u64, String)> {
        history(run).samples().iter().map(|sample| (sample.step, sample.text.clone())).collect()
    };
    assert_eq!(texts(&killed), texts(&whole));
    assert_eq!(texts(&whole).iter().map(|(step, _)| *step).collect::<Vec<_>>(), [20, 40, 60]);
    // It has learned something, and describes its metrics.
    let losses = history(&whole).curve(MetricId::VAL_LOSS).value.to_vec();
    assert!(losses.len() == 3 && losses[2] < losses[0] && losses[0] < 128_f64.ln(), "{losses:?}");
    let started = history(&whole).started().unwrap().clone();
    assert!(started.synthetic && started.tokens_per_step == Some(256));
    assert!(started.metrics.iter().any(|info| info.metric() == Some(PARAM_NORM)));
    assert!(history(&whole).latest(PARAM_NORM).is_some_and(|norm| norm > 0.0));
}

#[test]
fn the_learning_rate_follows_the_schedule() {
    let stage = Stage::new();
    let run = tiny(&stage, &[("log_every", "1"), ("steps", "25")]);
    assert!(to_the_end(&run, false).status.success());
    let history = history(&run);
    let rates = history.curve(MetricId::LEARNING_RATE).value;
    for (update, &rate) in rates.iter().enumerate() {
        // By hand: peak 1e-3, at the end 1e-4, a warm-up of 5 of 25 updates.
        let expected = match update {
            0..5 => 1e-3 * update as f64 / 5.0,
            _ => 1e-4 + 0.5 * 9e-4 * (1.0 + (std::f64::consts::PI * (update as f64 - 5.0) / 20.0).cos()),
        };
        assert!((rate - expected).abs() < 1e-15, "{update}: {rate} {expected}");
    }
}

#[test]
fn a_sample_every_0_steps_is_none() {
    let stage = Stage::new();
    let run = tiny(&stage, &[("sample.every", "0"), ("steps", "5")]);
    assert!(to_the_end(&run, false).status.success());
    assert!(history(&run).samples().is_empty());
}

#[test]
fn writes_text_on_command() {
    let stage = Stage::new();
    let run = tiny(&stage, &[("steps", "1000000"), ("sample.every", "1000000")]);
    let mut child = worker(&run, false).spawn().unwrap();
    wait_for(&run, &mut child, 3);
    let sample = |prompt: &str| {
        let request = run::TextRequest { prompt: prompt.into(), tokens: 5, temperature: 0.0, top_k: None };
        run::RunCommand::Sample(request)
    };
    let good = run::send(&run, sample("the ")).unwrap();
    let bad = run::send(&run, sample("€")).unwrap();
    wait_until(&run, &mut child, |history| history.answers().len() == 2);
    run::send(&run, run::RunCommand::Stop).unwrap();
    assert!(child.wait().unwrap().success());
    let history = history(&run);
    let [text] = history.samples() else { panic!("{:?}", history.samples()) };
    assert!(text.text.starts_with("the ") && text.text.chars().count() == 9, "{}", text.text);
    let answer = |id: &str| history.answers().iter().find(|answer| answer.id == id).unwrap().clone();
    assert!(answer(&good).ok && !answer(&bad).ok);
    assert!(answer(&bad).message.contains('€'), "{}", answer(&bad).message);
}

#[test]
fn a_stop_interrupts_long_work() {
    let shape = "(layers: 4, heads: 4, width: 128, context: 256, vocabulary: 128)";
    // Far more work than a test may wait for, after so many steps.
    let works = [
        ("a step", [("accumulation", "65536"), ("eval_batches", "1")], 0),
        ("an evaluation", [("eval_every", "1"), ("eval_batches", "10000")], 1),
        ("a text", [("sample", "(every: 1, tokens: 10000, temperature: 1.0)"), ("eval_batches", "1")], 1),
    ];
    for (what, settings, steps) in works {
        let stage = Stage::new();
        let run = tiny(&stage, &[&[("shape", shape), ("log_every", "1")], &settings[..]].concat());
        let mut child = worker(&run, false).spawn().unwrap();
        wait_until(&run, &mut child, |history| history.started().is_some() && history.step() == steps);
        let stop = run::send(&run, run::RunCommand::Stop).unwrap();
        wait_until(&run, &mut child, |history| history.answers().iter().any(|answer| answer.id == stop));
        assert!(child.wait().unwrap().success(), "{what}");
        let history = history(&run);
        assert_eq!(history.answers()[0].message, format!("stopped after step {steps}"), "{what}");
        assert_eq!((status(&run), history.step()), (Status::Stopped, steps), "{what}");
        // A resumed run receives it too, here as a signal.
        let mut child = worker(&run, true).spawn().unwrap();
        wait_until(&run, &mut child, |history| history.sessions() == 2);
        if cfg!(unix) {
            Command::new("kill").arg(child.id().to_string()).status().unwrap();
        } else {
            run::send(&run, run::RunCommand::Stop).unwrap();
        }
        assert!(child.wait().unwrap().success(), "{what}");
        assert_eq!(status(&run), Status::Stopped, "{what}");
    }
}

#[test]
fn float16_scales_the_loss_and_skips_overflowing_steps() {
    let stage = Stage::new();
    let run = tiny(&stage, &[("precision", "Float16"), ("attention", "Explicit"), ("steps", "20")]);
    assert!(to_the_end(&run, false).status.success());
    let [scale, skipped] = [LOSS_SCALE, SKIPPED].map(|metric| history(&run).latest(metric).unwrap());
    assert_eq!(scale, 65536.0 / 2_f64.powf(skipped));
    assert!(history(&run).latest(MetricId::VAL_LOSS).is_some_and(|loss| loss < 128_f64.ln()));
    assert_eq!(history(&run).started().unwrap().precision, "float16");
}

#[test]
fn refuses_data_with_more_tokens_than_the_vocabulary() {
    let stage = Stage::new();
    let run = tiny(&stage, &[("shape.vocabulary", "3")]);
    let output = to_the_end(&run, false);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("`shape.vocabulary` is 3; set it to"), "{said}");
}
