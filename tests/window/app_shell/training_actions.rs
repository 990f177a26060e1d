//! Changing settings of a run while it is trained, and marks on its curves.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_engine::optimizer::RuleKind;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::view::{Background, Pen};
use valleyscope_runs::{Event, EventRecord, MetricId, RunCommand, RunFolder, RunReader, SettingChange, Timestamp};

use super::exports::export;
use super::harness::{App, Begin};
use super::training::{
    begun, compare, finished, grid_loss, listed, open_results, open_tab, plotted, select, trained, trained_grid,
};
use super::training_presets::can_start;
use super::worker::{at_work, end, ready};

fn value(app: &App, field: &str) -> Option<String> {
    app.harness.get_by_role_and_label(Role::TextInput, field).value()
}

#[test]
fn settings_of_a_run_are_changed_from_its_page_and_marked_on_its_curves() {
    let (mut app, mut session) = open_tab(|runs| begun(runs, "Trains", 1, |_| 1.0));
    listed(&mut app, 1);
    select(&mut app, "Trains");
    app.until("the settings", |app| app.shows("Change while it runs"));
    app.button("Change while it runs").settle();
    assert_eq!(value(&app, "Change Attraction γ").as_deref(), Some("0.2"));
    assert_eq!(value(&app, "Change Batch size").as_deref(), Some("128"));
    let can_apply = |app: &App| {
        let apply = app.harness.get_by_role_and_label(Role::Button, "Apply the changed settings");
        !apply.accesskit_node().is_disabled()
    };
    assert!(!can_apply(&app));
    // A value out of range names the range, and cannot be applied.
    app.type_into("Change Attraction γ", "99");
    assert!(app.shows("optimizer.gamma") && !can_apply(&app));
    app.button("Put back");
    // The run has taken steps already.
    app.type_into("Change Steps", "1");
    assert!(app.shows("Steps must be more than") && !can_apply(&app));
    app.button("Put back");
    app.type_into("Change Attraction γ", "0.4");
    app.settle();
    assert!(can_apply(&app));
    // Text that is no number is refused while it is typed.
    app.replace("Change Batch size", Role::TextInput, "abc");
    assert!(app.shows("expected a whole number") && !can_apply(&app));
    app.key(egui::Key::Escape);
    assert!(can_apply(&app));
    assert!(app.shows("Saves a checkpoint after the present step, then continues with γ 0.2 → 0.4."));
    app.button("Apply the changed settings").settle();
    assert!(app.shows("Requested.") && !can_apply(&app));
    app.until("the command", |_| session.run().commands().exists());
    let [(id, command)] = &session.commands().expect("they can be read")[..] else { panic!("one is expected") };
    let settings = BTreeMap::from([("optimizer.gamma".to_owned(), 0.4)]);
    assert_eq!(*command, RunCommand::Set { settings });
    let gamma = SettingChange { name: "optimizer.gamma".into(), label: "γ".into(), before: 0.2, now: 0.4 };
    session.record(20, Event::Changed { changes: vec![gamma] }).expect("it can be written");
    session.answer(id, true, "γ 0.2 → 0.4 after step 20").expect("it can be written");
    app.until("the mark", |app| plotted(app, "Plot of Train loss").contains("γ 0.2 → 0.4 after step 20"));
    app.until("the new values", |app| !can_apply(app));
    assert_eq!(value(&app, "Change Attraction γ").as_deref(), Some("0.4"));
    drop(session);
    app.until("the end of the worker", |app| !app.shows("Change while it runs"));
}

#[test]
fn the_warning_of_a_run_opens_and_buttons_stay_in_their_places() {
    let places = |app: &App| -> Vec<egui::Rect> {
        let buttons = ["Stop the run", "Resume the run", "Fork the run", "Rename the run", "Delete the run"];
        buttons.iter().map(|name| app.harness.get_by_role_and_label(Role::Button, name).rect()).collect()
    };
    let (mut app, _session) = open_tab(|runs| {
        finished(
            runs,
            "A finished run with a title that is much longer than its page is wide, and goes on and on",
            1,
            |_| 1.0,
        );
        let mut session = begun(runs, "Warned", 2, |_| 1.0);
        session.record(20, Event::Warning { message: "look at this".into() }).expect("it can be written");
        session
    });
    listed(&mut app, 2);
    select(&mut app, "Warned");
    app.until("the warning", |app| app.shows("1 warning"));
    let of_short = places(&app);
    app.button("1 warning").settle();
    let text = app.harness.get_by_label("Warnings of the run").value();
    assert!(text.is_some_and(|text| text.contains("step 20: look at this")));
    select(&mut app, "A finished run with a title that is much longer than its page is wide, and goes on and on");
    assert_eq!(places(&app), of_short);
}

#[test]
fn curves_are_drawn_over_the_steps_since_the_fork() {
    let (mut app, ()) = open_tab(|runs| {
        finished(runs, "One", 1, |step| 1.0 / step as f64);
        finished(runs, "Two", 2, |step| 2.0 / step as f64);
    });
    listed(&mut app, 2);
    select(&mut app, "One");
    compare(&mut app, "Two");
    app.choose("Horizontal axis", "steps since the fork");
    app.until("the axis", |app| app.shows("Train loss over steps since the fork"));
}

/// Writes a checkpoint of a single tensor of four numbers.
pub fn checkpoint(run: &RunFolder, step: u64) {
    let header = br#"{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#;
    let tensors = [&(header.len() as u64).to_le_bytes()[..], header, &[7; 16]].concat();
    let preset = Preset::read(&run.config()).expect("it was written").to_ron();
    let text = |text_sum: u32, crc32: u32| {
        format!(
            "(version: 1, step: {step}, wall_s: 1.0, optimizer_steps: {step}, powers: {{}}, best: None, data: \"digits\", \
             config: \"\", preset: {preset:?}, since: None, bytes: {}, text_sum: {text_sum}, crc32: {crc32})",
            tensors.len()
        )
    };
    let sum = crc32fast::hash(&[&tensors[..], text(0, 0).as_bytes()].concat());
    let path = run.path().join(format!("checkpoint-{step:08}.safetensors"));
    std::fs::write(path.with_extension("ron"), text(crc32fast::hash(text(0, sum).as_bytes()), sum))
        .expect("it can be written");
    std::fs::write(path, tensors).expect("it can be written");
}

/// Opens the window with the only run of a folder shown, which has checkpoints of steps 10 and 20.
fn shown(place: &Path, run: &RunFolder) -> App {
    [10, 20].into_iter().for_each(|step| checkpoint(run, step));
    let mut app = ready(Begin { runs: Some(place), ..Begin::default() });
    listed(&mut app, 1);
    let row = format!("Run {}", app.state().training().runs()[0].in_full());
    app.button(&row).settle();
    app
}

/// Takes the settings of the shown run, to continue from its checkpoint of step 10.
fn fork(app: &mut App) {
    app.until("its checkpoints", |app| {
        let fork = app.harness.query_by_role_and_label(Role::Button, "Fork the run");
        fork.is_some_and(|button| !button.accesskit_node().is_disabled())
    });
    app.button("Fork the run").settle();
    let chosen = app.harness.get_by_role_and_label(Role::RadioButton, "step 20, the newest");
    assert_eq!(chosen.accesskit_node().toggled(), Some(egui::accesskit::Toggled::True));
    app.click(Role::RadioButton, "step 10");
    app.button("Take the settings").settle();
}

#[test]
fn a_fork_is_begun_from_a_run_and_undone_before() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let run = trained(place.path(), &[("learning_rate", "0.003"), ("steps", "40")]);
    let mut app = shown(place.path(), &run);
    let line = format!("Forks {} at step 10", run.name());
    fork(&mut app);
    assert!(app.shows(&line));
    app.button("Do not fork").settle();
    assert!(!app.shows(&line));
    fork(&mut app);
    app.until("the worker's answer", can_start);
    app.button("Start the training");
    let new = at_work(&mut app, place.path(), 2);
    let mut reader = RunReader::new(new.clone());
    reader.poll().expect("it can be read");
    let forked = reader.history().forked().expect("it is a fork").clone();
    assert_eq!((forked.from_run, forked.from_step, forked.keeps_optimizer), (run.name(), 10, true));
    let config = Preset::read(&new.config()).expect("it was written");
    assert_eq!(config, Preset::read(&run.config()).expect("it was written"));
    // Its curve is that of the other run, up to the fork.
    assert_eq!(reader.history().curve(MetricId::LOSS).step, (1..=10).collect::<Vec<_>>());
    app.until("where it comes from", |app| app.shows(&format!("forked from {} at step 10", run.name())));
    app.until("its line in the list", |app| app.shows(&format!("fork of {} at step 10", run.name())));
    assert!(!app.shows(&line), "the next run begins at step 0");
    app.until("its curve", |app| {
        let mut drawn = app.state().training().drawn().iter();
        drawn.any(|drawn| {
            drawn.runs == [new.clone()] && drawn.tracks.get(&MetricId::LOSS).is_some_and(|it| it.len() == 10)
        })
    });
    app.settle();
    end(&new, Event::Finished);
}

#[test]
fn a_fork_that_was_not_started_is_dropped_at_the_next_start() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let run = trained(place.path(), &[("learning_rate", "0.003"), ("steps", "40")]);
    let mut app = shown(place.path(), &run);
    fork(&mut app);
    assert!(app.shows(&format!("Forks {} at step 10", run.name())));
    let storage = app.state().session();
    let again = Begin { preset: None, runs: Some(place.path()), storage: Some(&storage), ..Begin::default() };
    let mut again = ready(again);
    listed(&mut again, 1);
    let config = Preset::read(&run.config()).expect("it was written");
    assert_eq!(*again.state().training().preset(), config, "the settings come back");
    assert!(!again.shows("Forks "));
}

#[test]
fn a_run_that_cannot_be_forked_is_reported_at_the_start() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let run = trained(place.path(), &[("steps", "40")]);
    let mut app = shown(place.path(), &run);
    fork(&mut app);
    std::fs::remove_dir_all(run.path()).expect("it can be removed");
    app.until("the worker's answer", can_start);
    app.button("Start the training");
    app.until("the refusal", |app| app.shows("It cannot be forked: there is no folder"));
    assert!(RunFolder::list(place.path()).expect("it can be read").is_empty(), "nothing is left of it");
}

#[test]
fn a_fork_without_steps_left_is_reported_at_the_field() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let run = trained(place.path(), &[("steps", "10")]);
    let mut app = shown(place.path(), &run);
    fork(&mut app);
    let refusal = "steps must be more than 10, the step that the fork goes on from, found 10";
    assert!(app.shows(refusal) && app.shows("“Steps” can't be used as it is; see below."));
    assert!(app.harness.get_by_role_and_label(Role::Button, "Start the training").accesskit_node().is_disabled());
    app.button("Do not fork").settle();
    assert!(!app.shows(refusal));
}

/// Makes a run look as if its worker were on another machine with a last heartbeat `seconds` ago.
fn lose(run: &RunFolder, seconds: u64) {
    let heard = Timestamp::now() - Duration::from_secs(seconds);
    let events = std::fs::read_to_string(run.events()).expect("it can be read");
    let old = |line: &str| {
        let record = EventRecord::parse(line.as_bytes()).expect("a record");
        EventRecord { time: heard, ..record }.to_line() + "\n"
    };
    std::fs::write(run.events(), events.lines().map(old).collect::<String>()).expect("it can be written");
    std::fs::write(run.heartbeat(), format!("{heard}\n")).expect("it can be written");
    let holder = r#"{"host":"far-away","pid":1,"started":"2026-03-01T12:00:00Z","lines":0}"#;
    std::fs::write(run.lock(), holder).expect("it can be written");
}

#[test]
fn a_silent_run_can_be_deleted_and_resumed_after_a_question() {
    let (mut app, ()) = open_tab(|runs| {
        for (title, seconds) in [("Lost", 1200), ("Silent", 300)] {
            let run = begun(runs, title, 0, |_| 1.0).run().clone();
            lose(&run, seconds);
        }
    });
    listed(&mut app, 2);
    select(&mut app, "Silent");
    app.until("its status", |app| app.shows("last seen 5 min ago, on far-away"));
    let delete = app.harness.get_by_role_and_label(Role::Button, "Delete the run");
    assert!(delete.accesskit_node().is_disabled());
    let resume = app.harness.get_by_role_and_label(Role::Button, "Resume the run");
    assert!(resume.accesskit_node().is_disabled());
    select(&mut app, "Lost");
    app.until("its status", |app| app.shows("last seen 20 min ago, on far-away"));
    for (asked, question) in
        [("Delete the run", "Move this run to the trash?"), ("Resume the run", "Resume this run here?")]
    {
        app.button(asked).settle();
        assert!(app.shows(question));
        assert!(app.shows("It was last seen 20 min ago, on far-away"));
        app.key(Key::Escape);
        assert!(!app.shows(question));
    }
}

#[test]
fn a_run_with_a_changed_config_is_not_resumed_and_damage_is_shown() {
    let (mut app, ()) = open_tab(|runs| {
        let run = begun(runs, "Cut", 0, |_| 1.0).run().clone();
        let events = std::fs::read_to_string(run.events()).expect("it can be read");
        let changed = events.replacen("\"loss\":", "\"loss\"", 1);
        std::fs::write(run.events(), changed).expect("it can be written");
        let config = std::fs::read_to_string(run.config()).expect("it can be read");
        assert!(config.contains("steps: 400"), "{config}");
        std::fs::write(run.config(), config.replace("steps: 400", "steps: 500")).expect("it can be written");
    });
    listed(&mut app, 1);
    select(&mut app, "Cut");
    app.until("the damage", |app| app.shows("events.jsonl is damaged: skipped 1 line that is no event"));
    app.button("Resume the run");
    app.until("the refusal", |app| app.shows("config.ron is not the one that the run was begun with"));
    assert!(app.shows("`steps` was 400 and is 500"));
}

#[test]
fn a_repaired_folder_of_runs_is_no_longer_reported() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let file = place.path().join("runs");
    std::fs::write(&file, "").expect("it can be written");
    let mut app = App::begin(Begin { runs: Some(&file), ..Begin::default() });
    app.harness.key_press_modifiers(Modifiers::COMMAND, Key::Num3);
    app.until("the trouble", |app| app.shows("cannot look into"));
    std::fs::remove_file(&file).expect("it can be removed");
    app.until("its end", |app| !app.shows("cannot look into"));
}

#[test]
fn a_summary_with_a_nan_loss_equals_itself() {
    let (mut app, _) = open_tab(|runs| finished(runs, "Broken", 0, |_| f64::NAN));
    listed(&mut app, 1);
    let [run] = app.state().training().runs() else { panic!("one run is listed") };
    assert!(run.loss().is_some_and(f64::is_nan));
    assert_eq!(*run, run.clone());
    let mut other = (**run).clone();
    other.evaluated.clear();
    assert_ne!(**run, other);
}

#[test]
fn the_reason_of_a_failure_the_log_and_the_config_can_be_read() {
    let (mut app, _) = open_tab(|runs| {
        let mut session = begun(runs, "Broken", 0, |_| f64::NAN);
        std::fs::write(session.run().log(), "loading libraries\ngoing down\n").expect("a log can be written");
        let message = "the GPU is out of memory".to_owned();
        session.record(20, Event::Failed { message }).expect("it can be written");
    });
    listed(&mut app, 1);
    select(&mut app, "Broken");
    app.until("the log", |app| app.harness.query_by_label("Log of the run").is_some());
    assert!(app.shows("failed: the GPU is out of memory"));
    let text = |app: &App, name: &str| app.harness.get_by_label(name).value().unwrap_or_default();
    assert!(text(&app, "Log of the run").contains("going down"));
    app.button("Configuration").settle();
    assert!(text(&app, "Configuration of the run").contains("Mnist("));
}

#[test]
fn results_are_exported_as_figure_and_table() {
    let (mut app, _) = open_results(trained_grid, 12);
    let export_all = |app: &mut App, stem: &str| {
        ["PNG", "SVG", "PDF"].map(|format| export(app, "Figure", &[format], &format!("{stem}.{format}")))
    };
    let [png, svg, pdf] = export_all(&mut app, "results");
    assert!(png.starts_with(b"\x89PNG") && pdf.starts_with(b"%PDF"));
    let csv = String::from_utf8(export(&mut app, "Data", &[], "results.csv")).expect("it is text");
    let mut rows: Vec<&str> = csv.lines().collect();
    rows[1..].sort_unstable();
    assert_eq!((rows[0], rows.len()), ("optimizer,learning_rate,test_loss,test_loss_std,seeds", 1 + 6));
    for (row, index) in rows[1..].iter().zip(0..) {
        let (optimizer, rate) = (index / 3, index % 3);
        let start = format!("{},{},", ["Adam", "Signum"][optimizer], ["0.001", "0.01", "0.1"][rate]);
        let rest = row.strip_prefix(&start).unwrap_or_else(|| panic!("{row} does not begin with {start}"));
        let [mean, std, "2"] = rest.split(',').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let [mean, std] = [mean, std].map(|text| text.parse::<f64>().expect("a number"));
        assert!((mean - grid_loss(optimizer, rate, 0) - 0.01).abs() < 1e-12, "{row}");
        assert!((std - 0.01 * 2.0_f64.sqrt()).abs() < 1e-12, "{row}");
    }
    let has = |svg: Vec<u8>, texts: &[&str]| {
        let svg = String::from_utf8(svg).expect("it is text");
        texts.iter().for_each(|text| assert!(svg.contains(&format!(">{text}<")), "no {text} in the figure"));
    };
    has(svg, &["Adam", "Signum", "learning rate", "test loss", "≥"]);
    app.click(Role::CheckBox, "Parallel axes").settle();
    let [_, svg, _] = export_all(&mut app, "axes");
    has(svg, &["Adam", "Signum", "optimizer", "learning rate", "test loss"]);
    app.button("Export the results");
    assert!(app.shows("Export the file"));
}

#[test]
fn curves_have_the_colours_of_their_optimizers() {
    let runs = [("Adam", "0"), ("Signum", "0"), ("Focus", "0"), ("Focus", "1")];
    let (mut app, _) =
        open_tab(|folder| runs.map(|(rule, seed)| trained(folder, &[("optimizer", rule), ("seed", seed)])));
    listed(&mut app, 4);
    for run in app.state().training().runs().to_vec() {
        app.click(Role::CheckBox, &format!("Compare {}", run.in_full()));
    }
    app.until("all curves", |app| {
        let drawn = app.state().training().drawn();
        drawn.len() == 4 && drawn.iter().all(|drawn| drawn.tracks.contains_key(&MetricId::LOSS))
    });
    app.settle();
    let svg = String::from_utf8(export(&mut app, "Figure", &["SVG"], "curves.svg")).expect("it is text");
    let line = |rule: &str, number: usize| {
        let rule = RuleKind::named(rule).expect("there is such a rule").info();
        let [red, green, blue] = Pen::new(rule.color, number).color_on(Background::Light);
        format!("stroke=\"#{red:02x}{green:02x}{blue:02x}\"")
    };
    for (rule, number, is_drawn) in
        [("Adam", 0, true), ("Signum", 0, true), ("FOCUS", 0, true), ("FOCUS", 1, true), ("Adam", 1, false)]
    {
        let line = line(rule, number);
        assert_eq!(svg.contains(&line), is_drawn, "{rule}, pen {number}: {line}");
    }
    // The paper's colours, where they are visible on white.
    assert!(svg.contains("stroke=\"#f46f43\"") && svg.contains("stroke=\"#80a6e2\""));
}

#[test]
fn a_colour_that_is_chosen_for_a_run_is_that_of_its_curve_and_kept_with_the_session() {
    let (mut app, ()) = open_tab(|runs| {
        finished(runs, "Alone", 1, |step| 1.0 / step as f64);
    });
    listed(&mut app, 1);
    select(&mut app, "Alone");
    let swatch = format!("Colour of {}", app.state().training().runs()[0].in_full());
    app.set_color(&swatch, "G", 20);
    let [red, _, blue] = RuleKind::named("Focus").expect("there is such a rule").info().color;
    let own = app.state().training().runs()[0].color;
    assert_eq!([red, blue], [own[0], own[2]]);
    let memory = app.state().training().memory();
    let chosen = *memory.pens.colors.values().next().expect("it was chosen");
    assert!(memory.pens.colors.len() == 1 && chosen[0].abs_diff(red) <= 1 && chosen[1].abs_diff(20) <= 1, "{chosen:?}");
    let svg = String::from_utf8(export(&mut app, "Figure", &["SVG"], "curves.svg")).expect("it is text");
    let [red, green, blue] = Pen::new(chosen, 0).color_on(Background::Light);
    assert!(svg.contains(&format!("stroke=\"#{red:02x}{green:02x}{blue:02x}\"")), "no {chosen:?}");
    let storage = app.state().session();
    let runs = app.folder.path().join("runs");
    let begin = Begin { preset: None, storage: Some(&storage), runs: Some(&runs), ..Begin::default() };
    let mut again = App::begin(begin);
    listed(&mut again, 1);
    assert_eq!(again.state().training().memory().pens.colors, memory.pens.colors);
    again.take_usual_color(&swatch);
    assert!(again.state().training().memory().pens.colors.is_empty());
}

#[test]
fn curves_are_exported_as_figures_and_points() {
    let (mut app, ()) = open_tab(|runs| {
        finished(runs, "Alone", 1, |step| 1.0 / step as f64);
    });
    listed(&mut app, 1);
    select(&mut app, "Alone");
    let [png, svg, pdf] =
        ["PNG", "SVG", "PDF"].map(|format| export(&mut app, "Figure", &[format], &format!("curves.{format}")));
    let csv = export(&mut app, "Data", &[], "curves.csv");
    let svg = String::from_utf8(svg).expect("it is text");
    for said in [">FOCUS, γ 0.2<", ">train loss<", ">test accuracy (%)<", ">steps<", "Mnist("] {
        assert!(svg.contains(said), "no {said} in the figure");
    }
    assert!(png.starts_with(b"\x89PNG") && pdf.starts_with(b"%PDF"));
    assert!(csv.starts_with(b"step,time,wall_s,loss,"));
}
