//! Pictures of the phase diagram while one of its settings is dragged.
//!
//! `cargo bench --bench drag`, or a part of it by words of its heading and its setting: `cargo bench --bench drag --
//! adaptive β₂`. The window shows Fig. 2a, 96 × 100 pixels, and a field is dragged for four seconds, to a new value
//! before each of 60 frames a second, or as many as it manages. Then it is released.
//!
//! A picture counts when the frame that shows it is finished, if it shows all blocks of the coarsest picture of one
//! sweep; coarse ones have 12 × 13 blocks or more. The age of a frame is the time since the settings of its picture
//! were those of the field. A frame is the window thread's work, as in the benchmark `frame`; where the processor
//! draws, it takes in the driver's. Its processor time leaves out what other threads and programs do meanwhile.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use egui::{Event, Pos2, vec2};
use valleyscope::app::{AppOptions, PlaybackPace};
use valleyscope_engine::sweep::{Adaptive, Sampling, SweepSpec};

mod window;

use window::{Window, fig2a, landscape};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The duration of a drag, and of a frame.
const DRAG: Duration = Duration::from_secs(4);
const FRAME: Duration = Duration::from_nanos(16_666_667);
/// The longest wait for a picture after a drag.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// The side of the blocks of a coarse picture of Fig. 2a, 12 × 13 of them.
const COARSE: usize = 8;

/// The fields, each with the card in which it is, if any.
const FIELDS: [(&str, Option<&str>); 4] = [
    ("Rotation φ (°)", None),
    ("Slope c", None),
    ("Adam: learning rates to", Some("■ Adam")),
    ("Adam: Squares β₂", Some("■ Adam")),
];

const COLUMNS: &str = "pictures (coarse) a second | longest gap | age: median, most | frames | a frame: median, 95 %, most \
                       | its processor time | from release to any picture, to a coarse one";

/// The conditions of a drag: the sampling, whether the landscape plays, and whether frames are drawn.
#[derive(Clone, Copy, Default)]
struct Beside {
    adaptive: bool,
    plays: bool,
    draws: bool,
}

impl Beside {
    fn heading(self) -> String {
        let sampling = if self.adaptive { "adaptive sampling" } else { "uniform sampling" };
        let plays = if self.plays { "the landscape plays" } else { "the landscape is paused" };
        let draws = if self.draws { ", the processor draws" } else { "" };
        format!("{sampling}, {plays}{draws}")
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let cases = [false, true].into_iter().flat_map(|adaptive| {
        [(false, false), (true, false), (true, true)].map(|(plays, draws)| Beside { adaptive, plays, draws })
    });
    for beside in cases {
        let heading = beside.heading();
        let is_wanted = |field: &str| words.iter().all(|word| format!("{heading} {field}").contains(word.as_str()));
        let fields = FIELDS.into_iter().filter(|(field, _)| is_wanted(field)).collect::<Vec<_>>();
        if fields.is_empty() {
            continue;
        }
        println!("\n| {heading} | {COLUMNS} |\n|{}", " --- |".repeat(COLUMNS.matches('|').count() + 2));
        for (field, card) in fields {
            println!("| {field} | {} |", measured(beside, field, card).cells());
        }
    }
}

struct Drag {
    begun: Instant,
    took: Duration,
    /// When the first picture of each setting was shown that was shown, and when the first coarse one.
    pictures: [Vec<Instant>; 2],
    /// The time of each frame, and the processor's time for it.
    frames: Vec<[Duration; 2]>,
    ages: Vec<Duration>,
    /// The time from release until any picture of the last settings, and until a coarse one.
    settled: [Option<Duration>; 2],
}

impl Drag {
    fn cells(&self) -> String {
        let rate = |count: usize| count as f64 / self.took.as_secs_f64();
        let [any, coarse] = &self.pictures;
        let ends = [self.begun, self.begun + self.took];
        let times: Vec<Instant> = ends[..1].iter().chain(coarse).chain(&ends[1..]).copied().collect();
        let gap = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
        let ms = |duration: Duration| format!("{:.0} ms", 1e3 * duration.as_secs_f64());
        let tenths = |duration: Duration| format!("{:.1} ms", 1e3 * duration.as_secs_f64());
        let mut text = format!("{:.1} ({:.1}) | {}", rate(any.len()), rate(coarse.len()), ms(gap));
        let _ = write!(text, " | {}, {}", ms(quantile(&self.ages, 0.5)), ms(quantile(&self.ages, 1.0)));
        let _ = write!(text, " | {}", self.frames.len());
        for which in [0, 1] {
            let times: Vec<Duration> = self.frames.iter().map(|frame| frame[which]).collect();
            let cells = [0.5, 0.95, 1.0].map(|share| tenths(quantile(&times, share)));
            let _ = write!(text, " | {}", cells.join(", "));
        }
        let settled = self.settled.map(|time| time.map_or("never".to_owned(), ms));
        let _ = write!(text, " | {}", settled.join(", "));
        text
    }
}

/// Returns the duration that a share of all does not exceed.
fn quantile(durations: &[Duration], share: f64) -> Duration {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1);
    sorted.get((share * last as f64).round() as usize).copied().unwrap_or_default()
}

fn measured(beside: Beside, field: &str, card: Option<&str>) -> Drag {
    let mut window = opened(beside);
    if let Some(card) = card {
        revealed(&mut window, card);
        window.click(card);
    }
    let place = revealed(&mut window, field);
    dragged(&mut window, beside, place)
}

/// Opens the window with a coarse picture of Fig. 2a.
fn opened(beside: Beside) -> Window {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let diagrams = Some(folder.path().join("diagrams"));
    let (play, pace) = (beside.plays, Some(PlaybackPace::default()));
    let options =
        AppOptions { opened: vec![window::opened(landscape())], play, pace, diagrams, ..AppOptions::default() };
    let mut window = Window::in_folder(folder, options);
    let mut preset = fig2a();
    if beside.adaptive {
        preset.sweep.sampling = Sampling::Adaptive(Adaptive::default());
    }
    window.show_sweep(preset);
    window.until(|app| app.phase().seen_blocks().is_some_and(|blocks| blocks <= COARSE));
    window
}

/// Scrolls the controls until a widget is in the window; returns its place.
fn revealed(window: &mut Window, name: &str) -> Pos2 {
    loop {
        let place = window.place_of(name);
        if place.y < 860.0 {
            return place;
        }
        window.events.push(Event::PointerMoved(Pos2::new(150.0, 600.0)));
        window.turn_wheel(-200.0);
        // Scrolling is smooth.
        (0..5).for_each(|_| window.settle());
    }
}

fn dragged(window: &mut Window, beside: Beside, place: Pos2) -> Drag {
    window.press_pointer(place);
    window.settle();
    // A drag begins after some points.
    window.events.push(Event::PointerMoved(place + vec2(10.0, 0.0)));
    window.settle();
    let begun = Instant::now();
    let mut drag = Drag {
        begun,
        took: Duration::ZERO,
        pictures: [Vec::new(), Vec::new()],
        frames: Vec::new(),
        ages: Vec::new(),
        settled: [None; 2],
    };
    let mut history = History { set: vec![(begun, setting(window))], counted: [seen(window), seen(window)] };
    let mut moved = 0_i32;
    while begun.elapsed() < DRAG {
        moved += 1;
        // To and fro, by a point with each frame.
        let along = 60 - ((moved + 60) % 240 - 120).abs();
        window.events.push(Event::PointerMoved(place + vec2(along as f32, 0.0)));
        drag.frames.push(frame(window, beside.draws));
        history.follow(window, &mut drag);
    }
    drag.took = begun.elapsed();
    let released = Instant::now();
    window.release_pointer(place);
    while drag.settled[1].is_none() && released.elapsed() < LONGEST_WAIT {
        frame(window, beside.draws);
        let phase = window.app.phase();
        if phase.seen() == Some(&phase.preset().sweep) {
            let is = [Some(released.elapsed()), (phase.seen_blocks() <= Some(COARSE)).then(|| released.elapsed())];
            drag.settled = [drag.settled[0].or(is[0]), is[1]];
        }
    }
    drag
}

/// The settings that the field has had, and those of the last picture and of the last coarse one that were counted.
struct History {
    set: Vec<(Instant, SweepSpec)>,
    counted: [Option<SweepSpec>; 2],
}

impl History {
    /// Records what the last frame has shown.
    fn follow(&mut self, window: &Window, drag: &mut Drag) {
        let now = Instant::now();
        let (setting, seen) = (setting(window), seen(window));
        if self.set.last().is_none_or(|(_, last)| *last != setting) {
            self.set.push((now, setting));
        }
        let blocks = window.app.phase().seen_blocks();
        let counts = [blocks.is_some(), blocks.is_some_and(|blocks| blocks <= COARSE)];
        for ((counts, counted), shown) in counts.into_iter().zip(&mut self.counted).zip(&mut drag.pictures) {
            if counts && *counted != seen {
                counted.clone_from(&seen);
                shown.push(now);
            }
        }
        // What is seen was set until the next setting was.
        if let Some(index) = self.set.iter().rposition(|(_, set)| Some(set) == seen.as_ref()) {
            drag.ages.push(self.set.get(index + 1).map_or(Duration::ZERO, |(replaced, _)| now - *replaced));
        }
    }
}

fn setting(window: &Window) -> SweepSpec {
    window.app.phase().preset().sweep.clone()
}

fn seen(window: &Window) -> Option<SweepSpec> {
    window.app.phase().seen().cloned()
}

/// Draws a frame, and waits for the next one; returns how long it took, and how long a processor worked for it.
fn frame(window: &mut Window, draws: bool) -> [Duration; 2] {
    let (begun, worked) = (Instant::now(), thread_time());
    let drawn = window.draw();
    if draws {
        window.render(drawn);
    } else {
        window.submit(drawn);
    }
    let (took, worked) = (begun.elapsed(), thread_time().saturating_sub(worked));
    std::thread::sleep(FRAME.saturating_sub(took));
    [took, worked]
}

/// Returns the processor time of this thread, without that of other threads and programs in between.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("it is not negative")
}

#[cfg(not(unix))]
fn thread_time() -> Duration {
    Duration::ZERO
}
