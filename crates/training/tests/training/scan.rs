use std::sync::atomic::AtomicBool;

use tch::Device;
use valleyscope_engine::optimizer::{Need, RuleKind, RuleSpec};
use valleyscope_engine::quantity::{BatchSize, PointCount, Replicates, TrainingSteps};
use valleyscope_engine::sweep::LearningRates;
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::workload::{DeviceChoice, FloatType, MnistScanSpec, MnistSpec, ScanOptimizer};
use valleyscope_runs::MetricId;
use valleyscope_training::Training;
use valleyscope_training::mnist::{MnistRun, Scan};

use crate::small_mnist::{mnist, rate, spec};

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
            for _ in 0..12 {
                loss = run.advance(&mut || Ok(())).unwrap().double_value(&[0]);
            }
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
    let error = Scan::new(&spec, &data, Device::Cpu).unwrap_err().to_string();
    assert!(error.contains("333") && error.contains("one of the 1000 images"), "{error}");
}
