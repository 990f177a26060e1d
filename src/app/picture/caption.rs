//! The caption of a picture.

use std::collections::{BTreeMap, BTreeSet};

use valleyscope_engine::simulation::{Record, SimulationSpec};

use crate::app::number;
use crate::setting_marks::settings_of_rule;

/// A setting of an optimizer: the optimizer's id, and the setting's key.
type RuleSetting = (u32, &'static str);

/// The settings of optimizers that change in a recorded session.
#[derive(Debug, Default)]
pub(super) struct VariedSettings(BTreeSet<RuleSetting>);

impl VariedSettings {
    pub(super) fn of(session: &Record) -> VariedSettings {
        let mut spec = session.spec.clone();
        let mut before = settings_of(&spec);
        let mut varied = BTreeSet::new();
        for change in &session.changes {
            // The session was made with it, so it fits.
            let _ = spec.apply(&change.set);
            let now = settings_of(&spec);
            let differing = now.iter().filter(|(setting, words)| before.get(*setting) != Some(*words));
            varied.extend(differing.map(|(setting, _)| *setting));
            before = now;
        }
        VariedSettings(varied)
    }

    /// Formats the settings in force: the noise, the landscape with its parameters, and the varied ones of optimizers.
    pub(super) fn caption(&self, spec: &SimulationSpec) -> String {
        let parameters: Vec<String> =
            spec.landscape.parameters().map(|(of, value)| of.parameter.with(number::text(value))).collect();
        let name = spec.landscape.kind().name();
        let landscape = match parameters.is_empty() {
            true => name.to_owned(),
            false => format!("{name}: {}", parameters.join(", ")),
        };
        let texts = [spec.noise.words(number::text), landscape].into_iter().chain(self.texts(spec));
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" · ")
    }

    /// Returns the values of the varied settings that a specification has, as in "FOCUS: γ = 0.2".
    fn texts(&self, spec: &SimulationSpec) -> Vec<String> {
        let owners = spec.distinct_names().into_iter().zip(&spec.optimizers);
        let of_owner = owners.flat_map(|(name, optimizer)| {
            let settings = settings_of_rule(&optimizer.rule).into_iter();
            let varied = settings.filter(|(key, _)| self.0.contains(&(optimizer.id, key)));
            varied.map(move |(_, words)| format!("{name}: {words}"))
        });
        of_owner.collect()
    }
}

/// Returns the settings of all optimizers in words.
fn settings_of(spec: &SimulationSpec) -> BTreeMap<RuleSetting, String> {
    let of_optimizers = spec.optimizers.iter().flat_map(|optimizer| {
        settings_of_rule(&optimizer.rule).into_iter().map(|(key, words)| ((optimizer.id, key), words))
    });
    of_optimizers.collect()
}

#[cfg(test)]
mod tests {
    use super::VariedSettings;
    use valleyscope_engine::simulation::{Record, SimulationSpec};

    use crate::setting_marks::tests::record;

    /// Returns a session with these changes, the settings after them, and the settings that vary.
    fn session(changes: &str) -> (Record, SimulationSpec, VariedSettings) {
        let session = Record::clone(&record(changes));
        let mut last = session.spec.clone();
        for change in &session.changes {
            last.apply(&change.set).expect("it fits");
        }
        let varied = VariedSettings::of(&session);
        (session, last, varied)
    }

    #[test]
    fn captions_show_the_settings_that_the_session_changes() {
        let (session, last, varied) = session(
            "(step: 3, set: Noise(2)), (step: 5, set: Landscape(Valley(sharpness: 20))), \
            (step: 7, set: Rule(optimizer: 1, rule: Focus(learning_rate: 0.02, gamma: 0.5)))",
        );
        assert_eq!(varied.texts(&session.spec), ["FOCUS: η = 0.01", "FOCUS: γ = 0.2"]);
        assert_eq!(varied.texts(&last), ["FOCUS: η = 0.02", "FOCUS: γ = 0.5"]);
        let caption = varied.caption(&last);
        assert!(caption.contains("σ = 2 · ") && caption.contains("a = 20, "), "{caption}");
    }

    #[test]
    fn another_kind_of_landscape_moves_no_setting_of_an_optimizer() {
        let (session, last, varied) = session(
            "(step: 3, set: Landscape(Rosenbrock())), \
            (step: 7, set: Rule(optimizer: 1, rule: Focus(learning_rate: 0.01, gamma: 0.5)))",
        );
        assert_eq!(varied.texts(&session.spec), ["FOCUS: γ = 0.2"]);
        assert_eq!(varied.texts(&last), ["FOCUS: γ = 0.5"]);
        assert!(varied.caption(&last).contains("Rosenbrock: "), "{}", varied.caption(&last));
    }

    #[test]
    fn a_changed_schedule_is_in_the_caption_though_it_renames_the_optimizer() {
        let (session, last, varied) = session(
            "(step: 7, set: Rule(optimizer: 0, rule: \
            Adam(learning_rate: 0.01, schedule: (warmup: 5, decay: Cosine(to: 0.1, steps: 20)))))",
        );
        assert_eq!(varied.texts(&session.spec), ["Adam: schedule = constant"]);
        let expected = "Adam (cosine): schedule = cosine, warm-up 5, to 0.1 η, over 20 steps";
        assert_eq!(varied.texts(&last), [expected]);
    }
}
