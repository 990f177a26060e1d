//! `spec.ron`, `phase.npz` and `phase.csv`.

use std::fs;
use std::io::{Cursor, Write};

use npyz::{DType, Deserialize, NpyFile};
use valleyscope::draw::{Map, shared_optimizers};
use valleyscope::sweep::result::SweepResult;
use valleyscope::sweep::titles::{as_changed, is_made_title};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec, WEIGHT_DECAY};
use valleyscope_engine::quantity::{Noise, PointCount, Replicates};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::sweep::{Axis, Diagram, Metric, Precision, Quantity, Spacing, SweepSpec};
use valleyscope_experiments::preset::{Preset, SweepPreset, built_ins, split_changed};
use valleyscope_runs::atomic_file::Overwrite;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::trainings::{
    COLUMNS, DIVERGED, RATES, REPLICATES, ROWS, TIE, UNKNOWN, arrays, final_loss, result, result_of, spec,
};
#[cfg(unix)]
use crate::doctor::make_fifo;
use crate::doctor::{Sandbox, expect_code};

/// Returns an array's shape, type and elements.
pub fn array<T: Deserialize>(bytes: &[u8], name: &str) -> (Vec<u64>, String, Vec<T>) {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).expect("an archive");
    let file = archive.by_name(&format!("{name}.npy")).unwrap_or_else(|error| panic!("{name}: {error}"));
    let file = NpyFile::new(file).expect("an array");
    let shape = file.shape().to_vec();
    let DType::Plain(kind) = file.dtype() else { panic!("{name} has a plain type") };
    (shape, kind.to_string().trim_matches('\'').to_owned(), file.into_vec().expect("the elements"))
}

/// Returns a text or texts.
pub fn texts(bytes: &[u8], name: &str) -> (Vec<u64>, Vec<String>) {
    let (shape, _, texts) = array(bytes, name);
    (shape, texts)
}

fn index([row, column]: [usize; 2], optimizer: usize) -> usize {
    (optimizer * ROWS + row) * COLUMNS + column
}

#[test]
fn arrays_have_the_documented_names_shapes_types_and_values() {
    let result = result();
    let bytes = arrays(&result);
    let [o, r, c, l] = [3, ROWS as u64, COLUMNS as u64, RATES as u64];
    for (name, shape) in [
        ("rows", vec![r]),
        ("cols", vec![c]),
        ("lrs", vec![l]),
        ("score", vec![o, r, c]),
        ("score_std", vec![o, r, c]),
        ("min_loss", vec![o, r, c]),
        ("depth", vec![o, r, c]),
        ("mean", vec![o, r, c, l]),
        ("std", vec![o, r, c, l]),
        ("depth_mean", vec![o, r, c, l]),
        ("gap", vec![3, o, r, c]),
    ] {
        let (found, kind, _) = array::<f64>(&bytes, name);
        assert_eq!((found, kind.as_str()), (shape, "<f8"), "{name}");
    }
    for (name, shape) in
        [("best_lr", vec![o, r, c]), ("diverged", vec![o, r, c]), ("winner", vec![r, c]), ("replicates", vec![r, c])]
    {
        let (found, kind, _) = array::<i32>(&bytes, name);
        assert_eq!((found, kind.as_str()), (shape, "<i4"), "{name}");
    }
    assert_eq!(texts(&bytes, "optimizers"), (vec![3], ["Adam", "FOCUS", "Signum"].map(str::to_owned).to_vec()));
    for (name, text) in [("row_name", "sharpness"), ("col_name", "noise"), ("metric", "final_loss")] {
        assert_eq!(texts(&bytes, name), (vec![], vec![text.to_owned()]), "{name}");
    }
    assert_eq!(texts(&bytes, "spec").1[0], result.preset().to_ron());
    let program = &texts(&bytes, "program").1[0];
    assert!(program.contains(env!("CARGO_PKG_VERSION")) && program.contains("f32") && program.contains("seed 0"));

    // This is an ordinary pixel: the learning rate in the middle is best, the replicates' mean is that of 0 to 5.
    let pixel = [2, 1];
    let score = final_loss(pixel, 1, 2, 0) + 0.01 * 2.5;
    assert!((array::<f64>(&bytes, "score").2[index(pixel, 1)] - score).abs() < 1e-12);
    assert!((array::<f64>(&bytes, "depth").2[index(pixel, 1)] - (2.0 - score)).abs() < 1e-12);
    assert_eq!(array::<i32>(&bytes, "best_lr").2[index(pixel, 1)], 2);
    let deviation = 0.01 * (35.0_f64 / 12.0).sqrt();
    assert!((array::<f64>(&bytes, "score_std").2[index(pixel, 1)] - deviation).abs() < 1e-12);
    let winner = array::<i32>(&bytes, "winner").2;
    let at = |[row, column]: [usize; 2]| row * COLUMNS + column;
    assert_eq!((winner[at(pixel)], winner[at(TIE)], winner[at(UNKNOWN)]), (2, -1, -1));
    assert_eq!(array::<i32>(&bytes, "diverged").2[index(DIVERGED, 0)], (RATES * REPLICATES) as i32);
    assert_eq!(array::<f64>(&bytes, "score").2[index(DIVERGED, 0)], f64::INFINITY);
    assert!(array::<f64>(&bytes, "score").2[index(UNKNOWN, 0)].is_nan());
    assert_eq!(array::<i32>(&bytes, "replicates").2[at(UNKNOWN)], 0);
}

#[test]
fn grids_of_learning_rates_that_differ_are_padded() {
    let mut spec = spec("fig2a");
    spec.optimizers[1].learning_rates.count = PointCount::clamped(2);
    spec.rows.of = Quantity::Of("learning_rate", vec![2]);
    (spec.rows.from, spec.rows.to, spec.rows.spacing) = (0.001, 0.1, Spacing::Log);
    let result = result_of(spec);
    let bytes = arrays(&result);
    let (shape, _, rates) = array::<f64>(&bytes, "lrs");
    assert_eq!(shape, [3, RATES as u64]);
    assert_eq!(rates[RATES..RATES + 2], [0.001, 1.0]);
    assert!(rates[RATES + 2..].iter().all(|rate| rate.is_nan()));
    let read = SweepResult::read_arrays(Cursor::new(&bytes), "here").expect("what was written");
    assert_eq!(arrays(&read), bytes);
}

#[test]
fn a_folder_of_results_opens_again_as_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut written = result();
    written.precision = Precision::Double;
    written.write(folder.path(), Overwrite::No).expect("written");
    for path in [folder.path().to_owned(), folder.path().join("phase.npz")] {
        let read = SweepResult::open(&path).expect("opened");
        assert_eq!((read.precision, &read.title), (Precision::Double, &written.title));
        assert_eq!(read.diagram.spec(), written.diagram.spec());
        assert_eq!(arrays(&read), fs::read(folder.path().join("phase.npz")).expect("the file"));
        let cell = |result: &SweepResult, pixel| result.diagram.cell(pixel).cloned();
        assert!(cell(&read, UNKNOWN).is_none() && cell(&read, TIE).is_some());
        for metric in Metric::ALL {
            let certainty =
                |result: &SweepResult| cell(result, [0, 1]).and_then(|cell| cell.comparison(metric).certainty());
            assert!(certainty(&written).is_some());
            assert_eq!(certainty(&read), certainty(&written));
        }
    }
    let preset = Preset::read(&folder.path().join("spec.ron")).expect("a preset");
    assert_eq!(preset, written.preset());
    let again = written.write(folder.path(), Overwrite::No).expect_err("the files exist");
    assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists);
}

#[test]
fn the_table_has_a_row_for_each_pixel() {
    let mut table = Vec::new();
    valleyscope::sweep::result::write_table(&mut table, &[(None, &result().diagram)])
        .expect("memory takes all that is written");
    let table = String::from_utf8(table).expect("text");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    let names =
        "sharpness,noise,winner,gap,gap_se,certainty,adam_score,adam_std,adam_best_lr,adam_diverged,focus_score";
    assert!(table.starts_with(names), "{table}");
    assert_eq!(rows.len(), 1 + ROWS * COLUMNS);
    let row = |[row, column]: [usize; 2]| &rows[1 + row * COLUMNS + column];
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let plain = row([2, 1]);
    assert_eq!((number(plain[0]), number(plain[1]), plain[2]), (1000.0, 1.0, "Signum"));
    // The gap is that to the nearer of the two others, which is the least certain.
    assert!((number(plain[3]) - 1.0).abs() < 1e-9, "{plain:?}");
    assert!(number(plain[4]) > 0.0);
    assert!((number(plain[8]) - 10_f64.powf(-1.5)).abs() < 1e-12, "the learning rate itself");
    let known = result().diagram.cell([2, 1]).and_then(|cell| cell.comparison(Metric::FinalLoss).certainty());
    assert_eq!(Some(number(plain[5])), known);
    assert_eq!((row(TIE)[2], row(TIE)[3], row(TIE)[5]), ("", "NaN", "NaN"));
    assert_eq!((row(UNKNOWN)[2], row(UNKNOWN)[6], row(UNKNOWN)[9]), ("", "NaN", ""));
    assert_eq!((row(DIVERGED)[6], row(DIVERGED)[9]), ("inf", "30"));
}

#[test]
fn incomplete_results_are_refused_with_the_reason() {
    let bytes = arrays(&result());
    let refusal =
        |bytes: &[u8]| SweepResult::read_arrays(Cursor::new(bytes), "phase.npz").expect_err("refused").to_string();
    assert!(refusal(b"").contains("no NPZ archive"));
    assert!(refusal(b"\x89PNG and so on, long enough to be something").contains("no NPZ archive"));
    for length in [10, 1000, bytes.len() / 2, bytes.len() - 1] {
        assert!(refusal(&bytes[..length]).contains("cut short"), "{length}");
    }
    // A byte of the last array's elements.
    let mut damaged = bytes.clone();
    let last = bytes.windows(4).position(|window| window == b"PK\x01\x02").expect("the list of arrays") - 1;
    damaged[last] ^= 1;
    assert!(refusal(&damaged).contains("`gap_freedom.npy` is damaged"), "{}", refusal(&damaged));
    let mut other = Cursor::new(Vec::new());
    let mut npz = valleyscope::export::NpzWriter::new(&mut other);
    npz.array("loss", &[1], [1.0]).expect("written");
    npz.finish().expect("written");
    assert!(refusal(other.get_ref()).contains("no `spec.npy`"));
    let folder = tempfile::tempdir().expect("a folder");
    let error = SweepResult::open(folder.path()).expect_err("an empty folder").to_string();
    assert!(error.contains("phase.npz") && error.contains(&folder.path().display().to_string()), "{error}");
}

/// Returns the files of an archive in another one.
fn packed_anew(bytes: &[u8], options: SimpleFileOptions) -> Vec<u8> {
    let mut from = ZipArchive::new(Cursor::new(bytes)).expect("an archive");
    let mut to = ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..from.len() {
        let mut file = from.by_index(index).expect("a file");
        to.start_file(file.name().expect("a name").into_owned(), options).expect("begun");
        std::io::copy(&mut file, &mut to).expect("copied");
    }
    to.finish().expect("ended").into_inner()
}

#[test]
fn compressed_arrays_are_read_too() {
    let bytes = arrays(&result());
    let compressed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let compressed = packed_anew(&bytes, compressed);
    assert!(compressed.len() < bytes.len());
    let read = SweepResult::read_arrays(Cursor::new(&compressed), "here").expect("read");
    assert!(arrays(&read) == bytes);
}

#[test]
fn a_compressed_array_longer_than_declared_is_not_unpacked() {
    let mut to = ZipWriter::new(Cursor::new(Vec::new()));
    let compressed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    to.start_file("spec.npy", compressed).expect("begun");
    to.write_all(&vec![0; 1 << 24]).expect("written");
    let mut bytes = to.finish().expect("ended").into_inner();
    let list = bytes.windows(4).position(|window| window == b"PK\x01\x02").expect("the list of arrays");
    bytes[list + 24..list + 28].copy_from_slice(&1000_u32.to_le_bytes());
    let error = SweepResult::read_arrays(Cursor::new(&bytes), "here").expect_err("refused").to_string();
    assert!(error.contains("`spec.npy` is damaged"), "{error}");
}

#[test]
fn a_list_of_arrays_that_is_too_long_is_not_read() {
    let mut to = ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..60_000 {
        to.start_file(format!("{index}.npy"), SimpleFileOptions::default()).expect("begun");
    }
    let bytes = to.finish().expect("ended").into_inner();
    let error = SweepResult::read_arrays(Cursor::new(&bytes), "here").expect_err("refused").to_string();
    assert!(error.contains("list of arrays is longer than 2 MiB"), "{error}");
}

#[test]
fn arrays_that_do_not_fit_the_spec_are_refused() {
    let result = result();
    let mut file = Cursor::new(Vec::new());
    let mut npz = valleyscope::export::NpzWriter::new(&mut file);
    npz.text("spec", &result.preset().to_ron()).expect("written");
    npz.text("program", &result.program()).expect("written");
    npz.array("mean", &[2, 2], [1.0; 4]).expect("written");
    npz.finish().expect("written");
    let error = SweepResult::read_arrays(Cursor::new(file.get_ref()), "here").expect_err("refused").to_string();
    assert!(error.contains("(3, 3, 4, 5)") && error.contains("(2, 2)"), "{error}");
}

#[test]
fn a_text_that_is_longer_than_any_spec_is_not_read() {
    let mut file = Cursor::new(Vec::new());
    let mut npz = valleyscope::export::NpzWriter::new(&mut file);
    npz.text("spec", &"x".repeat(2 << 20)).expect("written");
    npz.finish().expect("written");
    let error = SweepResult::read_arrays(Cursor::new(file.get_ref()), "here").expect_err("refused").to_string();
    assert!(error.contains("`spec.npy` has 8388") && error.contains("at most 4259849 were expected"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_fifo_in_the_place_of_results_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    make_fifo(folder.path().join("phase.npz"));
    let error = SweepResult::open(folder.path()).expect_err("refused").to_string();
    assert!(error.contains("expected a plain file, found a FIFO"), "{error}");
}

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
    // A preset with the new title can be read again.
    let text = Preset::Sweep(named.clone()).to_ron();
    assert_eq!(Preset::parse(&text, "test").expect("a preset"), Preset::Sweep(named.clone()));
    named
}

#[test]
fn a_preset_without_changes_keeps_its_words() {
    assert_eq!(changed(|_| ()), fig2a());
}

#[test]
fn a_title_names_the_changes() {
    let named = changed(|sweep| sweep.landscape.set("rotation_degrees", 45.0).unwrap());
    assert_eq!(named.title, "Phase diagram: sharpness and noise (Fig. 2a), changed: φ = 45°");
    assert!(named.description.contains("φ = 45°") && !named.description.contains("Adam wins"));
}

#[test]
fn a_title_names_other_axes() {
    let over = |ids: &[u32]| {
        let of = Quantity::Of("beta1", ids.to_vec());
        changed(|sweep| sweep.rows = Axis { of, from: 0.5, to: 0.9, ..sweep.rows.clone() }).title
    };
    assert_eq!(over(&[0, 1, 2]), "Phase diagram: decay rate β₁ and noise σ");
    assert_eq!(over(&[0]), "Phase diagram: decay rate β₁ of Adam and noise σ");
}

#[test]
fn a_figure_of_the_paper_with_another_range_is_named_by_its_axes() {
    let named = changed(|sweep| sweep.columns.to = 1.0);
    assert_eq!(named.title, "Phase diagram: sharpness a and noise σ from 0 to 1");
    let axes = "Adam, FOCUS, Signum over sharpness a from 0.1 to 1\u{2009}000 and noise σ from 0 to 1.";
    assert_eq!(named.description, axes);
    // A title that the user has given does not describe the axes.
    let mine = SweepPreset { title: "Mine".to_owned(), ..fig2a() };
    let mut sweep = mine.sweep.clone();
    sweep.columns.to = 1.0;
    assert!(!is_made_title(&mine) && is_made_title(&named) && is_made_title(&fig2a()));
    assert_eq!(as_changed(mine, sweep).title, "Mine, changed: columns of noise σ from 0 to 1");
}

#[test]
fn a_title_made_of_changes_is_made_anew_after_another_change() {
    let mut first = changed(|sweep| sweep.landscape.set("slope", 0.5).unwrap());
    first.description = "Mine.".to_owned();
    assert_eq!(as_changed(first.clone(), first.sweep.clone()), first);
    let mut sweep = first.sweep.clone();
    sweep.landscape.set("slope", 0.7).unwrap();
    let second = as_changed(first, sweep);
    assert_eq!(second.title, "Phase diagram: sharpness and noise (Fig. 2a), changed: c = 0.7");
}

#[test]
fn changes_begin_a_sentence_after_a_question() {
    let question = SweepPreset { title: "Push, or pull?".to_owned(), ..fig2a() };
    let mut sweep = question.sweep.clone();
    sweep.seed = 5;
    let named = as_changed(question, sweep.clone());
    assert_eq!(named.title, "Push, or pull? Changed: seed 5");
    assert_eq!(split_changed(&named.title), Some(("Push, or pull?", "seed 5")));
    assert!(is_made_title(&named));
    // That of a built-in preset is made anew after another change.
    let gamma = &built_ins().iter().find(|built_in| built_in.name == "gamma").expect("a built-in preset").preset;
    let Preset::Sweep(own) = gamma.clone() else { panic!("it is a sweep") };
    let mut once = own.sweep.clone();
    once.seed = 5;
    let once = as_changed(own, once);
    assert_eq!(once.title, "What γ should be: push away, or pull back? Changed: seed 5");
    let mut twice = once.sweep.clone();
    twice.seed = 6;
    assert_eq!(as_changed(once, twice).title, "What γ should be: push away, or pull back? Changed: seed 6");
}

#[test]
fn a_title_that_a_command_sets_is_that_of_the_figure() {
    let sandbox = Sandbox::new();
    let small = ["rows.count=2", "columns.count=2", "steps=10", "replicates=1"];
    let small: Vec<&str> = small.iter().flat_map(|set| ["--set", set]).collect();
    let title = |more: &[&str]| {
        expect_code(&sandbox.run(&[&["figure", "fig2a", "--out", "f.svg"], &small[..], more].concat()), 0);
        let svg = std::fs::read_to_string(sandbox.join("f.svg")).expect("the figure");
        svg.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).expect("a title").0.to_owned()
    };
    assert_eq!(title(&["--set", "title=Mine"]), "Mine");
    assert_eq!(title(&["--set", "title=Mine", "--quick"]), "Mine");
    assert!(title(&[]).starts_with("Phase diagram: sharpness and noise (Fig. 2a), changed: 2 × 2 pixels"));
    let both = title(&["--set", "title=One", "--beside", "title=Two; seed=3"]);
    assert_eq!(both, "One; Two");
}

#[test]
fn many_changes_and_long_titles_fit() {
    let many = |sweep: &mut SweepSpec| {
        *sweep = sweep.quick();
        sweep.replicates = Replicates::clamped(1);
        sweep.noise = Noise::clamped(0.5).into();
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

#[test]
fn a_title_names_the_settings_of_a_rule_and_a_rule_in_the_place_of_another() {
    let named = changed(|sweep| sweep.optimizers[0].rule.set("weight_decay", 0.2).unwrap());
    assert_eq!(named.title, "Phase diagram: sharpness and noise (Fig. 2a), changed: Adam: ω 0.2");
    let sgd = Preset::Sweep(fig2a()).with("optimizers[0].rule", "SGD").expect("a preset");
    let Preset::Sweep(sgd) = sgd else { panic!("it is a sweep") };
    let named = as_changed(fig2a(), sgd.sweep);
    assert_eq!(named.title, "Phase diagram: sharpness and noise (Fig. 2a), changed: Adam → SGD");
}

#[test]
fn a_changed_landscape_is_named_after_its_changes() {
    let found = built_ins().iter().find(|built_in| built_in.name == "fig1c").expect("a built-in preset");
    let changed = |settings: &[(&str, &str)]| {
        let changed = found.preset.with_all(settings.iter().copied()).expect("a preset");
        let named = changed.as_changed_from(&found.preset);
        assert_eq!(Preset::parse(&named.to_ron(), "test").expect("a preset"), named);
        named
    };
    assert_eq!(changed(&[]), found.preset);
    let fig1c = "Adam starves where Signum goes on (Fig. 1c)";
    let named = changed(&[("noise", "0.5"), ("landscape.sharpness", "20"), ("optimizers[1].rule.beta1", "0.5")]);
    assert_eq!(named.title(), format!("{fig1c}, changed: a = 20, σ = 0.5, Signum: β₁ 0.5"));
    assert_eq!(named.description(), format!("“{fig1c}”, changed: a = 20; σ = 0.5; Signum: β₁ 0.5."));
    let own = changed(&[("noise", "0.5"), ("title", "Mine")]);
    assert_eq!(own.title(), "Mine");
}

#[test]
fn a_name_that_states_other_settings_is_removed_by_a_command() {
    let found = built_ins().iter().find(|built_in| built_in.name == "four-optimizers").expect("a built-in preset");
    let name = |path: &str, value: &str| {
        let Preset::Landscape(changed) = found.preset.with(path, value).expect("it fits") else {
            panic!("a landscape")
        };
        changed.spec().optimizers[3].name.clone()
    };
    let Preset::Landscape(preset) = &found.preset else { panic!("a landscape") };
    let own = preset.spec().optimizers[3].name.clone();
    assert_eq!(own.as_deref(), Some("FOCUS, γ 0.1"));
    assert_eq!(name("optimizers[3].rule.beta1", "0.5"), own);
    assert_eq!(name("optimizers[3].rule.gamma", "0.3"), None);
    assert_eq!(name("optimizers[3].rule", "Signum"), None);
}

#[test]
fn a_legend_names_settings_that_differ_within_a_rule_or_from_its_defaults() {
    let names = |change: &dyn Fn(&mut SweepSpec)| {
        let mut sweep = fig2a().sweep;
        change(&mut sweep);
        let diagram = Diagram::new(sweep.clone().into());
        let (map, metric) = (Map::Winner { certainty: false }, Metric::FinalLoss);
        let legend = map.legend_with(&diagram, metric, &map.colors(&diagram, metric, [205; 3]));
        let texts: Vec<String> = legend.into_iter().map(|swatch| swatch.text).take(3).collect();
        assert_eq!(texts, sweep.shown_names());
        texts
    };
    assert_eq!(names(&|_| ()), ["Adam", "FOCUS", "Signum"]);
    // Defaults that differ between rules are not named; a changed value is.
    let adopt = |sweep: &mut SweepSpec| {
        sweep.optimizers[0].rule = RuleSpec::on_plane(RuleKind::Lion);
        sweep.optimizers[1].rule = RuleSpec::on_plane(RuleKind::Mars);
        sweep.optimizers[2].rule = RuleSpec::on_plane(RuleKind::Muon);
    };
    assert_eq!(names(&adopt), ["Lion", "MARS", "Muon"]);
    let decay = |sweep: &mut SweepSpec| sweep.optimizers[0].rule.set("weight_decay", 0.2).unwrap();
    assert_eq!(names(&decay), ["Adam, ω 0.2", "FOCUS", "Signum"]);
    assert_eq!(names(&|sweep| sweep.optimizers[1].rule.set("gamma", 0.4).unwrap()), ["Adam", "FOCUS, γ 0.4", "Signum"]);
    // β₂ means one thing for Adam, and another for FOCUS.
    let average = |sweep: &mut SweepSpec| sweep.optimizers[1].rule.set("beta2", 0.99).unwrap();
    assert_eq!(names(&average), ["Adam", "FOCUS, β₂ 0.99", "Signum"]);
    // Of two of one rule, each has the settings that differ, whatever the default.
    let twice = |sweep: &mut SweepSpec| {
        sweep.optimizers[1].rule = sweep.optimizers[0].rule;
        sweep.optimizers[1].rule.set("beta1", 0.5).unwrap();
    };
    assert_eq!(names(&twice), ["Adam, β₁ 0.9", "Adam, β₁ 0.5", "Signum"]);
    // A name by the user suffices.
    let named = |sweep: &mut SweepSpec| {
        decay(sweep);
        sweep.optimizers[0].name = Some("Mine".to_owned());
        sweep.optimizers[1].name = Some("FOCUS (2)".to_owned());
    };
    assert_eq!(names(&named), ["Mine", "FOCUS (2)", "Signum"]);
    // A setting that an axis varies has no value to name.
    let varied = |sweep: &mut SweepSpec| {
        decay(sweep);
        let of = Quantity::Of(WEIGHT_DECAY, vec![0, 1, 2]);
        sweep.rows = Axis { of, from: 0.0, to: 0.5, ..sweep.rows.clone() };
    };
    assert_eq!(names(&varied), ["Adam", "FOCUS", "Signum"]);
}

#[test]
fn sweeps_shown_together_name_what_differs_between_them_and_share_colours() {
    let (one, mut other) = (fig2a().sweep, fig2a().sweep);
    other.optimizers[0].rule.set("weight_decay", 0.0).unwrap();
    let shared = shared_optimizers(&[&one, &other]);
    let names = |index: usize| -> Vec<&str> { shared[index].iter().map(|optimizer| optimizer.name.as_str()).collect() };
    assert_eq!(names(0), ["Adam, ω 0.1", "FOCUS", "Signum"]);
    assert_eq!(names(1), ["Adam, ω 0", "FOCUS", "Signum"]);
    let looks = |index: usize| shared[index].iter().map(|of| (&of.identity, of.color)).collect::<Vec<_>>();
    assert_eq!(looks(0), looks(1));
}

#[test]
fn the_legend_of_a_landscape_names_each_setting_that_differs() {
    let names = |settings: &[(&str, &str)]| {
        let found = built_ins().iter().find(|built_in| built_in.name == "fig1c").expect("a built-in preset");
        let Preset::Landscape(changed) = found.preset.with_all(settings.iter().copied()).expect("a preset") else {
            panic!("fig1c is a landscape")
        };
        SimulationSpec::shown_names(changed.spec())
    };
    assert_eq!(names(&[]), ["Adam", "Signum"]);
    let faster = [("optimizers[0].rule.learning_rate", "0.01")];
    assert_eq!(names(&faster), ["Adam, η 0.01", "Signum, η 0.002"]);
    // An optimizer that is not simulated is not shown.
    assert_eq!(names(&[faster[0], ("optimizers[1].enabled", "false")]), ["Adam", "Signum"]);
}
