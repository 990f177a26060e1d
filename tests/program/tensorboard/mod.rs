//! Runs and TensorBoard's event files, by the real program. `make.py` made the files with TensorBoard's own classes.

#[cfg(unix)]
mod follow;
mod live;

use std::fs;
use std::path::{Path, PathBuf};

use valleyscope_runs::{Event, MetricId, MetricSource, MetricValues, RunFolder, RunReader, RunSession, Started};

use crate::says::says;

use super::doctor::{Sandbox, expect, stderr, stdout};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/tensorboard").join(name)
}

/// Returns the reader of the only run in a folder, with all of its points.
fn only_run(folder: &Path) -> RunReader {
    let runs = RunFolder::list(folder).expect("the folder can be listed");
    let [run] = runs.as_slice() else { panic!("expected one run, found {runs:?}") };
    let mut reader = RunReader::new(run.clone());
    reader.poll().expect("the events can be read");
    assert_eq!(reader.history().skipped(), 0);
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
    here.poll().expect("the events can be read");
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
    for (bytes, code, words) in
        [(&whole[..120], 0, "ends within its record"), (&changed[..], 2, "is damaged"), (&huge[..], 0, "is damaged")]
    {
        fs::write(&file, bytes).expect("the folder is writable");
        let output = import();
        // Nothing precedes the damage in the second file.
        expect(&output, code, &[]);
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
fn records_that_cannot_be_read_are_counted_with_the_first_as_an_example() {
    let sandbox = Sandbox::new();
    let words = imported(&sandbox, "odd", &vec![framed(&[0xff; 3]); 1000]);
    let line = "records of events.out.tfevents.1 that are no events are left out (1000, such as record 1)";
    assert!(words.contains(line), "{words}");
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
    assert!(words.contains("that are too long are left out (1, such as record 1 of 6.0 MB)"), "{words}");
    assert_eq!(points(&only_run(&sandbox.runs()), "loss"), [(1, 0.25), (2, 0.5)], "what follows is read");
}

#[test]
#[cfg(unix)]
fn a_line_feed_in_the_name_of_a_folder_makes_no_line() {
    let sandbox = Sandbox::new();
    let words = imported(&sandbox, "two\nlines", &[]);
    assert!(words.contains("two\\nlines") && !words.contains("two\nlines"), "{words}");
    let runs = RunFolder::list(&sandbox.runs()).expect("the folder can be listed");
    let log = fs::read_to_string(runs[0].log()).expect("it has a log");
    assert!(log.lines().next().is_some_and(|line| line.contains("two\\nlines")), "{log}");
    let odd = sandbox.runs().join("a  intact\nreal-run");
    fs::rename(runs[0].path(), odd).expect("it can be renamed");
    let folder = sandbox.runs();
    let checked = sandbox.run(&["runs", "check", folder.to_str().expect("a path in UTF-8")]);
    expect(&checked, 0, &[]);
    assert_eq!(stdout(&checked), "a  intact\\nreal-run  intact\n");
}

/// Returns a field of a protobuf message: bytes, which a text or a message is.
fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2][..], &varint(content.len() as u64), content].concat()
}

fn double(number: u8, value: f64) -> Vec<u8> {
    [&[number << 3 | 1][..], &value.to_le_bytes()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Returns the record of a summary's value.
fn record(time: f64, step: i64, value: &[u8]) -> Vec<u8> {
    let step = [&[2 << 3][..], &varint(step.cast_unsigned())].concat();
    framed(&[double(1, time), step, bytes(5, &bytes(1, value))].concat())
}

fn scalar(tag: &str, time: f64, step: i64, value: f32) -> Vec<u8> {
    let number = [&[2 << 3 | 5][..], &value.to_le_bytes()].concat();
    record(time, step, &[bytes(1, tag.as_bytes()), number].concat())
}

/// Returns a record with the settings of a run, as `add_hparams` writes them.
fn settings(rate: f64, rule: &str) -> Vec<u8> {
    let entry = |name: &str, value: Vec<u8>| bytes(1, &[bytes(1, name.as_bytes()), bytes(2, &value)].concat());
    let start = [entry("lr", double(2, rate)), entry("rule", bytes(3, rule.as_bytes()))].concat();
    let plugin = [bytes(1, b"hparams"), bytes(2, &bytes(3, &start))].concat();
    let tag = bytes(1, b"_hparams_/session_start_info");
    record(0.0, 0, &[tag, bytes(9, &bytes(1, &plugin))].concat())
}

fn log(sandbox: &Sandbox, folder: &str, records: &[Vec<u8>]) -> PathBuf {
    let folder = sandbox.join("logs").join(folder);
    fs::create_dir_all(&folder).expect("a new folder");
    fs::write(folder.join("events.out.tfevents.1"), records.concat()).expect("the folder is writable");
    folder
}

fn import_logs(sandbox: &Sandbox) -> String {
    let output = sandbox.run(&["runs", "import", "logs"]);
    expect(&output, 0, &[]);
    stderr(&output).to_owned()
}

fn listed(sandbox: &Sandbox, columns: &str) -> String {
    let output = sandbox.run(&["runs", "list", "--csv", "--sort", "name", "--columns", columns]);
    expect(&output, 0, &[]);
    stdout(&output).to_owned()
}

const BEGAN: f64 = 1.7e9;

#[test]
fn each_tag_keeps_its_own_times() {
    let sandbox = Sandbox::new();
    let mut records: Vec<Vec<u8>> =
        (0..30).map(|step| scalar("loss", BEGAN + f64::from(step), i64::from(step), 1.0)).collect();
    for (epoch, at) in [(0, 10), (1, 20), (2, 30)] {
        for tag in ["val_loss", "epoch_seconds"] {
            records.insert(at as usize, scalar(tag, BEGAN + f64::from(at), epoch, 2.0));
        }
    }
    log(&sandbox, "", &records);
    import_logs(&sandbox);
    let reader = only_run(&sandbox.runs());
    let times = |name: &str| {
        let curve = reader.history().curve(MetricId::named(name).expect("a valid name"));
        curve.step.iter().copied().zip(curve.wall_s.iter().copied()).take(3).collect::<Vec<_>>()
    };
    assert_eq!(times("loss"), [(0, 0.0), (1, 1.0), (2, 2.0)]);
    for tag in ["val_loss", "epoch_seconds"] {
        assert_eq!(times(tag), [(0, 10.0), (1, 20.0), (2, 30.0)], "{tag}");
    }
}

#[test]
fn a_time_that_is_none_is_replaced_by_that_of_the_point_before() {
    let sandbox = Sandbox::new();
    let times = [BEGAN, f64::NEG_INFINITY, BEGAN + 2.0, f64::NAN, 1e300];
    let records = times.iter().zip(0..).map(|(time, step)| scalar("loss", *time, step, 1.0));
    log(&sandbox, "", &records.collect::<Vec<_>>());
    says(import_logs(&sandbox), &["times of `loss` that are no times are left out (3, such as -inf at step 1)"]);
    let reader = only_run(&sandbox.runs());
    assert_eq!(reader.history().curve(MetricId::LOSS).wall_s, [0.0, 0.0, 2.0, 2.0, 2.0]);
}

#[test]
fn the_loss_and_the_evaluation_are_chosen_by_their_names() {
    let sandbox = Sandbox::new();
    for (folder, tags) in
        [("a", &["aux_loss", "loss_scale", "train_loss", "val/loss", "test_loss"][..]), ("b", &["loss_g", "loss_d"])]
    {
        let points =
            |step: i64| tags.iter().zip(1_u8..).map(move |(tag, value)| scalar(tag, BEGAN, step, value.into()));
        log(&sandbox, folder, &(0..2).flat_map(points).collect::<Vec<_>>());
    }
    let words = import_logs(&sandbox);
    assert!(words.contains("logs/a: the loss of the training is `train_loss`"), "{words}");
    assert!(words.contains("logs/b: no tag is the loss of the training by its name"), "{words}");
    assert_eq!(listed(&sandbox, "name,loss,loss_scale"), "name,loss,loss_scale\na,3,2\nb,,\n");
    let show = sandbox.run(&["runs", "list", "--filter", "name = a, train_loss = 3"]);
    let text = stdout(&show);
    assert!(text.contains("BEST VAL/LOSS") && text.find("VAL/LOSS") < text.find("TEST LOSS"), "{text}");
}

#[test]
fn names_of_tags_stay_in_any_script_and_length() {
    let sandbox = Sandbox::new();
    let long = ["MIN", "MAX"].map(|end| format!("{} - train/loss__{end}", "a_long_name_of_a_run_".repeat(5)));
    let tags = ["损失", "Потери/обучение", long[0].as_str(), long[1].as_str()];
    let both = |step: i64| tags.into_iter().zip(1_u8..).map(move |(tag, value)| scalar(tag, BEGAN, step, value.into()));
    log(&sandbox, "", &(0..2).flat_map(both).collect::<Vec<_>>());
    import_logs(&sandbox);
    let reader = only_run(&sandbox.runs());
    for (tag, value) in tags.into_iter().zip([1.0, 2.0, 3.0, 4.0]) {
        assert_eq!(points(&reader, tag), [(0, value), (1, value)], "{tag}");
    }
    for filter in ["损失 < 2", "\"Потери/обучение\" = 2", &format!("\"{}\" = 3", long[0])] {
        let found = sandbox.run(&["runs", "list", "--csv", "--columns", "name", "--filter", filter]);
        expect(&found, 0, &[]);
        assert_eq!(stdout(&found), "name\nlogs\n", "{filter}");
    }
}

#[test]
fn curves_of_add_scalars_and_settings_of_add_hparams_are_parts_of_their_run() {
    let sandbox = Sandbox::new();
    for run in ["exp1", "exp2"] {
        log(&sandbox, run, &[scalar("training/loss", BEGAN, 0, 2.0)]);
        // The first two are of tensorboardX, the others of PyTorch.
        for part in ["training/accuracy/A", "training/accuracy/B", "training_accuracy_C"] {
            log(&sandbox, &format!("{run}/{part}"), &[scalar("training/accuracy", BEGAN, 0, 0.5)]);
        }
        let result = scalar("hparam/accuracy", BEGAN, 0, 0.25);
        log(&sandbox, &format!("{run}/1700000000.5"), &[settings(0.25, "Adam"), result]);
    }
    import_logs(&sandbox);
    let columns = "name,lr,rule,loss,training/accuracy/A,training/accuracy/B,training/accuracy/C,hparam/accuracy";
    let text = listed(&sandbox, columns);
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(rows, ["exp1,0.25,Adam,2,0.5,0.5,0.5,0.25", "exp2,0.25,Adam,2,0.5,0.5,0.5,0.25"]);
    let found = sandbox.run(&["runs", "list", "--csv", "--columns", "name", "--filter", "lr = 0.25, rule = adam"]);
    assert_eq!(stdout(&found).lines().count(), 3, "{}", stdout(&found));
    let shown = sandbox.run(&["runs", "show", "last"]);
    for (name, value) in [("learning_rate", "0.25"), ("rule", "Adam")] {
        let line = stdout(&shown).lines().find(|line| line.starts_with(name)).expect("a setting");
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), [name, value]);
    }
    let folder = sandbox.runs();
    expect(&sandbox.run(&["runs", "check", folder.to_str().expect("a path in UTF-8")]), 0, &[]);
}

#[test]
fn a_folder_of_several_tags_is_a_run_also_if_its_name_begins_with_one() {
    let sandbox = Sandbox::new();
    let both = |step| ["loss", "val_loss"].map(|tag| scalar(tag, BEGAN, step, 2.0));
    log(&sandbox, "exp", &both(0));
    let begun = (0..20).map(|step| scalar("loss", BEGAN, step, 3.0));
    log(&sandbox, "exp/loss_ablation", &begun.chain(both(20)).collect::<Vec<_>>());
    import_logs(&sandbox);
    assert_eq!(listed(&sandbox, "name,loss"), "name,loss\nexp,2\nexp/loss_ablation,2\n");
}

#[test]
fn runs_of_the_same_name_have_their_paths_as_titles() {
    let sandbox = Sandbox::new();
    for run in ["one/version_0", "two/version_0"] {
        log(&sandbox, run, &[settings(0.5, "Adam"), scalar("loss", BEGAN, 0, 2.0)]);
    }
    // Each call of `add_hparams` without a run above it is a run.
    for run in ["grid/1700000000.5", "grid/1700000001.5"] {
        log(&sandbox, run, &[settings(0.5, "Adam"), scalar("hparam/loss", BEGAN, 0, 2.0)]);
    }
    log(&sandbox, "grid", &[]);
    import_logs(&sandbox);
    let names = "name\ngrid/1700000000.5\ngrid/1700000001.5\none/version_0\ntwo/version_0\n";
    assert_eq!(listed(&sandbox, "name"), names);
}

#[test]
fn points_that_are_left_out_are_counted() {
    let sandbox = Sandbox::new();
    log(&sandbox, "nosteps", &(0..10_u8).map(|value| scalar("loss", BEGAN, 0, value.into())).collect::<Vec<_>>());
    log(&sandbox, "negative", &[-1, 0, 1].map(|step| scalar("loss", BEGAN, step, 1.0)));
    let histogram = [bytes(1, b"weights"), bytes(9, &bytes(1, &bytes(1, b"histograms")))].concat();
    log(&sandbox, "kinds", &[record(BEGAN, 1, &histogram), scalar("loss", BEGAN, 1, 1.0)]);
    let words = import_logs(&sandbox);
    for line in [
        "points at the step of a later point of their tag are left out (9, such as those of `loss`, which are all at \
         step 0, as the program that wrote them gave no steps)",
        "points of `loss` with a negative step are left out (1, such as -1)",
        "values of histograms, which are no scalars, are left out (1, such as `weights`)",
    ] {
        assert!(words.contains(line), "{line}\n{words}");
    }
}

#[test]
fn the_chosen_loss_is_named_before_any_number_of_reasons() {
    let sandbox = Sandbox::new();
    let tags = (0..60).map(|number| format!("tag{number}")).chain(["train_loss".to_owned()]);
    let points = tags.flat_map(|tag| [-1, 0, 0].map(|step| scalar(&tag, BEGAN, step, step as f32 + 1.0)));
    log(&sandbox, "", &points.collect::<Vec<_>>());
    let text = import_logs(&sandbox);
    assert!(text.starts_with("logs: the loss of the training is `train_loss`"), "{text}");
}

#[test]
fn tensors_of_integers_and_halves_are_scalars() {
    let sandbox = Sandbox::new();
    // The type, and the number as bytes or in its field.
    let tensor = |kind: u8, rest: Vec<u8>| bytes(8, &[vec![1 << 3, kind], rest].concat());
    let values = [
        (tensor(3, bytes(4, &(-7_i32).to_le_bytes())), -7.0),
        (tensor(9, [vec![10 << 3], varint(5_000_000_000)].concat()), 5e9),
        (tensor(19, bytes(4, &0xbe00_u16.to_le_bytes())), -1.5),
        (tensor(14, [vec![13 << 3], varint(0x3fc0)].concat()), 1.5),
        (tensor(10, bytes(4, &[1])), 1.0),
    ];
    let records = values
        .iter()
        .zip(0..)
        .map(|((value, _), step)| record(BEGAN + step as f64, step, &[bytes(1, b"loss"), value.clone()].concat()));
    log(&sandbox, "", &records.collect::<Vec<_>>());
    import_logs(&sandbox);
    let numbers: Vec<f64> = points(&only_run(&sandbox.runs()), "loss").iter().map(|(_, value)| *value).collect();
    assert_eq!(numbers, values.map(|(_, number)| number));
}
