//! The caption of a picture.

use valleyscope_engine::simulation::{Record, SimulationSpec};

use crate::app::number;
use crate::setting_marks::settings_of_rule;

/// The settings that change in a recorded session, as indices into all its settings.
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
                // Owners are ignored, as an optimizer's name depends on its schedule.
                *varied |= before.words != now.words;
            }
        }
        VariedSettings((0..first.len()).filter(|&index| is_varied[index]).collect())
    }

    /// Formats the settings in force: the noise, the landscape with its parameters, and the varied ones of rules.
    pub(super) fn caption(&self, spec: &SimulationSpec) -> String {
        let settings = settings_of(spec);
        let of_landscape: Vec<&str> =
            settings.iter().filter(|it| it.owner.is_none()).map(|it| it.words.as_str()).collect();
        let landscape = match of_landscape.split_first() {
            Some((name, parameters)) if !parameters.is_empty() => format!("{name}: {}", parameters.join(", ")),
            _ => of_landscape.concat(),
        };
        let varied = self.0.iter().filter_map(|&index| settings.get(index)).filter(|it| it.owner.is_some());
        let texts = [spec.noise.words(number::text), landscape].into_iter().chain(varied.map(OwnedSetting::text));
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" · ")
    }
}

/// A setting with its value, and the optimizer that has it.
struct OwnedSetting {
    /// The name of the optimizer; `None` for a setting of the landscape.
    owner: Option<String>,
    /// The setting with its value, such as "γ = 0.2".
    words: String,
}

impl OwnedSetting {
    /// Formats the setting for a caption, as in "a = 10" and "FOCUS: γ = 0.2".
    fn text(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{owner}: {}", self.words),
            None => self.words.clone(),
        }
    }
}

/// Returns the settings of the landscape and of all rules.
fn settings_of(spec: &SimulationSpec) -> Vec<OwnedSetting> {
    let parameters = spec.landscape.parameters().map(|(of, value)| of.parameter.with(number::text(value)));
    let of_landscape = std::iter::once(spec.landscape.kind().name().to_owned()).chain(parameters);
    let rules = spec.distinct_names().into_iter().zip(&spec.optimizers);
    let of_rules = rules.flat_map(|(name, optimizer)| {
        let settings = settings_of_rule(&optimizer.rule).into_iter();
        settings.map(move |words| OwnedSetting { owner: Some(name.clone()), words })
    });
    of_landscape.map(|words| OwnedSetting { owner: None, words }).chain(of_rules).collect()
}

#[cfg(test)]
mod tests {
    use super::{VariedSettings, settings_of};
    use valleyscope_experiments::preset::Preset;

    #[test]
    fn captions_show_the_settings_that_the_session_changes() {
        let text = "Landscape(version: 1, title: \"Changed\", simulation: (noise: 1, optimizers: [\
            (id: 0, rule: Adam(learning_rate: 0.01)), (id: 1, rule: Focus(learning_rate: 0.01, gamma: 0.2))]), \
            changes: [(step: 3, set: Noise(2)), (step: 5, set: Landscape(Valley(sharpness: 20))), \
            (step: 7, set: Rule(optimizer: 1, rule: Focus(learning_rate: 0.02, gamma: 0.5)))])";
        let Preset::Landscape(preset) = Preset::parse(text, "test").expect("it is valid") else {
            panic!("a landscape")
        };
        let session = preset.record();
        let VariedSettings(varied) = VariedSettings::of(&session);
        let captions = |spec| -> Vec<String> { varied.iter().map(|&index| settings_of(spec)[index].text()).collect() };
        assert_eq!(captions(&session.spec), ["a = 10", "FOCUS: η = 0.01", "FOCUS: γ = 0.2"]);
        let mut spec = session.spec.clone();
        for change in &session.changes {
            spec.apply(&change.set).expect("it fits");
        }
        assert_eq!(captions(&spec), ["a = 20", "FOCUS: η = 0.02", "FOCUS: γ = 0.5"]);
    }

    #[test]
    fn a_changed_schedule_is_in_the_caption_though_it_renames_the_optimizer() {
        let text = "Landscape(version: 1, title: \"Changed\", simulation: (noise: 1, optimizers: [\
            (id: 0, rule: Adam(learning_rate: 0.01))]), changes: [(step: 7, set: Rule(optimizer: 0, rule: \
            Adam(learning_rate: 0.01, schedule: (warmup: 5, decay: Cosine(to: 0.1, steps: 20)))))])";
        let Preset::Landscape(preset) = Preset::parse(text, "test").expect("it is valid") else {
            panic!("a landscape")
        };
        let session = preset.record();
        let VariedSettings(varied) = VariedSettings::of(&session);
        let [index] = varied[..] else { panic!("{varied:?}") };
        assert_eq!(settings_of(&session.spec)[index].text(), "Adam: schedule = constant");
        let mut spec = session.spec.clone();
        spec.apply(&session.changes[0].set).expect("it fits");
        let expected = "Adam (cosine): schedule = cosine, warm-up 5, to 0.1 η, over 20 steps";
        assert_eq!(settings_of(&spec)[index].text(), expected);
    }
}
