//! The queue under kills of the worker and of the programs that work on it.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use valleyscope_runs::{LockState, Queue, RunFolder, Status};

use super::stage::{
    Stage, WORKER, config, curve, expect, kill, quick, status, tensors, to_the_end, train, uniform, valleyscope,
    valleyscope_program,
};

/// The number of kills that the long test makes; the usual one makes a handful.
const KILLS: &str = "VALLEYSCOPE_QUEUE_KILLS";
const STEPS: u64 = 120;
/// The largest number of kills of an entry's worker after which it is resumed.
const MOST_DEATHS: usize = 3;

fn runner(stage: &Stage, jobs: &str) -> Child {
    let mut command = Command::new(valleyscope_program());
    let runs = stage.place.path().join("runs");
    command.args(["queue", "run", "--worker", WORKER, "--jobs", jobs, "--runs"]).arg(runs);
    command.env("HOME", stage.place.path()).env("OMP_NUM_THREADS", "1").env("MKL_NUM_THREADS", "1");
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the worker of an entry's run if it has one.
#[cfg(target_os = "linux")]
fn kill_worker(run: &RunFolder) -> bool {
    let LockState::Held(Some(owner)) = LockState::of(run) else { return false };
    Command::new("kill").arg("-9").arg(owner.pid.to_string()).status().unwrap().success()
}

#[cfg(target_os = "linux")]
#[test]
fn every_entry_ends_once_and_as_undisturbed_under_kills() {
    let kills: usize = std::env::var(KILLS).map_or(8, |kills| kills.parse().unwrap());
    let entries = 3.max(kills / 4);
    let stage = Stage::new();
    let runs = stage.place.path().join("runs");
    let queue = Queue::of(&runs);
    let spec = |seed: u64| valleyscope_experiments::workload::MnistSpec { seed, ..quick(STEPS) };
    let configs = (0..entries as u64).map(|seed| config(spec(seed), stage.data()));
    let names = queue.add("queued", configs).unwrap();
    let (mut deaths, mut made, mut draw) = (BTreeMap::<String, usize>::new(), 0, 0);
    let mut random = || {
        draw += 1;
        uniform(draw)
    };
    let mut child = runner(&stage, "2");
    while !queue.entries().unwrap().is_empty() {
        std::thread::sleep(Duration::from_secs_f64(0.1 + 2.0 * random()));
        if child.try_wait().unwrap().is_some() {
            child = runner(&stage, "2");
        }
        if made >= kills {
            continue;
        }
        made += 1;
        if random() < 0.5 {
            kill(child);
            child = runner(&stage, "2");
            continue;
        }
        let claimed = queue.entries().unwrap().into_iter().filter(|entry| entry.is_claimed);
        let mut mortal = claimed.filter(|entry| entry.starts <= MOST_DEATHS);
        if let Some(entry) = mortal.next()
            && let Ok(run) = RunFolder::open(&runs.join(&entry.name))
            && kill_worker(&run)
        {
            *deaths.entry(entry.name).or_default() += 1;
        }
    }
    child.wait().unwrap();
    let mut found: Vec<String> = RunFolder::list(&runs).unwrap().iter().map(RunFolder::name).collect();
    found.sort();
    let mut expected = names.clone();
    expected.sort();
    assert_eq!(found, expected, "each entry is a run, and no other run was made");
    for (seed, name) in names.iter().enumerate() {
        let run = RunFolder::open(&runs.join(name)).unwrap();
        assert_eq!(status(&run), Status::Finished, "{name} after {deaths:?}");
        let whole =
            RunFolder::create(&stage.place.path().join("whole"), "whole", &config(spec(seed as u64), stage.data()));
        let whole = whole.unwrap();
        assert!(to_the_end(&whole, false).status.success());
        assert_eq!(curve(&run), curve(&whole), "{name} after {deaths:?}");
        assert_eq!(tensors(&run, STEPS), tensors(&whole, STEPS));
    }
}

#[test]
fn a_preset_of_several_runs_goes_through_the_queue_and_failures_do_not_end_it() {
    let stage = Stage::new();
    let run = config(quick(20), stage.data());
    let (head, tail) = run.split_once("runs: [").unwrap();
    let (one, end) = tail.rsplit_once(']').unwrap();
    let other = one.replace("seed: 0", "seed: 1");
    let preset = stage.place.path().join("several.ron");
    std::fs::write(&preset, format!("{head}runs: [{one}{other}]{end}")).unwrap();
    let path = preset.to_str().unwrap();
    expect(&train(&stage, &[path]), 0, &["2 trainings are in the queue", "finished"]);
    let runs = stage.place.path().join("runs");
    assert_eq!(RunFolder::list(&runs).unwrap().len(), 2);

    let runs = runs.to_str().unwrap();
    let queue = |args: &[&str]| valleyscope(&stage, &[&["queue", "--runs", runs], args].concat());
    expect(&queue(&["add", path]), 0, &["several-"]);
    expect(&queue(&["list"]), 0, &["1   several-", "2   several-", "waiting"]);
    expect(&queue(&["pause"]), 0, &[]);
    expect(&queue(&["run", "--worker", WORKER]), 0, &["the queue is paused"]);
    let names: Vec<String> = Queue::of(runs.as_ref()).entries().unwrap().into_iter().map(|entry| entry.name).collect();
    expect(&queue(&["move", &names[0]]), 0, &[]);
    expect(&queue(&["remove", &names[1]]), 0, &[]);
    expect(&queue(&["remove", &names[1]]), 2, &["there is no entry", &names[1]]);
    expect(&queue(&["pause", "--off"]), 0, &[]);
    stage.change_data();
    std::fs::remove_file(stage.data().join("t10k-labels-idx1-ubyte")).unwrap();
    let said = stage.place.path().join("said");
    let command = format!("echo $VALLEYSCOPE_EVENT $VALLEYSCOPE_FAILED >> {}", said.display());
    expect(&queue(&["run", "--worker", WORKER, "--on-end", &command]), 1, &["has failed", "1 training"]);
    assert_eq!(std::fs::read_to_string(said).unwrap(), "failed 1\nend 1\n");
    expect(&queue(&["list"]), 0, &["is empty"]);
}
