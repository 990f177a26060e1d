//! The specification of a simulation: the landscape, the noise, the ensembles and their optimizers.

use serde::{Deserialize, Serialize};

use crate::landscape::LandscapeSpec;
use crate::noise::NoiseSpec;
use crate::optimizer::RatedRule;
use crate::quantity::{ParticleCount, StartCoordinate, StartSpread, Temperature};

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
    /// The colour as red, green, blue; without it, the rule's colour, or another if that is too much like those of other
    /// optimizers.
    #[serde(default)]
    pub color: Option<[u8; 3]>,
    /// Whether the optimizer is simulated; a disabled one is kept.
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
