//! Pictures and animations of the tab, which are drawn in the background.

use egui::Context;
use valleyscope_engine::simulation::Record;
use valleyscope_experiments::preset::LandscapePreset;
use valleyscope_experiments::view::ViewSettings;

use super::LandscapeTab;
use crate::app::animation::{self, Subject};
use crate::app::diagnostics::PlotChoices;
use crate::app::figure_export::FigureSubject;
use crate::app::live::{Action, Requests};
use crate::app::picture::{PictureOptions, PictureSubject};
use crate::app::picture_export;
use crate::figure::RunPlots;

impl LandscapeTab {
    pub(super) fn open_animation_export(&mut self) {
        let Some(snapshot) = &self.live.snapshot else { return };
        self.animation.open(&self.live.records(), snapshot.last_step, self.pace);
    }

    /// Shows the dialogs of pictures and animations, and the progress of those in the background.
    pub(super) fn show_exports(&mut self, ctx: &Context, requests: &mut Requests) {
        let in_space = self.editor.draft.document.view.space;
        let mut options = self.picture_options.take().unwrap_or_else(|| PictureOptions::new(ctx.theme()));
        let is_picture = self.picture_export.ui(ctx, &mut options, in_space);
        let animation = self.animation.ui(ctx, &mut options, in_space);
        if is_picture || animation.is_some() {
            match (self.landscape.graphics(), &self.live.snapshot) {
                (Ok(graphics), Some(snapshot)) if is_picture => {
                    let view = ViewSettings { follow: false, ..self.editor.draft.document.view.clone() };
                    let subject = PictureSubject { view, ..self.picture_subject(self.live.records()) };
                    picture_export::start(ctx, &mut self.exports, graphics, subject, options.clone(), snapshot.step);
                }
                (Ok(graphics), Some(_)) => {
                    let specs = self.editor.draft.document.specs().cloned();
                    let present: Vec<Record> = specs.map(|spec| Record { spec, changes: Vec::new() }).collect();
                    let view = self.picture_subject(present.clone());
                    let subject = Subject { sessions: &self.live.records(), present: &present, view: &view };
                    if let Some(settings) = animation {
                        animation::start(ctx, &mut self.exports, graphics, settings, &subject, &options);
                    }
                }
                (Err(reason), _) => requests.actions.push(Action::Report {
                    title: "The landscape was not exported".to_owned(),
                    text: format!("It cannot be drawn: {reason}."),
                }),
                (Ok(_), None) => {}
            }
        }
        // Before the first export, they follow the window's theme.
        let is_chosen = options != PictureOptions::new(ctx.theme());
        self.picture_options = is_chosen.then_some(options);
        requests.actions.extend(self.exports.ui(ctx));
    }

    /// Returns what a figure shows.
    pub(super) fn figure_subject(&self) -> Option<FigureSubject> {
        let snapshot = self.live.snapshot.as_ref()?;
        let LandscapePreset { title, description, .. } = self.named();
        let present = self.editor.present_preset();
        let preset = LandscapePreset { title, description, view: Some(self.view()), ..present };
        let session = self.editor.session_preset(snapshot.record.as_ref().clone(), self.live.records_beside());
        let (title, description) = (preset.title.clone(), preset.description.clone());
        let session = LandscapePreset { title, description, view: preset.view.clone(), ..session };
        let PlotChoices { log, log_steps, band, whole_range, .. } = self.diagnostics.choices();
        let metrics = self.diagnostics.displayed(&preset.simulation.landscape);
        let plots = RunPlots { metrics, log, log_steps, band, whole_range };
        Some(FigureSubject { preset, session, last_step: snapshot.last_step, plots })
    }

    /// Returns sessions as they are looked at now.
    fn picture_subject(&self, records: Vec<Record>) -> PictureSubject {
        PictureSubject {
            title: self.named().title,
            records,
            titles: self.editor.draft.document.beside.iter().map(|beside| beside.title.clone()).collect(),
            view: self.editor.draft.document.view.clone(),
            seen: Some(self.landscape.seen()),
            selected: self.live.selected,
            hidden: self.live.hidden.clone(),
            plots: self.diagnostics.displayed(&self.editor.draft.document.spec.landscape),
            choices: self.diagnostics.choices(),
        }
    }
}
