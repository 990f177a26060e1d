//! Pictures and animations of the landscape and its plots.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::Theme;
use image::{AnimationDecoder, Rgb, RgbImage};
use valleyscope::app::Graphics;
use valleyscope::app::landscape::animation_export::{AnimationJob, FrameSteps};
use valleyscope::app::landscape::picture::{PictureContent, PictureOptions, PictureStage, PictureSubject};
use valleyscope::app::landscape::plots::DiagnosticMetric;
use valleyscope::app::shell::jobs::Progress;
use valleyscope::draw::RunPlots;
use valleyscope::export::NpzWriter;
use valleyscope::export::animation::{AnimationFile, AnimationFormat, EncodeError, Encoder};
use valleyscope::player::RecordedCloud;
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::quantity::Noise;
use valleyscope_engine::simulation::{Change, Setting, SimulationSpec};
use valleyscope_experiments::preset::{LandscapePreset, PresetSimulation};
use valleyscope_experiments::view::{Colormap, SymLog, ViewProjection, ViewSettings, simulation_colors};

use super::canvas_space::{render_state, three_optimizers};
use crate::left_out::left_out;
use crate::says::says;

fn graphics() -> Graphics {
    Graphics::of(&render_state())
}

fn subject() -> PictureSubject {
    PictureSubject {
        preset: LandscapePreset::new("A narrow valley", three_optimizers(5)),
        seen: None,
        selected: None,
        hidden: Default::default(),
        recorded: Vec::new(),
        plots: RunPlots {
            metrics: vec![DiagnosticMetric::Loss, DiagnosticMetric::EffectiveStep],
            ..RunPlots::default()
        },
    }
}

/// Makes the subject with another view.
fn viewed(view: ViewSettings) -> PictureSubject {
    let subject = subject();
    PictureSubject { preset: LandscapePreset { view: Some(view), ..subject.preset }, ..subject }
}

fn options() -> PictureOptions {
    PictureOptions { size: [400, 300], ..PictureOptions::new(Theme::Dark) }
}

fn picture(subject: PictureSubject, options: PictureOptions, step: u64) -> RgbImage {
    let mut stage = PictureStage::open(&graphics(), subject, options, 20, 0.1).expect("there is a device");
    assert!(stage.go_to(step, || false));
    stage.draw().expect("it is drawn")
}

fn job(format: AnimationFormat) -> AnimationJob {
    let steps = FrameSteps { from: 0, to: 20, every: 5, frames_per_sec: 10 };
    let options = PictureOptions { content: PictureContent::Landscape, ..options() };
    AnimationJob { graphics: graphics(), subject: subject(), options, steps, format }
}

fn export(job: AnimationJob, target: PathBuf) -> Result<Option<PathBuf>, EncodeError> {
    job.run(target, &Progress::new(5))
}

fn saved(job: AnimationJob, target: PathBuf) {
    assert_eq!(export(job, target.clone()).expect("it is saved"), Some(target));
}

/// Returns the frames of a folder of pictures.
fn pictures(folder: &Path) -> Vec<RgbImage> {
    let count = std::fs::read_dir(folder).expect("the folder").count();
    let name = |number: usize| folder.join(format!("frame_{number:05}.png"));
    (1..=count).map(|number| image::open(name(number)).expect("a picture").to_rgb8()).collect()
}

fn frames_of(gif: &Path) -> Vec<image::Frame> {
    let file = std::io::BufReader::new(std::fs::File::open(gif).expect("the file"));
    let decoder = image::codecs::gif::GifDecoder::new(file).expect("a GIF");
    decoder.into_frames().collect_frames().expect("its frames")
}

fn frames_of_apng(path: &Path) -> Vec<image::Frame> {
    let file = std::io::BufReader::new(std::fs::File::open(path).expect("the file"));
    let decoder = image::codecs::png::PngDecoder::new(file).expect("a PNG").apng().expect("an animated one");
    decoder.into_frames().collect_frames().expect("its frames")
}

fn rgb(frame: image::Frame) -> RgbImage {
    image::DynamicImage::ImageRgba8(frame.into_buffer()).to_rgb8()
}

/// Draws a heatmap with a line of each colour over it, three pixels wide: the colour, and half of it on both sides.
fn lines_over_a_heatmap(colors: &[[u8; 3]]) -> RgbImage {
    RgbImage::from_fn(640, 480, |x, y| {
        let level = 0.5 + 0.5 * (f64::from(x) / 90.0).sin() * (f64::from(y) / 130.0).cos();
        let ground = Colormap::Viridis.rgb(level);
        let part = match y % 20 {
            9 | 11 => 0.5,
            10 => 1.0,
            _ => 0.0,
        };
        let line = colors.get(y as usize / 20).copied().unwrap_or(ground);
        let mixed = |axis: usize| (part * f64::from(line[axis]) + (1.0 - part) * f64::from(ground[axis])) as u8;
        Rgb([mixed(0), mixed(1), mixed(2)])
    })
}

/// Encodes a frame as a GIF and decodes it.
fn through_a_gif(frame: &RgbImage, exact_colors: &[[u8; 3]]) -> RgbImage {
    let folder = tempfile::tempdir().expect("a folder");
    let mut encoder = Encoder::start(AnimationFile {
        format: AnimationFormat::Gif,
        target: folder.path().join("a.gif"),
        size: [frame.width(), frame.height()],
        frames: 1,
        frames_per_sec: 10,
        exact_colors: exact_colors.to_vec(),
    });
    encoder.write(frame.clone()).expect("it is encoded");
    rgb(frames_of(&encoder.finish().expect("it is written")).remove(0))
}

#[test]
fn pictures_show_recorded_clouds_at_their_step() {
    let clouds = || {
        let (mut archive, mut steps) = (std::io::Cursor::new(Vec::new()), Vec::new());
        (0..=20).for_each(|step| steps.extend([0.01 * f64::from(step), 0.02 * f64::from(step)]));
        let mut npz = NpzWriter::new(&mut archive);
        npz.array("positions", &[1, 21, 2], steps).expect("memory takes all");
        npz.finish().expect("memory takes all");
        archive.set_position(0);
        let mut clouds = RecordedCloud::read_archive(archive, Path::new("line.npz")).expect("it is valid");
        clouds[0].optimizer.id = u32::MAX;
        clouds
    };
    let view = || ViewSettings { follow: false, ..ViewSettings::default() };
    let options = || PictureOptions { content: PictureContent::Landscape, legend: false, ..options() };
    let without = |step| picture(viewed(view()), options(), step);
    let with = |step| picture(PictureSubject { recorded: clouds(), ..viewed(view()) }, options(), step);
    let color = PictureSubject { recorded: clouds(), ..subject() }.colors()[3];
    let count = |picture: &RgbImage| picture.pixels().filter(|pixel| pixel.0 == color).count();
    assert!(count(&with(20)) > count(&without(20)), "no pixel of the colour {color:?}");
    assert_ne!(with(5), with(20));
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
        let (wanted, found) = (pixel.0, decoded.get_pixel(x, y).0);
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

type Choice = fn(&mut PictureOptions);

#[test]
fn a_picture_shows_what_is_chosen_in_its_own_size_and_theme() {
    let all = picture(subject(), options(), 20);
    assert_eq!(all.dimensions(), (400, 300));
    let colors: std::collections::BTreeSet<[u8; 3]> = all.pixels().map(|pixel| pixel.0).collect();
    let preset = subject().preset;
    let optimizers = &preset.spec().optimizers;
    for (optimizer, color) in optimizers.iter().zip(simulation_colors(optimizers)) {
        assert!(colors.contains(&color), "{} is in the legend", optimizer.label());
    }
    assert!(colors.len() > 200, "the heatmap is drawn");
    let mut others = vec![("all", all)];
    let changed: [(&str, Choice); 8] = [
        ("no title", |options| options.title = false),
        ("no step", |options| options.step = false),
        ("no settings", |options| options.settings = false),
        ("no legend", |options| options.legend = false),
        ("no colour bar", |options| options.color_bar = false),
        ("landscape", |options| options.content = PictureContent::Landscape),
        ("plots", |options| options.content = PictureContent::Plots),
        ("light", |options| options.theme = Theme::Light),
    ];
    for (name, change) in changed {
        let mut options = options();
        change(&mut options);
        let drawn = picture(subject(), options, 20);
        for (other, pixels) in &others {
            assert!(*pixels != drawn, "{name} looks like {other}");
        }
        if name == "light" {
            assert_eq!(drawn.get_pixel(2, 2).0, [255; 3]);
        }
        others.push((name, drawn));
    }
    let large = PictureOptions { size: [1000, 500], ..options() };
    assert_eq!(picture(subject(), large, 20).dimensions(), (1000, 500));
    let of_step = |step| picture(subject(), options(), step);
    assert!(of_step(20) != of_step(19) && of_step(20) == others[0].1, "a step has one picture");
}

#[test]
fn a_picture_in_space_shows_the_surface_before_a_plain_background() {
    let options = PictureOptions { content: PictureContent::Landscape, size: [520, 380], ..options() };
    let view = ViewSettings { projection: ViewProjection::Space, ..ViewSettings::default() };
    let drawn = picture(viewed(view), options, 20);
    let at = |x: u32, y: u32| drawn.get_pixel(x, y).0;
    let across: std::collections::BTreeSet<[u8; 3]> = (0..80).map(|step| at(160 + 2 * step, 210)).collect();
    assert!(across.len() > 30, "{} colours across the surface", across.len());
    assert_eq!(at(20, 90), at(20, 320), "the background is plain");
}

#[test]
fn animations_of_all_kinds_have_the_same_frames_and_leave_nothing_else_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let chosen = [[245, 170, 205], [244, 111, 67], [130, 90, 50]];
    let save = |name: &str, format| {
        let mut job = job(format);
        for (optimizer, color) in job.subject.preset.spec_mut().optimizers.iter_mut().zip(chosen) {
            optimizer.color = Some(color);
        }
        saved(job, at(name));
    };
    save("frames", AnimationFormat::PngFolder);
    save("a.gif", AnimationFormat::Gif);
    save("a.apng", AnimationFormat::Apng);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 3);
    let exact = pictures(&at("frames"));
    assert_eq!(exact.len(), 5);
    assert!((1..5).all(|index| exact[index - 1] != exact[index]), "the particles move");
    let gif = frames_of(&at("a.gif"));
    assert_eq!(gif[0].delay().numer_denom_ms(), (100, 1));
    for (index, frame) in gif.into_iter().map(rgb).enumerate() {
        for (x, y, pixel) in exact[index].enumerate_pixels().filter(|(_, _, pixel)| chosen.contains(&pixel.0)) {
            assert_eq!(frame.get_pixel(x, y), pixel, "at {x}, {y} of frame {index}");
        }
    }
    let apng = frames_of_apng(&at("a.apng"));
    assert_eq!(apng[0].delay().numer_denom_ms(), (100, 1));
    let apng: Vec<RgbImage> = apng.into_iter().map(rgb).collect();
    assert!(apng == exact, "an APNG has all colours");
}

#[test]
fn frames_are_differences_to_the_frame_before() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in [AnimationFormat::Gif, AnimationFormat::Apng] {
        let size = |to: u64| {
            let target = folder.path().join(format!("{to}.{}", format.extension()));
            let job = job(format);
            saved(AnimationJob { steps: FrameSteps { to, every: 1, ..job.steps }, ..job }, target.clone());
            std::fs::metadata(&target).expect("it is there").len()
        };
        let (first, eleven) = (size(0), size(10));
        assert!(eleven < 4 * first, "{format:?}: {first} bytes with one frame, {eleven} with eleven");
    }
}

#[test]
fn videos_are_encoded_by_ffmpeg_where_it_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in [AnimationFormat::Mp4, AnimationFormat::WebM] {
        let target = folder.path().join(format!("a.{}", format.extension()));
        let mut job = job(format);
        // Odd sides, which players do not accept, lose a pixel.
        job.options.size = [301, 201];
        if !format.is_available() {
            let error = export(job, target).expect_err("there is no ffmpeg").to_string();
            assert!(error.contains("needs the program ffmpeg") && error.contains("apt-get install"), "{error}");
            left_out("window::landscape_exports", &format!("without ffmpeg, {} is not encoded", format.name()));
            continue;
        }
        saved(job, target.clone());
        let decoded = std::process::Command::new("ffmpeg")
            .args(["-loglevel", "error", "-i"])
            .arg(&target)
            .args(["-f", "rawvideo", "-pix_fmt", "rgb24", "-"])
            .output()
            .expect("ffmpeg starts");
        assert_eq!(decoded.stdout.len(), 5 * 300 * 200 * 3, "five frames of 300 × 200 pixels");
    }
    assert!(std::fs::read_dir(folder.path()).expect("the folder").count() <= 2, "nothing else is left behind");
}

#[test]
fn a_refusal_by_ffmpeg_is_reported() {
    if !AnimationFormat::Mp4.is_available() {
        return left_out("window::landscape_exports::a_refusal_by_ffmpeg_is_reported", "ffmpeg is not installed");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut encoder = Encoder::start(AnimationFile {
        format: AnimationFormat::Mp4,
        target: folder.path().join("a.mp4"),
        // ffmpeg refuses a video without pixels.
        size: [0, 0],
        frames: 1,
        frames_per_sec: 10,
        exact_colors: Vec::new(),
    });
    // It may end before or after the frame.
    let outcome = encoder.write(RgbImage::new(8, 8)).and_then(|()| encoder.finish().map(drop));
    says(outcome.expect_err("it is no video").to_string(), &["ffmpeg did not write", "a.mp4"]);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
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
    for format in AnimationFormat::ALL.into_iter().filter(|format| format.is_available()) {
        let target = folder.path().join(format!("a.{}", format.extension()));
        saved(job(format), target.clone());
        let plain = if format == AnimationFormat::PngFolder { &plain_folder } else { &plain_file };
        assert_eq!(mode(&target), mode(plain), "{format:?}");
    }
    assert_eq!(mode(&folder.path().join("a.").join("frame_00001.png")), mode(&plain_file));
}

#[test]
fn a_cancelled_or_failed_export_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in AnimationFormat::ALL.into_iter().filter(|format| format.is_available()) {
        let (mut long, target) = (job(format), folder.path().join("long"));
        long.steps.to = 100_000;
        let progress = Arc::new(Progress::new(long.steps.frames()));
        let of_thread = Arc::clone(&progress);
        let thread = std::thread::spawn(move || long.run(target, &of_thread));
        let begin = Instant::now();
        while progress.done() == 0 {
            assert!(begin.elapsed().as_secs() < 60, "no frame is drawn");
            std::thread::sleep(Duration::from_millis(2));
        }
        progress.cancel();
        assert_eq!(thread.join().expect("it ends").expect("it is cancelled"), None);
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "{format:?}");
        let nowhere = export(job(format), folder.path().join("missing").join("a")).expect_err("there is no folder");
        assert!(
            nowhere.to_string().contains("cannot write to") && nowhere.to_string().contains("missing"),
            "{nowhere}"
        );
    }
    let mine = folder.path().join("mine.gif");
    std::fs::write(&mine, "precious").expect("a file");
    saved(job(AnimationFormat::Gif), mine.clone());
    assert_eq!(frames_of(&mine).len(), 5);
}

#[test]
fn the_last_frame_is_that_of_the_step_that_was_asked_for() {
    let steps = |asked: FrameSteps| (0..asked.frames()).map(|frame| asked.step_of(frame)).collect::<Vec<u64>>();
    let asked = FrameSteps { from: 0, to: 23, every: 5, frames_per_sec: 10 };
    assert_eq!(steps(asked), [0, 5, 10, 15, 20, 23]);
    assert_eq!(steps(FrameSteps { from: 3, ..asked }), [3, 8, 13, 18, 23]);
    assert_eq!(steps(FrameSteps { from: 23, ..asked }), [23]);
    let folder = tempfile::tempdir().expect("a folder");
    let mut job = job(AnimationFormat::PngFolder);
    // The animation goes beyond the step at which the run would pause.
    job.subject.preset.spec_mut().steps = Some(12);
    // A camera that follows the particles would have come another way.
    job.subject = PictureSubject {
        preset: LandscapePreset {
            view: Some(ViewSettings { follow: false, ..Default::default() }),
            ..job.subject.preset
        },
        ..job.subject
    };
    // The place of the settings depends on the number of the last step.
    job.options.settings = false;
    job.steps = asked;
    let (subject, options) = (job.subject.clone(), job.options.clone());
    saved(job, folder.path().join("frames"));
    let frames = pictures(&folder.path().join("frames"));
    assert_eq!(frames.len(), 6);
    assert!(frames[5] == picture(subject, options, 23), "the last frame is that of step 23");
}

#[test]
fn a_session_is_drawn_with_its_changes_at_their_steps() {
    // One colour scale for all frames.
    let session = viewed(ViewSettings { scale: Some(SymLog::symmetric(0.01, 10.0)), ..ViewSettings::default() });
    let mut steep = LandscapeSpec::default();
    steep.set("sharpness", 100.0).expect("it is in the range");
    let changes = vec![
        Change { step: 10, set: Setting::Landscape(steep) },
        Change { step: 12, set: Setting::Noise(Noise::clamped(0.0).into()) },
    ];
    let mut changed = session.clone();
    changed.preset.simulations[0].changes = changes;
    let options = PictureOptions { content: PictureContent::Landscape, settings: false, ..options() };
    let drawn = |subject: &PictureSubject, step| picture(subject.clone(), options.clone(), step);
    assert!(drawn(&changed, 9) == drawn(&session, 9), "before the first change it is the same run");
    assert!(drawn(&changed, 11) != drawn(&session, 11), "the landscape is another");
}

#[test]
fn sessions_side_by_side_are_drawn_side_by_side() {
    let one = viewed(ViewSettings { follow: false, ..ViewSettings::default() });
    let first = one.preset.spec();
    let mut without_noise = first.clone();
    without_noise.noise = Noise::clamped(0.0).into();
    let beside = |other: &SimulationSpec| {
        let mut both = one.clone();
        both.preset.simulations[0].name = Some("Another".to_owned());
        both.preset.simulations.push(PresetSimulation { spec: Some(other.clone()), ..PresetSimulation::default() });
        both
    };
    let options = PictureOptions { content: PictureContent::Landscape, size: [800, 300], legend: false, ..options() };
    let drawn = |subject: PictureSubject| picture(subject, options.clone(), 20);
    let (same, other) = (drawn(beside(first)), drawn(beside(&without_noise)));
    assert!(same != drawn(one.clone()), "there are two canvases");
    let differs = |columns: std::ops::Range<u32>| {
        columns.flat_map(|x| (60..240).map(move |y| (x, y))).any(|(x, y)| same.get_pixel(x, y) != other.get_pixel(x, y))
    };
    assert!(differs(420..680), "the second canvas shows the second session");
    assert!(!differs(80..360), "the first canvas shows the first session");
}

#[test]
fn steps_that_cannot_be_shown_are_refused() {
    let good = FrameSteps { from: 0, to: 20, every: 5, frames_per_sec: 10 };
    assert_eq!((good.problem(), good.frames()), (None, 5));
    let backwards = FrameSteps { from: 30, ..good };
    assert!(backwards.problem().expect("the end is before the start").contains("before"));
    let long = FrameSteps { to: 10_000_000, every: 1, ..good };
    assert!(long.problem().expect("too many").contains("too many"));
}
