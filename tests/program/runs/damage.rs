//! Damaged files of events: detection, reports and recovery.

use std::fs;

use valleyscope_runs::{
    BadLine, Event, EventRecord, MetricId, MetricValues, RunCommand, RunFolder, RunHistory, RunReader, RunSession,
    Started, send,
};

use super::worker::new_run;

fn train(step: u64) -> Event {
    Event::Train(MetricValues::from([(MetricId::LOSS, 1.0 / step as f64)]))
}

/// Returns a run of twelve lines: it began, took ten steps and was stopped.
fn stopped() -> (tempfile::TempDir, RunFolder) {
    let place = tempfile::tempdir().unwrap();
    let run = new_run(place.path());
    let mut session = RunSession::begin(&run).unwrap();
    session.record(0, Event::Started(Started { title: "A run".into(), steps: 99, ..Started::default() })).unwrap();
    for step in 1..=10 {
        session.record(step, train(step)).unwrap();
    }
    session.record(10, Event::Stopped).unwrap();
    (place, run)
}

fn lines(run: &RunFolder) -> Vec<String> {
    fs::read_to_string(run.events()).unwrap().split_inclusive('\n').map(str::to_owned).collect()
}

/// Returns the history of a reader; a brief reader must report the same damage.
#[track_caller]
fn history(run: &RunFolder) -> RunHistory {
    let mut reader = RunReader::new(run.clone());
    reader.poll().unwrap();
    let mut brief = RunReader::brief(run.clone());
    brief.poll().unwrap();
    assert_eq!(brief.history().damage(), reader.history().damage());
    assert_eq!(brief.history().step(), reader.history().step());
    reader.history().clone()
}

/// Returns the number of a line, which its checksum covers, by the words of the documentation.
fn number(line: &str) -> u64 {
    let (covered, sum) = line.trim_end().strip_suffix('}').unwrap().split_once(",\"crc\":").unwrap();
    assert_eq!(u64::from(crc32fast::hash(covered.as_bytes())), sum.parse::<u64>().unwrap(), "{line}");
    let object: serde_json::Value = serde_json::from_str(line).unwrap();
    object["line"].as_u64().unwrap()
}

#[test]
fn lines_are_numbered_over_all_sessions() {
    let (_place, run) = stopped();
    let mut session = RunSession::begin(&run).unwrap();
    session.resume(10, 0.0).unwrap();
    session.record(11, train(11)).unwrap();
    drop(session);
    let numbers: Vec<u64> = lines(&run).iter().map(|line| number(line)).collect();
    assert_eq!(numbers, (1..=14).collect::<Vec<_>>());
    assert!(history(&run).damage().is_none());
}

#[test]
fn every_changed_byte_is_detected() {
    let (_place, run) = stopped();
    let whole = fs::read(run.events()).unwrap();
    // The last byte ends the last line; without it the line counts as being written.
    for at in 0..whole.len() - 1 {
        for flip in [0x01, 0x20, 0x80] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            fs::write(run.events(), &bytes).unwrap();
            let history = history(&run);
            let what = format!("byte {at} with {flip:#x}: {}", String::from_utf8_lossy(&bytes));
            assert!(!history.damage().is_none(), "{what}");
            assert!(history.curve(MetricId::LOSS).len() >= 8, "{what}");
        }
    }
}

#[test]
fn missing_lines_are_distinguished_from_a_file_that_ends_early() {
    let (_place, run) = stopped();
    let whole = lines(&run);
    for (gone, said) in [
        (0..1, "line 1 is missing"),
        (0..3, "lines 1 to 3 are missing"),
        (4..5, "line 5 is missing"),
        (2..11, "lines 3 to 11 are missing"),
        (9..12, ""),
    ] {
        let left: Vec<String> = [&whole[..gone.start], &whole[gone.end..]].concat();
        fs::write(run.events(), left.concat()).unwrap();
        assert_eq!(history(&run).damage().to_string(), said);
    }
    let some = [0, 1, 3, 4, 8, 9, 10].map(|at| whole[at].as_str()).concat();
    fs::write(run.events(), some).unwrap();
    let history = history(&run);
    assert_eq!(history.damage().to_string(), "lines 3, 6 to 8 are missing");
    assert_eq!(history.damage().missing.count(), 4);
}

#[test]
fn repeated_lines_count_once() {
    let (_place, run) = stopped();
    let whole = lines(&run).concat();
    fs::write(run.events(), format!("{whole}{whole}")).unwrap();
    let history = history(&run);
    assert_eq!(history.curve(MetricId::LOSS).step, (1..=10).collect::<Vec<_>>());
    assert_eq!(history.damage().to_string(), "lines 13 to 24 cannot be read");
}

#[test]
fn lines_of_other_programs_are_read_between_those_with_numbers() {
    let (_place, run) = stopped();
    // A worker of the previous version continues, and then one of this version.
    let old = [(10, Event::Resumed { from_step: 10 }), (11, train(11)), (12, train(12))].map(|(step, event)| {
        EventRecord { step, time: "2026-03-01T12:00:00Z".parse().unwrap(), wall_s: 2.0, event }.to_line() + "\n"
    });
    fs::write(run.events(), lines(&run).concat() + &old.concat()).unwrap();
    let mut session = RunSession::begin(&run).unwrap();
    session.resume(12, 3.0).unwrap();
    drop(session);
    assert_eq!(number(lines(&run).last().unwrap()), 16);
    let history = history(&run);
    assert!(history.damage().is_none() && history.warnings().is_empty(), "{:?}", history.warnings());
    assert_eq!(history.sessions(), 3);
}

#[test]
fn a_damaged_line_without_a_check_sum_is_noticed_between_good_ones() {
    let (_place, run) = stopped();
    let bare = |line: &String| EventRecord::parse(line.trim_end().as_bytes()).unwrap().to_line() + "\n";
    let mut bare: Vec<String> = lines(&run).iter().map(bare).collect();
    bare[5] = bare[5].replace("\"loss\":0.2", "\"loss\":0.2.");
    fs::write(run.events(), bare.concat()).unwrap();
    assert_eq!(history(&run).damage().to_string(), "line 6 cannot be read");
}

#[test]
fn a_changed_line_is_not_a_record() {
    let (_place, run) = stopped();
    let line = lines(&run)[4].trim_end().replace("\"step\":4", "\"step\":5");
    assert!(matches!(EventRecord::parse(line.as_bytes()), Err(BadLine::Changed)));
}

#[test]
fn a_damaged_first_line_is_reported_and_nothing_discarded() {
    type Harm = fn(&mut Vec<u8>);
    let harms: [(Harm, &str); 3] = [
        (|bytes| bytes[3] ^= 4, "line 1 cannot be read"),
        (|bytes| drop(bytes.splice(0..0, *b"\xef\xbb\xbf")), "line 1 cannot be read"),
        (|bytes| drop(bytes.drain(..=bytes.iter().position(|&byte| byte == b'\n').unwrap())), "line 1 is missing"),
    ];
    for (harm, expected) in harms {
        let (_place, run) = stopped();
        let mut bytes = fs::read(run.events()).unwrap();
        harm(&mut bytes);
        fs::write(run.events(), &bytes).unwrap();
        let mut session = RunSession::begin(&run).unwrap();
        assert!(!session.is_new());
        assert!(session.before().started().is_none());
        session.resume(10, 5.0).unwrap();
        session.record(10, Event::Started(Started { steps: 99, ..Started::default() })).unwrap();
        drop(session);
        assert!(fs::read(run.events()).unwrap().starts_with(&bytes));
        let now = history(&run);
        assert_eq!((now.sessions(), now.steps(), now.curve(MetricId::LOSS).len()), (1, Some(99), 10));
        let warnings: Vec<&str> = now.warnings().iter().map(|warning| warning.message.as_str()).collect();
        assert!(warnings.len() == 1 && warnings[0].contains(expected), "{warnings:?}");
        // The loss is recorded once.
        let mut session = RunSession::begin(&run).unwrap();
        session.resume(10, 5.0).unwrap();
        drop(session);
        assert_eq!(history(&run).warnings().len(), 1);
    }
}

#[test]
fn an_end_that_is_not_a_cut_line_is_kept_beside() {
    let (_place, run) = stopped();
    let whole = fs::read(run.events()).unwrap();
    let rests: [&[u8]; 3] = [&[0; 5000], b"no line", b"{\"event\":\x01"];
    for (number, rest) in (1..).zip(rests) {
        let before = [&whole[..], rest].concat();
        fs::write(run.events(), &before).unwrap();
        // The checkpoint shows that there were more lines.
        fs::remove_file(run.lock()).unwrap();
        let mut session = RunSession::begin(&run).unwrap();
        session.resume(10, 5.0).unwrap();
        drop(session);
        let name = format!("events-damaged-{number}.jsonl");
        assert_eq!(fs::read(run.path().join(&name)).unwrap(), before);
        let history = history(&run);
        assert!(history.damage().is_none());
        assert!(history.warnings().iter().any(|warning| warning.message.contains(&name)), "{:?}", history.warnings());
    }
    fs::remove_file(run.lock()).unwrap();
    // A cut line is removed silently.
    fs::write(run.events(), [&whole[..], &whole[..40]].concat()).unwrap();
    drop(RunSession::begin(&run).unwrap());
    assert_eq!(fs::read(run.events()).unwrap(), whole);
    assert!(!run.path().join("events-damaged-4.jsonl").exists());
}

#[test]
fn a_run_with_checkpoints_is_not_new_even_without_events() {
    let (_place, run) = stopped();
    send(&run, RunCommand::Stop).unwrap();
    fs::write(run.path().join("checkpoint-00000010.ron"), "()").unwrap();
    for empty in [false, true] {
        if empty {
            fs::write(run.events(), "").unwrap();
        } else {
            fs::remove_file(run.events()).unwrap();
        }
        let mut session = RunSession::begin(&run).unwrap();
        assert!(!session.is_new());
        session.resume(10, 5.0).unwrap();
        assert!(session.commands().unwrap().is_empty(), "the command to stop is one of before");
        drop(session);
        let history = history(&run);
        assert!(
            history.warnings().iter().any(|warning| warning.message.contains("gone or empty")),
            "{:?}",
            history.warnings()
        );
    }
}
