//! Draws pictures of a session, with a simulation and a device of their own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{Color32, FontSelection, Galley, Rect, RichText, TextStyle, TextWrapMode, Ui, UiBuilder, WidgetText};
use image::RgbImage;
use valleyscope_engine::simulation::{ParticleId, PlotRequest, Record};
use valleyscope_experiments::preset::TitledSimulation;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::view::{Camera, DiagnosticMetric, Orbit, ViewSettings, simulation_colors};

use super::caption::VariedSettings;
use super::options::PictureOptions;
use crate::app::diagnostics::{DiagnosticsPanel, PlotChoices};
use crate::app::graphics::Graphics;
use crate::app::landscape::LandscapePanel;
use crate::app::offscreen::{Offscreen, PictureExtent};
use crate::app::plot::install_curves;
use crate::app::theme::text_width;
use crate::app::{Document, Live};
use crate::player::{Playback, Player, PlayerCommand, Snapshot, trail_columns};

/// The margin around a picture and the gap between its parts, in points.
const MARGIN: f32 = 10.0;
/// The share of the width of plots beside the landscape.
const PLOTS: f32 = 0.4;
/// The most lines of a caption.
const MOST_ROWS: usize = 3;
/// The number of buckets of a curve: as fine as it looks in the widest plots.
const BUCKETS: usize = 500;
/// The time to wait for a snapshot before asking whether to go on.
const PATIENCE: Duration = Duration::from_millis(50);

/// Recorded sessions side by side, and the way in which they are looked at.
#[derive(Clone, Debug)]
pub struct PictureSubject {
    pub title: String,
    /// The sessions in the order of their places, at least one.
    pub records: Vec<Record>,
    /// The titles given to the sessions beside the first one.
    pub titles: Vec<Option<String>>,
    pub view: ViewSettings,
    /// The part of the landscape in view; `None` for that of the view settings.
    pub seen: Option<View>,
    pub selected: Option<ParticleId>,
    pub hidden: BTreeSet<u32>,
    /// The plots, from top to bottom.
    pub plots: Vec<DiagnosticMetric>,
    /// The options of the plots.
    pub choices: PlotChoices,
}

impl PictureSubject {
    /// Returns the colours of the optimizers.
    pub fn colors(&self) -> Vec<[u8; 3]> {
        self.records.iter().flat_map(|record| simulation_colors(&record.spec.optimizers)).collect()
    }
}

/// A part of the landscape in view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    pub camera: Camera,
    pub orbit: Orbit,
    /// The width of the canvas over its height. A wider picture shows the same height.
    pub aspect: f64,
}

/// Draws pictures of a session at one step after another.
pub struct PictureStage {
    title: String,
    options: PictureOptions,
    extent: PictureExtent,
    offscreen: Offscreen,
    player: Player,
    document: Document,
    live: Live,
    landscape: LandscapePanel,
    diagnostics: DiagnosticsPanel,
    varied: VariedSettings,
    last_step: u64,
    /// The number of lines kept free for the caption.
    caption_rows: usize,
    is_drawn: bool,
}

impl PictureStage {
    /// Makes the stage of a session, whose plots go to `last_step`. A camera that follows the particles moves by
    /// `frame_secs` from one picture to the next.
    ///
    /// # Errors
    ///
    /// Returns the reason if the graphics driver has no device.
    pub fn open(
        graphics: &Graphics,
        subject: PictureSubject,
        options: PictureOptions,
        last_step: u64,
        frame_secs: f32,
    ) -> Result<PictureStage, String> {
        let offscreen = Offscreen::open(graphics, options.theme)?;
        install_curves(offscreen.render_state());
        let mut landscape = LandscapePanel::new(Some(offscreen.render_state()));
        let PictureSubject { title, records, titles, view, seen, selected, hidden, plots, choices } = subject;
        let document = document_of(&records, titles, view)?;
        if let Some(View { camera, orbit, aspect }) = seen {
            landscape.restore_view(&document, camera, orbit);
            landscape.contain(aspect);
        }
        let enabled = document.spec.optimizers.iter().filter(|optimizer| optimizer.enabled).count();
        let particles = enabled * document.spec.particles.get();
        landscape.keep_trails(document.count(), trail_columns(document.view.trail_steps as usize, particles));
        let log_steps = choices.log_steps;
        let stage = PictureStage {
            title,
            extent: options.extent(),
            options,
            offscreen,
            player: Player::spawn(document.spec.clone(), || {}),
            live: Live { selected, hidden, frame_secs: Some(frame_secs), ..Live::default() },
            landscape,
            diagnostics: DiagnosticsPanel::of_picture(plots, choices, last_step),
            varied: VariedSettings::of(&records[0]),
            last_step,
            caption_rows: 1,
            is_drawn: false,
            document,
        };
        stage.player.send(PlayerCommand::TrailLength(stage.document.view.trail_steps as usize));
        stage.player.send(PlayerCommand::Select(selected));
        stage.player.send(PlayerCommand::Plot(PlotRequest { buckets: BUCKETS, log_steps, ..PlotRequest::default() }));
        stage.player.send(PlayerCommand::Load(records));
        Ok(stage)
    }

    /// Goes on to a step. Returns false if it was stopped on the way, as `is_stopped` asks for.
    pub fn go_to(&mut self, step: u64, is_stopped: impl Fn() -> bool) -> bool {
        // Before the replay, a snapshot shows the same step of another run.
        let is_begun = |snapshot: &Snapshot| snapshot.settings > 0;
        let mut is_asked = false;
        loop {
            if is_stopped() {
                return false;
            }
            let here = self.live.snapshot.as_ref();
            if let Some(here) = here.filter(|snapshot| is_begun(snapshot) && snapshot.playback != Playback::Playing) {
                if here.step >= step {
                    return true;
                }
                if !is_asked {
                    is_asked = true;
                    self.player.send(PlayerCommand::Advance(step - here.step));
                }
            }
            if let Some(snapshot) = self.player.wait_snapshot(PATIENCE).filter(is_begun) {
                self.landscape.absorb(&snapshot);
                self.live.take(snapshot);
            }
        }
    }

    /// Returns a warning about characters that no font has, since the last one.
    pub fn take_warning(&self) -> Option<String> {
        self.offscreen.take_warning()
    }

    /// Draws the step that was gone to.
    ///
    /// # Errors
    ///
    /// Returns the reason if the graphics driver did not draw it.
    pub fn draw(&mut self) -> Result<RgbImage, String> {
        if self.live.snapshot.is_none() {
            return Err("the run has not begun".to_owned());
        }
        let mut document = self.document.in_force(&self.live);
        if !self.is_drawn {
            // Some parts know their size only after they were laid out once.
            self.is_drawn = true;
            self.draw_document(&mut document)?;
        }
        self.draw_document(&mut document)
    }

    fn draw_document(&mut self, document: &mut Document) -> Result<RgbImage, String> {
        let PictureStage { title, options, extent, offscreen, live, landscape, diagnostics, .. } = self;
        let shown = live.snapshot.as_ref().filter(|_| options.step || options.settings);
        let caption = shown.map(|snapshot| Caption {
            step: options.step.then(|| step_text(snapshot.step)),
            widest_step: step_text(self.last_step),
            settings: options.settings.then(|| self.varied.caption(&snapshot.spec)),
        });
        let rows = &mut self.caption_rows;
        offscreen.draw(*extent, |ui| {
            let whole = ui.max_rect();
            ui.painter().rect_filled(whole, 0.0, ui.visuals().extreme_bg_color);
            let mut inner = whole.shrink(MARGIN);
            if let Some(caption) = &caption {
                let galley = lay_out(ui, caption, inner.width());
                *rows = (*rows).max(galley.rows.len());
                let line = galley.size().y / galley.rows.len().max(1) as f32;
                inner.max.y -= line * *rows as f32;
                ui.painter().galley(inner.left_bottom(), galley, Color32::PLACEHOLDER);
                inner.max.y -= 0.5 * MARGIN;
            }
            if options.title {
                inner.min.y = heading(ui, inner, title);
            }
            if options.legend {
                inner.min.y =
                    part(ui, inner, "legend", |ui| landscape.picture_legend(ui, document, live)).bottom() + 4.0;
            }
            let [left, right] = halves(options, inner);
            if let Some(left) = left {
                part(ui, left, "landscape", |ui| landscape.picture(ui, document, live, options.color_bar));
            }
            if let Some(right) = right {
                part(ui, right, "plots", |ui| diagnostics.picture(ui, document, live));
            }
        })
    }
}

/// Returns the document of sessions side by side at their start.
fn document_of(records: &[Record], titles: Vec<Option<String>>, view: ViewSettings) -> Result<Document, String> {
    let Some((first, others)) = records.split_first() else { return Err("there is no session".to_owned()) };
    let titled = |(record, title): (&Record, Option<String>)| TitledSimulation { title, spec: record.spec.clone() };
    let beside = others.iter().zip(titles).map(titled).collect();
    Ok(Document { spec: first.spec.clone(), view, beside })
}

/// Returns the areas of the landscape and of the plots, if they are shown.
fn halves(options: &PictureOptions, area: Rect) -> [Option<Rect>; 2] {
    match (options.content.has_landscape(), options.content.has_plots()) {
        (true, true) => {
            let middle = area.right() - PLOTS * area.width();
            let [left, right] = [area.with_max_x(middle - MARGIN), area.with_min_x(middle)];
            [Some(left), Some(right)]
        }
        (has_landscape, has_plots) => [has_landscape.then_some(area), has_plots.then_some(area)],
    }
}

/// Draws a part of the picture into an area, and returns the area that it takes.
fn part(ui: &mut Ui, area: Rect, name: &str, draw: impl FnOnce(&mut Ui)) -> Rect {
    ui.scope_builder(UiBuilder::new().id_salt(name).max_rect(area), draw).response.rect
}

/// Draws the title in one line, and returns its lower end.
fn heading(ui: &Ui, area: Rect, title: &str) -> f32 {
    let text = RichText::new(title).heading().strong();
    let galley = WidgetText::from(text).into_galley(ui, Some(TextWrapMode::Truncate), area.width(), TextStyle::Heading);
    let height = galley.size().y;
    ui.painter().galley(area.min, galley, ui.visuals().strong_text_color());
    area.top() + height + 4.0
}

/// The step and the settings, as far as they are shown.
struct Caption {
    step: Option<String>,
    /// The widest text of a step.
    widest_step: String,
    settings: Option<String>,
}

fn step_text(step: u64) -> String {
    format!("Step {}", grouped(step))
}

/// Lays out a caption in lines of a width, with its step in a column whose width does not depend on the step.
fn lay_out(ui: &Ui, caption: &Caption, width: f32) -> Arc<Galley> {
    let font = FontSelection::from(TextStyle::Body).resolve(ui.style());
    let format = |color| TextFormat { font_id: font.clone(), color, ..TextFormat::default() };
    let visuals = ui.visuals();
    let wrap = TextWrapping { max_width: width, max_rows: MOST_ROWS, ..TextWrapping::default() };
    let mut job = LayoutJob { wrap, ..LayoutJob::default() };
    if let Some(step) = &caption.step {
        job.append(step, 0.0, format(visuals.strong_text_color()));
    }
    if let Some(settings) = &caption.settings {
        let widths =
            caption.step.as_ref().map(|step| [caption.widest_step.as_str(), step].map(|it| text_width(ui, &font, it)));
        let room = widths.map_or(0.0, |[widest, step]| (widest - step).max(0.0) + 2.0 * MARGIN);
        job.append(settings, room, format(visuals.text_color()));
    }
    ui.painter().layout_job(job)
}
