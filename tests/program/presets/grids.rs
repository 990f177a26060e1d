//! Presets of grids: their settings, the order of their trainings, and what is refused.

use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::Replicates;
use valleyscope_experiments::preset::{GridPreset, Preset, Variation, built_ins};
use valleyscope_experiments::workload::MnistSpec;

use super::refusals::{fault_of, refused_in};
use crate::says::says;

const GOOD: &str = r#"// Optimizers, each with its own learning rate.
Grid(
    version: 1,
    title: "Rates",
    description: "A sentence.",
    base: Mnist(
        version: 1,
        title: "",
        runs: [(optimizer: Adam(weight_decay: 0.1), learning_rate: 0.001, batch_size: 16, steps: 50, seed: 7)],
    ),
    vary: [
        "optimizer=Adam, Signum(beta1: 0.8), FOCUS(gamma: 0.2, decay: Average)",
        "learning_rate=1e-4..1e-2:3:log",
    ],
    seeds: 2,
)
"#;

fn good() -> Preset {
    Preset::parse(GOOD, "good.ron").expect("a good preset")
}

fn built_in(name: &str) -> &'static Preset {
    &built_ins().iter().find(|built_in| built_in.name == name).expect("it is built in").preset
}

fn grid(preset: &Preset) -> &GridPreset {
    if let Preset::Grid(grid) = preset { grid } else { panic!("it is a grid") }
}

/// Returns the specs of trainings of one run each.
fn specs(preset: &Preset) -> Vec<MnistSpec> {
    let spec = |training: Preset| match training {
        Preset::Mnist(mut preset) if preset.runs.len() == 1 => preset.runs.remove(0),
        other => panic!("expected a training of one run, found {other:?}"),
    };
    preset.trainings().into_iter().map(spec).collect()
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs(), "expected {expected}, found {found}");
}

fn values(text: &str) -> Vec<String> {
    text.parse::<Variation>().expect("a variation").values
}

fn numbers(text: &str) -> Vec<f64> {
    values(text).iter().map(|value| value.parse().expect("a number")).collect()
}

#[test]
fn a_grid_is_written_and_read_back_as_equal() {
    let preset = good();
    let text = preset.to_ron();
    assert_eq!(Preset::parse(&text, "again").expect("what is written can be read"), preset);
    for part in ["Grid(", "base: Mnist(", "\"learning_rate=1e-4..1e-2:3:log\"", "seeds: 2"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    assert_eq!((preset.kind(), preset.title(), preset.description()), ("Grid", "Rates", "A sentence."));
    // Seeds and the settings that vary may be left out.
    let short = GOOD.replace("    seeds: 2,\n", "");
    assert_eq!(grid(&Preset::parse(&short, "short").expect("a grid")).seeds.get(), 1);
    let nothing = "Grid(version: 1, title: \"One\", base: Mnist(version: 1, title: \"\", runs: [(optimizer: Adam(), learning_rate: 0.1)]))";
    assert_eq!(Preset::parse(nothing, "nothing").expect("a grid").trainings().len(), 1);
}

#[test]
fn the_first_variation_changes_slowest_and_the_seed_fastest() {
    let preset = good();
    let found = specs(&preset);
    assert_eq!((found.len(), grid(&preset).count()), (18, 18));
    let rules = [RuleKind::Adam, RuleKind::Signum, RuleKind::Focus];
    for (index, run) in found.iter().enumerate() {
        let (seed, rate, rule) = (index % 2, index / 2 % 3, index / 6);
        assert_eq!((run.optimizer.kind(), run.seed), (rules[rule], 7 + seed as u64), "{index}");
        near(run.learning_rate.get(), [1e-4, 1e-3, 1e-2][rate]);
        assert_eq!((run.batch_size.get(), run.steps.get()), (16, 50), "the rest is the base's");
    }
    for training in preset.trainings() {
        assert_eq!((training.title(), training.description()), ("Rates", "A sentence."));
        training.check().expect("it can be trained");
    }
    // Each is another training.
    let texts: std::collections::BTreeSet<String> = preset.trainings().iter().map(Preset::to_ron).collect();
    assert_eq!(texts.len(), 18);
}

#[test]
fn rules_keep_what_they_do_not_name_where_the_base_has_it() {
    let found = specs(&good());
    let decay = |run: &MnistSpec| run.optimizer.weight_decay();
    assert!(found.iter().all(|run| decay(run) == 0.1), "{:?}", found.iter().map(decay).collect::<Vec<_>>());
    assert_eq!(found[6].optimizer, rule("Signum(beta1: 0.8, weight_decay: 0.1)"));
    assert_eq!(found[12].optimizer, rule("FOCUS(gamma: 0.2, decay: Average, weight_decay: 0.1)"));
}

/// Reads a rule of a training.
fn rule(text: &str) -> RuleSpec {
    let text = format!("Mnist(version: 1, title: \"x\", runs: [(optimizer: {text}, learning_rate: 0.1)])");
    specs(&Preset::parse(&text, "a rule").expect("a training"))[0].optimizer
}

#[test]
fn ranges_have_equal_quotients_or_distances_and_whole_numbers_between_whole_ends() {
    for (text, expected) in [
        ("learning_rate=1e-4..1e-2:5:log", &[1e-4, 3.162e-4, 1e-3, 3.162e-3, 1e-2][..]),
        ("learning_rate = 0.1 .. 0.3 : 3", &[0.1, 0.2, 0.3]),
        ("learning_rate=0.1..0.3:3:linear", &[0.1, 0.2, 0.3]),
        ("noise=-1..1:5", &[-1.0, -0.5, 0.0, 0.5, 1.0]),
    ] {
        let found = numbers(text);
        assert_eq!(found.len(), expected.len(), "{text}");
        found.into_iter().zip(expected).for_each(|(found, expected)| near(found, *expected));
    }
    let powers: Vec<String> = (1..=12).map(|power| (1 << power).to_string()).collect();
    assert_eq!(values("batch_size=2..4096:12:log"), powers);
    assert_eq!(values("batch_size=16..64:4"), ["16", "32", "48", "64"]);
    assert_eq!(values("steps=10..20:4"), ["10", "13", "17", "20"]);
    assert_eq!(values("batch_size=2..16:4:log"), ["2", "4", "8", "16"]);
    // The ends are exact, and the values between have four digits.
    let ends = numbers("learning_rate=1e-4..0.3:10:log");
    assert_eq!((ends[0], ends[1], ends[9]), (1e-4, 2.434e-4, 0.3));
}

#[test]
fn lists_are_split_at_commas_outside_of_brackets_and_texts() {
    assert_eq!(values("learning_rate=1e-4, 0.5,1"), ["1e-4", "0.5", "1"]);
    let rules = values("optimizer=Adam, Signum(beta1: 0.8), FOCUS(gamma: 0.2, decay: Average)");
    assert_eq!(rules, ["Adam", "Signum(beta1: 0.8)", "FOCUS(gamma: 0.2, decay: Average)"]);
    assert_eq!(values("name=\"a, (b\",\"c\""), ["\"a, (b\"", "\"c\""]);
    assert_eq!(values("data=Automatic"), ["Automatic"]);
    let variation: Variation = " batch_size = 2 , 4".parse().expect("a variation");
    assert_eq!((variation.setting.as_str(), variation.to_string().as_str()), ("batch_size", "batch_size=2 , 4"));
}

#[test]
fn variations_are_refused_with_what_is_expected() {
    let refused = |text: &str, words: &[&str]| says(text.parse::<Variation>().expect_err("refused"), words);
    let form = "expected SETTING=VALUE,VALUE,… or SETTING=FROM..TO:COUNT[:log]";
    for text in ["", "learning_rate", "=1,2", "learning_rate=", "learning_rate=1,,2", "learning_rate=1,"] {
        refused(text, &[form]);
    }
    let range = "a range such as 0.0001..0.01:5:log, which rises, has 2 to 1000 values";
    for text in [
        "1..0:3",
        "1..1:3",
        "1..2",
        "1..2:1",
        "1..2:1001",
        "1..2:x",
        "1..2:3:cube",
        "1..2:3:log:4",
        "0..2:3:log",
        "-1..2:3:log",
    ] {
        refused(&format!("learning_rate={text}"), &[range, text]);
    }
    refused("learning_rate=0.1,0.2,0.1", &["`learning_rate` takes the value 0.1 twice"]);
}

#[test]
fn grids_that_cannot_be_trained_are_refused_with_their_position() {
    let rates = "\"learning_rate=1e-4..1e-2:3:log\"";
    let refused = |part: &str, replacement: &str, mark: &str, words: &[&str]| {
        refused_in(GOOD, part, replacement, mark, words);
    };
    refused(rates, "\"learning_rate=1..0:3\"", "learning_rate", &["a range such as 0.0001..0.01:5:log", "1..0:3"]);
    refused(rates, "\"learning_rate=0.1, 0.1\"", "learning_rate", &["takes the value 0.1 twice"]);
    refused(rates, "\"optimizer=Lion\"", "\"optimizer", &["`vary[1]` varies `optimizer` a second time"]);
    refused(rates, "\"nose=1, 2\"", "\"nose", &["`vary[1]` cannot be", "nose"]);
    refused(rates, "\"learning_rate=0.1, -3\"", "\"learning_rate", &["`vary[1]` cannot be", "learning_rate=-3"]);
    refused(rates, "\"batch_size=1.5, 2\"", "\"batch_size", &["`vary[1]` cannot be", "batch_size=1.5"]);
    refused(rates, "\"optimizer.gamma=0.1, 0.2\"", "\"optimizer", &["`vary[1]` cannot be", "gamma"]);
    refused("\"optimizer=Adam, Signum", "\"optimizer=Adam, Signal", "\"optimizer", &["`vary[0]` cannot be", "Signal"]);
    let many = "\"learning_rate=1e-4..1e-2:1000:log\", \"batch_size=1..10:10\"";
    let fault = fault_of(&GOOD.replace(rates, many));
    says(&fault.message, &["makes 60000 trainings, more than the 20000 that are possible"]);
    assert_eq!(fault.line, 11, "{fault}");
    let fault = fault_of(&GOOD.replace("seeds: 2", "seed: 2"));
    assert!(fault.message.contains("has no field `seed`"), "{fault}");
}

#[test]
fn the_base_of_a_grid_is_a_training() {
    let landscape = built_in("fig1c").to_ron();
    let text = |base: &str| format!("Grid(version: 1, title: \"x\", base: {base}, vary: [\"noise=1, 2\"])");
    let fault = fault_of(&text(&landscape));
    says(&fault.message, &["`base` must be a training of the kind Mnist or Gpt2", "found `Landscape`"]);
    says(&fault_of(&text(&good().to_ron())).message, &["`base` must be a training", "found `Grid`"]);
    let fault = fault_of("Grid(version: 1, title: \"x\", vary: [\"seed=1, 2\"])");
    says(&fault.message, &["expected the field `base`"]);
    // The rules of the base hold in the grid, too.
    let broken = GOOD.replace("batch_size: 16, steps: 50", "batch_size: 16, steps: 0");
    assert!(fault_of(&broken).message.contains("steps"), "{}", fault_of(&broken));
}

#[test]
fn settings_of_a_grid_are_those_of_its_base_and_its_own() {
    let preset = good();
    let steps = |preset: &Preset| specs(preset)[0].steps.get();
    assert_eq!(steps(&preset.with("steps", "9").expect("a grid")), 9);
    assert_eq!(steps(&preset.with("base.runs[0].steps", "9").expect("a grid")), 9);
    let five = preset.with("seeds", "5").expect("a grid");
    assert_eq!((grid(&five).seeds, five.trainings().len()), (Replicates::of::<5>(), 45));
    let one = preset.with("vary", "[\"batch_size=2, 4\"]").expect("a grid");
    assert_eq!(one.trainings().len(), 4);
    assert_eq!(preset.with("title", "Other").expect("a grid").trainings()[0].title(), "Other");
    says(preset.with("nose", "3").expect_err("refused"), &["has no field `nose`"]);
    says(preset.with("vary[0]", "\"nose=3\"").expect_err("refused"), &["nose"]);
}

#[test]
fn runs_of_a_base_vary_each() {
    let several = GOOD.replace(
        "runs: [(optimizer: Adam(weight_decay: 0.1),",
        "runs: [(name: \"one\", optimizer: Adam(), learning_rate: 0.5, steps: 3), (optimizer: Adam(weight_decay: 0.1),",
    );
    let several = several.replace("\"optimizer=Adam, Signum(beta1: 0.8), FOCUS(gamma: 0.2, decay: Average)\",", "");
    let preset = Preset::parse(&several, "several.ron").expect("a grid");
    let found = specs(&preset);
    assert_eq!((found.len(), grid(&preset).count()), (12, 12));
    assert_eq!(found.iter().map(|run| run.steps.get()).collect::<Vec<_>>(), [[3; 6], [50; 6]].concat());
    assert!(found.iter().all(|run| run.name.is_none()), "a name may state another value");
}

/// A preset of an older version.
const SCAN: &str = r#"MnistScan(
    version: 1,
    title: "Batches",
    description: "Small batches are noisy.",
    scan: (
        optimizers: [
            (rule: Adam(beta1: 0.9, weight_decay: 0.01)),
            (name: "FOCUS, γ = 0.4", color: (89, 117, 184), rule: Focus(gamma: 0.4, decay: Average)),
        ],
        batch_sizes: [2, 16, 1024],
        learning_rates: (from: 0.0001, to: 1.0, count: 5),
        replicates: 3,
        steps: 400,
        seed: 4,
        data: Synthetic,
        precision: Float32,
        part: "3/8",
    ),
)"#;

#[test]
fn a_scan_of_an_older_version_opens_as_a_grid() {
    let preset = Preset::parse(SCAN, "scan.ron").expect("a grid");
    let found = specs(&preset);
    assert_eq!((preset.title(), found.len()), ("Batches", 2 * 3 * 5 * 3));
    for (index, run) in found.iter().enumerate() {
        let (seed, rate, size, rule) = (index % 3, index / 3 % 5, index / 15 % 3, index / 45);
        assert_eq!(run.optimizer.kind(), [RuleKind::Adam, RuleKind::Focus][rule]);
        assert_eq!(run.batch_size.get(), [2, 16, 1024][size]);
        near(run.learning_rate.get(), [1e-4, 1e-3, 1e-2, 0.1, 1.0][rate]);
        assert_eq!((run.seed, run.steps.get(), run.checkpoint_every.get()), (4 + seed as u64, 400, 0));
        assert_eq!(run.data, valleyscope_experiments::dataset::DataChoice::Synthetic);
    }
    assert_eq!(found[0].optimizer, rule("Adam(beta1: 0.9, weight_decay: 0.01)"));
    assert_eq!(found[45].optimizer, rule("Focus(gamma: 0.4, decay: Average)"));
    // It is saved as a grid.
    let text = preset.to_ron();
    assert!(text.contains("Grid(") && !text.contains("scan"), "{text}");
    assert_eq!(Preset::parse(&text, "again").expect("a grid"), preset);
    // Fields that may be left out have the values that they had.
    let short = "MnistScan(version: 1, title: \"x\", scan: (optimizers: [(rule: Adam())], batch_sizes: [2]))";
    let short = Preset::parse(short, "short.ron").expect("a grid");
    assert_eq!(short.trainings().len(), 20 * 3);
    says(&fault_of(&SCAN.replace("replicates:", "replicas:")).message, &["has no field `replicas`"]);
    says(&fault_of(&SCAN.replace("batch_sizes: [2, 16, 1024]", "batch_sizes: []")).message, &["batch sizes"]);
    let both = GOOD.replace("    seeds: 2,", "    scan: (optimizers: [], batch_sizes: []),");
    says(&fault_of(&both).message, &["either `base` and `vary`, or the `scan` of an older version"]);
}

#[test]
fn the_built_in_grids_have_the_paper_s_trainings() {
    for (name, count) in [("fig2cd", 2880), ("mnist-optimizers", 800)] {
        let preset = built_in(name);
        let all = grid(preset).combinations().expect("all can be trained");
        assert_eq!((all.len(), grid(preset).count()), (count, count), "{name}");
        let distinct: std::collections::HashSet<String> = all.iter().map(Preset::to_ron).collect();
        assert_eq!(distinct.len(), count, "{name}");
    }
    let found = specs(built_in("fig2cd"));
    let sizes: std::collections::BTreeSet<usize> = found.iter().map(|run| run.batch_size.get()).collect();
    assert_eq!(sizes.into_iter().collect::<Vec<_>>(), (1..=12).map(|power| 1 << power).collect::<Vec<_>>());
    let rates = &found[..60];
    near(rates[0].learning_rate.get(), 1e-4);
    near(rates[57].learning_rate.get(), 1.0);
    assert!(found.iter().all(|run| run.steps.get() == 400));
    // The weight decay of the paper is that of all.
    let decays: std::collections::BTreeSet<String> = found
        .iter()
        .map(|run| {
            let decay = run.optimizer.hyperparameters().find(|(info, _)| info.key == "weight_decay");
            format!("{:?}", decay.expect("it has one").1)
        })
        .collect();
    assert_eq!(decays.len(), 1, "{decays:?}");
}

#[test]
fn every_built_in_preset_of_trainings_expands() {
    for built_in in built_ins().iter().filter(|built_in| built_in.preset.workload().is_some()) {
        let trainings = built_in.preset.trainings();
        assert!(!trainings.is_empty(), "{}", built_in.name);
        assert!(trainings.iter().all(|training| training.training().is_some()), "{}", built_in.name);
    }
}
