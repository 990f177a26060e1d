//! Settings that are changed while a run trains: the same bits after a kill, and as in forks with the same settings.

use std::fs;
use std::process::Child;

use valleyscope_engine::quantity::{CheckpointInterval, EvaluationInterval, KeepInterval};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::{Fork, PresetConfigs};
use valleyscope_experiments::workload::{FloatType, MnistSpec};
use valleyscope_runs as run;
use valleyscope_runs::{Event, MarkKind, MetricId, RunCommand, RunFolder};
use valleyscope_training::checkpoint;

use crate::ranks::{divided, losses, together};
use crate::stage::{
    Stage, curve, expect, history, kill, quick, tensors, tiny, to_the_end, valleyscope, wait_for, wait_until, worker,
};

/// Sends a change of settings to a worker; returns the step after which it was made, or the refusal.
fn change(run: &RunFolder, child: &mut Child, settings: &[(&str, f64)]) -> Result<u64, String> {
    let settings = settings.iter().map(|(path, value)| ((*path).to_owned(), *value)).collect();
    let id = run::send(run, RunCommand::Set { settings }).unwrap();
    wait_until(run, child, |history| history.answers().iter().any(|answer| answer.id == id));
    let history = history(run);
    let answer = history.answers().iter().find(|answer| answer.id == id).unwrap();
    if answer.ok { Ok(history.changes().last().unwrap().0) } else { Err(answer.message.clone()) }
}

/// Forks a run, with settings on top of the config that it began with.
fn by_hand(run: &RunFolder, step: u64, settings: &[(&str, &str)]) -> RunFolder {
    let training = settings
        .iter()
        .fold(Preset::read(&run.config()).unwrap(), |training, (path, value)| training.with(path, value).unwrap());
    let fork = Fork { run: run.clone(), step: Some(step) };
    fork.create(run.path().parent().unwrap(), "fork", &training).unwrap().0
}

/// A run that keeps all of its checkpoints, and lasts long enough for commands to arrive.
fn keeping(steps: u64) -> MnistSpec {
    let (keep_every, checkpoint_every) = (KeepInterval::new(1).ok(), CheckpointInterval::new(50).unwrap());
    let eval_every = EvaluationInterval::new(1000).unwrap();
    MnistSpec { keep_every, checkpoint_every, eval_every, ..quick(steps) }
}

#[test]
fn a_changed_run_of_mnist_continues_as_forks_with_these_settings_also_after_kills() {
    let stage = Stage::new();
    let run = stage.run(keeping(700));
    let mut child = worker(&run, false).spawn().unwrap();
    wait_for(&run, &mut child, 5);
    let first = change(&run, &mut child, &[("optimizer.gamma", 0.4), ("learning_rate", 0.003)]).unwrap();
    wait_for(&run, &mut child, first + 4);
    let second = change(&run, &mut child, &[("batch_size", 64.0), ("optimizer.weight_decay", 0.1)]).unwrap();
    // The last checkpoint is that before the change.
    kill(child);
    for _ in 0..2 {
        let mut child = worker(&run, true).spawn().unwrap();
        wait_for(&run, &mut child, history(&run).step() + 15);
        kill(child);
    }
    assert!(to_the_end(&run, true).status.success());

    let end = second.to_string();
    let between = by_hand(&run, first, &[("optimizer.gamma", "0.4"), ("learning_rate", "0.003"), ("steps", &end)]);
    assert!(to_the_end(&between, true).status.success());
    let after = [("batch_size", "64"), ("optimizer.weight_decay", "0.1"), ("steps", "700")];
    let rest = by_hand(&between, second, &after);
    assert!(to_the_end(&rest, true).status.success());
    assert_eq!(curve(&run), curve(&rest));
    assert_eq!(tensors(&run, 700), tensors(&rest, 700));

    // A fork of the run itself has the settings in force after its step.
    for (step, expected) in [(first, 0.4), (second, 0.4)] {
        let fork = Fork { run: run.clone(), step: Some(step) };
        let training = fork.training().unwrap();
        let common = training.training().unwrap();
        assert_eq!(common.rule.get("gamma"), Some(expected));
        assert_eq!(common.batch_size, if step == second { 64 } else { 128 });
        assert!(training.title().contains("0.003"), "{}", training.title());
    }
    let late = checkpoint::steps(&run).unwrap().into_iter().find(|step| *step > second + 5).unwrap();
    let fork = Fork { run: run.clone(), step: Some(late) };
    let (fork, _) = fork.create(run.path().parent().unwrap(), "late", &fork.training().unwrap()).unwrap();
    assert!(to_the_end(&fork, true).status.success());
    assert_eq!(tensors(&fork, 700), tensors(&run, 700));

    let marks = history(&run).marks();
    let words = |kind| -> Vec<String> {
        marks.iter().filter(|mark| mark.kind == kind).map(|mark| format!("{} {}", mark.step, mark.label)).collect()
    };
    let expected = [
        format!("{first} γ 0.2 → 0.4"),
        format!("{first} η 0.001 → 0.003"),
        format!("{second} ω 0.01 → 0.1"),
        format!("{second} batch size 128 → 64"),
    ];
    assert_eq!(words(MarkKind::Changed), expected);
    assert_eq!(words(MarkKind::Resumed).len(), 3);
    // The run may have been resumed after the fork's checkpoint, too.
    let before = marks.iter().filter(|mark| mark.step < late).count();
    assert!(history(&fork).marks().len() > before, "those of the run before, and the fork");
    assert!(run.check(false, &PresetConfigs).unwrap().is_intact());
}

#[test]
fn a_changed_run_of_gpt2_continues_as_a_fork_with_these_settings() {
    let stage = Stage::new();
    let long = [("steps", "400"), ("checkpoint_every", "50"), ("eval_every", "100"), ("sample.every", "100")];
    let run = tiny(&stage, &[&long[..], &[("keep_every", "1"), ("clip", "0.5")]].concat());
    let mut child = worker(&run, false).spawn().unwrap();
    wait_for(&run, &mut child, 9);
    let settings = [
        ("learning_rate", 2e-3),
        ("schedule.min_lr", 2e-4),
        ("accumulation", 3.0),
        ("optimizer.weight_decay", 0.3),
        ("optimizer.beta2", 0.95),
        ("steps", 450.0),
    ];
    let at = change(&run, &mut child, &settings).unwrap();
    wait_for(&run, &mut child, at + 3);
    kill(child);
    assert_eq!(history(&run).steps(), Some(450));
    assert!(to_the_end(&run, true).status.success());
    let text: Vec<(&str, String)> = settings.iter().map(|(path, value)| (*path, value.to_string())).collect();
    let text: Vec<(&str, &str)> = text.iter().map(|(path, value)| (*path, value.as_str())).collect();
    let fork = by_hand(&run, at, &text);
    assert!(to_the_end(&fork, true).status.success());
    assert_eq!(curve(&run), curve(&fork));
    for metric in [MetricId::LEARNING_RATE, MetricId::GRAD_NORM, MetricId::VAL_LOSS] {
        assert_eq!(history(&run).curve(metric).value, history(&fork).curve(metric).value, "{metric}");
    }
    assert_eq!(tensors(&run, 450), tensors(&fork, 450));
}

#[test]
fn a_change_survives_the_loss_of_its_event_and_is_undone_by_going_back() {
    let stage = Stage::new();
    let whole = stage.run(keeping(600));
    assert!(to_the_end(&whole, false).status.success());
    let run = stage.run(keeping(600));
    let mut child = worker(&run, false).spawn().unwrap();
    wait_for(&run, &mut child, 15);
    let at = change(&run, &mut child, &[("optimizer.gamma", 0.4)]).unwrap();
    wait_until(&run, &mut child, |history| history.checkpoints().iter().any(|(step, _)| *step > at));
    kill(child);
    let copy = run.path().parent().unwrap().join("copy");
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(run.path()).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    let copy = RunFolder::open(&copy).unwrap();
    let events = fs::read_to_string(copy.events()).unwrap();
    let without: String =
        events.lines().filter(|line| !line.contains("changed")).map(|line| format!("{line}\n")).collect();
    assert_ne!(events, without);
    fs::write(copy.events(), without).unwrap();
    for run in [&run, &copy] {
        assert!(to_the_end(run, true).status.success());
    }
    assert_eq!(curve(&copy), curve(&run));
    assert_eq!(tensors(&copy, 600), tensors(&run, 600));

    let back = stage.run(keeping(600));
    let mut child = worker(&back, false).spawn().unwrap();
    wait_for(&back, &mut child, 60);
    let at = change(&back, &mut child, &[("optimizer.gamma", 0.4), ("steps", 650.0)]).unwrap();
    kill(child);
    for step in checkpoint::steps(&back).unwrap().into_iter().filter(|step| *step >= at) {
        fs::remove_file(back.path().join(format!("checkpoint-{step:08}.ron"))).unwrap();
    }
    assert!(to_the_end(&back, true).status.success());
    let warnings: String = history(&back).warnings().iter().map(|warning| warning.message.clone()).collect();
    assert!(warnings.contains(&format!("undoes γ 0.2 → 0.4 of step {at}, steps 600 → 650")), "{warnings}");
    assert!(history(&back).changes().is_empty());
    assert_eq!(curve(&back), curve(&whole));
    assert_eq!(tensors(&back, 600), tensors(&whole, 600));
}

#[test]
fn the_checkpoint_before_a_change_stays_until_the_run_has_finished() {
    let stage = Stage::new();
    let eval_every = EvaluationInterval::new(100_000).unwrap();
    let run = stage.run(MnistSpec { eval_every, ..quick(700) });
    let mut child = worker(&run, false).spawn().unwrap();
    wait_for(&run, &mut child, 5);
    let at = change(&run, &mut child, &[("optimizer.gamma", 0.4)]).unwrap();
    wait_for(&run, &mut child, at + 50);
    kill(child);
    assert!(checkpoint::steps(&run).unwrap().contains(&at));
    let mut child = worker(&run, true).spawn().unwrap();
    wait_for(&run, &mut child, history(&run).step() + 50);
    kill(child);
    let end = (at + 10).to_string();
    assert!(to_the_end(&by_hand(&run, at, &[("steps", &end)]), true).status.success());
    assert!(to_the_end(&run, true).status.success());
    assert!(!checkpoint::steps(&run).unwrap().contains(&at));
}

#[test]
fn the_steps_in_force_are_those_of_the_last_command_of_either_kind() {
    let stage = Stage::new();
    let run = stage.run(quick(100_000));
    let mut child = worker(&run, false).spawn().unwrap();
    wait_for(&run, &mut child, 3);
    let id = run::send(&run, RunCommand::SetSteps { n: 200_000 }).unwrap();
    wait_until(&run, &mut child, |history| history.answers().iter().any(|answer| answer.id == id));
    let folder = run.path().to_str().unwrap();
    expect(&valleyscope(&stage, &["runs", "set", folder]), 0, &["steps", "200000"]);
    // The steps with which the run began are another value by now.
    for _ in 0..2 {
        change(&run, &mut child, &[("steps", 100_000.0)]).unwrap();
        let history = history(&run);
        let [(_, change)] = history.changes() else { panic!("{:?}", history.changes()) };
        assert_eq!((change.before, change.now), (200_000.0, 100_000.0));
        assert_eq!(history.steps(), Some(100_000));
    }
    run::send(&run, RunCommand::Stop).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Settings, and parts of the reason why they are refused.
type Refused<'a> = (&'a [(&'a str, f64)], &'a [&'a str]);

#[test]
fn settings_that_do_not_fit_are_refused_before_anything_is_written() {
    let stage = Stage::new();
    let never = CheckpointInterval::new(1_000_000).unwrap();
    let eval_every = EvaluationInterval::new(1_000_000).unwrap();
    let run = stage.run(MnistSpec { checkpoint_every: never, eval_every, ..quick(100_000) });
    let gpt2 = tiny(&stage, &[("checkpoint_every", "1000000"), ("eval_every", "1000000"), ("steps", "1000000")]);
    let refused = |run: &RunFolder, cases: &[Refused<'_>]| {
        let mut child = worker(run, false).spawn().unwrap();
        wait_for(run, &mut child, 3);
        for (settings, parts) in cases {
            let refusal = change(run, &mut child, settings).unwrap_err();
            for part in *parts {
                assert!(refusal.contains(part), "no {part:?} in {refusal}");
            }
        }
        assert_eq!(checkpoint::steps(run).unwrap(), [0; 0]);
        assert!(history(run).changes().is_empty());
        run::send(run, RunCommand::Stop).unwrap();
        assert!(child.wait().unwrap().success());
    };
    refused(
        &run,
        &[
            (&[("seed", 1.0)], &["`seed` cannot be changed", "optimizer.weight_decay, learning_rate"]),
            (&[("optimizer.decay", 1.0)], &["`optimizer.decay` cannot be changed"]),
            (&[("learning_rate", 0.0)], &["`learning_rate`", "found 0"]),
            (&[("optimizer.gamma", 0.4), ("batch_size", 999.0)], &["leaves a last batch of one of the 1000 images"]),
            (&[("batch_size", 2.5)], &["must be a whole number from 2 to ", "found 2.5"]),
            (&[("steps", 1.0)], &["expected more than the", "found 1"]),
        ],
    );
    refused(
        &gpt2,
        &[
            (&[("batch_size", 8.0)], &["`batch_size` cannot be changed", "accumulation"]),
            (&[("learning_rate", 1e-5)], &["`schedule.min_lr` is 0.0001, more than `learning_rate`"]),
        ],
    );
}

#[test]
fn all_ranks_take_a_change_and_a_resumed_run_has_it() {
    let stage = Stage::new();
    let spec = MnistSpec { precision: FloatType::Float64, ..keeping(600) };
    let run = divided(stage.run(spec));
    let mut child = together(&run, false, 2).spawn().unwrap();
    wait_for(&run, &mut child, 5);
    let first = change(&run, &mut child, &[("optimizer.gamma", 0.4), ("batch_size", 64.0)]).unwrap();
    wait_for(&run, &mut child, first + 3);
    change(&run, &mut child, &[("optimizer.gamma", 0.4)]).unwrap();
    kill(child);
    let output = together(&run, true, 2).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let fork = by_hand(&run, first, &[("optimizer.gamma", "0.4"), ("batch_size", "64"), ("shard_optimizer", "false")]);
    assert!(to_the_end(&fork, true).status.success());
    for ((step, expected), (_, found)) in losses(&fork).into_iter().zip(losses(&run)) {
        assert!((found - expected).abs() <= 1e-6 * expected, "step {step}: {found}, {expected}");
    }
    assert_eq!(losses(&run).len(), 600);
}

#[test]
fn the_command_lists_and_changes_settings() {
    let stage = Stage::new();
    let run = stage.run(quick(1_000_000));
    let folder = run.path().to_str().unwrap();
    let set = |settings: &[&str]| valleyscope(&stage, &[&["runs", "set", folder], settings].concat());
    let mut child = worker(&run, false).spawn().unwrap();
    wait_for(&run, &mut child, 3);
    expect(&set(&[]), 0, &["learning_rate", "0.001", "optimizer.gamma", "0.2", "batch_size", "128"]);
    expect(&set(&["gamma=0.4", "learning-rate=3e-3"]), 0, &["γ 0.2 → 0.4, η 0.001 → 0.003 after step"]);
    expect(&set(&[]), 0, &["0.4", "0.003"]);
    let answers = history(&run).answers().len();
    for (setting, words) in [
        ("seed=3", "`seed` cannot be changed"),
        ("gamma=much", "expected a number"),
        ("gamma=70", "`optimizer.gamma`"),
        ("gamma", "KEY=VALUE"),
    ] {
        expect(&set(&[setting]), 2, &[words]);
    }
    assert_eq!(history(&run).answers().len(), answers, "nothing was sent");
    let changed = history(&run).recent().filter(|record| matches!(record.event, Event::Changed { .. })).count();
    assert_eq!(changed, 1);
    run::send(&run, RunCommand::Stop).unwrap();
    assert!(child.wait().unwrap().success());
    expect(&valleyscope(&stage, &["runs", "show", folder]), 0, &["γ 0.2 → 0.4"]);
    expect(&set(&["gamma=0.3"]), 1, &["is not being trained: stopped", "--fork"]);
}
