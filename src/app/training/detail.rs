//! The details of one run as text: its status, log, events and config.

use std::borrow::Cow;

use egui::{Label, RichText, ScrollArea, TextEdit, TextStyle, Ui};

use super::legend::line;
use super::samples;
use super::summary::Summary;
use super::words::RunDetail;
use crate::app::form::small_button;
use crate::run::{ConcernKind, RunFolder, Status};
use crate::view::Pen;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DetailTab {
    #[default]
    Log,
    Events,
    Samples,
    Config,
}

impl DetailTab {
    const ALL: [(DetailTab, &'static str); 4] = [
        (DetailTab::Log, "Log"),
        (DetailTab::Events, "Events"),
        (DetailTab::Samples, "Texts"),
        (DetailTab::Config, "Configuration"),
    ];

    /// Whether there is anything behind it in a run.
    fn is_of(self, run: &Summary) -> bool {
        self != DetailTab::Samples || run.writes_text
    }
}

/// The choice of shown details.
#[derive(Debug, Default)]
pub(super) struct Shown {
    tab: DetailTab,
    /// The prompt of the next requested text.
    pub prompt: String,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunAction {
    Stop,
    Resume,
    /// Write a text after the prompt.
    WriteText,
    /// Choose a checkpoint of it to begin another run with.
    Fork,
    /// Change title and note.
    Describe,
    Delete,
    CopyPath,
}

/// Shows the run.
pub(super) fn show(
    ui: &mut Ui,
    shown: &mut Shown,
    run: &Summary,
    pen: Pen,
    detail: Option<&RunDetail>,
) -> Option<RunAction> {
    let action = head(ui, run, pen, detail.is_some_and(|detail| !detail.checkpoints.is_empty()));
    reason(ui, run);
    if let Some(fork) = detail.map(|detail| &detail.fork).filter(|fork| !fork.is_empty()) {
        ui.add(Label::new(RichText::new(fork).small().weak()).truncate()).on_hover_text(fork);
    }
    let Some(detail) = detail else {
        ui.weak("Reading…");
        keep_height(ui);
        return action;
    };
    // The choice holds for the next run that has it.
    let tab = if shown.tab.is_of(run) { shown.tab } else { DetailTab::default() };
    let text = match tab {
        DetailTab::Log => Cow::Borrowed(detail.log.as_str()),
        DetailTab::Events => Cow::Borrowed(detail.events.as_str()),
        DetailTab::Samples => Cow::Owned(samples::joined(&detail.samples)),
        DetailTab::Config => Cow::Borrowed(detail.config.as_str()),
    };
    tabs(ui, (tab, &mut shown.tab), run, detail, &text);
    if tab == DetailTab::Samples {
        let is_asked = samples::show(ui, &detail.samples, run.is_open(), &mut shown.prompt);
        return action.or(is_asked.then_some(RunAction::WriteText));
    }
    if text.is_empty() {
        let nothing = match tab {
            DetailTab::Log => "The worker has said nothing.",
            DetailTab::Events | DetailTab::Samples | DetailTab::Config => "Nothing so far.",
        };
        ui.weak(nothing);
        keep_height(ui);
        return action;
    }
    // New lines come at the end; the config is read from the beginning.
    let area =
        ScrollArea::both().auto_shrink(false).stick_to_bottom(tab != DetailTab::Config).id_salt(("text", tab as u8));
    area.show(ui, |ui| {
        let name = DetailTab::ALL.iter().find(|(choice, _)| *choice == tab).map_or("", |(_, name)| name);
        let mut shown = &*text;
        let field = TextEdit::multiline(&mut shown).font(TextStyle::Small).desired_width(f32::INFINITY);
        ui.add(field.frame(egui::Frame::NONE)).accessible_name(format!("{name} of the run"));
    });
    action
}

/// The tabs of the details, their actions, and the damage of the run's events.
fn tabs(ui: &mut Ui, (tab, chosen): (DetailTab, &mut DetailTab), run: &Summary, detail: &RunDetail, text: &str) {
    ui.horizontal_wrapped(|ui| {
        for (choice, name) in DetailTab::ALL.into_iter().filter(|(choice, _)| choice.is_of(run)) {
            if ui.selectable_label(choice == tab, name).clicked() {
                *chosen = choice;
            }
        }
        if small_button(ui, !text.is_empty(), "Copy", "Copy this text", "Copy all of it") {
            ui.ctx().copy_text(text.to_owned());
        }
        if detail.warnings > 0 {
            let warnings = if detail.warnings == 1 { "1 warning" } else { &format!("{} warnings", detail.warnings) };
            ui.label(RichText::new(warnings).small().color(ui.visuals().warn_fg_color))
                .on_hover_text("They are among the events.");
        }
        if !detail.damage.is_empty() {
            let text = format!("{} is damaged: {}", RunFolder::EVENTS, detail.damage);
            ui.label(RichText::new(text).small().color(ui.visuals().warn_fg_color));
        }
    });
}

/// Takes the space of the text, as a panel shrinks to its contents.
fn keep_height(ui: &mut Ui) {
    ui.allocate_space(ui.available_size());
}

fn head(ui: &mut Ui, run: &Summary, pen: Pen, can_fork: bool) -> Option<RunAction> {
    let mut action = None;
    ui.horizontal_wrapped(|ui| {
        let can_stop = run.is_open();
        let can_delete = !can_stop || run.status.is_lost();
        let can_resume = match run.status {
            Status::Stopped | Status::Crashed { .. } | Status::Failed(_) => true,
            Status::Silent { .. } => run.status.is_lost(),
            Status::Finished | Status::Starting | Status::Running(_) => false,
        };
        line(ui, pen);
        let [name, _] = run.heading();
        ui.scope(|ui| {
            ui.set_max_width((0.45 * ui.available_width()).max(120.0));
            ui.add(Label::new(RichText::new(name).strong()).truncate()).on_hover_text(run.in_full());
        });
        let mut button = |show: bool, enabled, text, name: &str, help, of| {
            if show && small_button(ui, enabled, text, name, help) {
                action = Some(of);
            }
        };
        button(can_stop, true, "Stop", "Stop the run", "Save a checkpoint and end; it can be resumed", RunAction::Stop);
        button(can_resume, true, "Resume", "Resume the run", "Go on from the last checkpoint", RunAction::Resume);
        let fork = "Begin another run with a checkpoint of this one";
        button(!run.is_scan, can_fork, "Fork…", "Fork the run", fork, RunAction::Fork);
        button(true, true, "Rename, note…", "Rename the run", "Give it a title and a note", RunAction::Describe);
        button(true, can_delete, "Delete…", "Delete the run", "Move it to the trash; stop it first", RunAction::Delete);
        button(true, true, "Copy path", "Copy the path of the run", "The path of its folder", RunAction::CopyPath);
    });
    if !run.notes.note.is_empty() {
        ui.add(Label::new(RichText::new(&run.notes.note).small()).selectable(true).wrap());
    }
    action
}

/// Shows the reason if the run has a problem.
fn reason(ui: &mut Ui, run: &Summary) {
    let visuals = ui.visuals();
    let is_grave = run.trouble.is_some() || run.concerns.first().is_some_and(|concern| concern.kind.is_grave());
    let color = if is_grave { visuals.error_fg_color } else { visuals.warn_fg_color };
    let trouble = run.trouble.clone().or_else(|| match run.status {
        Status::Silent { .. } => Some(run.status.to_string()),
        _ => None,
    });
    let concerns = run.concerns.iter().filter(|concern| run.trouble.is_none() || concern.kind != ConcernKind::Ended);
    let lines: Vec<String> = trouble.into_iter().chain(concerns.map(|concern| concern.words.clone())).collect();
    if lines.is_empty() {
        return;
    }
    let text = lines.join("\n");
    ui.horizontal_top(|ui| {
        if small_button(ui, true, "Copy", "Copy the reason", "Copy why the run is not well") {
            ui.ctx().copy_text(text.clone());
        }
        let height = (0.4 * ui.available_height()).clamp(34.0, 110.0);
        ScrollArea::vertical().max_height(height).id_salt("reason").show(ui, |ui| {
            ui.add(Label::new(RichText::new(&text).color(color)).selectable(true).wrap());
        });
    });
}
