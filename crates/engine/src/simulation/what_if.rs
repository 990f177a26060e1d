//! A session without some of its changes.

use super::spec::{Change, Record, Setting, SimulationSpec};
use crate::optimizer::RatedRule;

impl Record {
    /// Returns the session as it would be without these changes, which are in the order of their steps.
    ///
    /// A change holds a whole landscape, noise or rule, of which only some parameters were new. The remaining changes
    /// set those parameters alone: after "a 10 → 20" and "c 1 → 2", the session without the first has a = 10 and c = 2.
    pub fn without(&self, removed: &[Change]) -> Record {
        let mut before = self.spec.clone();
        let mut spec = self.spec.clone();
        let mut changes = Vec::new();
        for change in &self.changes {
            if !change.is_among(removed) {
                let set = change.set.moved(&before, &spec);
                // Setting a value twice changes nothing.
                if spec.apply(&set).is_ok() {
                    changes.push(Change { step: change.step, set });
                }
            }
            // The change was accepted when it was recorded.
            let _ = before.apply(&change.set);
        }
        Record { spec: self.spec.clone(), changes }
    }
}

impl Setting {
    /// Returns the setting that changes `onto` in the parameters in which this one changes `before`.
    pub fn moved(&self, before: &SimulationSpec, onto: &SimulationSpec) -> Setting {
        match *self {
            Setting::Landscape(to) if [before.landscape.kind(), onto.landscape.kind()] == [to.kind(); 2] => {
                let mut moved = onto.landscape;
                for (of, value) in to.parameters() {
                    if before.landscape.get(of.parameter.key) != Some(value) {
                        moved.set(of.parameter.key, value).expect("the kind is the same, and so is the range");
                    }
                }
                Setting::Landscape(moved)
            }
            Setting::Noise(to) if [before.noise.kind(), onto.noise.kind()] == [to.kind(); 2] => {
                let mut moved = onto.noise;
                for (index, (of, value)) in to.parameters().enumerate() {
                    if before.noise.get(of.parameter.key) != Some(value) {
                        moved.set(index, value).expect("the kind is the same, and so is the range");
                    }
                }
                Setting::Noise(moved)
            }
            Setting::Rule { optimizer, rule } => {
                let of = |spec: &SimulationSpec| spec.optimizers.iter().find(|it| it.id == optimizer).map(|it| it.rule);
                let moved = of(before).zip(of(onto)).and_then(|(before, onto)| moved_rule(&rule, &before, &onto));
                Setting::Rule { optimizer, rule: moved.unwrap_or(rule) }
            }
            other => other,
        }
    }
}

/// Returns `onto` with the numbers that are new in `to` since `before`; `None` if the three are not of one kind.
fn moved_rule(to: &RatedRule, before: &RatedRule, onto: &RatedRule) -> Option<RatedRule> {
    if [before.rule.kind(), onto.rule.kind()] != [to.rule.kind(); 2] {
        return None;
    }
    let mut moved = *onto;
    for (of, value) in to.rule.hyperparameters() {
        if before.rule.get(of.key) != Some(value) {
            moved.rule.set(of.key, value).ok()?;
        }
    }
    if before.learning_rate != to.learning_rate {
        moved.learning_rate = to.learning_rate;
    }
    if before.schedule != to.schedule {
        moved.schedule = to.schedule;
    }
    Some(moved)
}
