//! Pictures and animations of the landscape.

use std::path::{Path, PathBuf};

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use image::RgbaImage;
use valleyscope::app::animation::{AnimationFile, AnimationFormat, Encoder, Settings, Subject};
use valleyscope::app::{Action, PictureSize};
use valleyscope::player::{PlayerCommand, Speed};
use valleyscope_engine::quantity::Noise;
use valleyscope_engine::simulation::{Change, Record, Setting};
use valleyscope_experiments::view::Colormap;
use valleyscope_runs::atomic_file::Overwrite;

use crate::canvas_stage::{Shown, Stage, advance_to, harness, install_font, render_state, three_optimizers, until};

/// Returns the state of a session: step, positions and noise.
fn state(harness: &Harness<'_, Stage>) -> (u64, Vec<[f32; 2]>, f64) {
    let snapshot = harness.state().live.snapshot.as_ref().expect("there is one");
    let newest = snapshot.ensembles.iter().flat_map(|view| &view.columns[view.columns.len() - view.particles..]);
    (snapshot.step, newest.copied().collect(), snapshot.spec.noise.sigma())
}

fn drawn() -> Harness<'static, Stage> {
    harness(Stage::new(three_optimizers(5), Shown::Landscape, Some(&render_state())), [520.0, 380.0])
}

fn start(harness: &mut Harness<'_, Stage>, settings: Settings) {
    let ctx = harness.ctx.clone();
    let Stage { animation, landscape, document, live, requests, .. } = harness.state_mut();
    animation.start(settings, &ctx, Subject { panel: landscape, document, live }, requests);
}

fn export(harness: &mut Harness<'_, Stage>, settings: Settings) {
    start(harness, settings);
    until(harness, "the export is over", |stage| !stage.animation.is_open());
}

fn settings(target: PathBuf, format: AnimationFormat) -> Settings {
    let size = PictureSize::Times(1);
    Settings { from_step: 0, to_step: 20, every: 5, frames_per_sec: 10, size, format, target, replay: false }
}

/// Draws the landscape as it would be saved.
fn picture(harness: &mut Harness<'_, Stage>, size: PictureSize) -> egui::ColorImage {
    let ctx = harness.ctx.clone();
    let Stage { landscape, document, live, .. } = harness.state_mut();
    let extent = landscape.extent(&ctx, size);
    let mut offscreen = landscape.offscreen(&ctx).expect("there is a device");
    offscreen.draw(extent, |ui| landscape.picture(ui, document, live)).expect("it is drawn")
}

fn frames_of(gif: &Path) -> Vec<image::Frame> {
    let file = std::io::BufReader::new(std::fs::File::open(gif).expect("the file"));
    let decoder = image::codecs::gif::GifDecoder::new(file).expect("a GIF");
    image::AnimationDecoder::into_frames(decoder).collect_frames().expect("its frames")
}

fn rgb(pixel: &image::Rgba<u8>) -> [u8; 3] {
    [pixel.0[0], pixel.0[1], pixel.0[2]]
}

/// Draws a heatmap with a line of each colour over it, three pixels wide: the colour, and half of it on both sides.
fn lines_over_a_heatmap(colors: &[[u8; 3]]) -> RgbaImage {
    RgbaImage::from_fn(640, 480, |x, y| {
        let level = 0.5 + 0.5 * (f64::from(x) / 90.0).sin() * (f64::from(y) / 130.0).cos();
        let ground = Colormap::Viridis.rgb(level);
        let part = match y % 20 {
            9 | 11 => 0.5,
            10 => 1.0,
            _ => 0.0,
        };
        let line = colors.get(y as usize / 20).copied().unwrap_or(ground);
        let mixed = |axis: usize| (part * f64::from(line[axis]) + (1.0 - part) * f64::from(ground[axis])) as u8;
        image::Rgba([mixed(0), mixed(1), mixed(2), 255])
    })
}

/// Encodes a frame as a GIF and decodes it.
fn through_a_gif(frame: &RgbaImage, kept_colors: &[[u8; 3]]) -> RgbaImage {
    let folder = tempfile::tempdir().expect("a folder");
    let encoder = Encoder::start(AnimationFile {
        format: AnimationFormat::Gif,
        target: folder.path().join("a.gif"),
        frames_per_sec: 10,
        overwrite: Overwrite::No,
        kept_colors: kept_colors.to_vec(),
    });
    assert!(encoder.offer(frame.clone()).is_none(), "there is room for a first frame");
    assert!(encoder.finish());
    let begin = std::time::Instant::now();
    let target = loop {
        assert!(begin.elapsed().as_secs() < 60, "the encoder does not end");
        match encoder.outcome() {
            Some(outcome) => break outcome.expect("it is written"),
            None => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    };
    frames_of(&target).remove(0).into_buffer()
}

#[test]
fn a_gif_keeps_the_colours_of_all_series() {
    // The colours of the four rules, and some of a user's own, which are similar to others or to the heatmap.
    let colors = [
        [244, 111, 67],
        [251, 221, 133],
        [128, 166, 226],
        [136, 196, 120],
        [245, 170, 205],
        [246, 113, 67],
        [33, 145, 140],
        [253, 231, 40],
        [255, 255, 255],
        [200, 0, 255],
    ];
    let frame = lines_over_a_heatmap(&colors);
    let decoded = through_a_gif(&frame, &colors);
    let mut sum = 0.0;
    for (x, y, pixel) in frame.enumerate_pixels() {
        let (wanted, found) = (rgb(pixel), rgb(decoded.get_pixel(x, y)));
        let apart = (0..3).map(|axis| wanted[axis].abs_diff(found[axis])).max().unwrap_or(0);
        if colors.contains(&wanted) {
            assert_eq!(found, wanted, "at {x}, {y}");
        }
        assert!(apart <= 40, "{wanted:?} became {found:?} at {x}, {y}");
        sum += f64::from(apart);
    }
    let mean = sum / f64::from(frame.width() * frame.height());
    assert!(mean < 4.0, "the picture as a whole is off by {mean} levels");
}

#[test]
fn an_exported_gif_has_the_colours_that_the_user_chose() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut harness = drawn();
    let chosen = [[245, 170, 205], [244, 111, 67], [130, 90, 50]];
    for (optimizer, color) in harness.state_mut().document.spec.optimizers.iter_mut().zip(chosen) {
        optimizer.color = Some(color);
    }
    advance_to(&mut harness, 20);
    let frames = folder.path().join("frames");
    export(&mut harness, settings(frames.clone(), AnimationFormat::PngFolder));
    let gif = folder.path().join("a.gif");
    export(&mut harness, settings(gif.clone(), AnimationFormat::Gif));
    for (index, frame) in frames_of(&gif).into_iter().enumerate() {
        let exact = image::open(frames.join(format!("frame_{:05}.png", index + 1))).expect("a picture").to_rgba8();
        let decoded = frame.into_buffer();
        for color in chosen {
            let places: Vec<_> = exact.enumerate_pixels().filter(|(_, _, pixel)| rgb(pixel) == color).collect();
            assert!(!places.is_empty(), "{color:?} is in frame {index}");
            for (x, y, _) in places {
                assert_eq!(rgb(decoded.get_pixel(x, y)), color, "at {x}, {y} of frame {index}");
            }
        }
    }
}

#[test]
fn a_picture_has_the_size_that_is_asked_for_and_no_buttons() {
    let mut harness = drawn();
    advance_to(&mut harness, 20);
    let once = picture(&mut harness, PictureSize::Times(1));
    let [width, height] = once.size;
    assert_eq!(width, 520 - 16, "as wide as the panel");
    assert_eq!(picture(&mut harness, PictureSize::Times(2)).size, [2 * width, 2 * height]);
    let wide = picture(&mut harness, PictureSize::Width(1200)).size;
    assert_eq!(wide[0], 1200);
    assert!(wide[1].abs_diff(1200 * height / width) <= 1, "{wide:?} has other sides than {:?}", once.size);

    let canvas = harness.get_by_label("Landscape").rect();
    harness.hover_at(canvas.center());
    harness.get_by_label("Place start").click();
    harness.run_steps(5);
    assert!(picture(&mut harness, PictureSize::Times(1)) == once, "tools and pointer do not show");
    let colors: std::collections::BTreeSet<_> = once.pixels.iter().map(egui::Color32::to_array).collect();
    for spec in &harness.state().document.spec.optimizers {
        let [red, green, blue] = spec.rgb();
        assert!(colors.contains(&[red, green, blue, 255]), "{} is in the legend", spec.label());
    }
    assert!(colors.len() > 200, "the heatmap is drawn");
}

#[test]
fn a_picture_in_space_shows_the_surface_and_its_axes() {
    let mut harness = drawn();
    advance_to(&mut harness, 20);
    let flat = picture(&mut harness, PictureSize::Times(1));
    harness.state_mut().document.view.space = true;
    harness.run_steps(3);
    let first = picture(&mut harness, PictureSize::Times(1));
    assert_eq!(first.size, flat.size);
    assert_ne!(first.pixels, flat.pixels);
    // The surface covers the middle, and the background the corners of the canvas.
    let at = |x: usize, y: usize| first.pixels[y * first.size[0] + x];
    let [width, height] = first.size;
    let colors: std::collections::BTreeSet<[u8; 4]> =
        (0..80).map(|step| at(width / 2 - 80 + 2 * step, height / 2).to_array()).collect();
    assert!(colors.len() > 30, "{} colours across the surface", colors.len());
    assert_eq!(at(30, 60), at(30, height - 20), "the background is plain");
    let larger = picture(&mut harness, PictureSize::Times(2));
    assert_eq!(larger.size, flat.size.map(|side| 2 * side));
}

#[test]
fn without_a_graphics_card_the_export_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut harness = harness(Stage::new(three_optimizers(5), Shown::Landscape, None), [520.0, 380.0]);
    advance_to(&mut harness, 5);
    start(&mut harness, settings(folder.path().join("a.gif"), AnimationFormat::Gif));
    harness.run_steps(2);
    let Some(Action::Report { text, .. }) = harness.state().actions.first() else { panic!("the failure is reported") };
    assert!(text.contains("no graphics adapter"), "{text}");
    assert!(!harness.state().animation.is_open());
    assert_eq!(harness.state().live.frame_secs, None);
}

#[cfg(unix)]
#[test]
fn exported_files_have_the_permissions_of_the_umask() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().expect("a folder");
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let (plain_file, plain_folder) = (folder.path().join("plain"), folder.path().join("folder"));
    std::fs::write(&plain_file, "").expect("a file");
    std::fs::create_dir(&plain_folder).expect("a folder");
    let mut harness = drawn();
    advance_to(&mut harness, 5);
    let (gif, frames) = (folder.path().join("a.gif"), folder.path().join("frames"));
    export(&mut harness, settings(gif.clone(), AnimationFormat::Gif));
    export(&mut harness, settings(frames.clone(), AnimationFormat::PngFolder));
    assert_eq!(mode(&gif), mode(&plain_file));
    assert_eq!(mode(&frames), mode(&plain_folder));
    assert_eq!(mode(&frames.join("frame_00001.png")), mode(&plain_file));
}

#[test]
fn an_animation_is_saved_frame_by_frame_and_the_session_is_restored() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut harness = drawn();
    advance_to(&mut harness, 37);
    // A change during the session, which restoring it has to repeat.
    harness.state_mut().document.spec.noise = Noise::clamped(0.5).into();
    harness.run_steps(2);
    advance_to(&mut harness, 60);
    let before = state(&harness);
    let target = folder.path().join("frames");
    export(&mut harness, settings(target.clone(), AnimationFormat::PngFolder));
    let mut names: Vec<_> =
        std::fs::read_dir(&target).expect("the folder").map(|e| e.expect("an entry").file_name()).collect();
    names.sort();
    assert_eq!(names, ["frame_00001.png", "frame_00002.png", "frame_00003.png", "frame_00004.png", "frame_00005.png"]);
    let picture = image::open(target.join("frame_00001.png")).expect("a picture").to_rgb8();
    assert_eq!(picture.width(), 520 - 16, "as wide as the panel");
    let last = image::open(target.join("frame_00005.png")).expect("a picture").to_rgb8();
    assert_ne!(picture, last, "the particles have moved");
    assert_eq!(state(&harness), before, "the run is back where it was");
    assert!(matches!(&harness.state().actions[..], [Action::Notify(text)] if text.contains("5 frames")));
    assert_eq!(harness.state().live.frame_secs, None);

    let gif = folder.path().join("animation.gif");
    export(&mut harness, settings(gif.clone(), AnimationFormat::Gif));
    let frames = frames_of(&gif);
    assert_eq!(frames.len(), 5);
    assert_eq!(frames[0].delay().numer_denom_ms(), (100, 1));
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 2, "nothing else is left behind");
}

#[test]
fn an_animation_in_space_has_the_surface_in_each_frame() {
    let mut harness = drawn();
    harness.state_mut().document.view.space = true;
    advance_to(&mut harness, 4);
    let expected = picture(&mut harness, PictureSize::Times(1));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("space.gif");
    export(&mut harness, Settings { to_step: 10, ..settings(target.clone(), AnimationFormat::Gif) });
    let frames = frames_of(&target);
    assert_eq!(frames.len(), 3);
    let [x, y] = expected.size.map(|side| side / 2);
    let background = expected.pixels[60 * expected.size[0] + 30].to_array();
    for frame in &frames {
        let near = |at: [u32; 2], to: [u8; 4]| {
            let found = frame.buffer().get_pixel(at[0], at[1]).0;
            (0..3).all(|channel| found[channel].abs_diff(to[channel]) < 40)
        };
        assert!(near([x as u32 - 40, y as u32 + 30], expected.pixels[(y + 30) * expected.size[0] + x - 40].to_array()));
        assert!(near([30, 60], background));
    }
}

#[test]
fn a_cancelled_or_failed_export_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut harness = drawn();
    advance_to(&mut harness, 10);
    let before = state(&harness);
    let long = Settings { to_step: 100_000, ..settings(folder.path().join("long.gif"), AnimationFormat::Gif) };
    start(&mut harness, long);
    harness.run_steps(10);
    harness.get_by_label("Cancel the export").click();
    until(&mut harness, "it has stopped", |stage| !stage.animation.is_open());
    assert_eq!(state(&harness), before);
    let begin = std::time::Instant::now();
    while std::fs::read_dir(folder.path()).expect("the folder").count() > 0 {
        assert!(begin.elapsed().as_secs() < 60, "the unfinished file stays");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(harness.state().actions.is_empty(), "who cancels knows");

    let nowhere = folder.path().join("missing").join("a.gif");
    export(&mut harness, settings(nowhere, AnimationFormat::Gif));
    assert_eq!(state(&harness), before);
    let Some(Action::Report { text, .. }) = harness.state().actions.first() else { panic!("the failure is reported") };
    assert!(text.contains("cannot write to") && text.contains("missing"), "{text}");
}

#[test]
fn a_playing_run_returns_to_its_step_and_plays_on() {
    let folder = tempfile::tempdir().expect("a folder");
    for cancels in [false, true] {
        let mut harness = drawn();
        harness.state().player.send(PlayerCommand::Speed(Speed::Unlimited));
        harness.state().player.send(PlayerCommand::Play);
        let step = |stage: &Stage| stage.live.snapshot.as_ref().map_or(0, |snapshot| snapshot.step);
        until(&mut harness, "it runs", |stage| step(stage) > 0);
        start(&mut harness, settings(folder.path().join("a.gif"), AnimationFormat::Gif));
        assert_eq!(harness.state().animation.plays_after(), Some(true));
        // The export continues only in the frame after the pause.
        while harness.state().live.is_playing() {
            harness.step();
        }
        let paused = state(&harness);
        if cancels {
            harness.get_by_label("Cancel the export").click();
        }
        // The frame in which the export ends still shows the restored step.
        while harness.state().animation.is_open() {
            std::thread::sleep(std::time::Duration::from_millis(2));
            harness.step();
        }
        assert_eq!(state(&harness), paused);
        until(&mut harness, "it plays on", |stage| stage.live.is_playing() && step(stage) > paused.0);
    }
    let mut harness = drawn();
    advance_to(&mut harness, 5);
    export(&mut harness, settings(folder.path().join("b.gif"), AnimationFormat::Gif));
    assert!(!harness.state().commands.iter().any(|command| command == "Play"), "a paused run stays paused");
}

/// Returns the texts on the landscape in a frame of an animation, with the legend.
fn written(caption: &str) -> Vec<(String, egui::Rect)> {
    let caption = caption.to_owned();
    let stage = Stage::new(three_optimizers(5), Shown::Landscape, None);
    let mut harness = Harness::builder().with_size([520.0, 380.0]).with_context_setup(install_font).build_ui_state(
        move |ui: &mut egui::Ui, stage: &mut Stage| {
            let Stage { landscape, document, live, player, .. } = stage;
            live.snapshot = player.try_snapshot().or(live.snapshot.take());
            landscape.captioned(ui, document, live, &caption);
        },
        stage,
    );
    until(&mut harness, "there is a legend", |stage| stage.live.snapshot.is_some());
    let texts = harness.output().shapes.iter().filter_map(|clipped| match &clipped.shape {
        egui::Shape::Text(text) => {
            Some((text.galley.text().to_owned(), text.visual_bounding_rect().intersect(clipped.clip_rect)))
        }
        _ => None,
    });
    texts.collect()
}

#[test]
fn a_caption_is_written_as_a_whole_and_beside_the_legend() {
    for caption in ["Step 1 280 · σ = 1", "Step 1 280 · σ = 1 · a = 10 · FOCUS: γ = 0.2 · FOCUS: η = 0.005 · c = 0.1"]
    {
        let texts = written(caption);
        assert!(texts.iter().any(|(text, _)| text == "Adam"), "the legend is drawn");
        let (_, area) = texts.iter().find(|(text, _)| text == caption).expect("the caption is drawn");
        assert!(area.width() > 100.0 && area.height() > 12.0, "{area}");
        for (text, other) in texts.iter().filter(|(text, _)| text != caption && text.len() > 1) {
            assert!(!area.intersects(*other), "{area} is on “{text}”, {other}");
        }
    }
}

/// Returns the pixels of an exported frame below the caption.
fn below_caption(path: &Path) -> Vec<u8> {
    const CAPTION: u32 = 64;
    let picture = image::open(path).expect("a picture").to_rgb8();
    let (width, height) = picture.dimensions();
    image::imageops::crop_imm(&picture, 0, CAPTION, width, height - CAPTION).to_image().into_raw()
}

#[test]
fn the_last_frame_is_that_of_the_step_that_was_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("frames");
    let asked = Settings { to_step: 23, ..settings(target.clone(), AnimationFormat::PngFolder) };
    let steps = |settings: &Settings| (0..settings.frames()).map(|frame| settings.step_of(frame)).collect::<Vec<u64>>();
    assert_eq!(steps(&asked), [0, 5, 10, 15, 20, 23]);
    assert_eq!(steps(&Settings { from_step: 3, ..asked.clone() }), [3, 8, 13, 18, 23]);
    assert_eq!(steps(&Settings { from_step: 23, ..asked.clone() }), [23]);
    let mut harness = drawn();
    // The recording goes beyond the step at which the run would pause.
    harness.state_mut().document.spec.steps = Some(12);
    harness.run_steps(2);
    advance_to(&mut harness, 2);
    export(&mut harness, asked);
    assert_eq!(std::fs::read_dir(&target).expect("the folder").count(), 6);
    let commands = &harness.state().commands;
    let advances: Vec<&str> = commands.iter().map(String::as_str).filter(|it| it.starts_with("Advance")).collect();
    assert_eq!(advances, ["Advance(5)", "Advance(5)", "Advance(5)", "Advance(5)", "Advance(3)", "Advance(2)"]);
    let frame = |number: u32| below_caption(&target.join(format!("frame_{number:05}.png")));
    assert!((1..6).all(|number| frame(number) != frame(number + 1)), "each step has a frame of its own");
}

#[test]
fn frames_have_a_caption_with_the_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut harness = drawn();
    advance_to(&mut harness, 5);
    let target = folder.path().join("frames");
    export(&mut harness, settings(target.clone(), AnimationFormat::PngFolder));
    let corner = |number: u32| {
        let picture = image::open(target.join(format!("frame_{number:05}.png"))).expect("a picture").to_rgb8();
        image::imageops::crop_imm(&picture, 66, 24, 120, 40).to_image()
    };
    let [first, second] = [corner(1), corner(2)];
    let bright =
        |picture: &image::RgbImage| picture.pixels().filter(|pixel| pixel.0.iter().all(|part| *part > 200)).count();
    assert!(
        bright(&first) > 20 && bright(&second) > 20,
        "{} and {} pixels of letters",
        bright(&first),
        bright(&second)
    );
    assert_ne!(first, second, "the step is another");
}

#[test]
fn a_replayed_session_is_drawn_on_the_landscape_that_it_had() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut harness = drawn();
    // One colour scale for all frames.
    harness.state_mut().document.view.scale = Some(valleyscope_experiments::view::SymLog { linear: 0.01, max: 10.0 });
    let first_of = |harness: &mut Harness<'_, Stage>, name: &str, replay: bool| {
        let target = folder.path().join(name);
        let to_step = 0;
        export(harness, Settings { replay, to_step, ..settings(target.clone(), AnimationFormat::PngFolder) });
        below_caption(&target.join("frame_00001.png"))
    };
    advance_to(&mut harness, 10);
    let before = first_of(&mut harness, "before", false);
    harness.state_mut().document.spec.landscape.set("sharpness", 100.0).unwrap();
    harness.run_steps(2);
    advance_to(&mut harness, 20);
    assert!(first_of(&mut harness, "replayed", true) == before, "step 0 is on the landscape of step 0");
    assert!(first_of(&mut harness, "present", false) != before, "with the present settings it is another");
}

#[test]
fn the_export_refuses_to_overwrite_and_invalid_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("mine.txt"), "precious").expect("a file");
    let into = |format| settings(folder.path().to_owned(), format);
    assert!(into(AnimationFormat::PngFolder).problem().expect("it is not empty").contains("exists already"));
    assert!(into(AnimationFormat::Gif).problem().is_some(), "a folder is no GIF");
    let good = settings(folder.path().join("new.gif"), AnimationFormat::Gif);
    assert_eq!(good.problem(), None);
    assert_eq!(good.frames(), 5);
    let backwards = Settings { from_step: 30, ..good.clone() };
    assert!(backwards.problem().expect("the end is before the start").contains("before"));
    assert!(Settings { to_step: 10_000_000, every: 1, ..good }.problem().expect("too many").contains("too many"));
}

#[test]
fn the_dialog_does_not_offer_to_replay_a_later_pause() {
    for (set, is_seen) in [(Setting::Steps(Some(9)), false), (Setting::Noise(Noise::clamped(0.0).into()), true)] {
        let mut harness = harness(Stage::new(three_optimizers(5), Shown::Landscape, None), [520.0, 480.0]);
        advance_to(&mut harness, 5);
        let (answer, session) = std::sync::mpsc::channel();
        let record = Record { spec: three_optimizers(5), changes: vec![Change { step: 3, set }] };
        answer.send(record).expect("the receiver is here");
        let Stage { animation, live, .. } = harness.state_mut();
        animation.open(live, || session);
        harness.run_steps(3);
        let choice = harness.query_by_label("as the session went, with its change");
        assert_eq!(choice.is_some(), is_seen, "{set:?}");
    }
}

#[test]
fn the_session_can_be_animated_with_its_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut harness = drawn();
    advance_to(&mut harness, 10);
    harness.state().player.send(PlayerCommand::Set(0, Setting::Noise(Noise::clamped(0.0).into())));
    harness.state_mut().document.spec.noise = Noise::clamped(0.0).into();
    harness.run_steps(2);
    advance_to(&mut harness, 20);
    let before = state(&harness);
    let replay = Settings { replay: true, ..settings(folder.path().join("a.gif"), AnimationFormat::Gif) };
    export(&mut harness, replay);
    assert_eq!(state(&harness), before);
    assert!(harness.state().commands.iter().filter(|command| command.starts_with("Load")).count() == 2);
}
