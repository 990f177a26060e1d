//! Noise in presets and on the command line.

use valleyscope_engine::noise::{NoiseKind, NoiseSpec};
use valleyscope_engine::quantity::Noise;
use valleyscope_engine::simulation::Setting;
use valleyscope_experiments::preset::{Preset, built_ins};

use super::fault::{fault_of, refused_in};

const GOOD: &str = r#"Landscape(
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
    noise.set(1, freedom).unwrap();
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
        let text =
            GOOD.replace("noise: 1.0", &format!("noise: {text}")).replace("Noise(0.0)", &format!("Noise({text})"));
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
        refused_in(GOOD, "noise: 1.0", &format!("noise: {noise}"), mark, words);
    };
    let kinds = "`Multiplicative(σ)`, `Additive(σ)`, `HeavyTailed(σ, ν)`";
    refused("Additiv(1.0)", "Additiv", &["expected a number or one of", kinds, "found `Additiv(1.0)`"]);
    refused("Additive", "Additive", &[kinds, "found `Additive`"]);
    refused("[1.0]", "[", &[kinds]);
    refused("Additive(-1.0)", "Additive", &["noise must be", "from 0 to 100", "-1"]);
    refused("Additive(1.0, 2.0)", "Additive", &["expected `Additive(σ)`, found `Additive(1.0, 2.0)`"]);
    refused("HeavyTailed(1.0)", "HeavyTailed", &["expected `HeavyTailed(σ, ν)`"]);
    refused("HeavyTailed(1.0, 2.0)", "HeavyTailed", &["degrees of freedom must be", "from 2.01", "found 2"]);
    let in_lesson = fault_of(&GOOD.replace("Noise(0.0)", "Noise(Additive(101))"));
    assert!(in_lesson.message.contains("from 0 to 100"), "{in_lesson}");
}

#[test]
fn setting_a_number_keeps_the_kind() {
    let paper = Preset::parse(GOOD, "good.ron").unwrap();
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
        let error = heavy.with("noise", value).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let sweep = &built_ins().iter().find(|built_in| built_in.name == "fig2a").unwrap().preset;
    let sweep = sweep.with("noise", "Additive(2)").unwrap().with("sweep.noise", "0.5").unwrap();
    assert_eq!(noise_of(&sweep), of_kind(NoiseKind::Additive, 0.5));
}

#[test]
fn changes_of_the_noise_are_in_the_title() {
    let paper = Preset::parse(GOOD, "good.ron").unwrap();
    let title = |value: &str| paper.with("noise", value).unwrap().as_changed_from(&paper).title().to_owned();
    assert_eq!(title("0.5"), "Noisy, changed: σ = 0.5");
    assert_eq!(title("Additive(1.0)"), "Noisy, changed: additive noise");
    assert_eq!(title("HeavyTailed(0.5, 3.0)"), "Noisy, changed: heavy-tailed noise, σ = 0.5, ν = 3");
}
