//! Runs of GPT-2 by the worker's program: kills, text on command, half precision, refused data.

use std::process::Command;

use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::gpt2::{CLIP_RATE, LOSS_SCALE, MOMENTUM_NORM, PARAM_NORM, SKIPPED};
use valleyscope_runs::{self as run, MetricId, RunFolder, Status};

use crate::faults::{Stage, curve, history, kill, kill_at, status, tensors, to_the_end, wait_for, wait_until, worker};

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
