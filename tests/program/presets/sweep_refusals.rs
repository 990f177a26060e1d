//! Errors of sweeps' presets, with their positions.

use valleyscope_engine::noise::{NoiseKind, NoiseSpec};
use valleyscope_engine::quantity::Noise;
use valleyscope_engine::simulation::Setting;
use valleyscope_experiments::preset::{Preset, built_ins};

use crate::says::says;

use super::refusals::{fault_of, refused_in};

const GOOD: &str = r#"Sweep(
    version: 1,
    title: "Good",
    sweep: (
        landscape: Valley(sharpness: 10.0),
        noise: 1.0,
        steps: 100,
        replicates: 5,
        rows: (of: Landscape(Sharpness), from: 0.1, to: 1000.0, count: 96, spacing: Log),
        columns: (of: Of(WeightDecay, [3, 5]), from: 0.0, to: 0.5, count: 100, spacing: Linear),
        optimizers: [
            (id: 3, rule: Adam(beta2: 0.99), learning_rates: (from: 0.001, to: 1.0, count: 20)),
            (id: 5, rule: Focus(gamma: 0.2)),
        ],
    ),
)
"#;

/// The beginning of its columns.
const COLUMNS: &str = "(of: Of(WeightDecay, [3, 5]), from: 0.0, to: 0.5";

/// Calls [`refused_in`] with the good preset.
#[track_caller]
fn refused(part: &str, replacement: &str, mark: &str, words: &[&str]) {
    refused_in(GOOD, part, replacement, mark, words);
}

#[test]
fn the_good_preset_is_good() {
    let Ok(Preset::Sweep(preset)) = Preset::parse(GOOD, "good.ron") else { panic!("it is read as a sweep") };
    assert_eq!(preset.sweep.shape(), [96, 100]);
    assert_eq!(preset.sweep.total_steps(), 96.0 * 100.0 * 40.0 * 5.0 * 100.0);
}

#[test]
fn axes_without_extent_or_end_are_refused() {
    refused("to: 1000.0", "to: 0.1", "0.1", &["`sweep.rows.to`", "0.1", "`rows.from`", "must not be empty"]);
    refused("to: 0.5", "to: 0", "0", &["`sweep.columns.to`", "`columns.from`"]);
    refused("from: 0.1", "from: NaN", "NaN", &["`sweep.rows.from`", "finite", "NaN"]);
    refused("to: 1000.0", "to: inf", "inf", &["`sweep.rows.to`", "finite", "inf"]);
    refused("to: 0.5", "to: -inf", "-inf", &["`sweep.columns.to`", "finite", "-inf"]);
    refused("count: 96", "count: 0", "0", &["count", "1 to 10000", "found 0"]);
    refused("count: 96", "count: 10001", "10001", &["count", "1 to 10000", "10001"]);
}

#[test]
fn a_metric_that_the_landscape_lacks_is_refused() {
    let axis = "rows: (of: Landscape(Sharpness), from: 0.1, to: 1000.0, count: 96, spacing: Log)";
    let on = |landscape: &str| {
        let text =
            GOOD.replace("landscape: Valley(sharpness: 10.0)", &format!("metric: Depth, landscape: {landscape}"));
        text.replace(axis, "rows: (of: Landscape(RotationDegrees), from: 0, to: 90, count: 3, spacing: Linear)")
    };
    let fault = fault_of(&on("Rosenbrock()"));
    let words = "`sweep.metric` is `Depth`, which Rosenbrock lacks; it has `FinalLoss` and `SmallestLoss`";
    assert!(fault.message == words && fault.to_string().contains("metric: Depth"), "{fault}");
    let typed = |text: &str| on(&format!("Formula(text: \"{text}\")"));
    assert!(fault_of(&typed("L = x^2 + y^2")).message.contains("which Formula lacks"));
    for landscape in ["Valley()", "River()", "TwoValleys()"].map(on).into_iter().chain([typed("L = v^2 - u")]) {
        Preset::parse(&landscape, "good.ron").unwrap();
    }
}

#[test]
fn an_axis_varies_any_parameter_of_the_noise() {
    let axis = "of: NoiseParameter(DegreesOfFreedom), from: 2.1, to: 100, count: 5, spacing: Log";
    let columns = "of: Of(WeightDecay, [3, 5]), from: 0.0, to: 0.5, count: 100, spacing: Linear";
    let text = GOOD.replace(columns, axis).replace("noise: 1.0", "noise: HeavyTailed(1.0, 3.0)");
    let preset = Preset::parse(&text, "good.ron").unwrap();
    assert_eq!(Preset::parse(&preset.to_ron(), "written").unwrap(), preset);
    let words = &["`sweep.columns.of` varies degrees_of_freedom, which multiplicative noise lacks"];
    refused(columns, axis, "NoiseParameter", words);
    let low = text.replace("from: 2.1", "from: 1.5");
    assert!(
        fault_of(&low).message.contains("beyond the range of degrees of freedom: expected a number from 2.01"),
        "{}",
        fault_of(&low)
    );
}

#[test]
fn a_hyperparameter_is_an_axis_together_with_its_optimizers() {
    let wanted = &["found `Beta2`; write `Of(Beta2, [0])` with the ids of its optimizers"];
    refused("Of(WeightDecay, [3, 5])", "Beta2", "Beta2", wanted);
    refused("Of(WeightDecay, [3, 5])", "Of(Beta2)", ")", &["`Of(Beta2, [0])`"]);
}

#[test]
fn logarithmic_axes_are_positive() {
    let log = &["logarithmic", "positive", "`spacing: Linear`"];
    refused("from: 0.1", "from: 0.0", "0.0", &[&["`sweep.rows.from`", "0"], &log[..]].concat());
    refused("from: 0.1", "from: -1.0", "-1.0", &[&["`sweep.rows.from`", "-1"], &log[..]].concat());
    refused("to: 1000.0", "to: -1000.0", "-1000.0", &[&["`sweep.rows.to`", "-1000"], &log[..]].concat());
    refused(
        "(of: Landscape(Sharpness), from: 0.1",
        "(of: Landscape(Sharpness), from: 1e-7",
        "(of",
        &["rows", "sharpness", "0.000001", "0.0000001"],
    );
}

#[test]
fn axes_that_are_logarithmic_in_the_complement_lie_below_one() {
    let from_zero = "(of: Of(WeightDecay, [3, 5]), from: 0.0, to: 0.5, count: 100, spacing: Linear";
    let to_one = "(of: Of(Beta1, [3, 5]), from: 0.0, to: 1.0, count: 100, spacing: LogComplement";
    refused(from_zero, to_one, "1.0", &["`sweep.columns.to`", "logarithmic", "below 1", "`spacing: Linear`"]);
}

#[test]
fn logarithmic_axes_have_ends_that_can_be_compared() {
    let wide = "(of: Landscape(Slope), from: 1e-307, to: 17.9, count: 9, spacing: Log";
    let whole = "(of: Landscape(Sharpness), from: 0.1, to: 1000.0, count: 96, spacing: Log";
    refused(whole, wide, "17.9", &["`sweep.rows.to`", "17.9", "`rows.from`", "logarithmic"]);
}

#[test]
fn runs_that_exceed_memory_are_refused() {
    let text = GOOD.replace("replicates: 5", "replicates: 100000").replace("count: 20", "count: 100");
    let fault = fault_of(&text);
    says(&fault.message, &["`sweep.replicates`", "12000000 runs", "5000000", "fewer"]);
}

#[test]
fn axes_beyond_their_quantity_are_refused() {
    let columns = |of: &str, from: &str, to: &str| format!("(of: {of}, from: {from}, to: {to}");
    let decay = columns("Of(WeightDecay, [3, 5])", "0.0", "11");
    refused(COLUMNS, &decay, "(of", &["`sweep.columns`", "weight_decay", "from 0 to 10", "found 11"]);
    let beta = columns("Of(Beta1, [3, 5])", "0.5", "1.0");
    refused(COLUMNS, &beta, "(of", &["`sweep.columns`", "beta", "0.999999", "found 1"]);
    let half = columns("Steps", "0.5", "9");
    refused(COLUMNS, &half, "0.5", &["`sweep.columns.from`", "whole number", "0.5"]);
    refused(COLUMNS, &columns("Steps", "0", "900"), "(of", &["`sweep.columns`", "steps", "found 0"]);
    let line = columns("Dimension", "1", "900");
    refused(COLUMNS, &line, "(of", &["`sweep.columns`", "dimension", "2 to 10000", "found 1"]);
    let dense = format!("{}, count: 100", columns("Dimension", "2", "90"));
    let whole = format!("{COLUMNS}, count: 100");
    refused(&whole, &dense, "100", &["`sweep.columns.count`", "100 values from 2 to 90", "whole number", "twice"]);
}

#[test]
fn two_axes_of_the_same_quantity_are_refused() {
    let same = &["`sweep.columns.of`", "`rows.of`"];
    refused("Of(WeightDecay, [3, 5])", "Landscape(Sharpness)", "Landscape(Sharpness)", same);
    let text = GOOD.replace("of: Landscape(Sharpness)", "of: Of(WeightDecay, [5])").replace("to: 1000.0", "to: 1.0");
    let fault = fault_of(&text);
    assert_eq!(fault.line, 10, "{fault}");
    assert!(same.iter().all(|word| fault.message.contains(word)), "{fault}");
}

#[test]
fn axes_of_missing_optimizers_are_refused() {
    refused("Of(WeightDecay, [3, 5])", "Of(WeightDecay, [3, 4])", "Of(", &["`sweep.columns.of`", "4"]);
    refused("Of(WeightDecay, [3, 5])", "Of(Gamma, [3, 5])", "Of(", &["`sweep.columns.of`", "gamma", "Adam"]);
    refused(
        "Of(WeightDecay, [3, 5])",
        "Of(WeightDecay, [])",
        "Of(",
        &["`sweep.columns.of`", "weight_decay", "no optimizer"],
    );
}

#[test]
fn a_comparison_needs_two_optimizers_and_ids() {
    let one = "(id: 5, rule: Focus(gamma: 0.2)),";
    let text = GOOD.replace(one, "").replace("[3, 5]", "[3]");
    let fault = fault_of(&text);
    assert_eq!((fault.line, fault.column), (11, 21), "{fault}");
    says(&fault.message, &["`sweep.optimizers`", "2 to 32", "found 1"]);
    let many: String = (10..42).map(|id| format!("(id: {id}, rule: Adam()), ")).collect();
    refused("optimizers: [", &format!("optimizers: [{many}"), "[", &["`sweep.optimizers`", "2 to 32", "found 34"]);
    refused("id: 5", "id: 3", "3", &["`sweep.optimizers[1].id`", "`optimizers[0].id`", "is 3"]);
}

/// Shampoo and SOAP have a step on the plane only, also where an axis adds dimensions.
#[test]
fn rules_of_the_plane_are_refused_in_more_dimensions() {
    for rule in ["Shampoo", "SOAP"] {
        let text = GOOD.replace("Focus(gamma: 0.2)", &format!("{rule}()"));
        let Ok(Preset::Sweep(_)) = Preset::parse(&text, "good.ron") else { panic!("on the plane it is good") };
        let rows = "(of: Landscape(Sharpness), from: 0.1, to: 1000.0, count: 96, spacing: Log)";
        let dimensions = "(of: Dimension, from: 2, to: 7, count: 6, spacing: Linear)";
        let many = [("noise: 1.0", "noise: 1.0, dimension: 7"), (rows, dimensions)];
        for (part, replacement) in many {
            assert_eq!(text.matches(part).count(), 1, "{part}");
            let fault = fault_of(&text.replace(part, replacement));
            assert_eq!(fault.line, 13, "{fault}");
            for word in ["`sweep.optimizers[1].rule`", rule, "for 2 dimensions", "the sweep has 7"] {
                assert!(fault.message.contains(word), "no {word:?} in: {fault}");
            }
        }
    }
}

#[test]
fn excessive_grids_and_work_are_refused() {
    // 10⁹ pixels.
    let text = GOOD.replace("count: 96", "count: 100000").replace("count: 100,", "count: 10000,");
    assert!(fault_of(&text).message.contains("1 to 10000"));
    let text = GOOD.replace("count: 96", "count: 10000").replace("count: 100,", "count: 10000,");
    let fault = fault_of(&text);
    assert_eq!(fault.line, 9, "{fault}");
    says(&fault.message, &["`sweep.rows.count`", "`columns.count`", "100000000", "1000000", "smaller grid"]);
    let text = GOOD.replace("count: 20)", "count: 9000)");
    let fault = fault_of(&text);
    assert_eq!((fault.line, fault.column), (11, 21), "{fault}");
    says(&fault.message, &["`sweep.optimizers`", "averages", "20000000"]);
    let text = GOOD.replace("steps: 100", "steps: 10000000").replace("replicates: 5", "replicates: 100000");
    let text = text.replace("count: 96", "count: 1000");
    let fault = fault_of(&text);
    says(&fault.message, &["`sweep.steps`", "1e18"]);
}

#[test]
fn hyperparameters_out_of_range_are_refused_with_their_position() {
    refused("beta2: 0.99", "beta2: 1.0", "1.0", &["beta", "from 0 to 0.999999", "found 1"]);
    refused("beta2: 0.99", "beta2: -0.1", "-0.1", &["beta", "-0.1"]);
    refused("gamma: 0.2", "gamma: NaN", "NaN", &["gamma", "from -10 to 10", "NaN"]);
    refused("noise: 1.0", "noise: NaN", "NaN", &["noise", "NaN"]);
    refused("steps: 100", "steps: 0", "0", &["steps", "found 0"]);
    refused("replicates: 5", "replicates: 0", "0", &["replicates", "found 0"]);
    refused("sharpness: 10.0", "sharpness: 0.0", "0.0", &["sharpness", "found 0"]);
    refused("from: 0.001, to: 1.0", "from: 0.0, to: 1.0", "0.0", &["learning_rate", "found 0"]);
    refused(
        "from: 0.001, to: 1.0",
        "from: 0.5, to: 0.1",
        "0.1",
        &["`sweep.optimizers[0].learning_rates.to`", "0.1", "`from`", "0.5"],
    );
    refused("gamma: 0.2", "learning_rate: 0.1", "learning_rate", &["no field `learning_rate`", "`gamma`"]);
}

/// A learning rate that is an axis alone determines the runs.
#[test]
fn a_learning_rate_axis_replaces_the_grid() {
    let text = GOOD.replace("of: Of(WeightDecay, [3, 5]), from: 0.0", "of: Of(LearningRate, [3]), from: 0.1");
    let Ok(Preset::Sweep(preset)) = Preset::parse(&text, "good.ron") else { panic!("it is read as a sweep") };
    assert_eq!(preset.sweep.candidate_counts(), [1, 20]);
    assert_eq!(preset.sweep.point(0, 99).optimizers[0].learning_rates, [0.5]);
    assert_eq!(preset.sweep.point(0, 99).optimizers[1].learning_rates.len(), 20);
}

#[test]
fn tuned_settings_that_cannot_be_are_refused() {
    let rule = "(id: 5, rule: Focus(gamma: 0.2)";
    let tuned = |tune: &str, mark: &str, words: &[&str]| {
        refused(rule, &format!("{rule}, tune: [{tune}]"), mark, words);
    };
    let gamma = "(of: Gamma, from: -0.9, to: 0.9, count: 7, spacing: Linear)";
    let Ok(Preset::Sweep(preset)) = Preset::parse(&GOOD.replace(rule, &format!("{rule}, tune: [{gamma}]")), "good.ron")
    else {
        panic!("it is read as a sweep")
    };
    assert_eq!(preset.sweep.candidate_counts(), [20, 140]);
    let path = "`sweep.optimizers[1].tune[0]";
    tuned(&gamma.replace("Gamma", "Eps"), "Eps", &[path, "is eps, which FOCUS lacks"]);
    tuned(&gamma.replace("Gamma", "LearningRate"), "LearningRate", &["LearningRate", "Gamma"]);
    tuned(
        &gamma.replace("Gamma", "ScheduleEnd"),
        "ScheduleEnd",
        &[path, "cosine schedule, and the optimizer has none"],
    );
    tuned(&gamma.replace("Gamma", "WeightDecay"), "WeightDecay", &[path, "weight_decay", "`columns` varies"]);
    let again = gamma.replace("-0.9", "-0.8");
    tuned(&format!("{gamma}, {again}"), "Gamma, from: -0.8", &["is gamma, which is tuned already"]);
    tuned(&gamma.replace("0.9, c", "-0.9, c"), "-0.9, c", &[path, "must not be empty"]);
    tuned(&gamma.replace("Linear", "Log"), "-0.9", &[path, "a logarithmic grid", "positive values"]);
    tuned(&gamma.replace("to: 0.9", "to: 11"), "11", &[path, "beyond the range of gamma", "found 11"]);
    let many = gamma.replace("count: 7", "count: 10000");
    let fault = fault_of(&GOOD.replace(rule, &format!("{rule}, tune: [{many}]")));
    assert!(fault.message.contains("averages, more than 20000000"), "{fault}");
}

/// A good preset; the bad ones below replace a part of it.
const GOOD_TYPED: &str = r##"Landscape(
    version: 1,
    title: "Good",
    simulations: [(spec: (
        landscape: Formula(name: "Bowl", text: "param k = 2 in 0.5..8 # \u{3b2}, \"k\"\nL = k*x^2 + y^2", k: 3.0),
        noise: 1.0,
        particles: 10,
        steps: 100,
        optimizers: [
            (id: 3, rule: Typed(name: "Plain", text: r#"
param pull = 0.5 in 0..1
theta = theta - eta*g*pull
"#, learning_rate: 0.1, pull: 0.25)),
        ],
    ))],
)
"##;

fn refused_typed(part: &str, replacement: &str, mark: &str, words: &[&str]) {
    refused_in(GOOD_TYPED, part, replacement, mark, words);
}

#[test]
fn the_good_typed_preset_is_good() {
    Preset::parse(GOOD_TYPED, "good.ron").unwrap();
}

#[test]
fn a_mistake_in_a_typed_text_is_marked_where_it_stands_in_the_file() {
    let unknown = &["the landscape's text, line 2, column 13", "expected one of the functions", "`norm`"];
    refused_typed("k*x^2 + y^2", "k*x^2 + norm(y)", "norm", unknown);
    let early = &["the landscape's text, line 1, column 21", "expected a number, found `x`"];
    refused_typed("in 0.5..8 # ", "in 0.5..x # ", "x", early);
    let of_rule = &["the rule's text, line 3, column 21", "expected a number, a function or one of", "`h`"];
    refused_typed("eta*g*pull", "eta*h*pull", "h", of_rule);
    let mark = fault_of(&GOOD_TYPED.replace("k*x^2 + y^2", "k*x^2 + norm(y)")).to_string();
    assert!(mark.ends_with("^^^^"), "the whole word is marked:\n{mark}");
}

#[test]
fn a_refused_name_is_marked() {
    refused_typed("\"Bowl\"", "\"Beale\"", "\"Beale\"", &["`Beale` is that of another landscape"]);
    refused_typed("\"Plain\"", "\"\"", "\"\"", &["a typed rule has a name of 1 to 60 characters, found 0"]);
}

#[test]
fn unknown_fields_and_wrong_values_of_typed_ones_are_named_and_marked() {
    let fields =
        "`simulations[0].spec.landscape` has no field `kk`; its fields are `name`, `text`, `k`, `rotation_degrees`";
    refused_typed("k: 3.0", "kk: 3.0", "kk", &[fields]);
    refused_typed("k: 3.0", "kk: \"a text\"", "kk", &[fields]);
    refused_typed("k: 3.0", "k: \"a text\"", "\"a text\"", &["the parameter `k` must be a number"]);
    refused_typed("k: 3.0", "k: 9.0", "9.0", &["k must be a number from 0.5 to 8, found 9"]);
    refused_typed("k: 3.0),", "k: 3.0, k: 3.0),", "),", &["the field `k` is given twice"]);
    let fields = "has no field `push`; its fields are `name`, `text`, `learning_rate`, `schedule`, `pull`";
    refused_typed("pull: 0.25", "push: Some(true)", "push", &[fields]);
    refused_typed("pull: 0.25", "pull: 2", "2", &["pull must be a number from 0 to 1, found 2"]);
}

#[test]
fn a_fault_of_several_settings_is_named_after_those_that_cause_it() {
    let preset = |name: &str| &built_ins().iter().find(|built_in| built_in.name == name).unwrap().preset;
    let refused = |name: &str, settings: &[(&str, &str)]| {
        preset(name).with_all(settings.iter().copied()).unwrap_err().to_string()
    };
    let error = refused("fig2a", &[("seed", "3"), ("rows.to", "0.1"), ("steps", "50")]);
    assert!(error.starts_with("rows.to=0.1: `sweep.rows.to`"), "{error}");
    let error = refused("fig2a", &[("rows.count", "10000"), ("seed", "3"), ("columns.count", "10000")]);
    assert!(error.starts_with("rows.count=10000, columns.count=10000: `sweep.rows.count`"), "{error}");
    let error = refused("fig2a", &[("seed", "3"), ("rows.of", "Beta2")]);
    assert!(error.starts_with("rows.of=Beta2: expected one of"), "{error}");
}

const GOOD_WITH_NOISE: &str = r#"Landscape(
    version: 1,
    title: "Noisy",
    simulations: [(spec: (noise: 1.0, optimizers: [(id: 3, rule: Adam(learning_rate: 0.1))]))],
    lesson: [(text: "See.", set: [Noise(0.0)])],
)
"#;

fn of_kind(kind: NoiseKind, sigma: f64) -> NoiseSpec {
    NoiseSpec::new(kind).with_sigma(Noise::new(sigma).unwrap())
}

fn heavy_tailed(sigma: f64, freedom: f64) -> NoiseSpec {
    let mut noise = of_kind(NoiseKind::HeavyTailed, sigma);
    noise.set("degrees_of_freedom", freedom).unwrap();
    noise
}

fn noise_of(preset: &Preset) -> NoiseSpec {
    match preset {
        Preset::Landscape(preset) => preset.spec().noise,
        Preset::Sweep(preset) => preset.sweep.noise,
        _ => panic!("a preset with noise"),
    }
}

#[test]
fn each_kind_is_read_and_written() {
    let cases = [
        ("0.5", "0.5", of_kind(NoiseKind::Multiplicative, 0.5)),
        ("2", "2.0", of_kind(NoiseKind::Multiplicative, 2.0)),
        ("Multiplicative(0.5)", "0.5", of_kind(NoiseKind::Multiplicative, 0.5)),
        ("Additive(0.5)", "Additive(0.5)", of_kind(NoiseKind::Additive, 0.5)),
        ("HeavyTailed(1, 3)", "HeavyTailed(1.0, 3.0)", heavy_tailed(1.0, 3.0)),
    ];
    for (text, written, expected) in cases {
        let text = GOOD_WITH_NOISE
            .replace("noise: 1.0", &format!("noise: {text}"))
            .replace("Noise(0.0)", &format!("Noise({text})"));
        let preset = Preset::parse(&text, "good.ron").unwrap();
        assert_eq!(noise_of(&preset), expected);
        let Preset::Landscape(landscape) = &preset else { panic!("a landscape") };
        assert_eq!(landscape.lesson[0].set, [Setting::Noise(expected)]);
        let again = preset.to_ron();
        assert!(again.contains(&format!("noise: {written},")), "{again}");
        assert!(again.contains(&format!("Noise({written})")), "{again}");
        assert_eq!(Preset::parse(&again, "again.ron").unwrap(), preset);
    }
}

#[test]
fn faults_of_a_noise_are_refused_with_their_position() {
    let refused = |noise: &str, mark: &str, words: &[&str]| {
        refused_in(GOOD_WITH_NOISE, "noise: 1.0", &format!("noise: {noise}"), mark, words);
    };
    let kinds = "`Multiplicative(σ)`, `Additive(σ)`, `HeavyTailed(σ, ν)`";
    refused("Additiv(1.0)", "Additiv", &["expected a number or one of", kinds, "found `Additiv(1.0)`"]);
    refused("Additive", "Additive", &[kinds, "found `Additive`"]);
    refused("[1.0]", "[", &[kinds]);
    refused("Additive(-1.0)", "Additive", &["noise must be", "from 0 to 100", "-1"]);
    refused("Additive(1.0, 2.0)", "Additive", &["expected `Additive(σ)`, found `Additive(1.0, 2.0)`"]);
    refused("HeavyTailed(1.0)", "HeavyTailed", &["expected `HeavyTailed(σ, ν)`"]);
    refused("HeavyTailed(1.0, 2.0)", "HeavyTailed", &["degrees of freedom must be", "from 2.01", "found 2"]);
    let in_lesson = fault_of(&GOOD_WITH_NOISE.replace("Noise(0.0)", "Noise(Additive(101))"));
    assert!(in_lesson.message.contains("from 0 to 100"), "{in_lesson}");
}

#[test]
fn setting_a_number_keeps_the_kind() {
    let paper = Preset::parse(GOOD_WITH_NOISE, "good.ron").unwrap();
    let heavy = paper.with("noise", "HeavyTailed(1.0, 5.0)").unwrap();
    let cases = [
        (&paper, "0.5", of_kind(NoiseKind::Multiplicative, 0.5)),
        (&paper, "Additive(0.5)", of_kind(NoiseKind::Additive, 0.5)),
        (&paper, "additive(0.5)", of_kind(NoiseKind::Additive, 0.5)),
        (&paper, "additive", of_kind(NoiseKind::Additive, 1.0)),
        (&heavy, "0.5", heavy_tailed(0.5, 5.0)),
        (&heavy, "heavy-tailed(2, 4)", heavy_tailed(2.0, 4.0)),
        (&heavy, "Multiplicative(0.25)", of_kind(NoiseKind::Multiplicative, 0.25)),
    ];
    for (preset, value, expected) in cases {
        for path in ["noise", "simulations[0].spec.noise"] {
            assert_eq!(noise_of(&preset.with(path, value).unwrap()), expected, "{value}");
        }
    }
    for (value, words) in [("101", "from 0 to 100"), ("loud", "expected a number or one of")] {
        says(heavy.with("noise", value).unwrap_err(), &[words]);
    }
    let sweep = &built_ins().iter().find(|built_in| built_in.name == "fig2a").unwrap().preset;
    let sweep = sweep.with("noise", "Additive(2)").unwrap().with("sweep.noise", "0.5").unwrap();
    assert_eq!(noise_of(&sweep), of_kind(NoiseKind::Additive, 0.5));
}

#[test]
fn changes_of_the_noise_are_in_the_title() {
    let paper = Preset::parse(GOOD_WITH_NOISE, "good.ron").unwrap();
    let title = |value: &str| paper.with("noise", value).unwrap().as_changed_from(&paper).title().to_owned();
    assert_eq!(title("0.5"), "Noisy, changed: σ = 0.5");
    assert_eq!(title("Additive(1.0)"), "Noisy, changed: additive noise");
    assert_eq!(title("HeavyTailed(0.5, 3.0)"), "Noisy, changed: heavy-tailed noise, σ = 0.5, ν = 3");
}
