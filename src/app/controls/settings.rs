//! The mapping from settings to their controls.

use valleyscope_engine::parameter;
use valleyscope_engine::simulation::{Setting, SimulationSpec};

use super::landscape_choice::LANDSCAPE;
use super::schedule;
use super::simulation::NOISE;
use super::slider::SliderId;

/// A control that a setting sets.
struct SetControl {
    name: String,
    /// The control's slider; `None` for a choice.
    slider: Option<SliderId>,
    /// Whether the value changes.
    is_changed: bool,
}

/// Returns the names of the controls that `settings` set to different values in two simulations; if nothing differs, of
/// all that they set.
pub(crate) fn controls_set_by(settings: &[Setting], before: &SimulationSpec, after: &SimulationSpec) -> Vec<String> {
    set_by(settings, before, after).map(|control| control.name).collect()
}

/// Returns the sliders among those controls. Those of a number that is set for most optimizers are first.
pub(crate) fn sliders_set_by(settings: &[Setting], before: &SimulationSpec, after: &SimulationSpec) -> Vec<SliderId> {
    let sliders: Vec<SliderId> = set_by(settings, before, after).filter_map(|control| control.slider).collect();
    let count = |slider: &SliderId| match slider {
        SliderId::Hyperparameter(_, key) => {
            let is_same = |other: &&SliderId| matches!(other, SliderId::Hyperparameter(_, of) if of == key);
            sliders.iter().filter(is_same).count()
        }
        _ => 1,
    };
    let mut sorted = sliders.clone();
    sorted.sort_by_key(|slider| std::cmp::Reverse(count(slider)));
    sorted
}

fn set_by(
    settings: &[Setting],
    before: &SimulationSpec,
    after: &SimulationSpec,
) -> impl Iterator<Item = SetControl> + use<> {
    let set: Vec<SetControl> = settings.iter().flat_map(|setting| controls_of(setting, before, after)).collect();
    let any_changed = set.iter().any(|control| control.is_changed);
    set.into_iter().filter(move |control| control.is_changed || !any_changed)
}

fn controls_of(setting: &Setting, before: &SimulationSpec, after: &SimulationSpec) -> Vec<SetControl> {
    let (old, new) = (&before.landscape, &after.landscape);
    let control = |name: &str, slider, is_changed| SetControl { name: name.to_owned(), slider, is_changed };
    match setting {
        Setting::Noise(_) => {
            let (old, new) = (&before.noise, &after.noise);
            let kind = control(NOISE, None, old.kind() != new.kind());
            let parameters = new.parameters().map(|(of, value)| {
                let of = &of.parameter;
                let is_changed = old.get(of.key).is_some_and(|old| old != value);
                control(of.label, Some(SliderId::Noise(of.key.into())), is_changed)
            });
            std::iter::once(kind).chain(parameters).collect()
        }
        Setting::Temperature(_) => {
            let is_changed = before.temperature != after.temperature;
            vec![control(parameter::TEMPERATURE.label, Some(SliderId::Temperature), is_changed)]
        }
        Setting::Landscape(_) => {
            let kind = control(LANDSCAPE, None, old.kind() != new.kind());
            let parameters = new.parameters().map(|(of, value)| {
                let is_changed = old.get(of.key()).is_some_and(|old| old != value);
                control(of.parameter.label, Some(SliderId::Landscape(of.key().into())), is_changed)
            });
            std::iter::once(kind).chain(parameters).collect()
        }
        Setting::Steps(_) => Vec::new(),
        Setting::Rule { optimizer, .. } => {
            let rule_in =
                |spec: &SimulationSpec| spec.optimizers.iter().find(|other| other.id == *optimizer).map(|o| o.rule);
            let index = after.optimizers.iter().position(|other| other.id == *optimizer);
            let (Some(index), Some(old), Some(new)) = (index, rule_in(before), rule_in(after)) else {
                return Vec::new();
            };
            let owner = &after.distinct_names()[index];
            let named = |label: &str, slider, is_changed| control(&format!("{owner}: {label}"), slider, is_changed);
            let rate = SliderId::LearningRate(*optimizer);
            let rate = named(parameter::LEARNING_RATE.label, Some(rate), old.learning_rate != new.learning_rate);
            let schedule = named(schedule::LABEL, None, old.schedule != new.schedule);
            let others = old.rule.hyperparameters().zip(new.rule.hyperparameters()).map(|((of, old), (_, new))| {
                let slider = of.is_axis().then(|| SliderId::Hyperparameter(*optimizer, of.key.into()));
                named(of.label, slider, old != new)
            });
            [rate, schedule].into_iter().chain(others).collect()
        }
    }
}
