//! The tab with the triangle of signal, noise and oscillation, on runs that the test writes.

use egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use valleyscope_experiments::preset::built_ins;
use valleyscope_runs::{Event, Measure, MetricId, MetricValues, RunFolder, RunSession, Started};

use super::harness::App;
use super::training::{begun, choose, compare, listed, open_tab, plotted, trained};

fn measure(noise: f64, tensors: &[(&str, f64)]) -> Event {
    let shares = |noise: f64| {
        [(Measure::SIGNAL, 0.0), (Measure::NOISE_SHARE, noise), (Measure::OSCILLATION, 1.0 - noise)]
            .into_iter()
            .chain([(Measure::NOISE, 10.0 * noise)])
            .collect::<MetricValues>()
    };
    let mut metrics = shares(noise);
    metrics.set(Measure::EXPONENT, 0.1);
    let tensors = tensors.iter().map(|(name, noise)| ((*name).to_owned(), shares(*noise))).collect();
    Event::Measure(Measure { metrics, tensors })
}

fn record(session: &mut RunSession, step: u64, event: Event) {
    session.record(step, event).expect("it can be written");
}

/// Chooses a run, and opens the tab.
fn open(app: &mut App, title: &str) {
    choose(app, title);
    app.until("its details", |app| app.harness.query_by_role_and_label(Role::Button, "Triangle").is_some());
    app.button("Triangle").settle();
}

#[test]
fn a_measured_run_shows_its_place_in_the_triangle_and_the_noise_of_its_tensors_live() {
    let tensors = [("layers.0.linear.weight", 0.25), ("layers.5.linear.weight", 0.97), ("head.bias", 0.5)];
    let (mut app, mut session) = open_tab(|runs| {
        let mut session = begun(runs, "Measured", 1, |_| 1.0);
        record(&mut session, 20, measure(0.5, &[]));
        record(&mut session, 30, measure(0.93, &tensors));
        let mut other = begun(runs, "Other", 2, |_| 1.0);
        record(&mut other, 20, measure(0.1, &[]));
        session
    });
    listed(&mut app, 2);
    open(&mut app, "Measured");
    let at = "Step 30: signal 0.00, noise 0.93, oscillation 0.07:";
    app.until("its place", |app| app.shows(at) && plotted(app, "Triangle of the runs").starts_with(at));
    assert!(app.shows("Pixels with additive noise (the run’s exponent is 0.10)"));
    assert!(app.shows("A hypothesis"));
    app.until("its tensors", |app| app.shows("Most noise: layers.5.linear.weight, 0.97 (step 30)"));
    assert_eq!(plotted(&app, "Shares of head.bias"), "signal 0.00, noise 0.50, oscillation 0.50");
    let order = |app: &App| {
        let bars = tensors.map(|(name, _)| (name, app.harness.get_by_label(&format!("Shares of {name}")).rect().top()));
        let mut bars = bars.to_vec();
        bars.sort_by(|one, other| one.1.total_cmp(&other.1));
        bars.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(order(&app), tensors.map(|(name, _)| name));
    app.button("Sort the tensors by their share of noise").settle();
    assert_eq!(order(&app), ["layers.5.linear.weight", "head.bias", "layers.0.linear.weight"]);
    app.button("Sort the tensors in the order of the model").settle();
    assert_eq!(order(&app), tensors.map(|(name, _)| name));

    record(&mut session, 40, measure(0.8, &[("head.bias", 0.75)]));
    app.until("the new measures", |app| app.shows("Step 40: signal 0.00, noise 0.80") && app.shows("(step 40)"));
    assert_eq!(plotted(&app, "Shares of head.bias"), "signal 0.00, noise 0.75, oscillation 0.25");
    // The last chosen one of several runs is described.
    compare(&mut app, "Other");
    app.until("the other run", |app| app.shows("Step 20: signal 0.00, noise 0.10, oscillation 0.90:"));
}

#[test]
fn the_tab_of_a_run_without_measures_explains_why() {
    let ended = |run: &RunFolder, title: &str| {
        let mut session = RunSession::begin(run).expect("a session can begin");
        record(&mut session, 0, Event::Started(Started { title: title.to_owned(), ..Started::default() }));
        record(&mut session, 1, Event::Train([(MetricId::LOSS, 1.0)].into()));
        record(&mut session, 1, Event::Finished);
    };
    let (mut app, _open) = open_tab(|runs| {
        let own = RunFolder::create(runs, "own", "").expect("a run can be made");
        ended(&own, "Own");
        std::fs::remove_file(own.config()).expect("it was written");
        std::fs::write(own.other_config(), "{}").expect("it can be written");
        let gpt2 = built_ins().iter().find(|built_in| built_in.name == "gpt2-shakespeare").expect("it is built in");
        let single = gpt2.preset.with("batch_size", "1").expect("it can be set").to_ron();
        ended(&RunFolder::create(runs, "gpt2", &single).expect("a run can be made"), "Single");
        trained(runs, &[("measure_every", "0"), ("title", "\"None\"")]);
        trained(runs, &[("title", "\"Ended\"")]);
        begun(runs, "Young", 1, |_| 1.0)
    });
    listed(&mut app, 5);
    for (title, why) in [
        ("Own", "“vs.torch.Probe”"),
        ("None", "its “measure_every” is 0"),
        ("Single", "so small batches"),
        ("Ended", "due every 100 steps"),
        ("Young", "the first measures are due after 100 steps"),
    ] {
        choose(&mut app, title);
        app.until(title, |app| app.harness.query_by_role_and_label(Role::Button, "Triangle").is_some());
        let tab = app.harness.get_by_role_and_label(Role::Button, "Triangle");
        tab.click_accesskit();
        app.until(why, |app| app.shows(why));
        assert!(app.harness.query_by_label("Triangle of the runs").is_none());
    }
}
