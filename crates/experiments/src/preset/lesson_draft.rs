//! A lesson while it is edited: operations on its steps.

use serde::{Deserialize, Serialize};
use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::simulation::{Setting, SettingError, SimulationSpec};
use valleyscope_engine::spec_error::SpecError;

use super::LandscapePreset;
use super::lesson::{self, LessonStep, first_step_of_run, simulations_at, spec_at};
use super::simulations::{self, LETTERS, PresetSimulation, TitledSimulation, first_spec};
use crate::view::ViewSettings;

/// A lesson with what its steps change: the settings and the view of its preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessonDraft {
    /// The simulations before the settings of the first step. Steps set the first one; a step that compares none shows
    /// the others.
    pub simulations: Vec<PresetSimulation>,
    /// The view before that of any step; `None` for the default.
    pub view: Option<ViewSettings>,
    pub steps: Vec<LessonStep>,
}

/// The text of a new step.
const NEW: &str = "New step";

impl LessonDraft {
    /// Returns the lesson of a preset, which may have no steps.
    pub fn of(preset: &LandscapePreset) -> LessonDraft {
        let LandscapePreset { simulations, view, lesson, .. } = preset.clone();
        LessonDraft { simulations, view, steps: lesson }
    }

    /// Makes a lesson of one step, which shows simulations and their view as they are.
    pub fn begin(simulations: &[TitledSimulation], view: ViewSettings) -> LessonDraft {
        let simulations = PresetSimulation::describing(simulations);
        LessonDraft { simulations, view: Some(view), steps: vec![new_step()] }
    }

    /// Checks the simulations of a lesson that was not read as a preset, and returns the first rule that they break.
    pub fn check_simulations(&self) -> Result<(), SpecError> {
        simulations::check_simulations(&self.simulations)
    }

    /// Returns the first simulation before the settings of the first step.
    pub fn spec(&self) -> &SimulationSpec {
        first_spec(&self.simulations)
    }

    /// Returns whether the lesson decides which simulations are shown with its first one.
    pub fn has_several(&self) -> bool {
        self.simulations.len() > 1 || self.steps.iter().any(|step| !step.compared.is_empty())
    }

    /// Returns the simulations of a step, counted from 0, the first of which has the specification `first`.
    pub fn simulations_at(&self, step: usize, first: &SimulationSpec) -> Result<Vec<TitledSimulation>, SettingError> {
        simulations_at(&self.simulations, &self.steps, step, first)
    }

    /// Returns the settings in force at a step, counted from 0.
    pub fn spec_at(&self, step: usize) -> Result<SimulationSpec, SettingError> {
        spec_at(self.spec(), &self.steps, step)
    }

    /// Returns the landscapes that the steps show, each once.
    pub fn landscapes(&self) -> Vec<LandscapeSpec> {
        let shown = |step: usize| self.simulations_at(step, &self.spec_at(step).ok()?).ok();
        let mut landscapes: Vec<LandscapeSpec> = Vec::new();
        for simulation in (0..self.steps.len()).filter_map(shown).flatten() {
            if !landscapes.contains(&simulation.spec.landscape) {
                landscapes.push(simulation.spec.landscape);
            }
        }
        landscapes
    }

    /// Returns `spec` with all settings that the lesson ever sets at their values after a step. Other settings stay.
    pub fn applied(&self, spec: &SimulationSpec, step: usize) -> Result<SimulationSpec, SettingError> {
        let target = self.spec_at(step)?;
        let mut spec = spec.clone();
        for setting in self.touched_in(&target) {
            spec.apply(&setting)?;
        }
        Ok(spec)
    }

    /// Returns `spec` with all settings that the lesson ever sets at their values before the first step, so that it can
    /// be stored with the lesson.
    pub fn under(&self, spec: &SimulationSpec) -> SimulationSpec {
        let mut spec = spec.clone();
        for setting in self.touched_in(self.spec()) {
            // An optimizer of the lesson may be gone. Then the check of the lesson fails.
            let _ = spec.apply(&setting);
        }
        spec
    }

    /// Returns the settings that the lesson ever sets, with their values in a simulation.
    fn touched_in(&self, simulation: &SimulationSpec) -> Vec<Setting> {
        let touched = self.steps.iter().flat_map(|step| &step.set);
        touched.filter_map(|setting| same_setting_of(simulation, setting)).collect()
    }

    /// Returns the view in force at a step; `None` if no step of the lesson has one.
    pub fn view_at(&self, step: usize) -> Option<ViewSettings> {
        let newest = self.steps.iter().take(step + 1).rev().find_map(|step| step.view.as_ref());
        let has_view = self.steps.iter().any(|step| step.view.is_some());
        has_view.then(|| newest.or(self.view.as_ref()).cloned().unwrap_or_default())
    }

    /// Returns the first rule that a step breaks.
    pub fn error_at(&self, step: usize) -> Option<SpecError> {
        lesson::check_step(self.spec(), &self.steps, step).err()
    }

    /// Adds a new step after one. Returns its index.
    pub fn add_after(&mut self, step: usize) -> usize {
        self.insert(step + 1, new_step())
    }

    /// Adds a copy of a step after it. Returns its index.
    pub fn duplicate(&mut self, step: usize) -> usize {
        let copy = LessonStep { section: None, ..self.steps[step].clone() };
        self.insert(step + 1, copy)
    }

    fn insert(&mut self, at: usize, step: LessonStep) -> usize {
        self.steps.insert(at, step);
        self.renumber_claims(|number| Some(if number >= at { number + 1 } else { number }));
        at
    }

    /// Removes a step. A section that begins with it begins with the next one. Returns the index of the step to show.
    pub fn remove(&mut self, step: usize) -> usize {
        let removed = self.steps.remove(step);
        if let Some(next) = self.steps.get_mut(step).filter(|next| next.section.is_none()) {
            next.section = removed.section;
        }
        self.renumber_claims(|number| (number != step).then_some(if number > step { number - 1 } else { number }));
        step.min(self.steps.len().saturating_sub(1))
    }

    /// Moves a step to the position of the one before or after it. Returns its index.
    pub fn swap(&mut self, step: usize, other: usize) -> usize {
        self.steps.swap(step, other);
        let swapped = |number| match number {
            number if number == step => other,
            number if number == other => step,
            number => number,
        };
        self.renumber_claims(|number| Some(swapped(number)));
        other
    }

    /// Makes claims about the runs of other steps follow these. Claims about a step that is gone are removed.
    fn renumber_claims(&mut self, now: impl Fn(usize) -> Option<usize>) {
        for step in &mut self.steps {
            step.claims.retain_mut(|claim| {
                let Some(number) = claim.run_of else { return true };
                let renumbered = now(number.saturating_sub(1));
                claim.run_of = renumbered.map(|index| index + 1);
                renumbered.is_some()
            });
        }
    }

    /// Makes the settings of a step those of the first of the `present` simulations: sets the differences to the step
    /// before. A step that began its run anew still does. The step also compares the others, as far as settings lead to
    /// them.
    ///
    /// # Errors
    ///
    /// Returns an error if the steps before do not fit the simulation.
    pub fn take_over(&mut self, step: usize, present: &[TitledSimulation]) -> Result<(), SettingError> {
        let begins = self.begins_run(step);
        let first = &present[0].spec;
        let before = self.before(step, first)?;
        let taken = before.settings_to(first).expect("both have the same optimizers, start and seed");
        self.steps[step].set = taken;
        if begins && step > 0 && !self.begins_run(step) {
            self.steps[step].set.insert(0, Setting::Noise(first.noise));
        }
        if let Ok(settings) = self.compared_settings(present) {
            self.steps[step].compared = settings;
        }
        Ok(())
    }

    /// Returns the settings by which a step compares the first of these simulations with the others; none where the
    /// preset shows them.
    ///
    /// # Errors
    ///
    /// Returns the reason if a step cannot show them.
    pub fn compared_settings(&self, simulations: &[TitledSimulation]) -> Result<Vec<Vec<Setting>>, String> {
        let first = &simulations[0].spec;
        let of_preset = simulations_at(&self.simulations, &[], 0, first);
        if of_preset.is_ok_and(|of_preset| is_same(&of_preset, simulations)) {
            return Ok(Vec::new());
        }
        if simulations.len() == 1 {
            return Err("A step cannot be alone, as the preset shows others beside every step without its own".into());
        }
        let settings = |(other, letter)| match PresetSimulation::after(first, other) {
            PresetSimulation { spec: None, set, .. } => Ok(set),
            _ => Err(format!(
                "{letter} cannot be taken over, as it has another start, seed or optimizers, and a step shows only \
                 other settings beside its own"
            )),
        };
        simulations.iter().zip(LETTERS).skip(1).map(settings).collect()
    }

    /// Returns whether the first of the `present` simulations has other settings than a step, or the others are not
    /// those of the step.
    pub fn differs_at(&self, step: usize, present: &[TitledSimulation]) -> bool {
        let first = &present[0].spec;
        let at = self.before(step + 1, first);
        let differs = at.is_ok_and(|at| at.settings_to(first).is_some_and(|settings| !settings.is_empty()));
        differs || self.simulations_at(step, first).is_ok_and(|at| !is_same(&at, present))
    }

    /// Returns the settings before a step, with the optimizers, the start and the seed of `present`, which a lesson
    /// does not set.
    fn before(&self, step: usize, present: &SimulationSpec) -> Result<SimulationSpec, SettingError> {
        let mut base = present.clone();
        let known = self.spec();
        (base.landscape, base.noise, base.temperature, base.steps) =
            (known.landscape, known.noise, known.temperature, known.steps);
        for optimizer in &known.optimizers {
            // One that is gone, or has another rule by now, keeps its present settings.
            let _ = base.apply(&Setting::Rule { optimizer: optimizer.id, rule: optimizer.rule });
        }
        match step {
            0 => Ok(base),
            _ => spec_at(&base, &self.steps, step - 1),
        }
    }

    /// Returns whether a step begins a run, rather than continuing the one of the step before.
    pub fn begins_run(&self, step: usize) -> bool {
        first_step_of_run(&self.steps, step) == step
    }

    /// Returns whether a step has to begin a run, as its settings differ from those of the step before.
    pub fn has_to_begin_run(&self, step: usize) -> bool {
        let Some(before) = step.checked_sub(1) else { return true };
        let (Ok(mut before), Ok(at)) = (self.spec_at(before), self.spec_at(step)) else { return true };
        before.steps = at.steps;
        before != at
    }

    /// Makes a step begin a run, by a setting that stays as it is, or continue the one of the step before.
    pub fn set_begins_run(&mut self, step: usize, begins: bool) {
        if begins == self.begins_run(step) || self.has_to_begin_run(step) {
            return;
        }
        let noise = self.spec_at(step).map_or(self.spec().noise, |at| at.noise);
        let set = &mut self.steps[step].set;
        match begins {
            true => set.insert(0, Setting::Noise(noise)),
            false => set.retain(|setting| matches!(setting, Setting::Steps(_))),
        }
    }

    /// Sets the step of the run at which a step pauses; `None` for a run without an end.
    pub fn set_pause(&mut self, step: usize, pause: Option<u64>) {
        let set = &mut self.steps[step].set;
        match set.iter_mut().find(|setting| matches!(setting, Setting::Steps(_))) {
            Some(setting) => *setting = Setting::Steps(pause),
            None => set.push(Setting::Steps(pause)),
        }
    }

    /// Returns the step of the run at which a step pauses.
    pub fn pause(&self, step: usize) -> Option<u64> {
        self.spec_at(step).map_or(self.spec().steps, |at| at.steps)
    }
}

/// Returns whether simulations are the same, whatever their titles.
fn is_same(one: &[TitledSimulation], other: &[TitledSimulation]) -> bool {
    one.iter().map(|it| &it.spec).eq(other.iter().map(|it| &it.spec))
}

fn new_step() -> LessonStep {
    LessonStep { text: NEW.to_owned(), ..LessonStep::default() }
}

/// Returns the value in `simulation` of the same kind of setting.
fn same_setting_of(simulation: &SimulationSpec, setting: &Setting) -> Option<Setting> {
    Some(match *setting {
        Setting::Landscape(_) => Setting::Landscape(simulation.landscape),
        Setting::Noise(_) => Setting::Noise(simulation.noise),
        Setting::Temperature(_) => Setting::Temperature(simulation.temperature),
        Setting::Steps(_) => Setting::Steps(simulation.steps),
        Setting::Rule { optimizer, .. } => {
            let found = simulation.optimizers.iter().find(|other| other.id == optimizer)?;
            Setting::Rule { optimizer, rule: found.rule }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::{Preset, marks_at};
    use crate::view::ViewProjection;

    /// A lesson of three steps: the first shows the run, the second begins one with noise, and the third continues it.
    fn lesson() -> LessonDraft {
        let text = r#"Landscape(version: 1, title: "A lesson",
            simulations: [(spec: (noise: 0.0, optimizers: [
                (id: 0, rule: Adam(learning_rate: 0.01)),
                (id: 1, rule: Signum(learning_rate: 0.01)),
            ]))],
            lesson: [
                (section: "One", text: "One.", set: [Steps(100)]),
                (section: "Two", text: "Two.", set: [Noise(1.0), Steps(100)], marks: [(step: 50, text: "half")]),
                (text: "Three.", set: [Steps(200)], marks: [(step: 20, text: "early")],
                 claims: [(words: "Two.", metric: Depth, optimizer: 0, step: 100, run_of: 2)]),
            ])"#;
        let Ok(Preset::Landscape(preset)) = Preset::parse(text, "test") else { panic!("it is a landscape") };
        LessonDraft::of(&preset)
    }

    fn noise(value: f64) -> Setting {
        let text = format!("Noise({value:?})");
        ron::from_str(&text).expect("it is a setting")
    }

    fn texts(lesson: &LessonDraft) -> Vec<&str> {
        lesson.steps.iter().map(|step| step.text.as_str()).collect()
    }

    fn alone(spec: &SimulationSpec) -> [TitledSimulation; 1] {
        [TitledSimulation::untitled(spec.clone())]
    }

    /// Returns what the lesson's step sets.
    fn set(lesson: &LessonDraft, step: usize) -> &[Setting] {
        &lesson.steps[step].set
    }

    #[test]
    fn steps_are_added_copied_moved_and_removed() {
        let mut lesson = lesson();
        assert_eq!(lesson.add_after(0), 1);
        assert_eq!(lesson.duplicate(2), 3);
        assert_eq!(texts(&lesson), ["One.", NEW, "Two.", "Two.", "Three."]);
        assert_eq!(lesson.steps[3].section, None, "the copy is in the section of the original");
        assert_eq!(lesson.swap(4, 3), 3);
        assert_eq!(texts(&lesson), ["One.", NEW, "Two.", "Three.", "Two."]);
        assert_eq!(lesson.remove(4), 3, "the one before, as it was the last");
        assert_eq!(lesson.remove(1), 1);
        assert_eq!(lesson, self::lesson());
    }

    #[test]
    fn a_section_outlives_its_first_step() {
        let mut lesson = lesson();
        lesson.remove(1);
        assert_eq!(lesson.steps[1].section.as_deref(), Some("Two"));
        lesson.remove(0);
        assert_eq!(lesson.steps[0].section.as_deref(), Some("Two"), "it has a section already");
    }

    #[test]
    fn claims_follow_the_step_that_they_are_about() {
        let run_of =
            |lesson: &LessonDraft| lesson.steps.last().map(|step| step.claims.first().map(|claim| claim.run_of));
        let mut lesson = lesson();
        lesson.add_after(0);
        assert_eq!(run_of(&lesson), Some(Some(Some(3))));
        lesson.swap(1, 2);
        assert_eq!(run_of(&lesson), Some(Some(Some(2))));
        lesson.remove(1);
        assert_eq!(run_of(&lesson), Some(None), "its step is gone");
    }

    #[test]
    fn present_settings_are_taken_over_as_differences_to_the_step_before() {
        let mut lesson = lesson();
        let mut present = lesson.spec_at(2).expect("it fits");
        present.apply(&noise(2.0)).expect("it fits");
        lesson.take_over(2, &alone(&present)).expect("it fits");
        assert_eq!(set(&lesson, 2), [noise(2.0), Setting::Steps(Some(200))]);
        assert_eq!(lesson.spec_at(2), Ok(present.clone()));
        // Settings that only the window changes are taken over, too, and going back takes them back.
        let other: Setting = ron::from_str("Temperature(Some(2.0))").expect("it is a setting");
        present.apply(&other).expect("it fits");
        lesson.take_over(2, &alone(&present)).expect("it fits");
        assert!(set(&lesson, 2).contains(&other));
        assert_eq!(lesson.applied(&present, 1).map(|spec| spec.temperature), Ok(None));
    }

    #[test]
    fn a_step_that_began_its_run_still_does_without_differences() {
        let mut lesson = lesson();
        let before = lesson.spec_at(0).expect("it fits");
        lesson.take_over(1, &alone(&before)).expect("it fits");
        assert_eq!(set(&lesson, 1), [noise(0.0)]);
        assert!(lesson.begins_run(1) && !lesson.has_to_begin_run(1));
        lesson.set_begins_run(1, false);
        assert_eq!(set(&lesson, 1), []);
        assert!(!lesson.begins_run(1));
        lesson.set_begins_run(1, true);
        assert_eq!(set(&lesson, 1), [noise(0.0)]);
    }

    #[test]
    fn other_settings_begin_a_run_in_any_case() {
        let mut lesson = lesson();
        assert!(lesson.has_to_begin_run(1));
        lesson.set_begins_run(1, false);
        assert_eq!(lesson, self::lesson());
        assert!(!lesson.begins_run(2) && !lesson.has_to_begin_run(2));
    }

    #[test]
    fn seed_start_and_added_optimizers_belong_to_no_step() {
        let mut lesson = lesson();
        let mut present = lesson.spec_at(1).expect("it fits");
        present.seed += 1;
        let mut added = present.optimizers[1].clone();
        added.id = 7;
        present.optimizers.push(added);
        lesson.take_over(1, &alone(&present)).expect("it fits");
        assert_eq!(set(&lesson, 1), [noise(1.0)], "the pause is that of the step before");
        let stored = lesson.under(&present);
        assert_eq!((stored.noise, stored.seed, stored.optimizers.len()), (lesson.spec().noise, present.seed, 3));
    }

    #[test]
    fn other_simulations_are_taken_over_as_settings_on_top_of_the_first() {
        let mut lesson = lesson();
        let own = lesson.spec_at(1).expect("it fits");
        let with = |setting: &Setting| {
            let mut spec = own.clone();
            spec.apply(setting).expect("it fits");
            TitledSimulation::untitled(spec)
        };
        let single = alone(&own);
        let both = [single[0].clone(), with(&noise(3.0))];
        assert!(lesson.differs_at(1, &both) && !lesson.differs_at(1, &single));
        lesson.take_over(1, &both).expect("it fits");
        assert_eq!(lesson.steps[1].compared, [vec![noise(3.0)]]);
        assert_eq!(set(&lesson, 1), [noise(1.0)], "its own settings stay");
        assert!(!lesson.differs_at(1, &both) && lesson.differs_at(1, &single));
        lesson.take_over(1, &single).expect("it fits");
        assert!(lesson.steps[1].compared.is_empty());

        let mut other = own.clone();
        other.seed += 1;
        let three = [single[0].clone(), with(&noise(3.0)), TitledSimulation::untitled(other)];
        assert!(lesson.compared_settings(&three).is_err_and(|reason| reason.starts_with("C cannot be taken over")));
        lesson.take_over(1, &three).expect("it fits");
        assert!(lesson.steps[1].compared.is_empty() && lesson.differs_at(1, &three));

        lesson.simulations.push(PresetSimulation { set: vec![noise(3.0)], ..PresetSimulation::default() });
        assert_eq!(lesson.compared_settings(&both), Ok(Vec::new()), "the preset shows it");
        assert!(lesson.compared_settings(&single).is_err_and(|reason| reason.contains("cannot be alone")));
    }

    #[test]
    fn a_pause_is_set_in_place() {
        let mut lesson = lesson();
        lesson.set_pause(1, Some(150));
        assert_eq!(set(&lesson, 1), [noise(1.0), Setting::Steps(Some(150))]);
        lesson.add_after(2);
        lesson.set_pause(3, None);
        assert_eq!((set(&lesson, 3), lesson.pause(3)), (&[Setting::Steps(None)][..], None));
        assert!(!lesson.begins_run(3), "a pause alone begins no run");
    }

    #[test]
    fn a_view_stays_until_the_next_and_is_taken_back() {
        let mut lesson = lesson();
        assert_eq!(lesson.view_at(2), None, "the view is the user's");
        lesson.steps[1].view = Some(ViewSettings { projection: ViewProjection::Space, ..ViewSettings::default() });
        let in_space = |lesson: &LessonDraft| [0, 1, 2].map(|step| lesson.view_at(step).map(|view| view.is_in_space()));
        assert_eq!(in_space(&lesson), [Some(false), Some(true), Some(true)]);
    }

    #[test]
    fn errors_name_the_step_and_what_is_wrong() {
        let mut lesson = lesson();
        let error =
            |lesson: &LessonDraft, step| lesson.error_at(step).map(|error| error.to_string()).unwrap_or_default();
        assert_eq!([0, 1, 2].map(|step| error(&lesson, step)), [""; 3].map(str::to_owned));
        lesson.steps[1].text.clear();
        assert_eq!(error(&lesson, 1), "`lesson[1].text` must not be empty");
        lesson.set_pause(2, Some(60));
        assert!(error(&lesson, 2).contains("pauses at step 100, and must pause later"), "{}", error(&lesson, 2));
        lesson.set_pause(1, Some(40));
        lesson.steps[1].text = "Two.".to_owned();
        assert!(error(&lesson, 1).contains("is 50, after the pause at step 40"), "{}", error(&lesson, 1));
    }

    #[test]
    fn marks_stay_while_the_run_goes_on() {
        let lesson = lesson();
        let marks = |step| marks_at(&lesson.steps, step).iter().map(|mark| mark.step).collect::<Vec<_>>();
        assert_eq!([0, 1, 2].map(marks), [vec![], vec![50], vec![20, 50]]);
    }
}
