//! Limits on the size of presets, and the errors beyond them.

use valleyscope_engine::optimizer::{Decay, Schedule};
use valleyscope_engine::quantity::{DecaySteps, FinalShare, WarmupSteps};
use valleyscope_experiments::preset::{Preset, PresetError, built_ins};

use super::fault::{fault_of, refused_in};
use super::refusals::GOOD;
#[cfg(unix)]
use crate::sandbox::make_fifo;

#[track_caller]
fn refused(part: &str, replacement: &str, mark: &str, words: &[&str]) {
    refused_in(GOOD, part, replacement, mark, words);
}

#[test]
fn excessive_lengths_are_refused_with_their_position() {
    let name = "a".repeat(30_000);
    let list = format!("{name}: [{}], noise: 1.0", "0, ".repeat(65_000));
    refused("noise: 1.0", &list, "aaa", &["a name of at most 100 bytes", "30000"]);
    let digits = format!("noise: {}", "1".repeat(2000));
    refused("noise: 1.0", &digits, "111", &["a number of at most 1000 bytes", "2000"]);
    let text = format!("\"{}\"", "x".repeat(70_000));
    refused("\"Good\"", &text, "\"x", &["a text of at most 65536 bytes", "70002"]);
    let deep = format!("noise: {}", "[".repeat(100));
    let fault = fault_of(&GOOD.replace("noise: 1.0", &deep));
    // Four brackets are open before them.
    assert_eq!((fault.line, fault.column), (7, 20 + 60), "{fault}");
    assert!(fault.message.contains("nested deeper") && fault.message.contains("64"), "{fault}");
    let line = fault_of(&format!("Landscape(version: 1,{}\n)", " ".repeat(2 << 20)));
    assert!(line.message.contains("a line of at most 1048576 bytes"), "{line}");
}

#[test]
fn the_length_of_lists_is_limited_except_for_recorded_changes() {
    let ids = format!("Of(LearningRate, [{}])", "0, ".repeat(10_001));
    let fig2a = built_ins().iter().find(|built_in| built_in.name == "fig2a").unwrap().preset.to_ron();
    let fault = fault_of(&fig2a.replacen("of: Landscape(Sharpness)", &format!("of: {ids}"), 1));
    assert!(fault.message.contains("`sweep.rows.of") && fault.message.contains("10000 elements"), "{fault}");
    let change = "(step: 9, set: Noise(1.0)),\n";
    let text = GOOD.replace("changes: [", &format!("changes: [\n{}", change.repeat(20_000)));
    let Preset::Landscape(preset) = Preset::parse(&text, "long").unwrap() else { panic!("a simulation") };
    assert_eq!(preset.record().changes.len(), 20_002);
}

#[test]
fn the_longest_numbers_that_are_written_are_read() {
    let text = GOOD.replace("width: 2.0", &format!("width: {:.400}", 2.5_f64)).replace("10,", "0000010,");
    assert!(Preset::parse(&text, "long").is_ok());
}

#[test]
fn invalid_utf8_is_refused_with_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("latin1.ron");
    std::fs::write(&path, b"Landscape(\n    // \xce\xb2 \xe9").unwrap();
    let error = Preset::read(&path).unwrap_err();
    assert!(matches!(error, PresetError::NotText { .. }));
    assert!(error.to_string().contains("0xe9 in line 2, column 10"), "{error}");
}

#[test]
fn messages_name_what_is_in_the_file() {
    refused("(id: 3,", "ut(id: 3,", "ut", &["expected `(`, found `ut`"]);
    refused("optimizers: [", "optimizers: {", "{", &["expected a list"]);
    refused("center: (0.0, 1.0)", "center: [0.0]", "[", &["expected `(`"]);
    refused("noise: 1.0", "noise: 1_0._5", "_5", &["expected a number, found `_5`"]);
    refused("// A comment.", "#![enable(magic)]", ")", &["expected the preset itself, or an attribute"]);
}

#[test]
fn an_unknown_field_of_a_scan_is_attributed_to_the_scan() {
    let scan = built_ins().iter().find(|built_in| built_in.name == "fig2cd").unwrap();
    let fault = fault_of(&scan.preset.to_ron().replace("replicates:", "replicas:"));
    assert!(fault.message.starts_with("`scan` has no field `replicas`"), "{fault}");
    let error = scan.preset.with("replicas", "3").unwrap_err().to_string();
    assert!(error.contains("`scan` has no field `replicas`"), "{error}");
}

#[test]
fn setting_a_path_that_does_not_exist_is_refused() {
    let mnist = &built_ins().iter().find(|built_in| built_in.name == "mnist").unwrap().preset;
    let refused = |path: &str, value: &str, words: &[&str]| {
        let error = mnist.with(path, value).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "no {word:?} in: {error}");
        }
    };
    refused("runs[99].steps", "5", &["runs[99].steps=5", "the preset has no `runs[99]`"]);
    refused("runs[99]", "5", &["the preset has no `runs[99]`"]);
    refused("runs[x].steps", "5", &["the preset has no `runs[x]`"]);
    refused("optimizer.decay.target", "5", &["`runs[0].optimizer.decay` has no fields"]);
    refused("optimizer.delay.target", "5", &["the preset has no `runs[0].optimizer.delay`"]);
    refused("steps.more", "5", &["`runs[0].steps` has no fields"]);
    refused("steps", "5, seed: 7", &["expected a single value for `runs[0].steps`"]);
    refused("steps", "5), (optimizer: Adam(), learning_rate: 0.1", &["expected a single value"]);
    refused("nose", "5", &["`runs[0]` has no field `nose`"]);

    let set = |path: &str, value: &str| match mnist.with(path, value).unwrap() {
        Preset::Mnist(preset) => preset,
        other => panic!("expected trainings, found {other:?}"),
    };
    assert_eq!(set("runs[0].steps", "5").runs[0].steps.get(), 5);
    assert_eq!(set("steps", "5").runs[0].steps.get(), 5);
    assert_eq!(set("title", "Two words, and a comma").title, "Two words, and a comma");
    assert_eq!(set("name", "a \"b\" (c").runs[0].name.as_deref(), Some("a \"b\" (c"));
    assert_eq!(set("optimizer", "SGD").runs[0].optimizer.name(), "SGD");
}

/// A schedule's paths can be set also in a preset without one.
#[test]
fn a_schedule_is_set_by_its_path() {
    let built_in = |name: &str| &built_ins().iter().find(|built_in| built_in.name == name).unwrap().preset;
    let schedule = Schedule {
        warmup: WarmupSteps::clamped(20),
        decay: Decay::Cosine { to: FinalShare::clamped(0.1), steps: Some(DecaySteps::clamped(500)) },
    };
    let values = [("warmup", "20"), ("decay", "cosine(to: 0.1)"), ("decay.steps", "500")];
    let set = |name: &str, at: &str| {
        let paths = values.map(|(field, value)| (format!("{at}.schedule.{field}"), value));
        built_in(name).with_all(paths.iter().map(|(path, value)| (path.as_str(), *value))).unwrap()
    };
    let Preset::Sweep(preset) = set("fig2a", "optimizers[1]") else { panic!("it is a sweep") };
    assert_eq!(
        preset.sweep.optimizers.iter().map(|it| it.schedule).collect::<Vec<_>>(),
        [Schedule::default(), schedule, Schedule::default()]
    );
    let Preset::Landscape(preset) = set("four-optimizers", "simulations[0].spec.optimizers[0].rule") else {
        panic!("it is a landscape")
    };
    assert_eq!(preset.spec().optimizers[0].rule.schedule, schedule);
    assert_eq!(preset.spec().optimizers[1].rule.schedule, Schedule::default());
}

#[test]
fn a_choice_may_be_spelled_as_on_a_command_line() {
    let built_in = |name: &str| &built_ins().iter().find(|built_in| built_in.name == name).unwrap().preset;
    for (name, path, exact, others) in [
        ("gpt2-shakespeare", "precision", "BFloat16", &["bfloat16", "BFLOAT16", "b_float16"][..]),
        ("gpt2-shakespeare", "device", "Cuda(1)", &["cuda(1)"]),
        ("fig3-cpu", "optimizer", "Focus(decay: Parameters)", &["focus(decay: parameters)"]),
        ("mnist", "optimizer", "Sgd", &["sgd", "sGd"]),
        ("mnist", "not_finite", "GoOn", &["go_on", "go-on", "goon"]),
        ("mnist", "data", "Synthetic", &["synthetic"]),
    ] {
        let exact = built_in(name).with(path, exact).unwrap();
        for other in others {
            assert_eq!(built_in(name).with(path, other).unwrap(), exact, "{path}={other}");
        }
    }
    let error = built_in("mnist").with("precision", "float16").unwrap_err().to_string();
    assert!(error.starts_with("precision=float16: expected one of `Float32`, `Float64`, found `float16`"), "{error}");
    assert_eq!(built_in("mnist").with("title", "go-on").unwrap().title(), "go-on");
}

#[test]
fn texts_are_set_without_quotes_and_other_values_as_in_a_file() {
    let built_in = |name: &str| &built_ins().iter().find(|built_in| built_in.name == name).unwrap().preset;
    let name = |value: &str| match built_in("mnist").with("name", value).unwrap() {
        Preset::Mnist(preset) => preset.runs[0].name.clone(),
        other => panic!("expected trainings, found {other:?}"),
    };
    for text in ["Adam", "5", "true", "(a, b)", "[1]", "x: y", " \"half", "Sgd()", "a, b: 3)", "go-on", "β = 0.9", "//"]
    {
        assert_eq!(name(text).as_deref(), Some(text));
    }
    assert_eq!(name("\"in quotation marks\"").as_deref(), Some("in quotation marks"));
    assert_eq!(name("None"), None);
    assert_eq!(built_in("mnist").with("title", "None").unwrap().title(), "None");
    let nested = built_in("fig1c").with("simulations[0].spec.optimizers[1].name", "Adam, slow").unwrap();
    assert!(nested.to_ron().contains("name: \"Adam, slow\""));
    for (path, value, words) in [
        ("optimizer", "5", ["`5`", "found"]),
        ("optimizer", "focus(gama: 1)", ["has no field `gama`", "`gamma`"]),
        ("optimizer", "focus(gamma: much)", ["expected a number", "found `much`"]),
        ("optimizer", "fokus", ["expected one of", "found `fokus`"]),
        ("data", "Folder(empty)", ["expected a text in quotation marks", "found `empty`"]),
    ] {
        let error = built_in("mnist").with(path, value).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{path}={value}: ")), "{error}");
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}

#[test]
fn a_refused_setting_is_named_without_a_position() {
    let mnist = &built_ins().iter().find(|built_in| built_in.name == "mnist").unwrap().preset;
    for (path, value, words) in [
        ("optimizer.beta1", "2", "found 2"),
        ("steps", "many", "expected a whole number"),
        ("nose", "5", "`runs[0]` has no field `nose`"),
        ("title", "", "title"),
    ] {
        let error = mnist.with(path, value).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{path}={value}: ")) && error.contains(words), "{error}");
        assert!(error.lines().count() == 1 && !error.contains(" | "), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn files_that_are_not_regular_are_no_presets_of_a_user() {
    use valleyscope_experiments::preset::Library;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    make_fifo(at("pipe.ron"));
    std::os::unix::fs::symlink("/dev/zero", at("zeros.ron")).unwrap();
    std::fs::write(at("good.txt"), GOOD).unwrap();
    std::os::unix::fs::symlink("good.txt", at("linked.ron")).unwrap();
    let library = Library::in_folder(folder.path());
    let found = library.user_presets().unwrap();
    let said = |name: &str| match &found.iter().find(|preset| preset.name == name).unwrap().preset {
        Ok(preset) => preset.title().to_owned(),
        Err(error) => error.to_string(),
    };
    assert!(said("pipe").ends_with("expected a plain file, found a FIFO"), "{}", said("pipe"));
    assert!(said("zeros").ends_with("expected a plain file, found a device"), "{}", said("zeros"));
    assert_eq!(said("linked"), "Good");
    assert!(library.load("pipe".as_ref()).is_err());
    assert_eq!(library.load("linked".as_ref()).unwrap().preset.title(), "Good");
    // A named device is read up to the largest length of a preset.
    let error = Library::load_file(std::path::Path::new("/dev/zero")).unwrap_err();
    assert!(error.to_string().contains("longer than 64 MiB"), "{error}");
}
