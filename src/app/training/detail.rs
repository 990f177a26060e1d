//! The details of one run as text: its status, log, events and config.

use std::borrow::Cow;

use egui::{Label, RichText, ScrollArea, TextEdit, TextStyle, Ui};
use valleyscope_experiments::view::Pen;
use valleyscope_runs::{ConcernKind, RunFolder, Status};

use super::change_form::ChangeForm;
use super::elided_name::line_with_name;
use super::legend::line;
use super::run_detail::RunDetail;
use super::samples::{self, TextAction, Texts};
use super::summary::Summary;
use crate::app::form::{cell, small_button};
use crate::app::theme::text_width;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DetailTab {
    #[default]
    Log,
    Events,
    Warnings,
    Samples,
    Change,
    Config,
}

impl DetailTab {
    const ALL: [(DetailTab, &'static str); 6] = [
        (DetailTab::Log, "Log"),
        (DetailTab::Events, "Events"),
        (DetailTab::Warnings, "Warnings"),
        (DetailTab::Samples, "Texts"),
        (DetailTab::Change, "Change while it runs"),
        (DetailTab::Config, "Configuration"),
    ];

    /// Returns whether a run has contents for this tab.
    fn is_of(self, run: &Summary, detail: &RunDetail) -> bool {
        match self {
            DetailTab::Warnings => detail.warned > 0,
            DetailTab::Samples => run.writes_text,
            DetailTab::Change => run.is_open() && detail.has_live_settings(),
            DetailTab::Log => !detail.log.is_empty(),
            DetailTab::Events | DetailTab::Config => true,
        }
    }
}

/// The shown details.
#[derive(Debug, Default)]
pub(super) struct DetailView {
    tab: DetailTab,
    /// The prompt, and the texts by checkpoints.
    pub texts: Texts,
    /// The settings to be changed while the run is trained.
    pub change: ChangeForm,
}

/// An action on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunAction {
    Stop,
    Resume,
    /// Requests a text by the model that is being trained.
    WriteText,
    /// Requests texts by the newest checkpoints of all chosen runs.
    WriteSaved,
    /// Changes settings while the run is trained.
    Change,
    /// Asks for a checkpoint with which another run begins.
    Fork,
    /// Changes title and note.
    Describe,
    Delete,
    CopyPath,
}

/// Shows the details of the run. `writers` of the chosen runs can write texts.
pub(super) fn show(
    ui: &mut Ui,
    shown: &mut DetailView,
    run: &Summary,
    pen: Pen,
    detail: Option<&RunDetail>,
    writers: usize,
) -> Option<RunAction> {
    let action = head(ui, run, pen, detail.is_some_and(|detail| !detail.checkpoints.is_empty()));
    reason(ui, run);
    if let Some(fork) = detail.and_then(|detail| detail.fork.as_ref()) {
        let color = ui.visuals().weak_text_color();
        line_with_name(ui, color, fork.each_ref().map(String::as_str)).on_hover_text(fork.concat());
    }
    let Some(detail) = detail else {
        ui.weak("Reading…");
        keep_height(ui);
        return action;
    };
    // The choice holds for the next run that has it. Most workers write no log.
    let tab = if shown.tab.is_of(run, detail) { shown.tab } else { DetailTab::Events };
    let text = match tab {
        DetailTab::Log => Cow::Borrowed(detail.log.as_str()),
        DetailTab::Events => Cow::Borrowed(detail.events.as_str()),
        DetailTab::Warnings => Cow::Borrowed(detail.warnings.as_str()),
        DetailTab::Samples => Cow::Owned(samples::joined(&detail.samples)),
        DetailTab::Change => Cow::Borrowed(""),
        DetailTab::Config => Cow::Borrowed(detail.config.as_str()),
    };
    tabs(ui, (tab, &mut shown.tab), run, detail, &text);
    if tab == DetailTab::Samples {
        let asked = shown.texts.show(ui, &detail.samples, run, writers);
        return action.or(asked.map(|asked| match asked {
            TextAction::Now => RunAction::WriteText,
            TextAction::Saved => RunAction::WriteSaved,
        }));
    }
    if let (DetailTab::Change, Some(training)) = (tab, &detail.in_force) {
        let is_applied = shown.change.show(ui, run, training);
        return action.or(is_applied.then_some(RunAction::Change));
    }
    if text.is_empty() {
        ui.weak("Nothing so far.");
        keep_height(ui);
        return action;
    }
    // New lines are added at the end; the config and the warnings, newest first, are read from the beginning.
    let ends_with_news = matches!(tab, DetailTab::Log | DetailTab::Events);
    let area = ScrollArea::both().auto_shrink(false).stick_to_bottom(ends_with_news).id_salt(("text", tab as u8));
    area.show(ui, |ui| {
        let name = DetailTab::ALL.iter().find(|(choice, _)| *choice == tab).map_or("", |(_, name)| name);
        let mut shown = &*text;
        let field = TextEdit::multiline(&mut shown).font(TextStyle::Small).desired_width(f32::INFINITY);
        ui.add(field.frame(egui::Frame::NONE)).accessible_name(format!("{name} of the run"));
    });
    action
}

/// Shows the tabs of the details, their actions, and the damage of the run's events.
fn tabs(ui: &mut Ui, (tab, chosen): (DetailTab, &mut DetailTab), run: &Summary, detail: &RunDetail, text: &str) {
    ui.horizontal_wrapped(|ui| {
        for (choice, name) in DetailTab::ALL.into_iter().filter(|(choice, _)| choice.is_of(run, detail)) {
            let text = match (choice, detail.warned) {
                (DetailTab::Warnings, 1) => RichText::new("1 warning").color(ui.visuals().warn_fg_color),
                (DetailTab::Warnings, count) => {
                    RichText::new(format!("{count} warnings")).color(ui.visuals().warn_fg_color)
                }
                _ => RichText::new(name),
            };
            if ui.selectable_label(choice == tab, text).clicked() {
                *chosen = choice;
            }
        }
        if small_button(ui, !text.is_empty(), "Copy", "Copy this text", "Copy all of it") {
            ui.ctx().copy_text(text.to_owned());
        }
        if !detail.damage.is_empty() {
            let text = format!("{} is damaged: {}", RunFolder::EVENTS, detail.damage);
            ui.label(RichText::new(text).small().color(ui.visuals().warn_fg_color));
        }
    });
}

/// Reserves the height of the text, as a panel shrinks to its contents.
fn keep_height(ui: &mut Ui) {
    ui.allocate_space(ui.available_size());
}

/// Shows the name of the run and its buttons, each in a fixed place whatever the name and the status.
fn head(ui: &mut Ui, run: &Summary, pen: Pen, can_fork: bool) -> Option<RunAction> {
    let buttons = run_buttons(run, can_fork);
    let padding = 2.0 * ui.spacing().button_padding.x + ui.spacing().item_spacing.x;
    let font = TextStyle::Small.resolve(ui.style());
    let width = |text: &str| text_width(ui, &font, text).ceil();
    let taken: f32 = buttons.iter().map(|button| width(button.text) + padding).sum();
    let room = ui.available_width() - taken;
    let mut action = None;
    let title = |ui: &mut Ui, width: f32| {
        cell(ui, width, |ui| {
            line(ui, pen);
            let [name, _] = run.heading();
            ui.add(Label::new(RichText::new(name).strong()).truncate()).on_hover_text(run.in_full());
        });
    };
    if room < LEAST_TITLE {
        title(ui, ui.available_width());
        ui.horizontal_wrapped(|ui| action = pressed(ui, &buttons));
    } else {
        ui.horizontal(|ui| {
            title(ui, room);
            action = pressed(ui, &buttons);
        });
    }
    if !run.notes.note.is_empty() {
        ui.add(Label::new(RichText::new(&run.notes.note).small()).selectable(true).wrap());
    }
    action
}

/// The smallest width of a name beside the buttons, in points; with less room they are below it.
const LEAST_TITLE: f32 = 160.0;

/// A button of a run.
struct RunButton {
    text: &'static str,
    /// The button's accessible name.
    name: &'static str,
    help: &'static str,
    is_enabled: bool,
    action: RunAction,
}

/// Returns all buttons in order; those that do not apply are disabled.
fn run_buttons(run: &Summary, can_fork: bool) -> [RunButton; 6] {
    let can_stop = run.is_open();
    let can_delete = !can_stop || run.status.is_lost();
    let can_resume = match run.status {
        Status::Stopped | Status::Crashed { .. } | Status::Failed(_) => true,
        Status::Silent { .. } => run.status.is_lost(),
        Status::Finished | Status::Starting | Status::Running(_) => false,
    };
    let fork = if run.is_scan {
        "A scan has no checkpoint from which to start another run"
    } else {
        "Start another run from a checkpoint of this one"
    };
    let button = |text, name, help, is_enabled, action| RunButton { text, name, help, is_enabled, action };
    [
        button("Stop", "Stop the run", "Save a checkpoint and end; it can be resumed", can_stop, RunAction::Stop),
        button("Resume", "Resume the run", "Go on from the last checkpoint", can_resume, RunAction::Resume),
        button("Fork…", "Fork the run", fork, can_fork && !run.is_scan, RunAction::Fork),
        button("Rename, note…", "Rename the run", "Give it a title and a note", true, RunAction::Describe),
        button("Delete…", "Delete the run", "Move it to the trash; stop it first", can_delete, RunAction::Delete),
        button("Copy path", "Copy the path of the run", "The path of its folder", true, RunAction::CopyPath),
    ]
}

/// Shows the buttons, and returns the action of the pressed one.
fn pressed(ui: &mut Ui, buttons: &[RunButton]) -> Option<RunAction> {
    let mut action = None;
    for RunButton { text, name, help, is_enabled, action: of } in buttons {
        if small_button(ui, *is_enabled, text, name, help) {
            action = Some(*of);
        }
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
