//! The targets: texts of losses, presets and single fields as set by `--set`, events and commands of runs, results of
//! sweeps, recorded clouds, and files of images and labels.

use std::cell::Cell;
use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use valleyscope::export::NpzWriter;
use valleyscope::player::RecordedCloud;
use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope::sweep::result::{SweepHeader, SweepRecords, SweepResult, SweepStore};
use valleyscope_engine::loss::LossProgram;
use valleyscope_engine::quantity::{PointCount, Replicates, StepCount};
use valleyscope_engine::sweep::{Backend, Diagram, Finished, Precision, SweepJob, SweepSpec};
use valleyscope_experiments::dataset::mnist::{self, Digits, Mnist, MnistSource, PIXELS, read_folder, write_folder};
use valleyscope_experiments::preset::{FormatVersion, Preset, PresetError, SweepPreset, built_ins};
use valleyscope_runs::{
    Event, EventRecord, MetricId, MetricInfo, MetricValues, ReceivedCommand, RunCommand, RunFolder, RunHistory,
    RunReader, RunSession, Started,
};

use crate::driver::{Target, fuzz};

const LOSS_WORDS: &str = "x y u v phi pi L = L= param in .. + - * / ^ ( ) , < >= == != 0 1 2 0.5 -3 64 65 1e-8 1e300 1e308 sin( cos( \
    exp( ln( tanh( sqrt( abs( sign( max( min( clamp( where( norm( state # β \u{301} \0 ^-2 ^0.5 ^x a= a b";

const SEEDS: &[&str] = &[
    "param b = 100 in 1..1000\nL = (1 - x)^2 + b*(y - x^2)^2",
    "param a = 10 in 0..100, c = 0.1 in 0..1, p = 3 in 0..8\nL = a/2*abs(u)^p*v^2 - c*u",
    "L = (1.5 - u + u*v)^2 + (2.25 - u + u*v^2)^2 + (2.625 - u + u*v^3)^2",
    "param A = 10 in 0..20\nL = 2*A + u^2 - A*cos(2*pi*u) + v^2 - A*cos(2*pi*v)",
    "param t = 0.05 in 0..1\na = (v - 0.5)^2 - u\nb = 20*(v + 0.5)^2 - 2*u\nl = min(a, b)\n\
     L = l - t*ln(exp((l - a)/t) + exp((l - b)/t))",
    "r = sqrt(x^2 + y^2)\nL = where(r > 1, ln(r), tanh(r)*r^1.5 + sin(phi)) + clamp(x, -1, y) + sign(x)*max(x, 2)",
    "a = x*y\nb = a^2 - x/a\nL = (b >= 0)*b + (b < 0)*a^-3 + exp(-abs(a))^x",
];

/// The number of accepted texts that are evaluated; each stays in memory.
const EVALUATED: usize = 300;

#[test]
fn losses() {
    let seeds = SEEDS.iter().map(|text| text.as_bytes().to_vec()).collect();
    let target = Target { name: "losses", seeds, words: LOSS_WORDS, memory: 16 << 20, cases: 3000 };
    let evaluated = Cell::new(0);
    fuzz(&target, |input| {
        let text = String::from_utf8_lossy(input);
        let program = match LossProgram::new(&text) {
            Ok(program) => program,
            Err(error) => {
                assert!(text.get(error.range.clone()).is_some(), "{error}");
                return expect_plain(&error.to_string(), &text);
            }
        };
        let names: Vec<&str> = program.parameters().iter().map(|parameter| parameter.name.as_str()).collect();
        assert!(program.wgsl().contains("fn landscape_gradient(") && program.gradient_text(&names).contains("L_x = "));
        // What is written is a loss again, with the same parameters.
        let declarations = program.parameters().iter().map(|parameter| {
            let [low, high] = parameter.range;
            format!("param {} = {} in {low}..{high}\n", parameter.name, parameter.default)
        });
        let written = declarations.collect::<String>() + &program.loss_text(&names);
        // Written with all its powers and names it may be longer than a text can be.
        if written.len() > 10_000 || written.lines().count() > 200 {
            return;
        }
        let again = LossProgram::new(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
        if evaluated.get() < EVALUATED {
            evaluated.set(evaluated.get() + 1);
            let defaults: Vec<f64> = program.parameters().iter().map(|parameter| parameter.default).collect();
            let [first, second] = [program, again].map(|program| &*Box::leak(Box::new(program)));
            let [first, second] = [first, second].map(|program| program.bind(&defaults, 0.4));
            for at in [[0.3, -0.7], [1.5, 0.25], [0.0, 0.0]] {
                let [found, expected]: [f64; 2] = [first.loss(at), second.loss(at)];
                assert!(found == expected || found.is_nan() && expected.is_nan(), "{found} and {expected}:\n{written}");
                first.hessian_diagonal(at);
            }
        }
    });
}

const PRESET_WORDS: &str = "( ) [ ] { } , : \" \\ \\u{3b2} // /* */ r#\" \"# b\" ' Some( None true () Landscape( Sweep( Mnist( \
    Grid( base vary seeds \"learning_rate=1e-4..1e-2:3:log\" \"optimizer=Adam,Signum(beta1:0.8)\" MnistScan( Adam( FOCUS( \
    SGD() Signum() version:1, title:\"x\", #![enable(implicit_some)] #![enable( simulation \
    optimizers runs scan changes lesson section claims words view camera rule learning_rates rows columns count steps data Folder( Cuda( \
    Of(LearningRate,[0]) Steps Log \u{feff} 0x 0b1 1_000 _ βα \u{202e}";

/// Returns presets with long names, lists, numbers and comments, which a careless reader would expand to far more
/// memory than their text.
fn crafted() -> Vec<Vec<u8>> {
    let long_name = format!("Landscape(version: 1, {}: [{}])", "a".repeat(30_000), "0, ".repeat(65_000));
    let deep = format!("Landscape(version: 1, title: {})", "[".repeat(5000));
    let digits = format!("Landscape(version: 1, title: \"x\", simulations: [(spec: (noise: {}))])", "9".repeat(20_000));
    let nested = "/*".repeat(20_000);
    [long_name, deep, digits, nested].map(String::into_bytes).into()
}

/// Checks that a parsed preset is written and read back as equal, and that another is refused with a message about the
/// file's content.
fn check(outcome: Result<Preset, PresetError>, input: &str) {
    match outcome {
        Ok(preset) => {
            let text = preset.to_ron();
            let again = Preset::parse(&text, "again").unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(again, preset);
            assert_eq!(again.to_ron(), text);
        }
        Err(PresetError::Content(fault)) => {
            expect_plain(&fault.message, input);
            assert!(fault.message.len() < 1000, "{fault}");
            assert!(fault.to_string().len() < 3000, "{fault}");
        }
        Err(error @ PresetError::CannotSet { .. }) => {
            expect_plain(&error.to_string(), input);
            assert!(error.to_string().len() < 1000, "{error}");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn presets() {
    let mut seeds: Vec<Vec<u8>> = built_ins().iter().map(|built_in| built_in.text.as_bytes().to_vec()).collect();
    seeds.extend(built_ins().iter().map(|built_in| built_in.preset.to_ron().into_bytes()));
    seeds.extend(crafted());
    let target = Target { name: "presets", seeds, words: PRESET_WORDS, memory: 32 << 20, cases: 2000 };
    fuzz(&target, |input| {
        let text = String::from_utf8_lossy(input);
        check(Preset::parse(&text, "input"), &text);
    });
}

#[test]
fn set() {
    let seeds = [
        "steps=50",
        "runs[0].steps=5",
        "runs[99].steps=5",
        "optimizer=FOCUS",
        "optimizer.gamma=0.4",
        "vary=[\"batch_size=2..4096:12:log\", \"seed=1, 2\"]",
        "vary[0]=\"optimizer=Adam, Signum(beta1: 0.8)\"",
        "base.runs[0].batch_size=3",
        "seeds=5",
        "title=Two words, and a comma",
        "steps=5, seed: 7",
        "name=x\"), (optimizer: Adam(), learning_rate: 0.1",
        "data=Folder(\"/some/where\")",
        "device=Cuda(1)",
        "simulations[0].spec.noise=2",
        "view.camera=(center: (0, 0), width: 2)",
    ];
    let seeds = seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    let presets: Vec<&Preset> = built_ins().iter().map(|built_in| &built_in.preset).collect();
    let target = Target { name: "set", seeds, words: PRESET_WORDS, memory: 32 << 20, cases: 2000 };
    let mut turn = 0;
    fuzz(&target, |input| {
        let text = String::from_utf8_lossy(input);
        let (path, value) = text.split_once('=').unwrap_or((&text, ""));
        turn += 1;
        check(presets[turn % presets.len()].with(path, value), &text);
    });
}

const RECORD_WORDS: &str = r#"{ } [ ] , : " \ \u0000 \ud800 null true "NaN" "inf" 1e400 "event":"train" "event":"started"
    "event":"eval" "event":"resumed" "event":"checkpoint" "event":"command" "event":"finished"
    "event":"failed" "step":0
    "time":"2026-03-01T12:00:00Z" "id": "command": "Stop" "Save" {"SetSteps":{"n":5}}
    "event":"changed" "changes":[] {"Set":{"settings":{"steps":1e300}}}"#;

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
    let seeds = vec![run()];
    let place = tempfile::tempdir().expect("a folder");
    let run = RunFolder::create(place.path(), "run", "Mnist()").expect("a run");
    let target = Target { name: "events", seeds, words: RECORD_WORDS, memory: 64 << 20, cases: 2000 };
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
    });
}

#[test]
fn commands() {
    let target = Target { name: "commands", seeds: Vec::new(), words: RECORD_WORDS, memory: 16 << 20, cases: 2000 };
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

const SWEEP_WORDS: &str = "PK\x03\x04 PK\x01\x02 PK\x05\x06 \u{93}NUMPY '<f8' '<U9' () (2,2)";

/// A small sweep, all of its pixels.
fn small() -> (SweepSpec, Vec<Finished>) {
    let preset = &built_ins().iter().find(|built_in| built_in.name == "fig2a").expect("it is built in").preset;
    let Preset::Sweep(preset) = preset else { panic!("fig2a is no sweep") };
    let mut spec = preset.sweep.clone();
    (spec.rows.count, spec.columns.count) = (PointCount::clamped(2), PointCount::clamped(2));
    (spec.steps, spec.replicates) = (StepCount::clamped(5), Replicates::clamped(4));
    spec.optimizers.iter_mut().for_each(|optimizer| optimizer.learning_rates.count = PointCount::clamped(2));
    let pool = Pool::new(1).expect("a thread");
    let job = SweepJob { keep_runs: true, ..SweepJob::new(Arc::new(spec.clone()), Backend::new(Precision::Single)) };
    let sweep = Sweep::start(&pool, job, || {});
    let pixels = sweep.finished().iter().collect();
    (spec, pixels)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
}

fn put(bytes: &mut [u8], at: usize, number: u32) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(4)) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// Makes the checksums in an archive right, so that more than them is tried.
fn repair_archive(bytes: &mut [u8]) {
    let heads: Vec<usize> =
        bytes.windows(4).enumerate().filter(|(_, b)| *b == b"PK\x01\x02").map(|(at, _)| at).collect();
    for head in heads {
        let (Some(size), Some(local)) = (u32_at(bytes, head + 24), u32_at(bytes, head + 42)) else { continue };
        let Some(name) = bytes.get(local + 26..local + 28) else { continue };
        let start = local + 30 + usize::from(u16::from_le_bytes([name[0], name[1]]));
        if let Some(contents) = start.checked_add(size).and_then(|end| bytes.get(start..end)) {
            let sum = crc32fast::hash(contents);
            put(bytes, head + 16, sum);
        }
    }
}

#[test]
fn npz() {
    let (spec, pixels) = small();
    let mut diagram = Diagram::new(Arc::new(spec));
    pixels.into_iter().for_each(|finished| diagram.insert(finished.pixel, finished.cell));
    let result =
        SweepResult { title: "Small".to_owned(), description: String::new(), diagram, precision: Precision::Single };
    let written = |result: &SweepResult| {
        let mut bytes = Cursor::new(Vec::new());
        result.write_arrays(&mut bytes).expect("memory takes all");
        bytes.into_inner()
    };
    let target =
        Target { name: "npz", seeds: vec![written(&result)], words: SWEEP_WORDS, memory: 64 << 20, cases: 2000 };
    let mut turn = 0_u32;
    fuzz(&target, |input| {
        let mut input = input.to_vec();
        turn += 1;
        if !turn.is_multiple_of(4) {
            repair_archive(&mut input);
        }
        if let Ok(read) = SweepResult::read_arrays(Cursor::new(&input), "input") {
            let bytes = written(&read);
            let again = SweepResult::read_arrays(Cursor::new(&bytes), "again").expect("what is written can be read");
            assert_eq!(written(&again), bytes);
        }
    });
}

#[test]
fn recorded_clouds() {
    let mut written = Cursor::new(Vec::new());
    let mut npz = NpzWriter::new(&mut written);
    npz.array("step", &[3], [0_i64, 1, 5]).expect("memory takes all");
    npz.array("positions", &[2, 3, 4, 2], (0..48).map(f64::from)).expect("memory takes all");
    npz.text("spec", "Landscape(version: 1)").expect("memory takes all");
    npz.finish().expect("memory takes all");
    let seeds = vec![written.into_inner()];
    let target = Target { name: "recorded_clouds", seeds, words: SWEEP_WORDS, memory: 64 << 20, cases: 2000 };
    let mut turn = 0_u32;
    fuzz(&target, |input| {
        let mut input = input.to_vec();
        turn += 1;
        if !turn.is_multiple_of(4) {
            repair_archive(&mut input);
        }
        for cloud in RecordedCloud::read_archive(Cursor::new(&input), Path::new("input")).unwrap_or_default() {
            let recording = &cloud.recording;
            for step in [0, 1, recording.last_step(), u64::MAX] {
                assert_eq!(recording.positions_at(step).len(), recording.particles);
            }
        }
    });
}

/// Makes the checksums in the frames of records right, so that more than them is tried.
fn repair_records(bytes: &[u8]) -> Vec<u8> {
    const MAGIC: usize = 8;
    let Some((magic, frames)) = bytes.split_at_checked(MAGIC) else { return bytes.to_vec() };
    let mut repaired = magic.to_vec();
    for frame in frames.split_inclusive(|byte| *byte == 0) {
        let content = frame.strip_suffix(&[0]).and_then(|frame| cobs::decode_vec(frame).ok());
        match content.filter(|content| content.len() >= 4) {
            Some(content) => {
                let content = &content[..content.len() - 4];
                let checked = [content, &crc32fast::hash(content).to_le_bytes()].concat();
                repaired.extend(cobs::encode_vec(&checked));
                repaired.push(0);
            }
            None => repaired.extend(frame),
        }
    }
    repaired
}

#[test]
fn sweep_records() {
    let (spec, pixels) = small();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(SweepRecords::FILE);
    let preset = SweepPreset {
        version: FormatVersion,
        title: "Small".to_owned(),
        description: String::new(),
        sweep: spec.clone(),
    };
    let header = SweepHeader { preset: Arc::new(preset), precision: Precision::Single, keeps_runs: true, part: None };
    let open = || SweepStore::open(folder.path(), Some(&header)).map(|(store, _)| store);
    let mut store = open().expect("a new one");
    pixels.iter().for_each(|pixel| store.add(pixel));
    store.save().expect("there is room");
    drop(store);
    let seed = fs::read(&path).expect("it is there");
    let target = Target { name: "sweep_records", seeds: vec![seed], words: "", memory: 32 << 20, cases: 500 };
    let mut turn = 0_u32;
    fuzz(&target, |input| {
        turn += 1;
        let input = if turn.is_multiple_of(4) { input.to_vec() } else { repair_records(input) };
        fs::write(&path, &input).expect("there is room");
        let Ok(store) = open() else { return };
        let cells = |store: &SweepStore| -> Vec<String> {
            let all = spec.pixels().map(|pixel| store.read(pixel).expect("it has just been read"));
            all.map(|finished| format!("{finished:?}")).collect()
        };
        let read = cells(&store);
        drop(store);
        let again = open().expect("what was good is good");
        assert_eq!(cells(&again), read);
    });
}

fn digits(count: usize) -> Digits {
    Digits {
        images: (0..count * PIXELS).map(|pixel| (pixel % 251) as u8).collect(),
        labels: (0..count).map(|label| (label % 10) as u8).collect(),
    }
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

/// Tries files in the IDX format: the first byte of an input is the number of the file that the rest replaces.
#[test]
fn idx() {
    let good = tempfile::tempdir().expect("a folder");
    write_folder(&Mnist { train: digits(3), test: digits(2), source: MnistSource::Synthetic }, good.path())
        .expect("written");
    let names =
        ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];
    let mut seeds = Vec::new();
    for (index, name) in (0..).zip(names) {
        let content = fs::read(good.path().join(name)).expect("it is there");
        for content in [gzipped(&content), content] {
            seeds.push([&[index], &content[..]].concat());
        }
    }
    // The headers declare a million images, and the largest number.
    for count in [[0, 0x0f, 0x42, 0x40], [0xff; 4]] {
        let head = [&[0, 0, 8, 3], &count[..], &[0, 0, 0, 28, 0, 0, 0, 28]].concat();
        seeds.extend([gzipped(&head), head].map(|content| [&[0], &content[..]].concat()));
    }
    let target = Target { name: "idx", seeds, words: "", memory: 96 << 20, cases: 1000 };
    let mut turn = 0_u32;
    fuzz(&target, |input| {
        turn += 1;
        let Some((index, content)) = input.split_first() else { return };
        let index = usize::from(*index) % 4;
        let path = good.path().join(names[index]);
        let before = fs::read(&path).expect("it is there");
        fs::write(&path, content).expect("there is room");
        let read = read_folder(good.path());
        let checks = mnist::check(good.path());
        fs::write(&path, before).expect("there is room");
        checks.expect("all files can be read");
        match read {
            // Writing waits for the disk, so it is tried only now and then.
            Ok(read) if turn.is_multiple_of(32) => {
                let copy = tempfile::tempdir().expect("a folder");
                write_folder(&read, copy.path()).expect("there is room");
                let again = read_folder(copy.path()).expect("what is written can be read");
                assert_eq!((&again.train, &again.test), (&read.train, &read.test));
            }
            Ok(_) => {}
            Err(error) => assert!(error.to_string().contains("expected"), "{error}"),
        }
    });
}

/// Words of the program's source, of the RON reader and of serde, between bars.
const FOREIGN: &str = "struct |enum |variant|tuple|identifier|serde|RON|Option|Vec<|boolean|integer |u8|u32|u64|f64|usize|\
    i64|Expected |Unexpected|Invalid|Exceeded|Identifier|Preset`|Spec`|Spec |Settings|SymLog|Camera|SweepOptimizer|\
    Variation|RuleSpec|RatedRule|RuleKind|LearningRates|LessonStep|Claim|Comparison|FormatVersion|DataChoice|\
    DeviceChoice|PointCount";

/// Checks that a message contains no word of the source, except for those in the input itself.
#[track_caller]
pub fn expect_plain(message: &str, input: &str) {
    for word in FOREIGN.split('|') {
        assert!(!message.contains(word) || input.contains(word.trim()), "{word:?} in: {message}");
    }
}
