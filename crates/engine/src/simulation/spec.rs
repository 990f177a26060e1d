//! The specification of a simulation: the landscape, the noise, the ensembles and their optimizers.

use serde::{Deserialize, Serialize};

use crate::landscape::LandscapeSpec;
use crate::noise::NoiseSpec;
use crate::optimizer::{External, RatedRule, Rule, RuleKind, RuleSpec, ShownSetting, differing, with_settings};
use crate::quantity::{
    LearningRate, Number as _, OutOfRange, ParticleCount, StartCoordinate, StartSpread, Temperature, number_text,
};
use crate::setting::{
    LEARNING_RATE, NOISE, PARTICLES, START_SPREAD, START_X, START_Y, SettingPath, SettingValue, TEMPERATURE, unknown,
};
use crate::spec_error::{SpecError, broken};

/// A whole simulation: everything needed to repeat it from its first step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulationSpec {
    #[serde(default)]
    pub landscape: LandscapeSpec,
    /// The noise of gradients.
    pub noise: NoiseSpec,
    #[serde(default)]
    pub seed: u64,
    /// The step at which the simulation pauses; without it, the simulation continues.
    #[serde(default)]
    pub steps: Option<u64>,
    #[serde(default = "defaults::particles")]
    pub particles: ParticleCount,
    #[serde(default)]
    pub start: StartSpec,
    /// The temperature Θ of the free energy; without it, each optimizer's learning rate.
    #[serde(default)]
    pub temperature: Option<Temperature>,
    /// The optimizers, 1 to [`SimulationSpec::MAX_OPTIMIZERS`], each with an id of its own.
    pub optimizers: Vec<OptimizerSpec>,
}

impl SimulationSpec {
    /// The largest number of optimizers.
    pub const MAX_OPTIMIZERS: usize = 16;

    /// Returns the first enabled optimizer whose steps only the caller can take, as a fault.
    pub fn check_computable(&self) -> Result<(), SpecError> {
        let is_external = |of: &OptimizerSpec| of.enabled && of.rule.rule.kind() == RuleKind::External;
        match self.optimizers.iter().position(is_external) {
            Some(index) => {
                let name = self.optimizers[index].name.as_deref().unwrap_or(External::INFO.name);
                broken(format!("optimizers[{index}].rule"), External::refusal(name))
            }
            None => Ok(()),
        }
    }
}

/// The start of the particles: Normal(position, spread), independently in each coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StartSpec {
    pub x: StartCoordinate,
    pub y: StartCoordinate,
    pub spread: StartSpread,
}

impl Default for StartSpec {
    /// Returns the paper's start: Normal(0, 1e-4).
    fn default() -> Self {
        StartSpec {
            x: StartCoordinate::clamped(0.0),
            y: StartCoordinate::clamped(0.0),
            spread: StartSpread::clamped(1e-4),
        }
    }
}

/// A configured optimizer, with its ensemble of particles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimizerSpec {
    /// The id, part of the key of the ensemble's random streams; unique within a simulation, and never changed.
    pub id: u32,
    /// The name in the legend; without it, the rule's name.
    #[serde(default)]
    pub name: Option<String>,
    /// The colour as red, green, blue; without it, the rule's colour, or another if that is too much like those of
    /// other optimizers.
    #[serde(default)]
    pub color: Option<[u8; 3]>,
    /// Whether the optimizer is simulated; a disabled one stays in the list.
    #[serde(default = "enabled_by_default")]
    pub enabled: bool,
    pub rule: RatedRule,
}

fn enabled_by_default() -> bool {
    true
}

impl OptimizerSpec {
    /// The largest number of characters in a name.
    pub const LONGEST_NAME: usize = 60;

    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.rule.schedule.named(self.rule.name()))
    }
}

/// Default values, in a preset and in the window: the paper's toy model.
pub mod defaults {
    use crate::quantity::{LearningRate, ParticleCount};

    pub fn particles() -> ParticleCount {
        ParticleCount::new(100).expect("within the range")
    }

    /// Returns the learning rate of an optimizer added in the window; a preset must give it.
    pub fn learning_rate() -> LearningRate {
        LearningRate::clamped(0.01)
    }
}

/// A change that acts on a running simulation in its next step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Setting {
    Landscape(LandscapeSpec),
    Noise(NoiseSpec),
    Rule {
        optimizer: u32,
        rule: RatedRule,
    },
    Temperature(Option<Temperature>),
    /// The step at which to pause.
    Steps(Option<u64>),
}

impl Setting {
    /// Returns whether both change the same setting.
    pub(crate) fn same_target(&self, other: &Setting) -> bool {
        match (self, other) {
            (Setting::Rule { optimizer: a, .. }, Setting::Rule { optimizer: b, .. }) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// Returns whether this change has no effect if `later` changes the same setting before the next step.
    pub(crate) fn is_undone_by(&self, later: &Setting) -> bool {
        match (self, later) {
            (Setting::Rule { rule: a, .. }, Setting::Rule { rule: b, .. }) => a.rule.kind() == b.rule.kind(),
            _ => true,
        }
    }
}

/// A setting, and the number of steps taken before it was made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub step: u64,
    pub set: Setting,
}

impl Change {
    /// Returns whether the change is one of these, which are in the order of their steps.
    pub fn is_among(&self, changes: &[Change]) -> bool {
        let same_step = &changes[changes.partition_point(|other| other.step < self.step)..];
        same_step.iter().take_while(|other| other.step == self.step).any(|other| other == self)
    }
}

/// A session that can be repeated exactly: its initial specification, and its changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub spec: SimulationSpec,
    /// The changes in the order of their steps.
    pub changes: Vec<Change>,
}

impl SimulationSpec {
    /// Applies `setting`. Fails without a change for a rule of an unknown optimizer, or of another kind than its own.
    pub fn apply(&mut self, setting: &Setting) -> Result<(), SettingError> {
        match *setting {
            Setting::Landscape(landscape) => self.landscape = landscape,
            Setting::Noise(noise) => self.noise = noise,
            Setting::Temperature(temperature) => self.temperature = temperature,
            Setting::Steps(steps) => self.steps = steps,
            Setting::Rule { optimizer, rule } => {
                let spec = self
                    .optimizers
                    .iter_mut()
                    .find(|spec| spec.id == optimizer)
                    .ok_or(SettingError::UnknownOptimizer(optimizer))?;
                if !spec.rule.rule.kind().may_become(rule.rule.kind()) {
                    return Err(SettingError::OtherRule { id: optimizer, has: spec.rule.name(), found: rule.name() });
                }
                spec.rule = rule;
            }
        }
        Ok(())
    }

    /// Returns the settings that lead from this simulation to `target` while it runs, or `None` if that needs a fresh
    /// start: another seed, start, number of particles or set of optimizers.
    ///
    /// Names and colours are ignored: they can be changed at any time.
    pub fn settings_to(&self, target: &SimulationSpec) -> Option<Vec<Setting>> {
        let same_ensembles = self.optimizers.len() == target.optimizers.len()
            && self.optimizers.iter().zip(&target.optimizers).all(|(from, to)| {
                (from.id, from.enabled) == (to.id, to.enabled) && from.rule.rule.kind().may_become(to.rule.rule.kind())
            });
        let same_start = (self.seed, self.particles, self.start) == (target.seed, target.particles, target.start);
        if !same_ensembles || !same_start {
            return None;
        }
        let mut settings = Vec::new();
        if self.landscape != target.landscape {
            settings.push(Setting::Landscape(target.landscape));
        }
        if self.noise != target.noise {
            settings.push(Setting::Noise(target.noise));
        }
        if self.temperature != target.temperature {
            settings.push(Setting::Temperature(target.temperature));
        }
        if self.steps != target.steps {
            settings.push(Setting::Steps(target.steps));
        }
        for (from, to) in self.optimizers.iter().zip(&target.optimizers) {
            if from.rule != to.rule {
                settings.push(Setting::Rule { optimizer: to.id, rule: to.rule });
            }
        }
        Some(settings)
    }
}

/// The error of a setting that does not fit its simulation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    #[error("there is no optimizer with id {0}")]
    UnknownOptimizer(u32),
    #[error("optimizer {id} is {has} and cannot become {found} while it runs")]
    OtherRule { id: u32, has: &'static str, found: &'static str },
}

impl Record {
    /// Returns the session as it would be without these changes, which are in the order of their steps.
    ///
    /// A change holds a whole landscape, noise or rule, of which only some parameters were new. The remaining changes
    /// set those parameters alone: after "a 10 → 20" and "c 1 → 2", the session without the first has a = 10 and c = 2.
    pub fn without(&self, removed: &[Change]) -> Record {
        let mut before = self.spec.clone();
        let mut spec = self.spec.clone();
        let mut changes = Vec::new();
        for change in &self.changes {
            if !change.is_among(removed) {
                let set = change.set.moved(&before, &spec);
                // Setting a value twice changes nothing.
                if spec.apply(&set).is_ok() {
                    changes.push(Change { step: change.step, set });
                }
            }
            // The change was accepted when it was recorded.
            let _ = before.apply(&change.set);
        }
        Record { spec: self.spec.clone(), changes }
    }
}

impl Setting {
    /// Returns the setting that changes `onto` in the parameters in which this one changes `before`.
    pub fn moved(&self, before: &SimulationSpec, onto: &SimulationSpec) -> Setting {
        match *self {
            Setting::Landscape(to) => Setting::Landscape(to.moved(&before.landscape, onto.landscape).unwrap_or(to)),
            Setting::Noise(to) => Setting::Noise(to.moved(&before.noise, onto.noise).unwrap_or(to)),
            Setting::Rule { optimizer, rule } => {
                let of = |spec: &SimulationSpec| spec.optimizers.iter().find(|it| it.id == optimizer).map(|it| it.rule);
                let moved = of(before).zip(of(onto)).and_then(|(before, onto)| moved_rule(&rule, &before, &onto));
                Setting::Rule { optimizer, rule: moved.unwrap_or(rule) }
            }
            other => other,
        }
    }
}

/// Returns `onto` with what is new in `to` since `before`; `None` if the three are not of one kind.
fn moved_rule(to: &RatedRule, before: &RatedRule, onto: &RatedRule) -> Option<RatedRule> {
    let rule = to.rule.moved(&before.rule, onto.rule)?;
    let learning_rate = if before.learning_rate == to.learning_rate { onto.learning_rate } else { to.learning_rate };
    let schedule = if before.schedule == to.schedule { onto.schedule } else { to.schedule };
    Some(RatedRule { rule, learning_rate, schedule })
}

impl SimulationSpec {
    /// Lists the settings that are numbers or choices with their values, in the order of controls: of the landscape,
    /// the noise, the particles, the plots, and of each optimizer's rule.
    pub fn settings(&self) -> Vec<SettingValue> {
        let StartSpec { x, y, spread } = self.start;
        let usual = self.landscape.start();
        let mut settings: Vec<SettingValue> = self.landscape.settings().chain(self.noise.settings()).collect();
        settings.extend([
            SettingValue::new(PARTICLES.key, &PARTICLES, self.particles.value()),
            SettingValue { default: usual.x.get(), ..SettingValue::new("start.x", &START_X, x.get()) },
            SettingValue { default: usual.y.get(), ..SettingValue::new("start.y", &START_Y, y.get()) },
            SettingValue::new("start.spread", &START_SPREAD, spread.get()),
        ]);
        settings.extend(self.temperature.map(|it| SettingValue::new(TEMPERATURE.key, &TEMPERATURE, it.get())));
        let of_optimizer = |OptimizerSpec { id, rule, .. }: &OptimizerSpec| {
            let id = *id;
            rule.settings().map(move |(info, value)| SettingValue {
                path: SettingPath::of_rule(id, info.key),
                info,
                value,
                default: info.default,
            })
        };
        settings.extend(self.optimizers.iter().flat_map(of_optimizer));
        settings
    }

    /// Finds a setting of [`SimulationSpec::settings`].
    pub fn setting(&self, path: &SettingPath) -> Option<SettingValue> {
        self.settings().into_iter().find(|setting| setting.path == *path)
    }

    /// Sets one of [`SimulationSpec::settings`].
    ///
    /// # Errors
    ///
    /// Fails for a value out of range, and for a setting that the simulation lacks.
    pub fn set(&mut self, SettingPath { optimizer, path }: &SettingPath, value: f64) -> Result<(), OutOfRange> {
        if let Some(id) = optimizer {
            let rule = self.optimizers.iter_mut().find(|it| it.id == *id).map(|it| &mut it.rule);
            return match (rule, path.strip_prefix("rule.")) {
                (Some(rule), Some(key)) => rule.set(key, value),
                _ => Err(unknown(path)),
            };
        }
        match (&**path, path.split_once('.')) {
            (_, Some(("landscape", key))) => self.landscape.set(key, value),
            (_, Some(("noise", key))) => self.noise.set(key, value),
            ("noise", _) => self.noise.set(NOISE.key, value),
            ("particles", _) => self.particles.enter(value),
            ("start.x", _) => self.start.x.enter(value),
            ("start.y", _) => self.start.y.enter(value),
            ("start.spread", _) => self.start.spread.enter(value),
            ("temperature", _) => self.temperature.as_mut().ok_or_else(|| unknown(path))?.enter(value),
            _ => Err(unknown(path)),
        }
    }
}

impl SettingPath {
    /// Returns whether a change of this setting of a simulation begins it again.
    pub fn restarts(&self) -> bool {
        self.optimizer.is_none() && (self.path == PARTICLES.key || self.path.starts_with("start."))
    }
}

impl SimulationSpec {
    /// Returns the name of each optimizer, in their order: its label, followed by a number if an earlier one has the
    /// same, as in "Adam" and "Adam (2)".
    pub fn distinct_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for optimizer in &self.optimizers {
            let label = optimizer.label();
            let is_label = |name: &str| self.optimizers.iter().any(|other| other.label() == name);
            let is_taken = |name: &str| names.iter().any(|other| other == name) || (name != label && is_label(name));
            names.push(distinct_name(label, is_taken));
        }
        names
    }

    /// Returns the names of the optimizers for showing them together, in their order: the distinct names, each with the
    /// settings that differ among the simulated ones. A name given by the user stays unchanged.
    pub fn shown_names(&self) -> Vec<String> {
        let is_named = |optimizer: &OptimizerSpec| {
            let own = optimizer.rule.schedule.named(optimizer.rule.name());
            is_given(optimizer.name.as_deref(), own)
        };
        let settings = |optimizer: &&OptimizerSpec| optimizer.rule.shown_settings();
        let simulated: Vec<&OptimizerSpec> = self.optimizers.iter().filter(|optimizer| optimizer.enabled).collect();
        let words = differing(&simulated.iter().map(settings).collect::<Vec<_>>());
        let named = self.optimizers.iter().zip(self.distinct_names()).map(|(optimizer, name)| {
            let index = simulated.iter().position(|other| other.id == optimizer.id);
            match index.filter(|_| !is_named(optimizer)) {
                Some(index) => with_settings(&name, &words[index]),
                None => name,
            }
        });
        named.collect()
    }

    pub fn name_of(&self, id: u32) -> Option<String> {
        let index = self.optimizers.iter().position(|optimizer| optimizer.id == id)?;
        self.distinct_names().into_iter().nth(index)
    }
}

/// Returns `label`, or if it is taken, the label followed by the first free number from 2 on: "Adam (2)".
pub fn distinct_name(label: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = |number: u32| {
        let number = format!(" ({number})");
        let room = OptimizerSpec::LONGEST_NAME - number.chars().count();
        without_number(label).chars().take(room).chain(number.chars()).collect()
    };
    let candidates = std::iter::once(label.to_owned()).chain((2..).map(numbered));
    candidates.into_iter().find(|name| !is_taken(name)).unwrap_or_else(|| label.to_owned())
}

/// Returns whether the user gave a name: it is not the `made` one, with or without a number.
pub(crate) fn is_given(name: Option<&str>, made: &str) -> bool {
    name.is_some_and(|name| without_number(name) != made)
}

/// Returns whether a name states another rule or another value than the optimizer has, such as `FOCUS, γ 0.1` of one
/// whose γ was changed.
pub fn states_other_settings(name: &str, rule: &RuleSpec, learning_rate: Option<LearningRate>) -> bool {
    let first = name.split([',', '(', ' ']).find(|word| !word.is_empty() && *word != "Cautious");
    if first.and_then(RuleKind::shown_as).is_some_and(|kind| kind != rule.kind()) {
        return true;
    }
    let rate = learning_rate.map(|rate| (LEARNING_RATE.symbol, rate.get()));
    let values = rule.hyperparameters().filter(|(of, _)| of.choices().is_empty()).map(|(of, value)| (of.symbol, value));
    rate.into_iter().chain(values).any(|(symbol, value)| {
        let stated = name.split_once(&format!("{symbol} ")).map(|(_, rest)| rest.trim_start_matches(['=', ' ']));
        let number = stated.and_then(|rest| rest.split([',', ' ', ')', ';']).next());
        let number = number.and_then(|number| number.replace('−', "-").parse::<f64>().ok());
        number.is_some_and(|number| number_text(number) != number_text(value))
    })
}

/// Strips the number, as "Adam" of "Adam (2)".
fn without_number(label: &str) -> &str {
    let before = label.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    match before {
        Some((before, number)) if number.parse::<u32>().is_ok() => before,
        _ => label,
    }
}

/// The largest number of settings in a title.
const MOST_IN_TITLE: usize = 3;

impl SimulationSpec {
    /// Lists the settings that all optimizers share, with texts such as `σ = 1`.
    pub fn shared_settings(&self) -> Vec<ShownSetting> {
        let shown = |it: SettingValue, is_usual: bool| ShownSetting {
            is_usual,
            ..ShownSetting::new(it.path.path, it.info.with(number_text(it.value)))
        };
        let kind = self.landscape.kind();
        // Typed landscapes may differ although their names do not.
        let meaning = kind.formula().map_or_else(|| "landscape".to_owned(), |formula| formula.text().to_owned());
        let noise = format!("{} noise", self.noise.info().name.to_lowercase());
        let steps = self.steps.map_or_else(|| "no end".to_owned(), |steps| format!("{steps} steps"));
        let mut settings = vec![ShownSetting { is_usual: false, ..ShownSetting::new(meaning, kind.name()) }];
        let mut others = Vec::new();
        let mut of_noise = vec![ShownSetting::new("kind of noise", noise)];
        for it in self.settings().into_iter().filter(|it| it.path.optimizer.is_none()) {
            let is_usual = it.value == it.default;
            match &*it.path.path {
                path if path.starts_with("landscape.") => settings.push(shown(it, is_usual)),
                path if path.starts_with(NOISE.key) => of_noise.push(shown(it, false)),
                _ => others.push(shown(it, true)),
            }
        }
        settings.extend(of_noise);
        settings.push(ShownSetting::new("seed", format!("seed {}", self.seed)));
        settings.push(ShownSetting::new("steps", steps));
        settings.extend(others);
        if self.temperature.is_none() {
            settings.push(ShownSetting::new(TEMPERATURE.key, TEMPERATURE.with(LEARNING_RATE.symbol)));
        }
        settings
    }

    /// Lists the settings of the simulated optimizers, each with its optimizer's name, as in `Adam: η 0.01`. A setting
    /// that has the same value in all optimizers that have it is listed once, without a name. Of optimizers that are
    /// not `common` to the compared simulations only values are listed that are no defaults.
    fn settings_of_optimizers(&self, common: &[(u32, &str)]) -> Vec<ShownSetting> {
        let simulated: Vec<&OptimizerSpec> = self.optimizers.iter().filter(|optimizer| optimizer.enabled).collect();
        let each: Vec<Vec<ShownSetting>> = simulated.iter().map(|optimizer| optimizer.rule.shown_settings()).collect();
        let mut listed: Vec<ShownSetting> = Vec::new();
        for (optimizer, settings) in simulated.iter().zip(&each) {
            let is_common = common.contains(&(optimizer.id, optimizer.rule.name()));
            let is_listed = |setting: &&ShownSetting| !setting.text.is_empty() && (is_common || !setting.is_usual);
            for setting in settings.iter().filter(is_listed) {
                let of_others = || each.iter().flatten().filter(|other| other.meaning == setting.meaning);
                let is_shared = of_others().all(|other| other.text == setting.text);
                let (meaning, text) = match is_shared {
                    true => (setting.meaning.clone(), setting.text.clone()),
                    false => (
                        format!("{} of {}", setting.meaning, optimizer.id),
                        format!("{}: {}", optimizer.label(), setting.text),
                    ),
                };
                if !listed.iter().any(|other| other.meaning == meaning) {
                    listed.push(ShownSetting { is_usual: false, ..ShownSetting::new(meaning, text) });
                }
            }
        }
        listed
    }

    fn simulated_rules(&self) -> Vec<(u32, &'static str)> {
        let simulated = self.optimizers.iter().filter(|optimizer| optimizer.enabled);
        simulated.map(|optimizer| (optimizer.id, optimizer.rule.name())).collect()
    }

    /// Returns for each of several simulations the settings in which they differ, with texts such as `σ = 1`.
    /// Simulations of different optimizers are named by these first.
    pub fn differing_settings(all: &[&SimulationSpec]) -> Vec<Vec<String>> {
        let rules: Vec<_> = all.iter().map(|spec| spec.simulated_rules()).collect();
        let has_same_rules = rules.windows(2).all(|pair| pair[0] == pair[1]);
        let mut common = rules.first().cloned().unwrap_or_default();
        common.retain(|rule| rules.iter().all(|others| others.contains(rule)));
        let settings = |spec: &&SimulationSpec| {
            let mut settings = Vec::new();
            if !has_same_rules {
                let simulated = spec.optimizers.iter().filter(|optimizer| optimizer.enabled);
                let labels: Vec<&str> = simulated.map(OptimizerSpec::label).collect();
                settings.push(ShownSetting::new("optimizers", labels.join(", ")));
            }
            settings.extend(spec.shared_settings());
            settings.extend(spec.settings_of_optimizers(&common));
            settings
        };
        differing(&all.iter().map(settings).collect::<Vec<_>>())
    }

    /// Returns short titles of several simulations: the settings in which they differ, as in `σ = 1`; of many settings
    /// the first ones and the number of the others. A title is empty where nothing differs.
    pub fn titles(all: &[&SimulationSpec]) -> Vec<String> {
        let title = |settings: Vec<String>| {
            let shown = if settings.len() > MOST_IN_TITLE + 1 { MOST_IN_TITLE } else { settings.len() };
            let more = (shown < settings.len()).then(|| format!("{} more", settings.len() - shown));
            settings[..shown].iter().cloned().chain(more).collect::<Vec<_>>().join(", ")
        };
        SimulationSpec::differing_settings(all).into_iter().map(title).collect()
    }
}
