//! The phase diagram while a setting is dragged: its pictures are those of one setting each.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui::{Color32, ColorImage, Shape, vec2};
use egui_kittest::kittest::Queryable;
use valleyscope::figure::Map;
use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope_engine::sweep::{Backend, Cell, Diagram, PixelOrder, Precision, SweepJob, SweepSpec};

use super::harness::{App, Begin, Uploads};
use super::phase::{SMALL, computed};
use super::phase_changes::{move_to, press, wanted};

fn sweep(sampling: &str) -> String {
    let sampling = format!("replicates: 8, sampling: {sampling}");
    let text = SMALL.replace("count: 5", "count: 24").replace("count: 4", "count: 26");
    text.replace("replicates: 10", &sampling)
}

/// A picture that was handed to the graphics driver, and the sweep that the window says it shows.
struct Picture {
    of: SweepSpec,
    image: Arc<ColorImage>,
}

/// Returns the picture that the last frame has uploaded, if any.
fn picture(app: &App, uploads: &Uploads) -> Option<Picture> {
    let image = uploads.take().into_iter().rfind(|image| image.size == [26, 24])?;
    let phase = app.state().phase();
    assert!(phase.seen_blocks().is_some(), "a picture without all blocks of the coarsest one");
    Some(Picture { of: phase.seen().expect("there is a picture").clone(), image })
}

/// Returns the numbers of pixels, in the order of their first results, that complete the pictures from coarse to fine.
fn levels(spec: &Arc<SweepSpec>, order: &[[usize; 2]], cells: &HashMap<[usize; 2], Vec<Cell>>) -> Vec<usize> {
    let (mut diagram, mut finest, mut levels) = (Diagram::new(Arc::clone(spec)), None, Vec::new());
    for (before, pixel) in order.iter().enumerate() {
        diagram.insert(*pixel, cells[pixel][0].clone());
        if diagram.finest_blocks() != finest {
            finest = diagram.finest_blocks();
            levels.push(before + 1);
        }
    }
    levels
}

/// Returns the pictures that a sweep makes from coarse to fine, pass after pass.
fn expected(spec: &SweepSpec) -> Vec<Vec<Color32>> {
    let spec = Arc::new(spec.clone());
    let job = SweepJob {
        order: PixelOrder::CoarseToFine,
        ..SweepJob::new(Arc::clone(&spec), Backend::new(Precision::Single))
    };
    let sweep = Sweep::start(&Pool::new(1).expect("a thread"), job, || ());
    let mut order = Vec::new();
    let mut cells: HashMap<[usize; 2], Vec<Cell>> = HashMap::new();
    for finished in sweep.finished().iter() {
        let of_pixel = cells.entry(finished.pixel).or_default();
        if of_pixel.is_empty() {
            order.push(finished.pixel);
        }
        of_pixel.push(finished.cell);
    }
    let passes = cells.values().map(Vec::len).max().expect("there are pixels");
    let levels = levels(&spec, &order, &cells);
    assert_eq!((levels.len(), levels.last()), (4, Some(&order.len())), "blocks of 8, 4, 2 and 1 pixels a side");
    let states = (0..passes).flat_map(|pass| levels.iter().map(move |pixels| (pass, *pixels)));
    let picture = |(pass, pixels): (usize, usize)| {
        let mut diagram = Diagram::new(Arc::clone(&spec));
        for pixel in &order[..pixels] {
            let of_pixel = &cells[pixel];
            diagram.insert(*pixel, of_pixel[pass.min(of_pixel.len() - 1)].clone());
        }
        let image = Map::Winner { certainty: true }.image(&diagram.filled(), spec.metric);
        image.rgba.chunks_exact(4).map(|rgba| Color32::from_rgb(rgba[0], rgba[1], rgba[2])).collect()
    };
    states.map(picture).collect()
}

/// Returns whether each pixel of a picture has the colour that it has in one of others.
fn is_of(image: &ColorImage, pictures: &[Vec<Color32>]) -> bool {
    image.pixels.iter().enumerate().all(|(index, color)| pictures.iter().any(|picture| picture[index] == *color))
}

/// Drags a setting to a new value before each frame.
fn pictures_follow_without_a_stale_pixel(sampling: &str) {
    let uploads = Uploads::default();
    let text = sweep(sampling);
    let mut app = App::begin(Begin { preset: Some(&text), uploads: Some(uploads.clone()), ..Begin::default() });
    app.until("the whole picture", |app| app.state().phase().seen_blocks() == Some(1));
    app.until("the end", |app| !app.state().phase().is_running());
    app.settle();
    let knob = app.harness.get_by_role_and_label(Role::SpinButton, "Rotation φ (°)").rect().center();
    move_to(&mut app, knob);
    press(&mut app, knob, true);
    uploads.take();
    let (mut settings, mut pictures) = (vec![wanted(&app)], Vec::<Picture>::new());
    let (begun, mut moved) = (Instant::now(), 0.0);
    let distinct = |pictures: &[Picture]| pictures.chunk_by(|one, other| one.of == other.of).count();
    while distinct(&pictures) < 4 {
        assert!(begun.elapsed() < Duration::from_secs(120), "{} pictures in a drag", distinct(&pictures));
        moved += 1.0;
        move_to(&mut app, knob + vec2(moved, 0.0));
        settings.push(wanted(&app));
        pictures.extend(picture(&app, &uploads));
        std::thread::sleep(Duration::from_millis(5));
    }
    press(&mut app, knob + vec2(moved, 0.0), false);
    let last = wanted(&app);
    while app.state().phase().seen() != Some(&last) || app.state().phase().seen_blocks() != Some(1) {
        assert!(begun.elapsed() < Duration::from_secs(240), "the last settings have no whole picture");
        app.harness.step();
        pictures.extend(picture(&app, &uploads));
        std::thread::sleep(Duration::from_millis(5));
    }
    // What is seen was set, in that order.
    let places: Vec<_> = pictures
        .iter()
        .map(|picture| settings.iter().rposition(|set| *set == picture.of).expect("it was set"))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(pictures.last().map(|picture| &picture.of), Some(&last));
    for of_setting in pictures.chunk_by(|one, other| one.of == other.of) {
        let expected = expected(&of_setting[0].of);
        assert!(of_setting.iter().all(|picture| is_of(&picture.image, &expected)), "a pixel of other settings");
    }
    let first = expected(&settings[0]);
    assert!(!is_of(&pictures[pictures.len() - 1].image, &first), "stale pixels can be told by their colours");
}

#[test]
fn pictures_follow_a_drag_without_a_stale_pixel() {
    pictures_follow_without_a_stale_pixel("Uniform");
}

#[test]
fn pictures_of_adaptive_sampling_follow_a_drag_without_a_stale_pixel() {
    pictures_follow_without_a_stale_pixel("Adaptive()");
}

/// Restarted with every frame, the sweep would never have a picture.
#[test]
fn a_drag_without_a_pause_has_pictures() {
    let mut app = App::with(&sweep("Uniform").replace("steps: 30", "steps: 3000"));
    app.until("a picture", |app| app.state().phase().seen_blocks().is_some());
    let knob = app.harness.get_by_role_and_label(Role::SpinButton, "Slope c").rect().center();
    move_to(&mut app, knob);
    press(&mut app, knob, true);
    let (begun, mut moved, mut seen) = (Instant::now(), 0.0, Vec::new());
    while seen.len() < 4 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} pictures in a drag", seen.len());
        moved += 1.0;
        move_to(&mut app, knob + vec2(moved, 0.0));
        let now = app.state().phase().seen().cloned();
        if seen.last() != now.as_ref() {
            seen.extend(now);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn axes_are_those_of_the_visible_picture() {
    let mut app = computed(SMALL);
    let map = app.harness.get_by_role_and_label(Role::Canvas, "Diagram").rect();
    let top_label = |app: &App| {
        let texts = app.harness.output().shapes.iter().filter_map(|clipped| match &clipped.shape {
            Shape::Text(text) => Some((text.galley.text().to_owned(), text.visual_bounding_rect())),
            _ => None,
        });
        let beside = texts.filter(|(_, rect)| (map.left() - 20.0..map.left()).contains(&rect.right()));
        beside.min_by(|one, other| one.1.top().total_cmp(&other.1.top())).map(|(text, _)| text)
    };
    let seen_end = |app: &App| app.state().phase().seen().expect("there is a picture").rows.to;
    assert_eq!(top_label(&app).as_deref(), Some("10²"));
    app.harness.get_by_role_and_label(Role::SpinButton, "Rows to").set_value_accesskit(1000.0);
    while seen_end(&app) == 100.0 {
        assert_eq!(top_label(&app).as_deref(), Some("10²"));
        app.harness.step();
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!((seen_end(&app), top_label(&app).as_deref()), (1000.0, Some("10³")));
}
