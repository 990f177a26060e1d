//! The settings by which simulations that are shown side by side are distinguished.

use super::spec::{OptimizerSpec, SimulationSpec};
use crate::optimizer::{ShownSetting, differing};
use crate::parameter::{START_SPREAD, START_X, START_Y};
use crate::quantity::number_text;

/// The largest number of settings in a title.
const MOST_IN_TITLE: usize = 3;

impl SimulationSpec {
    /// Lists the settings that all optimizers share, with words such as `σ = 1`.
    pub fn shared_settings(&self) -> Vec<ShownSetting> {
        let kind = self.landscape.kind();
        // Typed landscapes may differ although their names do not.
        let meaning = kind.formula().map_or_else(|| "landscape".to_owned(), |formula| formula.text().to_owned());
        let mut settings = vec![ShownSetting { is_usual: false, ..ShownSetting::new(meaning, kind.name()) }];
        settings.extend(self.landscape.parameters().map(|(of, value)| ShownSetting {
            is_usual: value == of.default,
            ..ShownSetting::new(format!("landscape {}", of.key()), of.parameter.with(number_text(value)))
        }));
        let noise = format!("{} noise", self.noise.info().name.to_lowercase());
        settings.push(ShownSetting::new("noise", noise));
        settings.extend(self.noise.parameters().map(|(of, value)| ShownSetting {
            is_usual: false,
            ..ShownSetting::new(format!("noise {}", of.parameter.key), of.parameter.with(number_text(value)))
        }));
        let steps = self.steps.map_or_else(|| "no end".to_owned(), |steps| format!("{steps} steps"));
        let temperature = self.temperature.map_or_else(|| "η".to_owned(), |value| number_text(value.get()));
        let start = &self.start;
        settings.extend([
            ShownSetting::new("seed", format!("seed {}", self.seed)),
            ShownSetting::new("steps", steps),
            ShownSetting::new("particles", format!("{} particles", self.particles.get())),
            ShownSetting::new("start x", START_X.with(number_text(start.x.get()))),
            ShownSetting::new("start y", START_Y.with(number_text(start.y.get()))),
            ShownSetting::new("start spread", START_SPREAD.with(number_text(start.spread.get()))),
            ShownSetting::new("temperature", format!("Θ = {temperature}")),
        ]);
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
            let is_listed = |setting: &&ShownSetting| !setting.words.is_empty() && (is_common || !setting.is_usual);
            for setting in settings.iter().filter(is_listed) {
                let of_others = || each.iter().flatten().filter(|other| other.meaning == setting.meaning);
                let is_shared = of_others().all(|other| other.words == setting.words);
                let (meaning, words) = match is_shared {
                    true => (setting.meaning.clone(), setting.words.clone()),
                    false => (
                        format!("{} of {}", setting.meaning, optimizer.id),
                        format!("{}: {}", optimizer.label(), setting.words),
                    ),
                };
                if !listed.iter().any(|other| other.meaning == meaning) {
                    listed.push(ShownSetting { is_usual: false, ..ShownSetting::new(meaning, words) });
                }
            }
        }
        listed
    }

    /// Returns the simulated optimizers' ids and rules.
    fn simulated_rules(&self) -> Vec<(u32, &'static str)> {
        let simulated = self.optimizers.iter().filter(|optimizer| optimizer.enabled);
        simulated.map(|optimizer| (optimizer.id, optimizer.rule.name())).collect()
    }

    /// Returns for each of several simulations the settings in which they differ, in words such as `σ = 1`. Simulations
    /// of different optimizers are named by these first.
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
