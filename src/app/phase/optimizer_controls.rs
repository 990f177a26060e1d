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
    fn id(&self, _: usize) -> u32 {
        self.id
    }

    fn parts(&mut self) -> CardParts<'_> {
        CardParts { name: &mut self.name, color: &mut self.color, rule: &mut self.rule }
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
    let new = match cards.add_menu(ui).or(edit) {
        Some(CardEdit::Replaced(index)) => return on_rule_replaced(spec, index),
        Some(CardEdit::Remove(index)) => return remove(spec, index),
        Some(CardEdit::Duplicate(index, rule)) => {
            let of = spec.optimizers[index].clone();
            let name = of.name.filter(|_| rule.is_none());
            let new = SweepOptimizer { name, color: None, rule: rule.unwrap_or(of.rule), ..of };
            if rule.is_none() {
                add(spec, new);
                return;
            }
            new
        }
        Some(CardEdit::Add(rule)) => SweepOptimizer {
            id: 0,
            name: None,
            color: None,
            rule,
            learning_rates: LearningRates::default(),
            tune: Vec::new(),
            schedule: Schedule::default(),
        },
        None => return,
    };
    let rule = new.rule;
    let id = add(spec, new);
    cards.open_text(ui, id, &rule);
}

/// Adds an optimizer with a unique id and name, also to the axes that vary a hyperparameter of all that have it;
/// returns its id.
fn add(spec: &mut SweepSpec, mut optimizer: SweepOptimizer) -> u32 {
    let is_free = |id: &u32| spec.optimizers.iter().all(|optimizer| optimizer.id != *id);
    let id = (0..).find(is_free).expect("a sweep has few optimizers");
    let of_all = [&spec.rows, &spec.columns].map(|axis| unswept_note(spec, axis).is_none());
    for (axis, of_all) in [&mut spec.rows, &mut spec.columns].into_iter().zip(of_all) {
        if let Quantity::Of(key, ids) = &mut axis.of
            && of_all
            && optimizer.rule.has_axis(key)
        {
            ids.push(id);
        }
    }
    let is_taken = |name: &str| spec.optimizers.iter().any(|optimizer| optimizer.label() == name);
    let name = distinct_name(optimizer.label(), is_taken);
    if name != optimizer.label() {
        optimizer.name = Some(name);
    }
    spec.optimizers.push(SweepOptimizer { id, ..optimizer });
    id
}

/// Removes an optimizer with a new rule from the axes of hyperparameters that the rule does not have, drops its tuned
/// settings that the rule does not have, and gives it a distinct name.
fn on_rule_replaced(spec: &mut SweepSpec, index: usize) {
    let optimizer = &spec.optimizers[index];
    let (id, rule, schedule) = (optimizer.id, optimizer.rule, optimizer.schedule);
    spec.optimizers[index].tune.retain(|tuned| can_tune(tuned.of, &rule, &schedule));
    for axis in [&mut spec.rows, &mut spec.columns] {
        if let Quantity::Of(key, ids) = &mut axis.of
            && !rule.has_axis(key)
        {
            ids.retain(|other| *other != id);
        }
    }
    let is_taken = |name: &str| spec.optimizers.iter().any(|other| other.id != id && other.label() == name);
    let label = spec.optimizers[index].label();
    let name = distinct_name(label, is_taken);
    let is_other = name != label;
    if is_other {
        spec.optimizers[index].name = Some(name);
    }
}

/// Removes an optimizer, also from the axes.
fn remove(spec: &mut SweepSpec, index: usize) {
    let id = spec.optimizers.remove(index).id;
    for axis in [&mut spec.rows, &mut spec.columns] {
        if let Quantity::Of(_, ids) = &mut axis.of {
            ids.retain(|other| *other != id);
        }
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
