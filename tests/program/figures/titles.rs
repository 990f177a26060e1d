//! Titles of changed presets, and names of optimizers that are shown together.

use valleyscope::figure::{Map, as_changed, is_made_title, shared_optimizers};
use valleyscope_engine::optimizer::{HyperparameterName, RuleKind, RuleSpec};
use valleyscope_engine::quantity::{Noise, PointCount, Replicates};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::sweep::{Axis, Diagram, Metric, Quantity, SweepSpec};
use valleyscope_experiments::preset::{Preset, SweepPreset, built_ins, split_changed};

use crate::sandbox::{Sandbox, expect_code};

fn fig2a() -> SweepPreset {
    let found = built_ins().iter().find(|built_in| built_in.name == "fig2a").expect("a built-in preset");
    let Preset::Sweep(preset) = &found.preset else { panic!("fig2a is a sweep") };
    preset.clone()
}

fn changed(change: impl FnOnce(&mut SweepSpec)) -> SweepPreset {
    let preset = fig2a();
    let mut sweep = preset.sweep.clone();
    change(&mut sweep);
    let named = as_changed(preset, sweep.clone());
    assert_eq!(named.sweep, sweep);
    // A preset with the new title can be read again.
    let text = Preset::Sweep(named.clone()).to_ron();
    assert_eq!(Preset::parse(&text, "test").expect("a preset"), Preset::Sweep(named.clone()));
    named
}

#[test]
fn a_preset_without_changes_keeps_its_words() {
    assert_eq!(changed(|_| ()), fig2a());
}

#[test]
fn a_title_names_the_changes() {
    let named = changed(|sweep| sweep.landscape.set("rotation_degrees", 45.0).unwrap());
    assert_eq!(named.title, "Phase diagram: sharpness and noise (Fig. 2a), changed: φ = 45°");
    assert!(named.description.contains("φ = 45°") && !named.description.contains("Adam wins"));
}

#[test]
fn a_title_names_other_axes() {
    let over = |ids: &[u32]| {
        let of = Quantity::Of(HyperparameterName::new("beta1").unwrap(), ids.to_vec());
        changed(|sweep| sweep.rows = Axis { of, from: 0.5, to: 0.9, ..sweep.rows.clone() }).title
    };
    assert_eq!(over(&[0, 1, 2]), "Phase diagram: decay rate β₁ and noise σ");
    assert_eq!(over(&[0]), "Phase diagram: decay rate β₁ of Adam and noise σ");
}

#[test]
fn a_figure_of_the_paper_with_another_range_is_named_by_its_axes() {
    let named = changed(|sweep| sweep.columns.to = 1.0);
    assert_eq!(named.title, "Phase diagram: sharpness a and noise σ from 0 to 1");
    let axes = "Adam, FOCUS, Signum over sharpness a from 0.1 to 1\u{2009}000 and noise σ from 0 to 1.";
    assert_eq!(named.description, axes);
    // A title that the user has given does not describe the axes.
    let mine = SweepPreset { title: "Mine".to_owned(), ..fig2a() };
    let mut sweep = mine.sweep.clone();
    sweep.columns.to = 1.0;
    assert!(!is_made_title(&mine) && is_made_title(&named) && is_made_title(&fig2a()));
    assert_eq!(as_changed(mine, sweep).title, "Mine, changed: columns of noise σ from 0 to 1");
}

#[test]
fn a_title_made_of_changes_is_made_anew_after_another_change() {
    let mut first = changed(|sweep| sweep.landscape.set("slope", 0.5).unwrap());
    first.description = "Mine.".to_owned();
    assert_eq!(as_changed(first.clone(), first.sweep.clone()), first);
    let mut sweep = first.sweep.clone();
    sweep.landscape.set("slope", 0.7).unwrap();
    let second = as_changed(first, sweep);
    assert_eq!(second.title, "Phase diagram: sharpness and noise (Fig. 2a), changed: c = 0.7");
}

#[test]
fn changes_begin_a_sentence_after_a_question() {
    let question = SweepPreset { title: "Push, or pull?".to_owned(), ..fig2a() };
    let mut sweep = question.sweep.clone();
    sweep.seed = 5;
    let named = as_changed(question, sweep.clone());
    assert_eq!(named.title, "Push, or pull? Changed: seed 5");
    assert_eq!(split_changed(&named.title), Some(("Push, or pull?", "seed 5")));
    assert!(is_made_title(&named));
    // That of a built-in preset is made anew after another change.
    let gamma = &built_ins().iter().find(|built_in| built_in.name == "gamma").expect("a built-in preset").preset;
    let Preset::Sweep(own) = gamma.clone() else { panic!("it is a sweep") };
    let mut once = own.sweep.clone();
    once.seed = 5;
    let once = as_changed(own, once);
    assert_eq!(once.title, "What γ should be: push away, or pull back? Changed: seed 5");
    let mut twice = once.sweep.clone();
    twice.seed = 6;
    assert_eq!(as_changed(once, twice).title, "What γ should be: push away, or pull back? Changed: seed 6");
}

#[test]
fn a_title_that_a_command_sets_is_that_of_the_figure() {
    let sandbox = Sandbox::new();
    let small = ["rows.count=2", "columns.count=2", "steps=10", "replicates=1"];
    let small: Vec<&str> = small.iter().flat_map(|set| ["--set", set]).collect();
    let title = |more: &[&str]| {
        expect_code(&sandbox.run(&[&["figure", "fig2a", "--out", "f.svg"], &small[..], more].concat()), 0);
        let svg = std::fs::read_to_string(sandbox.join("f.svg")).expect("the figure");
        svg.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).expect("a title").0.to_owned()
    };
    assert_eq!(title(&["--set", "title=Mine"]), "Mine");
    assert_eq!(title(&["--set", "title=Mine", "--quick"]), "Mine");
    assert!(title(&[]).starts_with("Phase diagram: sharpness and noise (Fig. 2a), changed: 2 × 2 pixels"));
    let both = title(&["--set", "title=One", "--beside", "title=Two; seed=3"]);
    assert_eq!(both, "One; Two");
}

#[test]
fn many_changes_and_long_titles_fit() {
    let many = |sweep: &mut SweepSpec| {
        *sweep = sweep.quick();
        sweep.replicates = Replicates::clamped(1);
        sweep.noise = Noise::clamped(0.5).into();
        sweep.seed = 12345;
        sweep.common_random_numbers = true;
        sweep.columns.count = PointCount::clamped(1);
        sweep.rows.count = PointCount::clamped(1);
    };
    let named = changed(many);
    assert!(named.title.starts_with("Phase diagram: sharpness and noise (Fig. 2a), changed: 1 × 1 pixel, "));
    assert!(named.title.ends_with(" more"), "{}", named.title);
    assert!(["1 replicate;", "seed 12345"].iter().all(|part| named.description.contains(part)), "{named:?}");
    let long = SweepPreset { title: "x".repeat(100), description: String::new(), ..fig2a() };
    let mut sweep = long.sweep.clone();
    many(&mut sweep);
    let named = as_changed(long, sweep);
    assert_eq!(named.title.chars().count(), 100);
    assert!(named.title.ends_with('…'));
}

#[test]
fn a_title_names_the_settings_of_a_rule_and_a_rule_in_the_place_of_another() {
    let named = changed(|sweep| sweep.optimizers[0].rule.set("weight_decay", 0.2).unwrap());
    assert_eq!(named.title, "Phase diagram: sharpness and noise (Fig. 2a), changed: Adam: ω 0.2");
    let sgd = Preset::Sweep(fig2a()).with("optimizers[0].rule", "SGD").expect("a preset");
    let Preset::Sweep(sgd) = sgd else { panic!("it is a sweep") };
    let named = as_changed(fig2a(), sgd.sweep);
    assert_eq!(named.title, "Phase diagram: sharpness and noise (Fig. 2a), changed: Adam → SGD");
}

#[test]
fn a_changed_landscape_is_named_after_its_changes() {
    let found = built_ins().iter().find(|built_in| built_in.name == "fig1c").expect("a built-in preset");
    let changed = |settings: &[(&str, &str)]| {
        let changed = found.preset.with_all(settings.iter().copied()).expect("a preset");
        let named = changed.as_changed_from(&found.preset);
        assert_eq!(Preset::parse(&named.to_ron(), "test").expect("a preset"), named);
        named
    };
    assert_eq!(changed(&[]), found.preset);
    let fig1c = "Adam starves where Signum goes on (Fig. 1c)";
    let named = changed(&[("noise", "0.5"), ("landscape.sharpness", "20"), ("optimizers[1].rule.beta1", "0.5")]);
    assert_eq!(named.title(), format!("{fig1c}, changed: a = 20, σ = 0.5, Signum: β₁ 0.5"));
    assert_eq!(named.description(), format!("“{fig1c}”, changed: a = 20; σ = 0.5; Signum: β₁ 0.5."));
    let own = changed(&[("noise", "0.5"), ("title", "Mine")]);
    assert_eq!(own.title(), "Mine");
}

#[test]
fn a_name_that_states_other_settings_is_removed_by_a_command() {
    let found = built_ins().iter().find(|built_in| built_in.name == "four-optimizers").expect("a built-in preset");
    let name = |path: &str, value: &str| {
        let Preset::Landscape(changed) = found.preset.with(path, value).expect("it fits") else {
            panic!("a landscape")
        };
        changed.spec().optimizers[3].name.clone()
    };
    let Preset::Landscape(preset) = &found.preset else { panic!("a landscape") };
    let own = preset.spec().optimizers[3].name.clone();
    assert_eq!(own.as_deref(), Some("FOCUS, γ 0.1"));
    assert_eq!(name("optimizers[3].rule.beta1", "0.5"), own);
    assert_eq!(name("optimizers[3].rule.gamma", "0.3"), None);
    assert_eq!(name("optimizers[3].rule", "Signum"), None);
}

#[test]
fn a_legend_names_settings_that_differ_within_a_rule_or_from_its_defaults() {
    let names = |change: &dyn Fn(&mut SweepSpec)| {
        let mut sweep = fig2a().sweep;
        change(&mut sweep);
        let legend = Map::Winner { certainty: false }.legend(&Diagram::new(sweep.clone().into()), Metric::FinalLoss);
        let texts: Vec<String> = legend.into_iter().map(|swatch| swatch.text).take(3).collect();
        assert_eq!(texts, sweep.shown_names());
        texts
    };
    assert_eq!(names(&|_| ()), ["Adam", "FOCUS", "Signum"]);
    // The defaults of rules differ, which tells nothing apart; a changed value is named.
    let adopt = |sweep: &mut SweepSpec| {
        sweep.optimizers[0].rule = RuleSpec::on_plane(RuleKind::Lion);
        sweep.optimizers[1].rule = RuleSpec::on_plane(RuleKind::Mars);
        sweep.optimizers[2].rule = RuleSpec::on_plane(RuleKind::Muon);
    };
    assert_eq!(names(&adopt), ["Lion", "MARS", "Muon"]);
    let decay = |sweep: &mut SweepSpec| sweep.optimizers[0].rule.set("weight_decay", 0.2).unwrap();
    assert_eq!(names(&decay), ["Adam, ω 0.2", "FOCUS", "Signum"]);
    assert_eq!(names(&|sweep| sweep.optimizers[1].rule.set("gamma", 0.4).unwrap()), ["Adam", "FOCUS, γ 0.4", "Signum"]);
    // β₂ means one thing for Adam, and another for FOCUS.
    let average = |sweep: &mut SweepSpec| sweep.optimizers[1].rule.set("beta2", 0.99).unwrap();
    assert_eq!(names(&average), ["Adam", "FOCUS, β₂ 0.99", "Signum"]);
    // Of two of one rule, each has the settings that differ, whatever the default.
    let twice = |sweep: &mut SweepSpec| {
        sweep.optimizers[1].rule = sweep.optimizers[0].rule;
        sweep.optimizers[1].rule.set("beta1", 0.5).unwrap();
    };
    assert_eq!(names(&twice), ["Adam, β₁ 0.9", "Adam, β₁ 0.5", "Signum"]);
    // A name by the user suffices.
    let named = |sweep: &mut SweepSpec| {
        decay(sweep);
        sweep.optimizers[0].name = Some("Mine".to_owned());
        sweep.optimizers[1].name = Some("FOCUS (2)".to_owned());
    };
    assert_eq!(names(&named), ["Mine", "FOCUS (2)", "Signum"]);
    // A setting that an axis varies has no value to name.
    let varied = |sweep: &mut SweepSpec| {
        decay(sweep);
        let of = Quantity::Of(HyperparameterName::WEIGHT_DECAY, vec![0, 1, 2]);
        sweep.rows = Axis { of, from: 0.0, to: 0.5, ..sweep.rows.clone() };
    };
    assert_eq!(names(&varied), ["Adam", "FOCUS", "Signum"]);
}

#[test]
fn sweeps_shown_together_name_what_differs_between_them_and_share_colours() {
    let (one, mut other) = (fig2a().sweep, fig2a().sweep);
    other.optimizers[0].rule.set("weight_decay", 0.0).unwrap();
    let shared = shared_optimizers(&[&one, &other]);
    let names = |index: usize| -> Vec<&str> { shared[index].iter().map(|optimizer| optimizer.name.as_str()).collect() };
    assert_eq!(names(0), ["Adam, ω 0.1", "FOCUS", "Signum"]);
    assert_eq!(names(1), ["Adam, ω 0", "FOCUS", "Signum"]);
    let looks = |index: usize| shared[index].iter().map(|of| (&of.identity, of.color)).collect::<Vec<_>>();
    assert_eq!(looks(0), looks(1));
}

#[test]
fn the_legend_of_a_landscape_names_each_setting_that_differs() {
    let names = |settings: &[(&str, &str)]| {
        let found = built_ins().iter().find(|built_in| built_in.name == "fig1c").expect("a built-in preset");
        let Preset::Landscape(changed) = found.preset.with_all(settings.iter().copied()).expect("a preset") else {
            panic!("fig1c is a landscape")
        };
        SimulationSpec::shown_names(changed.spec())
    };
    assert_eq!(names(&[]), ["Adam", "Signum"]);
    let faster = [("optimizers[0].rule.learning_rate", "0.01")];
    assert_eq!(names(&faster), ["Adam, η 0.01", "Signum, η 0.002"]);
    // An optimizer that is not simulated is not shown.
    assert_eq!(names(&[faster[0], ("optimizers[1].enabled", "false")]), ["Adam", "Signum"]);
}
