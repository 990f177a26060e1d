//! Events as lines: the format, and the same value back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use proptest::prelude::*;
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::run::{ConfigError, RunConfig};
use valleyscope_runs::{
    Event, EventRecord, FolderError, Forked, LockState, MetricId, MetricValues, Notes, RunCommand, RunFolder,
    RunReader, RunRefused, RunSession, SettingChange, Started, Timestamp, WorkerProgram, check_removable, remove, send,
};

use super::worker::fresh_run;
use crate::doctor::{Sandbox, expect, make_fifo};
use crate::left_out::left_out;
use crate::says::says;

fn record(step: u64, event: Event) -> EventRecord {
    EventRecord { step, time: Timestamp::from_millisecond(1_772_366_400_250).unwrap(), wall_s: 1.5, event }
}

#[track_caller]
fn expect_line(event: Event, rest: &str) {
    let name = serde_json::to_value(&event).unwrap()["event"].as_str().unwrap().to_owned();
    let record = record(40, event);
    let expected = format!(r#"{{"event":"{name}","step":40,"time":"2026-03-01T12:00:00.25Z","wall_s":1.5{rest}}}"#);
    assert_eq!(record.to_line(), expected);
    assert_eq!(EventRecord::parse(expected.as_bytes()).unwrap(), record);
}

#[test]
fn each_event_has_its_line() {
    let train = MetricValues::from([
        (MetricId::LOSS, 2.25),
        (MetricId::LEARNING_RATE, 0.001),
        (MetricId::GRAD_NORM, f64::INFINITY),
        (MetricId::SAMPLES_PER_S, 1e9),
    ]);
    expect_line(Event::Train(train), r#","loss":2.25,"lr":0.001,"grad_norm":"inf","samples_per_s":1000000000.0"#);
    let eval = MetricValues::from([(MetricId::TEST_LOSS, 0.5), (MetricId::TEST_ACCURACY, 0.75)]);
    expect_line(Event::Eval(eval), r#","test_loss":0.5,"test_accuracy":0.75"#);
    let eval = MetricValues::from([(MetricId::TRAIN_LOSS, f64::NEG_INFINITY), (MetricId::VAL_LOSS, 3.0)]);
    expect_line(Event::Eval(eval), r#","train_loss":"-inf","val_loss":3.0"#);
    let forked = Forked {
        from_run: "mnist".into(),
        from_step: 7,
        folder: "/runs/mnist".into(),
        config_sha256: "ab".into(),
        checkpoint_crc32: 5,
        keeps_optimizer: true,
    };
    let of = r#","from_run":"mnist","from_step":7,"folder":"/runs/mnist","config_sha256":"ab""#;
    expect_line(Event::Forked(forked), &format!(r#"{of},"checkpoint_crc32":5,"keeps_optimizer":true"#));
    expect_line(Event::Resumed { from_step: 7 }, r#","from_step":7"#);
    expect_line(Event::Sample { text: "To be,\nor \"not\"".into() }, r#","text":"To be,\nor \"not\"""#);
    expect_line(Event::Checkpoint { file: "checkpoint-40".into() }, r#","file":"checkpoint-40""#);
    let answer = |steps| Event::Command { id: "a".into(), ok: true, message: "saved".into(), steps };
    expect_line(answer(None), r#","id":"a","ok":true,"message":"saved""#);
    expect_line(answer(Some(9)), r#","id":"a","ok":true,"message":"saved","steps":9"#);
    let changes = vec![SettingChange { name: "optimizer.gamma".into(), label: "γ".into(), before: 0.25, now: 0.5 }];
    let of = r#"{"name":"optimizer.gamma","label":"γ","before":0.25,"now":0.5}"#;
    expect_line(Event::Changed { changes }, &format!(r#","changes":[{of}]"#));
    expect_line(Event::Warning { message: "θ".into() }, r#","message":"θ""#);
    expect_line(Event::Failed { message: "m".into() }, r#","message":"m""#);
    expect_line(Event::Stopped, "");
    expect_line(Event::Finished, "");
}

#[test]
fn nan_is_kept() {
    let nan = Event::Train(MetricValues::from([(MetricId::LOSS, f64::NAN)]));
    let line = record(1, nan).to_line();
    assert!(line.contains(r#""loss":"NaN""#), "{line}");
    match EventRecord::parse(line.as_bytes()).unwrap().event {
        Event::Train(train) => assert!(train.get(MetricId::LOSS).unwrap().is_nan()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn additions_of_later_versions_are_metrics_or_ignored() {
    let line = r#"{"z":[1],"note":true,"event":"train","loss":1,"lr":0.5,"grad_norm":-2,"loss_scale":65536,"step":3,"wall_s":2,
        "time":"2026-03-01T12:00:00+00:00"}"#;
    let record = EventRecord::parse(line.as_bytes()).unwrap();
    assert_eq!((record.step, record.wall_s), (3, 2.0));
    assert_eq!(
        record.event,
        Event::Train(MetricValues::from([
            (MetricId::LOSS, 1.0),
            (MetricId::LEARNING_RATE, 0.5),
            (MetricId::GRAD_NORM, -2.0),
            (MetricId::named("loss_scale").unwrap(), 65536.0),
        ]))
    );
    let unknown = br#"{"event":"celebrated","step":3,"time":"2026-03-01T12:00:00Z","wall_s":2}"#;
    assert!(EventRecord::parse(unknown).unwrap_err().to_string().contains("`celebrated`"));
}

#[test]
fn invalid_lines_are_refused() {
    for line in [
        &b""[..],
        b"{}",
        b"[]",
        b"\xff\xfe",
        br#"{"event":"train","step":1,"time":"2026-03-01T12:00:00Z","wall_s":1}"#,
        br#"{"event":"train","step":1,"time":"2026-03-01T12:00:00Z","wall_s":1,"loss":"nan"}"#,
        br#"{"event":"train","step":-1,"time":"2026-03-01T12:00:00Z","wall_s":1,"loss":1,"lr":1,"grad_norm":1}"#,
        br#"{"event":"stopped","step":1,"time":"yesterday","wall_s":1}"#,
        br#"{"event":"stopped","step":1,"time":"2026-03-01T12:00:00Z","wall_s":1} {}"#,
    ] {
        assert!(EventRecord::parse(line).is_err(), "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn the_ten_lines_of_python_in_the_book_write_a_run() {
    let book = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/src/own-runs.md")).unwrap();
    let mut scripts = book.split("```python\n").skip(1).map(|part| part.split("```").next().unwrap());
    let script = scripts.find(|script| script.contains("events.jsonl")).expect("a script");
    let sandbox = Sandbox::new();
    let output = sandbox.at_home(Command::new("python3")).args(["-c", script]).output();
    let Ok(output) = output else {
        left_out("program::runs::files", "the script of the book needs python3");
        return;
    };
    expect(&output, 0, &[]);
    expect(&sandbox.run(&["runs", "--runs", "runs", "list"]), 0, &["My training", "finished", "mine"]);
    let shown = sandbox.run(&["runs", "--runs", "runs", "show", "mine"]);
    expect(&shown, 0, &["finished", "100/100 steps", "optimizer.lr ", "accuracy"]);
    expect(&sandbox.run(&["runs", "--runs", "runs", "export", "mine", "--out", "mine.csv"]), 0, &["100 rows"]);
    let points = std::fs::read_to_string(sandbox.join("mine.csv")).unwrap();
    assert!(points.lines().next().unwrap().contains("accuracy"), "{points}");
    expect(&sandbox.run(&["runs", "check", "runs/mine"]), 0, &["lines: 102, sessions: 1"]);
}

proptest! {
    /// Numbers keep their bits, whatever they are.
    #[test]
    fn numbers_are_read_back_with_the_same_bits(bits in any::<[u64; 3]>(), wall_s in 0.0..1e12, step in any::<u64>()) {
        let [loss, lr, grad_norm] = bits.map(f64::from_bits);
        let train = MetricValues::from([(MetricId::LOSS, loss), (MetricId::LEARNING_RATE, lr), (MetricId::GRAD_NORM, grad_norm), (MetricId::SAMPLES_PER_S, loss), (MetricId::TOKENS_PER_S, lr)]);
        let line = EventRecord { wall_s, ..record(step, Event::Train(train.clone())) }.to_line();
        let back = EventRecord::parse(line.as_bytes()).unwrap();
        prop_assert_eq!((back.step, back.wall_s.to_bits()), (step, wall_s.to_bits()));
        let Event::Train(there) = back.event else { panic!("{line}") };
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        prop_assert_eq!(there.iter().count(), 5);
        for ((metric, now), (same_metric, then)) in there.iter().zip(train.iter()) {
            prop_assert!(metric == same_metric && same(now, then), "{}", line);
        }
    }

    #[test]
    fn any_text_is_read_back(text in any::<String>()) {
        let sample = record(1, Event::Sample { text });
        let line = sample.to_line();
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(EventRecord::parse(line.as_bytes()).unwrap(), sample);
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in any::<Vec<u8>>()) {
        let _ = EventRecord::parse(&bytes);
    }
}

#[test]
fn a_run_gets_a_folder_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    let parent = place.path().join("not/yet/there");
    let runs: Vec<RunFolder> = (0..3).map(|_| RunFolder::create(&parent, "mnist", "Mnist()").unwrap()).collect();
    for run in &runs {
        assert_eq!(fs::read_to_string(run.config()).unwrap(), "Mnist()");
        let name = run.name();
        let time = name.strip_prefix("mnist-").unwrap();
        assert!(time.len() >= 16 && time.as_bytes()[8] == b'T' && time.contains('Z'), "{name}");
        assert!(run.path().is_absolute());
    }
    let mut listed = RunFolder::list(&parent).unwrap();
    listed.sort_by_key(RunFolder::name);
    let mut made = runs.clone();
    made.sort_by_key(RunFolder::name);
    assert_eq!(
        listed.iter().map(RunFolder::name).collect::<Vec<_>>(),
        made.iter().map(RunFolder::name).collect::<Vec<_>>()
    );
    assert_eq!(made.windows(2).filter(|pair| pair[0] == pair[1]).count(), 0);
}

#[test]
fn names_suit_every_system() {
    let place = tempfile::tempdir().unwrap();
    for (stem, begins) in
        [("a b/c:d", "a-b-c-d-"), ("../up", "up-"), ("", "run-"), ("γ = 0.2", "0.2-"), (".hidden", "hidden-")]
    {
        let run = RunFolder::create(place.path(), stem, "").unwrap();
        assert!(run.name().starts_with(begins), "{stem:?} gave {}", run.name());
        assert_eq!(run.path().parent().unwrap(), place.path().canonicalize().unwrap());
    }
    let long = RunFolder::create(place.path(), &"x".repeat(1000), "").unwrap();
    assert!(long.name().len() < 120);
}

#[test]
fn only_runs_are_listed_and_opened() {
    let (place, run) = fresh_run();
    fs::create_dir(place.path().join("pictures")).unwrap();
    fs::write(place.path().join("config.ron"), "").unwrap();
    assert_eq!(RunFolder::list(place.path()).unwrap().len(), 1);
    assert!(RunFolder::list(&place.path().join("nowhere")).unwrap().is_empty());
    assert_eq!(RunFolder::open(run.path()).unwrap(), run);
    assert!(matches!(RunFolder::open(&place.path().join("pictures")), Err(FolderError::Foreign(_))));
    assert!(matches!(RunFolder::open(&place.path().join("nowhere")), Err(FolderError::Missing(_))));
}

#[test]
fn a_file_in_the_place_of_a_folder_is_named() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let error = RunFolder::create(&file, "mnist", "").unwrap_err().to_string();
    assert!(error.contains(&file.display().to_string()), "{error}");
}

#[test]
fn notes_are_stored_beside_the_run() {
    let (_place, run) = fresh_run();
    assert_eq!(Notes::read(&run).unwrap(), Notes::default());
    let notes = Notes { title: "The good one".into(), note: "two\nlines, \"quoted\"".into(), ..Notes::default() };
    notes.write(&run).unwrap();
    assert_eq!(Notes::read(&run).unwrap(), notes);
    fs::write(run.notes(), "(title: 3)").unwrap();
    says(Notes::read(&run).unwrap_err(), &["notes.ron", "title"]);
}

#[test]
fn a_living_run_is_not_removed() {
    let (_place, run) = fresh_run();
    assert!(matches!(check_removable(&run), Err(RunRefused::Busy(_))), "it may be starting");
    let mut session = RunSession::begin(&run).unwrap();
    assert!(matches!(remove(&run), Err(RunRefused::Busy(_))));
    session.record(0, valleyscope_runs::Event::Stopped).unwrap();
    drop(session);
    check_removable(&run).unwrap();
    remove(&run).unwrap();
    assert!(!run.path().exists());
}

#[test]
fn a_run_on_another_machine_is_removed_only_after_a_long_silence() {
    let (_place, run) = fresh_run();
    fs::write(run.lock(), r#"{"host":"far-away","pid":1,"started":"2026-03-01T12:00:00Z","lines":0}"#).unwrap();
    let heard = |seconds| {
        let beat = Timestamp::now() - Duration::from_secs(seconds);
        fs::write(run.heartbeat(), format!("{beat}\n")).unwrap();
    };
    heard(300);
    match remove(&run) {
        Err(error @ RunRefused::MayLive { .. }) => assert!(error.to_string().contains("on far-away"), "{error}"),
        other => panic!("{other:?}"),
    }
    heard(600);
    remove(&run).unwrap();
    assert!(!run.path().exists());
}

/// Functions that replace a file by something else.
const WAYS: [fn(&Path, &Path); 4] = [
    |path, victim| std::os::unix::fs::symlink(victim, path).unwrap(),
    |path, _| std::os::unix::fs::symlink("/nowhere/at/all", path).unwrap(),
    |path, _| make_fifo(path),
    |path, _| fs::create_dir(path).unwrap(),
];

/// Returns the result of `work`; panics if it seems to hang.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, outcome) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    outcome.recv_timeout(Duration::from_secs(120)).expect("it hangs, or it panicked")
}

/// Runs `work` on a run in which each of these files in turn is replaced in each way, and returns the outcomes.
fn with_special<T: Send + 'static>(
    file: fn(&RunFolder) -> PathBuf,
    work: impl Fn(&RunFolder) -> T + Clone + Send + 'static,
) -> Vec<T> {
    let outcomes = WAYS.map(|put| {
        let (sandbox, run) = fresh_run();
        drop(RunSession::begin(&run).unwrap());
        let victim = sandbox.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let _ = fs::remove_file(file(&run));
        put(&file(&run), &victim);
        let kind = file(&run).symlink_metadata().unwrap().file_type();
        let (run, work) = (run.clone(), work.clone());
        let (outcome, run) = in_time(move || (work(&run), run));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert!(!Path::new("/nowhere").exists());
        assert_eq!(file(&run).symlink_metadata().unwrap().file_type(), kind, "it is as it was");
        outcome
    });
    outcomes.into()
}

#[test]
fn a_session_writes_plain_files_only() {
    let files: [fn(&RunFolder) -> PathBuf; 4] =
        [RunFolder::lock, RunFolder::heartbeat, RunFolder::events, RunFolder::reserve];
    for file in files {
        for outcome in with_special(file, |run| RunSession::begin(run).map(drop).map_err(|error| error.to_string())) {
            says(outcome.unwrap_err(), &["expected a plain file, found a"]);
        }
    }
}

#[test]
fn commands_are_sent_and_received_in_plain_files_only() {
    for outcome in with_special(RunFolder::commands, |run| send(run, RunCommand::Save)) {
        outcome.unwrap_err();
    }
    let hear = |run: &RunFolder| match RunSession::begin(run) {
        Ok(mut session) => session.commands().map(drop).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    for outcome in with_special(RunFolder::commands, hear) {
        says(outcome.unwrap_err(), &["commands.jsonl", "expected a plain file"]);
    }
}

#[test]
fn notes_and_logs_are_plain_files() {
    let write = |run: &RunFolder| Notes { title: "Mine".into(), ..Notes::default() }.write(run);
    for outcome in with_special(RunFolder::notes, move |run| (Notes::read(run), write(run))) {
        outcome.0.unwrap_err();
        outcome.1.unwrap_err();
    }
    let start = |run: &RunFolder| {
        let worker = WorkerProgram::find(Some(Path::new("/bin/sh"))).unwrap();
        worker.start(run, false, None).map(drop).map_err(|error| error.to_string())
    };
    for outcome in with_special(RunFolder::log, start) {
        says(outcome.unwrap_err(), &["log.txt", "expected a plain file"]);
    }
}

#[test]
fn special_files_do_not_block_watchers() {
    let files: [fn(&RunFolder) -> PathBuf; 3] = [RunFolder::lock, RunFolder::heartbeat, RunFolder::config];
    for file in files {
        let look = |run: &RunFolder| {
            let lock_state = LockState::of(run);
            let status = RunReader::new(run.clone()).status(Timestamp::now()).unwrap();
            let _ = (check_removable(run), RunConfig::read(run), run.made());
            (lock_state, status.label())
        };
        assert_eq!(with_special(file, look).len(), WAYS.len());
    }
    for outcome in with_special(RunFolder::lock, LockState::of) {
        assert_eq!(outcome, LockState::Unknown);
    }
    for outcome in with_special(RunFolder::config, |run| RunConfig::read(run).map_err(|error| error.to_string())) {
        says(outcome.unwrap_err(), &["config.ron", "expected a plain file"]);
    }
}

/// Returns a run of a built-in preset, with fields set.
fn run_of(name: &str, set: &[(&str, &str)]) -> (tempfile::TempDir, RunFolder) {
    let preset = built_ins().iter().find(|preset| preset.name == name).unwrap().preset.clone();
    let set = set.iter().fold(preset, |preset, (path, value)| preset.with(path, value).unwrap());
    let place = tempfile::tempdir().unwrap();
    let run = RunFolder::create(place.path(), name, &set.to_ron()).unwrap();
    (place, run)
}

fn write(run: &RunFolder, events: Vec<Event>) {
    let time = "2026-03-01T12:00:00Z".parse().unwrap();
    let line = |event| EventRecord { step: 0, time, wall_s: 0.0, event }.to_line() + "\n";
    fs::write(run.events(), events.into_iter().map(line).collect::<String>()).unwrap();
}

fn started(run: &RunFolder) -> Started {
    RunConfig::read(run).unwrap().started()
}

fn check(run: &RunFolder) -> Result<(), ConfigError> {
    let mut reader = RunReader::new(run.clone());
    reader.poll().unwrap();
    RunConfig::read(run)?.check(reader.history())
}

fn change(run: &RunFolder, path: &str, value: &str) {
    let changed = Preset::read(&run.config()).unwrap().with(path, value).unwrap();
    fs::write(run.config(), changed.to_ron()).unwrap();
}

#[track_caller]
fn differences(run: &RunFolder) -> Vec<String> {
    match check(run) {
        Err(ConfigError::Changed { differences, .. }) => {
            differences.iter().map(|it| format!("{}: {} -> {}", it.field, it.before, it.now)).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_event_holds_the_config_and_its_hash() {
    let (_place, run) = run_of("mnist", &[]);
    let started = started(&run);
    assert_eq!(started.config, fs::read_to_string(run.config()).unwrap());
    assert!(started.config_sha256.len() == 64 && started.config_sha256.bytes().all(|b| b.is_ascii_hexdigit()));
    fs::write(run.config(), "").unwrap();
    assert!(matches!(RunConfig::read(&run), Err(ConfigError::Preset(_))));
}

#[test]
fn settings_that_affect_results_may_not_change() {
    for (path, value, expected) in [
        ("steps", "50", "steps: 400 -> 50"),
        ("learning_rate", "0.1", "learning_rate: 0.001 -> 0.1"),
        ("seed", "18446744073709551615", "seed: 0 -> 18446744073709551615"),
        ("batch_size", "8", "batch_size: 128 -> 8"),
        ("optimizer.gamma", "0.4", "optimizer.Focus.gamma: 0.2 -> 0.4"),
        ("precision", "Float64", "precision: Float32 -> Float64"),
        ("name", "Mine", "name: not given -> Mine"),
        ("log_every", "7", "log_every: 1 -> 7"),
    ] {
        let (_place, run) = run_of("mnist", &[]);
        write(&run, vec![Event::Started(started(&run))]);
        check(&run).unwrap();
        change(&run, path, value);
        assert_eq!(differences(&run), [expected]);
        let said = check(&run).unwrap_err().to_string();
        assert!(said.contains("config.ron") && said.contains("was") && said.contains("new run"), "{said}");
        assert_eq!(said.contains("SetSteps"), path == "steps", "{said}");
    }
    let (_place, run) = run_of("mnist", &[]);
    write(&run, vec![Event::Started(started(&run))]);
    change(&run, "optimizer", "Adam");
    let expected = "optimizer: Focus(beta1: 0.9, beta2: 0.99, decay: Average, gamma: 0.2, mask: Off, weight_decay: 0.01) \
                    -> Adam(beta1: 0.9, beta2: 0.999, eps: 1e-8, mask: Off, weight_decay: 0.01)";
    assert_eq!(differences(&run), [expected]);
    fs::write(run.config(), built_ins().iter().find(|preset| preset.name == "fig2cd").unwrap().preset.to_ron())
        .unwrap();
    assert_eq!(differences(&run), ["kind: Mnist -> Grid"]);
}

#[test]
fn words_comments_and_places_may_change() {
    let (_place, run) = run_of("mnist", &[]);
    write(&run, vec![Event::Started(started(&run))]);
    for (path, value) in
        [("title", "Another title"), ("description", "Other words"), ("data", "Synthetic"), ("device", "Cuda(3)")]
    {
        change(&run, path, value);
        check(&run).unwrap();
    }
    let text = fs::read_to_string(run.config()).unwrap();
    // As where a field is left out that has a default.
    let defaulted = text.lines().filter(|line| !line.contains("eval_every")).collect::<Vec<_>>().join("\n\n");
    assert_ne!(defaulted, text);
    fs::write(run.config(), format!("// My notes.\n{defaulted}")).unwrap();
    check(&run).unwrap();
}

#[test]
fn values_from_files_are_escaped_and_shortened() {
    let (_place, run) = run_of("mnist", &[]);
    let config = format!("Mnist(\u{1b}]52;c;eA==\u{7}{}", "x".repeat(90_000));
    write(&run, vec![Event::Started(Started { config, ..started(&run) })]);
    let said = check(&run).unwrap_err().to_string();
    assert!(!said.contains('\u{1b}') && said.len() < 2000, "{said}");
}
