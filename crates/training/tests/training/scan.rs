//! Scans of trainings, whole and in parts, and the merging of their runs.

use std::process::Output;
use std::sync::atomic::AtomicBool;

use tch::Device;
use valleyscope_engine::optimizer::{Need, RuleKind, RuleSpec};
use valleyscope_engine::quantity::{BatchSize, PointCount, Replicates, TrainingSteps};
use valleyscope_engine::sweep::LearningRates;
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::workload::{DeviceChoice, FloatType, MnistScanSpec, MnistSpec, ScanOptimizer};
use valleyscope_runs::{Event, MetricId, RunFolder, RunSession, Status};
use valleyscope_training::Training;
use valleyscope_training::mnist::{MnistRun, Scan};

use crate::says::says;
use crate::stage::{Stage, expect, history, mnist, named, points, rate, scan, spec, status, train, valleyscope};

fn scan_spec(precision: FloatType) -> MnistScanSpec {
    let rules = RuleKind::ALL.iter().map(|&kind| RuleSpec::in_training(kind));
    MnistScanSpec {
        optimizers: rules.map(|rule| ScanOptimizer { name: None, color: None, rule }).collect(),
        batch_sizes: [8, 64].map(|size| BatchSize::new(size).unwrap()).to_vec(),
        learning_rates: LearningRates { from: rate(1e-3), to: rate(1e-2), count: PointCount::new(2).unwrap() },
        replicates: Replicates::new(3).unwrap(),
        steps: TrainingSteps::new(12).unwrap(),
        seed: 4,
        data: DataChoice::Synthetic,
        device: DeviceChoice::Cpu,
        precision,
        part: None,
    }
}

#[test]
fn the_first_training_of_a_grid_point_equals_a_single_run() {
    let (spec_of_scan, data) = (scan_spec(FloatType::Float64), mnist());
    let scan = Scan::new(&spec_of_scan, &data, Device::Cpu).unwrap();
    for optimizer in &spec_of_scan.optimizers {
        for batch_size in &spec_of_scan.batch_sizes {
            let point = scan.point(&optimizer.rule, batch_size.get(), &AtomicBool::new(false)).unwrap().unwrap();
            let shape =
                [&point.train_loss, &point.test_loss, &point.test_accuracy].map(|grid| (grid.len(), grid[0].len()));
            assert_eq!(shape, [(2, 3); 3]);
            let single = MnistSpec {
                optimizer: optimizer.rule,
                batch_size: *batch_size,
                seed: 4,
                precision: FloatType::Float64,
                ..spec(optimizer.rule.name())
            };
            let mut run = MnistRun::new(&single, &data, Device::Cpu).unwrap();
            run.start().unwrap();
            let mut loss = f64::NAN;
            (0..12).for_each(|_| loss = run.advance(&mut || Ok(())).unwrap().double_value(&[0]));
            let evaluation = run.evaluate(&mut || Ok(())).unwrap();
            // In directions without gradients SOAP divides rounding, which depends on the number of threads, by ε.
            let tolerance = if optimizer.rule.info().needs(Need::Axes) { 1e-7 } else { 1e-9 };
            assert!((point.train_loss[0][0] - loss).abs() < tolerance, "{} {loss}", point.train_loss[0][0]);
            assert!((point.test_loss[0][0] - evaluation.get(MetricId::TEST_LOSS).unwrap()).abs() < tolerance);
            assert!((point.test_accuracy[0][0] - evaluation.get(MetricId::TEST_ACCURACY).unwrap()).abs() < 1e-12);
            // Replicates and learning rates are trainings of their own.
            let mut losses = point.test_loss.concat();
            losses.sort_by(f64::total_cmp);
            losses.dedup();
            assert_eq!(losses.len(), 6);
        }
    }
}

#[test]
fn a_grid_point_is_reproducible_and_stoppable() {
    let (spec, data) = (scan_spec(FloatType::Float32), mnist());
    let scan = Scan::new(&spec, &data, Device::Cpu).unwrap();
    let point = || scan.point(&spec.optimizers[2].rule, 8, &AtomicBool::new(false)).unwrap().unwrap();
    assert_eq!(point(), point());
    assert_eq!(scan.point(&spec.optimizers[2].rule, 8, &AtomicBool::new(true)).unwrap(), None);
}

#[test]
fn refuses_a_batch_of_one_image() {
    let data = mnist();
    let spec = MnistScanSpec { batch_sizes: vec![BatchSize::new(333).unwrap()], ..scan_spec(FloatType::Float32) };
    says(Scan::new(&spec, &data, Device::Cpu).unwrap_err(), &["333", "one of the 1000 images"]);
}

fn runs(stage: &Stage, args: &[&str]) -> Output {
    let runs = stage.place.path().join("runs");
    valleyscope(stage, &[&["runs", "--runs", runs.to_str().unwrap()], args].concat())
}

fn arrays(stage: &Stage, run: &RunFolder) -> Vec<u8> {
    let out = stage.place.path().join("scan.npz");
    expect(&runs(stage, &["export", &run.name(), "--out", out.to_str().unwrap()]), 0, &[]);
    std::fs::read(out).unwrap()
}

/// Returns the preset of the stage's scan, as a file of this name.
fn preset(stage: &Stage, name: &str) -> String {
    let path = stage.place.path().join(name);
    std::fs::copy(scan(stage).config(), &path).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn merged_parts_of_a_scan_equal_the_whole_byte_for_byte() {
    let stage = Stage::new();
    expect(&train(&stage, &[&preset(&stage, "whole.ron")]), 0, &["finished"]);
    let [whole] = named(&stage, "whole").try_into().unwrap();
    let preset = preset(&stage, "small.ron");
    for number in [3, 1] {
        let part = format!("{number}/3");
        expect(&train(&stage, &[&preset, "--part", &part]), 0, &[&format!("small-part-{number}-of-3"), "finished"]);
    }
    let [first, third] = named(&stage, "small-part").try_into().unwrap();
    let of_parts: Vec<_> = [&first, &third].map(|run| points(run).len()).into();
    assert!(of_parts.iter().all(|count| (2..=3).contains(count)), "{of_parts:?} of 8");

    // The existing parts are named, and can be drawn.
    let merge = |names: &[&str]| runs(&stage, &[&["merge"], names].concat());
    let said = format!("{} of 8 grid points are in ", of_parts.iter().sum::<usize>());
    expect(&merge(&[&first.name(), &third.name()]), 1, &[&said, "part 2/3 is missing"]);
    let so_far = |stage: &Stage| named(stage, "small-2").pop().unwrap();
    let incomplete = so_far(&stage);
    assert_eq!(status(&incomplete), Status::Stopped);
    let figure = stage.place.path().join("scan.svg");
    expect(
        &valleyscope(&stage, &["figure", incomplete.path().to_str().unwrap(), "--out", figure.to_str().unwrap()]),
        0,
        &[],
    );
    assert!(figure.is_file());

    // The rest is trained by the missing part, or in the new run.
    expect(&train(&stage, &["--resume", &incomplete.name()]), 0, &["finished"]);
    expect(&train(&stage, &[&preset, "--part", "2/3"]), 0, &["finished"]);
    let all: Vec<String> = named(&stage, "small-part").iter().map(RunFolder::name).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    expect(&merge(&all), 0, &["8 grid points of 3 runs are in "]);
    let merged = so_far(&stage);
    assert_ne!(merged, incomplete);
    for run in [&merged, &incomplete] {
        assert_eq!(status(run), Status::Finished);
        // The missing points were trained last.
        let losses = |run| points(run).into_iter().map(|(index, _, losses)| (index, losses)).collect::<Vec<_>>();
        assert_eq!(losses(run), losses(&whole), "{}", run.name());
        assert!(arrays(&stage, run) == arrays(&stage, &whole), "{}", run.name());
    }
    expect(&runs(&stage, &["check", merged.path().to_str().unwrap()]), 0, &[]);

    // A part that was trained twice.
    expect(&train(&stage, &[&preset, "--part", "1/3"]), 0, &[]);
    let twice: Vec<String> = named(&stage, "small-part").iter().map(RunFolder::name).collect();
    let twice: Vec<&str> = twice.iter().map(String::as_str).collect();
    expect(&merge(&twice), 0, &["part 1/3 is there twice, with the same results"]);
}

#[test]
fn merging_names_a_stopped_part_and_refuses_foreign_runs() {
    let stage = Stage::new();
    let whole = scan(&stage);
    let preset = preset(&stage, "small.ron");
    for part in ["1/2", "2/2"] {
        expect(&train(&stage, &[&preset, "--part", part]), 0, &[]);
    }
    let other = ["--set", "replicates=3", "--part", "2/2"];
    expect(&train(&stage, &[&[&*preset], &other[..]].concat()), 0, &[]);
    expect(&train(&stage, &[&preset, "--part", "1/3"]), 0, &[]);
    let [first, third_of_other_count, second, foreign] = {
        let runs = named(&stage, "small-part");
        let of = |stem: &str| runs.iter().filter(|run| run.name().starts_with(stem)).cloned().collect::<Vec<_>>();
        let [seconds, thirds] = [of("small-part-2-of-2"), of("small-part-1-of-3")];
        [of("small-part-1-of-2")[0].clone(), thirds[0].clone(), seconds[0].clone(), seconds[1].clone()]
    };
    let merge = |runs_of: &[&RunFolder]| {
        let names: Vec<String> = runs_of.iter().map(|run| run.name()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        runs(&stage, &[&["merge"], &names[..]].concat())
    };
    let before = named(&stage, "").len();
    expect(&merge(&[&first, &foreign]), 2, &["is of another scan", "`replicates` is 3, and not 2"]);
    expect(&merge(&[&first, &third_of_other_count]), 2, &["it is part 1/3, and that is part 1/2"]);
    expect(&merge(&[&first, &whole]), 2, &["expected the run of a part of a scan", "scan-"]);
    assert_eq!(named(&stage, "").len(), before, "nothing is left of what was refused");

    // The last point of a part is lost.
    let events = std::fs::read_to_string(second.events()).unwrap();
    let lines: Vec<&str> = events.lines().collect();
    let last = lines.iter().rposition(|line| line.contains(r#""event":"grid_point""#)).unwrap();
    std::fs::write(second.events(), lines[..last].join("\n") + "\n").unwrap();
    let lost = format!("part 2/2 has 3 of 4 ({})", second.name());
    expect(&merge(&[&first, &second]), 1, &["7 of 8 grid points are in", &lost]);
    // A line that is no event.
    let damage = |number: usize| {
        let changed = |(index, line): (usize, &&str)| match index {
            at if at == number => line.replacen(':', "", 1) + "\n",
            _ => format!("{line}\n"),
        };
        std::fs::write(second.events(), lines.iter().enumerate().map(changed).collect::<String>()).unwrap();
    };
    damage(last);
    let lost = format!("({}), as its events.jsonl is damaged: skipped 1 line", second.name());
    expect(&merge(&[&first, &second]), 1, &["7 of 8 grid points are in", "part 2/2 has 3 of 4", &lost]);
    damage(0);
    let words = format!("{} is left out, as its beginning cannot be read: its events.jsonl is damaged", second.name());
    expect(&merge(&[&first, &second]), 1, &["4 of 8 grid points are in", &words, "skipped 1 line"]);
    std::fs::write(second.events(), lines[..last].join("\n") + "\n").unwrap();
    // Into a new folder.
    let new = stage.place.path().join("merged").join("runs");
    let parts = [&first, &second].map(|run| run.path().to_str().unwrap().to_owned());
    let merged = valleyscope(&stage, &["runs", "--runs", new.to_str().unwrap(), "merge", &parts[0], &parts[1]]);
    expect(&merged, 1, &["7 of 8 grid points are in", new.to_str().unwrap()]);
    assert_eq!(RunFolder::list(&new).unwrap().len(), 1);
    // A run that has not begun.
    let config = first.config_text().unwrap();
    let begun = RunFolder::create(&stage.place.path().join("runs"), "small-begun", &config).unwrap();
    let words = format!("{} has not begun, and is left out", begun.name());
    expect(&merge(&[&begun, &first, &second]), 1, &["7 of 8 grid points", &words]);
    expect(&merge(&[&begun]), 1, &["none of the parts has begun"]);
    // Another result of a point.
    let other = RunFolder::create(&stage.place.path().join("runs"), "small-other", &config).unwrap();
    let mut session = RunSession::begin(&other).unwrap();
    session.record(0, Event::Started(history(&first).started().unwrap().clone())).unwrap();
    let mut point = history(&first).grid_points().next().unwrap().clone();
    point.test_loss[0][0] += 1e-15;
    session.record(1, Event::GridPoint(point)).unwrap();
    drop(session);
    expect(&merge(&[&first, &second, &other]), 2, &["have different results for Adam with batches of"]);
}

/// Losses belong to the config that their part was begun with.
#[test]
fn refuses_to_merge_parts_with_edited_configs() {
    let stage = Stage::new();
    let preset = preset(&stage, "small.ron");
    for part in ["1/2", "2/2"] {
        expect(&train(&stage, &[&preset, "--part", part]), 0, &[]);
    }
    let parts = named(&stage, "small-part");
    let (names, before): (Vec<String>, Vec<String>) =
        parts.iter().map(|run| (run.name(), run.config_text().unwrap())).unzip();
    let merge: Vec<&str> = std::iter::once("merge").chain(names.iter().map(String::as_str)).collect();
    let runs_there = named(&stage, "").len();
    let edits = [
        ("from: 0.001", "from: 0.00001", "`learning_rates.from` was 0.001 and is 0.00001"),
        ("rule: Signum(", "rule: Lion(", "`optimizers[1].rule` was Signum("),
    ];
    for (from, to, field) in edits {
        for (run, text) in parts.iter().zip(&before) {
            let edited = text.replacen(from, to, 1);
            assert_ne!(*text, edited);
            std::fs::write(run.config(), edited).unwrap();
        }
        let words = ["cannot merge", names[0].as_str(), "is not the one that the run was begun with", field];
        expect(&runs(&stage, &merge), 2, &words);
        assert_eq!(named(&stage, "").len(), runs_there, "nothing is written");
        for run in &parts {
            let checked = runs(&stage, &["check", &run.name()]);
            expect(&checked, 1, &["config.ron is not the one that the run was begun with", field]);
        }
    }
    for (run, text) in parts.iter().zip(&before) {
        std::fs::write(run.config(), text).unwrap();
    }
    expect(&runs(&stage, &merge), 0, &["8 grid points of 2 runs are in "]);
}

#[test]
fn refuses_a_part_that_does_not_exist() {
    let stage = Stage::new();
    let preset = preset(&stage, "small.ron");
    expect(&train(&stage, &[&preset, "--part", "1/9"]), 2, &["is 1/9: expected at most 8 parts"]);
    expect(&train(&stage, &[&preset, "--part", "3/2"]), 2, &["from 1 to 2"]);
    expect(&train(&stage, &["mnist", "--part", "1/2"]), 2, &["expected a scan of trainings for --part 1/2"]);
    expect(&runs(&stage, &["merge", "nothing"]), 2, &["there is no run `nothing`"]);
    assert_eq!(named(&stage, "small").len(), 0);
}
