//! The exports of the landscape: pictures, figures, animations, the page of a lesson, and data.

use std::io::Cursor;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use egui::{ColorImage, Vec2, vec2};
use valleyscope_engine::simulation::Simulation;
use valleyscope_experiments::preset::{LandscapePreset, Preset};
use valleyscope_experiments::view::ViewSettings;
use valleyscope_experiments::view::ticks::grouped;

use super::LandscapeTab;
use super::animation_export::{AnimationJob, FrameSteps, is_seen};
use super::picture::{PictureContent, PictureOptions, PictureStage, PictureSubject};
use super::plots::TableContents;
use crate::app::shell::export::{ExportKind, ExportOptions, ExportSource, FileFormat, Made, Preview, decoded};
use crate::app::shell::files::FileContent;
use crate::app::shell::graphics::Graphics;
use crate::app::shell::jobs::Progress;
use crate::draw::{Figure, RunPlots, Trajectories, encoded, small_picture};
use crate::export::TrajectoryArrays;
use crate::export::animation::EncodeError;
use crate::export::lesson_page::{LessonPage, notes_page};
use crate::player::{OptimizerHistory, PlayerCommand};

/// The largest number of frames of an animation in the preview.
const PREVIEW_FRAMES: u64 = 6;
/// The most bytes of the arrays of a run; of longer runs not every step is written.
const MOST_BYTES: u64 = 256 << 20;
/// The size of the picture of a lesson's first step in the preview, in points, and its resolution: two pixels a point.
const FIRST_STEP: Vec2 = vec2(300.0, 170.0);
const DPI: f64 = 144.0;
const CANCELLED: &str = "It was cancelled.";

/// The landscape and its run, as they were when the sheet of exports opened.
struct LandscapeExport {
    /// The landscape with its present settings and the colour scale of the screen, and the session so far with its
    /// changes.
    present: LandscapePreset,
    session: LandscapePreset,
    /// The preset with its lesson.
    lesson: LandscapePreset,
    step: u64,
    last_step: u64,
    /// The plots on the screen.
    plots: RunPlots,
    /// The way in which they are looked at.
    subject: PictureSubject,
    graphics: Result<Graphics, String>,
    /// The suggested steps of an animation.
    frames: FrameSteps,
    table: TableContents,
    /// The histories of the table, which the player sends.
    sent: Mutex<Receiver<Vec<OptimizerHistory>>>,
    csv: OnceLock<Arc<Vec<u8>>>,
    /// The figures of the landscape and of the plots, once they are computed.
    figures: Mutex<[Option<Figure>; 2]>,
}

impl LandscapeTab {
    pub(super) fn begin_export(&mut self) -> Arc<dyn ExportSource> {
        let view = Some(self.view());
        let LandscapePreset { title, description, .. } = self.named();
        let named = |preset: LandscapePreset| LandscapePreset {
            title: title.clone(),
            description: description.clone(),
            view: view.clone(),
            ..preset
        };
        let document = &self.editor.draft.document;
        let metrics = self.diagnostics.displayed(&document.spec(0).landscape);
        let plots = RunPlots { metrics, ..self.diagnostics.choices() };
        let table = self.diagnostics.table(document, &self.live);
        let (answer, sent) = channel();
        match &table.frozen {
            // The receiver lives until the thread has it.
            Some(frozen) => answer.send(frozen.clone()).unwrap_or_default(),
            None => self.player.send(PlayerCommand::History(answer)),
        }
        let [step, last_step] =
            self.live.snapshot.as_ref().map_or([0; 2], |snapshot| [snapshot.step, snapshot.last_step]);
        let scale = Some(self.landscape.scale(document, &self.live));
        let present_view = view.clone().map(|view| ViewSettings { scale, ..view });
        let present = LandscapePreset { view: present_view, ..named(self.editor.present_preset()) };
        Arc::new(LandscapeExport {
            present: present.clone(),
            session: named(self.editor.session_preset(self.live.records())),
            lesson: self.named(),
            step,
            last_step,
            plots: plots.clone(),
            subject: PictureSubject {
                preset: present,
                seen: Some(self.landscape.seen()),
                selected: self.live.selected,
                hidden: self.live.hidden.clone(),
                recorded: self.live.recorded.clone(),
                plots,
            },
            graphics: self.landscape.graphics(),
            frames: FrameSteps::suggested(last_step, self.pace),
            table,
            sent: Mutex::new(sent),
            csv: OnceLock::new(),
            figures: Mutex::default(),
        })
    }
}

impl ExportSource for LandscapeExport {
    fn title(&self) -> String {
        self.present.title.clone()
    }

    fn contents(&self, kind: ExportKind) -> Vec<&'static str> {
        match kind {
            ExportKind::Picture | ExportKind::Animation => vec!["Both", "Landscape", "Plots"],
            ExportKind::Figure => vec!["Landscape", "Plots"],
            ExportKind::WebPage if !self.lesson.lesson.is_empty() => vec!["Lesson", "Speaker notes"],
            ExportKind::WebPage | ExportKind::Data => Vec::new(),
        }
    }

    fn data(&self) -> Vec<(FileFormat, &'static str)> {
        vec![
            (FileFormat::Csv, "The shown plots: a row for each step, optimizer and metric"),
            (FileFormat::Npz, "The run: every particle and metric at every step, as arrays"),
            (FileFormat::Ron, "The preset, with the changes of settings so far"),
        ]
    }

    fn suggest(&self, options: &mut ExportOptions) {
        let changes = self.session.simulations.iter().flat_map(|session| &session.changes);
        options.animation.changes = changes.filter(|change| change.step > 0 && is_seen(&change.set)).count();
        options.animation.replay = options.animation.changes > 0;
        options.animation.steps = self.frames;
    }

    fn parts(&self, options: &ExportOptions) -> u64 {
        match (options.kind, options.format) {
            (_, FileFormat::Npz) => self.last_step,
            (ExportKind::Animation, _) => PREVIEW_FRAMES,
            (ExportKind::WebPage, _) if options.content == 0 => {
                LessonPage::new(&self.lesson).map_or(0, |page| page.steps())
            }
            _ => 0,
        }
    }

    fn make(&self, options: &ExportOptions, progress: &Progress) -> Result<Made, String> {
        match (options.kind, options.format) {
            (ExportKind::Picture, _) => self.picture(options, progress),
            (ExportKind::Figure, _) => {
                let made = options.figure(&self.figure(options.content, progress)?)?;
                let steps =
                    if self.step > 0 { format!("to step {}", grouped(self.step)) } else { "all steps".to_owned() };
                Ok(Made { about: format!("{} · {steps}", made.about), ..made })
            }
            (ExportKind::Animation, _) => self.animation(options, progress),
            (ExportKind::WebPage, _) => self.page(options, progress),
            (ExportKind::Data, FileFormat::Npz) => self.arrays(options, progress),
            (ExportKind::Data, FileFormat::Ron) => {
                let text = Preset::Landscape(self.session.clone()).to_ron();
                Ok(options.made(text.clone().into_bytes(), Preview::Text(text), String::new()))
            }
            (ExportKind::Data, _) => self.csv(options),
        }
    }
}

impl LandscapeExport {
    /// Returns what a picture or an animation of a run shows, and how. A picture has the camera of the screen.
    fn subject(&self, options: &ExportOptions, run: &LandscapePreset) -> (PictureSubject, PictureOptions) {
        let follow = |view: &ViewSettings| view.follow && options.kind == ExportKind::Animation;
        let view = self.present.view.clone().map(|view| ViewSettings { follow: follow(&view), ..view });
        let preset = LandscapePreset { title: options.title.clone(), view, ..run.clone() };
        let subject = PictureSubject { preset, ..self.subject.clone() };
        let content = [PictureContent::Both, PictureContent::Landscape, PictureContent::Plots][options.content];
        (subject, PictureOptions { content, ..options.picture.clone() })
    }

    fn stage(
        &self,
        options: &ExportOptions,
        run: &LandscapePreset,
        last_step: u64,
        frame_secs: f32,
    ) -> Result<PictureStage, String> {
        let (subject, style) = self.subject(options, run);
        if let Some(problem) = style.problem(subject.preset.view.as_ref().is_some_and(ViewSettings::is_in_space)) {
            return Err(problem);
        }
        let graphics = self.graphics.as_ref().map_err(|reason| format!("It cannot be drawn: {reason}."))?;
        PictureStage::open(graphics, subject, style, last_step, frame_secs)
    }

    fn picture(&self, options: &ExportOptions, progress: &Progress) -> Result<Made, String> {
        let mut stage = self.stage(options, &self.session, self.step, 0.0)?;
        if !stage.go_to(self.step, || progress.is_cancelled()) {
            return Err(CANCELLED.to_owned());
        }
        let drawn = stage.draw()?;
        let [width, height] = [drawn.width(), drawn.height()];
        let png = encoded(drawn.as_raw(), [width, height]).map_err(|error| error.to_string())?;
        let preview = Preview::Frames(vec![options.fitted(&drawn)]);
        Ok(options.made(png, preview, format!("{width} × {height} pixels")))
    }

    fn animation(&self, options: &ExportOptions, progress: &Progress) -> Result<Made, String> {
        let FileFormat::Animation(format) = options.format else { unreachable!("animations have their own formats") };
        let steps = options.animation.steps;
        if let Some(problem) = steps.problem() {
            return Err(format!("{problem}."));
        }
        if !format.is_available() {
            return Err(format!("{}.", EncodeError::NoFfmpeg(format.name())));
        }
        let run = if options.animation.replay { &self.session } else { &self.present };
        let mut stage = self.stage(options, run, steps.to, 1.0 / steps.frames_per_sec.max(1) as f32)?;
        let (frames, mut shown) = (steps.frames(), Vec::new());
        let count = frames.min(PREVIEW_FRAMES);
        for index in 0..count {
            if !stage.go_to(steps.step_of(index * (frames - 1) / (count - 1).max(1)), || progress.is_cancelled()) {
                return Err(CANCELLED.to_owned());
            }
            shown.push(options.fitted(&stage.draw()?));
            progress.add_part();
        }
        let (subject, style) = self.subject(options, run);
        let job = AnimationJob { graphics: self.graphics.clone()?, subject, options: style, steps, format };
        let content = FileContent::Animation(Arc::new(job));
        let secs = frames as f64 / f64::from(steps.frames_per_sec);
        Ok(options.made(content, Preview::Frames(shown), format!("{} frames, {secs:.1} seconds", grouped(frames))))
    }

    /// Returns the figure of the landscape or of the plots, of the session up to the shown step; at the start, of all
    /// planned steps.
    fn figure(&self, content: usize, progress: &Progress) -> Result<Figure, String> {
        let known = || self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(figure) = known()[content].clone() {
            return Ok(figure);
        }
        let shows_plots = content == 1;
        if shows_plots && self.plots.metrics.is_empty() {
            return Err("Choose plots beside the landscape first.".to_owned());
        }
        let preset = LandscapePreset { view: self.present.view.clone(), ..self.session.clone() };
        let mut trajectories = Trajectories::new(&preset).map_err(|error| error.to_string())?;
        if self.step > 0 {
            trajectories = trajectories.until(self.step);
        }
        while !trajectories.is_complete() {
            if progress.is_cancelled() {
                return Err(CANCELLED.to_owned());
            }
            trajectories.advance();
        }
        let figure = match shows_plots {
            true => Figure::run_plots(&trajectories, &self.plots),
            false => Figure::landscape(&trajectories),
        };
        known()[content] = Some(figure.clone());
        Ok(figure)
    }

    fn page(&self, options: &ExportOptions, progress: &Progress) -> Result<Made, String> {
        if self.lesson.lesson.is_empty() {
            let advice = "Open a lesson, such as “A walk into the narrowing valley”, or begin one in the Edit menu.";
            return Err(format!("A web page plays a lesson, and this preset has none.\n\n{advice}"));
        }
        let html = match options.content {
            0 => self.lesson_page(progress)?,
            _ => notes_page(&self.lesson),
        };
        let steps = self.lesson.lesson.len();
        let plural = if steps == 1 { "" } else { "s" };
        let has_notes = options.content == 1;
        let picture = if has_notes { None } else { self.first_step() };
        let preview = Preview::Lesson { lesson: Box::new(self.lesson.clone()), picture, has_notes };
        Ok(options.made(html.into_bytes(), preview, format!("{steps} step{plural}")))
    }

    /// Returns a picture of the landscape at the end of the lesson's first step.
    fn first_step(&self) -> Option<ColorImage> {
        let mut preset = self.lesson.clone();
        *preset.spec_mut() = preset.spec_at(0).ok()?;
        let mut trajectories = Trajectories::new(&preset).ok()?;
        while !trajectories.is_complete() {
            trajectories.advance();
        }
        decoded(&small_picture(&trajectories, FIRST_STEP, DPI).ok()?).ok()
    }

    fn lesson_page(&self, progress: &Progress) -> Result<String, String> {
        let mut page = LessonPage::new(&self.lesson).map_err(|error| error.to_string())?;
        while !page.is_complete() {
            if progress.is_cancelled() {
                return Err(CANCELLED.to_owned());
            }
            page.advance();
            progress.set_done(page.step());
        }
        page.to_html().map_err(|error| error.to_string())
    }

    fn csv(&self, options: &ExportOptions) -> Result<Made, String> {
        let csv = match self.csv.get() {
            Some(csv) => Arc::clone(csv),
            None => {
                let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let histories = sent.map_err(|_| "The run has ended without an answer.".to_owned())?;
                let text = self.table.text(&histories).into_bytes();
                Arc::clone(self.csv.get_or_init(|| Arc::new(text)))
            }
        };
        let rows = csv.iter().filter(|byte| **byte == b'\n').count().saturating_sub(1);
        let content = FileContent::Bytes(Arc::clone(&csv));
        Ok(options.made(content, Preview::csv(&csv), format!("{} rows", grouped(rows as u64))))
    }

    /// Records the session's first simulation again.
    fn arrays(&self, options: &ExportOptions, progress: &Progress) -> Result<Made, String> {
        let records = self.session.records().map_err(|error| error.to_string())?;
        let record = records.into_iter().next().ok_or("There is no simulation.")?;
        let bytes = (self.last_step + 1).saturating_mul(TrajectoryArrays::bytes_a_step(&record.spec));
        let every = bytes.div_ceil(MOST_BYTES).max(1);
        let steps = TrajectoryArrays::recorded(self.last_step, every) as usize;
        let mut arrays = TrajectoryArrays::new(self.session.clone(), steps);
        let mut simulation = Simulation::replay(record);
        arrays.record(&simulation);
        while simulation.step() < self.last_step {
            if progress.is_cancelled() {
                return Err(CANCELLED.to_owned());
            }
            simulation.advance();
            if simulation.step().is_multiple_of(every) || simulation.step() == self.last_step {
                arrays.record(&simulation);
            }
            progress.set_done(simulation.step());
        }
        let mut file = Cursor::new(Vec::new());
        arrays.write(&mut file).map_err(|error| error.to_string())?;
        let (file, about) = (file.into_inner(), format!("{} steps", grouped(steps as u64)));
        let preview = Preview::npz(&file);
        Ok(options.made(file, preview, about))
    }
}
