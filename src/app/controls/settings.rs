//! The mapping from settings to their controls.

use valleyscope_engine::parameter;
use valleyscope_engine::simulation::{Setting, SimulationSpec};

use super::landscape_choice::LANDSCAPE;
use super::schedule;
use super::simulation::NOISE;

/// Returns the names of the controls that `settings` set to different values in two simulations; if nothing differs, of
/// all that they set.
pub(crate) fn controls_set_by(settings: &[Setting], before: &SimulationSpec, after: &SimulationSpec) -> Vec<String> {
    let set: Vec<(String, bool)> = settings.iter().flat_map(|setting| controls_of(setting, before, after)).collect();
    let any_changed = set.iter().any(|(_, changed)| *changed);
    set.into_iter().filter(|(_, changed)| *changed || !any_changed).map(|(name, _)| name).collect()
}

/// Returns the names of the controls that a setting sets, and whether their value changes.
fn controls_of(setting: &Setting, before: &SimulationSpec, after: &SimulationSpec) -> Vec<(String, bool)> {
    let (old, new) = (&before.landscape, &after.landscape);
    match setting {
        Setting::Noise(_) => {
            let (old, new) = (&before.noise, &after.noise);
            let kind = (NOISE.to_owned(), old.kind() != new.kind());
            let parameters = new.parameters().map(|(of, value)| {
                (of.parameter.label.to_owned(), old.get(of.parameter.key).is_some_and(|old| old != value))
            });
            std::iter::once(kind).chain(parameters).collect()
        }
        Setting::Temperature(_) => {
            vec![(parameter::TEMPERATURE.label.to_owned(), before.temperature != after.temperature)]
        }
        Setting::Landscape(_) => {
            let kind = (LANDSCAPE.to_owned(), old.kind() != new.kind());
            let parameters = new
                .parameters()
                .map(|(of, value)| (of.parameter.label.to_owned(), old.get(of.key()).is_some_and(|old| old != value)));
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
            let rate = (parameter::LEARNING_RATE.label, old.learning_rate != new.learning_rate);
            let schedule = (schedule::LABEL, old.schedule != new.schedule);
            let others = old.rule.hyperparameters().zip(new.rule.hyperparameters());
            let others = others.map(|((of, old), (_, new))| (of.label, old != new));
            let named = |(label, changed)| (format!("{owner}: {label}"), changed);
            [rate, schedule].into_iter().chain(others).map(named).collect()
        }
    }
}
