//! Events as lines: the format, and the same value back.

use std::process::Command;

use proptest::prelude::*;
use valleyscope_runs::{
    BadLine, Event, EventRecord, Forked, GridPoint, MetricId, MetricValues, ScanAxes, SettingChange, Started, Timestamp,
};

use crate::left_out::left_out;
use crate::sandbox::{Sandbox, expect};

fn record(step: u64, event: Event) -> EventRecord {
    EventRecord { step, time: Timestamp::from_millisecond(1_772_366_400_250).unwrap(), wall_s: 1.5, event }
}

#[track_caller]
fn expect_line(event: Event, rest: &str) {
    let name = event.name();
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
fn a_scan_records_its_axes_and_grid_points() {
    let axes = ScanAxes {
        optimizers: vec!["Adam".into(), "Signum".into()],
        batch_sizes: vec![2, 4, 8],
        learning_rates: vec![1e-4, 0.1],
        replicates: 3,
        steps: 400,
    };
    assert_eq!(axes.grid_points(), 6);
    let started = record(0, Event::Started(Started { scan: Some(axes), steps: 6, ..Started::default() }));
    assert_eq!(EventRecord::parse(started.to_line().as_bytes()).unwrap(), started);
    let point = GridPoint {
        index: [1, 2],
        optimizer: "Signum".into(),
        batch_size: 8,
        done: 3,
        total: 6,
        seconds: 1.25,
        train_loss: vec![vec![0.1, 0.2], vec![f64::INFINITY, 0.4]],
        test_loss: vec![vec![1.1, 1.2], vec![1.3, 1.4]],
        test_accuracy: vec![vec![0.9, 0.8], vec![0.7, 0.6]],
    };
    let line = record(3, Event::GridPoint(point)).to_line();
    assert!(line.contains(r#""index":[1,2],"optimizer":"Signum","batch_size":8,"done":3,"total":6"#), "{line}");
    assert!(line.contains(r#""train_loss":[[0.1,0.2],["inf",0.4]]"#), "{line}");
    assert_eq!(EventRecord::parse(line.as_bytes()).unwrap().to_line(), line);
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
    assert!(matches!(EventRecord::parse(unknown), Err(BadLine::Unknown(name)) if name == "celebrated"));
}

#[test]
fn invalid_lines_are_refused() {
    for line in [
        &b""[..],
        b"{}",
        b"[]",
        b"\xff\xfe",
        br#"{"event":"train","step":1,"time":"2026-03-01T12:00:00Z","wall_s":1,"lr":1,"grad_norm":1}"#,
        br#"{"event":"train","step":1,"time":"2026-03-01T12:00:00Z","wall_s":1,"loss":"nan","lr":1,"grad_norm":1}"#,
        br#"{"event":"train","step":-1,"time":"2026-03-01T12:00:00Z","wall_s":1,"loss":1,"lr":1,"grad_norm":1}"#,
        br#"{"event":"stopped","step":1,"time":"yesterday","wall_s":1}"#,
        br#"{"event":"stopped","step":1,"time":"2026-03-01T12:00:00Z","wall_s":1} {}"#,
    ] {
        assert!(EventRecord::parse(line).is_err(), "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn the_ten_lines_of_python_in_the_book_write_a_run() {
    let book = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/src/formats.md")).unwrap();
    let mut scripts = book.split("```python\n").skip(1).map(|part| part.split("```").next().unwrap());
    let script = scripts.find(|script| script.contains("events.jsonl")).expect("a script");
    let sandbox = Sandbox::new();
    let output = sandbox.at_home(Command::new("python3")).args(["-c", script]).output();
    let Ok(output) = output else {
        left_out("program::runs::events", "the script of the book needs python3");
        return;
    };
    expect(&output, 0, &[]);
    expect(&sandbox.run(&["runs", "--runs", "runs", "list"]), 0, &["My training", "finished", "mine"]);
    let shown = sandbox.run(&["runs", "--runs", "runs", "show", "mine"]);
    expect(&shown, 0, &["finished", "100/100 steps", "optimizer.lr 0.1", "accuracy"]);
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
