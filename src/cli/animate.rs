//! `valleyscope animate`: an animation of a landscape without a window.

use std::ffi::OsString;
use std::path::PathBuf;

use valleyscope_experiments::view::DiagnosticMetric;

use super::landscape_args::metric;
use super::whole;

#[derive(clap::Args)]
pub(super) struct AnimateArgs {
    /// Name of a built-in preset or of one of your own, or a file
    #[arg(value_name = "PRESET")]
    preset: OsString,
    /// Write to this file, replacing it if it exists
    #[arg(long, value_name = "FILE.gif|.apng|.mp4|.webm")]
    out: PathBuf,
    /// The step of the first frame
    #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true, value_parser = whole(0..=u64::MAX))]
    from: u64,
    /// The step of the last frame [default: the preset's last step, or 1000]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole(0..=u64::MAX))]
    to: Option<u64>,
    /// Steps from one frame to the next [default: such that there are at most 200 frames]
    #[arg(long, value_name = "K", allow_hyphen_values = true, value_parser = whole(1..=u64::MAX))]
    every: Option<u64>,
    /// Frames a second, 1 to 50
    #[arg(long, value_name = "F", default_value = "20", allow_hyphen_values = true, value_parser = whole(1..=50))]
    fps: u64,
    /// Show the landscape, its plots, or both side by side in the frames
    #[arg(long, value_name = "landscape|plots|both", default_value = "both")]
    #[arg(value_parser = ["landscape", "plots", "both"])]
    show: String,
    /// The plots: loss, u, abs-v, effective-step, free-energy, noise, signal, noise-share, oscillation
    /// [default: the first four]
    #[arg(long, value_name = "PLOT,…", value_delimiter = ',', value_parser = metric)]
    plots: Vec<DiagnosticMetric>,
    /// Leave out these parts of the frames: title, step, settings, legend, color-bar
    #[arg(long, value_name = "PART,…", value_delimiter = ',')]
    #[arg(value_parser = ["title", "step", "settings", "legend", "color-bar"])]
    without: Vec<String>,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "800x600", value_parser = size)]
    size: [u32; 2],
    /// Size of text and strokes in percent, 50 to 300
    #[arg(long, value_name = "P", default_value = "100", allow_hyphen_values = true, value_parser = whole(50..=300))]
    text: u64,
    /// Theme of the frames
    #[arg(long, value_name = "light|dark", default_value = "dark", value_parser = ["light", "dark"])]
    theme: String,
    /// Set a field of the preset, such as noise=0.5; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::assignment)]
    set: Vec<(String, String)>,
}

fn size(text: &str) -> Result<[u32; 2], String> {
    let sides = text.split_once(['x', '×']).map(|(width, height)| [width, height].map(|side| side.trim().parse().ok()));
    match sides {
        Some([Some(width), Some(height)]) => Ok([width, height]),
        _ => Err(format!("expected width and height in pixels, such as 800x600, found {text}")),
    }
}

#[cfg(not(feature = "app"))]
pub(super) fn run(_: &AnimateArgs) -> Result<(), super::Failure> {
    Err(super::Failure::BadInput(anyhow::anyhow!(
        "this valleyscope was built without the app's window, which draws animations; `valleyscope figure` draws a \
         preset without it"
    )))
}

#[cfg(feature = "app")]
pub(super) use with_app::run;

#[cfg(feature = "app")]
mod with_app {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::time::Duration;

    use anyhow::anyhow;
    use egui::Theme;
    use valleyscope_experiments::preset::LandscapePreset;
    use valleyscope_experiments::view::ViewSettings;

    use super::super::{Failure, landscape_preset, say};
    use super::AnimateArgs;
    use crate::app::Graphics;
    use crate::app::landscape::animation_export::{AnimationJob, FrameSteps};
    use crate::app::landscape::picture::{PictureContent, PictureOptions, PictureSubject};
    use crate::app::shell::jobs::Progress;
    use crate::cli::landscape_args::check_known;
    use crate::cli::output::{Interrupt, ProgressLine, ProgressUnit, by_ending};
    use crate::draw::RunPlots;
    use crate::export::animation::AnimationFormat;

    const USUAL_FRAMES: u64 = 200;
    const INTERVAL: Duration = Duration::from_millis(50);

    pub(in crate::cli) fn run(args: &AnimateArgs) -> Result<(), Failure> {
        let files = AnimationFormat::ALL.into_iter().filter(|format| !format.extension().is_empty());
        let endings: Vec<_> = files.map(|format| (format.extension(), format)).collect();
        let format = by_ending("--out", &args.out, &endings)?;
        let preset = landscape_preset(&args.preset, &args.set)?;
        check_known(&args.plots, &preset.spec().landscape)?;
        let options = options(args);
        let in_space = preset.view.as_ref().is_some_and(ViewSettings::is_in_space);
        if let Some(problem) = options.problem(in_space) {
            return Err(Failure::BadInput(anyhow!("--size: {problem}")));
        }
        let to = args.to.or(preset.planned_steps()).unwrap_or(LandscapePreset::DEFAULT_STEPS);
        if args.from > to {
            return Err(Failure::BadInput(anyhow!("--from {} is after the last step, {to}", args.from)));
        }
        let every = args.every.unwrap_or_else(|| (to - args.from).div_ceil(USUAL_FRAMES - 1).max(1));
        let frames_per_sec = u32::try_from(args.fps).unwrap_or(u32::MAX);
        let steps = FrameSteps { from: args.from, to, every, frames_per_sec };
        if let Some(problem) = steps.problem() {
            return Err(Failure::BadInput(anyhow!("--every {every}: {problem}")));
        }
        let subject = subject(args, preset);
        let graphics = Graphics::without_window().map_err(|reason| Failure::Failed(anyhow!(reason)))?;
        draw(AnimationJob { graphics, subject, options, steps, format }, args.out.clone())?;
        let seconds = steps.frames() as f64 / f64::from(frames_per_sec);
        say(format_args!("Wrote {}, {} frames, {seconds:.1} seconds", args.out.display(), steps.frames()));
        Ok(())
    }

    fn options(args: &AnimateArgs) -> PictureOptions {
        let shows = |part: &str| !args.without.iter().any(|left_out| left_out == part);
        let content = PictureContent::ALL.into_iter().find(|content| content.name() == args.show);
        PictureOptions {
            content: content.unwrap_or_default(),
            size: args.size,
            text_percent: u32::try_from(args.text).unwrap_or(u32::MAX),
            theme: if args.theme == "light" { Theme::Light } else { Theme::Dark },
            title: shows("title"),
            step: shows("step"),
            settings: shows("settings"),
            legend: shows("legend"),
            color_bar: shows("color-bar"),
        }
    }

    fn subject(args: &AnimateArgs, preset: LandscapePreset) -> PictureSubject {
        let mut plots = RunPlots::default();
        if !args.plots.is_empty() {
            plots.metrics.clone_from(&args.plots);
        }
        let (hidden, recorded) = Default::default();
        PictureSubject { preset, seen: None, selected: None, hidden, recorded, plots }
    }

    fn draw(job: AnimationJob, target: PathBuf) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let progress = Arc::new(Progress::new(job.steps.frames()));
        let of_thread = Arc::clone(&progress);
        let thread = std::thread::spawn(move || job.run(target, &of_thread));
        let mut line = ProgressLine::new(progress.parts(), ProgressUnit::FRAMES, false);
        while !thread.is_finished() {
            if interrupt.is_raised() {
                progress.cancel();
            }
            line.update(progress.done());
            std::thread::sleep(INTERVAL);
        }
        line.finish();
        if let Some(warning) = progress.warning() {
            say(format_args!("warning: {warning}"));
        }
        match thread.join() {
            Ok(Ok(Some(_))) => Ok(()),
            Ok(Ok(None)) => Err(Failure::Interrupted),
            Ok(Err(error)) => Err(Failure::Failed(error.into())),
            Err(_) => Err(Failure::Failed(anyhow!("the thread that draws the frames failed"))),
        }
    }
}
