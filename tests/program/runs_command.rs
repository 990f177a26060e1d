//! `valleyscope runs`: the real program, its output and exit codes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use valleyscope_experiments::preset::Preset;
#[cfg(unix)]
use valleyscope_experiments::preset::built_ins;
use valleyscope_experiments::run::RunConfig;
use valleyscope_runs::{Event, MetricId, MetricValues, Notes, RunCommand, RunFolder, RunSession, Started};
#[cfg(unix)]
use valleyscope_runs::{EventRecord, Handshake, PROTOCOL, Timestamp};

use super::doctor::{Sandbox, expect, signal, stderr, stdout, wait_until};
#[cfg(unix)]
use super::put_program::put_program;

impl Sandbox {
    /// Returns a run whose worker is in this process, after some steps.
    fn begun(&self, stem: &str) -> (RunFolder, RunSession) {
        let run = RunFolder::create(&self.runs(), stem, "Mnist()").unwrap();
        let mut session = RunSession::begin(&run).unwrap();
        let started = Started {
            title: "Adam on digits".into(),
            kind: "Mnist".into(),
            steps: 400,
            optimizer: "Adam".into(),
            batch_size: Some(128),
            device: "cpu".into(),
            ..Started::default()
        };
        session.record(0, Event::Started(started)).unwrap();
        session.begin_training();
        for step in 1..=50 {
            let train = MetricValues::from([
                (MetricId::LOSS, 2.0 / step as f64),
                (MetricId::LEARNING_RATE, 0.001),
                (MetricId::GRAD_NORM, 1.0),
            ]);
            session.record(step, Event::Train(train)).unwrap();
        }
        let eval = MetricValues::from([(MetricId::TEST_LOSS, 0.25), (MetricId::TEST_ACCURACY, 0.9512)]);
        session.record(50, Event::Eval(eval)).unwrap();
        (run, session)
    }

    fn ended(&self, stem: &str, goodbye: Event) -> RunFolder {
        let (run, mut session) = self.begun(stem);
        session.record(50, goodbye).unwrap();
        run
    }

    fn figure(&self, args: &[&str]) -> Output {
        self.run(&[&["figure"], args].concat())
    }

    /// Runs `valleyscope train mnist` with a worker, into the folder `new`.
    fn train(&self, worker: &Path, args: &[&str]) -> Output {
        let mut command = self.command(&["train", "mnist", "--runs", "new", "--worker"]);
        command.arg(worker).args(args);
        command.output().unwrap()
    }

    fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

#[test]
fn runs_are_listed_in_columns() {
    let sandbox = Sandbox::new();
    expect(&sandbox.run(&["runs", "list"]), 0, &["there are no runs in", "valleyscope/runs"]);
    let first = sandbox.ended("mnist", Event::Stopped);
    let failed = sandbox.ended("broken", Event::Failed { message: "no memory".into() });
    let (living, _session) = sandbox.begun("living");
    Notes { title: "My best".into(), ..Notes::default() }.write(&first).unwrap();
    fs::create_dir(sandbox.runs().join("pictures")).unwrap();
    let output = sandbox.run(&["runs", "list"]);
    expect(&output, 0, &[]);
    let lines: Vec<&str> = stdout(&output).lines().collect();
    assert_eq!(lines.len(), 4);
    let row = |run: &RunFolder| *lines.iter().find(|line| line.starts_with(&run.name())).unwrap();
    let columns = ["NAME", "STATE", "LOSS", "TEST ACCURACY", "STEP"].map(|name| lines[0].find(name).unwrap());
    for (run, status, title) in
        [(&first, "stopped", "My best"), (&failed, "failed", "Adam on"), (&living, "running", "Adam on")]
    {
        for (column, cell) in columns.into_iter().zip([title, status, "0.04000", "95.12 %", "50"]) {
            let from_column: String = row(run).chars().skip(column).collect();
            assert!(from_column.starts_with(cell), "{}", lines.join("\n"));
        }
    }
    assert!(lines[1].starts_with(&living.name()), "the newest comes first");
}

#[test]
fn runs_are_tagged_renamed_and_deleted() {
    let sandbox = Sandbox::new();
    let (run, other) = (sandbox.ended("mnist", Event::Stopped), sandbox.ended("other", Event::Finished));
    let (living, session) = sandbox.begun("living");
    let tag = |more: &[&str]| sandbox.run(&[&["runs", "tag", "mnist"], more].concat());
    assert_eq!(stdout(&tag(&["good, old", " two  words "])), "good\nold\ntwo words\n");
    assert_eq!(stdout(&tag(&["--remove", "old"])), "good\ntwo words\n");
    assert_eq!(stdout(&tag(&[])), "good\ntwo words\n");
    expect(&sandbox.run(&["runs", "rename", "mnist", "My best"]), 0, &[]);
    assert_eq!(Notes::read(&run).unwrap().title, "My best");
    expect(&sandbox.run(&["runs", "list", "--filter", "tag = good"]), 0, &["My best"]);

    expect(&sandbox.run(&["runs", "delete", "mnist"]), 2, &["--yes"]);
    let both = ["runs", "delete", "--yes", "mnist", "living"];
    expect(&sandbox.run(&both), 2, &["is being written"]);
    assert!(run.path().exists() && living.path().exists(), "all stay");
    drop(session);
    expect(&sandbox.run(&["runs", "delete", "--yes", "--forever", "other"]), 0, &["other-", "is deleted"]);
    assert!(!other.path().exists());
    if cfg!(target_os = "linux") {
        expect(&sandbox.run(&["runs", "delete", "--yes", "mnist", &run.name()]), 0, &["is in the trash"]);
        assert!(!run.path().exists() && sandbox.join("Trash/files").join(run.name()).exists());
    }
}

#[test]
fn a_variable_names_the_folder_of_runs() {
    let sandbox = Sandbox::new();
    let run = sandbox.ended("mnist", Event::Stopped);
    fs::rename(sandbox.runs(), sandbox.join("elsewhere")).unwrap();
    let list = |more: &[&str]| {
        let mut command = sandbox.command(&[&["runs", "list"], more].concat());
        command.env("VALLEYSCOPE_RUNS", "elsewhere").output().unwrap()
    };
    expect(&list(&[]), 0, &[&run.name()]);
    fs::create_dir(sandbox.join("empty")).unwrap();
    expect(&list(&["--runs", "empty"]), 0, &["there are no runs in empty"]);
    expect(&sandbox.run(&["runs", "list"]), 0, &["there are no runs in", "valleyscope/runs"]);
}

#[test]
fn a_run_by_several_processes_is_listed_with_its_ranks() {
    let sandbox = Sandbox::new();
    let (run, mut session) = sandbox.begun("together");
    let started = session.before().started().cloned().unwrap_or_default();
    session.record(50, Event::Started(Started { steps: 400, processes: Some(3), ..started })).unwrap();
    session.sync().unwrap();
    expect(&sandbox.run(&["runs", "list"]), 0, &["RANKS", " 3\n"]);
    let point = |processes: f64| {
        MetricValues::from([
            (MetricId::LOSS, 0.5),
            (MetricId::PROCESSES, processes),
            (MetricId::SLOWEST_RANK, 2.0),
            (MetricId::WAIT_SHARE, 0.125),
        ])
    };
    // This session has another number of processes.
    session.record(51, Event::Train(point(4.0))).unwrap();
    session.sync().unwrap();
    expect(&sandbox.run(&["runs", "show", &run.name()]), 0, &["3 processes\n"]);
    session.record(52, Event::Train(point(3.0))).unwrap();
    session.sync().unwrap();
    expect(&sandbox.run(&["runs", "list"]), 0, &["3, slowest 2"]);
    let words = "3 processes, the slowest is rank 2, rank 0 waits 12.5 % of the time";
    expect(&sandbox.run(&["runs", "show", &run.name()]), 0, &[words]);
    sandbox.begun("alone");
    let list = sandbox.run(&["runs", "list"]);
    assert_eq!(stdout(&list).matches("slowest").count(), 1);
}

#[test]
fn long_texts_of_a_list_lose_their_middle() {
    let sandbox = Sandbox::new();
    let run = sandbox.ended("mnist", Event::Stopped);
    let title = format!("The beginning {} and the end", "of it ".repeat(30));
    Notes { title: title.clone(), ..Notes::default() }.write(&run).unwrap();
    let output = sandbox.run(&["runs", "list"]);
    let lines: Vec<&str> = stdout(&output).lines().collect();
    assert!(!lines[1].contains(&title), "{}", lines[1]);
    assert!(lines[1].starts_with(&run.name()) && lines[1].contains("  The beginning of it"), "{}", lines[1]);
    assert!(lines[1].contains('…') && lines[1].contains("and the end  "), "{}", lines[1]);
    assert!(!lines[0].contains("LEFT"), "a column with nothing in it is left out");
    expect(&sandbox.run(&["runs", "show", "mnist"]), 0, &[&title]);
}

#[test]
fn values_before_the_last_step_show_their_step() {
    let sandbox = Sandbox::new();
    let (run, mut session) = sandbox.begun("mnist");
    session.record(60, Event::Warning { message: "look at this".into() }).unwrap();
    session.record(60, Event::Stopped).unwrap();
    drop(session);
    for (command, said) in [
        ("show", ["0.0400 at step 50", "95.12 % at step 50"]),
        ("watch", ["loss 0.0400, test", "test loss 0.2500, test accuracy 95.12 % at step 50"]),
    ] {
        expect(&sandbox.run(&["runs", command, "mnist"]), if command == "watch" { 130 } else { 0 }, &said);
    }
    // The checkpoint that the events name is missing.
    for extension in ["ron", "safetensors"] {
        fs::write(run.path().join(format!("checkpoint-00000055.{extension}")), "").unwrap();
    }
    expect(&sandbox.run(&["runs", "show", "mnist"]), 0, &["checkpoint-00000055.safetensors, of step 55"]);
}

#[test]
fn a_run_is_found_by_name_beginning_or_folder() {
    let sandbox = Sandbox::new();
    let run = sandbox.ended("mnist", Event::Finished);
    let other = sandbox.ended("mnist", Event::Stopped);
    let path = run.path().to_str().unwrap();
    let name = run.name();
    for (words, folder) in [(&*name, None), (path, None), (&*name, sandbox.runs().to_str())] {
        let mut args = vec!["runs", "show", words];
        args.extend(folder.map(|folder| ["--runs", folder]).into_iter().flatten());
        expect(&sandbox.run(&args), 0, &[&name, "finished"]);
    }
    expect(&sandbox.run(&["runs", "show", "mnist"]), 2, &[&name, &other.name(), "say which"]);
    expect(&sandbox.run(&["runs", "show", "mnits"]), 2, &["there is no run `mnits`", "did you mean", &name]);
    expect(&sandbox.run(&["runs", "show", "quite else"]), 2, &["there is no run", "runs list"]);
    expect(&sandbox.run(&["runs", "show", "/nowhere/at/all"]), 2, &["no folder /nowhere/at/all"]);
    expect(&sandbox.run(&["runs", "list", "--runs", "nowhere"]), 2, &["--runs", "nowhere"]);
    fs::remove_dir_all(other.path()).unwrap();
    expect(&sandbox.run(&["runs", "show", "mn"]), 0, &[&name]);
}

#[test]
fn show_describes_the_run() {
    let sandbox = Sandbox::new();
    let run = sandbox.ended("mnist", Event::Failed { message: "CUDA out of memory\nat step 51".into() });
    Notes { note: "try batch 64".into(), ..Notes::default() }.write(&run).unwrap();
    let output = sandbox.run(&["runs", "show", &run.name()]);
    expect(&output, 0, &["failed: CUDA out of memory\n", "at step 51", "50/400 steps", "Adam on digits", "batch_size"]);
    expect(&output, 0, &["try batch 64", "95.12 %", "config.ron", "last events", "started: Adam on digits"]);
}

#[test]
fn watching_ends_with_the_run() {
    for (goodbye, code, said) in [
        (Event::Finished, 0, "finished"),
        (Event::Stopped, 130, "stopped"),
        (Event::Failed { message: "no memory".into() }, 1, "error: failed: no memory"),
    ] {
        let sandbox = Sandbox::new();
        let (run, mut session) = sandbox.begun("mnist");
        let watcher = sandbox.start(&["runs", "watch", &run.name()]);
        session.record(60, Event::Warning { message: "look at this".into() }).unwrap();
        session.record(60, goodbye).unwrap();
        drop(session);
        let output = watcher.wait_with_output().unwrap();
        expect(&output, code, &[said, "60/400 steps"]);
        assert_eq!(stdout(&output), "");
    }
}

#[test]
fn without_a_terminal_a_line_with_the_loss_is_printed_every_tenth_of_the_steps() {
    let sandbox = Sandbox::new();
    let (run, mut session) = sandbox.begun("mnist");
    let mut watcher = sandbox.start(&["runs", "watch", &run.name()]);
    let mut lines = BufReader::new(watcher.stderr.take().unwrap()).lines();
    let mut line_with = |words: &str| {
        let line = lines.by_ref().map(Result::unwrap).find(|line| line.contains(words));
        line.unwrap_or_else(|| panic!("no line with {words}"))
    };
    line_with("50/400 steps");
    let begun = Instant::now();
    for step in (90..=400).step_by(40) {
        let train = MetricValues::from([(MetricId::LOSS, step as f64 / 1000.0)]);
        session.record(step, Event::Train(train)).unwrap();
        session.sync().unwrap();
        let line = line_with(&format!("{step}/400 steps"));
        assert!(line.contains(&format!("loss {:.4}", step as f64 / 1000.0)), "{line}");
    }
    // Eight lines, one every five seconds, would take longer.
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    session.record(400, Event::Finished).unwrap();
    drop(session);
    line_with("finished, 400/400 steps");
    assert!(watcher.wait().unwrap().success());
}

#[test]
fn a_watched_run_outlives_the_watcher() {
    let sandbox = Sandbox::new();
    let (run, _session) = sandbox.begun("mnist");
    let watcher = sandbox.start(&["runs", "watch", &run.name()]);
    // The command handles signals before it reads the run.
    let looked =
        || fs::read_to_string(format!("/proc/{}/status", watcher.id())).is_ok_and(|status| catches(&status, 2));
    if Path::new("/proc/self/status").exists() {
        wait_until("the watcher", looked);
    }
    signal("INT", watcher.id());
    expect(&watcher.wait_with_output().unwrap(), 130, &["the run goes on"]);
}

/// Returns whether the process of this status has a handler for a signal.
fn catches(status: &str, signal: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

#[test]
fn watching_ends_if_the_folder_disappears() {
    let sandbox = Sandbox::new();
    let (run, session) = sandbox.begun("mnist");
    let watcher = sandbox.start(&["runs", "watch", &run.name()]);
    drop(session);
    fs::remove_dir_all(run.path()).unwrap();
    let code = watcher.wait_with_output().unwrap().status.code();
    assert!(matches!(code, Some(1 | 2)), "{code:?}");
}

/// Returns a worker of this protocol, a script that records a whole training in a moment.
#[cfg(unix)]
fn worker(sandbox: &Sandbox, protocol: u32) -> PathBuf {
    let answer = Handshake { protocol, ..Handshake::default() }.to_line();
    // Its clock is behind.
    let time = Timestamp::now() - Duration::from_secs(3600);
    let line = |event: Event| EventRecord { step: 0, time, wall_s: 0.0, event }.to_line();
    let events = [
        Event::Started(Started { title: "Nothing".into(), device: "cpu".into(), ..Started::default() }),
        Event::Warning { message: "these digits are not MNIST".into() },
        Event::Checkpoint { file: "last".into() },
        Event::Finished,
    ];
    let events = events.map(line).join("\n");
    let path = sandbox.join(format!("worker-{protocol}"));
    let text = format!(
        r#"#!/bin/sh
        if [ "$1" = --handshake ]; then echo '{answer}'; exit; fi
        echo '{events}' >> "$2/events.jsonl""#
    );
    put_program(&path, &text);
    path
}

#[cfg(unix)]
#[test]
fn a_training_prints_all_events_from_the_beginning() {
    let sandbox = Sandbox::new();
    let worker = worker(&sandbox, PROTOCOL);
    let output = sandbox.command(&["train", "mnist", "--worker"]).arg(&worker).output().unwrap();
    expect(&output, 0, &["step 0: started: Nothing, cpu", "warning: these digits are not MNIST", "checkpoint last"]);
}

#[cfg(unix)]
#[test]
fn a_setting_given_twice_is_refused_before_anything_is_made() {
    let sandbox = Sandbox::new();
    let worker = worker(&sandbox, PROTOCOL);
    for (option, value, set) in [("--data", ".", "data=Synthetic"), ("--device", "cpu", "device=Cpu")] {
        expect(&sandbox.train(&worker, &[option, value, "--set", set]), 2, &[option, "twice"]);
    }
    assert!(!sandbox.join("new").exists());
}

#[cfg(unix)]
#[test]
fn a_setting_that_is_refused_is_named() {
    let sandbox = Sandbox::new();
    let worker = worker(&sandbox, PROTOCOL);
    let said = ["--set optimizer.beta1=2: ", "found 2"];
    let output = sandbox.train(&worker, &["--set", "optimizer.beta1=2"]);
    expect(&output, 2, &said);
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    for device in ["cpu", "CPU", "Cpu"] {
        expect(&sandbox.train(&worker, &["--set", &format!("device={device}")]), 0, &[]);
    }
    expect(&sandbox.train(&worker, &["--set", "device=cuda"]), 2, &["`--device cpu` takes the processor"]);
    expect(&sandbox.train(&worker, &["--set", "device=gpu"]), 2, &["expected one of `Automatic`, `Cpu`, `Cuda`"]);
}

#[cfg(unix)]
#[test]
fn a_vocabulary_is_that_of_the_text_unless_it_is_set() {
    let sandbox = Sandbox::new();
    let worker = worker(&sandbox, PROTOCOL);
    fs::write(sandbox.join("text.txt"), "äöü and some words. ".repeat(200)).unwrap();
    let train = |more: &[&str]| {
        let mut command = sandbox.command(&["train", "gpt2-shakespeare", "--runs", "new", "--data", "text.txt"]);
        command.arg("--worker").arg(&worker).args(more).output().unwrap()
    };
    let said = ["14 different tokens", "`shape.vocabulary` is 13; set it to 14 or more"];
    expect(&train(&["--set", "shape.vocabulary=13"]), 2, &said);
    assert!(!sandbox.join("new").exists());
    expect(&train(&[]), 0, &[]);
    let [run] = &RunFolder::list(&sandbox.join("new")).unwrap()[..] else { panic!("there is one run") };
    assert!(run.config_text().unwrap().contains("vocabulary: 14,"));
}

#[test]
fn a_folder_without_the_data_is_refused_before_anything_is_made() {
    let sandbox = Sandbox::new();
    let worker = worker(&sandbox, PROTOCOL);
    fs::create_dir(sandbox.join("empty")).unwrap();
    for given in [["--data", "empty"], ["--set", "data=Folder(\"empty\")"]] {
        expect(&sandbox.train(&worker, &given), 2, &["empty", "train-images-idx3-ubyte"]);
    }
    assert!(!sandbox.join("new").exists());
}

#[cfg(unix)]
#[test]
fn a_missing_device_is_refused_before_anything_is_made() {
    let sandbox = Sandbox::new();
    let worker = worker(&sandbox, PROTOCOL);
    expect(&sandbox.train(&worker, &["--device", "cuda:3"]), 2, &["cuda:3", "--device"]);
    assert!(!sandbox.join("new").exists());
}

#[test]
fn a_run_that_never_began_has_no_points() {
    let sandbox = Sandbox::new();
    let run = RunFolder::create(&sandbox.runs(), "mnist", "Mnist()").unwrap();
    expect(&sandbox.run(&["runs", "export", &run.name(), "--out", "a.csv"]), 2, &["has not begun yet"]);
    assert!(!sandbox.join("a.csv").exists());
}

#[cfg(unix)]
#[test]
fn a_run_with_other_settings_is_named_after_them() {
    let sandbox = Sandbox::new();
    let worker = worker(&sandbox, PROTOCOL);
    let train = |settings: &[&str]| {
        let args: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        expect(&sandbox.train(&worker, &args), 0, &[]);
        let newest = RunFolder::list(&sandbox.join("new")).unwrap().pop().unwrap();
        Preset::read(&newest.config()).unwrap()
    };
    let plain = train(&["seed=3"]);
    let built_in = built_ins().iter().find(|built_in| built_in.name == "mnist").unwrap();
    assert_eq!([plain.title(), plain.description()], [built_in.preset.title(), built_in.preset.description()]);
    let changed = train(&["optimizer=Adam", "batch_size=8", "seed=3"]);
    assert_eq!(changed.title(), "MNIST classifier · FOCUS → Adam, batch 8");
    assert_eq!(changed.description(), "“FOCUS on MNIST, one run”, changed: FOCUS → Adam; batch 8.");
    let same = train(&["optimizer=Focus(\n gamma: 0.4)", "runs[0].seed=3", "batch_size=8", "batch_size=16"]);
    assert_eq!(same.title(), "MNIST classifier · FOCUS, γ 0.4, batch 16");
    for (shown, rule) in [("FOCUS", "Focus"), ("SGD(beta1: 0.5)", "Sgd(beta1: 0.5)")] {
        let [shown, rule] = [shown, rule].map(|it| train(&[&format!("optimizer={it}"), "title=Same"]));
        assert_eq!(shown, rule);
    }
    let named = train(&["optimizer=Adam", "title=My own"]);
    assert_eq!(named.title(), "My own");
    let rule =
        "optimizer=AdEmaMix(alpha: 0.123, beta3: 0.12345, alpha_warmup: 12345, beta3_warmup: 12345, beta2: 0.12)";
    let long = train(&[rule, "learning_rate=0.00012345", "steps=12", "precision=Float64"]);
    assert!(long.title().chars().count() <= 100 && long.title().ends_with(" more"), "{}", long.title());
}

#[cfg(unix)]
#[test]
fn a_replacing_rule_keeps_common_hyperparameters_and_prints_the_rest() {
    let sandbox = Sandbox::new();
    let worker = worker(&sandbox, PROTOCOL);
    let own = "Mnist(version: 1, title: \"Mine\", runs: [(optimizer: Adam(weight_decay: 0.1), learning_rate: 0.01)])";
    fs::write(sandbox.join("own.ron"), own).unwrap();
    let train = |settings: &[&str], said: &[&str]| {
        let mut command = sandbox.command(&["train", "own.ron", "--runs", "new", "--worker"]);
        command.arg(&worker);
        command.args(settings.iter().flat_map(|setting| ["--set", setting]));
        expect(&command.output().unwrap(), 0, said);
        let newest = RunFolder::list(&sandbox.join("new")).unwrap().pop().unwrap();
        Preset::read(&newest.config()).unwrap()
    };
    let rule = |preset: &Preset, key: &str| preset.workload().unwrap().training().unwrap().rule.get(key);
    let said = "FOCUS in place of Adam; new: γ 0.2, average decays; changed: Squares β₂ 0.999 → Average β₂ 0.99; without: \
                ε; kept: η, β₁ 0.9, ω 0.1";
    let focus = train(&["optimizer=FOCUS"], &[said]);
    assert_eq!([rule(&focus, "weight_decay"), rule(&focus, "beta2")], [Some(0.1), Some(0.99)]);
    assert_eq!(focus.title(), "MNIST classifier · Adam → FOCUS");
    let strong =
        train(&["optimizer=Focus(gamma: 0.4)"], &["new: γ 0.4, average decays; changed: ", "kept: η, β₁ 0.9, ω 0.1"]);
    assert_eq!([rule(&strong, "weight_decay"), rule(&strong, "gamma")], [Some(0.1), Some(0.4)]);
    let other = ["optimizer=Signum", "optimizer.weight_decay=0.3", "learning_rate=0.02"];
    let signum = train(&other, &["Signum in place of Adam; changed: ω 0.1 → 0.3; without: β₂, ε; kept: β₁ 0.9"]);
    assert_eq!(rule(&signum, "weight_decay"), Some(0.3));
    assert_eq!(signum.title(), "MNIST classifier · Adam → Signum, ω 0.3, η 0.02");
}

#[test]
fn runs_are_compared_in_a_table() {
    let sandbox = Sandbox::new();
    let run = |stem: &str, device: &str, omega: f64| {
        let text = format!(
            "Mnist(version: 1, title: \"Mine\", runs: [(optimizer: Adam(weight_decay: {omega}), learning_rate: 0.01)])"
        );
        let preset = Preset::parse(&text, "test").unwrap();
        let run = RunFolder::create(&sandbox.runs(), stem, &preset.to_ron()).unwrap();
        let mut session = RunSession::begin(&run).unwrap();
        let started = RunConfig::read(&run).unwrap().started();
        let started = Started { data: "MNIST".into(), device: device.into(), ..started };
        session.record(0, Event::Started(started)).unwrap();
        run
    };
    let (one, other) = (run("one", "cpu", 0.1), run("two", "cuda:0", 0.01));
    let diff = sandbox.run(&["runs", "diff", "one", "two"]);
    expect(&diff, 0, &[&one.name(), &other.name(), "settings are equal"]);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = stdout(&diff).lines().map(words).collect();
    assert_eq!(lines[1], ["Weight", "decay", "ω", "optimizer.weight_decay", "0.1", "0.01"]);
    assert_eq!(lines[2], ["Device", "that", "was", "used", "started.device", "cpu", "cuda:0"]);
    assert_eq!(lines.len(), 5, "{}", stdout(&diff));
    expect(&sandbox.run(&["runs", "diff", "one"]), 2, &["2 values"]);
    expect(&sandbox.run(&["runs", "diff", "one", "three"]), 2, &["there is no run `three`"]);
}

#[cfg(unix)]
#[test]
fn a_worker_of_another_version_does_not_resume() {
    let sandbox = Sandbox::new();
    let run = sandbox.ended("mnist", Event::Stopped);
    let before = fs::read(run.events()).unwrap();
    let worker = worker(&sandbox, PROTOCOL + 1);
    let mut command = sandbox.command(&["train", "--resume"]);
    let output = command.arg(run.path()).arg("--worker").arg(&worker).output().unwrap();
    expect(&output, 1, &[&format!("protocol {}", PROTOCOL + 1), "cargo xtask setup"]);
    assert_eq!(fs::read(run.events()).unwrap(), before);
}

#[test]
fn stopping_waits_for_the_end() {
    let sandbox = Sandbox::new();
    let (run, mut session) = sandbox.begun("mnist");
    let stopper = sandbox.start(&["runs", "stop", &run.name()]);
    let mut asked = Vec::new();
    wait_until("the command", || {
        asked = session.commands().unwrap();
        !asked.is_empty()
    });
    assert_eq!(asked[0].1, RunCommand::Stop);
    session.answer(&asked[0].0, true, "saving a checkpoint").unwrap();
    session.record(50, Event::Stopped).unwrap();
    drop(session);
    expect(&stopper.wait_with_output().unwrap(), 0, &["saving a checkpoint", "has ended at step 50: stopped"]);
    expect(&sandbox.run(&["runs", "stop", &run.name()]), 0, &["is not running: stopped"]);
}

#[test]
fn the_last_run_needs_no_name() {
    let sandbox = Sandbox::new();
    expect(&sandbox.run(&["runs", "show", "last"]), 2, &["there are no runs in", "runs"]);
    let earlier = sandbox.ended("b", Event::Finished);
    let (later, session) = sandbox.begun("a");
    drop(session);
    let output = sandbox.run(&["runs", "show", "last"]);
    expect(&output, 0, &[&later.name()]);
    assert!(!stdout(&output).contains(&earlier.name()));
}

#[test]
fn a_finished_run_has_nothing_left_to_train() {
    let sandbox = Sandbox::new();
    let run = sandbox.ended("mnist", Event::Finished);
    let worker = sandbox.join("worker");
    fs::write(&worker, "never started").unwrap();
    let output = sandbox.command(&["train", "--resume", "mnist", "--worker"]).arg(&worker).output().unwrap();
    expect(&output, 0, &["has finished", &run.name()]);
}

#[test]
fn points_are_exported() {
    let sandbox = Sandbox::new();
    let run = sandbox.ended("mnist", Event::Finished);
    expect(&sandbox.run(&["runs", "export", &run.name(), "--out", "points.csv"]), 0, &["51 rows", "points.csv"]);
    let text = fs::read_to_string(sandbox.join("points.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "step,time,wall_s,loss,lr,grad_norm,test_loss,test_accuracy");
    assert!(lines[50].starts_with("50,") && lines[50].ends_with(",0.04,0.001,1,,"), "{}", lines[50]);
    assert!(lines[51].ends_with(",,,,0.25,0.9512"), "{}", lines[51]);
    expect(&sandbox.run(&["runs", "export", &run.name(), "--out", "points.txt"]), 2, &["ends in .csv", "points.txt"]);
    expect(
        &sandbox.run(&["runs", "export", &run.name(), "--out", "no/such/points.csv"]),
        1,
        &["cannot write no/such/points.csv"],
    );
}

#[test]
fn a_run_has_no_figure_of_its_own() {
    let sandbox = Sandbox::new();
    let run = sandbox.ended("mnist", Event::Finished);
    let path = run.path().to_str().unwrap();
    expect(&sandbox.figure(&[path, "--out", "a.svg"]), 2, &["there is no figure of the run", path, "preset"]);
    expect(&sandbox.figure(&[&run.name(), "--out", "a.svg"]), 2, &[&run.name(), "preset"]);
    expect(&sandbox.run(&["runs", "export", &run.name(), "--out", "a.npz"]), 2, &["ends in .csv", "a.npz"]);
    let files = fs::read_dir(sandbox.path()).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_file());
    assert_eq!(files.count(), 0, "nothing is written");
}
