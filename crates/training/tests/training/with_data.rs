use tch::Device;
use valleyscope_experiments::dataset::mnist::read_folder;
use valleyscope_experiments::workload::MnistSpec;
use valleyscope_runs::MetricId;
use valleyscope_training::Training;
use valleyscope_training::mnist::MnistRun;

use crate::data_folder::data_folder;
use crate::small_mnist::{rate, spec};

/// The rates are near the best of a scan of Fig. 2c; 400 steps with batches of 128, as in the paper.
#[test]
fn every_optimizer_learns_mnist() {
    let Some(folder) = data_folder(module_path!()) else { return };
    let data = read_folder(&folder).unwrap();
    for (rule, learning_rate) in [("Adam", 3e-3), ("Signum", 5e-4), ("FOCUS", 5e-4), ("SGD", 3e-2)] {
        let spec = MnistSpec { learning_rate: rate(learning_rate), ..spec(rule) };
        assert_eq!((spec.batch_size.get(), spec.steps.get()), (128, 400));
        let mut run = MnistRun::new(&spec, &data, Device::Cpu).unwrap();
        run.start().unwrap();
        for _ in 0..400 {
            let _loss = run.advance(&mut || Ok(())).unwrap();
        }
        let accuracy = run.evaluate(&mut || Ok(())).unwrap().get(MetricId::TEST_ACCURACY).unwrap();
        assert!(accuracy > 0.95, "{rule}: {accuracy}");
    }
}
