//! The sliders of the controls panel by their settings, for presentations.

use std::borrow::Cow;

use egui::Ui;
use serde::{Deserialize, Serialize};
use valleyscope_engine::parameter::{LEARNING_RATE, Parameter, TEMPERATURE};
use valleyscope_engine::quantity::{LearningRate, Temperature};
use valleyscope_engine::simulation::SimulationSpec;

use super::parameter::{Adjustable as _, HyperparameterValue, Look};
use super::{optimizers, simulation};

/// The setting of a slider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::app) enum SliderId {
    Landscape(Cow<'static, str>),
    Noise(Cow<'static, str>),
    Particles,
    StartX,
    StartY,
    StartSpread,
    Temperature,
    /// The learning rate of the optimizer with this id.
    LearningRate(u32),
    Hyperparameter(u32, Cow<'static, str>),
}

impl SliderId {
    /// Returns the slider of the first parameter of the noise.
    pub(in crate::app) fn of_noise(spec: &SimulationSpec) -> Option<SliderId> {
        spec.noise.parameters().next().map(|(of, _)| SliderId::Noise(of.parameter.key.into()))
    }

    /// Returns whether the simulation has the setting.
    pub(in crate::app) fn is_in(&self, spec: &SimulationSpec) -> bool {
        let rule = |id: u32| spec.optimizers.iter().find(|other| other.id == id).map(|other| other.rule.rule);
        match self {
            SliderId::Landscape(key) => spec.landscape.get(key).is_some(),
            SliderId::Noise(key) => spec.noise.get(key).is_some(),
            SliderId::Temperature => spec.temperature.is_some(),
            SliderId::LearningRate(id) => rule(*id).is_some(),
            SliderId::Hyperparameter(id, key) => {
                rule(*id).is_some_and(|rule| rule.hyperparameters().any(|(of, _)| of.key == key && of.is_axis()))
            }
            SliderId::Particles | SliderId::StartX | SliderId::StartY | SliderId::StartSpread => true,
        }
    }

    /// Returns the sliders of a simulation whose settings act at once.
    pub(in crate::app) fn live_ones(spec: &SimulationSpec) -> Vec<SliderId> {
        let landscape = spec.landscape.parameters().map(|(of, _)| SliderId::Landscape(of.key().into()));
        let noise = spec.noise.parameters().map(|(of, _)| SliderId::Noise(of.parameter.key.into()));
        let temperature = spec.temperature.map(|_| SliderId::Temperature);
        let optimizers = spec.optimizers.iter().filter(|optimizer| optimizer.enabled).flat_map(|optimizer| {
            let id = optimizer.id;
            let others = optimizer.rule.rule.hyperparameters();
            let others = others.filter(|(of, _)| of.is_axis() && !of.is_for_vectors);
            let others = others.map(move |(of, _)| SliderId::Hyperparameter(id, of.key.into()));
            std::iter::once(SliderId::LearningRate(id)).chain(others)
        });
        landscape.chain(noise).chain(temperature).chain(optimizers).collect()
    }

    /// Returns whether a changed value acts at once; otherwise it restarts the run.
    pub(in crate::app) fn is_live(&self) -> bool {
        !matches!(self, SliderId::Particles | SliderId::StartX | SliderId::StartY | SliderId::StartSpread)
    }

    /// Returns the parameter of a live slider, its value, and the name of its owner, which is empty for the simulation.
    pub(in crate::app) fn setting(&self, spec: &SimulationSpec) -> Option<(Parameter, f64, String)> {
        let of_all = |parameter: Parameter, value: f64| Some((parameter, value, String::new()));
        match self {
            SliderId::Landscape(key) => {
                let (of, value) = spec.landscape.parameters().find(|(of, _)| of.key() == key)?;
                of_all(of.parameter, value)
            }
            SliderId::Noise(key) => {
                let (of, value) = spec.noise.parameters().find(|(of, _)| of.parameter.key == key)?;
                of_all(of.parameter, value)
            }
            SliderId::Temperature => of_all(TEMPERATURE, spec.temperature?.get()),
            SliderId::LearningRate(id) | SliderId::Hyperparameter(id, _) => {
                let index = spec.optimizers.iter().position(|optimizer| optimizer.id == *id)?;
                let (rated, owner) = (&spec.optimizers[index].rule, spec.distinct_names().swap_remove(index));
                let SliderId::Hyperparameter(_, key) = self else {
                    return Some((LEARNING_RATE, rated.learning_rate.get(), owner));
                };
                let (of, value) = rated.rule.hyperparameters().find(|(of, _)| of.key == key)?;
                Some((of.parameter(), value, owner))
            }
            SliderId::Particles | SliderId::StartX | SliderId::StartY | SliderId::StartSpread => None,
        }
    }

    /// Sets the value of a live slider, or the nearest valid one.
    pub(in crate::app) fn set(&self, spec: &mut SimulationSpec, value: f64) {
        const IN_RANGE: &str = "the nearest valid value is in the range";
        match self {
            SliderId::Landscape(key) => {
                if let Some((of, _)) = spec.landscape.parameters().find(|(of, _)| of.key() == key) {
                    spec.landscape.set(of.key(), of.nearest(value)).expect(IN_RANGE);
                }
            }
            SliderId::Noise(key) => {
                let parameter = spec.noise.parameters().enumerate().find(|(_, (of, _))| of.parameter.key == key);
                if let Some((index, (of, _))) = parameter {
                    spec.noise.set(index, of.nearest(value)).expect(IN_RANGE);
                }
            }
            SliderId::Temperature => spec.temperature = spec.temperature.map(|_| Temperature::clamped(value)),
            SliderId::LearningRate(id) | SliderId::Hyperparameter(id, _) => {
                let Some(optimizer) = spec.optimizers.iter_mut().find(|optimizer| optimizer.id == *id) else { return };
                let SliderId::Hyperparameter(_, key) = self else {
                    optimizer.rule.learning_rate = LearningRate::clamped(value);
                    return;
                };
                let rule = &mut optimizer.rule.rule;
                if let Some((of, _)) = rule.hyperparameters().find(|(of, _)| of.key == key) {
                    let value = HyperparameterValue { of, value }.nearest(value).value;
                    rule.set(of.key, if of.is_whole() { value.round() } else { value }).expect(IN_RANGE);
                }
            }
            SliderId::Particles | SliderId::StartX | SliderId::StartY | SliderId::StartSpread => {}
        }
    }

    /// Shows the slider with its owner's name.
    pub(in crate::app) fn show(&self, ui: &mut Ui, spec: &mut SimulationSpec) {
        let look = Look::Named(self.clone());
        match self {
            SliderId::Landscape(key) => {
                if let Some((of, value)) = spec.landscape.parameters().find(|(of, _)| of.key() == key) {
                    simulation::landscape_parameter(ui, &mut spec.landscape, of, value, look);
                }
            }
            SliderId::Noise(key) => {
                let parameter = spec.noise.parameters().enumerate().find(|(_, (of, _))| of.parameter.key == key);
                if let Some((index, (of, value))) = parameter {
                    simulation::noise_parameter(ui, &mut spec.noise, index, of, value, look);
                }
            }
            SliderId::Particles => simulation::particles(ui, spec, look),
            SliderId::StartX => simulation::start_x(ui, spec, look),
            SliderId::StartY => simulation::start_y(ui, spec, look),
            SliderId::StartSpread => simulation::start_spread(ui, spec, look),
            SliderId::Temperature => simulation::temperature(ui, spec, look),
            SliderId::LearningRate(id) | SliderId::Hyperparameter(id, _) => {
                let names = spec.distinct_names();
                let mut optimizers = spec.optimizers.iter_mut().zip(names);
                let Some((optimizer, name)) = optimizers.find(|(other, _)| other.id == *id) else { return };
                let SliderId::Hyperparameter(_, key) = self else {
                    return optimizers::learning_rate(ui, &name, &mut optimizer.rule, look);
                };
                let rule = &mut optimizer.rule.rule;
                if let Some((of, value)) = rule.hyperparameters().find(|(of, _)| of.key == key) {
                    optimizers::hyperparameter(ui, &name, rule, of, value, look);
                }
            }
        }
    }
}

/// The sliders that a presentation shows, whatever its lesson's step sets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::app) struct Pins(Vec<SliderId>);

impl Pins {
    /// The largest number of sliders in a presentation.
    pub(in crate::app) const MOST: usize = 3;

    pub(super) fn has(&self, slider: &SliderId) -> bool {
        self.0.contains(slider)
    }

    /// Pins a slider or unpins it. The oldest pin gives way to one more than fit.
    pub(super) fn toggle(&mut self, slider: SliderId) {
        if self.has(&slider) {
            self.0.retain(|other| *other != slider);
        } else {
            self.0.push(slider);
            self.0.drain(..self.0.len().saturating_sub(Pins::MOST));
        }
    }

    /// Returns the sliders of a presentation: those of the lesson, then the pinned ones, as far as the simulation has
    /// them; without any, that of the noise.
    pub(in crate::app) fn sliders(&self, of_lesson: Vec<SliderId>, spec: &SimulationSpec) -> Vec<SliderId> {
        let mut shown: Vec<SliderId> = Vec::new();
        for slider in of_lesson.into_iter().chain(self.0.iter().cloned()) {
            if slider.is_in(spec) && !shown.contains(&slider) {
                shown.push(slider);
            }
        }
        if shown.is_empty() {
            shown.extend(SliderId::of_noise(spec));
        }
        shown.truncate(Pins::MOST);
        shown
    }
}
