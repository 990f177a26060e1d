//! Runs and TensorBoard's event files, by the real program. `make.py` made the files with TensorBoard's own classes.

mod live;

use std::fs;
use std::path::{Path, PathBuf};

use valleyscope_runs::{Event, MetricId, MetricSource, MetricValues, RunFolder, RunReader, RunSession, Started};

use crate::sandbox::{Sandbox, expect, stderr};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/tensorboard").join(name)
}

/// Returns the reader of the only run in a folder, with all of its points.
fn only_run(folder: &Path) -> RunReader {
    let runs = RunFolder::list(folder).expect("the folder can be listed");
    let [run] = runs.as_slice() else { panic!("expected one run, found {runs:?}") };
    let mut reader = RunReader::new(run.clone());
    reader.poll_to_end().expect("the events can be read");
    assert!(reader.history().damage().is_none(), "{}", reader.history().damage());
    reader
}

fn points(reader: &RunReader, name: &str) -> Vec<(u64, f64)> {
    let curve = reader.history().curve(MetricId::named(name).expect("a valid name"));
    curve.step.iter().copied().zip(curve.value.iter().copied()).collect()
}

#[test]
fn scalars_of_pytorch_become_a_run() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["runs", "import", golden("old").to_str().expect("a path in UTF-8")]);
    expect(&output, 0, &[]);
    let reader = only_run(&sandbox.runs());
    let expected = (0..10).map(|index| {
        let step = 10 * index;
        (step, if step < 80 { f64::from(2.0_f32 / (step as f32 + 1.0)) } else { 0.5 })
    });
    assert_eq!(points(&reader, "loss"), expected.collect::<Vec<_>>(), "the resumed file counts where both have a step");
    assert_eq!(points(&reader, "Loss/val").iter().map(|point| point.0).collect::<Vec<_>>(), [45, 95]);
    let history = reader.history();
    assert_eq!(history.steps(), Some(95));
    let titles: Vec<_> = history.metrics().into_iter().map(|info| (info.title, info.source)).collect();
    let (training, evaluation) = (MetricSource::Training, MetricSource::Evaluation);
    assert_eq!(titles, [("Loss/train".to_owned(), training), ("Loss/val".to_owned(), evaluation)]);
    for command in ["show", "list"] {
        let arguments: &[&str] = if command == "show" { &["runs", "show", "last"] } else { &["runs", "list"] };
        expect(&sandbox.run(arguments), 0, &[]);
    }
}

#[test]
fn scalars_of_tensorflow_become_a_run_without_the_histograms() {
    let sandbox = Sandbox::new();
    expect(&sandbox.run(&["runs", "import", golden("new").to_str().expect("a path in UTF-8")]), 0, &[]);
    let reader = only_run(&sandbox.runs());
    assert_eq!(points(&reader, "loss"), [(1, 0.25), (2, 0.5)]);
    assert_eq!(points(&reader, "epoch_accuracy"), [(1, 0.1), (2, 0.2)]);
    assert_eq!(reader.history().metrics().len(), 2);
}

#[test]
fn a_folder_of_folders_is_a_run_each() {
    let sandbox = Sandbox::new();
    expect(&sandbox.run(&["runs", "import", golden("").to_str().expect("a path in UTF-8")]), 0, &[]);
    assert_eq!(RunFolder::list(&sandbox.runs()).expect("the folder can be listed").len(), 2);
}

#[test]
fn an_exported_run_comes_back_with_its_metrics() {
    let sandbox = Sandbox::new();
    let run = RunFolder::create(&sandbox.runs(), "there", "Mnist()").expect("a new folder");
    let mut session = RunSession::begin(&run).expect("a new run");
    session.record(0, Event::Started(Started { steps: 20, ..Started::default() })).expect("the folder is writable");
    for step in 1..=20 {
        let train = [(MetricId::LOSS, 0.5_f64.powi(step)), (MetricId::GRAD_NORM, f64::INFINITY)];
        session.record(step as u64, Event::Train(MetricValues::from(train))).expect("the folder is writable");
    }
    session.record(20, Event::Eval(MetricValues::from([(MetricId::TEST_LOSS, 0.75)]))).expect("it is writable");
    session.record(20, Event::Finished).expect("the folder is writable");
    drop(session);
    let folder = sandbox.path().join("logs");
    let out = folder.to_str().expect("a path in UTF-8");
    expect(&sandbox.run(&["runs", "export", "last", "--tensorboard", out]), 0, &[]);
    let other = sandbox.path().join("other");
    expect(&sandbox.run(&["runs", "--runs", other.to_str().expect("a path in UTF-8"), "import", out]), 0, &[]);
    let [mut here, there] = [RunReader::new(run), only_run(&other)];
    here.poll_to_end().expect("the events can be read");
    for name in ["loss", "grad_norm", "test_loss"] {
        assert_eq!(points(&here, name), points(&there, name), "{name}");
    }
    let infos = |reader: &RunReader| reader.history().metrics();
    assert_eq!(infos(&here).len(), infos(&there).len());
}

#[test]
fn damaged_and_other_files_are_named() {
    let sandbox = Sandbox::new();
    let empty = sandbox.path().join("empty");
    fs::create_dir_all(&empty).expect("a new folder");
    let refused = sandbox.run(&["runs", "import", empty.to_str().expect("a path in UTF-8")]);
    expect(&refused, 2, &[]);
    assert!(stderr(&refused).contains("tfevents"), "{}", stderr(&refused));

    let whole = fs::read(golden("new/events.out.tfevents.1700000000.host.3.0")).expect("the golden is there");
    let folder = sandbox.path().join("cut");
    fs::create_dir_all(&folder).expect("a new folder");
    let file = folder.join("events.out.tfevents.1");
    let import = || sandbox.run(&["runs", "import", folder.to_str().expect("a path in UTF-8")]);
    // Cut in the third record, changed in the second one, and a length that no file has.
    let mut changed = whole.clone();
    changed[60] ^= 1;
    let huge = [&whole[..], &[0xff; 20]].concat();
    for (bytes, words) in
        [(&whole[..120], "ends within its record"), (&changed[..], "is damaged"), (&huge[..], "is damaged")]
    {
        fs::write(&file, bytes).expect("the folder is writable");
        let output = import();
        expect(&output, 0, &[]);
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}

/// Frames a record as in event files.
fn framed(record: &[u8]) -> Vec<u8> {
    let masked = |bytes: &[u8]| crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
    let length = (record.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), record, &masked(record)].concat()
}

/// Writes an event file of these records into a folder of its own, after those of TensorFlow, and imports it.
fn imported(sandbox: &Sandbox, folder: &str, records: &[Vec<u8>]) -> String {
    let folder = sandbox.path().join(folder);
    fs::create_dir_all(&folder).expect("a new folder");
    let whole = fs::read(golden("new/events.out.tfevents.1700000000.host.3.0")).expect("the golden is there");
    let content = [records.concat(), whole].concat();
    fs::write(folder.join("events.out.tfevents.1"), content).expect("the folder is writable");
    let output = sandbox.run(&["runs", "import", folder.to_str().expect("a path in UTF-8")]);
    expect(&output, 0, &[]);
    stderr(&output).to_owned()
}

#[test]
fn of_many_records_that_cannot_be_read_the_first_are_named_and_all_counted() {
    let sandbox = Sandbox::new();
    let words = imported(&sandbox, "odd", &vec![framed(&[0xff; 3]); 1000]);
    assert_eq!(words.matches("is no event").count(), 10, "{words}");
    assert!(words.contains("990 more records could not be read"), "{words}");
    assert_eq!(points(&only_run(&sandbox.runs()), "loss"), [(1, 0.25), (2, 0.5)], "what follows is read");
}

#[test]
fn a_record_that_would_take_much_memory_is_named_and_passed_over() {
    let sandbox = Sandbox::new();
    // A summary of 3 million values without a tag, each two bytes long.
    let values = [0x0a, 0x00].repeat(3_000_000);
    let length = [0x2a, 0x80 | (6_000_000 & 0x7f) as u8, 0x80 | (6_000_000 >> 7 & 0x7f) as u8];
    let length = [&length[..], &[0x80 | (6_000_000 >> 14 & 0x7f) as u8, (6_000_000 >> 21) as u8]].concat();
    let words = imported(&sandbox, "long", &[framed(&[length, values].concat())]);
    assert!(words.contains("record 1 of events.out.tfevents.1 has 6.0 MB and was not read"), "{words}");
    assert_eq!(points(&only_run(&sandbox.runs()), "loss"), [(1, 0.25), (2, 0.5)], "what follows is read");
}

#[test]
#[cfg(unix)]
fn the_name_of_a_folder_stays_within_the_comment_of_the_config() {
    let sandbox = Sandbox::new();
    imported(&sandbox, "two\nlines", &[]);
    let runs = RunFolder::list(&sandbox.runs()).expect("the folder can be listed");
    let config = fs::read_to_string(runs[0].config()).expect("it has a config");
    assert_eq!(config.lines().count(), 1, "{config}");
    assert!(config.contains("two\\nlines"), "{config}");
}
