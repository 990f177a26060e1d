//! Names as lists, tables and menus show them, typed where a name is expected.

use std::ffi::OsStr;
use std::fs;

use valleyscope_engine::landscape::LandscapeKind;
use valleyscope_engine::noise::NoiseKind;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_experiments::preset::{LandscapePreset, Library, Preset, PresetError, built_ins};

use super::fault::fault_of;
use super::refusals::GOOD;

/// Returns a shown name and the name in presets as people type them.
fn typed(shown: &str, key: &str) -> Vec<String> {
    let other = |name: &str| [name.to_owned(), name.to_lowercase(), name.to_uppercase(), name.replace([' ', '-'], "_")];
    [&other(shown)[..], &other(key), &[shown.replace('-', " "), shown.replace(' ', "-")]].concat()
}

#[track_caller]
fn set(path: &str, value: &str) -> LandscapePreset {
    let preset = Preset::parse(GOOD, "good.ron").unwrap();
    let changed = preset.with(path, value).unwrap_or_else(|error| panic!("{value}: {error}"));
    let Preset::Landscape(preset) = changed else { panic!("{value}: a preset of another kind") };
    preset
}

#[track_caller]
fn in_file(part: &str, replacement: &str) -> LandscapePreset {
    let text = GOOD.replace(part, replacement);
    let preset = Preset::parse(&text, "good.ron").unwrap_or_else(|error| panic!("{replacement}: {error}"));
    let Preset::Landscape(preset) = preset else { panic!("{replacement}: a preset of another kind") };
    preset
}

fn rule_of(preset: &LandscapePreset) -> RuleSpec {
    preset.spec().optimizers[0].rule.rule
}

#[test]
fn every_shown_name_of_a_rule_is_accepted() {
    let mnist = &built_ins().iter().find(|built_in| built_in.name == "mnist").unwrap().preset;
    for kind in RuleKind::ALL {
        for name in typed(kind.info().name, kind.key()) {
            assert_eq!(rule_of(&set("optimizers[0].rule", &name)).kind(), *kind, "{name}");
            let with_field = rule_of(&set("optimizers[0].rule", &format!("{name}(weight_decay: 0.25)")));
            assert_eq!((with_field.kind(), with_field.get("weight_decay")), (*kind, Some(0.25)), "{name}");
            let trained = mnist.with("optimizer", &name).unwrap();
            assert_eq!(trained.training().unwrap().rule.kind(), *kind, "{name}");
            assert_eq!(RuleKind::named(&name), Some(*kind));
        }
        for name in [kind.info().name, kind.key()] {
            let rule = rule_of(&in_file("Adam(learning_rate", &format!("{name}(learning_rate")));
            assert_eq!(rule.kind(), *kind, "{name}");
        }
        let cautious = RuleSpec::on_plane(*kind).with("mask", 1.0).unwrap().name();
        assert_eq!(rule_of(&set("optimizers[0].rule", cautious)).name(), cautious);
        let with_field = rule_of(&set("optimizers[0].rule", &format!("{cautious}(weight_decay: 0.25)")));
        assert_eq!((with_field.name(), with_field.get("weight_decay")), (cautious, Some(0.25)));
    }
    let error =
        Preset::parse(GOOD, "good.ron").unwrap().with("optimizers[0].rule", "Adam-max").unwrap_err().to_string();
    assert!(error.contains("`Adam-mini`") && error.contains("found `Adam-max`"), "{error}");
    let fault = fault_of(&GOOD.replace("Adam(", "Adam-max("));
    assert!(fault.message.contains("`Adam-mini`") && fault.message.contains("found `Adam-max`"), "{}", fault.message);
}

#[test]
fn every_shown_name_of_a_landscape_is_accepted() {
    for kind in LandscapeKind::ALL {
        for name in typed(kind.name(), kind.key()) {
            assert_eq!(set("landscape", &name).spec().landscape.kind(), *kind, "{name}");
            let turned = set("landscape", &format!("{name}(rotation_degrees: 30)")).spec().landscape;
            assert_eq!((turned.kind(), turned.get("rotation_degrees")), (*kind, Some(30.0)), "{name}");
        }
        for name in [kind.name(), kind.key()] {
            let landscape = in_file("noise: 1.0,", &format!("noise: 1.0, landscape: {name}(),")).spec().landscape;
            assert_eq!(landscape.kind(), *kind, "{name}");
        }
    }
}

#[test]
fn every_shown_name_of_a_noise_is_accepted() {
    for kind in NoiseKind::ALL {
        let values = if kind.info().parameters.len() > 1 { "(0.5, 4)" } else { "(0.5)" };
        for name in typed(kind.info().name, kind.key()) {
            assert_eq!(set("noise", &name).spec().noise.kind(), *kind, "{name}");
            let noise = set("noise", &format!("{name}{values}")).spec().noise;
            assert_eq!((noise.kind(), noise.sigma()), (*kind, 0.5), "{name}");
        }
        for name in [kind.info().name, kind.key()] {
            let noise = in_file("noise: 1.0", &format!("noise: {name}{values}")).spec().noise;
            assert_eq!((noise.kind(), noise.sigma()), (*kind, 0.5), "{name}");
        }
    }
}

#[test]
fn presets_are_loaded_by_their_shown_names_and_titles() {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::in_folder(folder.path());
    for built_in in built_ins() {
        let title = built_in.preset.title();
        for name in [built_in.name, title, &built_in.name.to_uppercase(), &title.to_lowercase()] {
            let loaded = library.load(OsStr::new(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(loaded.preset, built_in.preset, "{name}");
        }
    }
    let own = GOOD.replace("\"Good\"", "\"Of my own: a/b\"");
    fs::write(folder.path().join("mine.ron"), &own).unwrap();
    for name in ["mine", "Mine", "Of my own: a/b", "of my own: A/B"] {
        assert_eq!(library.load(OsStr::new(name)).unwrap().text, own, "{name}");
    }
    for name in ["", "-", "Of my"] {
        assert!(matches!(library.load(OsStr::new(name)), Err(PresetError::NotFound { .. })), "{name:?}");
    }
}
