//! The caption of an animation's frames.

use crate::app::number;
use crate::app::transport::step_and_noise;
use crate::optimizer::RatedRule;
use crate::simulation::{Record, SimulationSpec, Snapshot};

/// The settings that change in a recorded session, as indices into all its settings. The noise is not among them: a
/// caption always has it.
#[derive(Debug, Default)]
pub(super) struct VariedSettings(Vec<usize>);

impl VariedSettings {
    pub(super) fn of(session: &Record) -> VariedSettings {
        let first = settings_of(&session.spec);
        let mut spec = session.spec.clone();
        let mut is_varied = vec![false; first.len()];
        for change in &session.changes {
            // The session was made with it, so it fits.
            let _ = spec.apply(&change.set);
            for ((varied, before), now) in is_varied.iter_mut().zip(&first).zip(settings_of(&spec)) {
                *varied |= *before != now;
            }
        }
        VariedSettings((0..first.len()).filter(|&index| is_varied[index]).collect())
    }

    /// The step and the noise, and the varied settings with their values in this frame.
    pub(super) fn caption(&self, snapshot: &Snapshot) -> String {
        let settings = settings_of(&snapshot.spec);
        let varied = self.0.iter().filter_map(|&index| settings.get(index).cloned());
        [step_and_noise(snapshot)].into_iter().chain(varied).collect::<Vec<_>>().join(" · ")
    }
}

/// The settings of the landscape and of all rules, each with its value, as in "a = 10" and "FOCUS: γ = 0.2".
fn settings_of(spec: &SimulationSpec) -> Vec<String> {
    let landscape = &spec.landscape;
    let of_landscape = [
        format!("a = {}", number::text(landscape.sharpness.get())),
        format!("c = {}", number::text(landscape.slope.get())),
        format!("φ = {}°", number::text(landscape.rotation_degrees.get())),
    ];
    let rules = spec.distinct_names().into_iter().zip(&spec.optimizers);
    let of_rules = rules.flat_map(|(name, optimizer)| {
        let settings = settings_of_rule(&optimizer.rule).into_iter();
        settings.map(move |setting| format!("{name}: {setting}"))
    });
    of_landscape.into_iter().chain(of_rules).collect()
}

fn settings_of_rule(rated: &RatedRule) -> Vec<String> {
    let value = |key: &str, value: f64| match rated.rule.choice(key) {
        Some(choice) => choice.label.to_owned(),
        None => number::text(value),
    };
    let others = rated.rule.hyperparameters();
    let others = others.map(|(of, number)| format!("{} = {}", of.symbol, value(of.key, number)));
    [format!("η = {}", number::text(rated.learning_rate.get()))].into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::{VariedSettings, settings_of};
    use crate::preset::Preset;

    #[test]
    fn what_a_session_changes_is_in_the_caption_with_its_value_in_the_frame() {
        let text = "Landscape(version: 1, title: \"Changed\", simulation: (noise: 1, optimizers: [\
            (id: 0, rule: Adam(learning_rate: 0.01)), (id: 1, rule: Focus(learning_rate: 0.01, gamma: 0.2))]), \
            changes: [(step: 3, set: Noise(2)), (step: 5, set: Landscape(sharpness: 20)), \
            (step: 7, set: Rule(optimizer: 1, rule: Focus(learning_rate: 0.02, gamma: 0.5)))])";
        let Preset::Landscape(preset) = Preset::parse(text, "test").expect("it is valid") else {
            panic!("a landscape")
        };
        let session = preset.record();
        let VariedSettings(varied) = VariedSettings::of(&session);
        let captions = |spec| -> Vec<String> { varied.iter().map(|&index| settings_of(spec)[index].clone()).collect() };
        assert_eq!(captions(&session.spec), ["a = 10", "FOCUS: η = 0.01", "FOCUS: γ = 0.2"]);
        let mut spec = session.spec.clone();
        for change in &session.changes {
            spec.apply(&change.set).expect("it fits");
        }
        assert_eq!(captions(&spec), ["a = 20", "FOCUS: η = 0.02", "FOCUS: γ = 0.5"]);
    }
}
