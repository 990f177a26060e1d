//! `valleyscope lesson`: a lesson as one HTML page.

#[cfg(unix)]
mod browser;
mod decoded;

use std::borrow::Cow;
use std::fs;

use valleyscope_engine::simulation::{Setting, Simulation, SimulationSpec};
use valleyscope_experiments::preset::{LandscapePreset, Preset, built_ins};
use valleyscope_experiments::view::DiagnosticMetric;

use self::decoded::{Page, Step};
use super::doctor::{Sandbox, expect_code, expect_error};

impl Sandbox {
    /// Writes a lesson's page and returns it.
    #[track_caller]
    fn lesson_page(&self, preset: &str, file: &str) -> String {
        expect_code(&self.run(&["lesson", preset, "--html", file]), 0);
        fs::read_to_string(self.join(file)).unwrap()
    }
}

fn built_in(name: &str) -> LandscapePreset {
    let found = built_ins().iter().find(|built_in| built_in.name == name).unwrap();
    let Preset::Landscape(preset) = &found.preset else { panic!("{name} is no landscape") };
    preset.clone()
}

/// A lesson with a schedule, long runs, a rule that runs away, and a run that a later step continues.
const WILD: &str = r#"
Landscape(
    version: 1,
    title: "</script><b>Wild</b> & \"odd\"",
    simulations: [(spec: (
        noise: 1.0,
        seed: 3,
        particles: 4,
        optimizers: [
            (id: 0, rule: Adam(learning_rate: 0.01, schedule: (warmup: 10, decay: Cosine(to: 0.1)))),
            (id: 1, enabled: false, rule: Signum(learning_rate: 0.01)),
            (id: 2, rule: Sgd(learning_rate: 0.9)),
        ],
    ))],
    lesson: [
        (text: "First.", set: [Steps(40)], play: true, show: [Loss]),
        (text: "It goes on.", set: [Steps(90)], play: true, show: [Depth, EffectiveStep]),
        (text: "A look back.", show: [FreeEnergy]),
        (text: "Long.", set: [Noise(0.5), Steps(9001)], show: [AbsV]),
    ],
)"#;

/// A lesson whose steps show simulations side by side: one alone, two that go on, and four.
const BESIDE: &str = r#"
Landscape(
    version: 1,
    title: "Beside",
    simulations: [(spec: (
        noise: 0.5,
        particles: 3,
        optimizers: [
            (id: 0, rule: Adam(learning_rate: 0.01, schedule: (warmup: 10, decay: Cosine(to: 0.1)))),
            (id: 1, rule: Signum(learning_rate: 0.01)),
        ],
    ))],
    lesson: [
        (text: "One alone.", set: [Steps(42)], show: [Loss]),
        (text: "Much noise beside little.", compared: [[Noise(3.0)]], play: true, show: [Loss, Depth]),
        (text: "They go on.", set: [Steps(9000)], compared: [[Noise(3.0)]], show: [EffectiveStep, AbsV]),
        (text: "Four.", set: [Noise(1.0), Steps(50)], show: [Loss, Depth], compared: [
            [Landscape(Rosenbrock())],
            [Rule(optimizer: 1, rule: Signum(learning_rate: 0.03))],
            [Noise(0.0)],
        ]),
    ],
)"#;

/// A lesson beside whose simulation there is another one, with other optimizers and another start.
const OTHER_BESIDE: &str = r#"
Landscape(
    version: 1,
    title: "Another beside",
    simulations: [(spec: (noise: 1.0, particles: 3, steps: 600, optimizers: [(id: 0, rule: Adam(learning_rate: 0.01))])), (name: "three others", spec: (
        noise: 0.2,
        particles: 2,
        start: (x: 0.3, y: 0.1, spread: 0.001),
        optimizers: [
            (id: 0, rule: Lion(learning_rate: 0.01)),
            (id: 1, rule: Adam(learning_rate: 0.02)),
            (id: 2, rule: Sgd(learning_rate: 0.01)),
        ],
    ))],
    lesson: [(text: "Look.", show: [Loss, EffectiveStep])],
)"#;

fn landscape_preset(text: &str) -> LandscapePreset {
    match Preset::parse(text, "test").unwrap() {
        Preset::Landscape(preset) => preset,
        other => panic!("a {}", other.kind()),
    }
}

#[test]
fn simulations_beside_are_recorded_on_one_clock_with_the_same_axes_and_colors() {
    let sandbox = Sandbox::new();
    sandbox.write("beside.ron", BESIDE);
    let html = sandbox.lesson_page("beside.ron", "page.html");
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    let page = Page::of(&html);
    let runs: Vec<Vec<usize>> = page.steps.iter().map(|step| step.runs().collect()).collect();
    assert_eq!(runs, [vec![0], vec![1, 2], vec![1, 2], vec![3, 4, 5, 6]]);
    let parts: Vec<(u64, u64)> = page.steps.iter().map(|step| (step.from, step.to)).collect();
    assert_eq!(parts, [(0, 42), (0, 42), (42, 9000), (0, 50)]);
    for step in &page.steps {
        let clock = |run: usize| (page.runs[run].end, page.runs[run].stride, page.runs[run].frames);
        assert!(step.runs().all(|run| clock(run) == clock(step.run)), "{}", step.text);
        let ground = |run: usize| &page.grounds[page.runs[run].ground];
        assert!(step.runs().all(|run| ground(run) == ground(step.run)), "{}: other axes or colours", step.text);
    }
    assert_eq!(page.grounds.len(), 2);
    let titles = |step: usize| page.steps[step].beside.iter().map(|pane| pane.title.as_str()).collect::<Vec<_>>();
    assert_eq!((titles(0), titles(1)), (vec![], vec!["B: σ = 3"]));
    assert_eq!(page.steps[1].title.as_deref(), Some("A: σ = 0.5"));
    assert_eq!(titles(3).len(), 3);
    let rosenbrock = &page.steps[3].beside[0];
    assert_eq!(rosenbrock.show, [Some(0), None], "Rosenbrock has no depth");
    expect_simulated(&page, &landscape_preset(BESIDE));
}

#[test]
fn another_simulation_beside_has_its_own_optimizers_and_start() {
    let sandbox = Sandbox::new();
    sandbox.write("other.ron", OTHER_BESIDE);
    let page = Page::of(&sandbox.lesson_page("other.ron", "page.html"));
    let ensembles: Vec<usize> = page.runs.iter().map(|run| run.ensembles.len()).collect();
    assert_eq!(ensembles, [1, 3]);
    assert_eq!(page.steps[0].beside[0].title, "B: three others");
    expect_simulated(&page, &landscape_preset(OTHER_BESIDE));
    assert!(page.footer.contains("all particles of each optimizer"), "{}", page.footer);
}

#[test]
fn a_page_of_many_long_runs_on_landscapes_side_by_side_is_small() {
    let steps = (0..6).map(|index| {
        let on = |place: u32| format!("Landscape(Valley(sharpness: {}.0))", 10 + 4 * index + place);
        let compared = (1..4).map(|index| format!("[{}],", on(index))).collect::<String>();
        let show = "[Loss, Depth, AbsV, EffectiveStep, FreeEnergy]";
        format!("(text: \"Step.\", set: [{}, Steps(4000)], compared: [{compared}], show: {show}),", on(0))
    });
    let steps = steps.collect::<String>();
    let before = BESIDE.split_once("lesson: [").unwrap().0.replace("particles: 3", "particles: 100");
    let sandbox = Sandbox::new();
    sandbox.write("many.ron", &format!("{before}lesson: [{steps}])"));
    let html = sandbox.lesson_page("many.ron", "page.html");
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    let page = Page::of(&html);
    assert_eq!((page.runs.len(), page.grounds.len()), (24, 24));
}

#[test]
fn strides_that_all_thin_the_runs_are_both_named() {
    let long = |noise: &str, steps: u64| format!("(text: \"Long.\", set: [Noise({noise}), Steps({steps})]),");
    let lesson = [long("0.5", 9000), long("0.6", 17_000)].concat();
    let before = BESIDE.split_once("lesson: [").unwrap().0;
    let sandbox = Sandbox::new();
    sandbox.write("long.ron", &format!("{before}lesson: [{lesson}])"));
    let page = Page::of(&sandbox.lesson_page("long.ron", "page.html"));
    assert_eq!(page.runs.iter().map(|run| run.stride).collect::<Vec<_>>(), [3, 5]);
    assert!(page.footer.contains("one step in 3 to 5;"), "{}", page.footer);
}

#[test]
fn the_page_is_small_needs_nothing_else_and_has_the_same_bytes_each_time() {
    let sandbox = Sandbox::new();
    let page = sandbox.lesson_page("lesson", "one.html");
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    for outside in ["http:", "https:", "src=\"", "url(", "@import", "<link", "fetch(", "import("] {
        assert!(!page.contains(outside), "the page holds {outside}");
    }
    assert!(page.contains("default-src 'none'"), "the page may load something");
    assert!(page == sandbox.lesson_page("lesson", "two.html"), "another run wrote other bytes");
}

#[test]
fn the_page_holds_the_steps_with_their_texts_plots_and_formulas() {
    let page = Page::of(&Sandbox::new().lesson_page("lesson", "page.html"));
    let preset = built_in("lesson");
    assert_eq!(page.steps.len(), preset.lesson.len());
    for (shown, step) in page.steps.iter().zip(&preset.lesson) {
        assert_eq!((&shown.text, shown.play), (&step.text, step.play));
        let plots: Vec<Cow<'_, str>> =
            shown.show.iter().map(|metric| page.runs[shown.run].metrics[*metric].title.as_str().into()).collect();
        let landscape = &preset.spec().landscape;
        let info = |metric: &DiagnosticMetric| metric.info(landscape).expect("the landscape has it");
        let named: Vec<_> = step.show.iter().map(|metric| info(metric).title).collect();
        assert_eq!(plots, if named.is_empty() { vec!["loss L".into()] } else { named });
    }
    let parts: Vec<(usize, u64, u64)> = page.steps.iter().map(|step| (step.run, step.from, step.to)).collect();
    let expected = [(0, 0, 500), (1, 0, 500), (2, 0, 500), (2, 500, 2000), (3, 0, 2000), (4, 0, 1000), (5, 0, 2000)];
    assert_eq!(parts, expected);
    let focus = &page.steps[4].optimizers[2];
    assert!(focus.settings.contains(&"γ 0.2".to_owned()), "{:?}", focus.settings);
    let formulas: Vec<&str> = focus.formulas.iter().map(|(formula, _)| formula.as_str()).collect();
    assert!(formulas.contains(&"m ← β₁ m + (1 − β₁) g"), "{formulas:?}");
    assert!(page.footer.contains("of 100 particles of each optimizer, every step"), "{}", page.footer);
    assert_eq!(Preset::parse(&page.preset, "page").unwrap(), Preset::Landscape(preset));
}

impl Page {
    /// Returns the step that a run is first shown at, and the run's place among those side by side.
    fn first_shown(&self, run: usize) -> (usize, usize) {
        let place = |step: &Step| step.runs().position(|shown| shown == run);
        self.steps.iter().enumerate().find_map(|(index, step)| Some((index, place(step)?))).unwrap()
    }
}

fn spec_at(preset: &LandscapePreset, step: usize, index: usize) -> SimulationSpec {
    preset.simulations_at(step).unwrap().swap_remove(index).spec
}

/// Expects that the page holds the positions and the quantities of all runs, within half a step of their codes.
#[track_caller]
fn expect_simulated(page: &Page, preset: &LandscapePreset) {
    let mut compared = 0;
    for (index, run) in page.runs.iter().enumerate() {
        let (first, place) = page.first_shown(index);
        let mut simulation = Simulation::new(spec_at(preset, first, place));
        for frame in 0..run.frames {
            let step = (frame as u64 * run.stride).min(run.end);
            while simulation.step() < step {
                for (shown, later) in page.steps.iter().enumerate().skip(first + 1) {
                    if later.runs().any(|run| run == index) && page.steps[shown - 1].to == simulation.step() {
                        let steps = spec_at(preset, shown, place).steps;
                        simulation.apply(&Setting::Steps(steps)).unwrap();
                    }
                }
                simulation.advance();
            }
            for (of, (ensemble, packed)) in simulation.ensembles().iter().zip(&run.ensembles).enumerate() {
                let means = packed.mean.iter().zip(ensemble.mean_position());
                let positions = packed.particles.iter().zip(ensemble.positions());
                let positions = positions.flat_map(|(packed, position)| packed.iter().zip(position));
                for (packed, exact) in means.chain(positions) {
                    packed.expect(frame, exact);
                    compared += 1;
                }
                let sample = ensemble.sample();
                for (metric, packed) in run.metrics.iter().zip(&packed.metrics) {
                    let exact = match metric.title.as_str() {
                        "loss L" => sample.loss,
                        "depth u" => sample.u,
                        "spread |v|" => sample.abs_v,
                        "effective step size" if step > 0 => sample.effective_step,
                        _ => continue,
                    };
                    if frame == 0 {
                        let [mean, std] = metric.first[of].map(|value| value.unwrap());
                        let is_near = |value: f64, exact: f64| (value - exact).abs() <= 1e-15 * exact.abs();
                        assert!(is_near(mean, exact.mean) && is_near(std, exact.std), "{}", metric.title);
                    }
                    packed[0].expect(frame, exact.mean);
                    packed[1].expect(frame, exact.std);
                    compared += 2;
                }
            }
        }
        assert_eq!(simulation.step(), run.end);
    }
    assert!(compared > 10_000, "only {compared} numbers were compared");
}

#[test]
fn the_numbers_of_the_page_are_those_of_the_simulation() {
    let page = Page::of(&Sandbox::new().lesson_page("lesson", "page.html"));
    expect_simulated(&page, &built_in("lesson"));
    for run in &page.runs {
        let [x, y] = run.place.map(|[low, high]| (high - low) / 65_534.0);
        assert!(x < 3e-4 && y < 3e-4, "positions are stored in steps of {x} and {y}");
    }
}

#[test]
fn thinned_continued_and_diverging_runs_are_those_of_the_simulation() {
    let sandbox = Sandbox::new();
    sandbox.write("wild.ron", WILD);
    let page = Page::of(&sandbox.lesson_page("wild.ron", "page.html"));
    let Preset::Landscape(preset) = Preset::parse(WILD, "test").unwrap() else { panic!("a landscape") };
    expect_simulated(&page, &preset);
    let parts: Vec<(usize, u64, u64)> = page.steps.iter().map(|step| (step.run, step.from, step.to)).collect();
    assert_eq!(parts, [(0, 0, 40), (0, 40, 90), (0, 90, 90), (1, 0, 9001)]);
    assert_eq!((page.runs[1].stride, page.runs[1].frames), (3, 3002));
    assert!(page.footer.contains("every step, of long runs one in 3"), "{}", page.footer);
}

#[test]
fn a_title_ends_neither_the_title_nor_the_data() {
    let sandbox = Sandbox::new();
    sandbox.write("wild.ron", WILD);
    let page = sandbox.lesson_page("wild.ron", "page.html");
    assert!(page.contains("<title>&lt;/script&gt;&lt;b&gt;Wild&lt;/b&gt; &amp; &quot;odd&quot;</title>"));
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("<b>"));
}

#[test]
fn what_is_no_lesson_is_refused() {
    let sandbox = Sandbox::new();
    let page = ["--html", "page.html"];
    let refused = |args: &[&str], words: &[&str]| {
        expect_error(&sandbox.run(&[&["lesson"], args].concat()), 2, words);
        assert!(!sandbox.join("page.html").exists(), "{args:?} wrote a page");
    };
    refused(&["fig1c", page[0], page[1]], &["`fig1c`", "expected a preset with a lesson", "presets show lesson"]);
    refused(&["fig2a", page[0], page[1]], &["expected a preset of the kind Landscape", "`fig2a` is a Sweep"]);
    refused(&["lessen", page[0], page[1]], &["lessen", "lesson"]);
    refused(&["lesson"], &["--html <FILE.html>"]);
    refused(&["lesson", "--html", "page.pdf"], &["must be a file that ends in .html, found page.pdf"]);
    let off = WILD.replace("(id: 0,", "(id: 0, enabled: false,").replace("(id: 2,", "(id: 2, enabled: false,");
    sandbox.write("off.ron", &off);
    refused(&["off.ron", page[0], page[1]], &["off.ron:9:21", "at least one optimizer with `enabled: true`"]);
    let nowhere = sandbox.run(&["lesson", "lesson", "--html", "nowhere/page.html"]);
    expect_error(&nowhere, 1, &["cannot write nowhere/page.html", "there is no folder nowhere"]);
}

#[test]
fn an_existing_file_is_replaced_only_where_that_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("wild.ron", WILD);
    sandbox.write("page.html", "mine");
    let args = ["lesson", "wild.ron", "--html", "page.html"];
    expect_error(&sandbox.run(&args), 2, &["page.html exists already", "--replace"]);
    assert_eq!(fs::read_to_string(sandbox.join("page.html")).unwrap(), "mine");
    expect_code(&sandbox.run(&[&args[..], &["--replace"]].concat()), 0);
    assert!(fs::read_to_string(sandbox.join("page.html")).unwrap().contains("It goes on."));
}

#[test]
fn the_notes_of_a_lesson_are_a_page_to_print() {
    let sandbox = Sandbox::new();
    expect_code(&sandbox.run(&["lesson", "lesson", "--notes", "notes.html"]), 0);
    let page = fs::read_to_string(sandbox.join("notes.html")).unwrap();
    assert!(page.contains("<title>Notes: A walk into the narrowing valley</title>") && page.contains("@page"));
    let mut rest = page.as_str();
    for step in built_in("lesson").lesson {
        for text in [step.section.unwrap_or_default(), step.text, step.notes] {
            let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            rest = rest.split_once(&escaped).unwrap_or_else(|| panic!("missing or at another place: {text}")).1;
        }
    }
    expect_error(&sandbox.run(&["lesson", "lesson", "--notes", "notes.html"]), 2, &["exists already", "--replace"]);
    expect_error(&sandbox.run(&["lesson", "lesson", "--notes", "notes.pdf"]), 2, &["--notes", ".html"]);
    expect_error(&sandbox.run(&["lesson", "lesson"]), 2, &["--html"]);
}
