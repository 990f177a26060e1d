//! The division of a sweep among its parts.

use valleyscope_engine::quantity::PointCount;
use valleyscope_engine::sweep::{Axis, Quantity, Spacing, SweepPart, SweepSpec};
use valleyscope_experiments::preset::{Library, Preset};

fn fig2a(rows: u64, columns: u64) -> SweepSpec {
    let preset = Library::open().load("fig2a".as_ref()).unwrap().preset;
    let Preset::Sweep(preset) = preset else { panic!("fig2a is a sweep") };
    let mut spec = preset.sweep;
    (spec.rows.count, spec.columns.count) = (PointCount::new(rows).unwrap(), PointCount::new(columns).unwrap());
    spec
}

/// Returns the cost of each part, if a pixel's cost is `cost`.
fn costs(count: u32, spec: &SweepSpec, cost: impl Fn([usize; 2]) -> f64) -> Vec<f64> {
    let columns = spec.shape()[1];
    let mut costs = vec![0.0; count as usize];
    for (index, number) in SweepPart::numbers(count, spec).into_iter().enumerate() {
        costs[number as usize - 1] += cost([index / columns, index % columns]);
    }
    costs
}

fn spread(costs: &[f64]) -> f64 {
    costs.iter().copied().fold(0.0, f64::max) - costs.iter().copied().fold(f64::INFINITY, f64::min)
}

#[test]
fn equal_pixels_are_divided_evenly_over_the_diagram() {
    let spec = fig2a(24, 25);
    for count in [1, 7, 96, 600] {
        let found = costs(count, &spec, |_| 1.0);
        assert!(spread(&found) <= 1.0 && found.iter().sum::<f64>() == 600.0, "{found:?}");
    }
    // The pixels of a part are not only neighbours.
    let rows: Vec<usize> = SweepPart::numbers(4, &spec)
        .iter()
        .enumerate()
        .filter(|(_, part)| **part == 1)
        .map(|(at, _)| at / 25)
        .collect();
    assert_eq!((rows[0], rows[rows.len() - 1]), (0, 23));
}

#[test]
fn parts_have_equal_cost_if_pixels_do_not() {
    for (name, of) in [("steps", Quantity::Steps), ("dimension", Quantity::Dimension)] {
        let mut spec = fig2a(16, 25);
        spec.rows = Axis { of, from: 2.0, to: 100.0, count: spec.rows.count, spacing: Spacing::Linear };
        let values = spec.rows.values();
        let dearest = values.iter().copied().fold(0.0, f64::max);
        for count in [2, 7, 30] {
            let found = costs(count, &spec, |[row, _]| values[row].floor());
            assert!(spread(&found) <= dearest, "{name} in {count}: {found:?}");
            assert!(found.iter().all(|cost| *cost > 0.0));
        }
    }
}
