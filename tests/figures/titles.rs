//! What a changed preset is called.

use valleyscope::figure::as_changed;
use valleyscope::optimizer::HyperparameterName;
use valleyscope::preset::{Preset, SweepPreset, built_ins};
use valleyscope::quantity::{Noise, PointCount, Replicates, Rotation};
use valleyscope::sweep::{Axis, Quantity, SweepSpec};

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
    // Whatever it is called can be read again.
    let text = Preset::Sweep(named.clone()).to_ron();
    assert_eq!(Preset::parse(&text, "test").expect("a preset"), Preset::Sweep(named.clone()));
    named
}

#[test]
fn a_preset_without_changes_keeps_its_words() {
    assert_eq!(changed(|_| ()), fig2a());
}

#[test]
fn a_title_says_what_is_different() {
    let named = changed(|sweep| sweep.landscape.rotation_degrees = Rotation::clamped(45.0));
    assert_eq!(named.title, "Phase diagram: sharpness and noise (Fig. 2a), changed: φ = 45°");
    assert!(named.description.contains("φ = 45°") && !named.description.contains("Adam wins"));
}

#[test]
fn a_title_of_other_axes_says_which_they_are() {
    let over = |ids: &[u32]| {
        let of = Quantity::Of(HyperparameterName::new("beta1").unwrap(), ids.to_vec());
        changed(|sweep| sweep.rows = Axis { of, from: 0.5, to: 0.9, ..sweep.rows.clone() }).title
    };
    assert_eq!(over(&[0, 1, 2]), "Phase diagram: decay rate β₁ and noise σ");
    assert_eq!(over(&[0]), "Phase diagram: decay rate β₁ of Adam and noise σ");
}

#[test]
fn many_changes_and_long_titles_fit() {
    let many = |sweep: &mut SweepSpec| {
        *sweep = sweep.quick();
        sweep.replicates = Replicates::clamped(1);
        sweep.noise = Noise::clamped(0.5);
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
