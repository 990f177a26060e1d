//! The window thread's work for one frame, GPU time apart.
//!
//! `cargo bench --bench frame`. A frame takes in the player's newest snapshot, lays the whole window out,
//! tessellates it, and hands buffers and particles' positions to the graphics driver. The player plays 4
//! optimizers × 1,000 particles with 200-step trails meanwhile, on its own thread. Some cases have the phase diagram
//! of Fig. 2a beside it: complete, or being computed on all cores but one. Others show trainings, one of
//! a million steps and a hundred of 100,000, or list a thousand.
//! Only `drawing_in_space` and `drawing_on_the_plane` count the driver's work. The benchmarks need a Vulkan driver; a
//! software one suffices.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use divan::Bencher;
use valleyscope::app::landscape::animation_export::{AnimationJob, FrameSteps};
use valleyscope::app::landscape::picture::{PictureOptions, PictureSubject};
use valleyscope::app::shell::jobs::Progress;
use valleyscope::app::shell::session::SessionTexts;
use valleyscope::app::{AppOptions, Graphics, OpenedContent, PlaybackPace, Valleyscope};
use valleyscope::draw::RunPlots;
use valleyscope::export::animation::AnimationFormat;
use valleyscope_engine::landscape::LandscapeFormula;
use valleyscope_engine::quantity::{Noise, StepCount};
use valleyscope_engine::simulation::Setting;
use valleyscope_experiments::preset::{Preset, PresetSimulation, built_ins};
use valleyscope_runs::{Event, MetricId, MetricValues, RunFolder, RunSession, Started};

mod window;

use window::{Window, fig2a, landscape, opened};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

impl Window {
    fn open(play: bool, pace: PlaybackPace) -> Window {
        Window::open_with(play, pace, |_| None)
    }

    /// Opens the window, with the run that `write` creates in its folder, if any, in the tab of trainings.
    fn open_with(play: bool, pace: PlaybackPace, write: impl FnOnce(&Path) -> Option<RunFolder>) -> Window {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let run = write(folder.path());
        let options = AppOptions {
            opened: [opened(landscape())].into_iter().chain(run.map(|run| (OpenedContent::Run(run), None))).collect(),
            play,
            pace: Some(pace),
            ..AppOptions::default()
        };
        Window::in_folder(folder, options)
    }

    /// Returns another window with a session, and with the folder of this one.
    fn reopened(self, session: SessionTexts) -> Window {
        Window::in_folder(self.folder, AppOptions { session, ..AppOptions::default() })
    }

    /// Shows the phase diagram of Fig. 2a, and begins to compute it with this number of steps.
    fn show_diagram(&mut self, steps: u64) {
        let mut preset = fig2a();
        preset.sweep.steps = StepCount::clamped(steps);
        self.show_sweep(preset);
    }

    fn press(&mut self, key: egui::Key) {
        self.press_with(key, egui::Modifiers::COMMAND);
    }

    fn press_with(&mut self, key: egui::Key, modifiers: egui::Modifiers) {
        self.events.push(egui::Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers });
    }

    /// Turns the wheel by so many points: 20 frames in one direction, then 20 in the other.
    fn swing_wheel(&mut self, frame: u32, points: f32) {
        self.turn_wheel(if frame % 40 < 20 { points } else { -points });
    }
}

/// The number of steps of each run in Fig. 2a.
const STEPS: u64 = 1000;

/// Measures frames with the complete diagram, while nothing is computed.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn diagram(bencher: Bencher) {
    let mut window = Window::open(false, PlaybackPace::default());
    window.show_diagram(1);
    window.until(|app| !app.phase().is_running());
    measure(bencher, window);
}

/// Measures frames with the diagram while it is computed.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn diagram_computing(bencher: Bencher) {
    let mut window = Window::open(false, PlaybackPace::default());
    window.show_diagram(STEPS);
    measure(bencher, window);
}

/// Measures frames of the landscape at 60 steps a second, while the diagram is computed.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn playing_beside_a_sweep(bencher: Bencher) {
    let mut window = Window::open(true, PlaybackPace::default());
    window.show_diagram(STEPS);
    window.press(egui::Key::Num1);
    measure(bencher, window);
}

/// The number of points of the curve of [`training`].
const POINTS: u64 = 1_000_000;

/// Measures frames of a training of a million logged steps, smoothed, all in view.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn training(bencher: Bencher) {
    let mut window = Window::open_with(false, PlaybackPace::default(), |folder| Some(long_run(folder)));
    let drawn = |app: &Valleyscope| app.training().drawn().iter().any(|drawn| !drawn.tracks.is_empty());
    window.until(|app| drawn(app));
    measure(bencher, window);
}

/// Measures frames of a hundred trainings of 100,000 logged steps each, all in view.
#[divan::bench(sample_count = 100, sample_size = 1)]
fn hundred_trainings(bencher: Bencher) {
    measure(bencher, with_a_hundred_trainings());
}

/// Measures frames of a hundred trainings while the wheel zooms in or out with every frame.
#[divan::bench(sample_count = 100, sample_size = 1)]
fn zooming_into_a_hundred_trainings(bencher: Bencher) {
    let mut window = with_a_hundred_trainings();
    let plot = window.place_of("Plot of Train loss");
    window.events.push(egui::Event::PointerMoved(plot));
    let mut frame = 0;
    measure_each(bencher, window, move |window| {
        frame += 1;
        window.swing_wheel(frame, 30.0);
    });
}

fn with_a_hundred_trainings() -> Window {
    let mut window = Window::open_with(false, PlaybackPace::default(), |folder| Some(run_of(folder, 100_000)));
    let first = window.folder.path().join("").display().to_string();
    let drawn = |app: &Valleyscope, count| {
        app.training().drawn().iter().filter(|drawn| !drawn.tracks.is_empty()).count() == count
    };
    window.until(|app| drawn(app, 1));
    // The session of a user who shows all of them.
    let mut session = window.app.session();
    let one = window.app.training().selected()[0].path().to_owned();
    let all: Vec<String> = (0..100)
        .map(|index| {
            let run = if index == 0 { one.clone() } else { copy_of(&one, &format!("{first}run-{index}")) };
            format!("{:?}", run.display().to_string())
        })
        .collect();
    let only = format!("{:?}", one.display().to_string());
    for text in session.values_mut() {
        *text = text.replace(&format!("selected:[{only}]"), &format!("selected:[{}]", all.join(",")));
    }
    let mut window = window.reopened(session);
    window.until(|app| drawn(app, 100));
    window
}

/// The number of runs that are listed in some cases.
const RUNS: usize = 1000;

/// Writes runs that differ in seed and learning rate, with 200 points and 10 evaluations each.
fn many_runs(folder: &Path) {
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("a built-in preset");
    let first = run_of(folder, 200);
    for index in 0..RUNS - 1 {
        let rate = ["0.001", "0.003", "0.01"][index % 3];
        let preset = mnist.preset.with("seed", &index.to_string()).and_then(|it| it.with("learning_rate", rate));
        let config = preset.expect("both can be set").to_ron();
        let run = RunFolder::create(folder, "mnist", &config).expect("a temporary folder can be written");
        std::fs::copy(first.events(), run.events()).expect("a temporary folder can be written");
    }
}

/// Measures the time from the choice of the tab of trainings until it lists a thousand runs.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn listing_a_thousand_runs(bencher: Bencher) {
    let open = || {
        let mut window = Window::open_with(false, PlaybackPace::default(), |folder| {
            many_runs(folder);
            None
        });
        window.settle();
        window
    };
    bencher.with_inputs(open).bench_local_values(|mut window| {
        window.press(egui::Key::Num3);
        window.until(|app| app.training().runs().len() == RUNS);
        window
    });
}

/// Measures frames while the list of a thousand runs is scrolled.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn thousand_runs(bencher: Bencher) {
    let mut window = with_a_thousand_runs();
    let place = window.place_of("Order of the runs") + egui::vec2(0.0, 80.0);
    scrolling(bencher, window, place);
}

/// Measures frames while the table of a thousand runs is scrolled.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn thousand_runs_in_a_table(bencher: Bencher) {
    let mut window = with_a_thousand_runs();
    window.click("Show the table of runs");
    let place = window.place_of("Sort by State") + egui::vec2(0.0, 200.0);
    scrolling(bencher, window, place);
}

fn with_a_thousand_runs() -> Window {
    let mut window = Window::open_with(false, PlaybackPace::default(), |folder| {
        many_runs(folder);
        None
    });
    window.press(egui::Key::Num3);
    window.until(|app| app.training().runs().len() == RUNS);
    window
}

/// Measures frames while the wheel scrolls what is at a place.
fn scrolling(bencher: Bencher, mut window: Window, place: egui::Pos2) {
    window.events.push(egui::Event::PointerMoved(place));
    let mut frame = 0;
    measure_each(bencher, window, move |window| {
        frame += 1;
        window.swing_wheel(frame, -120.0);
    });
}

/// Copies a run into another folder.
fn copy_of(run: &Path, to: &str) -> PathBuf {
    std::fs::create_dir(to).expect("a temporary folder can be written");
    for name in [RunFolder::CONFIG, RunFolder::EVENTS] {
        std::fs::copy(run.join(name), Path::new(to).join(name)).expect("a temporary folder can be written");
    }
    PathBuf::from(to)
}

fn long_run(folder: &Path) -> RunFolder {
    run_of(folder, POINTS)
}

/// Writes a run with this number of points of the training curve.
fn run_of(folder: &Path, points: u64) -> RunFolder {
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").expect("a built-in preset");
    let run = RunFolder::create(folder, "long", &mnist.preset.to_ron()).expect("a temporary folder can be written");
    let mut session = RunSession::begin(&run).expect("a session can begin");
    let mut record = |step, event| session.record(step, event).expect("a temporary folder can be written");
    record(0, Event::Started(Started { title: "Long".to_owned(), steps: points, ..Started::default() }));
    for step in 1..=points {
        let loss = 2.0 / (step as f64).sqrt() + 0.01 * (step % 97) as f64;
        record(
            step,
            Event::Train(MetricValues::from([
                (MetricId::LOSS, loss),
                (MetricId::LEARNING_RATE, 0.001),
                (MetricId::GRAD_NORM, 1.0 + loss),
            ])),
        );
    }
    record(points, Event::Finished);
    run
}

/// Measures successive frames; the first ones, which create fonts and layout, are not counted.
fn frames(bencher: Bencher, play: bool, pace: PlaybackPace) {
    measure(bencher, Window::open(play, pace));
}

fn measure(bencher: Bencher, window: Window) {
    measure_each(bencher, window, |_| {});
}

/// Measures frames with a user's action before each.
fn measure_each(bencher: Bencher, mut window: Window, act: impl FnMut(&mut Window)) {
    for _ in 0..30 {
        let drawn = window.draw();
        window.finish(drawn);
    }
    let (window, act) = (std::cell::RefCell::new(window), std::cell::RefCell::new(act));
    let drawn = std::cell::RefCell::new(None);
    bencher
        .with_inputs(|| {
            if let Some(drawn) = drawn.take() {
                window.borrow_mut().finish(drawn);
            }
            act.borrow_mut()(&mut window.borrow_mut());
        })
        .bench_local_values(|()| drawn.replace(Some(window.borrow_mut().draw())).is_some());
}

#[divan::bench(sample_count = 200, sample_size = 1)]
fn paused(bencher: Bencher) {
    frames(bencher, false, PlaybackPace::default());
}

/// Measures frames at 60 steps a second, the default speed.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn playing(bencher: Bencher) {
    frames(bencher, true, PlaybackPace::default());
}

/// Measures frames at 60 steps a second, while an animation of the landscape and its plots is drawn and encoded.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn playing_beside_an_export(bencher: Bencher) {
    let window = Window::open(true, PlaybackPace::default());
    let Preset::Landscape(preset) = landscape() else { panic!("a landscape") };
    let job = AnimationJob {
        graphics: Graphics::of(&window.graphics),
        subject: PictureSubject {
            preset,
            seen: None,
            selected: None,
            hidden: Default::default(),
            recorded: Vec::new(),
            plots: RunPlots::default(),
        },
        options: PictureOptions::new(egui::Theme::Dark),
        steps: FrameSteps { from: 0, to: 100_000, every: 3, frames_per_sec: 20 },
        format: AnimationFormat::Gif,
    };
    let target = window.folder.path().join("run.gif");
    let progress = Arc::new(Progress::new(job.steps.frames()));
    let of_thread = Arc::clone(&progress);
    let thread = std::thread::spawn(move || job.run(target, &of_thread));
    while progress.done() == 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    measure(bencher, window);
    progress.cancel();
    thread.join().expect("it ends").expect("it draws until then");
}

/// Measures frames at 60 steps a second with three old futures of as many particles.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn playing_with_branches(bencher: Bencher) {
    let mut window = Window::open(false, PlaybackPace { unlimited: true, ..PlaybackPace::default() });
    window.press_with(egui::Key::Space, egui::Modifiers::NONE);
    window.until(|app| app.live().snapshot.as_ref().is_some_and(|snapshot| snapshot.step > 1000));
    for branches in 1..=3 {
        // The key of a step back pauses the run, and a click on the slider changes the noise.
        window.press_with(egui::Key::ArrowLeft, egui::Modifiers::SHIFT);
        window.until(|app| {
            app.live().snapshot.as_ref().is_some_and(|it| it.step < it.last_step && !app.live().is_playing())
        });
        let place = window.place_of("Noise σ") + egui::vec2(6.0 * branches as f32, 0.0);
        window.press_pointer(place);
        // A slider takes no click that begins and ends within one frame.
        window.settle();
        window.release_pointer(place);
        window.until(|app| app.live().snapshot.as_ref().is_some_and(|it| it.branches.len() == branches));
    }
    window.press_with(egui::Key::Num6, egui::Modifiers::ALT);
    window.press_with(egui::Key::Space, egui::Modifiers::NONE);
    measure(bencher, window);
}

/// Measures frames at 60 steps a second of two simulations side by side, each of 4 optimizers × 1,000 particles.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn playing_side_by_side(bencher: Bencher) {
    let mut beside = landscape();
    let Preset::Landscape(landscape) = &mut beside else { panic!("a landscape") };
    let set = vec![Setting::Noise(Noise::clamped(3.0).into())];
    landscape.simulations.push(PresetSimulation { set, ..PresetSimulation::default() });
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let pace = Some(PlaybackPace::default());
    let options = AppOptions { opened: vec![opened(beside)], play: true, pace, ..AppOptions::default() };
    measure(bencher, Window::in_folder(folder, options));
}

/// Measures frames at full speed: between two frames all trails are replaced.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn playing_at_full_speed(bencher: Bencher) {
    frames(bencher, true, PlaybackPace { unlimited: true, ..PlaybackPace::default() });
}

/// Measures frames in space while each of them zooms, so that each samples the surface anew. The run is paused: the
/// driver would take so long for the trails that each frame had those of many steps to upload.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn zooming_in_space(bencher: Bencher) {
    let mut window = in_space(false);
    let surface = window.place_of("Landscape");
    window.events.push(egui::Event::PointerMoved(surface));
    let mut frame = 0;
    measure_each(bencher, window, move |window| {
        frame += 1;
        window.swing_wheel(frame, 10.0);
    });
}

/// Measures frames in each of which a digit is typed into the text of the landscape: it is read, its derivatives are
/// found and its shader is compiled.
#[divan::bench(sample_count = 30, sample_size = 1)]
fn typing_a_landscape(bencher: Bencher) {
    let mut window = Window::open(false, PlaybackPace::default());
    window.click("Landscape: text");
    window.click("Narrowing valley as text: text of the landscape");
    // The last line is empty.
    window.press(egui::Key::End);
    window.press_with(egui::Key::ArrowUp, egui::Modifiers::NONE);
    window.press_with(egui::Key::End, egui::Modifiers::NONE);
    window.events.push(egui::Event::Text(" + 0.1".to_owned()));
    let text = |app: &Valleyscope| app.document().spec(0).landscape.kind().formula().map(LandscapeFormula::text);
    window.until(|app| text(app).is_some_and(|text| text.contains("+ 0.1")));
    let mut digit = 0;
    measure_each(bencher, window, move |window| {
        digit = digit % 9 + 1;
        window.events.push(egui::Event::Text(digit.to_string()));
    });
}

/// Measures frames in space with the driver's work.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn drawing_in_space(bencher: Bencher) {
    whole_frames(bencher, in_space(true));
}

/// Measures frames on the plane with the driver's work.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn drawing_on_the_plane(bencher: Bencher) {
    whole_frames(bencher, Window::open(true, PlaybackPace::default()));
}

fn whole_frames(bencher: Bencher, mut window: Window) {
    // Until the trails are complete.
    window.until(|app| app.live().snapshot.as_ref().is_some_and(|snapshot| snapshot.step > 200));
    bencher.bench_local(|| {
        let drawn = window.draw();
        window.render(drawn);
    });
}

fn in_space(play: bool) -> Window {
    let mut window = Window::open(play, PlaybackPace::default());
    window.press_with(egui::Key::Num3, egui::Modifiers::NONE);
    window.until(|app| app.document().view.is_in_space());
    window
}
