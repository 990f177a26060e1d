//! Settings in words and formulas.

use serde::Serialize;
use valleyscope_engine::optimizer::ShownSetting;
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::view::rule_summary::formulas_from_gradient;

/// The settings of a simulation in words.
#[derive(Serialize)]
pub(super) struct SettingsInWords {
    landscape: Vec<String>,
    noise: String,
    optimizers: Vec<OptimizerInWords>,
}

/// An enabled optimizer with its settings.
#[derive(Serialize)]
struct OptimizerInWords {
    name: String,
    settings: Vec<String>,
    /// Formulas and their meanings.
    formulas: Vec<(String, &'static str)>,
}

impl SettingsInWords {
    pub(super) fn of(spec: &SimulationSpec) -> SettingsInWords {
        let kind = spec.landscape.kind();
        let formula = match kind.formula() {
            Some(typed) => typed.text().to_owned(),
            None => format!("L = {}", kind.info().formula),
        };
        let parameters = spec.landscape.parameters().map(|(of, value)| of.parameter.with(number_text(value)));
        let enabled = spec.optimizers.iter().zip(spec.shown_names()).filter(|(optimizer, _)| optimizer.enabled);
        let optimizers = enabled.map(|(optimizer, name)| {
            let settings = optimizer.rule.shown_settings().into_iter().filter_map(ShownSetting::said);
            OptimizerInWords {
                name,
                settings: settings.collect(),
                formulas: formulas_from_gradient(&spec.noise.kind(), optimizer.rule.rule),
            }
        });
        SettingsInWords {
            landscape: [kind.name().to_owned(), formula].into_iter().chain(parameters).collect(),
            noise: spec.noise.words(number_text),
            optimizers: optimizers.collect(),
        }
    }
}
