//! The presets that come with the program.

use std::collections::BTreeSet;

use valleyscope_engine::landscape::{LandscapeKind, LandscapeSpec};
use valleyscope_engine::optimizer::{RatedRule, RuleKind, RuleSpec};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_engine::simulation::{Sample, Setting, Simulation, SimulationSpec};
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
    ] {
        built_in(name);
    }
    assert!(built_in("lesson").lesson.len() >= 6);
    assert_eq!(built_in("unrotated").simulation.landscape.get("rotation_degrees").unwrap(), 0.0);
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
    let values = [("sharpness", 10.0), ("slope", 0.1), ("rotation_degrees", 30.0)];
    let valley = LandscapeSpec::new(LandscapeKind::Valley);
    let paper = values.into_iter().fold(valley, |spec, (key, value)| spec.with(key, value).unwrap());
    assert_eq!((fig1c.landscape, fig1c.noise.sigma()), (paper, 1.0));
    let [adam, signum] = &fig1c.optimizers[..] else { panic!("two optimizers") };
    assert_eq!([adam.rule.rule.kind(), signum.rule.rule.kind()], [RuleKind::Adam, RuleKind::Signum]);
    assert_eq!(adam.rule.learning_rate, signum.rule.learning_rate);

    let saturation = &built_in("saturation").simulation;
    assert_eq!((saturation.landscape, saturation.noise.sigma(), saturation.steps), (paper, 1.0, Some(3000)));
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
        (0..lesson.lesson.len()).map(|step| lesson.simulation_at(step).unwrap().noise.sigma()).collect();
    assert_eq!(noise[..4], [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(lesson.simulation.noise.sigma(), 0.0);
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
            let spec = SimulationSpec { seed, ..built_in(name).simulation.clone() };
            let losses = samples(&spec, 1000).into_iter().map(|sample| sample.loss.mean);
            let named = spec.optimizers.iter().map(|optimizer| optimizer.rule.name()).zip(losses);
            let (best, loss) = named.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(best, winner, "{name}, seed {seed}: {loss}");
        }
    }
}

/// Returns the samples of all optimizers at each step until the run pauses.
fn course(spec: &SimulationSpec) -> Vec<[Sample; 3]> {
    let mut simulation = Simulation::new(spec.clone());
    let samples = |simulation: &Simulation| std::array::from_fn(|index| *simulation.ensembles()[index].sample());
    let mut course = vec![samples(&simulation)];
    while spec.steps.is_some() && !simulation.is_finished() {
        simulation.advance();
        course.push(samples(&simulation));
    }
    course
}

/// The numbers of a text, in its order, each with the words before it and the value that it has in the run.
type Numbers = Vec<(&'static str, f64)>;

/// Returns the numbers that the steps of the built-in lesson state, as a run with this seed gives them. Panics where a
/// comparison that they make does not hold.
fn stated_by_the_lesson(lesson: &LandscapePreset, seed: u64) -> Vec<Numbers> {
    let spec = |step| SimulationSpec { seed, ..lesson.simulation_at(step).unwrap() };
    let pause = |step| spec(step).steps.expect("the run pauses") as f64;
    let gamma = |step| spec(step).optimizers[2].rule.rule.get("gamma").expect("FOCUS has it");
    let courses: Vec<Vec<[Sample; 3]>> = (0..lesson.lesson.len()).map(|step| course(&spec(step))).collect();
    let last = |step: usize| courses[step].last().expect("there is a start").map(|sample| sample.u.mean);
    let steps = |step: usize| courses[step].last().expect("there is a start").map(|sample| sample.effective_step.mean);
    // |v| oscillates from step to step.
    let walls = |step: usize, optimizer: usize| {
        let end = &courses[step][courses[step].len() - 200..];
        end.iter().map(|samples| samples[optimizer].abs_v.mean).sum::<f64>() / 200.0
    };
    let says = |holds: bool, what: &str| assert!(holds, "with seed {seed}: {what}");

    let start = courses[0][0].map(|sample| sample.u.mean.abs()).into_iter().fold(0.0, f64::max);

    let [adam, signum, focus] = last(1);
    says(walls(1, 0) < 0.5 * walls(1, 1), "without noise Adam is on the floor");
    says(steps(1)[1] == 1.0, "Signum takes steps of full size");
    says((signum - focus).abs() < 0.01 && gamma(1) == 0.0, "FOCUS is Signum");
    let free = vec![
        ("step ", pause(1)),
        ("to u = ", adam),
        ("stays at ", walls(1, 1)),
        ("fallen to ", walls(1, 0)),
        ("γ = ", gamma(1)),
    ];

    let [adam, signum, _] = last(2);
    says(steps(2)[1] == 1.0, "Signum keeps its step");
    let end = courses[2].last().unwrap();
    says(adam < signum && end[1].loss.mean < end[0].loss.mean, "Signum is ahead");
    let starved = vec![
        ("σ = ", spec(2).noise.sigma()),
        ("step ", pause(2)),
        ("effective step is ", steps(2)[0]),
        ("was ", steps(1)[0]),
        ("its step of ", steps(2)[1]),
        ("u = ", signum),
        ("Adam at ", adam),
    ];

    let (signum_leads, adam_leads) = (1200, 1500);
    let at = |step: usize| courses[3][step];
    let [before, after] = [at(signum_leads), at(adam_leads)];
    says(before[1].loss.mean < before[0].loss.mean && before[1].u.mean > before[0].u.mean, "Signum is ahead at first");
    let is_passed = |[adam, signum, _]: &[Sample; 3]| adam.loss.mean < signum.loss.mean && adam.u.mean > signum.u.mean;
    says(courses[3][adam_leads..].iter().all(is_passed), "Adam passes and stays ahead");
    says(is_passed(&after), "Adam has passed");
    says(at(500).map(|sample| sample.u.mean) == last(2), "it is the same run");
    let progress = |from: usize, to: usize| (at(to)[1].u.mean - at(from)[1].u.mean) / (to - from) as f64 / 0.005;
    says(progress(0, 500) > 0.9 && progress(1500, 2000) < 0.1, "few of Signum's steps lead down");
    let [adam, signum, _] = last(3);
    let passed = vec![
        ("to step ", pause(3)),
        ("between steps ", signum_leads as f64),
        ("and ", adam_leads as f64),
        ("wall to wall (|v| = ", walls(3, 1)),
        ("shrunk to ", steps(3)[0]),
        ("floor (|v| = ", walls(3, 0)),
        ("u = ", adam),
        ("Signum at ", signum),
    ];

    let [adam, signum, focus] = last(4);
    let slower = |step: usize| courses[4][step][2].u.mean < courses[4][step][1].u.mean;
    says(steps(4)[2] < steps(4)[1] && walls(4, 2) < walls(4, 1), "FOCUS is closer to the floor");
    says(slower(500) && slower(1000) && signum < focus && focus < adam, "FOCUS is slower at first, then deeper");
    let attracted = vec![
        ("γ = ", gamma(4)),
        ("than Signum (", steps(4)[2]),
        ("(|v| = ", walls(4, 2)),
        ("step ", pause(4)),
        ("u = ", focus),
        ("against ", signum),
        ("Adam, at ", adam),
    ];

    let paused = pause(5) as usize;
    let creeping =
        vec![("γ = ", gamma(5)), ("step ", pause(5)), ("u = ", last(5)[2]), ("was at ", courses[4][paused][2].u.mean)];

    says(last(6).iter().zip(last(4)).all(|(without, with)| *without > with), "without decay all get deeper");
    says(spec(6).optimizers.iter().all(|optimizer| optimizer.rule.rule.weight_decay() == 0.0), "no weight decay");
    let undecayed = vec![
        ("γ = ", gamma(6)),
        ("towards ", 0.0),
        ("step ", pause(6)),
        ("Adam is at u = ", last(6)[0]),
        ("Signum at ", last(6)[1]),
        ("FOCUS at ", last(6)[2]),
        ("were at ", last(4)[0]),
        (", ", last(4)[1]),
        (" and ", last(4)[2]),
    ];
    vec![vec![("near u = ", start)], free, starved, passed, attracted, creeping, undecayed]
}

/// Returns the number at the beginning of a text.
fn number_of(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].trim_end_matches('.')
}

#[test]
fn every_number_of_a_lesson_agrees_with_its_run_at_the_pause() {
    let lessons = built_ins().iter().filter_map(|built_in| match &built_in.preset {
        Preset::Landscape(preset) if !preset.lesson.is_empty() => Some((built_in.name, preset)),
        _ => None,
    });
    for (name, preset) in lessons {
        assert_eq!(name, "lesson", "what another lesson states is to be computed here too");
        let own_seed = preset.simulation.seed;
        for seed in 0..5 {
            let stated = stated_by_the_lesson(preset, seed);
            assert_eq!(stated.len(), preset.lesson.len());
            for (numbers, step) in stated.iter().zip(&preset.lesson) {
                let mut rest = step.text.as_str();
                for (words, value) in numbers {
                    let (before, after) = rest.split_once(words).unwrap_or_else(|| panic!("“{words}” in: {rest}"));
                    assert!(!before.contains(|c: char| c.is_ascii_digit()), "a number that is not checked: {before}");
                    let number = number_of(after);
                    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
                    if seed == own_seed {
                        assert_eq!(format!("{value:.decimals$}"), number, "{words}{number} in: {}", step.text);
                    }
                    let stated: f64 = number.parse().unwrap_or_else(|_| panic!("a number after “{words}”: {after}"));
                    let unit = 0.1_f64.powi(decimals as i32);
                    assert!((value - stated).abs() <= unit, "seed {seed}, {words}{number}: found {value}");
                    rest = &after[number.len()..];
                }
                assert!(!rest.contains(|c: char| c.is_ascii_digit()), "a number that is not checked: {rest}");
            }
        }
    }
}

#[test]
fn each_step_of_the_lesson_plays_to_a_pause_and_names_its_plots() {
    for step in &built_in("lesson").lesson[1..] {
        assert!(step.play && !step.show.is_empty(), "{}", step.text);
        assert!(step.set.iter().any(|setting| matches!(setting, Setting::Steps(Some(_)))), "{}", step.text);
    }
    assert!(built_in("lesson").lesson[3].goes_on(), "that Adam passes Signum is seen in the same run");
}

#[test]
fn a_rule_that_is_set_keeps_common_hyperparameters() {
    let set = |name: &str, path: &str, value: &str| {
        let found = built_ins().iter().find(|built_in| built_in.name == name).expect("it is built in");
        found.preset.with(path, value).unwrap_or_else(|error| panic!("{error}"))
    };
    let landscape = |path: &str, value: &str| {
        let Preset::Landscape(preset) = set("fig1c", path, value) else { panic!("fig1c is a landscape") };
        preset.simulation.optimizers[0].rule
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
