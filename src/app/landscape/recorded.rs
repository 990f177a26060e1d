//! Recorded clouds in the landscape tab: opening them, their cards, and their part of the session.

use std::path::PathBuf;

use egui::{Align, Button, Context, Layout, RichText, Ui};
use serde::{Deserialize, Serialize};
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::setting::{START_SPREAD, START_X, START_Y};
use valleyscope_engine::simulation::{Change, OptimizerSpec, Setting, SimulationSpec};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::view::{OwnColors, usual_colors};

use super::LandscapeTab;
use super::live::Live;
use super::live::in_force_until;
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::files::file_name;
use crate::app::shell::jobs::Job;
use crate::app::widgets::form;
use crate::app::widgets::icons::color_swatch;
use crate::player::marks::{SettingMark, marks_of, text};
use crate::player::{PlayerCommand, RecordedCloud, Recording, RecordingError};

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
    /// Ends with the clouds of each file, or with the reason why they were not read.
    job: Job<Vec<Result<Vec<RecordedCloud>, RecordingError>>>,
}

impl Reopening {
    pub(super) fn begin(ctx: &Context, remembered: &[RememberedCloud]) -> Option<Reopening> {
        let [remembered, of_job] = [remembered, remembered].map(<[_]>::to_vec);
        // The clouds of a file follow each other.
        let read = move |_: &_| of_job.chunk_by(|one, next| one.path == next.path).map(reopen).collect();
        (!remembered.is_empty()).then(|| Reopening { remembered, job: Job::start(ctx, read) })
    }
}

/// Reads those clouds of a file that the last session had.
fn reopen(of_file: &[RememberedCloud]) -> Result<Vec<RecordedCloud>, RecordingError> {
    let mut clouds = RecordedCloud::read(&of_file[0].path)?;
    clouds.retain_mut(|cloud| {
        let known = of_file.iter().find(|known| known.index == cloud.recording.index);
        cloud.optimizer.color = known.and_then(|known| known.color);
        known.is_some()
    });
    Ok(clouds)
}

impl LandscapeTab {
    /// Shows the clouds of a file, in place of those that were opened from it before, each with an id that no optimizer
    /// has.
    pub(super) fn open_recorded(&mut self, clouds: Vec<RecordedCloud>, requests: &mut Requests) {
        let is_other = |known: &RecordedCloud| clouds.iter().all(|new| new.recording.path != known.recording.path);
        let others = self.live.recorded.iter().filter(|known| is_other(known)).count();
        let (new, most) = (clouds.len(), RecordedCloud::MOST);
        if others + new > most {
            let title = "The recorded clouds were not opened".to_owned();
            let text = format!("{others} are shown, the file has {new}, and at most {most} fit. Remove some first.");
            return requests.actions.push(Action::Report { title, text });
        }
        let file = clouds.first().map(|cloud| file_name(&cloud.recording.path)).unwrap_or_default();
        self.live.recorded.retain(is_other);
        for mut cloud in clouds {
            let recorded = self.live.recorded.iter().map(|other| &other.optimizer);
            let simulated = self.editor.draft.document.specs().flat_map(|spec| &spec.optimizers);
            let taken: Vec<u32> = recorded.chain(simulated).map(|optimizer| optimizer.id).collect();
            cloud.optimizer.id = (0..=u32::MAX).rev().find(|id| !taken.contains(id)).unwrap_or_default();
            self.live.hidden.remove(&cloud.optimizer.id);
            self.live.recorded.push(cloud);
        }
        self.player.send(PlayerCommand::Recorded(self.live.recorded.clone()));
        let what = if new == 1 { "a recorded cloud".to_owned() } else { format!("{new} recorded clouds") };
        requests.actions.push(Action::Notify(format!("Opened {what} of {file} beside the optimizers.")));
    }

    /// Shows the clouds of the last session once they are read.
    pub(super) fn take_reopened(&mut self, requests: &mut Requests) {
        let Some(ended) = self.reopening.as_ref().and_then(|reopening| reopening.job.poll()) else { return };
        self.reopening = None;
        for of_file in ended.unwrap_or_default() {
            match of_file {
                Ok(clouds) => self.open_recorded(clouds, requests),
                Err(error) => requests.actions.push(Action::Report {
                    title: "Recorded clouds of the last session were not opened".to_owned(),
                    text: error.to_string(),
                }),
            }
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
    form::framed(ui, |ui| {
        ui.horizontal(|ui| {
            let (help, label) = ("Colour of the particles and curves", format!("{name}: colour"));
            color_swatch(ui, &mut optimizer.color, usual_color, help, &label);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.weak(RichText::new("recorded").small()).on_hover_text("Positions from a file; nothing moves them.");
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    ui.add(egui::Label::new(RichText::new(name).strong()).truncate());
                });
            });
        });
        let small = |ui: &mut Ui, text: String| ui.label(RichText::new(text).small());
        let [last, particles] = [recording.last_step(), recording.particles as u64].map(grouped);
        let size = format!("{}: {particles} particles, {last} steps", file_name(&recording.path));
        small(ui, size).on_hover_text(recording.path.display().to_string());
        if step > recording.last_step() {
            small(ui, format!("It ends at step {last}: the particles stay at their last positions."));
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
    is_removed
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
    let marks = settings.into_iter().flat_map(|set| marks_of(&Change { step, set }, &then, now));
    let marks: Vec<SettingMark> = marks.collect();
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
