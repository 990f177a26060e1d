//! Lessons: numbered steps with texts, settings, and claims that a test checks.

use serde::{Deserialize, Serialize};
use valleyscope_engine::simulation::Setting;
use valleyscope_engine::spec_error::{SpecError, broken};

use super::validate::check_setting;
use super::{LandscapePreset, beside};
use crate::view::DiagnosticMetric;

/// One step of a lesson.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LessonStep {
    /// The name of the section that begins with this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Some sentences about what to look at.
    pub text: String,
    /// Settings applied when the step is shown, on top of those of the previous steps. The run then restarts, unless
    /// they only determine where it pauses: with nothing but [`Setting::Steps`], the run of the previous step
    /// continues.
    #[serde(default)]
    pub set: Vec<Setting>,
    /// Settings of simulations that are shown beside this one, each on top of those of this step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Vec<Setting>>,
    /// Whether the run plays when the step is shown; otherwise it continues to play or stays paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub play: bool,
    /// The plots that the text points at, which a presentation shows too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub show: Vec<DiagnosticMetric>,
    /// The claims of the text about the run. The window does not show them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
}

/// A claim of a text about a run: the mean of a quantity over the particles of an optimizer, as its plot shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The part of the text that makes the claim.
    pub words: String,
    pub metric: DiagnosticMetric,
    /// The id of the optimizer.
    pub optimizer: u32,
    /// The first step of the run to which the claim refers; without it, it is about the last alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The last step of the run to which the claim refers.
    pub step: u64,
    /// The number of the lesson step, from 1, whose run is meant; without it, this step's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_of: Option<usize>,
    #[serde(default, skip_serializing_if = "Comparison::is_stated")]
    pub is: Comparison,
}

/// The relation that a claim states between its quantity and a number or another optimizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Comparison {
    /// The mean over the steps, rounded, is the last number in the claim's words.
    #[default]
    Stated,
    /// It is below this number at each step.
    Below(f64),
    /// It is above this number at each step.
    Above(f64),
    /// It is below that of the optimizer with this id at each step.
    BelowOptimizer(u32),
    /// It is above that of the optimizer with this id at each step.
    AboveOptimizer(u32),
}

impl LessonStep {
    /// The largest number of characters of a text.
    const LONGEST_TEXT: usize = 1000;
    /// The largest number of characters of a section's name.
    const LONGEST_SECTION: usize = 60;

    /// Returns whether the step continues the run of the previous one and only sets where it pauses.
    pub fn goes_on(&self) -> bool {
        !self.set.is_empty() && self.set.iter().all(|setting| matches!(setting, Setting::Steps(_)))
    }
}

impl Claim {
    /// Returns the last number in the claim's words, as it is written.
    pub fn stated(&self) -> Option<&str> {
        let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
        let words = self.words.trim_end_matches(|c: char| !c.is_ascii_digit());
        let start =
            words.rfind(|c| !is_of_number(c)).map_or(0, |at| at + words[at..].chars().next().map_or(0, char::len_utf8));
        let number = words[start..].trim_start_matches('.');
        number.parse::<f64>().is_ok().then_some(number)
    }
}

impl Comparison {
    fn is_stated(&self) -> bool {
        *self == Comparison::Stated
    }
}

/// Checks the lesson of a preset, and returns the first rule that it breaks.
pub(super) fn check(preset: &LandscapePreset) -> Result<(), SpecError> {
    let mut simulation = preset.simulation.clone();
    for (number, step) in preset.lesson.iter().enumerate() {
        let (path, text) = (format!("lesson[{number}]"), &step.text);
        if let Some(section) = &step.section {
            SpecError::check_name(&format!("{path}.section"), section, LessonStep::LONGEST_SECTION)?;
        }
        if text.trim().is_empty() {
            return broken(format!("{path}.text"), "must not be empty");
        }
        SpecError::check_length(&format!("{path}.text"), text, 1..=LessonStep::LONGEST_TEXT)?;
        let paused_at = simulation.steps;
        for (index, setting) in step.set.iter().enumerate() {
            check_setting(&mut simulation, setting, || format!("{path}.set[{index}]"))?;
        }
        check_pause(number, step, paused_at.filter(|_| number > 0), simulation.steps)?;
        beside::check_step(&path, step, &simulation)?;
        check_shown(&path, &step.show)?;
        for (index, claim) in step.claims.iter().enumerate() {
            check_claim(&format!("{path}.claims[{index}]"), claim)?;
        }
    }
    Ok(())
}

/// Checks that a step of a lesson that continues the previous step's run has steps to take. `before` is where the
/// previous one pauses, and `pause` where this one does.
fn check_pause(number: usize, step: &LessonStep, before: Option<u64>, pause: Option<u64>) -> Result<(), SpecError> {
    match (before, pause) {
        (Some(before), Some(pause)) if step.goes_on() && pause <= before => broken(
            format!("lesson[{number}].set"),
            format!(
                "goes on with the run of `lesson[{}]`, which pauses at step {before}, and must pause later, found \
                 `Steps({pause})`; a step that sets anything else begins the run again",
                number - 1
            ),
        ),
        _ => Ok(()),
    }
}

fn check_shown(path: &str, show: &[DiagnosticMetric]) -> Result<(), SpecError> {
    let twice = (1..show.len()).find(|&index| show[..index].contains(&show[index]));
    match twice {
        Some(index) => broken(format!("{path}.show[{index}]"), "is named twice; name each plot once"),
        None => Ok(()),
    }
}

/// Checks the fields of a claim. A test of the lesson checks whether the claim is true and its words are in the text, so
/// that an edited lesson stays valid.
fn check_claim(path: &str, claim: &Claim) -> Result<(), SpecError> {
    let (last, is) = (claim.step, claim.is);
    if let Some(from) = claim.from.filter(|&from| from > last) {
        return broken(format!("{path}.from"), format!("must be at most `step`, which is {last}, found {from}"));
    }
    match is {
        Comparison::Below(number) | Comparison::Above(number) if !number.is_finite() => {
            broken(format!("{path}.is"), format!("must compare with a finite number, found {number}"))
        }
        _ => Ok(()),
    }
}
