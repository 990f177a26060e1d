//! Readers of runs: files that grow, are cut, replaced or damaged.

use std::fs;
use std::fs::OpenOptions;
use std::io::Write;

use proptest::prelude::*;
use valleyscope_runs::{
    Event, EventRecord, LONGEST_LINE, MetricId, MetricValues, RunFolder, RunHistory, RunReader, Started, Timestamp,
    last_lines,
};

use super::worker::fresh_run;
#[cfg(unix)]
use crate::doctor::make_fifo;

fn records(events: impl IntoIterator<Item = (u64, Event)>) -> Vec<EventRecord> {
    let record = |(index, (step, event)): (usize, (u64, Event))| EventRecord {
        step,
        time: Timestamp::from_second(1_800_000_000 + index as i64).unwrap(),
        wall_s: index as f64 * 0.25,
        event,
    };
    events.into_iter().enumerate().map(record).collect()
}

fn text(records: &[EventRecord]) -> String {
    records.iter().map(|record| record.to_line() + "\n").collect()
}

pub fn read(run: &RunFolder) -> RunHistory {
    let mut reader = RunReader::new(run.clone());
    reader.poll().unwrap();
    reader.history().clone()
}

fn train(step: u64) -> (u64, Event) {
    let train = MetricValues::from([
        (MetricId::LOSS, 1.0 / step as f64),
        (MetricId::LEARNING_RATE, 0.5),
        (MetricId::GRAD_NORM, step as f64),
        (MetricId::SAMPLES_PER_S, 9.0),
    ]);
    (step, Event::Train(train))
}

fn eval(step: u64) -> (u64, Event) {
    (step, Event::Eval(MetricValues::from([(MetricId::TEST_LOSS, step as f64), (MetricId::TEST_ACCURACY, 0.5)])))
}

fn started(steps: u64) -> (u64, Event) {
    (0, Event::Started(Started { steps, ..Started::default() }))
}

#[test]
fn damaged_lines_are_counted_and_lose_nothing_else() {
    let (_sandbox, run) = fresh_run();
    let [first, second] = [train(1), train(2)].map(|event| records([event])[0].to_line());
    let bytes =
        [first.as_bytes(), b"\n\0\0\0\xff\n\n{\"event\":\"train\"}\n", second.as_bytes(), b"\n", first.as_bytes()];
    fs::write(run.events(), bytes.concat()).unwrap();
    let history = read(&run);
    assert_eq!(history.skipped(), 2);
    assert_eq!(history.curve(MetricId::LOSS).step, [1, 2], "the last line has no end yet");
    let mut brief = RunReader::brief(run);
    brief.poll().unwrap();
    let brief = brief.history();
    assert_eq!((brief.skipped(), brief.latest_at(MetricId::LOSS)), (2, Some((2, 0.5))));
    assert_eq!((brief.tally(MetricId::LOSS), brief.began()), (history.tally(MetricId::LOSS), history.began()));
}

/// Returns an event of exactly this many bytes, without the line's end.
fn line_of(bytes: usize) -> String {
    let sample = |text: String| records([(1, Event::Sample { text })])[0].to_line();
    let line = sample("x".repeat(bytes - sample(String::new()).len()));
    assert_eq!(line.len(), bytes);
    line
}

#[test]
fn the_length_of_lines_is_limited() {
    let (_sandbox, run) = fresh_run();
    let [first, last] = [train(1), train(2)].map(|event| text(&records([event])));
    let content = format!("{first}{}\n{}\n{last}", line_of(LONGEST_LINE), line_of(LONGEST_LINE + 1));
    fs::write(run.events(), &content).unwrap();
    let whole = read(&run);
    assert_eq!((whole.samples().len(), whole.skipped()), (1, 1));
    assert_eq!(whole.curve(MetricId::LOSS).step, [1, 2]);
    // The file is also read as it grows, with pieces that end at, around and within lines.
    fs::write(run.events(), "").unwrap();
    let mut reader = RunReader::new(run.clone());
    let mut written = 0;
    let limit = first.len() + LONGEST_LINE;
    for end in [9, limit - 1, limit + 2, limit + (3 << 20), 2 * limit - 1, 2 * limit + 3, content.len()] {
        let mut file = OpenOptions::new().append(true).open(run.events()).unwrap();
        file.write_all(&content.as_bytes()[written..end]).unwrap();
        written = end;
        reader.poll().unwrap();
    }
    assert_eq!(reader.history(), &whole);
}

#[test]
fn a_line_without_end_is_one_bad_line() {
    let (_sandbox, run) = fresh_run();
    let [first, last] = [train(1), train(2)].map(|event| text(&records([event])));
    fs::write(run.events(), &first).unwrap();
    let mut file = OpenOptions::new().append(true).open(run.events()).unwrap();
    let mut reader = RunReader::new(run.clone());
    // A hole of the file system, which is read as zeros.
    file.set_len(first.len() as u64 + 400_000_000).unwrap();
    for _ in 0..3 {
        reader.poll().unwrap();
        assert_eq!((reader.history().records(), reader.history().skipped()), (1, 1));
        file.write_all(b"no end").unwrap();
    }
    file.write_all(format!("\n{last}").as_bytes()).unwrap();
    reader.poll().unwrap();
    assert_eq!(reader.history().skipped(), 1);
    assert_eq!(reader.history().curve(MetricId::LOSS).step, [1, 2]);
}

#[cfg(unix)]
#[test]
fn events_are_a_plain_file_or_an_error() {
    let (sandbox, run) = fresh_run();
    let refused = |what: &str| {
        let error = RunReader::new(run.clone()).poll().unwrap_err();
        assert!(error.to_string().contains(what), "no {what:?} in: {error}");
        fs::remove_file(run.events()).unwrap();
    };
    make_fifo(run.events());
    refused("a FIFO");
    fs::write(sandbox.path().join("elsewhere"), text(&records([train(1)]))).unwrap();
    std::os::unix::fs::symlink(sandbox.path().join("elsewhere"), run.events()).unwrap();
    refused("a symbolic link");
    // The log is optional: if it cannot be read, nothing is reported.
    make_fifo(run.log());
    assert_eq!(last_lines(&run.log(), 100), "");
}

#[test]
fn a_folder_without_events_has_no_history() {
    let (_sandbox, run) = fresh_run();
    let mut reader = RunReader::new(run.clone());
    assert!(!reader.poll().unwrap());
    fs::write(run.events(), text(&records([train(1)]))).unwrap();
    assert!(reader.poll().unwrap());
    assert!(!reader.poll().unwrap());
    fs::remove_dir_all(run.path()).unwrap();
    assert!(!reader.poll().unwrap());
    assert_eq!(reader.history().step(), 1, "what was read stays");
}

#[test]
fn a_replaced_file_is_read_again() {
    let (_sandbox, run) = fresh_run();
    let old = text(&records((1..=20).map(train)));
    let longer = text(&records((101..=140).map(train)));
    let shorter = text(&records((201..=205).map(train)));
    let mut reader = RunReader::new(run.clone());
    for content in [&old, &longer, &shorter, &old] {
        let aside = run.path().join("aside");
        fs::write(&aside, content).unwrap();
        fs::rename(&aside, run.events()).unwrap();
        let generation = reader.history().generation();
        reader.poll().unwrap();
        assert_eq!(reader.history().curve(MetricId::LOSS), read(&run).curve(MetricId::LOSS));
        assert!(reader.history().generation() > generation || content == &old);
    }
    // A mirror replaces the file by a longer one with the same beginning.
    let generation = reader.history().generation();
    let aside = run.path().join("aside");
    fs::write(&aside, old + &longer).unwrap();
    fs::rename(&aside, run.events()).unwrap();
    reader.poll().unwrap();
    assert_eq!(reader.history().curve(MetricId::LOSS).len(), 60);
    assert_eq!(reader.history().generation(), generation);
}

/// Returns possible events of a run: training that continues, and resumes from earlier steps.
fn any_events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    proptest::collection::vec((0..7_u8, any::<u8>()), 0..60).prop_map(|choices| {
        let mut step = 0;
        let mut events = vec![started(99)];
        for (choice, value) in choices {
            let value = u64::from(value);
            match choice {
                0 => {
                    step = if step == 0 { 0 } else { value % step };
                    events.push((step, Event::Resumed { from_step: step }));
                }
                1 if step > 0 => events.push(eval(step)),
                2 => events.push((step, Event::Sample { text: value.to_string() })),
                3 => events.push((step, Event::Warning { message: value.to_string() })),
                _ => {
                    step += 1 + value % 3;
                    events.push(train(step));
                }
            }
        }
        events
    })
}

/// Applies the rule of resuming, as written in the reference.
fn still_true(records: &[EventRecord]) -> Vec<&EventRecord> {
    let mut kept: Vec<&EventRecord> = Vec::new();
    for record in records {
        if let Event::Resumed { from_step } = record.event {
            kept.retain(|earlier| earlier.step <= from_step);
        }
        kept.push(record);
    }
    kept
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn histories_follow_the_rule_of_resuming(events in any_events()) {
        let records = records(events);
        let mut history = RunHistory::default();
        records.iter().cloned().for_each(|record| history.apply(record));
        let kept = still_true(&records);
        let of = |name: &str| {
            let begin = format!(r#"{{"event":"{name}","#);
            kept.iter().filter(|record| record.to_line().starts_with(&begin)).collect::<Vec<_>>()
        };
        let curve = history.curve(MetricId::LOSS);
        let trained = of("train");
        prop_assert_eq!(curve.step, trained.iter().map(|record| record.step).collect::<Vec<_>>());
        prop_assert_eq!(curve.wall_s, trained.iter().map(|record| record.wall_s).collect::<Vec<_>>());
        prop_assert!(curve.step.is_sorted());
        prop_assert!(curve.value.iter().zip(curve.step).all(|(&loss, &step)| loss == 1.0 / step as f64));
        let evaluated = of("eval").iter().map(|record| record.step).collect::<Vec<_>>();
        prop_assert_eq!(history.curve(MetricId::TEST_LOSS).step, &*evaluated);
        prop_assert_eq!(history.samples().len(), of("sample").len());
    }

    #[test]
    fn a_growing_file_is_read_like_a_complete_one(events in any_events(), pieces in proptest::collection::vec(1..400_usize, 1..40)) {
        let (_sandbox, run) = fresh_run();
        let whole = text(&records(events));
        let mut reader = RunReader::new(run.clone());
        let mut brief = RunReader::brief(run.clone());
        let mut file = OpenOptions::new().append(true).create(true).open(run.events()).unwrap();
        let mut written = 0;
        for piece in pieces.into_iter().chain([whole.len()]) {
            let end = whole.len().min(written + piece);
            file.write_all(&whole.as_bytes()[written..end]).unwrap();
            written = end;
            reader.poll().unwrap();
            brief.poll().unwrap();
            prop_assert_eq!(reader.history().records() as usize, whole[..written].matches('\n').count());
        }
        prop_assert_eq!(reader.history(), &read(&run));
        prop_assert_eq!(reader.history().skipped(), 0);
        let (brief, full) = (brief.history(), reader.history());
        prop_assert_eq!((brief.step(), brief.wall_s(), brief.ending()), (full.step(), full.wall_s(), full.ending()));
        prop_assert_eq!(brief.curve(MetricId::TEST_LOSS), full.curve(MetricId::TEST_LOSS));
        if brief.latest(MetricId::LOSS).is_some() {
            prop_assert_eq!(brief.latest(MetricId::LOSS), full.latest(MetricId::LOSS));
        }
    }

    /// A file may be cut anywhere and grow again with other content.
    #[test]
    fn a_cut_file_keeps_its_complete_lines(events in any_events(), cut in any::<prop::sample::Index>(), more in any_events()) {
        let (_sandbox, run) = fresh_run();
        let whole = text(&records(events));
        let cut = cut.index(whole.len() + 1);
        fs::write(run.events(), &whole).unwrap();
        let mut reader = RunReader::new(run.clone());
        reader.poll().unwrap();
        OpenOptions::new().write(true).open(run.events()).unwrap().set_len(cut as u64).unwrap();
        reader.poll().unwrap();
        let lines = whole[..cut].rfind('\n').map_or(0, |newline| newline + 1);
        prop_assert_eq!(reader.history().records() as usize, whole[..lines].matches('\n').count());
        OpenOptions::new().write(true).open(run.events()).unwrap().set_len(lines as u64).unwrap();
        let mut file = OpenOptions::new().append(true).open(run.events()).unwrap();
        file.write_all(text(&records(more)).as_bytes()).unwrap();
        reader.poll().unwrap();
        let fresh = read(&run);
        prop_assert_eq!(reader.history().curve(MetricId::LOSS), fresh.curve(MetricId::LOSS));
        prop_assert_eq!(reader.history().records(), fresh.records());
        prop_assert_eq!(reader.history().last(), fresh.last());
    }
}
