//! `valleyscope runs check` on folders of intact and of damaged runs.

use std::collections::BTreeMap;
use std::fs;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::Output;

use valleyscope_experiments::preset::built_ins;
use valleyscope_experiments::run::RunConfig;
use valleyscope_runs::{Event, MetricId, MetricValues, RunFolder, RunSession, Started};

use crate::doctor::{Sandbox, make_fifo, said};
use crate::says::says;

/// Returns a run of the paper's classifier that took some steps, with the checkpoints of two.
fn trained(sandbox: &Sandbox) -> (RunFolder, RunSession) {
    let mnist = &built_ins().iter().find(|built_in| built_in.name == "mnist").unwrap().preset;
    let run = RunFolder::create(&sandbox.runs(), "mnist", &mnist.trainings()[0].to_ron()).unwrap();
    let mut session = RunSession::begin(&run).unwrap();
    let started = RunConfig::read(&run).unwrap().started();
    let config = started.config_sha256.clone();
    session.record(0, Event::Started(Started { fingerprint: "digits".into(), ..started })).unwrap();
    for step in 1..=40 {
        let train = MetricValues::from([
            (MetricId::LOSS, 2.0 / step as f64),
            (MetricId::LEARNING_RATE, 0.001),
            (MetricId::GRAD_NORM, 1.0),
        ]);
        session.record(step, Event::Train(train)).unwrap();
        if step % 20 == 0 {
            checkpoint(&run, step, &config);
        }
    }
    (run, session)
}

/// Writes a checkpoint of a single tensor of four numbers.
fn checkpoint(run: &RunFolder, step: u64, config: &str) {
    let header = br#"{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#;
    let tensors = [&(header.len() as u64).to_le_bytes()[..], header, &[7; 16]].concat();
    let text = |text_sum: u32, crc32: u32| {
        format!(
            "(version: 1, step: {step}, wall_s: 1.0, optimizer_steps: {step}, powers: {{}}, best: None, data: \"digits\", \
             config: \"{config}\", preset: \"\", since: None, bytes: {}, text_sum: {text_sum}, crc32: {crc32})",
            tensors.len()
        )
    };
    let sum = crc32fast::hash(&[&tensors[..], text(0, 0).as_bytes()].concat());
    fs::write(file(run, step, "safetensors"), &tensors).unwrap();
    fs::write(file(run, step, "ron"), text(crc32fast::hash(text(0, sum).as_bytes()), sum)).unwrap();
}

fn file(run: &RunFolder, step: u64, extension: &str) -> std::path::PathBuf {
    run.path().join(format!("checkpoint-{step:08}.{extension}"))
}

pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

/// Changes the byte at this offset of a file.
pub fn spoil(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x20;
    fs::write(path, bytes).unwrap();
}

/// Checks that there is a line with each of these beginnings and words.
#[track_caller]
pub fn expect(output: &Output, code: i32, lines: &[(&str, &str, &str)]) {
    let said = said(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for (condition, part, words) in lines {
        let found = said.lines().any(|line| {
            let mut columns = line.split_whitespace();
            columns.next() == Some(condition) && columns.next() == Some(part) && line.contains(words)
        });
        assert!(found, "no {condition} {part} {words:?} in:\n{said}");
    }
}

#[test]
fn an_intact_run_is_reported_as_intact_and_not_changed() {
    let sandbox = Sandbox::new();
    let (run, mut session) = trained(&sandbox);
    session.record(40, Event::Stopped).unwrap();
    drop(session);
    let before = files(run.path());
    for more in [&[][..], &["--repair"]] {
        let output = sandbox.run(&[&["runs", "check", "mnist"], more].concat());
        expect(
            &output,
            0,
            &[
                ("intact", "config.ron", "Mnist"),
                ("note", "status", "stopped, step 40"),
                ("intact", "events.jsonl", "lines: 42, sessions: 1"),
                ("intact", "checkpoints", "2, of steps 20, 40"),
            ],
        );
        assert!(files(run.path()) == before);
    }
}

#[test]
fn damage_is_reported_and_repaired_without_loss() {
    let sandbox = Sandbox::new();
    let (run, mut session) = trained(&sandbox);
    session.record(40, Event::Stopped).unwrap();
    drop(session);
    let config = fs::read_to_string(run.config()).unwrap();
    let edited = config.replacen("batch_size: ", "batch_size: 1", 1);
    assert_ne!(edited, config);
    fs::write(run.config(), &edited).unwrap();
    let third = fs::read_to_string(run.events()).unwrap().lines().take(2).map(|line| line.len() + 1).sum::<usize>();
    spoil(&run.events(), third);
    OpenOptions::new().append(true).open(run.events()).unwrap().write_all(br#"{"event":"tra"#).unwrap();
    for (from, to) in [(20, 60), (40, 80), (40, 90)] {
        fs::copy(file(&run, from, "safetensors"), file(&run, to, "safetensors")).unwrap();
        fs::copy(file(&run, from, "ron"), file(&run, to, "ron")).unwrap();
    }
    spoil(&file(&run, 40, "safetensors"), 75);
    fs::remove_file(file(&run, 80, "ron")).unwrap();
    fs::remove_file(file(&run, 90, "safetensors")).unwrap();
    fs::write(run.reserve(), "reserve").unwrap();
    fs::write(run.path().join(".valleyscope-aB3dE5.tmp"), "half").unwrap();
    fs::write(run.commands(), "no command\n").unwrap();

    let before = files(run.path());
    let damaged = [
        ("damaged", "checkpoint-00000040.safetensors", "checksum"),
        ("damaged", "checkpoint-00000060.safetensors", "expected step 60, found step 20"),
        ("intact", "checkpoints", "1, of steps 20"),
        ("note", "events.jsonl", "13 bytes of an incomplete line"),
        ("damaged", "events.jsonl", "lines: 42; skipped 1 line that is no event"),
        ("note", "commands.jsonl", "invalid lines, which are refused: 1"),
    ];
    let repairable = [
        ("config.ron", "`batch_size`"),
        ("checkpoint-00000080.safetensors", "is an incomplete checkpoint"),
        ("checkpoint-00000090.ron", "no tensors"),
    ];
    let useless = [("reserve", "killed"), (".valleyscope-aB3dE5.tmp", "never finished")];
    let with = |condition: &'static str, of_useless: &'static str| {
        let repairable = repairable.iter().map(move |(part, words)| (condition, *part, *words));
        let useless = useless.iter().map(move |(part, words)| (of_useless, *part, *words));
        damaged.into_iter().chain(repairable).chain(useless).collect::<Vec<_>>()
    };
    let output = sandbox.run(&["runs", "check", "mnist"]);
    expect(&output, 1, &with("repairable", "note"));
    assert!(said(&output).contains("--repair"));
    assert!(files(run.path()) == before, "a check changes nothing");

    expect(&sandbox.run(&["runs", "check", "mnist", "--repair"]), 1, &with("repaired", "repaired"));
    let after = files(run.path());
    assert_eq!(after["config.ron"], config.as_bytes());
    assert_eq!(after["config.ron.kept-1"], edited.as_bytes());
    assert!(after["events.jsonl"] == before["events.jsonl"]);
    for name in ["checkpoint-00000080.safetensors", "checkpoint-00000090.ron"] {
        assert!(!after.contains_key(name) && after[&format!("{name}.kept-1")] == before[name]);
    }
    for name in ["reserve", ".valleyscope-aB3dE5.tmp"] {
        assert!(!after.contains_key(name));
    }
    let again = sandbox.run(&["runs", "check", "mnist"]);
    expect(&again, 1, &damaged);
    assert!(!said(&again).contains("repair"), "{}", said(&again));
}

#[test]
fn skipped_lines_are_named_by_check_list_show_and_export() {
    let sandbox = Sandbox::new();
    let (run, session) = trained(&sandbox);
    drop(session);
    let more = "no event\n{\"event\":\"celebrated\",\"step\":40,\"time\":\"2026-03-01T12:00:00Z\",\"wall_s\":1}\n";
    OpenOptions::new().append(true).open(run.events()).unwrap().write_all(more.as_bytes()).unwrap();
    let words = "skipped 2 lines that are no events";
    expect(&sandbox.run(&["runs", "check", "mnist"]), 1, &[("damaged", "events.jsonl", words)]);
    assert!(said(&sandbox.run(&["runs", "list"])).contains("warned"));
    for command in [&["show", "mnist"][..], &["export", "mnist", "--out", "points.csv"]] {
        let output = sandbox.run(&[&["runs"], command].concat());
        assert!(said(&output).contains(words), "{}", said(&output));
    }
}

#[test]
fn a_run_whose_events_are_gone_is_reported() {
    let sandbox = Sandbox::new();
    let (run, session) = trained(&sandbox);
    drop(session);
    fs::remove_file(run.events()).unwrap();
    let check = || sandbox.run(&["runs", "check", "mnist"]);
    expect(&check(), 1, &[("damaged", "events.jsonl", "`valleyscope train --resume` resumes")]);
    let mut session = RunSession::begin(&run).unwrap();
    session.resume(40, 1.0).unwrap();
    drop(session);
    expect(&check(), 0, &[("intact", "events.jsonl", "lines: 1, sessions: 1")]);
}

fn host() -> String {
    String::from_utf8(std::process::Command::new("uname").arg("-n").output().unwrap().stdout).unwrap().trim().to_owned()
}

#[test]
fn a_cut_line_is_reported_even_if_a_worker_may_run_elsewhere() {
    let sandbox = Sandbox::new();
    let (run, session) = trained(&sandbox);
    drop(session);
    OpenOptions::new().append(true).open(run.events()).unwrap().write_all(br#"{"event":"tra"#).unwrap();
    let lock = r#"{"host":"far-away","pid":1,"started":"2026-03-01T12:00:00Z","lines":0}"#;
    fs::write(run.lock(), lock).unwrap();
    let check = |more: &[&str]| sandbox.run(&[&["runs", "check", "mnist"], more].concat());
    let told = [("note", "status", "last seen"), ("note", "events.jsonl", "13 bytes of an incomplete line")];
    expect(&check(&[]), 0, &told);
    let refused = check(&["--repair"]);
    assert!(said(&refused).contains("may still be trained, on another machine"), "{}", said(&refused));
    let resumed = sandbox.run(&["train", "--resume", "mnist"]);
    assert_eq!(resumed.status.code(), Some(2));
    assert!(said(&resumed).contains("may still be trained, on another machine"), "{}", said(&resumed));
    // Nobody trains a copy on this machine.
    let copy = sandbox.runs().join("copy");
    fs::write(run.lock(), lock.replace("far-away", &host())).unwrap();
    fs::create_dir(&copy).unwrap();
    for (name, bytes) in files(run.path()) {
        fs::write(copy.join(name), bytes).unwrap();
    }
    let output = sandbox.run(&["runs", "check", "copy", "--repair"]);
    expect(&output, 0, &[("note", "status", "crashed"), ("note", "events.jsonl", "13 bytes")]);
}

#[test]
fn the_only_tensors_are_not_moved() {
    let sandbox = Sandbox::new();
    let (run, session) = trained(&sandbox);
    drop(session);
    let whole = fs::read_to_string(run.events()).unwrap();
    let line = |step: u64| (step, Event::Checkpoint { file: format!("checkpoint-{step:08}.safetensors") });
    for step in [20, 40] {
        fs::remove_file(file(&run, step, "ron")).unwrap();
    }
    // As of a worker that was killed while it saved the first one.
    let first = ("repairable", "checkpoint-00000040.safetensors", "its description, the file .ron, is missing");
    expect(&sandbox.run(&["runs", "check", "mnist"]), 1, &[first]);
    let mut session = RunSession::begin(&run).unwrap();
    let (step, saved) = line(40);
    session.record(step, saved).unwrap();
    drop(session);
    for events in [fs::read_to_string(run.events()).unwrap(), format!("no event, {whole}")] {
        fs::write(run.events(), events).unwrap();
        let before = files(run.path());
        let kept = ["checkpoint-00000020.safetensors", "checkpoint-00000040.safetensors"];
        let kept = kept.map(|name| ("damaged", name, "no other checkpoint is intact"));
        expect(&sandbox.run(&["runs", "check", "mnist", "--repair"]), 1, &kept);
        assert!(files(run.path()) == before);
    }
    // A worker does not start over if the events are missing.
    fs::remove_file(run.events()).unwrap();
    assert!(!RunSession::begin(&run).unwrap().is_new());
}

#[test]
fn a_run_in_training_is_not_repaired() {
    let sandbox = Sandbox::new();
    let (run, mut session) = trained(&sandbox);
    session.sync().unwrap();
    // The heartbeat is left out, as it continues.
    let files = |run: &RunFolder| {
        let mut files = files(run.path());
        files.remove(RunFolder::HEARTBEAT);
        files
    };
    let before = files(&run);
    expect(&sandbox.run(&["runs", "check", "mnist"]), 0, &[("note", "status", "running")]);
    let refused = sandbox.run(&["runs", "check", "mnist", "--repair"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("is being written"), "{}", said(&refused));
    assert!(files(&run) == before);
    drop(session);
    expect(&sandbox.run(&["runs", "check", "mnist", "nothing"]), 2, &[]);
}

#[test]
fn special_and_missing_files_are_reported() {
    let sandbox = Sandbox::new();
    let (run, session) = trained(&sandbox);
    drop(session);
    fs::remove_file(run.events()).unwrap();
    fs::remove_file(run.lock()).unwrap();
    for path in [run.notes(), run.lock()] {
        make_fifo(path);
    }
    let output = sandbox.run(&["runs", "check", "mnist"]);
    let lost = [
        ("damaged", "events.jsonl", "there are checkpoints"),
        ("damaged", "notes.ron", "found a FIFO"),
        ("damaged", "lock", "found a FIFO"),
        ("intact", "checkpoints", "2, of steps 20, 40"),
    ];
    expect(&output, 1, &lost);
    make_fifo(run.events());
    expect(&sandbox.run(&["runs", "check", "mnist"]), 1, &[("damaged", "events.jsonl", "found a FIFO")]);
}

#[test]
fn a_folder_of_runs_is_checked_run_by_run() {
    let sandbox = Sandbox::new();
    let runs: Vec<RunFolder> = (0..3).map(|_| trained(&sandbox).0).collect();
    fs::create_dir(sandbox.runs().join("pictures")).unwrap();
    spoil(&file(&runs[1], 40, "safetensors"), 75);
    fs::write(runs[1].reserve(), "reserve").unwrap();
    fs::write(runs[2].reserve(), "reserve").unwrap();
    let folder = sandbox.runs();
    let output = sandbox.run(&["runs", "check", folder.to_str().unwrap()]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 4, "{said}");
    for (run, how) in runs.iter().zip(["intact", "damaged: checkpoint-00000040.safetensors", "intact"]) {
        assert!(lines.contains(&&*format!("{}  {how}", run.name())), "{said}");
    }
    assert!(lines[3].contains("1 of 3 folders is not intact"), "{said}");
}

#[test]
fn a_finished_run_with_an_edited_config_is_reported() {
    let sandbox = Sandbox::new();
    let (run, mut session) = trained(&sandbox);
    session.answer_steps("1", 40).unwrap();
    session.record(40, Event::Finished).unwrap();
    drop(session);
    let config = fs::read_to_string(run.config()).unwrap();
    fs::write(run.config(), config.replacen("batch_size: ", "batch_size: 1", 1)).unwrap();
    let output = sandbox.run(&["train", "--resume", "mnist"]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    says(&said, &["has finished", "`batch_size` was", "`valleyscope runs check --repair` does that"]);
}

#[cfg(unix)]
#[test]
fn a_fifo_is_refused_as_preset_and_a_shells_pipe_accepted() {
    let sandbox = Sandbox::new();
    let fifo = sandbox.join("fifo");
    make_fifo(&fifo);
    std::os::unix::fs::symlink(&fifo, sandbox.join("link")).unwrap();
    for name in ["fifo", "link"] {
        let output = sandbox.run(&["presets", "check", name]);
        assert!(output.status.code() == Some(2) && said(&output).contains("found a FIFO"), "{}", said(&output));
    }
    let piped = format!("{} presets show fig1c | {0} presets check /dev/stdin", env!("CARGO_BIN_EXE_valleyscope"));
    let output = sandbox.at_home(std::process::Command::new("sh")).args(["-c", &piped]).output().unwrap();
    assert!(output.status.success() && said(&output).contains("good"), "{}", said(&output));
}

#[test]
fn sweeps_are_checked_against_themselves() {
    const SWEEP: [&str; 12] =
        ["sweep", "fig2a", "--out", "out", "--grid", "4x5", "--lrs", "3", "--replicates", "4", "--steps", "20"];
    let sandbox = Sandbox::new();
    assert!(sandbox.run(&SWEEP).status.success());
    let out = sandbox.join("out");
    let whole = [
        ("intact", "phase.npz", "20 pixels"),
        ("intact", "spec.ron", "repeats phase.npz"),
        ("intact", "phase.csv", "what phase.npz says"),
    ];
    expect(&sandbox.run(&["runs", "check", "out"]), 0, &whole);
    let before = files(&out);
    let other = String::from_utf8(before["spec.ron"].clone()).unwrap().replacen("seed: 0", "seed: 1", 1);
    assert_ne!(other.as_bytes(), before["spec.ron"]);
    fs::write(out.join("spec.ron"), &other).unwrap();
    spoil(&out.join("phase.csv"), before["phase.csv"].len() - 3);
    fs::write(out.join(".valleyscope-aB3dE5.tmp"), "half").unwrap();
    let repairable = [("spec.ron", "not the spec"), ("phase.csv", "other than")];
    let with = |condition: &'static str, left: &'static str| {
        let left = (left, ".valleyscope-aB3dE5.tmp", "killed");
        repairable.map(|(part, words)| (condition, part, words)).into_iter().chain([left]).collect::<Vec<_>>()
    };
    expect(&sandbox.run(&["runs", "check", "out"]), 1, &with("repairable", "note"));
    expect(&sandbox.run(&["runs", "check", "out", "--repair"]), 0, &with("repaired", "repaired"));
    let mut after = files(&out);
    assert_eq!(after.remove("spec.ron.kept-1").unwrap(), other.as_bytes());
    assert!(after.remove("phase.csv.kept-1").is_some());
    assert!(after == before);
    let array = before["phase.npz"].windows(6).rposition(|bytes| bytes == b"\x93NUMPY").unwrap();
    spoil(&out.join("phase.npz"), array + 20);
    expect(&sandbox.run(&["runs", "check", "out"]), 1, &[("damaged", "phase.npz", "phase.npz")]);
}

#[test]
fn pictures_are_read() {
    const SWEEP: &str = "sweep fig2b --out out --grid 2x3 --lrs 2 --replicates 4 --steps 20";
    let sandbox = Sandbox::new();
    assert!(sandbox.run(&SWEEP.split(' ').collect::<Vec<_>>()).status.success());
    let out = sandbox.join("out");
    let check = || sandbox.run(&["runs", "check", "out"]);
    let whole = [("intact", "phase.png", "shows"), ("intact", "phase.svg", "shows")];
    expect(&check(), 0, &whole);
    let before = files(&out);
    spoil(&out.join("phase.png"), before["phase.png"].len() / 2);
    fs::write(out.join("phase.svg"), &before["phase.svg"][..before["phase.svg"].len() / 2]).unwrap();
    expect(&check(), 1, &[("damaged", "phase.png", "draws it again"), ("damaged", "phase.svg", "draws it again")]);
    // This picture is another one, and intact.
    let args = ["figure", "./out", "--out", "out/phase.png", "--dpi", "100"];
    assert!(sandbox.run(&args).status.success());
    expect(&check(), 1, &[("note", "phase.png", "not what this version draws")]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_checkpoint_of_a_sweep_is_read_record_by_record() {
    let sandbox = Sandbox::new();
    // Files of more than 64 KiB fail as on a full disk, so that the sweep ends early.
    let sweep = ["sweep", "fig2a", "--out", "out", "--grid", "60x50", "--lrs", "5", "--replicates", "10"];
    let output = sandbox.run_limited(64, &[&sweep[..], &["--steps", "200", "--threads", "1"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let path = sandbox.join("out/pixels.bin");
    let length = fs::metadata(&path).unwrap().len() as usize;
    expect(&sandbox.run(&["runs", "check", "out"]), 0, &[("intact", "pixels.bin", "of 3000 pixels")]);
    let own = fs::read(&path).unwrap();
    fs::write(&path, of_another_version(&own)).unwrap();
    let told = ("damaged", "pixels.bin", "which alone can go on with it, and this is version");
    let missing = ("damaged", "phase.npz", "missing");
    expect(&sandbox.run(&["runs", "check", "out"]), 1, &[told, missing]);
    fs::write(&path, own).unwrap();
    spoil(&path, length / 2);
    let before = files(&sandbox.join("out"));
    let output = sandbox.run(&["runs", "check", "out", "--repair"]);
    expect(&output, 1, &[("damaged", "pixels.bin", "records that have changed, and are computed again: 1")]);
    spoil(&path, 20);
    let output = sandbox.run(&["runs", "check", "out"]);
    expect(&output, 1, &[("damaged", "pixels.bin", "beginning"), ("damaged", "phase.npz", "missing")]);
    spoil(&path, 20);
    assert!(files(&sandbox.join("out")) == before);
    let held = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    held.lock().unwrap();
    expect(&sandbox.run(&["runs", "check", "out"]), 0, &[("note", "pixels.bin", "at work")]);
    assert_eq!(sandbox.run(&["runs", "check", "out", "--repair"]).status.code(), Some(1));
}

/// Returns the records with a header that names another version.
fn of_another_version(records: &[u8]) -> Vec<u8> {
    const MAGIC: usize = 8;
    let end = MAGIC + records[MAGIC..].iter().position(|byte| *byte == 0).unwrap();
    let mut header = cobs::decode_vec(&records[MAGIC..end]).unwrap();
    header.truncate(header.len() - 4);
    // The length of the version, and the version.
    header[env!("CARGO_PKG_VERSION").len()] = b'~';
    let checked = [&header[..], &crc32fast::hash(&header).to_le_bytes()].concat();
    [&records[..MAGIC], &cobs::encode_vec(&checked), &records[end..]].concat()
}
