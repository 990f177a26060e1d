//! Round trips of presets, and the format of values.

use proptest::prelude::*;
use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec, MOST_PARAMETERS};
use valleyscope_engine::noise::{NoiseKind, NoiseSpec};
use valleyscope_engine::optimizer::{Decay, RatedRule, RuleKind, RuleSpec, Schedule};
use valleyscope_engine::quantity::*;
use valleyscope_engine::setting::{SettingInfo, SettingValue};
use valleyscope_engine::simulation::{Change, OptimizerSpec, Setting, SimulationSpec, StartSpec};
use valleyscope_experiments::preset::{
    Claim, Comparison, LandscapePreset, LessonFigure, LessonMark, LessonStep, Preset, PresetSimulation, built_ins,
};
use valleyscope_experiments::view::{
    Camera, Colormap, DiagnosticMetric, Inset, Lens, LensAxes, Orbit, SymLog, ViewProjection, ViewSettings,
};
use valleyscope_experiments::workload::form::Value;

use super::refusals::GOOD;

#[test]
fn optional_fields_and_settings_are_written_without_wrappers() {
    let text = r#"
        Landscape(
            version: 1,
            title: "Bare values",
            simulations: [
                (spec: (
                    noise: 1,
                    steps: 3000,
                    temperature: 0.25,
                    optimizers: [(id: 7, name: "mine", color: (1, 2, 3), rule: Adam(learning_rate: 1e-3))],
                ), changes: [(step: 3, set: Rule(optimizer: 7, rule: Adam(learning_rate: 0.5)))]),
            ],
            view: (camera: (center: (0.5, -2), width: 4)),
            lesson: [(text: "Look.", set: [Noise(1.5), Steps(None), Temperature(2), Landscape(Valley(sharpness: 3))])],
        )"#;
    let Preset::Landscape(preset) = Preset::parse(text, "bare.ron").unwrap() else { panic!("a simulation") };
    assert_eq!(preset.spec().steps, Some(3000));
    assert_eq!(preset.spec().temperature, Some(Temperature::clamped(0.25)));
    assert_eq!(preset.spec().optimizers[0].color, Some([1, 2, 3]));
    assert_eq!(preset.view.as_ref().unwrap().camera, Some(Camera::new([0.5, -2.0], 4.0)));
    assert_eq!(preset.lesson[0].set[..2], [Setting::Noise(Noise::clamped(1.5).into()), Setting::Steps(None)]);
    assert_eq!(preset.record().changes[0].step, 3);
    // `Some` and a byte order mark are accepted too.
    let explicit = text.replace("steps: 3000", "steps: Some(3000)");
    assert_eq!(Preset::parse(&explicit, "").unwrap(), Preset::Landscape(preset.clone()));
    assert_eq!(Preset::parse(&format!("\u{feff}{text}"), "").unwrap(), Preset::Landscape(preset));
}

#[test]
fn rules_are_accepted_by_their_displayed_names() {
    let parse = |text: &str| Preset::parse(text, "a preset").unwrap();
    for (rule, shown) in [("Focus(", "FOCUS("), ("Sgd(", "SGD(")] {
        let text = GOOD.replace("Focus(", rule).replace(", gamma: 0.2", "");
        assert_eq!(parse(&text), parse(&text.replace(rule, shown)));
    }
    let sweep = built_ins().iter().find(|built_in| built_in.name == "fig2a").unwrap().preset.to_ron();
    assert!(sweep.contains("Focus("));
    assert_eq!(parse(&sweep), parse(&sweep.replace("Focus(", "FOCUS(")));
}

#[test]
fn fields_of_trainings_and_settings_of_simulations_are_set_by_their_paths() {
    for mut training in built_ins().iter().flat_map(|built_in| built_in.preset.trainings().into_iter().take(12)) {
        let fields = training.workload().expect("it is a training").fields();
        for path in fields.iter().map(|field| field.setting.key) {
            let workload = training.workload_mut().expect("it is a training");
            let value = match workload.value(0, path) {
                Some(Value::Number(value)) => value.value().to_string(),
                Some(Value::Switch(is_on)) => is_on.to_string(),
                _ => continue,
            };
            assert_eq!(training.with(path, &value).ok().as_ref(), Some(&training), "{path}");
        }
    }
    for built_in in built_ins() {
        let Preset::Landscape(preset) = &built_in.preset else { continue };
        let (spec, mut same) = (preset.spec(), preset.spec().clone());
        for SettingValue { path, info, value, .. } in spec.settings() {
            same.set(&path, value).expect("it is the value that it has");
            let index = path.optimizer.and_then(|id| spec.optimizers.iter().position(|it| it.id == id));
            let owner = index.map_or_else(String::new, |index| format!("optimizers[{index}]."));
            let value = info.choices().get(value as usize).map_or(value.to_string(), |choice| choice.key.to_owned());
            let in_preset = built_in.preset.with(&format!("{owner}{}", path.path), &value);
            assert!(path.path.starts_with("noise.") || in_preset.ok().as_ref() == Some(&built_in.preset), "{path:?}");
        }
        assert_eq!(same, *spec);
    }
}

fn float(low: f64, high: f64) -> BoxedStrategy<f64> {
    prop_oneof![
        any::<f64>().prop_map(move |value| if value.is_nan() { low } else { value.clamp(low, high) }),
        low..=high,
        Just(low),
        Just(high),
    ]
    .boxed()
}

macro_rules! quantity {
    ($type:ident) => {
        float($type::MIN, $type::MAX).prop_map($type::clamped)
    };
}

/// Returns any rule with any values in range.
fn rule(kind: u8) -> BoxedStrategy<RatedRule> {
    let rule = RuleSpec::on_plane(RuleKind::ALL[usize::from(kind) % RuleKind::ALL.len()]);
    let value = |of: &SettingInfo| match of.range() {
        Some(range) => float(range.min, range.max),
        None => (0..of.choices().len()).prop_map(|choice| choice as f64).boxed(),
    };
    let values: Vec<_> = rule.info().hyperparameters.iter().map(value).collect();
    (quantity!(LearningRate), schedule(), values)
        .prop_map(move |(learning_rate, schedule, values)| {
            let keys = rule.info().hyperparameters.iter().map(|of| of.key);
            let set = |rule: RuleSpec, (key, value): (&str, f64)| rule.with(key, value).unwrap();
            RatedRule { rule: keys.zip(values).fold(rule, set), learning_rate, schedule }
        })
        .boxed()
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let cosine = (quantity!(FinalShare), proptest::option::of(any::<u64>()));
    let decay = prop_oneof![
        Just(Decay::Constant),
        Just(Decay::InverseRoot),
        cosine.prop_map(|(to, steps)| Decay::Cosine { to, steps: steps.map(DecaySteps::clamped) }),
    ];
    let warmup = (0..=u64::from(WarmupSteps::MAX)).prop_map(WarmupSteps::clamped);
    (warmup, decay).prop_map(|(warmup, decay)| Schedule { warmup, decay })
}

fn landscape() -> impl Strategy<Value = LandscapeSpec> {
    let text = "param kappa = 2 in 1..9\nL = kappa*x^2 + y";
    let formula = LandscapeFormula::new("A \"bowl\"", text).expect("it is valid");
    let kinds = LandscapeKind::ALL.iter().copied().chain([LandscapeKind::Formula(formula)]).collect::<Vec<_>>();
    (proptest::sample::select(kinds), proptest::collection::vec(0.0..=1.0, MOST_PARAMETERS)).prop_map(
        |(kind, places)| {
            let spec = LandscapeSpec::new(kind);
            spec.parameters().zip(places).fold(spec, |spec, ((of, _), place): (_, f64)| {
                let Range { min, max, .. } = of.range().expect("it is a number");
                let value = min + place * (max - min);
                spec.with(of.key, of.nearest(value)).expect("it is in the range")
            })
        },
    )
}

/// Returns an optimizer whose id is also the kind of its rule, so that settings fit.
fn optimizer(id: u32) -> impl Strategy<Value = OptimizerSpec> {
    (proptest::option::of(r#"[a-zβ"\\/,'(){}\[\]]{1,9}"#), proptest::option::of(any::<[u8; 3]>()), rule(id as u8))
        .prop_map(move |(name, color, rule)| OptimizerSpec { id, name, color, enabled: id != 1, rule })
}

fn setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        landscape().prop_map(Setting::Landscape),
        noise().prop_map(Setting::Noise),
        proptest::option::of(quantity!(Temperature)).prop_map(Setting::Temperature),
        proptest::option::of(any::<u64>()).prop_map(Setting::Steps),
        (0..4_u32)
            .prop_flat_map(|optimizer| rule(optimizer as u8).prop_map(move |rule| Setting::Rule { optimizer, rule })),
    ]
}

fn view() -> impl Strategy<Value = ViewSettings> {
    let scale = (1e-300..1.0_f64, 0.0..1e300_f64, 1.0..1e300_f64);
    let scale = scale.prop_map(|(linear, below, max)| SymLog { linear, min: -below, max });
    let lens = Lens { axes: LensAxes::Uv, right: [0.6, 0.8], stretch: 64.0 };
    let camera = (-1e12..1e12_f64, -1e12..1e12_f64, 1e-12..1e12_f64).prop_map(move |(x, y, width)| Camera {
        lens: if x > 0.0 { lens } else { Lens::NONE },
        ..Camera::new([x, y], width)
    });
    let orbit = (-180.0..180.0_f64, 5.0..90.0_f64).prop_map(|(azimuth, elevation)| Orbit { azimuth, elevation });
    let looks = (proptest::option::of(camera), proptest::option::of(orbit));
    let inset = [0.0..1.0_f32, 0.0..1.0_f32].prop_map(|at| Inset { at, ..Inset::default() });
    let shown = (0..3_usize, proptest::option::of(inset));
    let switches = any::<[bool; 5]>();
    (proptest::option::of(scale), looks, shown, switches, 0..=10_000_u32, 0.0..100.0_f32, 0..5_usize).prop_map(
        |(
            scale,
            (camera, orbit),
            (projection, inset),
            [contours, uv_frame, mean_path, follow, glyphs],
            trail_steps,
            size,
            colormap,
        )| {
            ViewSettings {
                colormap: Colormap::ALL[colormap],
                scale,
                contours,
                uv_frame,
                trail_steps,
                trail_width: size,
                point_radius: size / 3.0,
                mean_path,
                follow,
                glyphs,
                camera,
                projection: ViewProjection::ALL[projection],
                inset,
                orbit,
            }
        },
    )
}

fn noise() -> impl Strategy<Value = NoiseSpec> {
    let kind = prop::sample::select(NoiseKind::ALL);
    (kind, quantity!(Noise), 2.01..100.0).prop_map(|(kind, sigma, shape)| {
        let mut noise = NoiseSpec::new(kind).with_sigma(sigma);
        if noise.parameters().count() > 1 {
            noise.set("degrees_of_freedom", shape).unwrap();
        }
        noise
    })
}

fn simulation() -> impl Strategy<Value = SimulationSpec> {
    let start = (quantity!(StartCoordinate), quantity!(StartCoordinate), quantity!(StartSpread))
        .prop_map(|(x, y, spread)| StartSpec { x, y, spread });
    let particles = (1..=10_000_u64).prop_map(|count| ParticleCount::new(count).unwrap());
    let optimizers = (optimizer(0), optimizer(1), optimizer(2), optimizer(3));
    let run = (any::<u64>(), proptest::option::of(any::<u64>()), proptest::option::of(quantity!(Temperature)));
    (landscape(), noise(), run, particles, start, optimizers).prop_map(
        |(landscape, noise, (seed, steps, temperature), particles, start, optimizers)| SimulationSpec {
            landscape,
            noise,
            seed,
            steps,
            particles,
            start,
            temperature,
            optimizers: [optimizers.0, optimizers.1, optimizers.2, optimizers.3].into(),
        },
    )
}

fn claim() -> impl Strategy<Value = Claim> {
    let is = prop_oneof![
        Just(Comparison::Stated),
        (-1e300..1e300).prop_map(Comparison::Below),
        (-1e300..1e300).prop_map(Comparison::Above),
        any::<u32>().prop_map(Comparison::BelowOptimizer),
        any::<u32>().prop_map(Comparison::AboveOptimizer),
    ];
    let steps = proptest::option::of(0..1000_u64);
    let metric = prop::sample::select(DiagnosticMetric::ALL.to_vec());
    ("[ -~é]{0,20}", metric, any::<u32>(), steps, 1000..2000_u64, proptest::option::of(any::<usize>()), is).prop_map(
        |(words, metric, optimizer, from, step, run_of, is)| Claim { words, metric, optimizer, from, step, run_of, is },
    )
}

/// Returns what a step may show beside its plots, and its marks.
fn shown_by_step() -> impl Strategy<Value = LessonStep> {
    let mark = (any::<u64>(), "[a-zé ]{0,30}x").prop_map(|(step, text)| LessonMark { step, text });
    let name = prop::sample::select(LessonFigure::NAMES.to_vec());
    let figure = (name, proptest::option::of([-1e300..1e300, -1e300..1e300])).prop_map(|(name, point)| {
        let figure = LessonFigure { name: name.to_owned(), point };
        let point = point.filter(|_| figure.is_diagram());
        LessonFigure { point, ..figure }
    });
    let (view, figure) = (proptest::option::of(view()), proptest::option::of(figure));
    (view, prop::collection::vec(mark, 0..3), proptest::option::of(0..4_u32), figure)
        .prop_map(|(view, marks, formula, figure)| LessonStep { view, marks, formula, figure, ..LessonStep::default() })
}

fn preset() -> impl Strategy<Value = LandscapePreset> {
    let show = prop::sample::subsequence(DiagnosticMetric::ALL.to_vec(), 0..=DiagnosticMetric::ALL.len());
    let section = proptest::option::of("[a-zé ]{0,20}x");
    let claims = prop::collection::vec(claim(), 0..3);
    let text = (r#"[a-z"\\ \nωé]{1,30}x"#, r#"[a-z"\\ \nωé]{0,60}"#);
    let settings = || prop::collection::vec(setting(), 0..4);
    let compared = prop::collection::vec(settings(), 0..3);
    let step = (section, text, settings(), compared, any::<bool>(), show, claims, shown_by_step());
    let step = step.prop_map(|(section, (text, notes), set, compared, play, show, claims, shown)| {
        let mut step = LessonStep { section, text, notes, set, compared, play, show, claims, ..shown };
        if !step.marks.is_empty() {
            // Otherwise the run would have to pause at the last of them or later.
            step.set.push(Setting::Steps(None));
        }
        if step.goes_on() {
            // Otherwise the run would have to pause later than that of the previous step.
            step.set.push(Setting::Noise(Noise::clamped(1.0).into()));
        }
        step
    });
    let changes = prop::collection::vec((any::<u64>(), setting()), 0..6).prop_map(|mut changes| {
        changes.sort_by_key(|&(step, _)| step);
        changes.into_iter().map(|(step, set)| Change { step, set }).collect::<Vec<_>>()
    });
    let other = (proptest::option::of("[a-zσ ]{0,20}x"), settings(), settings());
    let other = other.prop_map(|(name, set, changes)| {
        let changes = changes.into_iter().enumerate().map(|(step, set)| Change { step: step as u64, set });
        PresetSimulation { name, spec: None, set, changes: changes.collect() }
    });
    let others = prop::collection::vec(other, 0..PresetSimulation::MOST);
    let texts = (r#"[ -~αβ]{0,40}x"#, r#"[ -~\n]{0,60}"#);
    (texts, simulation(), proptest::option::of(view()), others, prop::collection::vec(step, 0..4), changes).prop_map(
        |((title, description), simulation, view, others, mut lesson, changes)| {
            let is_run = |id: &u32| simulation.optimizers.iter().any(|it| it.id == *id && it.enabled);
            for step in &mut lesson {
                step.formula = step.formula.filter(is_run);
                step.term = step.formula.map(|_| "∇L(".to_owned());
            }
            let mut preset = LandscapePreset { description, view, lesson, ..LandscapePreset::new(title, simulation) };
            preset.simulations[0].changes = changes;
            preset.simulations.extend(others);
            with_metrics_that_exist(preset)
        },
    )
}

/// Leaves out the metrics that the landscapes of a lesson lack.
fn with_metrics_that_exist(mut preset: LandscapePreset) -> LandscapePreset {
    let landscape = |index| preset.spec_at(index).expect("the settings fit").landscape;
    let landscapes: Vec<LandscapeSpec> = (0..preset.lesson.len()).map(landscape).collect();
    for (index, step) in preset.lesson.iter_mut().enumerate() {
        let of_run = |claim: &Claim| match claim.run_of {
            Some(number) if (1..=index).contains(&number) => &landscapes[number - 1],
            _ => &landscapes[index],
        };
        step.show.retain(|metric| metric.info(&landscapes[index]).is_some());
        step.claims.retain(|claim| claim.metric.info(of_run(claim)).is_some());
    }
    preset
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn presets_are_written_and_read_bit_for_bit(preset in preset()) {
        let preset = Preset::Landscape(preset);
        let text = preset.to_ron();
        let read = Preset::parse(&text, "written").map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(&read, &preset);
        // Equality of floats does not see the sign of zero; equality of texts does.
        prop_assert_eq!(read.to_ron(), text);
    }
}
