//! Trajectories that the rules' reference implementations made, in `goldens/`: each file names its own as `source`.
//!
//! A file has for tensors `W`, of 6 × 4, and `p2`, of x and y, the gradients of 60 steps (`W_g`), which do not depend on
//! the parameters, the parameters before the first step and after each (`W_theta`), and the hyperparameters (`h_lr`).

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use npyz::NpyFile;
use valleyscope::optimizer::{RatedRule, RuleKind, RuleSpec};
use valleyscope::quantity::LearningRate;
use zip::ZipArchive;

/// A rule and the file of its golden.
pub const GOLDENS: &[(RuleKind, &str)] = &[
    (RuleKind::Adam, "adamw"),
    (RuleKind::Signum, "signum"),
    (RuleKind::Focus, "focus"),
    (RuleKind::Sgd, "sgd_momentum_decoupled"),
    (RuleKind::Lion, "lion"),
    (RuleKind::Mars, "mars_approx"),
];

/// The largest difference from a golden, relative to its largest parameter.
pub const TOLERANCE: f64 = 1e-12;

pub struct Golden {
    arrays: BTreeMap<String, Vec<f64>>,
}

impl Golden {
    pub fn read(name: &str) -> Golden {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/numerics/goldens/{name}.npz"));
        let mut archive = ZipArchive::new(File::open(path).unwrap()).unwrap();
        let files: Vec<String> = archive.file_names().map(|file| file.unwrap().into_owned()).collect();
        let arrays = files.into_iter().filter(|file| file != "source.npy").map(|file| {
            let array = NpyFile::new(archive.by_name(&file).unwrap()).unwrap();
            assert_eq!(array.order(), npyz::Order::C);
            (file.strip_suffix(".npy").unwrap().to_owned(), array.into_vec().unwrap())
        });
        Golden { arrays: arrays.collect() }
    }

    /// The rule with the hyperparameters of the golden.
    pub fn rule(&self, kind: RuleKind) -> RatedRule {
        let number = |key: &str| self.arrays.get(&format!("h_{key}")).map(|values| values[0]);
        let mut rule = RuleSpec::in_training(kind);
        for hyperparameter in kind.info().hyperparameters {
            let value = match (kind, hyperparameter.key) {
                // The reference decays the average.
                (RuleKind::Focus, "decay") => Some(1.0),
                (RuleKind::Sgd, "beta1") => number("momentum"),
                (_, key) => number(key),
            };
            let value = value.unwrap_or_else(|| panic!("the golden has no {}", hyperparameter.key));
            rule.set(hyperparameter.key, value).unwrap();
        }
        rule.rated(LearningRate::new(self.arrays["h_lr"][0]).unwrap())
    }

    /// The gradients of each step.
    pub fn gradients(&self, tensor: &str) -> Vec<&[f64]> {
        self.rows(&format!("{tensor}_g"), 60)
    }

    /// The parameters before the first step and after each.
    pub fn parameters(&self, tensor: &str) -> Vec<&[f64]> {
        self.rows(&format!("{tensor}_theta"), 61)
    }

    fn rows(&self, name: &str, count: usize) -> Vec<&[f64]> {
        let values = &self.arrays[name];
        assert_eq!(values.len() % count, 0);
        values.chunks_exact(values.len() / count).collect()
    }
}

/// The largest difference of parameters, relative to the largest of the golden's.
pub fn deviation(found: &[f64], golden: &[f64]) -> f64 {
    assert_eq!(found.len(), golden.len());
    let largest = golden.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    found.iter().zip(golden).map(|(found, golden)| (found - golden).abs() / largest).fold(0.0, f64::max)
}
