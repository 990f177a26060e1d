//! Runs of Python scripts, logged by `python/valleyscope/run.py` and read by the real program.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use valleyscope_runs::{Better, MetricScale, MetricSource, RunFolder, RunReader, Status, now};

use crate::doctor::{Sandbox, expect, signal, stdout, wait_until};
use crate::left_out::left_out;

/// Starts a script in which `Run` is imported; `None` where there is no Python 3.10.
fn script(sandbox: &Sandbox, text: &str) -> Option<Child> {
    let mut python = sandbox.at_home(Command::new("python3"));
    python.env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/python/valleyscope")).env_remove("RANK");
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    // The script imports the file alone, as the package needs its native module.
    let text = format!("import sys, time\nassert sys.version_info >= (3, 10)\nfrom run import Run\n{text}");
    let begun = python.args(["-c", &text]).stderr(Stdio::inherit()).spawn();
    if begun.is_err() {
        left_out("program::own_runs", "the scripts need python3");
    }
    begun.ok()
}

fn only_run(sandbox: &Sandbox) -> Option<RunFolder> {
    RunFolder::list(&sandbox.runs()).expect("runs").pop()
}

fn status(run: &RunFolder) -> Status {
    RunReader::brief(run.clone()).status(now()).expect("it can be read")
}

/// Waits until the run of a script has logged so many steps.
fn wait_for_step(sandbox: &Sandbox, step: u64) -> RunFolder {
    wait_until("the script", || {
        only_run(sandbox).is_some_and(|run| {
            let mut reader = RunReader::new(run);
            reader.poll().is_ok() && reader.history().step() >= step
        })
    });
    only_run(sandbox).expect("it is there")
}

const ENDLESS: &str = r#"
with Run("Endless", {"optimizer": "Adam", "lr": 0.5, "model": {"layers": 12}}) as run:
    for step in range(10**9):
        run.log(step, {"train/loss": 1 / (step + 1), "val/accuracy": step})
        time.sleep(0.001)
        if run.should_stop:
            break
"#;

#[test]
fn a_script_is_running_until_it_is_asked_to_stop() {
    let sandbox = Sandbox::new();
    let Some(mut script) = script(&sandbox, ENDLESS) else { return };
    let run = wait_for_step(&sandbox, 10);
    assert!(matches!(status(&run), Status::Running(Some(owner)) if owner.pid == script.id()));
    expect(&sandbox.run(&["runs", "list"]), 0, &["running", "Endless"]);
    expect(&sandbox.run(&["runs", "stop", "last"]), 0, &["run.should_stop is set", "has ended at step", "stopped"]);
    assert!(script.wait().expect("it ends").success());
    assert_eq!(status(&run), Status::Stopped);
    let watched = sandbox.run(&["runs", "watch", "last"]);
    expect(&watched, 130, &["stopped", "loss 0.", "val/accuracy"]);
    let checked = sandbox.run(&["runs", "check", "last"]);
    expect(&checked, 0, &["of another program, with 3 settings"]);
}

#[test]
fn a_killed_script_is_crashed_with_what_it_has_logged() {
    let sandbox = Sandbox::new();
    let Some(mut script) = script(&sandbox, ENDLESS) else { return };
    let run = wait_for_step(&sandbox, 10);
    signal("KILL", script.id());
    script.wait().expect("it ends");
    assert!(matches!(status(&run), Status::Crashed { .. }));
    expect(
        &sandbox.run(&["runs", "show", "last"]),
        0,
        &["crashed", "model.layers   12", "train/loss", "optimizer      Adam"],
    );
    expect(&sandbox.run(&["runs", "watch", "last"]), 1, &["crashed"]);
    expect(&sandbox.run(&["runs", "export", "last", "--out", "points.csv"]), 0, &["rows of"]);
    let points = fs::read_to_string(sandbox.join("points.csv")).expect("it was written");
    assert!(points.starts_with("step,time,wall_s,train/loss,val/accuracy\n0,"), "{points}");
}

const TWO: &str = r#"
for rate in (0.5, 0.25):
    with Run("Two", {"optimizer": {"name": "Adam", "lr": rate}, "model": {"layers": 12}}, steps=10) as run:
        for step in range(10):
            run.log(step, {"train/loss": rate / (step + 1), "train/grad_std": 1.0})
            if step % 5 == 0:
                run.log(step, {"val/loss": rate + step, "val/accuracy": 1 - rate * step})
"#;

#[test]
fn settings_are_columns_and_filters_and_names_describe_metrics() {
    let sandbox = Sandbox::new();
    let Some(mut script) = script(&sandbox, TWO) else { return };
    assert!(script.wait().expect("it ends").success());
    let list = |args: &[&str]| {
        let output = sandbox.run(&[&["runs", "list", "--json"], args].concat());
        expect(&output, 0, &[]);
        serde_json::from_str::<Vec<Value>>(stdout(&output)).expect("JSON")
    };
    let runs = list(&["--sort", "optimizer.lr"]);
    let of = |field: &str| runs.iter().map(|run| run[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("state"), ["finished", "finished"]);
    assert_eq!(of("name"), ["Two", "Two"]);
    assert_eq!(of("optimizer"), ["Adam", "Adam"]);
    assert_eq!(of("model.layers"), [12, 12]);
    assert_eq!(of("optimizer.lr"), [0.25, 0.5]);
    assert_eq!(of("train/loss"), [0.025, 0.05]);
    assert_eq!(of("best_train/loss"), [0.025, 0.05]);
    assert_eq!(of("best_val/loss"), [0.25, 0.5], "the best value is the first, and the last points are others");
    assert_eq!(of("best_val/accuracy"), [1.0, 1.0]);
    assert_eq!(list(&["--filter", "lr < 0.3, layers = 12"]).len(), 1);
    assert_eq!(list(&["--filter", "best_val/loss > 0.3"]).len(), 1);
    let names: Vec<String> = RunFolder::list(&sandbox.runs()).expect("runs").iter().map(RunFolder::name).collect();
    let diff = sandbox.run(&["runs", "diff", &names[0], &names[1]]);
    expect(&diff, 0, &["optimizer.lr", "0.25", "train/loss", "Best val/loss"]);

    let mut reader = RunReader::new(only_run(&sandbox).expect("a run"));
    reader.poll().expect("it can be read");
    let metrics = reader.history().metrics();
    let described: Vec<_> =
        metrics.iter().map(|info| (info.name.as_str(), info.better, info.scale, info.source)).collect();
    let (lower, higher, neither) = (Better::Lower, Better::Higher, Better::Neither);
    let (training, evaluation) = (MetricSource::Training, MetricSource::Evaluation);
    let expected = [
        ("train/loss", lower, MetricScale::Log, training),
        ("train/grad_std", neither, MetricScale::Linear, training),
        ("val/loss", lower, MetricScale::Log, evaluation),
        ("val/accuracy", higher, MetricScale::Linear, evaluation),
    ];
    assert_eq!(described, expected);
}

#[test]
fn a_resumed_script_goes_on_in_its_run() {
    let sandbox = Sandbox::new();
    let text = |first: u64, end: &str| {
        format!(
            "import os\nrun = Run('Again', resume=True)\nfor step in range({first}, {first} + 20):\n    run.log(step, \
             {{'loss': {first} + step}})\nrun.text({first} + 19, 'sample', 'x')\ntime.sleep(0.6)\n{end}"
        )
    };
    for (first, end) in [(0, "os.kill(os.getpid(), 9)"), (10, "run.finish()")] {
        let Some(mut script) = script(&sandbox, &text(first, end)) else { return };
        script.wait().expect("it ends");
    }
    let run = only_run(&sandbox).expect("a run");
    let mut reader = RunReader::new(run.clone());
    assert_eq!(reader.status(now()).expect("it can be read"), Status::Finished);
    let history = reader.history();
    let curve = history.curve(valleyscope_runs::MetricId::LOSS);
    assert_eq!(curve.step, (0..30).collect::<Vec<u64>>());
    assert_eq!(curve.value[9..11], [9.0, 20.0]);
    assert_eq!((history.sessions(), history.skipped(), history.samples().len()), (2, 0, 1));
    assert!(Path::new(&run.other_config()).is_file());
}
