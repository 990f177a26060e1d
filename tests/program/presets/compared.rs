//! The simulations of a preset.

use valleyscope_engine::noise::NoiseKind;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{LearningRate, Noise, ParticleCount, StartCoordinate};
use valleyscope_engine::simulation::{Ensemble, Simulation, SimulationSpec};
use valleyscope_experiments::difference::{DifferenceRow, DifferenceTable, SettingColumn};
use valleyscope_experiments::preset::{
    LandscapePreset, Preset, PresetSimulation, TitledSimulation, built_ins, titles_side_by_side,
};

use super::refusals::refused_in;

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

fn built_in(name: &str) -> Preset {
    built_ins().iter().find(|built_in| built_in.name == name).expect("a built-in preset").preset.clone()
}

fn table(presets: &[&Preset]) -> DifferenceTable {
    let column = |preset: &&Preset| SettingColumn::new(preset.title(), preset.listed_settings());
    DifferenceTable::of(&presets.iter().map(column).collect::<Vec<_>>())
}

/// Returns the rows as labels, paths and values.
fn rows(table: &DifferenceTable) -> Vec<(&str, &str, Vec<&str>)> {
    let mut all = Vec::new();
    for DifferenceRow { label, path, values } in &table.rows {
        let values = values.iter().map(|value| value.as_deref().unwrap_or(DifferenceRow::MISSING)).collect();
        all.push((label.as_str(), path.as_str(), values));
    }
    all
}

/// Returns the rows of a preset and of the same one with a setting.
fn rows_with(name: &str, path: &str, value: &str) -> Vec<(String, Vec<Option<String>>)> {
    let before = built_in(name);
    let after = before.with(path, value).expect("it fits");
    let table = table(&[&before, &after]);
    table.rows.into_iter().map(|row| (row.label, row.values)).collect()
}

#[test]
fn presets_without_rows_are_equal() {
    for one in built_ins() {
        for other in built_ins().iter().filter(|other| other.preset.kind() == one.preset.kind()) {
            let mut renamed = other.preset.clone();
            renamed
                .words_mut()
                .into_iter()
                .zip(one.preset.clone().words_mut())
                .for_each(|(own, word)| own.clone_from(word));
            let is_equal = table(&[&one.preset, &other.preset]).rows.is_empty();
            assert_eq!(is_equal, renamed == one.preset, "{} and {}", one.name, other.name);
        }
    }
}

#[test]
fn a_changed_setting_is_a_row_of_its_own() {
    let some = |text: &str| Some(text.to_owned());
    let cases = [
        ("fig1c", "noise", "0.5", "Noise σ", [some("1"), some("0.5")]),
        ("fig1c", "landscape.sharpness", "20", "Sharpness a", [some("10"), some("20")]),
        ("fig1c", "start.x", "0.5", "Start x", [some("0"), some("0.5")]),
        ("fig1c", "optimizers[0].rule.beta2", "0.9", "Adam: Squares β₂", [some("0.999"), some("0.9")]),
        ("fig1c", "temperature", "0.5", "Temperature Θ", [None, some("0.5")]),
        ("fig2a", "replicates", "7", "Replicates", [some("50"), some("7")]),
        ("mnist", "batch_size", "8", "Batch size", [some("128"), some("8")]),
        ("mnist", "processes", "2", "Processes", [some("1"), some("2")]),
        ("mnist", "data", "Folder(\"/x\")", "Dataset", [some("Automatic"), some("Folder(\"/x\")")]),
        ("gpt2-shakespeare", "schedule.warmup", "7", "Warm-up", [some("100"), some("7")]),
        ("fig2cd", "optimizer.eps", "0.5", "Constant ε", [some("1e-8"), some("0.5")]),
        ("fig2cd", "seeds", "5", "Seeds", [some("3"), some("5")]),
    ];
    for (name, path, value, label, values) in cases {
        let label_and_values = (label.to_owned(), values.to_vec());
        assert_eq!(rows_with(name, path, value), [label_and_values], "{name} {path}");
    }
}

const ROWS_OF_BETA2: &str = "(of: Of(Beta2, [0]), from: 0.5, to: 0.9, count: 3, spacing: Linear)";

#[test]
fn a_setting_that_an_axis_varies_has_no_value() {
    let some = |text: &str| Some(text.to_owned());
    let axis = "the columns' axis";
    let expected = [
        ("Slope c", [some("0.1"), some(axis)]),
        ("Noise σ", [some(axis), some("1")]),
        ("Columns: what varies", [some("Noise"), some("Landscape(Slope)")]),
    ];
    let expected = expected.map(|(label, values)| (label.to_owned(), values.to_vec()));
    assert_eq!(rows_with("fig2a", "columns.of", "Landscape(Slope)"), expected);
    assert_eq!(rows_with("fig2a", "noise", "2.0"), [], "the noise is varied");
    let over_beta2 = built_in("fig2a").with("rows", ROWS_OF_BETA2).expect("it fits");
    let other = over_beta2.with("optimizers[0].rule.beta2", "0.9").expect("it fits");
    assert!(table(&[&over_beta2, &other]).rows.is_empty());
    let of_focus = over_beta2.with("optimizers[1].rule.beta2", "0.5").expect("it fits");
    assert_eq!(table(&[&over_beta2, &of_focus]).rows.len(), 1, "FOCUS keeps its own");
}

#[test]
fn hyperparameters_of_one_symbol_and_another_meaning_are_different_settings() {
    let adam = built_in("mnist").with("optimizer", "Adam(weight_decay: 0.1)").expect("it fits");
    let focus = adam.with("optimizer", "Focus").expect("it fits");
    let table = table(&[&adam, &focus]);
    let mut found = rows(&table);
    let mut expected = [
        ("Rule", "optimizer", vec!["Adam", "Focus"]),
        ("Average β₂", "optimizer.beta2", vec!["–", "0.99"]),
        ("Attraction γ", "optimizer.gamma", vec!["–", "0.2"]),
        ("Squares β₂", "optimizer.beta2", vec!["0.999", "–"]),
        ("Constant ε", "optimizer.eps", vec!["1e-8", "–"]),
        ("Decay", "optimizer.decay", vec!["–", "Average"]),
    ];
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert!(table.equal > 10 && table.equal_text() == format!("{} settings are equal", table.equal));
}

#[test]
fn optimizers_are_compared_by_their_names_and_else_by_their_places() {
    let fig1c = built_in("fig1c");
    let Preset::Landscape(mut other) = fig1c.clone() else { panic!("a landscape") };
    other.spec_mut().optimizers.swap(0, 1);
    let swapped = Preset::Landscape(other);
    assert!(table(&[&fig1c, &swapped]).rows.is_empty(), "their order is of no importance");
    let replaced = fig1c.with("optimizers[1].rule", "Lion").expect("it fits");
    let found = table(&[&fig1c, &replaced]);
    let rule = found.rows.iter().find(|row| row.path == "optimizers[1].rule").expect("the rule differs");
    assert_eq!(rule.label, "Signum / Lion: Rule");
}

#[test]
fn three_presets_and_equal_names_have_columns_of_their_own() {
    let fig1c = built_in("fig1c");
    let [two, three] = ["2", "3"].map(|noise| fig1c.with("noise", noise).expect("it fits"));
    let table = table(&[&fig1c, &two, &three]);
    let title = fig1c.title();
    assert_eq!(table.names, [title.to_owned(), format!("{title} (2)"), format!("{title} (3)")]);
    assert_eq!(rows(&table), [("Noise σ", "noise", vec!["1", "2", "3"])]);
    let text = table.to_text();
    assert_eq!(text.lines().nth(1), Some("Noise σ\tnoise\t1\t2\t3"));
}

#[test]
fn long_values_are_shown_where_they_differ() {
    let values = ["x".repeat(300) + "one", "x".repeat(300) + "two", "short".to_owned()];
    let row = DifferenceRow { label: String::new(), path: String::new(), values: values.map(Some).to_vec() };
    let shown = row.shown(40);
    assert!(shown[0].starts_with('…') && shown[0].ends_with("one"), "{shown:?}");
    assert!(shown[1].ends_with("two") && shown[2] == "short", "{shown:?}");
    assert!(shown.iter().all(|value| value.chars().count() <= 40), "{shown:?}");
}
