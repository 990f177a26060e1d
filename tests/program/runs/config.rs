//! Comparison of a run's config with the one with which it began.

use std::fs;

use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::run::{ConfigError, RunConfig};
use valleyscope_runs::{Event, EventRecord, GridPoint, RunFolder, RunReader, Started};

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

/// Returns the fields that differ, as `field: before -> now`.
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
    assert_eq!(differences(&run), ["kind: Mnist -> MnistScan"]);
}

#[test]
fn a_scan_keeps_its_axes() {
    for (path, value, expected) in [
        ("batch_sizes", "[8, 2, 4]", "batch_sizes: [2, 4, 8] -> [8, 2, 4]"),
        ("steps", "50", "steps: 400 -> 50"),
        ("replicates", "2", "replicates: 3 -> 2"),
        ("learning_rates.count", "3", "learning_rates.count: 20 -> 3"),
    ] {
        let (_place, run) = run_of("fig2cd", &[("batch_sizes", "[2, 4, 8]")]);
        write(&run, vec![Event::Started(started(&run))]);
        change(&run, path, value);
        assert_eq!(differences(&run), [expected]);
    }
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
    let (_place, run) = run_of("fig2cd", &[]);
    let optimizer = format!("\u{1b}]52;c;eA==\u{7}{}", "x".repeat(90_000));
    write(&run, vec![Event::GridPoint(GridPoint { optimizer, ..GridPoint::default() })]);
    let said = check(&run).unwrap_err().to_string();
    assert!(said.contains("\\u{1b}]52") && !said.contains('\u{1b}') && said.len() < 2000, "{said}");
}

#[test]
fn finished_grid_points_determine_the_scan() {
    let grid = vec![vec![0.5; 3]; 20];
    let point = GridPoint {
        index: [1, 2],
        optimizer: "Signum".into(),
        batch_size: 8,
        train_loss: grid.clone(),
        test_loss: grid.clone(),
        test_accuracy: grid,
        ..GridPoint::default()
    };
    let (_place, run) = run_of("fig2cd", &[]);
    // The first event is lost.
    write(&run, vec![Event::GridPoint(point)]);
    check(&run).unwrap();
    change(&run, "batch_sizes", "[8, 4, 2]");
    assert_eq!(differences(&run), ["batch_sizes[2]: 8 -> 2"]);
    change(&run, "batch_sizes", "[8, 2]");
    change(&run, "replicates", "2");
    assert_eq!(differences(&run), ["batch_sizes[2]: 8 -> not given", "learning_rates × replicates: 20 × 3 -> 20 × 2"]);
}
