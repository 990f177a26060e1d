//! Trainings by several ranks: equal losses, and ranks that die, hang or lose their connection.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_experiments::workload::{DeviceChoice, FloatType, MnistSpec, NotFinite};
use valleyscope_runs as run;
use valleyscope_runs::{MetricId, RunCommand, RunFolder, Status};

use crate::says::says;
use crate::stage::{
    Stage, curve, expect, history, kill, kill_at, named, quick, rate, status, tiny, train, wait_for, worker,
};

pub fn together(run: &RunFolder, resume: bool, processes: usize) -> Command {
    let mut command = worker(run, resume);
    command.args(["--processes", &processes.to_string(), "--timeout", "6"]);
    command
}

/// Sets a run's config to divide the optimizer's states among the ranks.
pub fn divided(run: RunFolder) -> RunFolder {
    let path = run.path().join(RunFolder::CONFIG);
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replacen("device: Cpu,", "device: Cpu, shard_optimizer: true,", 1);
    assert_ne!(text, changed);
    std::fs::write(path, changed).unwrap();
    run
}

pub fn losses(run: &RunFolder) -> Vec<(u64, f64)> {
    curve(run).into_iter().map(|(step, loss)| (step, f64::from_bits(loss))).collect()
}

/// Trains each run with its number of processes, and compares the curves with that of the first.
#[track_caller]
fn equal_losses(what: &str, runs: &[(RunFolder, usize)], within: f64) {
    for (run, processes) in runs {
        let output = together(run, false, *processes).output().unwrap();
        assert!(output.status.success(), "{what}, {processes}: {}", String::from_utf8_lossy(&output.stderr));
        let evaluation = |run: &RunFolder| {
            let history = history(run);
            let loss = [MetricId::VAL_LOSS, MetricId::TEST_LOSS].into_iter().find_map(|id| history.latest_at(id));
            loss.unwrap()
        };
        let (first, found) = (losses(&runs[0].0), losses(run));
        assert_eq!(first.len(), 20, "{what}");
        let pairs = first.into_iter().zip(found).chain([(evaluation(&runs[0].0), evaluation(run))]);
        for ((step, expected), (of, found)) in pairs {
            assert_eq!(step, of);
            assert!(
                (found - expected).abs() <= within * expected.abs(),
                "{what}, {processes} processes, step {step}: {found} where one process has {expected}"
            );
        }
    }
}

#[test]
fn any_number_of_ranks_has_the_losses_of_one_on_mnist() {
    let stage = Stage::new();
    // A rule's queries concern the whole batch too: the same images, or labels that the model draws.
    let kinds = ["FOCUS", "Sophia", "MARS", "Muon", "Schedule-Free"];
    for (name, precision, counts, within) in kinds
        .map(|name| (name, FloatType::Float64, &[1, 2][..], 1e-12))
        .into_iter()
        .chain([("Adam", FloatType::Float64, &[1, 3][..], 1e-12), ("FOCUS", FloatType::Float64, &[1, 4][..], 1e-12)])
        // In float32 a gradient near 0 may get another sign by its rounding, and Adam and Signum take whole steps then:
        // not compared.
        .chain(["FOCUS", "SGD"].map(|name| (name, FloatType::Float32, &[1, 2, 4][..], 1e-4)))
    {
        let kind = RuleKind::ALL.iter().copied().find(|kind| kind.info().name == name).unwrap();
        let optimizer = RuleSpec::in_training(kind);
        let runs = counts.iter().map(|count| (stage.run(MnistSpec { optimizer, precision, ..quick(20) }), *count));
        equal_losses(name, &runs.collect::<Vec<_>>(), within);
    }
}

#[test]
fn any_number_of_ranks_has_the_losses_of_one_on_gpt2() {
    let stage = Stage::new();
    let usual = [("steps", "20"), ("log_every", "1"), ("eval_every", "20"), ("sample", "None"), ("clip", "0.5")];
    let compare = |counts: &[usize], within, settings: &[(&str, &str)]| {
        let settings = [&usual[..], settings].concat();
        let runs = counts.iter().map(|count| (tiny(&stage, &settings), *count));
        equal_losses(&format!("{settings:?}"), &runs.collect::<Vec<_>>(), within);
    };
    let double = ("precision", "Float64");
    // Six sequences: with four processes the parts differ, and one has parts of two micro-batches.
    compare(&[1, 2, 4], 1e-12, &[double, ("batch_size", "3"), ("accumulation", "2")]);
    compare(&[1, 3][..], 1e-4, &[("batch_size", "4"), ("accumulation", "1")]);
    compare(&[1, 2], 1e-12, &[double, ("optimizer", "Sophia(interval: 4)")]);
    compare(&[1, 2], 1e-12, &[double, ("optimizer", "Mars(form: Exact)")]);
}

#[test]
fn ranks_with_divided_states_have_the_losses_of_one() {
    let stage = Stage::new();
    let of = |kind, settings: &[(&str, &str)]| {
        let name = format!("{kind:?}");
        let usual = [("steps", "20"), ("log_every", "1"), ("eval_every", "20"), ("sample", "None"), ("clip", "0.5")];
        let double = [("precision", "Float64"), ("optimizer", kind), ("batch_size", "4"), ("accumulation", "1")];
        let settings = [&usual[..], &double, settings].concat();
        let [alone, together] = [(); 2].map(|()| tiny(&stage, &settings));
        // Three parts of the parameters are not equally long.
        equal_losses(&name, &[(alone, 1), (divided(together), 3)], 1e-12);
    };
    of("Adam", &[]);
    of("Focus", &[]);
    of("Sophia(interval: 4)", &[]);
    let optimizer = RuleSpec::in_training(RuleKind::Adam);
    let spec = || MnistSpec { optimizer, precision: FloatType::Float64, device: DeviceChoice::Cpu, ..quick(20) };
    let runs = [(stage.run(spec()), 1), (divided(stage.run(spec())), 2)];
    equal_losses("MNIST", &runs, 1e-12);
}

/// A checkpoint has the whole state, whichever number of ranks has saved it.
#[test]
fn a_run_with_divided_states_resumes_with_any_number_of_ranks() {
    let stage = Stage::new();
    let optimizer = RuleSpec::in_training(RuleKind::Adam);
    let spec = |steps| {
        let (precision, device) = (FloatType::Float64, DeviceChoice::Cpu);
        stage.run(MnistSpec { optimizer, precision, device, ..quick(steps) })
    };
    let (whole, run) = (spec(40), divided(spec(40)));
    assert!(worker(&whole, false).output().unwrap().status.success());
    for (steps, processes) in [(10, 3), (20, 1), (30, 2), (40, 4)] {
        let mut child = together(&run, steps > 10, processes).spawn().unwrap();
        if steps == 40 {
            assert!(child.wait().unwrap().success());
            continue;
        }
        wait_for(&run, &mut child, steps);
        kill(child);
    }
    let (expected, found) = (losses(&whole), losses(&run));
    assert_eq!(found.len(), 40);
    for ((step, expected), (_, found)) in expected.into_iter().zip(found) {
        assert!((found - expected).abs() <= 1e-12 * expected, "step {step}: {found}, {expected}");
    }
}

fn children(of: &Child) -> Vec<u32> {
    let path = format!("/proc/{0}/task/{0}/children", of.id());
    std::fs::read_to_string(path).unwrap().split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}

/// Waits for the end of a process, which must follow within a minute.
#[track_caller]
fn ends(mut child: Child) {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it goes on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[track_caller]
fn end(pids: &[u32]) {
    let begun = Instant::now();
    for pid in pids {
        // An ended process stays as a zombie until its parent waits for it.
        let lives = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        while lives() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{pid} goes on");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[track_caller]
fn failed(run: &RunFolder, words: &str) {
    match status(run) {
        Status::Failed(message) => assert!(message.contains(words), "no {words:?} in {message:?}"),
        status => panic!("{status:?}, where it should have failed with {words:?}"),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_dead_or_silent_rank_ends_all_and_the_run_resumes_with_any_number() {
    let stage = Stage::new();
    let precision = FloatType::Float64;
    let long = || MnistSpec { precision, ..quick(200) };
    let whole = stage.run(long());
    assert!(worker(&whole, false).output().unwrap().status.success());
    let run = stage.run(long());

    let mut child = together(&run, false, 3).spawn().unwrap();
    wait_for(&run, &mut child, 15);
    let others = children(&child);
    assert_eq!(others.len(), 2);
    signal("KILL", others[0]);
    ends(child);
    end(&others);
    failed(&run, &format!("rank 1 (process {} on ", others[0]));
    failed(&run, "resume the run, which goes on from its last checkpoint");

    let mut child = together(&run, true, 2).spawn().unwrap();
    wait_for(&run, &mut child, 45);
    let others = children(&child);
    signal("STOP", others[0]);
    ends(child);
    end(&others);
    failed(&run, &format!("rank 1 (process {} on ", others[0]));

    // The death of rank 0 ends the others too, even a stopped one.
    let mut child = together(&run, true, 3).spawn().unwrap();
    wait_for(&run, &mut child, 75);
    let others = children(&child);
    signal("STOP", others[1]);
    kill(child);
    end(&others);

    assert!(worker(&run, true).output().unwrap().status.success());
    let (expected, found) = (losses(&whole), losses(&run));
    assert_eq!(expected.len(), found.len());
    for ((step, expected), (of, found)) in expected.into_iter().zip(found) {
        assert_eq!(step, of);
        assert!((found - expected).abs() <= 1e-6 * expected.abs(), "step {step}: {found}, {expected}");
    }
}

#[cfg(target_os = "linux")]
fn first_child(of: &Child) -> u32 {
    let begun = Instant::now();
    loop {
        if let Some(first) = children(of).first() {
            return *first;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it has started none");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_rank_that_dies_before_the_first_step_ends_all() {
    let stage = Stage::new();
    // When it starts, and while the processes meet or get their data.
    for delay_ms in [0, 300, 600] {
        let run = stage.run(quick(100_000));
        let child = together(&run, false, 2).spawn().unwrap();
        let other = first_child(&child);
        std::thread::sleep(Duration::from_millis(delay_ms));
        signal("KILL", other);
        ends(child);
        failed(&run, &format!("rank 1 (process {other}"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_of_several_ranks_stops_and_resumes() {
    let stage = Stage::new();
    let run = stage.run(quick(100_000));
    // By a command, and by the signal that torchrun and SLURM send to each process.
    let mut child = together(&run, false, 2).spawn().unwrap();
    wait_for(&run, &mut child, 5);
    let others = children(&child);
    run::send(&run, RunCommand::Stop).unwrap();
    assert!(child.wait().unwrap().success());
    end(&others);
    assert_eq!(status(&run), Status::Stopped);
    let port = free_port();
    let [mut leads, mut follows] = [0, 1].map(|rank| ranked(&run, rank, port));
    let before = history(&run).step();
    wait_for(&run, &mut leads, before + 5);
    for child in [&follows, &leads] {
        signal("TERM", child.id());
    }
    assert!(leads.wait().unwrap().success());
    assert!(follows.wait().unwrap().success());
    assert_eq!(status(&run), Status::Stopped);
    assert!(run.newest_checkpoint().unwrap().is_some_and(|step| step >= before + 5));
}

#[test]
fn all_ranks_fail_if_a_run_cannot_begin_or_diverges() {
    let stage = Stage::new();
    let run = stage.run(quick(20));
    assert!(worker(&run, false).output().unwrap().status.success());
    let config = std::fs::read_to_string(run.config()).unwrap();
    std::fs::write(run.config(), config.replacen("batch_size: 128", "batch_size: 16", 1)).unwrap();
    let port = free_port();
    let follows = ranked(&run, 1, port);
    let leads = ranked(&run, 0, port);
    ends(leads);
    ends(follows);
    let log = std::fs::read_to_string(run.path().join("log-rank-1.txt")).unwrap();
    assert!(log.contains("rank 0 ended: ") && log.contains("`batch_size` was 128 and is 16"), "{log}");

    let optimizer = RuleSpec::in_training(RuleKind::Sgd);
    let wild = MnistSpec { optimizer, learning_rate: rate(10.0), not_finite: NotFinite::Stop, ..quick(60) };
    let run = stage.run(wild);
    let [mut leads, mut follows] = [0, 1].map(|rank| ranked(&run, rank, port));
    assert_eq!([leads.wait().unwrap().code(), follows.wait().unwrap().code()], [Some(1), Some(1)]);
    failed(&run, "no longer finite");
}

/// Starts a process like torchrun.
fn ranked(run: &RunFolder, rank: usize, port: u16) -> Child {
    let mut command = worker(run, true);
    command.args(["--timeout", "6"]).env("MASTER_ADDR", "localhost").env("MASTER_PORT", port.to_string());
    let variables = [("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", 2)];
    command.envs(variables.map(|(name, value)| (name, value.to_string()))).stderr(Stdio::null()).spawn().unwrap()
}

fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

#[test]
fn externally_started_ranks_meet_by_their_environment() {
    let stage = Stage::new();
    let [alone, run] = [(); 2].map(|()| stage.run(MnistSpec { precision: FloatType::Float64, ..quick(20) }));
    assert!(worker(&alone, false).output().unwrap().status.success());
    let port = free_port();
    let [mut leads, mut follows] = [0, 1].map(|rank| ranked(&run, rank, port));
    assert!(leads.wait().unwrap().success());
    assert!(follows.wait().unwrap().success());
    for ((_, expected), (_, found)) in losses(&alone).into_iter().zip(losses(&run)) {
        assert!((found - expected).abs() <= 1e-12 * expected);
    }
    says(std::fs::read_to_string(run.path().join("log-rank-1.txt")).unwrap(), &["rank 1 of 2", "ended after step 20"]);
    let started = history(&run).started().unwrap().clone();
    assert_eq!(started.processes, Some(2));
}

/// The last line of a process's log has the reason for its end.
#[cfg(target_os = "linux")]
#[test]
fn a_cut_connection_ends_all_ranks() {
    use rustix::net::sockopt::socket_acceptconn;
    use rustix::net::{Shutdown, shutdown};
    use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

    let stage = Stage::new();
    let run = stage.run(quick(100_000));
    let port = free_port();
    let [mut leads, follows] = [0, 1].map(|rank| ranked(&run, rank, port));
    wait_for(&run, &mut leads, 10);
    let process = pidfd_open(Pid::from_raw(follows.id() as i32).unwrap(), PidfdFlags::empty()).unwrap();
    for open in std::fs::read_dir(format!("/proc/{}/fd", follows.id())).unwrap() {
        let number: i32 = open.unwrap().file_name().to_str().unwrap().parse().unwrap();
        let open = pidfd_getfd(&process, number, PidfdGetfdFlags::empty());
        // Files and listening sockets have no peer.
        if let Ok(open) = open
            && !socket_acceptconn(&open).unwrap_or(true)
        {
            let _ = shutdown(&open, Shutdown::Both);
        }
    }
    let other = follows.id();
    ends(leads);
    ends(follows);
    failed(&run, &format!("rank 1 (process {other} on "));
    let log = std::fs::read_to_string(run.path().join("log-rank-1.txt")).unwrap();
    assert!(log.lines().last().unwrap().contains("resume the run"), "{log}");
}

fn content(run: &RunFolder) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let paths = std::fs::read_dir(run.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn refuses_too_many_ranks_before_starting_any() {
    let stage = Stage::new();
    let settings = [("steps", "3"), ("batch_size", "4"), ("accumulation", "1")];
    let run = tiny(&stage, &settings);
    let said = ["expected at most 4 processes, one for each sequence of a step (`batch_size` times `accumulation`)"];
    let before = content(&run);
    expect(&together(&run, false, 41).output().unwrap(), 1, &said);
    assert_eq!(content(&run), before);
    assert!(worker(&run, false).output().unwrap().status.success());
    let before = content(&run);
    expect(&together(&run, true, 5).output().unwrap(), 1, &said);
    assert_eq!((status(&run), content(&run) == before), (Status::Finished, true));
    // As torchrun would start the first of them.
    let mut first = worker(&run, true);
    first.envs([("RANK", "0"), ("WORLD_SIZE", "5"), ("MASTER_ADDR", "127.0.0.1")]);
    first.env("MASTER_PORT", free_port().to_string());
    expect(&first.output().unwrap(), 1, &said);
    assert!(content(&run) == before);

    // The program creates no folder for it, and resumes no run.
    let there = || named(&stage, "").len();
    let before = there();
    let settings = settings.map(|(key, value)| format!("--set={key}={value}"));
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let asked = |more: &[&str]| train(&stage, &[&["gpt2-shakespeare"], &settings[..], more].concat());
    let said = ["--processes: expected at most 4 processes", "found 41"];
    expect(&asked(&["--processes", "41"]), 2, &said);
    expect(&asked(&["--set", "processes=41"]), 2, &["`runs[0].processes` is too large", "at most 4 processes"]);
    assert_eq!(there(), before);
    let stopped = stage.run(quick(100));
    kill_at(&stopped, 3);
    let before = content(&stopped);
    let resumed = train(&stage, &["--resume", &stopped.name(), "--processes", "200"]);
    expect(&resumed, 2, &["--processes: expected at most 128 processes, one for each image of a batch", "found 200"]);
    assert!(content(&stopped) == before);
}

#[test]
fn refuses_trainings_that_ranks_cannot_share() {
    let stage = Stage::new();
    let run = tiny(&stage, &[("batch_size", "1"), ("accumulation", "2")]);
    let output = together(&run, false, 3).output().unwrap();
    expect(&output, 1, &["expected at most 2 processes, one for each sequence of a step", "found 3"]);
    assert!(!run.events().exists(), "nothing is written");
    for (kind, why) in
        [("Muon", "steps whole parameters"), ("ScheduleFree", "takes gradients at parameters from its states")]
    {
        let run = divided(tiny(&stage, &[("optimizer", kind), ("batch_size", "4")]));
        expect(&together(&run, false, 2).output().unwrap(), 1, &["omit `shard_optimizer`", why]);
    }
    let run = stage.run(quick(20));
    let mut alone = together(&run, false, 2);
    alone.envs([("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1")]);
    alone.env("MASTER_PORT", free_port().to_string());
    expect(&alone.output().unwrap(), 1, &["leave --processes out where torchrun or srun starts them"]);
    let mut nowhere = worker(&run, false);
    nowhere.envs([("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "0")]);
    expect(&nowhere.output().unwrap(), 1, &["expected a port from 1 to 65535", "as MASTER_PORT", "found 0"]);
    let mut lonely = worker(&run, false);
    lonely.envs([("RANK", "0"), ("WORLD_SIZE", "2")]);
    expect(&lonely.output().unwrap(), 1, &["MASTER_ADDR is not set"]);
}
