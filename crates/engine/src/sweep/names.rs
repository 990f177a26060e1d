//! Names of the optimizers of a diagram.

use super::tuned::SCHEDULE_END;
use super::{LearningRates, SweepOptimizer, SweepSpec};
use crate::optimizer::{HyperparameterName, RuleSpec, ShownSetting, differing, differing_by_key, with_settings};
use crate::quantity::number_text;
use crate::simulation::is_given;

impl SweepSpec {
    /// Returns the names of the optimizers for showing them together, in their order: their labels, each with the
    /// settings that differ among optimizers of this label, and with those that differ from other labels' and are not
    /// the rule's defaults. A setting that an axis varies has no value to show; a name given by the user stays
    /// unchanged.
    pub fn shown_names(&self) -> Vec<String> {
        SweepSpec::names_together(&[self]).pop().unwrap_or_default()
    }

    /// Returns the names of the optimizers of several sweeps that are shown together, each sweep's in its order. They
    /// include the settings that differ among the optimizers of all these sweeps.
    pub fn names_together(specs: &[&SweepSpec]) -> Vec<Vec<String>> {
        let all = || specs.iter().flat_map(|spec| spec.optimizers.iter().map(|optimizer| (*spec, optimizer)));
        let labels: Vec<&str> = all().map(|(_, optimizer)| optimizer.label()).collect();
        let settings: Vec<_> = all().map(|(spec, optimizer)| spec.settings(optimizer)).collect();
        let (alike, any) = (differing_by_key(&labels, &settings), differing(&settings));
        let name = |(index, (_, optimizer)): (usize, (&SweepSpec, &SweepOptimizer))| {
            let own = optimizer.schedule.named(optimizer.rule.name());
            let is_named = is_given(optimizer.name.as_deref(), own);
            let is_shown = |setting: &&ShownSetting| {
                let ShownSetting { words, is_usual, .. } = setting;
                !is_named && (alike[index].contains(words) || (!is_usual && any[index].contains(words)))
            };
            let shown = settings[index].iter().filter(is_shown).map(|setting| setting.words.clone());
            with_settings(optimizer.label(), &shown.collect::<Vec<_>>())
        };
        let mut names = all().enumerate().map(name);
        specs.iter().map(|spec| names.by_ref().take(spec.optimizers.len()).collect()).collect()
    }

    fn settings(&self, optimizer: &SweepOptimizer) -> Vec<ShownSetting> {
        let is_axis = |key: &str| self.rows.varies(key, optimizer.id) || self.columns.varies(key, optimizer.id);
        let is_tuned = |key: &str| optimizer.tune.iter().any(|tuned| tuned.of.key() == key);
        let LearningRates { from, to, count } = optimizer.learning_rates;
        let [from, to] = [from, to].map(|rate| number_text(rate.get()));
        let rates = ShownSetting::new(ShownSetting::LEARNING_RATE, format!("{} η from {from} to {to}", count.get()));
        let rates = Some(rates).filter(|_| !is_axis(HyperparameterName::LEARNING_RATE.key()));
        let usual = RuleSpec::on_plane(optimizer.rule.kind());
        let of_rule =
            optimizer.rule.shown_settings(&usual, |of| !of.is_for_vectors && !is_axis(of.key) && !is_tuned(of.key));
        let of_schedule = optimizer.schedule.shown_settings().into_iter();
        let of_schedule = of_schedule.filter(|it| it.meaning != ShownSetting::SCHEDULE_END || !is_tuned(SCHEDULE_END));
        let tuned = optimizer.tune.iter().map(|tuned| tuned.shown(&optimizer.rule));
        rates.into_iter().chain(of_schedule).chain(of_rule).chain(tuned).collect()
    }
}
