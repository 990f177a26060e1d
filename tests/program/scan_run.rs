//! Runs of a scan with made-up results, written as a worker writes them.

use std::path::Path;

use valleyscope_experiments::preset::built_ins;
use valleyscope_runs::{Event, GridPoint, RunFolder, RunSession, ScanAxes, Started};

pub const DATA: &str = "MNIST, in /some/cache";

/// Returns a scan of 3 optimizers, 4 batch sizes, 3 learning rates and 2 replicates.
pub fn axes() -> ScanAxes {
    ScanAxes {
        optimizers: ["Adam", "Signum", "FOCUS, γ = 0.2"].map(str::to_owned).to_vec(),
        batch_sizes: vec![2, 8, 32, 128],
        learning_rates: vec![0.001, 0.01, 0.1],
        replicates: 2,
        steps: 400,
    }
}

/// Returns the test loss of a training, different for each: the learning rate in the middle is best, and the largest
/// diverges with batches of 2.
pub fn test_loss([optimizer, size]: [usize; 2], rate: usize, replicate: usize) -> f64 {
    if rate == 2 && size == 0 {
        return if replicate == 0 { f64::NAN } else { f64::INFINITY };
    }
    let best = [0.8, 0.6, 0.5][optimizer] - 0.1 * size as f64 + 0.05 * (optimizer * size) as f64;
    best + 0.2 * (rate as f64 - 1.0).abs() + 0.04 * (replicate + 1) as f64
}

pub fn train_loss(point: [usize; 2], rate: usize, replicate: usize) -> f64 {
    test_loss(point, rate, replicate) / 2.0
}

pub fn accuracy([optimizer, size]: [usize; 2], rate: usize, replicate: usize) -> f64 {
    0.9 + 0.01 * optimizer as f64 + 0.001 * size as f64 + 0.0001 * (2 * rate + replicate) as f64
}

pub fn started(axes: &ScanAxes, data: &str) -> Started {
    Started {
        title: "Batches & <optimizers>".to_owned(),
        kind: "MnistScan".to_owned(),
        steps: axes.grid_points(),
        seed: Some(u64::MAX),
        precision: "float32".to_owned(),
        version: "1.2.3".to_owned(),
        data: data.to_owned(),
        scan: Some(axes.clone()),
        ..Started::default()
    }
}

pub fn point(axes: &ScanAxes, point: [usize; 2]) -> GridPoint {
    let grid = |of: fn([usize; 2], usize, usize) -> f64| {
        let replicates = axes.replicates as usize;
        let row = |rate: usize| (0..replicates).map(|replicate| of(point, rate, replicate)).collect();
        (0..axes.learning_rates.len()).map(row).collect()
    };
    GridPoint {
        index: point,
        optimizer: axes.optimizers[point[0]].clone(),
        batch_size: axes.batch_sizes[point[1]],
        total: axes.grid_points(),
        train_loss: grid(train_loss),
        test_loss: grid(test_loss),
        test_accuracy: grid(accuracy),
        ..GridPoint::default()
    }
}

/// Returns the text of the config that the runs have.
pub fn config() -> String {
    let scan = built_ins().iter().find(|built_in| built_in.name == "fig2cd").expect("it is built in");
    scan.preset.to_ron()
}

/// Returns a run with these grid points.
pub fn write(folder: &Path, started: Started, points: impl IntoIterator<Item = GridPoint>) -> RunFolder {
    write_with(&config(), folder, started, points)
}

/// Returns a run with these grid points and this config.
pub fn write_with(
    config: &str,
    folder: &Path,
    started: Started,
    points: impl IntoIterator<Item = GridPoint>,
) -> RunFolder {
    let run = RunFolder::create(folder, "scan", config).expect("a run can be made");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    session.record(0, Event::Started(started)).expect("it can be written");
    for (done, point) in points.into_iter().enumerate() {
        session.record(done as u64 + 1, Event::GridPoint(point)).expect("it can be written");
    }
    run
}

/// Returns all grid points of a scan; in part, only Adam's with batches of 128.
pub fn places(axes: &ScanAxes, whole: bool) -> Vec<[usize; 2]> {
    let all =
        (0..axes.batch_sizes.len()).flat_map(|size| (0..axes.optimizers.len()).map(move |optimizer| [optimizer, size]));
    all.filter(|[optimizer, size]| whole || *size < 3 || *optimizer == 0).collect()
}

/// Returns the scan of [`axes`], whole or in part.
pub fn scan(folder: &Path, whole: bool) -> RunFolder {
    let axes = axes();
    let points: Vec<GridPoint> = places(&axes, whole).into_iter().map(|place| point(&axes, place)).collect();
    write(folder, started(&axes, DATA), points)
}
