//! The presets that come with the program.

use std::collections::BTreeSet;

use valleyscope_engine::landscape::{LandscapeKind, LandscapeSpec};
use valleyscope_engine::optimizer::{RatedRule, RuleKind, RuleSpec};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_engine::simulation::{Sample, Simulation, SimulationSpec};
use valleyscope_experiments::preset::{LandscapePreset, Preset, built_ins};

fn built_in(name: &str) -> &'static LandscapePreset {
    let found = built_ins().iter().find(|built_in| built_in.name == name);
    let Preset::Landscape(preset) = &found.unwrap_or_else(|| panic!("no built-in preset {name}")).preset else {
        panic!("a simulation")
    };
    preset
}

#[test]
fn every_built_in_preset_has_a_title_and_a_sentence() {
    for built_in in built_ins() {
        let (name, description) = (built_in.name, built_in.preset.description());
        assert!(!built_in.preset.title().is_empty(), "{name}");
        assert!(description.ends_with('.') && description.len() > 40, "{name}: {description}");
    }
    let titles: BTreeSet<_> = built_ins().iter().map(|built_in| built_in.preset.title()).collect();
    assert_eq!(titles.len(), built_ins().len());
}

#[test]
fn the_canonical_presets_are_built_in() {
    for name in [
        "fig1c",
        "saturation",
        "adam-wins",
        "signum-wins",
        "focus-wins",
        "unrotated",
        "four-optimizers",
        "zoo",
        "lesson",
        "lesson-noise",
        "lesson-focus",
    ] {
        built_in(name);
    }
    assert!(built_in("lesson").lesson.len() >= 6);
    assert_eq!(built_in("unrotated").spec().landscape.get("rotation_degrees").unwrap(), 0.0);
}

#[test]
fn the_zoo_has_every_optimizer() {
    let optimizers = &built_in("zoo").spec().optimizers;
    assert_eq!(optimizers.len(), RuleKind::ALL.len());
    for kind in RuleKind::ALL {
        assert!(optimizers.iter().any(|of| of.rule.rule.kind() == *kind), "{}", kind.info().name);
    }
}

#[test]
fn the_paper_s_presets_have_the_paper_s_values() {
    let fig1c = built_in("fig1c").spec();
    let values = [("sharpness", 10.0), ("slope", 0.1), ("rotation_degrees", 30.0)];
    let valley = LandscapeSpec::new(LandscapeKind::Valley);
    let paper = values.into_iter().fold(valley, |spec, (key, value)| spec.with(key, value).unwrap());
    assert_eq!((fig1c.landscape, fig1c.noise.sigma()), (paper, 1.0));
    let [adam, signum] = &fig1c.optimizers[..] else { panic!("two optimizers") };
    assert_eq!([adam.rule.rule.kind(), signum.rule.rule.kind()], [RuleKind::Adam, RuleKind::Signum]);
    assert_eq!(adam.rule.learning_rate, signum.rule.learning_rate);

    let saturation = built_in("saturation").spec();
    assert_eq!((saturation.landscape, saturation.noise.sigma(), saturation.steps), (paper, 1.0, Some(3000)));
    let [adam, focus] = &saturation.optimizers[..] else { panic!("two optimizers") };
    let rated = |kind| RuleSpec::on_plane(kind).rated(LearningRate::clamped(0.005));
    assert_eq!(adam.rule, rated(RuleKind::Adam));
    assert_eq!(focus.rule, rated(RuleKind::Focus));
    let focus = focus.rule.rule;
    assert_eq!((focus.weight_decay(), focus.get("gamma"), focus.get("beta2")), (0.1, Some(0.2), Some(0.9)));
    assert_eq!(focus.choice("decay").map(|choice| choice.key), Some("Parameters"));
}

/// Returns the samples of all optimizers after `steps`.
fn samples(spec: &SimulationSpec, steps: u64) -> Vec<Sample> {
    let mut simulation = Simulation::new(spec.clone());
    (0..steps).for_each(|_| simulation.advance());
    simulation.ensembles().iter().map(|ensemble| *ensemble.sample()).collect()
}

#[test]
fn the_stated_winner_wins_with_any_seed() {
    for (name, winner) in [("adam-wins", "Adam"), ("signum-wins", "Signum"), ("focus-wins", "FOCUS")] {
        for seed in 0..5 {
            let spec = SimulationSpec { seed, ..built_in(name).spec().clone() };
            let losses = samples(&spec, 1000).into_iter().map(|sample| sample.loss.mean);
            let named = spec.optimizers.iter().map(|optimizer| optimizer.rule.name()).zip(losses);
            let (best, loss) = named.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(best, winner, "{name}, seed {seed}: {loss}");
        }
    }
}

#[test]
fn a_rule_that_is_set_keeps_common_hyperparameters() {
    let set = |name: &str, path: &str, value: &str| {
        let found = built_ins().iter().find(|built_in| built_in.name == name).expect("it is built in");
        found.preset.with(path, value).unwrap_or_else(|error| panic!("{error}"))
    };
    let landscape = |path: &str, value: &str| {
        let Preset::Landscape(preset) = set("fig1c", path, value) else { panic!("fig1c is a landscape") };
        preset.spec().optimizers[0].rule
    };
    let before = landscape("seed", "1");
    let focus = landscape("optimizers[0].rule", "focus");
    let kept =
        |rule: RatedRule| (rule.learning_rate, rule.schedule, rule.rule.get("weight_decay"), rule.rule.get("beta1"));
    assert_eq!(focus.name(), "FOCUS");
    assert_eq!(kept(focus), kept(before));
    // β₂ belongs to squares in Adam, and to an average of parameters in FOCUS.
    assert_eq!([before.rule.get("beta2"), focus.rule.get("beta2")], [Some(0.999), Some(0.9)]);
    let given = landscape("optimizers[0].rule", "Focus(learning_rate: 0.5, weight_decay: 0.3)");
    assert_eq!((given.learning_rate.get(), given.rule.get("weight_decay")), (0.5, Some(0.3)));
    // β₁ of Lion is not the decay rate of its momentum.
    assert_eq!(
        landscape("optimizers[0].rule", "Lion").rule.get("beta1"),
        RuleSpec::on_plane(RuleKind::Lion).get("beta1")
    );
    let training = set("gpt2-shakespeare", "optimizer", "FOCUS");
    let rule = |preset: &Preset| *preset.workload().expect("a workload").training().expect("a training").rule;
    assert_eq!(rule(&training).get("weight_decay"), Some(0.1));
    let cautious =
        training.with("optimizer.mask", "cautious").and_then(|preset| preset.with("optimizer", "SGD")).unwrap();
    assert_eq!((rule(&cautious).name(), rule(&cautious).get("weight_decay")), ("Cautious SGD", Some(0.1)));
    // Each of several runs keeps its own values.
    let runs = set("weightd", "optimizer", "Signum");
    let decays: Vec<Option<f64>> = runs.trainings().iter().map(|run| rule(run).get("weight_decay")).collect();
    assert_eq!(decays, [Some(0.2); 2]);
    let Preset::Sweep(sweep) = set("fig2a", "optimizers[0].rule", "Sgd(weight_decay: 0.25)") else { panic!("a sweep") };
    assert_eq!(sweep.sweep.optimizers[0].rule.get("beta1"), Some(0.9));
    assert_eq!(sweep.sweep.optimizers[0].rule.get("weight_decay"), Some(0.25));
}
