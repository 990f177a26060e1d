//! The built-in lessons: what their texts claim holds on the screen.

use std::ops::Range;

use valleyscope_engine::simulation::{Bucket, Setting, Simulation, SimulationSpec};
use valleyscope_experiments::preset::{Claim, Comparison, LandscapePreset, LessonStep, Preset, built_ins, next_lesson};
use valleyscope_experiments::view::DiagnosticMetric;

fn lessons() -> impl Iterator<Item = (&'static str, &'static LandscapePreset)> {
    built_ins().iter().filter_map(|built_in| match &built_in.preset {
        Preset::Landscape(preset) if !preset.lesson.is_empty() => Some((built_in.name, preset)),
        _ => None,
    })
}

/// The run of a lesson step up to its pause: each optimizer's id, and its plotted values at each step.
type Run = Vec<(u32, Vec<Bucket>)>;

fn buckets(simulation: &Simulation) -> Run {
    let ids = simulation.ensembles().iter().map(|ensemble| ensemble.optimizer());
    ids.zip(simulation.histories().iter().map(|history| history.finest())).collect()
}

/// Returns all means of all plots, bit by bit, as some are NaN.
fn bits(run: &Run) -> Vec<u64> {
    let buckets = run.iter().flat_map(|(_, buckets)| buckets);
    buckets.flat_map(|bucket| DiagnosticMetric::ALL.map(|metric| metric.value(bucket).mean.to_bits())).collect()
}

fn run_to_pause(simulation: &mut Simulation) -> Run {
    assert!(simulation.spec().steps.is_some(), "a run that is left alone has to pause");
    while !simulation.is_finished() {
        simulation.advance();
    }
    buckets(simulation)
}

/// Runs each step of a lesson to its pause, as the window does when *Next* is pressed there.
fn runs(preset: &LandscapePreset, seed: u64) -> Vec<Run> {
    let mut present: Option<Simulation> = None;
    let each = preset.lesson.iter().enumerate().map(|(index, step)| {
        let spec = SimulationSpec { seed, ..preset.spec_at(index).expect("the lesson fits") };
        let fresh = || Simulation::new(spec.clone());
        let goes_on = step.goes_on() && present.is_some();
        let mut simulation = present.take().filter(|_| goes_on).unwrap_or_else(fresh);
        step.set.iter().filter(|_| goes_on).for_each(|setting| simulation.apply(setting).expect("it fits"));
        let run = run_to_pause(&mut simulation);
        if goes_on {
            let jumped_to = run_to_pause(&mut fresh());
            assert!(bits(&jumped_to) == bits(&run), "step {}: the run depends on how the step is reached", index + 1);
        }
        present = Some(simulation);
        run
    });
    each.collect()
}

/// Returns the values of a claim's quantity at its steps.
fn values(claim: &Claim, run: &Run, optimizer: u32) -> Vec<f64> {
    let (_, buckets) = run.iter().find(|(id, _)| *id == optimizer).unwrap_or_else(|| panic!("no optimizer: {claim:?}"));
    let steps = claim.from.unwrap_or(claim.step) as usize..=claim.step as usize;
    let buckets = buckets.get(steps).unwrap_or_else(|| panic!("the run pauses before: {claim:?}"));
    buckets.iter().map(|bucket| claim.metric.value(bucket).mean).collect()
}

/// Returns why a claim about this run does not hold. A stated number has to be exact where `is_own` seed, and within
/// one unit of its last decimal with another.
fn refutation(claim: &Claim, run: &Run, is_own: bool) -> Option<String> {
    let found = values(claim, run, claim.optimizer);
    let first = claim.from.unwrap_or(claim.step);
    let everywhere = |holds: &dyn Fn(usize, f64) -> bool| {
        let at = found.iter().enumerate().position(|(index, value)| !holds(index, *value))?;
        Some(format!("found {} at step {}", found[at], first + at as u64))
    };
    match claim.is {
        Comparison::Stated => {
            let stated = claim.stated().expect("the words contain a number");
            let mean = found.iter().sum::<f64>() / found.len() as f64;
            let decimals = stated.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            let off = (mean - stated.parse::<f64>().expect("it is a number")).abs() * 10_f64.powi(decimals as i32);
            // Not `off > …`, which is false for NaN.
            let holds = off <= if is_own { 0.5 } else { 1.0 };
            (!holds).then(|| format!("found {mean}"))
        }
        Comparison::Below(number) => everywhere(&|_, value| value < number),
        Comparison::Above(number) => everywhere(&|_, value| value > number),
        Comparison::BelowOptimizer(id) => {
            let others = values(claim, run, id);
            everywhere(&|index, value| value < others[index])
        }
        Comparison::AboveOptimizer(id) => {
            let others = values(claim, run, id);
            everywhere(&|index, value| value > others[index])
        }
    }
}

/// Returns the claims of a lesson that do not hold with this seed.
fn refuted(preset: &LandscapePreset, seed: u64) -> Vec<String> {
    let runs = runs(preset, seed);
    let claims = preset.lesson.iter().enumerate().flat_map(|(index, step)| {
        step.claims.iter().map(move |claim| (claim.run_of.unwrap_or(index + 1), index + 1, claim))
    });
    let refuted = claims.filter_map(|(run_of, number, claim)| {
        let found = refutation(claim, &runs[run_of - 1], seed == preset.spec().seed)?;
        Some(format!("step {number}, seed {seed}, “{}” ({claim:?}): {found}", claim.words))
    });
    refuted.collect()
}

#[test]
fn each_claim_of_a_lesson_holds_in_its_run_with_any_seed() {
    for (name, preset) in lessons() {
        for seed in 0..5 {
            let refuted = refuted(preset, seed);
            assert!(refuted.is_empty(), "{name}: {}", refuted.join("\n"));
        }
    }
}

#[test]
fn a_false_claim_is_refuted() {
    let (_, lesson) = lessons().next().expect("there is a lesson");
    let text = "Adam at 1.9";
    let found = |change: &dyn Fn(&mut Claim)| {
        let mut preset = lesson.clone();
        let claims = &mut preset.lesson[2].claims;
        change(claims.iter_mut().find(|claim| claim.words == text).expect("the lesson has it"));
        preset.lesson.truncate(3);
        refuted(&preset, preset.spec().seed).len()
    };
    assert_eq!(found(&|_| ()), 0);
    assert_eq!(found(&|claim| claim.words = "Adam at 1.8".to_owned()), 1);
    assert_eq!(found(&|claim| claim.optimizer = 1), 1);
    assert_eq!(found(&|claim| claim.from = Some(300)), 1);
    assert_eq!(found(&|claim| claim.run_of = Some(2)), 1);
    assert_eq!(found(&|claim| claim.metric = DiagnosticMetric::AbsV), 1);
    assert_eq!(found(&|claim| claim.is = Comparison::Above(1.9)), 1);
    assert_eq!(found(&|claim| claim.is = Comparison::AboveOptimizer(1)), 1);
    assert_eq!(found(&|claim| claim.is = Comparison::BelowOptimizer(1)), 0);
}

/// Returns the places of the numbers in a text.
fn numbers(text: &str) -> Vec<Range<usize>> {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let (mut places, mut at) = (Vec::new(), 0);
    while let Some(start) = text[at..].find(|c: char| c.is_ascii_digit()).map(|found| at + found) {
        let end = text[start..].find(|c| !is_of_number(c)).map_or(text.len(), |length| start + length);
        places.push(start..start + text[start..end].trim_end_matches('.').len());
        at = end;
    }
    places
}

/// Returns whether a number stands after the symbol of a setting in force that has this value.
fn is_setting(before: &str, number: f64, spec: &SimulationSpec) -> bool {
    let landscape = spec.landscape.kind().info().parameters.iter();
    let of_landscape = landscape.map(|of| (of.symbol, spec.landscape.get(of.key)));
    let of_rules = spec.optimizers.iter().flat_map(|optimizer| {
        let rule = optimizer.rule.rule;
        rule.kind().info().hyperparameters.iter().map(move |of| (of.symbol, rule.get(of.key)))
    });
    let noise = [("σ", Some(spec.noise.sigma()))];
    let mut settings = of_landscape.chain(of_rules).chain(noise);
    settings.any(|(symbol, value)| value == Some(number) && before.ends_with(&format!("{symbol} = ")))
}

/// Returns whether a number follows “step” or “steps”, and is where the run pauses or one of the claims begins or ends.
fn is_step(before: &str, number: f64, step: &LessonStep, pause: Option<u64>) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let before = before.strip_suffix(" and ").map_or(before, |first| first.trim_end_matches(is_digit));
    let ends = step.claims.iter().flat_map(|claim| [Some(claim.step), claim.from]).chain([pause]);
    (before.ends_with("step ") || before.ends_with("steps ")) && ends.flatten().any(|end| end as f64 == number)
}

/// Returns the numbers in a step's text and notes that neither a claim nor a setting covers.
fn unchecked(step: &LessonStep, spec: &SimulationSpec) -> Vec<String> {
    [&step.text, &step.notes].into_iter().flat_map(|text| unchecked_in(text, step, spec)).collect()
}

fn unchecked_in(text: &str, step: &LessonStep, spec: &SimulationSpec) -> Vec<String> {
    let stated = |place: &Range<usize>| {
        step.claims.iter().filter(|claim| claim.is == Comparison::Stated).any(|claim| {
            let words = text.match_indices(&claim.words);
            let last = numbers(&claim.words).pop().expect("a claim that states a number has one");
            words.into_iter().any(|(start, _)| start + last.start == place.start && start + last.end == place.end)
        })
    };
    let is_checked = |place: &Range<usize>| {
        let (before, number) = (&text[..place.start], text[place.clone()].parse().expect("it is a number"));
        stated(place) || is_setting(before, number, spec) || is_step(before, number, step, spec.steps)
    };
    let unchecked = numbers(text).into_iter().filter(|place| !is_checked(place));
    unchecked.map(|place| text[..place.end].to_owned()).collect()
}

#[test]
fn claims_cover_every_number_of_a_lesson() {
    for (name, preset) in lessons() {
        for (index, step) in preset.lesson.iter().enumerate() {
            let spec = preset.spec_at(index).unwrap();
            assert_eq!(unchecked(step, &spec), [""; 0], "{name}");
            for claim in &step.claims {
                let is_made = [&step.text, &step.notes].iter().any(|text| text.contains(&claim.words));
                assert!(is_made, "{name}: “{}” in: {}\n{}", claim.words, step.text, step.notes);
            }
        }
    }
}

#[test]
fn a_step_shows_the_plots_that_its_claims_are_about() {
    // The legend shows the loss.
    let is_shown = |step: &LessonStep, metric| metric == DiagnosticMetric::Loss || step.show.contains(&metric);
    for (name, preset) in lessons() {
        for step in preset.lesson.iter().filter(|step| step.play) {
            let hidden = step.claims.iter().find(|claim| !is_shown(step, claim.metric));
            assert_eq!(hidden, None, "{name}");
        }
    }
}

#[test]
fn an_uncovered_number_is_found() {
    let (_, lesson) = lessons().next().expect("there is a lesson");
    let spec = lesson.spec_at(2).unwrap();
    let after = |text: &str, other: &str| {
        let mut step = lesson.lesson[2].clone();
        assert!(step.notes.contains(text), "{}", step.notes);
        step.notes = step.notes.replace(text, other);
        unchecked(&step, &spec).len()
    };
    assert_eq!(after("σ = 1", "σ = 1"), 0);
    assert_eq!(after("σ = 1", "σ = 2"), 1, "another setting");
    assert_eq!(after("At step 500", "At step 400"), 1, "another step");
    assert_eq!(after("Adam at 1.9", "Adam at 1.8"), 1, "another value");
    assert_eq!(after("stay ahead", "stay 9 steps ahead"), 1, "a new number");
}

#[test]
fn each_step_of_a_lesson_plays_to_a_pause_and_names_its_plots() {
    for (name, preset) in lessons() {
        assert!((5..=9).contains(&preset.lesson.len()), "{name}");
        for (index, step) in preset.lesson.iter().enumerate() {
            assert!(index == 0 || step.play && !step.show.is_empty(), "{name}: {}", step.text);
            assert!(step.set.iter().any(|setting| matches!(setting, Setting::Steps(Some(_)))), "{name}: {}", step.text);
        }
        let sections = preset.lesson.iter().filter(|step| step.section.is_some()).count();
        assert!(sections >= 2 && preset.lesson[0].section.is_some(), "{name}");
    }
}

#[test]
fn a_lesson_s_settings_add_up_and_can_be_taken_back() {
    let (_, lesson) = lessons().find(|(name, _)| *name == "lesson").expect("it is built in");
    let noise: Vec<f64> = (0..lesson.lesson.len()).map(|step| lesson.spec_at(step).unwrap().noise.sigma()).collect();
    assert_eq!(noise[..4], [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(lesson.spec().noise.sigma(), 0.0);
    assert!(lesson.lesson[3].goes_on(), "that Adam passes Signum is seen in the same run");
}

#[test]
fn each_lesson_shows_a_formula_and_leaves_it_to_the_run_who_is_ahead() {
    for (name, preset) in lessons() {
        assert!(preset.lesson.iter().any(|step| step.formula.is_some()), "{name}");
        let is_without = |step: &LessonStep| step.notes.is_empty() || step.formula.is_some() && step.term.is_none();
        assert!(!preset.lesson.iter().any(is_without), "{name}: each step has notes, and each formula a term");
        for (step, mark) in preset.lesson.iter().flat_map(|step| step.marks.iter().map(move |mark| (step, mark))) {
            assert!(!mark.text.ends_with("ahead"), "{name}: {mark:?} is computed from the run that is shown");
            // A mark stands where a claim begins or ends.
            let is_claimed = step.claims.iter().any(|claim| claim.step == mark.step || claim.from == Some(mark.step));
            assert!(is_claimed, "{name}: {mark:?}");
        }
    }
}

#[test]
fn lessons_follow_each_other_in_the_order_of_the_library() {
    let titles: Vec<&str> = lessons().map(|(_, preset)| preset.title.as_str()).collect();
    let next = |title: &str| next_lesson(title).map(Preset::title);
    assert!(titles.len() >= 4);
    for pair in titles.windows(2) {
        assert_eq!(next(pair[0]), Some(pair[1]));
    }
    assert_eq!(next(titles[titles.len() - 1]), None);
    assert_eq!(next("Of my own"), None);
}
