//! The details of one run as text: its status, log, events and config.

use std::borrow::Cow;
use std::path::Path;

use egui::{Label, RichText, ScrollArea, TextEdit, TextStyle, Ui};
use valleyscope_engine::terminal_escape::{visible, visible_lines};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::run::RunConfig;
use valleyscope_experiments::view::Pen;
use valleyscope_runs::plain_file::Links;
use valleyscope_runs::{
    ConcernKind, Event, EventRecord, Forked, Measure, RunFolder, RunHistory, RunWarning, SettingChange, Status,
    TextSample, Timestamp, forked_run, last_lines, plain_file,
};

use super::dialogs;
use super::dialogs::{ChangeForm, Texts};
use super::legend::line;
use super::list::line_with_name;
use super::plotter::RunCurves;
use super::summary::Summary;
use super::triangle::{TensorMeasures, TriangleView};
use crate::app::widgets::form::{cell, small_button};
use crate::app::widgets::theme::text_width;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DetailTab {
    #[default]
    Log,
    Events,
    Triangle,
    Warnings,
    Samples,
    Change,
    Config,
}

impl DetailTab {
    const ALL: [(DetailTab, &'static str); 7] = [
        (DetailTab::Log, "Log"),
        (DetailTab::Events, "Events"),
        (DetailTab::Triangle, "Triangle"),
        (DetailTab::Warnings, "Warnings"),
        (DetailTab::Samples, "Texts"),
        (DetailTab::Change, "Change while it runs"),
        (DetailTab::Config, "Configuration"),
    ];

    fn is_of(self, run: &Summary, detail: &RunDetail) -> bool {
        match self {
            DetailTab::Warnings => detail.warned > 0,
            DetailTab::Samples => run.writes_text,
            DetailTab::Change => run.is_open() && detail.has_live_settings(),
            DetailTab::Log => !detail.log.is_empty(),
            DetailTab::Events | DetailTab::Triangle | DetailTab::Config => true,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct DetailView {
    tab: DetailTab,
    /// The prompt, and the texts generated with checkpoints.
    pub texts: Texts,
    /// The settings to be changed while the run is trained.
    pub change: ChangeForm,
    triangle: TriangleView,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunAction {
    Stop,
    Resume,
    /// Requests a text from the model that is being trained.
    WriteText,
    /// Requests texts from the newest checkpoints of all chosen runs.
    WriteSaved,
    /// Changes settings while the run is trained.
    Change,
    /// Asks for a checkpoint with which another run begins.
    Fork,
    Describe,
    Delete,
    CopyPath,
}

/// Shows the details of the run, which may be one of those with `curves`. `writers` of the chosen runs can generate
/// texts.
pub(super) fn show(
    ui: &mut Ui,
    shown: &mut DetailView,
    run: &Summary,
    pen: Pen,
    detail: Option<&RunDetail>,
    curves: &[(&RunCurves, Pen)],
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
    if let Some(answer) = &detail.which_batch {
        let text = RichText::new(format!("{} {answer}", Measure::WHICH_BATCH)).small();
        ui.add(Label::new(text).truncate()).on_hover_text(Measure::WHICH_BATCH_HELP);
    }
    // The chosen tab stays for the next run that has it. Most workers write no log.
    let tab = if shown.tab.is_of(run, detail) { shown.tab } else { DetailTab::Events };
    let text = match tab {
        DetailTab::Log => Cow::Borrowed(detail.log.as_str()),
        DetailTab::Events => Cow::Borrowed(detail.events.as_str()),
        DetailTab::Warnings => Cow::Borrowed(detail.warnings.as_str()),
        DetailTab::Samples => Cow::Owned(dialogs::joined(&detail.samples)),
        DetailTab::Change | DetailTab::Triangle => Cow::Borrowed(""),
        DetailTab::Config => Cow::Borrowed(detail.config.as_str()),
    };
    tabs(ui, (tab, &mut shown.tab), run, detail, &text);
    if tab == DetailTab::Samples {
        return action.or(shown.texts.show(ui, &detail.samples, run, writers));
    }
    if tab == DetailTab::Triangle {
        shown.triangle.show(ui, run, detail, curves);
        return action;
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

/// Shows the name of the run and its buttons, each at a fixed position whatever the name and the status.
fn head(ui: &mut Ui, run: &Summary, pen: Pen, can_fork: bool) -> Option<RunAction> {
    let buttons = run_buttons(run, can_fork);
    let padding = 2.0 * ui.spacing().button_padding.x + ui.spacing().item_spacing.x;
    let font = TextStyle::Small.resolve(ui.style());
    let width = |text: &str| text_width(ui, &font, text).ceil();
    let taken: f32 = buttons.iter().map(|button| width(button.0) + padding).sum();
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

/// The smallest width of a name to the left of the buttons, in points; with less room they are below it.
const LEAST_TITLE: f32 = 160.0;

/// A button's text, name and help, whether it is enabled, and its action.
type RunButton = (&'static str, &'static str, &'static str, bool, RunAction);

fn run_buttons(run: &Summary, can_fork: bool) -> [RunButton; 6] {
    let can_stop = run.is_open();
    let can_delete = !can_stop || run.status.is_lost();
    let can_resume = match run.status {
        Status::Stopped | Status::Crashed { .. } | Status::Failed(_) => true,
        Status::Silent { .. } => run.status.is_lost(),
        Status::Finished | Status::Starting | Status::Running(_) => false,
    };
    let fork = "Start another run from a checkpoint of this one";
    [
        ("Stop", "Stop the run", "Save a checkpoint and end; it can be resumed", can_stop, RunAction::Stop),
        ("Resume", "Resume the run", "Go on from the last checkpoint", can_resume, RunAction::Resume),
        ("Fork…", "Fork the run", fork, can_fork, RunAction::Fork),
        ("Rename, note…", "Rename the run", "Give it a title and a note", true, RunAction::Describe),
        ("Delete…", "Delete the run", "Move it to the trash; stop it first", can_delete, RunAction::Delete),
        ("Copy path", "Copy the path of the run", "The path of its folder", true, RunAction::CopyPath),
    ]
}

/// Shows the buttons; returns the action of the pressed one.
fn pressed(ui: &mut Ui, buttons: &[RunButton]) -> Option<RunAction> {
    let mut action = None;
    for &(text, name, help, is_enabled, of) in buttons {
        action = small_button(ui, is_enabled, text, name, help).then_some(of).or(action);
    }
    action
}

fn reason(ui: &mut Ui, run: &Summary) {
    let visuals = ui.visuals();
    let is_grave = run.read_error.is_some() || run.concerns.first().is_some_and(|concern| concern.kind.is_grave());
    let color = if is_grave { visuals.error_fg_color } else { visuals.warn_fg_color };
    let read_error = run.read_error.clone().or_else(|| match run.status {
        Status::Silent { .. } => Some(run.status.to_string()),
        _ => None,
    });
    let concerns = run.concerns.iter().filter(|concern| run.read_error.is_none() || concern.kind != ConcernKind::Ended);
    let lines: Vec<String> =
        read_error.into_iter().chain(concerns.map(|concern| concern.description.clone())).collect();
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

/// The number of bytes of the end of a log that are shown.
const LOG_TAIL: u64 = 128 * 1024;
const SAMPLES: usize = 50;
const WARNINGS: usize = 1000;

/// The texts and lists that the tabs below the plots show of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RunDetail {
    pub log: String,
    pub config: String,
    /// The training with which the run began, if it can be read.
    pub begun: Option<Preset>,
    /// The training with the settings in force, if it can be read.
    pub in_force: Option<Preset>,
    /// The changes of settings by commands, with the steps after which they were made.
    pub changes: Vec<(u64, SettingChange)>,
    /// The events, one per line, without the points of curves.
    pub events: String,
    /// The warnings, the newest first, one per line.
    pub warnings: String,
    pub warned: usize,
    /// The newest generated texts, the newest first.
    pub samples: Vec<TextSample>,
    /// The steps of the checkpoints in its folder, in order.
    pub checkpoints: Vec<u64>,
    /// The origin of a fork as text, whose second part is a name, and whether that run is found.
    pub fork: Option<[String; 3]>,
    /// The newest measures of its parameter tensors.
    pub tensors: Option<TensorMeasures>,
    /// The batch size at which signal and noise of its gradients are equal, as text, if that was measured.
    pub which_batch: Option<String>,
    /// A description of lost events; empty if there are none.
    pub damage: String,
}

impl RunDetail {
    pub(super) fn of(run: &RunFolder, history: &RunHistory) -> RunDetail {
        let warning = |warning: &RunWarning| event_line(warning.time, warning.step, &visible(&warning.message));
        // A folder that cannot be read has no usable checkpoint.
        let checkpoints = run.checkpoints().unwrap_or_default();
        let config = RunConfig::begun(run, history).ok();
        let other = |error| plain_file::read_text(&run.other_config(), Links::Refused, LOG_TAIL * 8).map_err(|_| error);
        RunDetail {
            in_force: config.as_ref().and_then(|config| config.with_changed_settings(history).ok()),
            begun: config.map(|config| config.preset),
            changes: history.changes().to_vec(),
            // A run without worker output has no log.
            log: log_tail(&run.log(), LOG_TAIL),
            config: run.config_text().or_else(other).unwrap_or_else(|error| format!("cannot be read: {error}")),
            events: event_lines(history.recent()),
            warnings: history.warnings().iter().rev().take(WARNINGS).map(warning).collect(),
            warned: history.warnings().len(),
            samples: history
                .samples()
                .iter()
                .rev()
                .take(SAMPLES)
                .map(|sample| TextSample { text: visible_lines(&sample.text).into_owned(), ..sample.clone() })
                .collect(),
            fork: history.forked().map(|forked| fork(run, forked)),
            tensors: history.tensors().map(|(step, tensors)| (step, tensors.to_vec())),
            which_batch: Measure::which_batch(history),
            damage: damage(history, &checkpoints),
            checkpoints,
        }
    }
}

impl RunDetail {
    pub(super) fn has_live_settings(&self) -> bool {
        self.in_force.as_ref().and_then(Preset::workload).is_some_and(|workload| !workload.live().is_empty())
    }
}

fn event_line(time: Timestamp, step: u64, text: &str) -> String {
    format!("{}  step {step}: {text}\n", time.strftime("%Y-%m-%d %H:%M:%S"))
}

/// Formats events as lines, in which successive checkpoints are one line.
fn event_lines<'e>(records: impl Iterator<Item = &'e EventRecord>) -> String {
    let records: Vec<&EventRecord> = records.collect();
    let is_checkpoint = |record: &EventRecord| matches!(record.event, Event::Checkpoint { .. });
    let line = |part: &[&EventRecord]| {
        let last = part[part.len() - 1];
        match part.len() {
            1 => event_line(last.time, last.step, &last.event.sentence()),
            count => event_line(last.time, last.step, &format!("{count} checkpoints, the last at step {}", last.step)),
        }
    };
    records.chunk_by(|a, b| is_checkpoint(a) && is_checkpoint(b)).map(line).collect()
}

/// Describes the lost events of a run with these checkpoints.
fn damage(history: &RunHistory, checkpoints: &[u64]) -> String {
    if history.is_gone(checkpoints) {
        return "nothing is left of them, and there are checkpoints".to_owned();
    }
    history.skipped_text()
}

fn fork(run: &RunFolder, forked: &Forked) -> [String; 3] {
    let [before, name, mut after] = forked.sentence_parts();
    if forked_run(forked, run).is_none() {
        after = format!("{after}; {}", forked.missing());
    }
    [before, name, after].map(|part| visible(&part).into_owned())
}

/// Reads the end of a log, escaped for display.
pub(super) fn log_tail(path: &Path, most: u64) -> String {
    visible_lines(&last_lines(path, most)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::event_lines;
    use valleyscope_runs::{Event, EventRecord, Timestamp};

    #[test]
    fn successive_checkpoints_are_one_line_of_events() {
        let record = |step, event| EventRecord { time: Timestamp::UNIX_EPOCH, step, wall_s: 0.0, event };
        let saved = |step| record(step, Event::Checkpoint { file: format!("{step}.safetensors") });
        let warning = record(250, Event::Warning { message: "look at this".into() });
        let records = [saved(100), saved(200), warning, saved(300)];
        let text = event_lines(records.iter());
        let lines: Vec<&str> = text.lines().map(|line| line.split_once("  ").map_or(line, |(_, text)| text)).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[0], "step 200: 2 checkpoints, the last at step 200");
        assert!(lines[2].starts_with("step 300: checkpoint 300"), "{text}");
    }
}
