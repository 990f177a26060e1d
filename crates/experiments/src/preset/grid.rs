//! Grids: trainings in which settings vary, each combination as a run of its own.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use valleyscope_engine::optimizer::RuleSpec;
use valleyscope_engine::quantity::{
    BatchSize, CheckpointInterval, EvaluationInterval, LearningRate, LoggingInterval, MeasureInterval, PointCount,
    Processes, Replicates, TrainingSteps,
};
use valleyscope_engine::spec_error::{SpecError, broken};
use valleyscope_engine::sweep::{LearningRates, Spacing};

use super::read::full_name;
use super::{FormatVersion, Preset, check_preset};
use crate::dataset::DataChoice;
use crate::run::computation;
use crate::workload::form::Value;
use crate::workload::{DeviceChoice, FloatType, MnistPreset, MnistSpec, NotFinite};

/// Trainings with all combinations of the values of some settings.
///
/// ```text
/// Grid(
///     version: 1,
///     title: "Learning rates of three optimizers",
///     base: Mnist(version: 1, runs: [(optimizer: Adam(), learning_rate: 0.001)]),
///     vary: ["optimizer=Adam, Signum, FOCUS", "learning_rate=1e-4..1e-2:5:log"],
///     seeds: 3,
/// )
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Fields")]
pub struct GridPreset {
    pub version: FormatVersion,
    /// The title in menus, one line.
    pub title: String,
    /// One sentence about the experiment.
    pub description: String,
    /// The trainings whose settings vary.
    pub base: Box<Preset>,
    pub vary: Vec<Variation>,
    /// The number of seeds of each combination, from the base's own seed on.
    pub seeds: Replicates,
}

/// A setting with its values, written as `learning_rate=1e-4..1e-2:5:log` or `optimizer=Adam, Signum(beta1: 0.8)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Variation {
    /// The setting's path, as for [`Preset::with`].
    pub setting: String,
    /// The text of the values: a list with commas, or `FROM..TO:COUNT` with `:log` for equal quotients.
    pub text: String,
    pub values: Vec<String>,
}

impl GridPreset {
    /// The largest number of trainings.
    pub const MOST: usize = 20_000;

    /// Makes a grid of a preset's trainings, with its title, in which nothing varies yet; a grid stays as it is.
    pub fn of(preset: Preset) -> GridPreset {
        if let Preset::Grid(grid) = preset {
            return grid;
        }
        let [title, description] = preset.words().map(str::to_owned);
        let (base, vary, seeds) = (Box::new(preset), Vec::new(), Replicates::of::<1>());
        GridPreset { version: FormatVersion, title, description, base, vary, seeds }
    }

    /// Checks that each combination can be trained, and returns the first that cannot.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        let Some(workload) = self.base.workload().filter(|_| !matches!(*self.base, Preset::Grid(_))) else {
            let kinds = Preset::WORKLOADS.join(" or ");
            return broken("base", format!("must be a training of the kind {kinds}, found `{}`", self.base.kind()));
        };
        workload.check().map_err(|error| error.at("base"))?;
        for (index, variation) in self.vary.iter().enumerate() {
            if self.vary[..index].iter().any(|other| other.setting == variation.setting) {
                return broken(format!("vary[{index}]"), format!("varies `{}` a second time", variation.setting));
            }
        }
        let count = self.count();
        if count > Self::MOST {
            return broken("vary", format!("makes {count} trainings, more than the {} that are possible", Self::MOST));
        }
        // Thousands of combinations take seconds; each value is tried with the first ones of the other settings.
        let first = |it: &Variation| Variation { values: it.values[..1].to_vec(), ..it.clone() };
        for index in 0..self.vary.len() {
            let own = |(at, it): (usize, &Variation)| if at == index { it.clone() } else { first(it) };
            let vary = self.vary.iter().enumerate().map(own).collect();
            GridPreset { vary, seeds: Replicates::of::<1>(), ..self.clone() }.combinations()?;
        }
        Ok(())
    }

    /// Returns the number of trainings.
    pub fn count(&self) -> usize {
        let numbers = self.vary.iter().map(|variation| variation.values.len()).chain([self.seeds.get()]);
        let runs = self.base.workload().map_or(0, |workload| workload.places().len());
        numbers.fold(runs, usize::saturating_mul)
    }

    /// Returns the trainings: the first variation changes slowest, and the seed fastest.
    ///
    /// # Errors
    ///
    /// Returns the first combination that cannot be trained.
    pub fn combinations(&self) -> Result<Vec<Preset>, SpecError> {
        let mut all = self.base.trainings();
        for training in &mut all {
            let [title, description] = training.words_mut();
            (*title, *description) = (self.title.clone(), self.description.clone());
        }
        for (index, variation) in self.vary.iter().enumerate() {
            let mut varied = Vec::with_capacity(all.len() * variation.values.len());
            for (training, value) in all.iter().flat_map(|it| variation.values.iter().map(move |value| (it, value))) {
                let set = with_value(training, &variation.setting, value);
                varied.push(set.map_err(|why| SpecError::new(format!("vary[{index}]"), format!("cannot be: {why}")))?);
            }
            all = varied;
        }
        let mut seeded = Vec::with_capacity(all.len() * self.seeds.get());
        let mut known = HashSet::new();
        for training in all {
            check_preset(&training).map_err(|error| SpecError::new("vary", format!("cannot be: {error}")))?;
            for number in 0..self.seeds.get() as u64 {
                let mut training = training.clone();
                let runs = training.workload_mut().map_or_else(Vec::new, |workload| workload.runs_mut());
                runs.into_iter().for_each(|run| *run.seed = run.seed.wrapping_add(number));
                if !known.insert(computation(&training)) {
                    let same = training.training().map_or_else(String::new, |it| it.summary());
                    return broken("vary", format!("makes the same training twice: {same}; leave one of them out"));
                }
                seeded.push(training);
            }
        }
        Ok(seeded)
    }
}

/// Sets a field of a training. The name, which may state another value, is left out.
fn with_value(training: &Preset, setting: &str, value: &str) -> Result<Preset, String> {
    let mut changed = training.clone();
    let workload = changed.workload_mut().expect("a grid's base is a training");
    workload.runs_mut().into_iter().for_each(|run| *run.name = None);
    // Thousands of trainings take milliseconds this way, and seconds by way of text.
    let entered = match (workload.value(0, setting), value.parse()) {
        (Some(Value::Number(field)), Ok(number)) => Some(field.enter(number)),
        _ => None,
    };
    match entered {
        Some(entered) => entered.map(|()| changed).map_err(|error| format!("{setting}={value}: {error}")),
        None => changed.with(setting, value).map_err(|error| error.to_string()),
    }
}

impl FromStr for Variation {
    type Err = String;

    fn from_str(text: &str) -> Result<Variation, String> {
        let expected = || {
            format!("expected SETTING=VALUE,VALUE,… or SETTING=FROM..TO:COUNT[:log], such as {EXAMPLE}, found {text}")
        };
        let (setting, text) =
            text.split_once('=').map(|(setting, text)| (setting.trim(), text.trim())).ok_or_else(expected)?;
        let values = match range(text) {
            Some(values) => values?,
            None => elements(text),
        };
        if setting.is_empty() || values.iter().any(String::is_empty) {
            return Err(expected());
        }
        for (index, value) in values.iter().enumerate() {
            if values[..index].contains(value) {
                return Err(format!("`{setting}` takes the value {value} twice"));
            }
        }
        Ok(Variation { setting: full_name(setting).to_owned(), text: text.to_owned(), values })
    }
}

const EXAMPLE: &str = "learning_rate=1e-4..1e-2:5:log or optimizer=Adam,Signum";
/// The largest number of values of a setting.
const MOST_VALUES: usize = 1000;

/// Reads `FROM..TO:COUNT`, with `:log` for equal quotients; none for another text. Whole ends have whole numbers
/// between.
fn range(text: &str) -> Option<Result<Vec<String>, String>> {
    let (from, rest) = text.split_once("..")?;
    let mut parts = rest.split(':').map(str::trim);
    let (from, to): (f64, f64) = (from.trim().parse().ok()?, parts.next()?.parse().ok()?);
    let count = parts.next().and_then(|count| count.parse().ok()).filter(|count| (2..=MOST_VALUES).contains(count));
    let spacing = match parts.next() {
        None | Some("linear") => Some(Spacing::Linear),
        Some("log") if from > 0.0 && to > 0.0 => Some(Spacing::Log),
        Some(_) => None,
    };
    let (Some(count), Some(spacing), true) = (count, spacing, from < to && parts.next().is_none()) else {
        return Some(Err(format!(
            "expected values such as 0.001, 0.01, or a range such as 0.0001..0.01:5:log, which rises, has 2 to \
             {MOST_VALUES} values, and with :log positive ends; found {text}"
        )));
    };
    let is_whole = [from, to].iter().all(|end| end.fract() == 0.0) && to - from >= (count - 1) as f64;
    let values = (0..count).map(|index| spacing.value([from, to], index as f64 / (count - 1) as f64));
    // Four digits are enough, and rounded numbers are easy to read.
    let rounded = |value: f64| if is_whole { value.round() } else { format!("{value:.3e}").parse().unwrap_or(value) };
    Some(Ok(values.map(|value| rounded(value).to_string()).collect()))
}

/// Splits a list at the commas outside of brackets and quotation marks.
fn elements(text: &str) -> Vec<String> {
    let (mut depth, mut is_text, mut start, mut parts) = (0_i32, false, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '"' => is_text = !is_text,
            '(' | '[' if !is_text => depth += 1,
            ')' | ']' if !is_text => depth -= 1,
            ',' if !is_text && depth == 0 => {
                parts.push(text[start..at].trim().to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim().to_owned());
    parts
}

impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.setting, self.text)
    }
}

impl From<Variation> for String {
    fn from(variation: Variation) -> String {
        variation.to_string()
    }
}

impl TryFrom<String> for Variation {
    type Error = String;

    fn try_from(text: String) -> Result<Variation, String> {
        text.parse()
    }
}

/// The fields of a file: those of a grid, or the scan of a `MnistScan` that an older version wrote.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    version: FormatVersion,
    title: String,
    #[serde(default)]
    description: String,
    base: Option<Box<Preset>>,
    #[serde(default)]
    vary: Vec<Variation>,
    #[serde(default = "Replicates::of::<1>")]
    seeds: Replicates,
    scan: Option<Scan>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scan {
    optimizers: Vec<Scanned>,
    batch_sizes: Vec<BatchSize>,
    #[serde(default = "learning_rates")]
    learning_rates: LearningRates,
    #[serde(default = "Replicates::of::<3>")]
    replicates: Replicates,
    #[serde(default = "TrainingSteps::of::<400>")]
    steps: TrainingSteps,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    data: DataChoice,
    #[serde(default)]
    device: DeviceChoice,
    #[serde(default)]
    precision: FloatType,
    #[serde(default, rename = "part")]
    _part: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scanned {
    #[serde(default, rename = "name")]
    _name: Option<String>,
    #[serde(default, rename = "color")]
    _color: Option<[u8; 3]>,
    #[serde(deserialize_with = "RuleSpec::deserialize_in_training")]
    rule: RuleSpec,
}

fn learning_rates() -> LearningRates {
    LearningRates { from: LearningRate::clamped(1e-4), to: LearningRate::clamped(1.0), count: PointCount::clamped(20) }
}

impl TryFrom<Fields> for GridPreset {
    type Error = String;

    fn try_from(fields: Fields) -> Result<GridPreset, String> {
        let Fields { version, title, description, base, vary, seeds, scan } = fields;
        match (base, scan) {
            (Some(base), None) => Ok(GridPreset { version, title, description, base, vary, seeds }),
            (None, Some(scan)) if vary.is_empty() => scan.into_grid(version, title, description),
            (None, None) => Err("expected the field `base`, the training whose settings vary".to_owned()),
            _ => Err("expected either `base` and `vary`, or the `scan` of an older version".to_owned()),
        }
    }
}

impl Scan {
    fn into_grid(self, version: FormatVersion, title: String, description: String) -> Result<GridPreset, String> {
        let (Some(first), Some(&batch_size)) = (self.optimizers.first(), self.batch_sizes.first()) else {
            return Err("expected a scan with optimizers and batch sizes".to_owned());
        };
        let rules = self.optimizers.iter().map(|it| super::read::format().to_string(&it.rule));
        let rules = rules.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let sizes: Vec<String> = self.batch_sizes.iter().map(|size| size.get().to_string()).collect();
        let LearningRates { from, to, count } = self.learning_rates;
        let rates = if count.get() > 1 {
            format!("{}..{}:{}:log", from.get(), to.get(), count.get())
        } else {
            from.get().to_string()
        };
        let vary = [("optimizer", rules.join(", ")), ("batch_size", sizes.join(", ")), ("learning_rate", rates)];
        let vary = vary.into_iter().map(|(setting, values)| format!("{setting}={values}").parse());
        let run = MnistSpec {
            name: None,
            optimizer: first.rule,
            learning_rate: from,
            batch_size,
            steps: self.steps,
            seed: self.seed,
            log_every: LoggingInterval::clamped(self.steps.get() as u64),
            eval_every: EvaluationInterval::clamped(self.steps.get() as u64),
            checkpoint_every: CheckpointInterval::clamped(0),
            keep_every: None,
            measure_every: MeasureInterval::clamped(0),
            not_finite: NotFinite::GoOn,
            data: self.data,
            device: self.device,
            processes: Processes::of::<1>(),
            shard_optimizer: false,
            precision: self.precision,
        };
        let base = MnistPreset { version, title: title.clone(), description: description.clone(), runs: vec![run] };
        let (vary, base) = (vary.collect::<Result<_, String>>()?, Box::new(Preset::Mnist(base)));
        Ok(GridPreset { version, title, description, base, vary, seeds: self.replicates })
    }
}
