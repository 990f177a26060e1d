//! Lines of JSON: the events of a run, and commands to it.

use valleyscope::sweep::result::scan::ScanResult;
use valleyscope_runs::{
    Event, EventRecord, MetricId, MetricInfo, MetricValues, ReceivedCommand, RunCommand, RunFolder, RunHistory,
    RunReader, RunSession, Started,
};

use crate::driver::{Target, fuzz};

const WORDS: &str = r#"{ } [ ] , : " \ \u0000 \ud800 null true "NaN" "inf" 1e400 "event":"train" "event":"started"
    "event":"grid_point" "event":"eval" "event":"resumed" "event":"checkpoint" "event":"command" "event":"finished"
    "event":"failed" "step":0 "scan":{} "replicates":1000000000000 "optimizers":[] "batch_sizes":[1,2] "index":[0,0]
    "time":"2026-03-01T12:00:00Z" "id": "command": "Stop" "Save" {"SetSteps":{"n":5}}
    "event":"changed" "changes":[] {"Set":{"settings":{"steps":1e300}}}"#;

/// Returns the axes of a scan of 3,000 × 3,000 grid points.
fn large_axes() -> Vec<u8> {
    let (names, sizes) = (vec!["\"x\""; 3000].join(","), vec!["2"; 3000].join(","));
    let head =
        r#"{"event":"started","step":0,"time":"2026-03-01T12:00:00Z","wall_s":0,"title":"x","kind":"MnistScan","#;
    let scan = format!(r#""scan":{{"optimizers":[{names}],"batch_sizes":[{sizes}],"learning_rates":[0.1],"#);
    let point = r#"{"event":"grid_point","step":1,"time":"2026-03-01T12:00:00Z","wall_s":1,"index":[0,0],"optimizer":"x","batch_size":2,"done":1,"total":9000000,"seconds":1,"train_loss":[[1]],"test_loss":[[1]],"test_accuracy":[[1]]}"#;
    format!("{head}{scan}\"replicates\":1,\"steps\":1}}}}\n{point}\n").into_bytes()
}

/// Returns the events of a run, as its worker writes them.
fn run() -> Vec<u8> {
    let place = tempfile::tempdir().expect("a folder");
    let run = RunFolder::create(place.path(), "run", "Mnist()").expect("a run");
    let mut session = RunSession::begin(&run).expect("a session");
    let train = |step: u64| Event::Train(MetricValues::from([(MetricId::LOSS, 1.0 / step as f64)]));
    let eval = Event::Eval(MetricValues::from([(MetricId::TEST_LOSS, 0.5)]));
    session.record(0, Event::Started(Started { title: "x".into(), steps: 9, ..Started::default() })).expect("recorded");
    for (step, event) in [(1, train(1)), (2, train(2)), (2, eval), (3, train(3)), (4, train(4)), (5, train(5))] {
        session.record(step, event).expect("recorded");
    }
    session.resume(3, 1.0).expect("resumed");
    for (step, event) in [(4, train(4)), (5, train(5)), (6, train(6)), (6, Event::Finished)] {
        session.record(step, event).expect("recorded");
    }
    drop(session);
    std::fs::read(run.events()).expect("the events")
}

/// Checks that a full reader, a brief one, and one that began with half of the file agree.
fn whole_file(run: &RunFolder, input: &[u8]) {
    let read = |mut reader: RunReader| {
        reader.poll().expect("the file can be read");
        reader
    };
    std::fs::write(run.events(), &input[..input.len() / 2]).expect("written");
    let mut twice = read(RunReader::new(run.clone()));
    std::fs::write(run.events(), input).expect("written");
    twice.poll().expect("the file can be read");
    let [whole, brief] = [RunReader::new(run.clone()), RunReader::brief(run.clone())].map(read);
    let (whole, brief) = (whole.history(), brief.history());
    let rest = |history: &RunHistory| {
        let recent: Vec<String> = history.recent().map(EventRecord::to_line).collect();
        let evaluated = whole.evaluated().into_iter().filter_map(|info| info.metric());
        let evaluated: Vec<String> = evaluated.map(|metric| format!("{:?}", history.latest_at(metric))).collect();
        let counts = (history.lines(), history.step(), history.steps(), history.sessions(), history.skipped());
        (recent, evaluated, counts, format!("{:?}", history.ended()), history.warnings().to_vec())
    };
    assert_eq!(rest(brief), rest(whole));
    assert_eq!(rest(twice.history()), rest(whole));
    // The brief reader has no newest point among events before a resumption.
    let newest = brief.latest_at(MetricId::LOSS);
    assert!(
        newest.is_none() || format!("{newest:?}") == format!("{:?}", whole.latest_at(MetricId::LOSS)),
        "{newest:?}"
    );
}

#[test]
fn events() {
    let line = large_axes();
    let refusal =
        EventRecord::parse(line.split(|byte| *byte == b'\n').next().expect("a line")).unwrap_err().to_string();
    assert!(refusal.contains("at most 256 optimizers, found 3000"), "{refusal}");
    let seeds = vec![run(), large_axes()];
    let place = tempfile::tempdir().expect("a folder");
    let run = RunFolder::create(place.path(), "run", "Mnist()").expect("a run");
    let target = Target { name: "events", seeds, words: WORDS, memory: 64 << 20, cases: 2000 };
    fuzz(&target, |input| {
        whole_file(&run, input);
        let mut history = RunHistory::default();
        for line in input.split(|byte| *byte == b'\n') {
            let Ok(record) = EventRecord::parse(line) else { continue };
            let written = record.to_line();
            let again = EventRecord::parse(written.as_bytes()).expect("what is written can be read");
            assert_eq!(again.to_line(), written);
            assert!(!record.event.sentence().contains("struct "));
            history.apply(record);
        }
        // These values are derived from the events.
        let _ = (history.seconds_left(), history.steps_per_s());
        for metric in history.metrics().iter().filter_map(MetricInfo::metric) {
            let curve = history.curve(metric);
            assert!(curve.step.len() == curve.len() && curve.wall_s.len() == curve.len());
        }
        if let Ok(scan) = ScanResult::of(&history, "") {
            // Axes without results give long arrays of unknown values.
            let axes = &scan.axes;
            if axes.grid_points() * axes.learning_rates.len() as u64 * axes.replicates < 100_000 {
                let mut arrays = std::io::Cursor::new(Vec::new());
                scan.write_arrays(&mut arrays).expect("memory takes all");
            }
            scan.write_table(std::io::sink()).expect("a sink takes all");
        }
    });
}

#[test]
fn commands() {
    let target = Target { name: "commands", seeds: Vec::new(), words: WORDS, memory: 16 << 20, cases: 2000 };
    fuzz(&target, |input| {
        for (number, line) in (1..).zip(input.split(|byte| *byte == b'\n')) {
            let ReceivedCommand { id, command } = ReceivedCommand::read(line, number);
            assert!(id.len() <= 100, "{id}");
            match command {
                Ok(command) => {
                    let written = command_line(&id, &command);
                    assert_eq!(ReceivedCommand::read(&written, 1), ReceivedCommand { id, command: Ok(command) });
                }
                Err(reason) => assert!(reason.len() < 2000 && reason.contains("expected"), "{reason}"),
            }
        }
    });
}

fn command_line(id: &str, command: &RunCommand) -> Vec<u8> {
    serde_json::to_vec(&serde_json::json!({ "id": id, "command": command })).expect("JSON has room for all of it")
}
