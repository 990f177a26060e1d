//! The presets that come with the program.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use valleyscope_engine::landscape::{LandscapeKind, LandscapeSpec};
use valleyscope_engine::noise::NoiseKind;
use valleyscope_engine::optimizer::{RatedRule, RuleKind, RuleSpec};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_engine::setting::{NOISE, SettingPath};
use valleyscope_engine::simulation::{Sample, Simulation, SimulationSpec};
use valleyscope_experiments::preset::{LandscapePreset, Library, Preset, PresetError, PresetSource, built_ins};
use valleyscope_runs::atomic_file::Overwrite;

use crate::says::says;

use super::refusals::{GOOD, fault_of};

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
        "lesson-noise",
        "lesson-focus",
        "three-reasons",
    ] {
        built_in(name);
    }
    assert!(built_in("lesson").lesson.len() >= 6);
    assert_eq!(built_in("unrotated").spec().landscape.get("rotation_degrees").unwrap(), 0.0);
}

#[test]
fn the_zoo_has_every_optimizer() {
    let optimizers = &built_in("zoo").spec().optimizers;
    assert_eq!(optimizers.len(), RuleKind::ALL.len());
    for kind in RuleKind::ALL {
        assert!(optimizers.iter().any(|of| of.rule.rule.kind() == *kind), "{}", kind.info().name);
    }
}

#[test]
fn the_paper_s_presets_have_the_paper_s_values() {
    let fig1c = built_in("fig1c").spec();
    let values = [("sharpness", 10.0), ("slope", 0.1), ("rotation_degrees", 30.0)];
    let valley = LandscapeSpec::new(LandscapeKind::Valley);
    let paper = values.into_iter().fold(valley, |spec, (key, value)| spec.with(key, value).unwrap());
    assert_eq!((fig1c.landscape, fig1c.noise.sigma()), (paper, 1.0));
    let [adam, signum] = &fig1c.optimizers[..] else { panic!("two optimizers") };
    assert_eq!([adam.rule.rule.kind(), signum.rule.rule.kind()], [RuleKind::Adam, RuleKind::Signum]);
    assert_eq!(adam.rule.learning_rate, signum.rule.learning_rate);

    let saturation = built_in("saturation").spec();
    assert_eq!((saturation.landscape, saturation.noise.sigma(), saturation.steps), (paper, 1.0, Some(3000)));
    let [adam, focus] = &saturation.optimizers[..] else { panic!("two optimizers") };
    let rated = |kind| RuleSpec::on_plane(kind).rated(LearningRate::clamped(0.005));
    assert_eq!(adam.rule, rated(RuleKind::Adam));
    assert_eq!(focus.rule, rated(RuleKind::Focus));
    let focus = focus.rule.rule;
    assert_eq!((focus.weight_decay(), focus.get("gamma"), focus.get("beta2")), (0.1, Some(0.2), Some(0.9)));
    assert_eq!(focus.choice("decay").map(|choice| choice.key), Some("Parameters"));
}

fn samples(spec: &SimulationSpec, steps: u64) -> Vec<Sample> {
    let mut simulation = Simulation::new(spec.clone());
    (0..steps).for_each(|_| simulation.advance());
    simulation.ensembles().iter().map(|ensemble| *ensemble.sample()).collect()
}

#[test]
fn the_stated_winner_wins_with_any_seed() {
    for (name, winner) in [("adam-wins", "Adam"), ("signum-wins", "Signum"), ("focus-wins", "FOCUS")] {
        for seed in 0..5 {
            let spec = SimulationSpec { seed, ..built_in(name).spec().clone() };
            let losses = samples(&spec, 1000).into_iter().map(|sample| sample.loss.mean);
            let named = spec.optimizers.iter().map(|optimizer| optimizer.rule.name()).zip(losses);
            let (best, loss) = named.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(best, winner, "{name}, seed {seed}: {loss}");
        }
    }
}

#[test]
fn the_noise_decides_who_wins_the_race_of_the_opening() {
    for (sigma, winner) in [(0.3, "Adam"), (3.0, "FOCUS")] {
        for seed in 0..5 {
            let mut spec = SimulationSpec { seed, ..built_in("opening").spec().clone() };
            spec.set(&SettingPath::new(NOISE.key), sigma).unwrap();
            let losses = samples(&spec, spec.steps.unwrap()).into_iter().map(|sample| sample.loss.mean);
            let named = spec.optimizers.iter().map(|optimizer| optimizer.rule.name()).zip(losses);
            let (best, loss) = named.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(best, winner, "σ = {sigma}, seed {seed}: {loss}");
        }
    }
}

#[test]
fn a_rule_that_is_set_keeps_common_hyperparameters() {
    let set = |name: &str, path: &str, value: &str| {
        let found = built_ins().iter().find(|built_in| built_in.name == name).expect("it is built in");
        found.preset.with(path, value).unwrap_or_else(|error| panic!("{error}"))
    };
    let landscape = |path: &str, value: &str| {
        let Preset::Landscape(preset) = set("fig1c", path, value) else { panic!("fig1c is a landscape") };
        preset.spec().optimizers[0].rule
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

fn fixture() -> (tempfile::TempDir, Library, Preset) {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::in_folder(folder.path().join("settings/presets"));
    (folder, library, built_ins()[1].preset.clone())
}

/// Saves a preset among the user's own, as the app does.
fn save(library: &Library, name: &str, preset: &Preset, overwrite: Overwrite) -> Result<PathBuf, PresetError> {
    let folder = library.folder().expect("the library has a folder");
    fs::create_dir_all(folder).expect("the folder can be made");
    let path = folder.join(format!("{name}.ron"));
    preset.write(&path, overwrite).map(|()| path)
}

#[test]
fn a_preset_is_saved_listed_and_loaded() {
    let (_folder, library, preset) = fixture();
    assert!(library.user_presets().unwrap().is_empty());
    let path = save(&library, "my valley", &preset, Overwrite::No).unwrap();
    assert_eq!(path.parent(), library.folder());
    let listed = library.user_presets().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].name.as_str(), &listed[0].path), ("my valley", &path));
    assert_eq!(listed[0].preset.as_ref().unwrap(), &preset);
    let loaded = library.load(OsStr::new("my valley")).unwrap();
    assert_eq!(loaded.preset, preset);
    assert_eq!(loaded.source, PresetSource::User { name: "my valley".to_owned(), path: path.clone() });
    assert_eq!(library.load(path.as_os_str()).unwrap().source, PresetSource::File(path));
}

#[test]
fn nothing_is_overwritten_unless_requested() {
    let (_folder, library, preset) = fixture();
    let other = built_ins()[2].preset.clone();
    let path = save(&library, "mine", &preset, Overwrite::No).unwrap();
    let error = save(&library, "mine", &other, Overwrite::No).unwrap_err();
    assert!(matches!(&error, PresetError::Exists { path: existing } if *existing == path), "{error}");
    assert_eq!(Preset::read(&path).unwrap(), preset);
    save(&library, "mine", &other, Overwrite::Yes).unwrap();
    assert_eq!(Preset::read(&path).unwrap(), other);
    // No temporary file stays behind.
    assert_eq!(fs::read_dir(library.folder().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_preset_that_could_not_be_read_again_is_not_saved() {
    let (folder, library, _) = fixture();
    let Preset::Landscape(mut broken) = built_ins()[1].preset.clone() else { panic!("a simulation") };
    broken.spec_mut().optimizers[1].id = broken.spec().optimizers[0].id;
    let error = save(&library, "mine", &Preset::Landscape(broken), Overwrite::No).unwrap_err();
    assert!(error.to_string().contains("spec.optimizers[1].id"), "{error}");
    assert!(!folder.path().join("settings/presets/mine.ron").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none");
    let error = built_ins()[0].preset.write(&missing.join("x.ron"), Overwrite::No).unwrap_err().to_string();
    assert!(error.contains(&format!("no folder {}", missing.display())), "{error}");
    assert!(error.contains("another folder"), "{error}");
}

#[test]
fn a_users_broken_preset_is_listed_with_its_fault() {
    let (_folder, library, preset) = fixture();
    let path = save(&library, "a", &preset, Overwrite::No).unwrap();
    fs::write(path.with_file_name("b.ron"), "Landscape(version: 9)").unwrap();
    fs::write(path.with_file_name("notes.txt"), "no preset").unwrap();
    let listed = library.user_presets().unwrap();
    assert_eq!(listed.iter().map(|preset| preset.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(listed[1].preset.as_ref().unwrap_err().to_string().contains("newer"));
}

#[test]
fn names_that_cannot_be_files_everywhere_are_refused() {
    Library::check_name("my valley").unwrap();
    for name in ["", " ", "a/b", "a\\b", "..", ".hidden", "what?", "x.ron", "fig1c", "Fig1C", "line\nbreak", "-x", "x."]
    {
        let error = Library::check_name(name).unwrap_err();
        assert!(matches!(error, PresetError::BadName { .. }), "{name}: {error}");
    }
}

#[test]
fn a_name_means_a_file_then_a_built_in_preset_then_a_users_own() {
    let (folder, library, preset) = fixture();
    let built_in = library.load(OsStr::new("fig1c")).unwrap();
    assert_eq!(built_in.source, PresetSource::BuiltIn("fig1c"));
    assert!(built_in.text.starts_with("//"));
    let path = folder.path().join("fig1c");
    preset.write(&path, Overwrite::No).unwrap();
    assert_eq!(library.load(path.as_os_str()).unwrap().source, PresetSource::File(path));
    // A name that ends in .ron or has a separator is a file, and its absence is reported as such.
    for missing in ["none.ron", "fig1c.ron", "none/fig1c"] {
        let error = library.load(OsStr::new(missing)).unwrap_err();
        assert!(matches!(error, PresetError::Read { .. }), "{missing}: {error}");
    }
    says(library.load(OsStr::new("saturaton")).unwrap_err(), &["`saturaton`", "`saturation`"]);
    let error = library.load(OsStr::new("qqq")).unwrap_err().to_string();
    assert!(!error.contains("did you mean") && error.contains("presets list"), "{error}");
}

#[test]
fn files_that_are_no_presets_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let expect = |path: &Path, words: &[&str]| {
        let error = Preset::read(path).unwrap_err().to_string();
        let path = path.display().to_string();
        for word in words.iter().chain([&path.as_str()]) {
            assert!(error.contains(word), "no {word:?} in: {error}");
        }
    };
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    expect(folder.path(), &["is a folder"]);
    expect(&folder.path().join("none.ron"), &["cannot read"]);
    expect(&file("png.ron", b"\x89PNG\r\n\x1a\n\0\0"), &["not a text file", "0x89", "line 1"]);
    expect(&file("utf16.ron", b"\xff\xfeL\0a\0"), &["UTF-16", "UTF-8"]);
    expect(&file("zeros.ron", &[0; 100]), &["1:1"]);
    expect(&file("empty.ron", b""), &["1:1", "no preset"]);
    expect(&file("windows.ron", GOOD.replace('\n', "\r\n").replace("gamma: 0.2", "gamma: 20").as_bytes()), &["12:64"]);
    #[cfg(unix)]
    expect(Path::new("/dev/zero"), &["expected a plain file, found a device"]);
    Preset::read(&file("crlf.ron", GOOD.replace('\n', "\r\n").as_bytes())).unwrap();
}

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
fn lr_is_the_learning_rate_wherever_that_is_set() {
    let rate = |preset: &LandscapePreset| preset.spec().optimizers[0].rule.learning_rate.get();
    assert_eq!(rate(&set("optimizers[0].rule.lr", "0.25")), 0.25);
    assert_eq!(rate(&set("optimizers[0].rule", "signum(lr: 0.25)")), 0.25);
    assert_eq!(
        rate(&in_file("Adam(learning_rate", "Adam(lr")),
        rate(&in_file("Adam(learning_rate", "Adam(learning_rate"))
    );
    let built_in = |name: &str| &built_ins().iter().find(|built_in| built_in.name == name).unwrap().preset;
    assert_eq!(built_in("mnist").with("lr", "0.25").unwrap().training().unwrap().learning_rate.get(), 0.25);
    let rows = |key: &str| format!("(of: Of({key}, [0, 1, 2]), from: 0.01, to: 1, count: 3, spacing: Log)");
    let axis = |key: &str| built_in("fig2a").with("rows", &rows(key));
    assert_eq!(axis("lr").unwrap(), axis("LearningRate").unwrap());
    assert_eq!(built_in("mnist").with("title", "lr: 1").unwrap().title(), "lr: 1");
    // Mistakes are shown where they are in the file.
    let text = GOOD.replace("learning_rate", "lr");
    let fault = fault_of(&text.replace("noise: 1.0", "lr: 1.0, noize: 1.0"));
    let line = text.lines().find(|line| line.contains("noise: 1.0")).unwrap();
    assert_eq!(fault.column, line.find("noise").unwrap() + 1, "{fault}");
    assert!(fault.to_string().contains("lr: 1.0"), "{fault}");
    let fault = fault_of(&text.replace("lr: ", "lr: -"));
    assert!(fault.to_string().contains("lr: -"), "{fault}");
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
