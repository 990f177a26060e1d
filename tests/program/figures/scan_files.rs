//! `scan.npz` and `scan.csv`.

use std::io::Cursor;

use valleyscope::sweep::result::scan::{ScanError, ScanResult};
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::{GridPoint, RunFolder, ScanAxes, Started};

use super::files::{array, texts};
use crate::scan_run::{
    DATA, accuracy, axes, config, places, point, scan, started, test_loss, train_loss, write, write_with,
};

const SHAPE: [u64; 4] = [3, 4, 3, 2];

pub fn opened(run: &RunFolder) -> ScanResult {
    ScanResult::open(run).expect("a scan")
}

fn of(started: Started, points: Vec<GridPoint>) -> Result<ScanResult, ScanError> {
    let folder = tempfile::tempdir().expect("a folder");
    ScanResult::open(&write(folder.path(), started, points))
}

fn part() -> ScanResult {
    let folder = tempfile::tempdir().expect("a folder");
    opened(&scan(folder.path(), false))
}

fn arrays(scan: &ScanResult) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    scan.write_arrays(&mut file).expect("memory takes all that is written");
    file.into_inner()
}

fn table(scan: &ScanResult) -> Vec<Vec<String>> {
    let mut bytes = Vec::new();
    let rows = scan.write_table(&mut bytes).expect("memory takes all that is written");
    let lines = String::from_utf8(bytes).expect("text");
    // Names with a comma are in quotes.
    let lines: Vec<Vec<String>> = lines
        .replace("\"FOCUS, γ = 0.2\"", "FOCUS")
        .lines()
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect();
    assert_eq!(lines.len() as u64, 1 + rows);
    lines
}

/// Returns mean, sample deviation and learning rate of the best, by the definition.
pub fn score(place: [usize; 2]) -> (f64, f64, usize) {
    let scores = (0..3).map(|rate| {
        let loss = |replicate| Some(test_loss(place, rate, replicate)).filter(|loss| loss.is_finite()).unwrap_or(100.0);
        let (one, other) = (loss(0), loss(1));
        let mean = (one + other) / 2.0;
        (mean, ((one - mean).powi(2) + (other - mean).powi(2)).sqrt(), rate)
    });
    scores.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are some")
}

/// Returns an optimizer's improvement on Adam with a batch size, and its error.
pub fn improvement(optimizer: usize, size: usize) -> (f64, f64) {
    let ((a, of_a, _), (b, of_b, _)) = (score([0, size]), score([optimizer, size]));
    ((a - b) / a, (b.powi(2) / a.powi(4) * of_a.powi(2) + of_b.powi(2) / a.powi(2)).sqrt())
}

#[track_caller]
pub fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12, "expected {expected}, found {found}");
}

#[test]
fn arrays_have_the_documented_names_shapes_types_and_values() {
    let bytes = arrays(&part());
    let known = places(&axes(), false);
    for (name, value) in [
        ("train_loss", train_loss as fn([usize; 2], usize, usize) -> f64),
        ("test_loss", test_loss),
        ("test_accuracy", accuracy),
    ] {
        let (shape, kind, values) = array::<f64>(&bytes, name);
        assert_eq!((shape, kind.as_str()), (SHAPE.to_vec(), "<f8"), "{name}");
        for (index, found) in values.into_iter().enumerate() {
            let (replicate, rate, size, optimizer) = (index % 2, index / 2 % 3, index / 6 % 4, index / 24);
            let there = known.contains(&[optimizer, size]);
            let expected = if there { value([optimizer, size], rate, replicate) } else { f64::NAN };
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{name} {index}: {found}, not {expected}"
            );
        }
    }
    let names = ["Adam", "Signum", "FOCUS, γ = 0.2"].map(str::to_owned).to_vec();
    assert_eq!(texts(&bytes, "optimizers"), (vec![3], names));
    assert_eq!(array::<i64>(&bytes, "batch_sizes"), (vec![4], "<i8".to_owned(), vec![2, 8, 32, 128]));
    assert_eq!(array::<f64>(&bytes, "learning_rates").2, [0.001, 0.01, 0.1]);
    assert_eq!(array::<i64>(&bytes, "steps"), (vec![], "<i8".to_owned(), vec![400]));
    assert_eq!(array::<i64>(&bytes, "replicates").2, [2]);
    assert_eq!(array::<u64>(&bytes, "seed"), (vec![], "<u8".to_owned(), vec![u64::MAX]));
    let program = format!("valleyscope 1.2.3, float32, seed {}", u64::MAX);
    assert_eq!(texts(&bytes, "program"), (vec![], vec![program]));
    assert_eq!(texts(&bytes, "spec").1, [config()]);
    assert_eq!(texts(&bytes, "data").1, ["MNIST"], "where it is kept on a machine is of no interest");
    assert!(DATA.contains("/some/cache"));
}

#[test]
fn arrays_hold_the_scores() {
    let bytes = arrays(&part());
    let of = |name: &str| {
        let (shape, _, values) = array::<f64>(&bytes, name);
        assert_eq!(shape, [3, 4], "{name}");
        values
    };
    let [scores, deviations, improvements, errors] = ["score", "score_std", "improvement", "improvement_error"].map(of);
    let (shape, kind, best) = array::<i32>(&bytes, "best_lr");
    assert_eq!((shape, kind.as_str()), (vec![3, 4], "<i4"));
    let known = places(&axes(), false);
    for (index, place) in (0..12).map(|index| (index, [index / 4, index % 4])) {
        if !known.contains(&place) {
            assert!(scores[index].is_nan() && deviations[index].is_nan() && improvements[index].is_nan());
            assert_eq!(best[index], -1);
            continue;
        }
        let (mean, deviation, rate) = score(place);
        close(scores[index], mean);
        close(deviations[index], deviation);
        assert_eq!(best[index], rate as i32);
        if place[0] == 0 {
            assert!(improvements[index].is_nan() && errors[index].is_nan(), "Adam does not improve on itself");
        } else {
            let (value, error) = improvement(place[0], place[1]);
            close(improvements[index], value);
            close(errors[index], error);
        }
    }
}

#[test]
fn the_table_has_a_row_for_each_optimizer_and_batch_size() {
    let rows = table(&part());
    let header = "optimizer,batch_size,score,std,best_lr,replicates,improvement,improvement_error,best_lr_edge";
    assert_eq!(rows[0].join(","), header);
    assert_eq!(rows.len(), 1 + 12);
    let number = |text: &str| text.parse::<f64>().expect("a number");
    for (row, [optimizer, size]) in rows[1..].iter().zip((0..12).map(|index| [index / 4, index % 4])) {
        assert_eq!(row[0], ["Adam", "Signum", "FOCUS"][optimizer]);
        assert_eq!(row[1], ["2", "8", "32", "128"][size]);
        if !places(&axes(), false).contains(&[optimizer, size]) {
            assert_eq!(row[2..].join(","), "NaN,NaN,NaN,,NaN,NaN,");
            continue;
        }
        let (mean, deviation, rate) = score([optimizer, size]);
        close(number(&row[2]), mean);
        close(number(&row[3]), deviation);
        assert_eq!((row[4].as_str(), row[5].as_str()), (["0.001", "0.01", "0.1"][rate], "2"));
        if optimizer == 0 {
            assert_eq!(row[6..].join(","), "NaN,NaN,");
        } else {
            let (value, error) = improvement(optimizer, size);
            close(number(&row[6]), value);
            close(number(&row[7]), error);
        }
    }
}

/// Returns the scan with Signum's best learning rate at the upper end with batches of 2 and 32, and at the lower with 8;
/// with 128 all of its trainings diverge.
pub fn at_edges(folder: &std::path::Path) -> ScanResult {
    let axes = axes();
    let points = places(&axes, true).into_iter().map(|place| {
        let mut point = point(&axes, place);
        match place {
            [1, 0 | 2] => point.test_loss[2] = vec![0.01, 0.02],
            [1, 1] => point.test_loss[0] = vec![0.01, 0.02],
            [1, 3] => point.test_loss.iter_mut().for_each(|losses| *losses = vec![f64::NAN, f64::INFINITY]),
            _ => {}
        }
        point
    });
    opened(&write(folder, started(&axes, DATA), points))
}

#[test]
fn a_best_learning_rate_at_the_edge_is_marked_with_what_to_widen() {
    let folder = tempfile::tempdir().expect("a folder");
    let scan = at_edges(folder.path());
    let rows = table(&scan);
    let edges: Vec<&str> = rows[1..].iter().map(|row| row[8].as_str()).collect();
    assert_eq!(edges[..4], [""; 4], "Adam's are inside");
    assert_eq!(edges[4..8], ["highest", "lowest", "highest", ""]);
    assert_eq!(edges[8..], [""; 4]);
    let sentence = "best learning rate at the edge of the learning rates tried, 0.001 to 0.1: widen them";
    let notes = [
        format!("{sentence} above 0.1 by `--set learning_rates.to=VALUE` (Signum with batches of 2, 32)"),
        format!("{sentence} below 0.001 by `--set learning_rates.from=VALUE` (Signum with batches of 8)"),
    ];
    assert_eq!(scan.edge_notes(), notes);
    assert_eq!(part().edge_notes(), Vec::<String>::new());
}

#[test]
fn one_replicate_has_no_deviation() {
    let axes = ScanAxes { replicates: 1, ..axes() };
    let points = places(&axes, true).into_iter().map(|place| point(&axes, place)).collect();
    let scan = of(started(&axes, DATA), points).expect("a scan");
    let rows = table(&scan);
    let focus = &rows[9];
    close(focus[2].parse().expect("a number"), test_loss([2, 0], 1, 0));
    assert_eq!((focus[3].as_str(), focus[5].as_str(), focus[7].as_str()), ("NaN", "1", "NaN"));
    assert!(focus[6].parse::<f64>().expect("a number").is_finite());
    assert_eq!(array::<f64>(&arrays(&scan), "test_loss").0, [3, 4, 3, 1]);
}

#[test]
fn repeated_grid_points_count_once_and_those_outside_the_axes_are_ignored() {
    let axes = axes();
    let mut again = point(&axes, [1, 1]);
    again.test_loss = vec![vec![0.25, 0.25, 0.0], vec![0.5], vec![0.75, 0.75], vec![0.0, 0.0]];
    let mut foreign = point(&axes, [0, 0]);
    foreign.index = [3, 0];
    let scan = of(started(&axes, DATA), vec![point(&axes, [1, 1]), again, foreign]).expect("a scan");
    assert_eq!(scan.known(), 1);
    let values = array::<f64>(&arrays(&scan), "test_loss").2;
    let place = 24 + 6;
    assert_eq!(values[place..place + 3], [0.25, 0.25, 0.5]);
    assert!(values[place + 3].is_nan(), "a replicate that is missing");
    close(scan.scores.get(1, 1).expect("it is known").mean, 0.25);
}

#[test]
fn equal_scans_are_equal_bytes() {
    let [one, other] = [part(), part()];
    assert!(arrays(&one) == arrays(&other) && table(&one) == table(&other));
}

#[test]
fn runs_without_grid_points_are_refused_with_the_reason() {
    let refusal = |started, points| of(started, points).expect_err("refused").to_string();
    let axes = axes();
    assert!(refusal(started(&axes, DATA), vec![]).contains("no grid point of the scan is complete yet"));
    let other = Started { scan: None, kind: "Mnist".to_owned(), ..started(&axes, DATA) };
    let said = refusal(other, vec![]);
    assert!(said.contains("expected a scan") && said.contains("found a run of the kind `Mnist`"), "{said}");
    let many = ScanAxes { replicates: u64::MAX, ..axes.clone() };
    assert!(refusal(started(&many, DATA), vec![]).contains("at most 10000 trainings of a grid point"));
    let zero = ScanAxes { batch_sizes: vec![2, 0, 32, 128], ..axes.clone() };
    assert!(refusal(started(&zero, DATA), vec![point(&axes, [0, 0])]).contains("found 0"));
    let folder = tempfile::tempdir().expect("a folder");
    let run = RunFolder::create(folder.path(), "scan", &config()).expect("a run can be made");
    assert!(ScanResult::open(&run).expect_err("refused").to_string().contains("not begun"));
}

#[test]
fn without_a_config_there_are_still_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = scan(folder.path(), true);
    std::fs::remove_file(run.config()).expect("it was there");
    let scan = opened(&run);
    assert_eq!((scan.spec.as_str(), scan.colors.len()), ("", 3));
    close(scan.scores.get(0, 3).expect("it is known").mean, score([0, 3]).0);
}

/// The names of the optimizers do not matter.
#[test]
fn adam_and_signum_are_identified_by_their_rules() {
    let Preset::MnistScan(mut preset) = Preset::parse(&config(), "a config").expect("it can be read") else {
        panic!("fig2cd is a scan")
    };
    for (optimizer, name) in preset.scan.optimizers.iter_mut().zip(["first", "Adam-mini"]) {
        optimizer.name = Some(name.to_owned());
    }
    let config = Preset::MnistScan(preset).to_ron();
    let axes = ScanAxes { optimizers: ["first", "Adam-mini", "FOCUS, γ = 0.2"].map(str::to_owned).to_vec(), ..axes() };
    let folder = tempfile::tempdir().expect("a folder");
    let scan = opened(&write_with(&config, folder.path(), started(&axes, DATA), [point(&axes, [0, 0])]));
    assert_eq!(scan.adam_and_signum(), Some([0, 1]));
}
