//! Tables of the settings in which presets differ.

use valleyscope_experiments::difference::{DifferenceRow, DifferenceTable, SettingColumn};
use valleyscope_experiments::preset::{Preset, built_ins};

fn built_in(name: &str) -> Preset {
    built_ins().iter().find(|built_in| built_in.name == name).expect("a built-in preset").preset.clone()
}

fn table(presets: &[&Preset]) -> DifferenceTable {
    let column = |preset: &&Preset| SettingColumn::new(preset.title(), preset.listed_settings());
    DifferenceTable::of(&presets.iter().map(column).collect::<Vec<_>>())
}

/// Returns the rows as labels, paths and values.
fn rows(table: &DifferenceTable) -> Vec<(&str, &str, Vec<&str>)> {
    let mut all = Vec::new();
    for DifferenceRow { label, path, values } in &table.rows {
        let values = values.iter().map(|value| value.as_deref().unwrap_or(DifferenceRow::MISSING)).collect();
        all.push((label.as_str(), path.as_str(), values));
    }
    all
}

/// Returns the rows of a preset and of the same one with a setting.
fn rows_with(name: &str, path: &str, value: &str) -> Vec<(String, Vec<Option<String>>)> {
    let before = built_in(name);
    let after = before.with(path, value).expect("it fits");
    let table = table(&[&before, &after]);
    table.rows.into_iter().map(|row| (row.label, row.values)).collect()
}

#[test]
fn presets_without_rows_are_equal() {
    for one in built_ins() {
        for other in built_ins().iter().filter(|other| other.preset.kind() == one.preset.kind()) {
            let mut renamed = other.preset.clone();
            renamed
                .words_mut()
                .into_iter()
                .zip(one.preset.clone().words_mut())
                .for_each(|(own, word)| own.clone_from(word));
            let is_equal = table(&[&one.preset, &other.preset]).rows.is_empty();
            assert_eq!(is_equal, renamed == one.preset, "{} and {}", one.name, other.name);
        }
    }
}

#[test]
fn a_changed_setting_is_a_row_of_its_own() {
    let some = |text: &str| Some(text.to_owned());
    let cases = [
        ("fig1c", "noise", "0.5", "Noise σ", [some("1"), some("0.5")]),
        ("fig1c", "landscape.sharpness", "20", "Sharpness a", [some("10"), some("20")]),
        ("fig1c", "start.x", "0.5", "Start x", [some("0"), some("0.5")]),
        ("fig1c", "optimizers[0].rule.beta2", "0.9", "Adam: Squares β₂", [some("0.999"), some("0.9")]),
        ("fig1c", "temperature", "0.5", "Temperature Θ", [None, some("0.5")]),
        ("fig2a", "replicates", "7", "Replicates", [some("50"), some("7")]),
        ("mnist", "batch_size", "8", "Batch size", [some("128"), some("8")]),
        ("mnist", "processes", "2", "Processes", [some("1"), some("2")]),
        ("mnist", "data", "Folder(\"/x\")", "Dataset", [some("Automatic"), some("Folder(\"/x\")")]),
        ("gpt2-shakespeare", "schedule.warmup", "7", "Warm-up", [some("100"), some("7")]),
        ("fig2cd", "optimizers[0].rule.eps", "0.5", "Adam: Constant ε", [some("1e-8"), some("0.5")]),
    ];
    for (name, path, value, label, values) in cases {
        let label_and_values = (label.to_owned(), values.to_vec());
        assert_eq!(rows_with(name, path, value), [label_and_values], "{name} {path}");
    }
}

const ROWS_OF_BETA2: &str = "(of: Of(Beta2, [0]), from: 0.5, to: 0.9, count: 3, spacing: Linear)";

#[test]
fn a_setting_that_an_axis_varies_has_no_value() {
    let some = |text: &str| Some(text.to_owned());
    let axis = "the columns' axis";
    let expected = [
        ("Slope c", [some("0.1"), some(axis)]),
        ("Noise σ", [some(axis), some("1")]),
        ("Columns: what varies", [some("Noise"), some("Landscape(Slope)")]),
    ];
    let expected = expected.map(|(label, values)| (label.to_owned(), values.to_vec()));
    assert_eq!(rows_with("fig2a", "columns.of", "Landscape(Slope)"), expected);
    assert_eq!(rows_with("fig2a", "noise", "2.0"), [], "the noise is varied");
    let over_beta2 = built_in("fig2a").with("rows", ROWS_OF_BETA2).expect("it fits");
    let other = over_beta2.with("optimizers[0].rule.beta2", "0.9").expect("it fits");
    assert!(table(&[&over_beta2, &other]).rows.is_empty());
    let of_focus = over_beta2.with("optimizers[1].rule.beta2", "0.5").expect("it fits");
    assert_eq!(table(&[&over_beta2, &of_focus]).rows.len(), 1, "FOCUS keeps its own");
}

#[test]
fn hyperparameters_of_one_symbol_and_another_meaning_are_different_settings() {
    let adam = built_in("mnist").with("optimizer", "Adam(weight_decay: 0.1)").expect("it fits");
    let focus = adam.with("optimizer", "Focus").expect("it fits");
    let table = table(&[&adam, &focus]);
    let mut found = rows(&table);
    let mut expected = [
        ("Rule", "optimizer", vec!["Adam", "Focus"]),
        ("Average β₂", "optimizer.beta2", vec!["–", "0.99"]),
        ("Attraction γ", "optimizer.gamma", vec!["–", "0.2"]),
        ("Squares β₂", "optimizer.beta2", vec!["0.999", "–"]),
        ("Constant ε", "optimizer.eps", vec!["1e-8", "–"]),
        ("Decay", "optimizer.decay", vec!["–", "Average"]),
    ];
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert!(table.equal > 10 && table.equal_in_words() == format!("{} settings are equal", table.equal));
}

#[test]
fn optimizers_are_compared_by_their_names_and_else_by_their_places() {
    let fig1c = built_in("fig1c");
    let Preset::Landscape(mut other) = fig1c.clone() else { panic!("a landscape") };
    other.spec_mut().optimizers.swap(0, 1);
    let swapped = Preset::Landscape(other);
    assert!(table(&[&fig1c, &swapped]).rows.is_empty(), "their order is of no importance");
    let replaced = fig1c.with("optimizers[1].rule", "Lion").expect("it fits");
    let found = table(&[&fig1c, &replaced]);
    let rule = found.rows.iter().find(|row| row.path == "optimizers[1].rule").expect("the rule differs");
    assert_eq!(rule.label, "Signum / Lion: Rule");
}

#[test]
fn three_presets_and_equal_names_have_columns_of_their_own() {
    let fig1c = built_in("fig1c");
    let [two, three] = ["2", "3"].map(|noise| fig1c.with("noise", noise).expect("it fits"));
    let table = table(&[&fig1c, &two, &three]);
    let title = fig1c.title();
    assert_eq!(table.names, [title.to_owned(), format!("{title} (2)"), format!("{title} (3)")]);
    assert_eq!(rows(&table), [("Noise σ", "noise", vec!["1", "2", "3"])]);
    let text = table.to_text();
    assert_eq!(text.lines().nth(1), Some("Noise σ\tnoise\t1\t2\t3"));
}

#[test]
fn long_values_are_shown_where_they_differ() {
    let values = ["x".repeat(300) + "one", "x".repeat(300) + "two", "short".to_owned()];
    let row = DifferenceRow { label: String::new(), path: String::new(), values: values.map(Some).to_vec() };
    let shown = row.shown(40);
    assert!(shown[0].starts_with('…') && shown[0].ends_with("one"), "{shown:?}");
    assert!(shown[1].ends_with("two") && shown[2] == "short", "{shown:?}");
    assert!(shown.iter().all(|value| value.chars().count() <= 40), "{shown:?}");
}
