//! The presets that come with the program.

use std::collections::BTreeSet;

use valleyscope::optimizer::{RuleKind, RuleSpec};
use valleyscope::preset::{LandscapePreset, Preset, built_ins};
use valleyscope::quantity::{LearningRate, Rotation, Sharpness, Slope};
use valleyscope::simulation::{LandscapeSpec, Sample, Simulation, SimulationSpec};

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
    ] {
        built_in(name);
    }
    assert!(built_in("lesson").lesson.len() >= 6);
    assert_eq!(built_in("unrotated").simulation.landscape.rotation_degrees.get(), 0.0);
}

#[test]
fn the_zoo_has_every_optimizer() {
    let optimizers = &built_in("zoo").simulation.optimizers;
    assert_eq!(optimizers.len(), RuleKind::ALL.len());
    for kind in RuleKind::ALL {
        assert!(optimizers.iter().any(|of| of.rule.rule.kind() == *kind), "{}", kind.info().name);
    }
}

#[test]
fn the_paper_s_presets_have_the_paper_s_values() {
    let fig1c = &built_in("fig1c").simulation;
    let paper = LandscapeSpec {
        sharpness: Sharpness::clamped(10.0),
        slope: Slope::clamped(0.1),
        rotation_degrees: Rotation::clamped(30.0),
    };
    assert_eq!((fig1c.landscape, fig1c.noise.get()), (paper, 1.0));
    let [adam, signum] = &fig1c.optimizers[..] else { panic!("two optimizers") };
    assert_eq!([adam.rule.rule.kind(), signum.rule.rule.kind()], [RuleKind::Adam, RuleKind::Signum]);
    assert_eq!(adam.rule.learning_rate, signum.rule.learning_rate);

    let saturation = &built_in("saturation").simulation;
    assert_eq!((saturation.landscape, saturation.noise.get(), saturation.steps), (paper, 1.0, Some(3000)));
    let [adam, focus] = &saturation.optimizers[..] else { panic!("two optimizers") };
    let rated = |kind| RuleSpec::on_plane(kind).rated(LearningRate::clamped(0.005));
    assert_eq!(adam.rule, rated(RuleKind::Adam));
    assert_eq!(focus.rule, rated(RuleKind::Focus));
    let focus = focus.rule.rule;
    assert_eq!((focus.weight_decay(), focus.get("gamma"), focus.get("beta2")), (0.1, Some(0.2), Some(0.9)));
    assert_eq!(focus.choice("decay").map(|choice| choice.key), Some("Parameters"));
}

#[test]
fn a_lesson_s_settings_add_up_and_can_be_taken_back() {
    let lesson = built_in("lesson");
    let noise: Vec<f64> =
        (0..lesson.lesson.len()).map(|step| lesson.simulation_at(step).unwrap().noise.get()).collect();
    assert_eq!(noise[..4], [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(lesson.simulation.noise.get(), 0.0);
}

/// The samples of all optimizers after `steps`.
fn samples(spec: &SimulationSpec, steps: u64) -> Vec<Sample> {
    let mut simulation = Simulation::new(spec.clone());
    (0..steps).for_each(|_| simulation.advance());
    simulation.ensembles().iter().map(|ensemble| *ensemble.sample()).collect()
}

#[test]
fn who_is_said_to_win_wins_with_any_seed() {
    for (name, winner) in [("adam-wins", "Adam"), ("signum-wins", "Signum"), ("focus-wins", "FOCUS")] {
        for seed in 0..5 {
            let spec = SimulationSpec { seed, ..built_in(name).simulation.clone() };
            let losses = samples(&spec, 1000).into_iter().map(|sample| sample.loss.mean);
            let named = spec.optimizers.iter().map(|optimizer| optimizer.rule.name()).zip(losses);
            let (best, loss) = named.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(best, winner, "{name}, seed {seed}: {loss}");
        }
    }
}

#[test]
fn the_lesson_says_what_is_seen() {
    let depth = |step, steps| -> [f64; 3] {
        let samples = samples(&built_in("lesson").simulation_at(step).unwrap(), steps);
        std::array::from_fn(|optimizer| samples[optimizer].u.mean)
    };
    let near = |found: f64, said: f64| assert!((found - said).abs() <= 0.05, "found {found}, said {said}");
    let [adam, signum, _] = depth(2, 500);
    near(adam, 1.9);
    near(signum, 2.3);
    let [_, signum, focus] = depth(3, 2000);
    assert!(focus > signum, "{focus} {signum}");
    near(depth(3, 1000)[2], 3.0);
    near(depth(4, 1000)[2], 0.5);
    let with_decay = depth(3, 2000);
    assert!(depth(5, 2000).iter().zip(with_decay).all(|(without, with)| *without > with));
}
