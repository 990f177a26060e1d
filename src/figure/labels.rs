//! Names of quantities in figures.

use valleyscope_engine::optimizer::HyperparameterName;
use valleyscope_engine::parameter::LEARNING_RATE;
use valleyscope_engine::sweep::{Axis, Quantity, SweepSpec};

/// Returns the label of an axis: the quantity with its symbol, and the optimizers where it is varied for only some of
/// those that have it.
pub fn axis_label(spec: &SweepSpec, axis: &Axis) -> String {
    match &axis.of {
        Quantity::Of(hyperparameter, ids) => {
            let name = hyperparameter_label(*hyperparameter);
            let having = || spec.optimizers.iter().filter(|optimizer| hyperparameter.is_of(&optimizer.rule));
            if having().all(|optimizer| ids.contains(&optimizer.id)) {
                return name;
            }
            let labels = having().filter(|optimizer| ids.contains(&optimizer.id)).map(|optimizer| optimizer.label());
            format!("{name} of {}", labels.collect::<Vec<_>>().join(", "))
        }
        of => of.parameter(&spec.landscape).axis_label(),
    }
}

/// Returns a label such as `decay rate β₁` or `weight decay ω`.
fn hyperparameter_label(name: HyperparameterName) -> String {
    match name.hyperparameter() {
        None => LEARNING_RATE.axis_label(),
        Some(of) if of.is_decay_rate() => format!("decay rate {}", of.symbol),
        Some(of) => of.parameter().axis_label(),
    }
}

/// Describes the hyperparameters that an axis varies: one name may have different meanings in different rules, such
/// as β₂, the decay rate of averages of parameters in FOCUS and of squares in Adam.
pub fn axis_meanings(spec: &SweepSpec, axis: &Axis) -> Option<String> {
    let Quantity::Of(name, ids) = &axis.of else { return None };
    let mut meanings: Vec<(&str, Vec<&str>)> = Vec::new();
    for optimizer in spec.optimizers.iter().filter(|optimizer| ids.contains(&optimizer.id)) {
        let Some(of) = optimizer.rule.hyperparameter(name.key()) else { continue };
        match meanings.iter_mut().find(|(label, _)| *label == of.label) {
            Some((_, labels)) => labels.push(optimizer.label()),
            None => meanings.push((of.label, vec![optimizer.label()])),
        }
    }
    let words = meanings.iter().map(|(label, labels)| format!("{label} in {}", labels.join(", ")));
    (!meanings.is_empty()).then(|| format!("{}.", words.collect::<Vec<_>>().join("; ")))
}
