//! Summaries of rules for the help in the window and on the command line.

use valleyscope_engine::landscape::LandscapeSpec;
use valleyscope_engine::noise::{Action, NoiseKind};
use valleyscope_engine::optimizer::{BiasCorrection, PlaneBatch, RuleInfo, RuleKind, RuleSpec, StepInputs, trace};
use valleyscope_engine::setting::{SettingChoice, SettingInfo};

use super::formula::{Formula, GRADIENT_MEANING, gradient_formula, step_formulas};

/// A rule as text and formulas.
#[derive(Clone, Debug)]
pub struct RuleSummary {
    pub kind: RuleKind,
    /// The formulas of a step with the default choices.
    pub formulas: Vec<Formula>,
    pub variants: Vec<Variant>,
}

/// The changes that another choice of a hyperparameter makes.
#[derive(Clone, Debug)]
pub struct Variant {
    pub of: &'static SettingInfo,
    pub choice: &'static SettingChoice,
    /// The formulas that differ.
    pub formulas: Vec<Formula>,
}

impl Variant {
    /// Names the choice after its hyperparameter, whose label may be the beginning of a phrase.
    pub fn title(&self) -> String {
        let colon = if self.of.label.ends_with(" the") { "" } else { ":" };
        format!("{}{colon} {}", self.of.label, self.choice.label)
    }
}

impl RuleSummary {
    pub fn new(kind: RuleKind) -> RuleSummary {
        let usual = RuleSpec::on_plane(kind);
        let formulas = formulas(usual);
        let on_plane = kind.info().hyperparameters.iter().filter(|of| !of.is_for_vectors);
        let variants = on_plane.flat_map(|of| {
            let others = of.choices().iter().enumerate().skip(1);
            others.map(move |(value, choice)| (of, choice, value as f64))
        });
        let variants = variants.map(|(of, choice, value)| {
            let changed = usual.with(of.key, value).expect("the value is one of the choices");
            let differ = |line: &Formula| formulas.iter().all(|usual| usual.rule != line.rule);
            Variant { of, choice, formulas: self::formulas(changed).into_iter().filter(differ).collect() }
        });
        let variants = variants.collect();
        RuleSummary { kind, formulas, variants }
    }

    pub fn info(&self) -> &'static RuleInfo {
        self.kind.info()
    }
}

/// Writes the formula of the gradient that a rule takes and those of its step, with their meanings.
pub fn formulas_from_gradient(noise: &NoiseKind, rule: RuleSpec) -> Vec<(String, &'static str)> {
    let gradient = (gradient_formula(noise, &rule), GRADIENT_MEANING);
    let step = formulas(rule).into_iter().map(|formula| (formula.rule, formula.meaning));
    std::iter::once(gradient).chain(step).collect()
}

/// Writes the formulas of a step with the rule's choices. Their numbers are arbitrary.
pub fn formulas(rule: RuleSpec) -> Vec<Formula> {
    let landscape = LandscapeSpec::default().landscape();
    let theta = [0.5, 0.25];
    let action = Action::Multiplies;
    let batch = PlaneBatch { landscape: &landscape, at: theta, action, noise: [1.0; 2], curvature_noise: [1.0; 2] };
    let states = vec![[0.125, 0.25]; rule.info().states.len()];
    let step = complete_step(&rule);
    let power = |key: &str| rule.get(key).map(|rate| rate.powi(step as i32));
    let bias = BiasCorrection::new(step, &rule, power).expect("a decay rate is a hyperparameter");
    let inputs = StepInputs { rule, learning_rate: 0.01, bias, theta, gradient: [1.0, -1.0], states };
    step_formulas(&trace(&inputs, batch), rule.info())
}

/// Finds a step that does everything, also what only some steps do: one after an interval of any hyperparameter that
/// counts steps, and not the first.
fn complete_step(rule: &RuleSpec) -> u64 {
    let intervals = rule.hyperparameters().filter(|(of, value)| of.is_whole() && *value > 0.0);
    intervals.map(|(_, value)| value as u64).product::<u64>().max(2) + 1
}

/// Returns the defaults of a hyperparameter, on the plane and in training.
pub fn defaults(of: &SettingInfo) -> [String; 2] {
    [of.default, of.in_training].map(|value| match of.choices().get(value as usize) {
        Some(choice) => choice.key.to_owned(),
        // Very small numbers are formatted so that they can be typed.
        None if value != 0.0 && value.abs() < 1e-4 => format!("{value:e}"),
        None => value.to_string(),
    })
}

/// Returns the values that a hyperparameter can have: `0 to 1`, or choices.
pub fn values(of: &SettingInfo) -> String {
    match of.range() {
        Some(range) if of.is_whole() => format!("{} to {}, whole", range.min, range.max),
        Some(range) => format!("{} to {}", range.min, range.max),
        None => of.choices().iter().map(|choice| choice.key).collect::<Vec<_>>().join(", "),
    }
}
