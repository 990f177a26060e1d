//! The references of the library's rules: the oracle's laws, and goldens.
//!
//! A golden is a trajectory that a rule's reference implementation made, in `goldens/`: each file names its own as
//! `source`.
//!
//! A file has for tensors `W`, of 6 × 4, `b`, of 5, and `p2`, of x and y, the gradients of 60 steps (`W_g`), which do
//! not depend on the parameters, the parameters before the first step and after each (`W_theta`), and the
//! hyperparameters (`h_lr`). Where a rule asks for them, it has the gradients at the previous parameters (`W_gprev`),
//! or those for labels of the model at every `h_interval` steps (`W_hgrad`); and for rules for matrices a tensor `U` of
//! 4 × 6, in place of which SOAP's has `S` of 4 × 4, and the eigenvectors of `W` after the first step (`W_Q0`, `W_Q1`),
//! some of which are arbitrary; Adam-mini's `Q` of 4 × 4 consists of two heads, its `U` is one block, and its `b` has
//! one for each element and does not decay. Schedule-Free's `W_theta` is y, at which it takes gradients, and it has x
//! after each step, too (`W_x`).

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use npyz::NpyFile;
use valleyscope_engine::optimizer::{MASK, RatedRule, RuleKind, RuleSpec};
use valleyscope_engine::quantity::LearningRate;
use zip::ZipArchive;

use crate::oracle::{Hyper, Law, ORACLES};

/// Choices of a rule by key and index.
type Choices = &'static [(&'static str, f64)];

const CAUTIOUS: Choices = &[("mask", 1.0)];
const COUPLED: Choices = &[("form", 0.0), ("decay", 1.0)];

/// The rules, the files of their goldens, and the choices of the references.
pub const GOLDENS: &[(RuleKind, &str, Choices)] = &[
    (RuleKind::Adam, "adamw", &[]),
    (RuleKind::Signum, "signum", &[]),
    (RuleKind::Focus, "focus", &[("decay", 1.0)]),
    (RuleKind::Sgd, "sgd_momentum_decoupled", &[("form", 0.0), ("decay", 0.0)]),
    (RuleKind::Lion, "lion", &[]),
    (RuleKind::Mars, "mars_approx", &[("form", 0.0)]),
    (RuleKind::Mars, "mars", &[("form", 1.0)]),
    (RuleKind::Sophia, "sophia", &[]),
    (RuleKind::Muon, "muon", &[]),
    (RuleKind::Sgd, "sgd", COUPLED),
    (RuleKind::Sgd, "sgd_momentum", COUPLED),
    (RuleKind::Sgd, "sgd_nesterov", &[("form", 1.0), ("decay", 1.0)]),
    (RuleKind::RmsProp, "rmsprop", COUPLED),
    (RuleKind::RmsProp, "rmsprop_centered", &[("form", 1.0), ("decay", 0.0)]),
    (RuleKind::NAdam, "nadam", &[]),
    (RuleKind::AdEmaMix, "ademamix", &[]),
    (RuleKind::AdamMini, "adam_mini", &[]),
    (RuleKind::AdaBelief, "adabelief", &[]),
    (RuleKind::Shampoo, "shampoo", &[("statistics", 1.0), ("grafting", 1.0)]),
    (RuleKind::Shampoo, "shampoo_ema", &[("statistics", 0.0), ("grafting", 1.0)]),
    (RuleKind::Shampoo, "shampoo_ema_graft", &[("statistics", 0.0), ("grafting", 0.0)]),
    (RuleKind::Soap, "soap", &[]),
    (RuleKind::ScheduleFree, "schedule_free", &[]),
    (RuleKind::Adam, "cautious_adamw", CAUTIOUS),
    (RuleKind::Lion, "cautious_lion", CAUTIOUS),
];

/// The largest difference from a golden, relative to its largest parameter.
pub const TOLERANCE: f64 = 1e-12;

pub struct Golden {
    arrays: BTreeMap<String, Vec<f64>>,
}

/// The inputs and the result of a step of a golden.
pub struct GoldenStep<'a> {
    pub gradient: &'a [f64],
    /// The gradient at the parameters before the last step.
    pub gradient_elsewhere: Option<&'a [f64]>,
    /// The parameters before the last step; none in the first step.
    pub elsewhere: Option<&'a [f64]>,
    pub curvature: Option<Vec<f64>>,
    /// The parameters after the step, at which the next gradient is taken.
    pub after: &'a [f64],
    /// The averaged parameters of a rule that takes gradients elsewhere.
    pub averaged: Option<&'a [f64]>,
}

impl Golden {
    pub fn read(name: &str) -> Golden {
        // The tests of the training crate read the goldens too.
        let packages = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let folder = packages.map(|package| package.join("tests/numbers/goldens")).find(|folder| folder.is_dir());
        let path = folder.expect("the goldens are in the workspace").join(format!("{name}.npz"));
        let mut archive = ZipArchive::new(File::open(path).unwrap()).unwrap();
        let files: Vec<String> = archive.file_names().map(|file| file.unwrap().into_owned()).collect();
        let is_text = |file: &String| file == "source.npy" || file.ends_with("_parameters.npy");
        let arrays = files.into_iter().filter(|file| !is_text(file)).map(|file| {
            let array = NpyFile::new(archive.by_name(&file).unwrap()).unwrap();
            assert_eq!(array.order(), npyz::Order::C);
            (file.strip_suffix(".npy").unwrap().to_owned(), array.into_vec().unwrap())
        });
        Golden { arrays: arrays.collect() }
    }

    pub fn rule(&self, kind: RuleKind, chosen: Choices) -> RatedRule {
        let number = |key: &str| self.number(key);
        let ratio = |of: &str, to: &str| Some(number(of)? / number(to)?);
        let mut rule = RuleSpec::in_training(kind);
        for hyperparameter in kind.info().hyperparameters {
            let value = match (kind, hyperparameter.key) {
                (RuleKind::Sgd, "beta1") => number("momentum").or(Some(0.0)),
                (RuleKind::Sgd, "dampening") => number("dampening").or(Some(0.0)),
                (RuleKind::RmsProp, "momentum") => number("momentum").or(Some(0.0)),
                (RuleKind::RmsProp, "beta2") => number("alpha"),
                // Unless the golden specifies otherwise: sums of the gradients themselves, roots in each step, and no
                // grafting.
                (RuleKind::Shampoo, "beta1") => number("beta1").or(Some(0.0)),
                (RuleKind::Shampoo | RuleKind::Soap, "interval") => number("frequency").or(Some(1.0)),
                (RuleKind::Shampoo, "beta2" | "graft_beta2" | "graft_eps") => number(hyperparameter.key).or(Some(0.9)),
                (RuleKind::Sophia, "eps") => Some(1e-15),
                (RuleKind::Muon, "eps") => number("aux_eps"),
                (RuleKind::Muon, "beta1") => number("aux_beta1"),
                (RuleKind::Muon, "beta2") => number("aux_beta2"),
                (RuleKind::Muon, "vector_rate") => ratio("aux_lr", "lr"),
                (RuleKind::Muon, "vector_decay") => ratio("aux_weight_decay", "weight_decay"),
                (_, MASK) => Some(f64::from(chosen == CAUTIOUS)),
                (_, key) => chosen.iter().find(|(of, _)| *of == key).map(|(_, index)| *index).or_else(|| number(key)),
            };
            let value = value.unwrap_or_else(|| panic!("the golden has no {}", hyperparameter.key));
            rule.set(hyperparameter.key, value).unwrap();
        }
        rule.rated(LearningRate::new(self.array("h_lr")[0]).unwrap())
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.arrays.get(&format!("h_{key}")).map(|values| values[0])
    }

    /// Returns the numbers of an array, row after row.
    pub fn array(&self, name: &str) -> &[f64] {
        &self.arrays[name]
    }

    pub fn start(&self, tensor: &str) -> &[f64] {
        self.row(&format!("{tensor}_theta"), 61, 0).unwrap()
    }

    /// Returns the steps from 1 to 60.
    pub fn steps(&self, tensor: &str) -> impl Iterator<Item = GoldenStep<'_>> {
        let [gradients, elsewhere, after, averaged] = ["g", "gprev", "theta", "x"].map(|of| format!("{tensor}_{of}"));
        (1..=60).map(move |step| GoldenStep {
            gradient: self.row(&gradients, 60, step - 1).unwrap(),
            gradient_elsewhere: self.row(&elsewhere, 60, step - 1),
            elsewhere: step.checked_sub(2).and_then(|before| self.row(&after, 61, before)),
            curvature: self.curvature(&format!("{tensor}_hgrad"), step),
            after: self.row(&after, 61, step).unwrap(),
            averaged: self.row(&averaged, 60, step - 1),
        })
    }

    /// Returns `B g²`, which the reference uses after every `interval` steps, and a rule before the next one.
    fn curvature(&self, name: &str, step: usize) -> Option<Vec<f64>> {
        let interval = self.number("interval")? as usize;
        let estimates = (step - 1).is_multiple_of(interval).then(|| (step - 1) / interval)?;
        let gradient = self.row(name, 60 / interval, estimates.checked_sub(1)?)?;
        let batch = self.number("batch")?;
        Some(gradient.iter().map(|gradient| batch * gradient * gradient).collect())
    }

    fn row(&self, name: &str, count: usize, index: usize) -> Option<&[f64]> {
        let values = self.arrays.get(name)?;
        assert_eq!(values.len() % count, 0);
        values.chunks_exact(values.len() / count).nth(index)
    }
}

/// Returns the largest difference of parameters, relative to the largest of the golden's.
pub fn deviation(found: &[f64], golden: &[f64]) -> f64 {
    assert_eq!(found.len(), golden.len());
    let largest = golden.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    found.iter().zip(golden).map(|(found, golden)| (found - golden).abs() / largest).fold(0.0, f64::max)
}

/// Returns the law of a rule with the learning rate `eta`; none if the oracle has no such rule.
pub fn known_law(rule: &RuleSpec, eta: f64) -> Option<Law> {
    let (_, step) = ORACLES.iter().find(|(key, _)| *key == rule.kind().key())?;
    let chosen = |(key, _): &(&'static str, f64)| Some((*key, rule.choice(key)?.key));
    let values = rule.hyperparameters().map(|(of, value)| (of.key, value)).collect::<Vec<_>>();
    let choices = values.iter().filter_map(chosen).collect();
    Some(Law { step: *step, hyper: Hyper { eta, values: values.into_iter().collect(), choices } })
}

pub fn law(rule: &RuleSpec, eta: f64) -> Law {
    known_law(rule, eta)
        .unwrap_or_else(|| panic!("{} is registered, and has no oracle (tests/numbers/oracle)", rule.name()))
}
