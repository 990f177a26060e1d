//! `valleyscope runs list` with filters, columns and groups, and `runs import`.

use std::fs;
use std::path::Path;

use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_runs::{
    Event, MetricId, MetricValues, Notes, RunFolder, RunReader, RunSession, SettingChange, Started,
};

use crate::says::says;

use super::doctor::{Sandbox, expect, stderr, stdout};

/// Writes a finished run of the built-in preset with these settings.
fn finished(runs: &Path, stem: &str, settings: &[(&str, &str)], loss: f64) -> RunFolder {
    evaluated(runs, stem, settings, loss, None)
}

/// Writes such a run with a result of its evaluation.
fn evaluated(
    runs: &Path,
    stem: &str,
    settings: &[(&str, &str)],
    loss: f64,
    result: Option<(MetricId, f64)>,
) -> RunFolder {
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let set = |preset: Preset, (key, value): &(&str, &str)| preset.with(key, value).expect("it can be set");
    let preset = settings.iter().fold(mnist.preset.clone(), set);
    let run = RunFolder::create(runs, stem, &preset.to_ron()).expect("a run can be made");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    let started = Started { title: "One run".to_owned(), steps: 20, ..Started::default() };
    session.record(0, Event::Started(started)).expect("it can be written");
    for (step, loss) in [(10, 2.0), (20, loss)] {
        session.record(step, Event::Train(MetricValues::from([(MetricId::LOSS, loss)]))).expect("it can be written");
    }
    if let Some(result) = result {
        session.record(20, Event::Eval(MetricValues::from([result]))).expect("it can be written");
    }
    session.record(20, Event::Finished).expect("it can be written");
    run
}

fn four(sandbox: &Sandbox) {
    let runs = sandbox.runs();
    let noted = finished(&runs, "one", &[("seed", "1")], 0.5);
    Notes { note: "the baseline".to_owned(), ..Notes::default() }.write(&noted).expect("it can be written");
    finished(&runs, "two", &[("seed", "2")], 0.75);
    finished(&runs, "three", &[("optimizer", "Adam"), ("learning_rate", "0.01")], 0.25);
    finished(&runs, "four", &[("optimizer", "Adam"), ("learning_rate", "1.0")], f64::NAN);
}

#[test]
fn runs_are_filtered_sorted_and_written_as_csv_and_json() {
    let sandbox = Sandbox::new();
    four(&sandbox);
    let list = |args: &[&str]| {
        let output = sandbox.run(&[&["runs", "list"], args].concat());
        expect(&output, 0, &[]);
        stdout(&output).to_owned()
    };
    let text = list(&["--filter", "optimizer = FOCUS, lr < 1e-2", "--sort", "-loss"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].starts_with("RUN") && lines[0].contains("OPTIMIZER") && lines[0].contains("SEED"), "{text}");
    assert!(
        lines[1].starts_with("two-") && lines[2].starts_with("one-") && lines[2].ends_with("the baseline"),
        "{text}"
    );
    let csv = list(&["--csv", "--columns", "optimizer,lr,best_loss,loss", "--sort", "loss"]);
    assert_eq!(
        csv,
        "optimizer,learning_rate,best_loss,loss\nAdam,0.01,0.25,0.25\nFOCUS,0.001,0.5,0.5\nFOCUS,0.001,0.75,0.75\nAdam,1,2,NaN\n"
    );
    let json: serde_json::Value =
        serde_json::from_str(&list(&["--json", "--columns", "loss,note", "--sort", "loss"])).expect("JSON");
    assert_eq!(json[1]["note"], "the baseline");
    assert_eq!(json[3]["loss"], "NaN");
    assert_eq!(json[0].get("note"), Some(&serde_json::Value::Null), "each object has the same keys");
}

#[test]
fn groups_have_means_with_deviations() {
    let sandbox = Sandbox::new();
    four(&sandbox);
    let output =
        sandbox.run(&["runs", "list", "--group-by", "replicates", "--columns", "loss", "--sort", "loss", "--csv"]);
    expect(&output, 0, &[]);
    assert_eq!(stdout(&output), "runs,loss,loss_std\n1,0.25,\n2,0.625,0.1767766952966369\n1,NaN,\n");
    let output = sandbox.run(&["runs", "list", "--group-by", "optimizer", "--columns", "best_loss"]);
    let text = stdout(&output);
    assert!(text.contains("OPTIMIZER  RUNS  BEST LOSS"), "{text}");
    assert!(text.contains("FOCUS      2     0.62 ± 0.18"), "{text}");
}

#[test]
fn groups_are_compared_each_at_its_best_learning_rate() {
    let sandbox = Sandbox::new();
    four(&sandbox);
    let list = |args: &[&str]| {
        let usual = ["runs", "list", "--group-by", "optimizer", "--columns", "loss", "--sort", "loss", "--csv"];
        let output = sandbox.run(&[&usual, args].concat());
        expect(&output, 0, &[]);
        stdout(&output).to_owned()
    };
    let best = list(&["--best-over", "lr"]);
    assert_eq!(
        best,
        "optimizer,learning_rate,learning_rate_edge,runs,loss,loss_std\n\
         Adam,0.01,≤,1,0.25,\nFOCUS,0.001,,2,0.625,0.1767766952966369\n"
    );
    assert_eq!(list(&["--statistic", "best"]), "optimizer,runs,loss\nAdam,2,0.25\nFOCUS,2,0.5\n");
    assert_eq!(list(&["--statistic", "median"]), "optimizer,runs,loss\nFOCUS,2,0.625\nAdam,2,inf\n");
    expect(&sandbox.run(&["runs", "list", "--best-over", "lr"]), 2, &["--group-by"]);
}

#[test]
fn settings_that_were_changed_while_a_run_was_trained_are_a_column_and_a_difference() {
    let sandbox = Sandbox::new();
    let [plain, changed] = ["plain", "changed"].map(|stem| finished(&sandbox.runs(), stem, &[], 0.5));
    let mut session = RunSession::begin(&changed).expect("a session can begin");
    let change = SettingChange { name: "learning_rate".into(), label: "η".into(), before: 0.001, now: 0.01 };
    session.record(20, Event::Changed { changes: vec![change] }).expect("it can be written");
    session.record(20, Event::Finished).expect("it can be written");
    drop(session);
    let diff = sandbox.run(&["runs", "diff", &plain.name(), &changed.name()]);
    expect(&diff, 0, &[]);
    let text = stdout(&diff);
    let row = text.lines().find(|line| line.starts_with("Changed while it ran")).expect("a row");
    assert!(
        row.ends_with("–         η 0.001 → 0.01 after step 20") || row.contains("η 0.001 → 0.01 after step 20"),
        "{text}"
    );
    let rate = text.lines().find(|line| line.starts_with("Learning rate")).expect("a row");
    assert!(rate.ends_with("0.01") && rate.contains(" 0.001 "), "the value in force is compared: {text}");
    assert!(text.contains("Train loss"), "{text}");
    let table = sandbox.run(&["runs", "list", "--sort", "run"]);
    assert!(stdout(&table).contains("CHANGED"), "{}", stdout(&table));
    let found = sandbox.run(&["runs", "list", "--filter", "changed ~ η", "--columns", "run"]);
    assert!(stdout(&found).contains(&changed.name()) && !stdout(&found).contains(&plain.name()));
}

#[test]
fn tags_with_the_names_of_fields_of_events_are_imported_under_other_names() {
    let sandbox = Sandbox::new();
    let table = sandbox.path().join("other.csv");
    fs::write(&table, "step,loss,event,line\n1,2.0,3,4\n2,1.5,6,7\n").expect("a new file");
    let output = sandbox.run(&["runs", "import", table.to_str().expect("a path in UTF-8")]);
    expect(&output, 0, &["6 points of 3 tags"]);
    let listed = sandbox.run(&["runs", "list", "--csv", "--columns", "state,loss,event_2,line"]);
    assert_eq!(stdout(&listed), "state,loss,event_2,line\nfinished,1.5,6,7\n");
}

#[test]
fn a_plain_list_names_what_differs() {
    let sandbox = Sandbox::new();
    for omega in ["0.01", "0.1"] {
        finished(&sandbox.runs(), "one", &[("optimizer", "Adam"), ("optimizer.weight_decay", omega)], 0.5);
    }
    let output = sandbox.run(&["runs", "list"]);
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    let column = lines[0].find("WEIGHT DECAY").expect("a column");
    let mut values = lines[1..].iter().filter_map(|line| line.get(column..)?.split(' ').next()).collect::<Vec<_>>();
    values.sort_unstable();
    assert_eq!(values, ["0.01", "0.1"], "{text}");
    assert!(!text.contains("BATCH SIZE"), "{text}");
}

#[test]
fn a_mistake_in_a_filter_is_marked() {
    let sandbox = Sandbox::new();
    four(&sandbox);
    let output = sandbox.run(&["runs", "list", "--filter", "optimiser = FOCUS"]);
    expect(&output, 2, &[]);
    let text = stderr(&output);
    assert!(text.contains("there is no field `optimiser`; did you mean `optimizer`?"), "{text}");
    assert!(text.contains("\noptimiser = FOCUS\n^^^^^^^^^"), "{text}");
    let none = sandbox.run(&["runs", "list", "--filter", "seed = 9"]);
    expect(&none, 0, &["none of 4 runs in"]);
}

#[test]
fn tables_and_runs_from_elsewhere_are_imported_and_the_rest_is_named() {
    let sandbox = Sandbox::new();
    let other = sandbox.path().join("other");
    let copied = finished(&other, "mine", &[("seed", "7")], 0.5);
    fs::create_dir_all(other.join("adam")).expect("a new folder");
    fs::write(other.join("adam/metrics.csv"), "step,loss,val_loss\n1,2.0,\n2,1.5,1.75\n").expect("a new file");
    fs::write(other.join("words.csv"), "name,value\na,1\n").expect("a new file");
    let import = || sandbox.run(&["runs", "import", other.to_str().expect("a path in UTF-8")]);
    let output = import();
    expect(&output, 0, &["3 points of 2 tags", "is left out: expected a header with a column `step`"]);
    let target = sandbox.runs().join(copied.name());
    for file in [RunFolder::CONFIG, RunFolder::EVENTS] {
        let [own, old] = [&target, &copied.path().to_owned()].map(|run| fs::read(run.join(file)).expect("it is there"));
        assert_eq!(own, old, "{file}");
    }
    let listed = sandbox.run(&["runs", "list", "--sort", "run", "--columns", "name,best_val_loss,state"]);
    says(stdout(&listed), &["adam", "1.750", "finished"]);
    // Again, only the table is read.
    expect(&import(), 0, &["of the same name, was imported before"]);
}

/// Writes runs of two rules at three learning rates with these test losses, and one with a validation loss.
fn rated(sandbox: &Sandbox) {
    let of = |settings: &[(&str, &str)], metric, loss| {
        evaluated(&sandbox.runs(), "rated", settings, 1.0, Some((metric, loss)));
    };
    of(&[("optimizer", "Adam"), ("steps", "30")], MetricId::VAL_LOSS, 4.0);
    for (rate, adam, focus) in [("0.003", 0.388, 0.35), ("0.001", 0.3, 0.244), ("0.0003", 0.289, 0.26)] {
        of(&[("optimizer", "Adam"), ("learning_rate", rate)], MetricId::TEST_LOSS, adam);
        of(&[("optimizer", "Focus"), ("learning_rate", rate)], MetricId::TEST_LOSS, focus);
    }
}

#[test]
fn the_best_learning_rate_follows_from_the_metric_of_the_shown_runs() {
    let sandbox = Sandbox::new();
    rated(&sandbox);
    let list = |args: &[&str]| {
        let usual = ["runs", "list", "--group-by", "optimizer", "--best-over", "lr"];
        let output = sandbox.run(&[&usual, args].concat());
        expect(&output, 0, &[]);
        (stdout(&output).to_owned(), stderr(&output).to_owned())
    };
    let shown = ["--filter", "best_test_loss < 9", "--columns", "best_test_loss", "--sort", "optimizer"];
    let (csv, said) = list(&[&shown[..], &["--csv"]].concat());
    assert_eq!(
        csv,
        "optimizer,learning_rate,learning_rate_edge,runs,best_test_loss,best_test_loss_std\n\
         Adam,0.0003,≤,1,0.289,\nFOCUS,0.001,,1,0.244,\n"
    );
    assert!(said.contains("the best learning rate is that of best_test_loss"), "{said}");
    let edge = "Adam: the best learning rate, 0.0003, is at the edge of the learning rates tried, 0.0003 to 0.003: widen \
                them below 0.0003";
    assert!(said.contains(edge), "{said}");
    let (text, _) = list(&shown);
    assert!(text.contains("Adam       ≤ 0.0003       1     0.2890"), "{text}");
    // With the run of another metric, Adam's runs have none in common.
    let (text, said) = list(&["--columns", "best_test_loss", "--sort", "optimizer"]);
    let why = "warning: Adam: all 4 are shown, as its runs are judged by different losses (best_test_loss in 3, best_val_loss in 1)";
    assert!(said.contains(why), "{said}");
    assert!(text.contains("Adam       3 values       4"), "{text}");
    // An alias makes one column of both metrics.
    let (text, said) = list(&["--alias", "test_loss=val_loss", "--columns", "best_val_loss", "--sort", "optimizer"]);
    assert!(
        said.contains("that of best_val_loss") && text.contains("Adam       ≤ 0.0003       1     0.2890"),
        "{text}"
    );
    // What the window shows in one plot changes no column.
    sandbox.write("valleyscope/metrics.ron", "{\"test_loss\": \"val_loss\"}");
    expect(&sandbox.run(&["runs", "list", "--sort", "best_test_loss", "--columns", "run"]), 0, &[]);
}

#[test]
fn json_has_all_settings_with_the_same_keys_whichever_other_runs_there_are() {
    let sandbox = Sandbox::new();
    finished(&sandbox.runs(), "first", &[("seed", "18446744073709551615")], 0.5);
    let list = |args: &[&str]| -> Vec<serde_json::Map<String, serde_json::Value>> {
        let output = sandbox.run(&[&["runs", "list", "--json"], args].concat());
        expect(&output, 0, &[]);
        serde_json::from_str(stdout(&output)).expect("JSON")
    };
    let alone = list(&["--sort", "run"]);
    for (key, value) in [("seed", u64::MAX), ("batch_size", 128), ("step", 20)] {
        assert_eq!(alone[0][key], value, "{key}");
    }
    assert_eq!(alone[0]["optimizer.gamma"], 0.2);
    // Settings that the config leaves out are there, too.
    assert_eq!((&alone[0]["processes"], &alone[0]["shard_optimizer"]), (&1.into(), &"false".into()));
    assert_eq!(alone[0].get("keep_every"), Some(&serde_json::Value::Null));
    assert_eq!(alone[0]["note"], serde_json::Value::Null);
    evaluated(&sandbox.runs(), "second", &[("optimizer", "Adam")], 0.5, Some((MetricId::VAL_LOSS, 1.0)));
    let both = list(&["--sort", "run"]);
    assert_eq!(both[0], alone[0]);
    assert!(both[1].contains_key("best_val_loss") && !both[1].contains_key("optimizer.gamma"));
    let groups = list(&["--group-by", "optimizer", "--sort", "-optimizer"]);
    assert_eq!((&groups[0]["batch_size"], &groups[0]["loss_std"]), (&128.into(), &serde_json::Value::Null));
    // A text has them with all digits, too.
    let text = sandbox.run(&["runs", "list", "--columns", "seed"]);
    assert!(stdout(&text).contains("18446744073709551615"), "{}", stdout(&text));
}

#[test]
fn lists_show_the_settings_in_force_and_the_optimizer_before_the_first_step() {
    let sandbox = Sandbox::new();
    let changed = finished(&sandbox.runs(), "changed", &[], 0.5);
    let mut session = RunSession::begin(&changed).expect("a session can begin");
    let change = |name: &str, label: &str, before, now| {
        let (name, label) = (name.to_owned(), label.to_owned());
        SettingChange { name, label, before, now }
    };
    let changes = vec![change("learning_rate", "η", 0.001, 0.01), change("optimizer.gamma", "γ", 0.2, 0.4)];
    session.record(20, Event::Changed { changes }).expect("it can be written");
    session.record(20, Event::Finished).expect("it can be written");
    drop(session);
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let adam = mnist.preset.with("optimizer", "Adam").expect("it can be set");
    RunFolder::create(&sandbox.runs(), "begun", &adam.to_ron()).expect("a run can be made");
    let list = sandbox.run(&["runs", "list"]);
    expect(&list, 0, &["LEARNING RATE", "0.01 ", "γ 0.2 → 0.4 after step 20", "Adam", "0.001 "]);
    let table = sandbox.run(&["runs", "list", "--columns", "lr,gamma,batch_size", "--sort", "lr", "--csv"]);
    assert_eq!(stdout(&table), "learning_rate,optimizer.gamma,batch_size\n0.001,,128\n0.01,0.4,128\n");
    let found = sandbox.run(&["runs", "list", "--filter", "lr = 0.01", "--columns", "run"]);
    assert!(stdout(&found).contains(&changed.name()), "{}", stdout(&found));
    fs::write(changed.notes(), "(title: ").expect("it can be written");
    let show = sandbox.run(&["runs", "show", &changed.name()]);
    expect(&show, 0, &["η 0.001 → 0.01 after step 20", "warning: cannot read"]);
    for (name, value) in [("learning_rate", "0.01"), ("optimizer.gamma", "0.4")] {
        let line = stdout(&show).lines().find(|line| line.starts_with(name)).expect("a setting");
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), [name, value]);
    }
}

fn import_table(sandbox: &Sandbox, name: &str, text: &str) -> std::process::Output {
    let table = sandbox.path().join(name);
    fs::write(&table, text).expect("a new file");
    sandbox.run(&["runs", "import", table.to_str().expect("a path in UTF-8")])
}

#[test]
fn an_imported_run_is_intact_and_an_import_of_nothing_fails() {
    let sandbox = Sandbox::new();
    let output = import_table(&sandbox, "a.csv", "step,loss,seed,rule\n1,2,3,Adam\n2,1,3,Adam\n");
    expect(&output, 0, &["2 points of 1 tags and 2 settings"]);
    let checked = sandbox.run(&["runs", "check", "last"]);
    expect(&checked, 0, &[]);
    assert!(stdout(&checked).contains("of another program, with 2 settings"), "{}", stdout(&checked));
    let listed = sandbox.run(&["runs", "list", "--csv", "--columns", "seed,rule", "--filter", "rule = adam"]);
    assert_eq!(stdout(&listed), "seed,rule\n3,Adam\n");
    expect(&sandbox.run(&["runs", "diff", "last", "last"]), 0, &[]);
    let resumed = sandbox.run(&["train", "--resume", "last"]);
    assert!(stderr(&resumed).contains("another program has trained the run"), "{}", stderr(&resumed));
    let nothing = import_table(&sandbox, "b.csv", "epoch,loss\n0,1\n");
    expect(&nothing, 2, &["is left out: expected a header with a column `step`", "error: nothing was imported"]);
    let several = "step,split,loss\n1,train,2\n1,val,3\n2,train,1\n";
    expect(&import_table(&sandbox, "c.csv", several), 2, &["its column `split` has several texts, and steps repeat"]);
}

#[test]
fn an_evaluation_of_lightning_and_of_an_exported_run_stays_one() {
    let sandbox = Sandbox::new();
    let table =
        "epoch,step,train_loss_epoch,train_loss_step,val_loss\n0,9,,2.5,\n0,19,,2.0,\n0,19,2.25,,\n0,19,,,2.75\n";
    expect(&import_table(&sandbox, "metrics.csv", table), 0, &["the loss of the training is `train_loss_step`"]);
    let list = sandbox.run(&["runs", "list"]);
    let row = stdout(&list).lines().nth(1).expect("a run");
    assert!(row.contains("metrics") && row.contains(" 2.000 ") && row.contains(" 2.750 "), "{row}");

    let run = RunFolder::create(&sandbox.join("own"), "gpt", "no preset").expect("a run can be made");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    session.record(0, Event::Started(Started { steps: 20, ..Started::default() })).expect("it can be written");
    for step in [10, 20] {
        session.record(step, Event::Train(MetricValues::from([(MetricId::LOSS, 2.0)]))).expect("it can be written");
        let losses = [(MetricId::TRAIN_LOSS, 1.5), (MetricId::VAL_LOSS, 1.75)];
        session.record(step, Event::Eval(MetricValues::from(losses))).expect("it can be written");
    }
    session.record(20, Event::Finished).expect("it can be written");
    drop(session);
    for (option, out, import) in [("--out", "own.csv", "own.csv"), ("--tensorboard", "logs", "logs")] {
        expect(&sandbox.run(&["runs", "--runs", "own", "export", "last", option, out]), 0, &[]);
        let again = format!("again-{import}");
        expect(&sandbox.run(&["runs", "--runs", &again, "import", import]), 0, &["6 points of 3 tags"]);
        let list = sandbox.run(&["runs", "--runs", &again, "list"]);
        assert!(stdout(&list).contains(" 1.750 ") && stdout(&list).contains(" 1.500 "), "{}", stdout(&list));
        let copies = RunFolder::list(&sandbox.join(&again)).expect("a folder of runs");
        let [before, after] = [run.clone(), copies[0].clone()].map(|run| {
            let mut reader = RunReader::new(run);
            reader.poll().expect("the events can be read");
            [MetricId::LOSS, MetricId::VAL_LOSS].map(|metric| {
                let curve = reader.history().curve(metric);
                let seconds = if option == "--out" { curve.wall_s.to_vec() } else { Vec::new() };
                (curve.step.to_vec(), seconds, curve.value.to_vec())
            })
        });
        assert_eq!(before, after, "{option}");
    }
}

#[test]
fn a_hidden_run_is_imported_under_a_visible_name_and_stays() {
    let sandbox = Sandbox::new();
    let hidden = finished(&sandbox.join("in"), "mine", &[], 0.5);
    fs::rename(hidden.path(), sandbox.join("in/.import-abc")).expect("it can be renamed");
    let remains = sandbox.join("in/.import-xyz/cut");
    fs::create_dir_all(&remains).expect("a new folder");
    fs::write(remains.join("config.ron"), "").expect("a new file");
    expect(&sandbox.run(&["runs", "import", "in"]), 0, &["are in"]);
    let runs: Vec<String> = RunFolder::list(&sandbox.runs()).expect("runs").iter().map(RunFolder::name).collect();
    assert_eq!(runs, ["import-abc"]);
}

#[test]
fn texts_that_a_spreadsheet_would_compute_have_an_apostrophe() {
    let sandbox = Sandbox::new();
    let text = "step,loss,=1+1,-3,'a,''=b\n1,2,3,4,7,8\n2,1,5,6,7.5,9\n";
    expect(&import_table(&sandbox, "=HYPERLINK(1).csv", text), 0, &["10 points of 5 tags"]);
    let listed = sandbox.run(&["runs", "list", "--csv", "--columns", "name"]);
    assert_eq!(stdout(&listed), "name\n'=HYPERLINK(1)\n");
    expect(&sandbox.run(&["runs", "export", "last", "--out", "out.csv"]), 0, &[]);
    let header = fs::read_to_string(sandbox.join("out.csv")).expect("it is there");
    assert!(header.starts_with("step,time,wall_s,loss,''=b,'a,-3,'=1+1\n"), "{header}");
    expect(&sandbox.run(&["runs", "--runs", "again", "import", "out.csv"]), 0, &[]);
    let again = sandbox.run(&["runs", "--runs", "again", "list", "--csv", "--columns", "=1+1"]);
    assert_eq!(stdout(&again), "'=1+1\n5\n");
    let again = sandbox.run(&["runs", "--runs", "again", "list", "--csv", "--columns", "'a,'=b"]);
    assert_eq!(stdout(&again), "'a,''=b\n7.5,9\n");
}

#[test]
fn a_setting_of_one_run_and_a_metric_of_another_have_columns_of_their_own() {
    let sandbox = Sandbox::new();
    expect(&import_table(&sandbox, "a.csv", "step,loss,batch_size\n1,2,32\n2,1,32\n"), 0, &["and 1 setting"]);
    expect(&import_table(&sandbox, "b.csv", "step,loss,batch_size\n1,2,32\n2,1,64\n"), 0, &["4 points of 2 tags"]);
    let columns = ["--sort", "name", "--columns", "name,batch_size,last_batch_size"];
    let listed = sandbox.run(&[&["runs", "list", "--csv"][..], &columns].concat());
    assert_eq!(stdout(&listed), "name,batch_size,last_batch_size\na,32,\nb,,64\n");
}
