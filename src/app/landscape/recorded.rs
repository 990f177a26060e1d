//! Recorded clouds in the landscape tab: opening them, their cards, and their part of the session.

use std::path::{Path, PathBuf};

use egui::collapsing_header::CollapsingState;
use egui::{Align, Button, Context, Layout, RichText, Ui};
use serde::{Deserialize, Serialize};
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::setting::{START_SPREAD, START_X, START_Y};
use valleyscope_engine::simulation::{Change, OptimizerSpec, Setting, SimulationSpec};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::view::{OwnColors, usual_colors};

use super::LandscapeTab;
use super::editor::in_force_until;
use super::live::Live;
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::jobs::Job;
use crate::app::widgets::icons::color_swatch;
use crate::app::widgets::theme;
use crate::player::marks::{SettingMark, marks_of, text};
use crate::player::{PlayerCommand, RecordedCloud, Recording};

/// A cloud of the last session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RememberedCloud {
    path: PathBuf,
    /// The index of the cloud in its file.
    index: usize,
    color: Option<[u8; 3]>,
}

/// Reads the clouds of the last session in the background.
pub(super) struct Reopening {
    remembered: Vec<RememberedCloud>,
    /// Ends with the clouds, and with the reasons why others were not read.
    job: Job<(Vec<RecordedCloud>, Vec<String>)>,
}

impl Reopening {
    pub(super) fn begin(ctx: &Context, remembered: Vec<RememberedCloud>) -> Option<Reopening> {
        let of_job = remembered.clone();
        (!remembered.is_empty()).then(|| Reopening { remembered, job: Job::start(ctx, move |_| reopen(&of_job)) })
    }
}

fn reopen(remembered: &[RememberedCloud]) -> (Vec<RecordedCloud>, Vec<String>) {
    let (mut clouds, mut errors) = (Vec::new(), Vec::new());
    // The clouds of a file follow each other.
    for of_file in remembered.chunk_by(|one, next| one.path == next.path) {
        let read = match RecordedCloud::read(&of_file[0].path) {
            Ok(read) => read,
            Err(error) => {
                errors.push(error.to_string());
                continue;
            }
        };
        for mut cloud in read {
            if let Some(known) = of_file.iter().find(|known| known.index == cloud.recording.index) {
                cloud.optimizer.color = known.color;
                clouds.push(cloud);
            }
        }
    }
    (clouds, errors)
}

impl LandscapeTab {
    /// Shows the clouds of a file, in place of those that were opened from it before.
    pub(super) fn open_recorded(&mut self, clouds: Vec<RecordedCloud>, requests: &mut Requests) {
        let is_again = |known: &RecordedCloud| clouds.iter().any(|new| new.recording.path == known.recording.path);
        let kept = self.live.recorded.iter().filter(|known| !is_again(known)).count();
        if kept + clouds.len() > RecordedCloud::MOST {
            let text = format!(
                "The file has {} clouds, {kept} are shown, and at most {} are shown together. Remove some first.",
                clouds.len(),
                RecordedCloud::MOST
            );
            requests.actions.push(Action::Report { title: "The recorded clouds were not opened".to_owned(), text });
            return;
        }
        let file = clouds.first().map_or("", |cloud| file_name(&cloud.recording.path));
        let count = if clouds.len() == 1 { "a recorded cloud".to_owned() } else { format!("{} clouds", clouds.len()) };
        requests.actions.push(Action::Notify(format!("Opened {count} of {file} beside the optimizers.")));
        self.live.recorded.retain(|known| !is_again(known));
        self.show_recorded(clouds);
    }

    /// Shows further clouds, each with an id that no optimizer has.
    fn show_recorded(&mut self, clouds: Vec<RecordedCloud>) {
        for mut cloud in clouds {
            let recorded = self.live.recorded.iter().map(|other| &other.optimizer);
            let simulated = self.editor.draft.document.specs().flat_map(|spec| &spec.optimizers);
            let taken: Vec<u32> = recorded.chain(simulated).map(|optimizer| optimizer.id).collect();
            cloud.optimizer.id = (0..=u32::MAX).rev().find(|id| !taken.contains(id)).unwrap_or_default();
            self.live.hidden.remove(&cloud.optimizer.id);
            self.live.recorded.push(cloud);
        }
        self.player.send(PlayerCommand::Recorded(self.live.recorded.clone()));
    }

    /// Shows the clouds of the last session once they are read.
    pub(super) fn take_reopened(&mut self, requests: &mut Requests) {
        let Some(ended) = self.reopening.as_ref().and_then(|reopening| reopening.job.poll()) else { return };
        self.reopening = None;
        let (mut clouds, errors) = ended.unwrap_or_default();
        // A file that was opened meanwhile is shown already.
        clouds.retain(|cloud| self.live.recorded.iter().all(|known| known.recording.path != cloud.recording.path));
        clouds.truncate(RecordedCloud::MOST.saturating_sub(self.live.recorded.len()));
        self.show_recorded(clouds);
        if !errors.is_empty() {
            let title = "Recorded clouds of the last session were not opened".to_owned();
            requests.actions.push(Action::Report { title, text: errors.join("\n") });
        }
    }

    /// Returns the clouds to open again in the next session.
    pub(super) fn remembered_clouds(&self) -> Vec<RememberedCloud> {
        let pending = self.reopening.iter().flat_map(|reopening| reopening.remembered.iter().cloned());
        let shown = self.live.recorded.iter().map(|cloud| RememberedCloud {
            path: cloud.recording.path.clone(),
            index: cloud.recording.index,
            color: cloud.optimizer.color,
        });
        pending.chain(shown).collect()
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or("a file")
}

/// Shows a card for each recorded cloud, beside a simulation whose settings are compared with those of the recording.
pub(super) fn cards(ui: &mut Ui, spec: &SimulationSpec, live: &mut Live, requests: &mut Requests) {
    if live.recorded.is_empty() {
        return;
    }
    let step = live.session(live.chosen).map_or(0, |session| session.step);
    let all = live.with_recorded(spec);
    let first = spec.optimizers.len();
    let names = all.distinct_names().split_off(first);
    let own_colors = all.optimizers.iter().map(|optimizer| (optimizer.color, optimizer.rule.rule.rgb()));
    let usual_colors = usual_colors(&own_colors.collect::<Vec<OwnColors>>()).split_off(first);
    let mut removed = None;
    for (index, (cloud, name)) in live.recorded.iter_mut().zip(&names).enumerate() {
        let is_removed = ui
            .push_id(("recorded", cloud.optimizer.id), |ui| card(ui, cloud, (name, usual_colors[index]), (step, spec)));
        removed = is_removed.inner.then_some(index).or(removed);
    }
    if let Some(index) = removed {
        let RecordedCloud { optimizer, recording } = live.recorded.remove(index);
        live.hidden.remove(&optimizer.id);
        requests.commands.push(PlayerCommand::Recorded(live.recorded.clone()));
        let notice = format!("Removed {}. Its file is {}.", names[index], recording.path.display());
        requests.actions.push(Action::Notify(notice));
    }
}

/// Shows the card of a cloud with its name and the colour that it has unless another is chosen, at a step of a
/// simulation. Returns whether to remove it.
fn card(
    ui: &mut Ui,
    cloud: &mut RecordedCloud,
    (name, usual_color): (&str, [u8; 3]),
    (step, spec): (u64, &SimulationSpec),
) -> bool {
    let RecordedCloud { optimizer, recording } = cloud;
    let mut is_removed = false;
    let style = ui.style().clone();
    theme::card(&style).show(ui, |ui| {
        ui.set_width(ui.available_width());
        let state = CollapsingState::load_with_default_open(ui.ctx(), ui.make_persistent_id("card"), true);
        let header = state.show_header(ui, |ui| {
            let (help, label) = ("Colour of the particles and curves", format!("{name}: colour"));
            color_swatch(ui, &mut optimizer.color, usual_color, help, &label);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.weak(RichText::new("recorded").small()).on_hover_text("Positions from a file; nothing moves them.");
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    ui.add(egui::Label::new(RichText::new(name).strong()).truncate());
                });
            });
        });
        header.body_unindented(|ui| {
            let small = |ui: &mut Ui, text: String| ui.label(RichText::new(text).small());
            let size = format!("{}: {}", file_name(&recording.path), size_text(recording));
            small(ui, size).on_hover_text(recording.path.display().to_string());
            let last = recording.last_step();
            if step > last {
                small(ui, format!("It ends at step {}: the particles stay at their last positions.", grouped(last)));
            }
            let left = left_settings(recording, step, spec);
            if !left.is_empty() {
                small(ui, format!("Settings have left those of the recording: {}.", left.join(", ")));
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let remove = ui.add(Button::new(RichText::new("Remove").small()));
                is_removed = remove.accessible_name(format!("{name}: remove")).clicked();
            });
        });
    });
    is_removed
}

/// Formats the size of a recording, as in "100 particles, 3,000 steps" or "…, 301 of 3,001 steps recorded".
fn size_text(recording: &Recording) -> String {
    let particles = match recording.particles {
        1 => "1 particle".to_owned(),
        count => format!("{} particles", grouped(count as u64)),
    };
    let (last, recorded) = (recording.last_step(), recording.steps.len() as u64);
    match last == recorded - 1 {
        true => format!("{particles}, {} steps", grouped(last)),
        false => format!("{particles}, {} steps, of which {} are recorded", grouped(last), grouped(recorded)),
    }
}

/// Lists the settings of a simulation at a step that are not those of the recording at this step, as in "σ 1 → 2": of
/// the landscape, the noise, the start, and of the optimizer with the recorded rule, if there is one. Without the
/// settings of the recording it lists none.
fn left_settings(recording: &Recording, step: u64, now: &SimulationSpec) -> Vec<String> {
    let Some((session, id)) = &recording.session else { return Vec::new() };
    let mut then = in_force_until(session, step);
    let mut settings = vec![Setting::Landscape(now.landscape), Setting::Noise(now.noise)];
    if let Some(own) = then.optimizers.iter().find(|optimizer| optimizer.id == *id).cloned() {
        let has_rule = |other: &&OptimizerSpec| other.rule.rule.kind() == own.rule.rule.kind();
        let of_rule = || now.optimizers.iter().filter(has_rule);
        if let Some(&OptimizerSpec { id, rule, .. }) = of_rule().find(|other| other.id == *id).or(of_rule().next()) {
            then.optimizers = vec![OptimizerSpec { id, ..own }];
            settings.push(Setting::Rule { optimizer: id, rule });
        }
    }
    let mut marks: Vec<SettingMark> = Vec::new();
    for set in settings {
        marks.extend(marks_of(&Change { step, set }, &then, now));
    }
    let starts = [then.start, now.start].map(|start| [start.x.get(), start.y.get(), start.spread.get()]);
    let start = [&START_X, &START_Y, &START_SPREAD].into_iter().enumerate().filter_map(|(axis, of)| {
        let [then, now] = starts.map(|start| number_text(start[axis]));
        (then != now).then(|| format!("{} {then} → {now}", of.symbol))
    });
    let of_marks = text(&marks, |_| None);
    of_marks.lines().map(str::to_owned).chain(start).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use valleyscope_experiments::preset::Preset;

    use super::*;

    fn spec(optimizers: &str, settings: &str) -> SimulationSpec {
        let text = format!(
            "Landscape(version: 1, title: \"x\", simulations: [(spec: ({settings}, optimizers: [{optimizers}]))])"
        );
        let Preset::Landscape(preset) = Preset::parse(&text, "test").expect("it is valid") else {
            panic!("a landscape")
        };
        preset.spec().clone()
    }

    /// Writes an archive as `valleyscope simulate` does, and reads its only cloud.
    fn recorded(spec: &SimulationSpec) -> Arc<Recording> {
        use valleyscope_engine::simulation::Simulation;
        use valleyscope_experiments::preset::LandscapePreset;

        let mut arrays = crate::export::TrajectoryArrays::new(LandscapePreset::new("x", spec.clone()), 1);
        arrays.record(&Simulation::new(spec.clone()));
        let file = tempfile::NamedTempFile::with_suffix(".npz").expect("a file");
        arrays.write(&mut file.as_file()).expect("it is written");
        let mut clouds = RecordedCloud::read(file.path()).expect("it is read");
        clouds.remove(0).recording
    }

    #[test]
    fn settings_that_left_those_of_the_recording_are_listed() {
        let recording = recorded(&spec("(id: 3, rule: Adam(learning_rate: 0.01))", "noise: 1"));
        let now = |optimizers: &str, settings: &str| left_settings(&recording, 0, &spec(optimizers, settings));
        assert_eq!(now("(id: 3, rule: Adam(learning_rate: 0.01))", "noise: 1"), [""; 0]);
        let adam = "(id: 0, rule: Adam(learning_rate: 0.1))";
        assert_eq!(now(adam, "noise: 2, start: (x: 0.5)"), ["σ 1 → 2", "η 0.01 → 0.1", "start x 0 → 0.5"]);
        let signum = "(id: 3, rule: Signum(learning_rate: 0.1))";
        assert_eq!(now(signum, "noise: 1"), [""; 0], "no optimizer has the recorded rule");
        let rosenbrock = "noise: 1, landscape: Rosenbrock()";
        assert_eq!(now(signum, rosenbrock)[0], "Narrowing valley → Rosenbrock");
    }
}
