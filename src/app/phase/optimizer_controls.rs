//! The controls of the optimizers of a sweep, with their learning rates and tuned settings.

use egui::Ui;
use valleyscope_engine::optimizer::{RatedRule, RuleSpec, Schedule};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_engine::setting::{Key, SCHEDULE_END, SettingInfo, SettingPath, SettingValue, Spacing};
use valleyscope_engine::simulation::distinct_name;
use valleyscope_engine::sweep::{
    Axis, LearningRates, Quantity, SweepOptimizer, SweepSpec, Tuned, can_tune, tuned_info,
};
use valleyscope_experiments::view::{OwnColors, usual_colors};

use super::vary;
use crate::app::landscape::controls::schedule;
use crate::app::shell::actions::Requests;
use crate::app::widgets::form;
use crate::app::widgets::optimizer_cards::{CardEdit, CardOptimizer, CardParts, OptimizerCards};
use crate::app::widgets::setting::{Pins, Values, unpinned_row};
use crate::app::widgets::text_editor::TextTab;

impl CardOptimizer for SweepOptimizer {
    fn new(rule: RuleSpec) -> SweepOptimizer {
        SweepOptimizer {
            id: 0,
            name: None,
            color: None,
            rule,
            learning_rates: LearningRates::default(),
            tune: Vec::new(),
            schedule: Schedule::default(),
        }
    }

    fn parts(&mut self) -> CardParts<'_> {
        CardParts { id: Some(&mut self.id), name: &mut self.name, color: &mut self.color, rule: &mut self.rule }
    }

    fn label(&self) -> &str {
        self.label()
    }

    fn rated(&self) -> RatedRule {
        self.rule.rated(self.learning_rates.from)
    }
}

/// Shows the optimizers, each with its rule and learning rates, and a menu that adds one.
pub(super) fn optimizers(ui: &mut Ui, spec: &mut SweepSpec, pins: &mut Pins, requests: &mut Requests) {
    let shown = spec.clone();
    let names: Vec<String> = spec.optimizers.iter().map(|it| it.label().to_owned()).collect();
    let own_colors = spec.optimizers.iter().map(|optimizer| (optimizer.color, optimizer.rule.rgb()));
    let cards = OptimizerCards {
        tab: TextTab::Sweep,
        names: &names,
        usual_colors: &usual_colors(&own_colors.collect::<Vec<OwnColors>>()),
        most: SweepSpec::MAX_OPTIMIZERS,
        usual: RuleSpec::on_plane,
        is_needed: &vec![names.len() <= 2; names.len()],
        why_needed: "A comparison needs two optimizers.",
    };
    let settings = |ui: &mut Ui, index: usize, optimizer: &mut SweepOptimizer| {
        let name = &names[index];
        rates(ui, name, &mut optimizer.learning_rates);
        schedule(ui, name, &mut optimizer.schedule, Some(shown.steps.get() as u64));
        rule(ui, name, optimizer, pins, &shown);
        beside_rule(ui, name, optimizer);
    };
    let edit = cards.show(ui, &mut spec.optimizers, requests, |_, _, _| (), settings);
    let Some(edit) = cards.add_menu(ui).or(edit) else { return };
    let is_of_all = [&shown.rows, &shown.columns].map(|axis| unswept_note(&shown, axis).is_none());
    cards.apply(ui, &mut spec.optimizers, &edit);
    if let CardEdit::Replaced(index) = edit {
        on_rule_replaced(&mut spec.optimizers, index);
    }
    // Axes that vary a hyperparameter of all optimizers vary that of a new one, too.
    let new = spec.optimizers.last().filter(|new| shown.optimizers.iter().all(|known| known.id != new.id));
    for (axis, is_of_all) in [&mut spec.rows, &mut spec.columns].into_iter().zip(is_of_all) {
        if let Quantity::Of(key, ids) = &mut axis.of {
            ids.extend(new.filter(|_| is_of_all).map(|new| new.id));
            ids.retain(|id| spec.optimizers.iter().any(|it| it.id == *id && it.rule.has_axis(key)));
        }
    }
}

/// Drops the tuned settings that a new rule does not have, and gives its optimizer a distinct name.
fn on_rule_replaced(optimizers: &mut [SweepOptimizer], index: usize) {
    let SweepOptimizer { id, rule, schedule, .. } = optimizers[index];
    optimizers[index].tune.retain(|tuned| can_tune(tuned.of, &rule, &schedule));
    let label = optimizers[index].label();
    let name = distinct_name(label, |name| optimizers.iter().any(|other| other.id != id && other.label() == name));
    if name != label {
        optimizers[index].name = Some(name);
    }
}

/// Lists the settings of an optimizer's rule that have one value.
pub(super) fn of_rule(optimizer: &SweepOptimizer) -> impl Iterator<Item = SettingValue> {
    let is_shown = |of: &SettingInfo| !of.is_for_vectors && optimizer.tuned(of.key).is_none();
    let settings = optimizer.rule.hyperparameters().filter(move |(of, _)| is_shown(of));
    settings.map(|(info, value)| {
        let path = SettingPath::of_rule(optimizer.id, info.key);
        SettingValue { path, info, value, default: info.default }
    })
}

/// Shows the rows of an optimizer's rule in a sweep.
fn rule(ui: &mut Ui, owner: &str, optimizer: &mut SweepOptimizer, pins: &mut Pins, spec: &SweepSpec) {
    let settings: Vec<SettingValue> = of_rule(optimizer).collect();
    let mut settings = settings.into_iter().peekable();
    for (of, _) in optimizer.rule.hyperparameters().filter(|(of, _)| !of.is_for_vectors) {
        let Some(it) = settings.next_if(|it| it.info.key == of.key) else {
            grid(ui, owner, optimizer, of.key);
            continue;
        };
        if let Some(text) = vary::varies_along(spec, &it.path) {
            form::line(ui, of.label, of.help, |ui| drop(ui.weak(text)));
        } else if let Some(value) = unpinned_row(ui, owner, &it, pins, &vary::actions(spec, &it.path)) {
            optimizer.rule.set(of.key, value).expect("the control keeps to the range");
        }
    }
}

fn rates(ui: &mut Ui, owner: &str, rates: &mut LearningRates) {
    let ([mut from, mut to], mut spacing) = ([rates.from.get(), rates.to.get()], Spacing::Log);
    let values = Values { ends: [&mut from, &mut to], count: &mut rates.count, spacing: &mut spacing, usual: None };
    let help = "The learning rates that are tried, with equal ratios. At each pixel the best counts.";
    values.show(ui, "Rates η", help, &form::owned(owner, "learning rates"), false);
    [rates.from, rates.to] = [from, to].map(LearningRate::clamped);
}

/// Shows the end of the schedule, and settings that were tuned and that the optimizer no longer has.
fn beside_rule(ui: &mut Ui, owner: &str, optimizer: &mut SweepOptimizer) {
    let lacks = |of: Key| !can_tune(of, &optimizer.rule, &optimizer.schedule);
    let mut shown: Vec<Key> = optimizer.tune.iter().map(|tuned| tuned.of).filter(|of| lacks(of)).collect();
    shown.extend((!lacks(SCHEDULE_END.key)).then_some(SCHEDULE_END.key));
    for of in shown {
        if optimizer.tuned(of).is_some() {
            grid(ui, owner, optimizer, of);
            continue;
        }
        let name = form::owned(owner, "vary the end of the schedule");
        let help = "Try several values in place of the share above. At each pixel the best counts.";
        form::line(ui, "End e", SCHEDULE_END.help, |ui| {
            if form::small_button(ui, true, "Vary at each pixel", &name, help) {
                vary::tune(optimizer, of);
            }
        });
    }
}

/// Shows the values of a tuned setting.
fn grid(ui: &mut Ui, owner: &str, optimizer: &mut SweepOptimizer, of: Key) {
    let Some(index) = optimizer.tuned(of) else { return };
    let info = tuned_info(of);
    let Tuned { from, to, count, spacing, .. } = &mut optimizer.tune[index];
    let values = Values { ends: [from, to], count, spacing, usual: Some(info.axis.spacing) };
    let help = "The values that are tried. At each pixel the best counts, together with the best learning rate.";
    if values.show(ui, info.label, help, &form::owned(owner, info.label), true) {
        optimizer.tune.remove(index);
    }
}

/// Names the optimizers that have the hyperparameter of an axis, but keep their own value.
pub(super) fn unswept_note(spec: &SweepSpec, axis: &Axis) -> Option<String> {
    let Quantity::Of(key, ids) = &axis.of else { return None };
    let others = optimizers_with(spec, key).filter(|optimizer| !ids.contains(&optimizer.id));
    let labels: Vec<&str> = others.map(SweepOptimizer::label).collect();
    match &labels[..] {
        [] => None,
        [one] => Some(format!("{one} keeps its own.")),
        [first @ .., last] => Some(format!("{} and {last} keep their own.", first.join(", "))),
    }
}

pub(super) fn optimizers_with(spec: &SweepSpec, key: Key) -> impl Iterator<Item = &SweepOptimizer> {
    spec.optimizers.iter().filter(move |optimizer| optimizer.rule.has_axis(key))
}
