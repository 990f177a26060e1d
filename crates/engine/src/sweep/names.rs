//! Names of the optimizers of a diagram.

use super::{LearningRates, Quantity, SweepOptimizer, SweepSpec};
use crate::optimizer::{HyperparameterName, RuleSpec, ShownSetting, differing, with_settings};
use crate::quantity::number_text;
use crate::simulation::is_given;

impl SweepSpec {
    /// Returns the names of the optimizers for showing them together, in their order: their labels, each with the
    /// settings that differ among them. A setting that an axis varies has no value to show; a name given by the user
    /// stays unchanged.
    pub fn shown_names(&self) -> Vec<String> {
        let settings: Vec<_> = self.optimizers.iter().map(|optimizer| self.settings(optimizer)).collect();
        let named = self.optimizers.iter().zip(differing(&settings)).map(|(optimizer, words)| {
            let own = optimizer.schedule.named(optimizer.rule.name());
            let is_named = is_given(optimizer.name.as_deref(), own);
            with_settings(optimizer.label(), if is_named { &[] } else { &words })
        });
        named.collect()
    }

    fn settings(&self, optimizer: &SweepOptimizer) -> Vec<ShownSetting> {
        let is_varied = |key: &str| {
            [&self.rows, &self.columns].into_iter().any(|axis| match &axis.of {
                Quantity::Of(of, ids) => of.key() == key && ids.contains(&optimizer.id),
                _ => false,
            })
        };
        let LearningRates { from, to, count } = optimizer.learning_rates;
        let [from, to] = [from, to].map(|rate| number_text(rate.get()));
        let rates = ShownSetting::new(ShownSetting::LEARNING_RATE, format!("{} η from {from} to {to}", count.get()));
        let rates = Some(rates).filter(|_| !is_varied(HyperparameterName::LEARNING_RATE.key()));
        let usual = RuleSpec::on_plane(optimizer.rule.kind());
        let of_rule = optimizer.rule.shown_settings(&usual, |of| !of.is_for_vectors && !is_varied(of.key));
        rates.into_iter().chain(optimizer.schedule.shown_settings()).chain(of_rule).collect()
    }
}
