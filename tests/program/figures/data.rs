//! A small diagram with made-up runs.

use std::io::Cursor;
use std::sync::Arc;

use valleyscope::sweep::result::SweepResult;
use valleyscope_engine::quantity::{PointCount, Replicates};
use valleyscope_engine::sweep::{Cell, Diagram, Metrics, Precision, Runs, SweepSpec};
use valleyscope_experiments::preset::{Preset, built_ins};

pub const ROWS: usize = 3;
pub const COLUMNS: usize = 4;
pub const RATES: usize = 5;
pub const REPLICATES: usize = 6;
/// The special cells of [`result`].
pub const TIE: [usize; 2] = [1, 1];
pub const UNKNOWN: [usize; 2] = [2, 3];
pub const DIVERGED: [usize; 2] = [0, 2];

/// Returns a built-in sweep on a small grid.
pub fn spec(preset: &str) -> SweepSpec {
    let found = built_ins().iter().find(|built_in| built_in.name == preset).expect("a built-in preset");
    let Preset::Sweep(found) = &found.preset else { panic!("{preset} is a sweep") };
    let mut spec = found.sweep.clone();
    spec.rows.count = PointCount::clamped(ROWS as u64);
    spec.columns.count = PointCount::clamped(COLUMNS as u64);
    spec.replicates = Replicates::clamped(REPLICATES as u64);
    for optimizer in &mut spec.optimizers {
        optimizer.learning_rates.count = PointCount::clamped(RATES as u64);
    }
    spec
}

/// Returns the final loss of a run that was made up: each its own, and the learning rate in the middle best.
pub fn final_loss([row, column]: [usize; 2], optimizer: usize, rate: usize, replicate: usize) -> f64 {
    let ahead = (optimizer + row + column) % 3;
    let place = (row * COLUMNS + column) as f64;
    -1.0 - place - ahead as f64 + 0.25 * (rate as f64 - 2.0).abs() + 0.01 * replicate as f64
}

/// Returns the runs of all optimizers at a pixel.
pub fn runs(spec: &SweepSpec, pixel: [usize; 2]) -> Vec<Runs> {
    let rates = spec.candidate_counts();
    let of = |optimizer: usize| {
        let each = (0..rates[optimizer]).flat_map(|rate| (0..REPLICATES).map(move |replicate| (rate, replicate)));
        let metrics = each.map(|(rate, replicate)| {
            let loss = match pixel {
                TIE => 1.5,
                DIVERGED if optimizer == 0 => f64::NAN,
                _ => final_loss(pixel, optimizer, rate, replicate),
            };
            Metrics { final_loss: loss, smallest_loss: loss - 0.5, depth: 2.0 - loss }
        });
        Runs { replicates: REPLICATES, metrics: metrics.collect() }
    };
    (0..spec.optimizers.len()).map(of).collect()
}

/// Returns a diagram of all pixels but [`UNKNOWN`].
pub fn result_of(spec: SweepSpec) -> SweepResult {
    let mut diagram = Diagram::new(Arc::new(spec));
    let spec = Arc::clone(diagram.spec());
    for pixel in (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| [row, column])) {
        if pixel != UNKNOWN {
            diagram.insert(pixel, Cell::new(&runs(&spec, pixel), spec.average, spec.common_random_numbers));
        }
    }
    SweepResult {
        title: "Peaks & \"valleys\" <σ>".to_owned(),
        description: "Made up.".to_owned(),
        diagram,
        precision: Precision::Single,
    }
}

pub fn result() -> SweepResult {
    result_of(spec("fig2a"))
}

pub fn arrays(result: &SweepResult) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    result.write_arrays(&mut file).expect("memory takes all that is written");
    file.into_inner()
}
