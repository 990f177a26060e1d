//! The simulations of a preset.

use valleyscope_engine::noise::NoiseKind;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{LearningRate, Noise, ParticleCount, StartCoordinate};
use valleyscope_engine::simulation::{Ensemble, Simulation, SimulationSpec};
use valleyscope_experiments::preset::{
    LandscapePreset, Preset, PresetSimulation, TitledSimulation, built_ins, titles_side_by_side,
};

use super::fault::refused_in;

const GOOD: &str = r#"Landscape(
    version: 1,
    title: "Beside",
    simulations: [
        (spec: (
            noise: 1.0,
            optimizers: [(id: 3, rule: Adam(learning_rate: 0.1)), (id: 5, rule: Focus(learning_rate: 0.1))],
        )),
        (set: [Noise(2.0)]),
        (name: "Another", spec: (noise: 0.5, optimizers: [(id: 7, rule: Lion(learning_rate: 0.01))])),
    ],
    lesson: [
        (text: "Two of them.", set: [Landscape(Valley(sharpness: 50))]),
        (text: "Others.", compared: [[Noise(4.0)]]),
    ],
)"#;

fn parsed(text: &str) -> LandscapePreset {
    let Preset::Landscape(preset) = Preset::parse(text, "beside.ron").expect("it is valid") else {
        panic!("a landscape")
    };
    preset
}

fn titles(specs: &[SimulationSpec]) -> Vec<String> {
    let simulations: Vec<_> = specs.iter().cloned().map(TitledSimulation::untitled).collect();
    titles_side_by_side(&simulations)
}

#[test]
fn a_later_simulation_has_the_settings_of_the_first_with_others_on_top_or_its_own() {
    let preset = parsed(GOOD);
    assert_eq!(
        Preset::parse(&Preset::Landscape(preset.clone()).to_ron(), "").unwrap(),
        Preset::Landscape(preset.clone())
    );
    let all = preset.resolved_simulations().expect("they fit");
    let noises: Vec<f64> = all.iter().map(|one| one.spec.noise.sigma()).collect();
    assert_eq!(noises, [1.0, 2.0, 0.5]);
    assert_eq!(all[1].spec.optimizers, preset.spec().optimizers);
    assert_eq!((all[2].title.as_deref(), all[2].spec.optimizers[0].id), (Some("Another"), 7));
}

#[test]
fn a_lesson_step_shows_those_of_the_preset_with_its_settings_or_its_own() {
    let preset = parsed(GOOD);
    let at = |step: usize| preset.simulations_at(step).expect("they fit");
    let settings = |all: Vec<TitledSimulation>| -> Vec<(f64, f64)> {
        all.iter().map(|it| (it.spec.noise.sigma(), it.spec.landscape.get("sharpness").expect("a valley"))).collect()
    };
    assert_eq!(settings(at(0)), [(1.0, 50.0), (2.0, 50.0), (0.5, 10.0)]);
    assert_eq!(settings(at(1)), [(1.0, 50.0), (4.0, 50.0)]);
}

#[test]
fn simulations_that_do_not_fit_are_refused_with_their_position() {
    let refused = |part, replacement, mark, words: &[&str]| refused_in(GOOD, part, replacement, mark, words);
    refused("simulations: [", "simulations: [(), (), ", "[", &["1 to 4 simulations", "found 5"]);
    let first = "(spec: (\n            noise: 1.0,";
    refused(first, "(set: [Noise(1.0)], spec: (noise: 1.0,", "[Noise(1.0)]", &["simulations[0].set", "must be empty"]);
    refused("Noise(2.0)", "Noise(-2.0)", "-2.0", &["noise", "from 0 to 100"]);
    refused("noise: 0.5", "noise: inf", "inf", &["noise", "inf"]);
    refused("\"Another\"", "\"\"", "\"\"", &["simulations[2].name"]);
    let rule = "Rule(optimizer: 9, rule: Adam(learning_rate: 0.5))";
    refused("Noise(2.0)", rule, "Rule", &["no optimizer with id 9"]);
    refused("Noise(4.0)", rule, "Rule", &["no optimizer with id 9"]);
    let optimizers = "[(id: 7, rule: Lion(learning_rate: 0.01))]";
    refused(optimizers, "[]", "[]", &["simulations[2].spec.optimizers", "1 to 16 optimizers"]);
    let changes = "(set: [Noise(2.0)], changes: [(step: 3, set: Noise(1)), (step: 2, set: Noise(3))]),";
    refused(
        "(set: [Noise(2.0)]),",
        changes,
        "2, set: Noise(3)",
        &["before `simulations[1].changes[0].step`, which is 3"],
    );
    let many = format!("[{}]", ["[Noise(4.0)]"; 4].join(", "));
    refused("[[Noise(4.0)]]", &many, "[[", &["at most 3 simulations", "found 4"]);
}

#[test]
fn titles_name_the_settings_that_differ() {
    let spec = parsed(GOOD).spec().clone();
    let changed = |change: &dyn Fn(&mut SimulationSpec)| {
        let mut other = spec.clone();
        change(&mut other);
        [spec.clone(), other]
    };
    let with = |key: &str, value: &str| {
        let preset = Preset::Landscape(LandscapePreset::new("One", spec.clone()));
        let Preset::Landscape(changed) = preset.with(key, value).expect("it fits") else { panic!("a landscape") };
        [spec.clone(), changed.spec().clone()]
    };
    let cases = [
        (with("noise", "2"), ["A: σ = 1", "B: σ = 2"]),
        (with("landscape.sharpness", "20"), ["A: a = 10", "B: a = 20"]),
        (with("seed", "4"), ["A: seed 0", "B: seed 4"]),
        (with("particles", "7"), ["A: 100 particles", "B: 7 particles"]),
        (with("start.x", "0.5"), ["A: start x = 0", "B: start x = 0.5"]),
        (with("temperature", "0.25"), ["A: Θ = η", "B: Θ = 0.25"]),
        (with("optimizers[0].rule.learning_rate", "0.2"), ["A: η 0.1", "B: Adam: η 0.2, FOCUS: η 0.1"]),
        (with("optimizers[1].rule.gamma", "0.5"), ["A: γ 0.2", "B: γ 0.5"]),
        (with("optimizers[1].enabled", "false"), ["A: Adam, FOCUS", "B: Adam"]),
        (changed(&|_| ()), ["A", "B"]),
        (
            changed(&|spec| spec.noise = NoiseKind::Additive.into()),
            ["A: multiplicative noise, σ = 1", "B: additive noise, σ = 0.1"],
        ),
    ];
    for (specs, expected) in cases {
        assert_eq!(titles(&specs), expected);
    }
    // Optimizers that only some simulate are named, and the settings of those that all simulate.
    let both = changed(&|spec| {
        spec.optimizers[0].rule.learning_rate = LearningRate::clamped(0.2);
        spec.optimizers[1].rule.rule = RuleSpec::on_plane(RuleKind::Signum);
    });
    assert_eq!(titles(&both), ["A: Adam, FOCUS, η 0.1", "B: Adam, Signum, Adam: η 0.2"]);
    let many = changed(&|spec| {
        (spec.seed, spec.steps) = (4, Some(9));
        spec.noise = Noise::clamped(2.0).into();
        spec.particles = ParticleCount::new(7).expect("within the range");
        spec.start.x = StartCoordinate::clamped(0.5);
    });
    assert_eq!(titles(&many), ["A: σ = 1, seed 0, no end, 2 more", "B: σ = 2, seed 4, 9 steps, 2 more"]);
}

#[test]
fn a_simulation_is_described_by_its_settings_or_as_a_whole() {
    let all = parsed(GOOD).resolved_simulations().expect("they fit");
    let [by_settings, as_a_whole] = [1, 2].map(|index| PresetSimulation::after(&all[0].spec, &all[index]));
    assert!(by_settings.spec.is_none() && by_settings.set.len() == 1, "{by_settings:?}");
    assert!(as_a_whole.spec.is_some() && as_a_whole.set.is_empty(), "{as_a_whole:?}");
    let mut renamed = all[0].clone();
    renamed.spec.optimizers[0].name = Some("Mine".to_owned());
    assert_eq!(PresetSimulation::after(&all[0].spec, &renamed).spec, Some(renamed.spec));
}

#[test]
fn much_noise_reverses_the_order_of_the_built_in_simulations_side_by_side() {
    let found = built_ins().iter().find(|it| it.name == "side-by-side").expect("a built-in preset");
    let Preset::Landscape(preset) = &found.preset else { panic!("a landscape") };
    let order = |one: &TitledSimulation| {
        let mut simulation = Simulation::new(one.spec.clone());
        (0..one.spec.steps.expect("an end")).for_each(|_| simulation.advance());
        let loss = |ensemble: &Ensemble| ensemble.sample().loss.mean;
        let mut ensembles: Vec<&Ensemble> = simulation.ensembles().iter().collect();
        ensembles.sort_by(|a, b| loss(a).total_cmp(&loss(b)));
        ensembles.iter().map(|ensemble| ensemble.rule().name()).collect::<Vec<_>>()
    };
    let orders: Vec<_> = preset.resolved_simulations().expect("they fit").iter().map(order).collect();
    assert_eq!(orders, [["Adam", "Signum", "FOCUS"], ["FOCUS", "Signum", "Adam"]]);
}
