//! Filters, columns, order and groups of made runs.

use std::path::Path;

use valleyscope_engine::optimizer::RuleKind;
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_runs::{
    Concern, Event, MetricId, MetricValues, Notes, RunFolder, RunReader, RunSession, Started, Timestamp,
};

use super::*;

/// Writes a run of the built-in preset with these settings, whose last loss is `loss`.
fn written(folder: &Path, settings: &[(&str, &str)], loss: f64, notes: Notes) -> RunFacts {
    let results = [(MetricId::TEST_LOSS, Some(2.0 * loss)), (MetricId::TEST_ACCURACY, Some(0.5))];
    evaluated(folder, settings, loss, &results, notes)
}

/// Writes such a run that logs these metrics of evaluations, with the results of one as far as there are any.
fn evaluated(
    folder: &Path,
    settings: &[(&str, &str)],
    loss: f64,
    results: &[(MetricId, Option<f64>)],
    notes: Notes,
) -> RunFacts {
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in");
    let set = |preset: Preset, (key, value): &(&str, &str)| preset.with(key, value).expect("it can be set");
    let preset = settings.iter().fold(mnist.preset.clone(), set);
    let run = RunFolder::create(folder, "mnist", &preset.to_ron()).expect("a run can be made");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    let metrics = [MetricId::LOSS].into_iter().chain(results.iter().map(|(metric, _)| *metric));
    let metrics = metrics.map(MetricId::info).collect();
    let started = Started { title: "One run".to_owned(), steps: 40, metrics, ..Started::default() };
    session.record(0, Event::Started(started)).expect("it can be written");
    for (step, loss) in [(10, 2.0), (20, loss)] {
        session.record(step, Event::Train(MetricValues::from([(MetricId::LOSS, loss)]))).expect("it can be written");
    }
    let eval = results.iter().filter_map(|(metric, value)| Some((*metric, (*value)?))).collect();
    session.record(20, Event::Eval(eval)).expect("it can be written");
    session.record(20, Event::Finished).expect("it can be written");
    drop(session);
    notes.write(&run).expect("it can be written");
    let mut reader = RunReader::brief(run.clone());
    let status = reader.status(Timestamp::now()).expect("it can be read");
    let settings = RunSettings::of(&preset);
    RunFacts::of(RunSource {
        run: &run,
        settings: &settings,
        history: reader.history(),
        status: &status,
        notes: &notes,
        concerns: &Concern::of(&status, reader.history(), Timestamp::now()),
        aliases: &MetricAliases::default(),
    })
}

/// Makes four runs: two of FOCUS that differ in the seed, and two of Adam, of which one has diverged.
fn four() -> Vec<RunFacts> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let noted = Notes { note: "the baseline".to_owned(), tags: vec!["good".to_owned()], ..Notes::default() };
    [
        (&[("seed", "1")][..], 0.5, noted),
        (&[("seed", "2")], 0.7, Notes::default()),
        (&[("optimizer", "Adam"), ("learning_rate", "0.01")], 0.25, Notes::default()),
        (&[("optimizer", "Adam"), ("learning_rate", "1.0")], f64::NAN, Notes::default()),
    ]
    .into_iter()
    .map(|(settings, loss, notes)| written(folder.path(), settings, loss, notes))
    .collect()
}

fn found(runs: &[RunFacts], filter: &str) -> Vec<usize> {
    let all: Vec<&RunFacts> = runs.iter().collect();
    let columns = Columns::of(&all, true);
    let filter = Filter::parse(filter, &columns).unwrap_or_else(|error| panic!("{}", error.marked(filter)));
    (0..runs.len()).filter(|index| filter.admits(&runs[*index], &[])).collect()
}

#[test]
fn a_filter_compares_settings_losses_states_and_notes() {
    let runs = four();
    for (filter, expected) in [
        ("", &[0, 1, 2, 3][..]),
        ("optimizer = focus", &[0, 1]),
        ("optimizer = FOCUS, seed > 1", &[1]),
        ("optimizer ~ cus", &[0, 1]),
        ("lr < 1e-1, optimizer=Adam", &[2]),
        ("learning_rate = 1e-2", &[2]),
        ("gamma = 0.2", &[0, 1]),
        ("optimizer.gamma != 0.2", &[2, 3]),
        ("best_test_loss <= 1", &[0, 2]),
        ("loss >= 0.5", &[0, 1]),
        ("test_accuracy = 50 %", &[0, 1, 2, 3]),
        ("test_accuracy > 50 %", &[]),
        ("state = finished, note ~ BASE", &[0]),
        ("state = diverged", &[3]),
        ("state != diverged", &[0, 1, 2]),
        ("loss = NaN", &[3]),
        ("loss != nan", &[0, 1, 2]),
        ("tags = good", &[0]),
        ("tags !~ good", &[1, 2, 3]),
        ("baseline", &[0]),
        ("\"the baseline\", focus", &[0]),
        ("began > 2020-01-01, time < 2 h", &[]),
        ("began > 2020-01-01", &[0, 1, 2, 3]),
    ] {
        assert_eq!(found(&runs, filter), expected, "{filter}");
    }
}

#[test]
fn a_filter_takes_every_shown_name_of_a_rule() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let run = |rule: &RuleKind| written(folder.path(), &[("optimizer", rule.key())], 0.5, Notes::default());
    let runs: Vec<RunFacts> = RuleKind::ALL.iter().map(run).collect();
    for (index, rule) in RuleKind::ALL.iter().enumerate() {
        for name in [rule.info().name, rule.key(), &rule.info().name.replace('-', " ")] {
            assert_eq!(found(&runs, &format!("optimizer = {name}")), [index], "{name}");
        }
        for filter in [format!("optimizer ~ {}", rule.key()), rule.key().to_owned()] {
            assert!(found(&runs, &filter).contains(&index), "{filter}");
        }
    }
}

#[test]
fn a_mistake_in_a_filter_is_named_and_marked() {
    let runs = four();
    let all: Vec<&RunFacts> = runs.iter().collect();
    let columns = Columns::of(&all, true);
    for (filter, message, mark) in [
        ("optimiser = FOCUS", "there is no field `optimiser`; did you mean `optimizer`?", "^^^^^^^^^"),
        ("seed = 1, lr < big", "expected a number such as 0.01 or 1e-3, found `big`", "               ^^^"),
        ("lr <", "expected a value after `lr <`", "    ^"),
        ("seed = 1, = 3", "expected a field before `=`", "          ^"),
        ("name < 3", "`<` compares numbers, and `name` has texts; use = or ~", "       ^"),
        ("state = finnished", "there is no state `finnished`; did you mean `finished`?", "        ^^^^^^^^^"),
        ("note ~ \"a", "expected a closing quote `\"`", "       ^^"),
        ("began < soon", "expected a date such as 2026-03-01 or 2026-03-01T12:00, found `soon`", "        ^^^^"),
    ] {
        let error = Filter::parse(filter, &columns).expect_err(filter);
        assert_eq!(error.message, message);
        assert_eq!(error.marked(filter), format!("{filter}\n{mark}"));
    }
}

#[test]
fn settings_that_differ_and_losses_on_held_out_data_are_the_usual_columns() {
    let runs = four();
    let all: Vec<&RunFacts> = runs.iter().collect();
    let columns = Columns::of(&all, true);
    let shown = |layout: &TableLayout| {
        layout.shown(&columns).iter().map(|column| column.field.clone()).collect::<Vec<_>>().join(" ")
    };
    let mut layout = TableLayout::default();
    assert_eq!(
        shown(&layout),
        "name optimizer optimizer.beta2 learning_rate seed state problem loss test_loss best_test_loss test_accuracy step rate time tags note"
    );
    layout.show("note", false);
    layout.show("batch_size", true);
    layout.move_to(&columns, "batch_size", "loss");
    assert_eq!(
        shown(&layout),
        "name optimizer optimizer.beta2 learning_rate seed state problem batch_size loss test_loss best_test_loss test_accuracy step rate time tags"
    );
    // Without the first two runs, the seed does not differ any more, and other columns stay in place.
    let less = Columns::of(&all[2..], true);
    assert!(!layout.shown(&less).iter().any(|column| column.field == "seed"));
    layout.reset();
    assert!(layout.is_usual());
}

#[test]
fn runs_are_sorted_by_several_fields_and_a_diverged_one_is_last() {
    let runs = four();
    let all: Vec<&RunFacts> = runs.iter().collect();
    let columns = Columns::of(&all, true);
    let sorted = |text: &str| {
        let keys = SortKey::parse(text, &columns).expect("they are fields");
        ordered(&all, (0..all.len()).collect(), &keys)
    };
    assert_eq!(sorted("loss"), [2, 0, 1, 3]);
    assert_eq!(sorted("-loss"), [1, 0, 2, 3]);
    let by_both = sorted("optimizer, -seed");
    assert_eq!(by_both[2..], [1, 0]);
    assert!(SortKey::parse("lost", &columns).is_err());
}

#[test]
fn groups_are_the_replicates_or_share_settings_and_are_sorted_by_their_means() {
    let runs = four();
    let all: Vec<&RunFacts> = runs.iter().collect();
    let columns = Columns::of(&all, true);
    let groups = |grouping: &Grouping, sort: &str| {
        let keys = SortKey::parse(sort, &columns).expect("a field");
        let groups = grouping.groups(&all, (0..all.len()).collect(), &keys, &columns);
        groups.into_iter().map(|group| group.shown).collect::<Vec<_>>()
    };
    let by = |field: &str| Grouping { by: vec![field.to_owned()], ..Grouping::default() };
    assert_eq!(groups(&by("optimizer"), ""), [vec![0, 1], vec![2, 3]]);
    assert_eq!(groups(&by(Replicates::FIELD), ""), [vec![0, 1], vec![2], vec![3]]);
    let sorted = groups(&by("learning_rate"), "loss");
    assert_eq!(sorted, [vec![2], vec![0, 1], vec![3]]);
    // Adam's diverged run spoils its mean, but neither its median nor its best learning rate.
    assert_eq!(groups(&by("optimizer"), "loss"), [[0, 1], [2, 3]]);
    let best = Grouping { statistic: Statistic::Best, ..by("optimizer") };
    assert_eq!(groups(&best, "loss"), [[2, 3], [0, 1]]);
    let best_over = Grouping { best_over: Some("learning_rate".to_owned()), ..by("optimizer") };
    assert_eq!(groups(&best_over, ""), [vec![0, 1], vec![2]]);
    assert_eq!(groups(&best_over, "loss"), [vec![2], vec![0, 1]]);
    let loss = Aggregate::of(sorted[1].iter().map(|index| all[*index].get("loss")));
    assert_eq!(loss.text(Format::Measured), "0.60 ± 0.14");
}

/// Makes runs of two rules at several learning rates with these test losses, and one with a validation loss before them.
fn rated() -> Vec<RunFacts> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let of = |settings: &[(&str, &str)], metric, loss| {
        evaluated(folder.path(), settings, 1.0, &[(metric, loss)], Notes::default())
    };
    let other = of(&[("optimizer", "Adam"), ("seed", "7")], MetricId::VAL_LOSS, Some(4.0));
    let rated = |rule: &'static str, rates: [(&'static str, Option<f64>); 4]| {
        rates.map(|(rate, loss)| of(&[("optimizer", rule), ("learning_rate", rate)], MetricId::TEST_LOSS, loss))
    };
    let adam =
        rated("Adam", [("0.003", Some(0.388)), ("0.001", Some(0.3)), ("0.0003", Some(0.289)), ("0.0001", Some(0.31))]);
    let focus = rated("Focus", [("0.003", None), ("0.001", Some(0.294)), ("0.0003", Some(0.244)), ("0.0001", None)]);
    [other].into_iter().chain(adam).chain(focus).collect()
}

#[test]
fn the_best_value_follows_from_the_loss_that_the_shown_runs_have_in_common() {
    let runs = rated();
    let all: Vec<&RunFacts> = runs.iter().collect();
    let columns = Columns::of(&all, true);
    let by_optimizer = Grouping {
        by: vec!["optimizer".to_owned()],
        best_over: Some("learning_rate".to_owned()),
        ..Grouping::default()
    };
    let shown: Vec<&RunFacts> = all[1..].to_vec();
    let columns_of_shown = columns.while_shown(&shown);
    assert!(columns_of_shown.get("best_test_loss").is_some_and(|column| column.is_usual));
    assert!(columns_of_shown.get("best_val_loss").is_some_and(|column| !column.is_usual), "a filter may name it");
    assert!(columns.get("seed").is_some_and(|column| column.is_usual));
    assert!(
        columns_of_shown.get("seed").is_some_and(|column| !column.is_usual),
        "the seeds of the shown runs are equal"
    );
    let groups = by_optimizer.groups(&shown, (0..shown.len()).collect(), &[], &columns_of_shown);
    // A value without a result is not the best, wherever it stands; nor does it widen the range of those tried.
    assert_eq!(groups.iter().map(|group| &group.shown[..]).collect::<Vec<_>>(), [[2], [6]]);
    let remarks = by_optimizer.remarks(&shown, &groups, &columns_of_shown);
    assert_eq!(
        remarks,
        [
            "the best learning rate is that of best_test_loss",
            "FOCUS: the best learning rate, 0.0003, is at the edge of the learning rates tried, 0.0003 to 0.001: widen \
             them below 0.0003"
        ]
    );
    // With the other run Adam's runs are judged by different losses, and a result that nobody has decides nothing.
    let groups = by_optimizer.groups(&all, (0..all.len()).collect(), &[], &columns);
    assert_eq!(groups[0].shown.len(), 5);
    assert_eq!(
        by_optimizer.undecided(&all, &groups, &columns),
        [
            "Adam: all 5 are shown, as its runs are judged by different losses (best_val_loss in 1, best_test_loss in 4): filter them, \
          group by workload too, or sort by a result"
        ]
    );
    let by_missing = SortKey::parse("best_val_loss", &columns).expect("a field");
    let groups = by_optimizer.groups(&shown, (0..shown.len()).collect(), &by_missing, &columns_of_shown);
    let undecided = by_optimizer.undecided(&shown, &groups, &columns_of_shown);
    assert_eq!(undecided[0], "Adam: all 4 are shown, as its runs with a learning_rate have no finite best_val_loss");
    let by_loss = SortKey::parse("best_test_loss", &columns).expect("a field");
    let groups = by_optimizer.groups(&all, (0..all.len()).collect(), &by_loss, &columns);
    assert_eq!(groups.iter().map(|group| &group.shown[..]).collect::<Vec<_>>(), [[7], [3]]);
}

#[test]
fn a_setting_that_cannot_be_widened_is_at_no_edge() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let runs: Vec<RunFacts> = [("0.0", 0.1), ("0.1", 0.2), ("0.2", 0.3)]
        .map(|(decay, loss)| written(folder.path(), &[("optimizer.weight_decay", decay)], loss, Notes::default()))
        .into_iter()
        .collect();
    let all: Vec<&RunFacts> = runs.iter().collect();
    let columns = Columns::of(&all, true);
    let best_over = Some("optimizer.weight_decay".to_owned());
    let grouping = Grouping { by: vec!["optimizer".to_owned()], best_over, ..Grouping::default() };
    let groups = grouping.groups(&all, vec![0, 1, 2], &[], &columns);
    assert_eq!((groups[0].shown.as_slice(), groups[0].edge()), (&[0][..], None));
}

#[test]
fn an_unknown_field_is_never_answered_with_itself() {
    let columns = Columns::of(&[], true);
    let error = SortKey::parse("lr", &columns).expect_err("no run has it").to_string();
    assert!(error.starts_with("there is no field `lr`") && !error.contains("did you mean `lr`"), "{error}");
}
