//! A step on the plane, recorded as it is computed.

use super::{
    Arithmetic, Batch, BiasCorrection, Numbers, Rates, Rule, RuleInput, RuleSpec, StepArrow, StepPart, StepSettings,
    WEIGHT_DECAY, with_rule,
};
use crate::expression::{Graph, Input, NodeId, Recorded, Tape, Traced};
use crate::setting::{SettingInfo, SettingKind};

/// The inputs of a step, for the coordinates x and y.
#[derive(Clone, Debug, PartialEq)]
pub struct StepInputs {
    pub rule: RuleSpec,
    /// η of this step.
    pub learning_rate: f64,
    pub bias: BiasCorrection,
    pub theta: [f64; 2],
    pub gradient: [f64; 2],
    /// The states, in the order of the rule's.
    pub states: Vec<[f64; 2]>,
}

/// A recorded step.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub graph: Graph,
    values: Vec<[f64; 2]>,
    /// The named nodes, in the order in which they are computed.
    pub parts: Vec<(NodeId, &'static StepPart)>,
    /// The vectors to draw, whose negatives are the arrows.
    pub arrows: Vec<(&'static StepArrow, [f64; 2])>,
    /// θ after the step.
    pub theta: NodeId,
    pub direction: [f64; 2],
    /// The state after the step, in the order of the rule's states, and its values.
    pub new_states: Vec<NodeId>,
    pub states: Vec<[f64; 2]>,
}

impl Trace {
    /// Returns the value of a node for the coordinates x and y.
    pub fn values(&self, id: NodeId) -> [f64; 2] {
        self.values[id.0]
    }
}

/// Takes a step with traced numbers.
pub fn trace(inputs: &StepInputs, batch: impl Batch<[f64; 2]>) -> Trace {
    with_rule!(inputs.rule.kind(), R => trace_rule::<R>(inputs, batch, Tape::default()))
}

/// Records a rule for all steps and for parameters of any shape: choices among its hyperparameters are made as `rule`
/// has them, and both branches of conditions on the step are recorded. Values have no meaning.
pub(crate) fn trace_all_steps(rule: &RuleSpec) -> Trace {
    let unknown = [f64::NAN; 2];
    let inputs = StepInputs {
        rule: *rule,
        learning_rate: f64::NAN,
        bias: BiasCorrection::START,
        theta: unknown,
        gradient: unknown,
        states: vec![unknown; rule.info().states.len()],
    };
    with_rule!(rule.kind(), R => trace_rule::<R>(&inputs, UnknownBatch, Tape::of_all_steps()))
}

/// The batch of a step of which only the formulas are of interest.
#[derive(Clone, Copy)]
struct UnknownBatch;

impl Batch<[f64; 2]> for UnknownBatch {
    fn gradient_at(self, _theta: [f64; 2]) -> [f64; 2] {
        [f64::NAN; 2]
    }

    fn curvature(self) -> [f64; 2] {
        [f64::NAN; 2]
    }
}

fn trace_rule<R: Rule>(inputs: &StepInputs, batch: impl Batch<[f64; 2]>, tape: Tape) -> Trace {
    let StepInputs { rule, learning_rate, bias, theta, gradient, states } = inputs;
    let table = R::info(rule).hyperparameters;
    let hyper = <R::Hyper<Traced<'_>> as Numbers<_>>::from_fn(|index| match table.get(index) {
        None | Some(SettingInfo { kind: SettingKind::Choice(_), .. }) => Traced::splat(rule.values()[index]),
        Some(_) => tape.input(Input::Parameter(index), [rule.values()[index]; 2]),
    });
    let power = <R::Hyper<Traced<'_>> as Numbers<_>>::from_fn(|index| match table.get(index) {
        None => Traced::splat(1.0),
        Some(_) => tape.input(Input::Power(index), [bias.powers[index]; 2]),
    });
    let t = tape.input(Input::Step, [bias.steps as f64; 2]);
    let settings = StepSettings { hyper, t, power, share: bias.weights.share, typed: rule.kind().typed() };
    let coefficients = R::coefficients(&settings, |coefficient| coefficient);
    let rates = Rates {
        learning_rate: tape.input(Input::LearningRate, [*learning_rate; 2]),
        weight_decay: match rule.hyperparameter(WEIGHT_DECAY) {
            Some(_) => tape.input(Input::WeightDecay, [rule.weight_decay(); 2]),
            None => Traced::splat(0.0),
        },
        is_cautious: rule.is_cautious(),
    };
    let seen = RuleInput {
        rates,
        theta: tape.input(Input::Theta, *theta),
        gradient: tape.input(Input::Gradient, *gradient),
        batch: TracedBatch::new(&tape, batch),
    };
    let state = Numbers::from_fn(|index| match states.get(index) {
        Some(values) => tape.input(Input::State(index), *values),
        None => Traced::splat(0.0),
    });
    let (state, moved) = R::step(&coefficients, seen, state);
    let states = &state.as_ref()[..states.len()];
    let new_states = states.iter().map(|state| tape.id(*state)).collect();
    let states = states.iter().map(|state| state.values()).collect();
    let (theta, direction) = (tape.id(moved.theta), moved.direction.values());
    let Recorded { graph, values, parts, arrows } = tape.recorded();
    Trace { graph, values, parts, arrows, theta, direction, new_states, states }
}

/// A batch whose answers are recorded.
#[derive(Clone, Copy, Debug)]
pub struct TracedBatch<'t, B> {
    tape: &'t Tape,
    batch: B,
}

impl<'t, B> TracedBatch<'t, B> {
    pub fn new(tape: &'t Tape, batch: B) -> Self {
        TracedBatch { tape, batch }
    }
}

impl<'t, B: Batch<[f64; 2]>> Batch<Traced<'t>> for TracedBatch<'t, B> {
    fn gradient_at(self, theta: Traced<'t>) -> Traced<'t> {
        self.tape.gradient_at(theta, self.batch.gradient_at(theta.values()))
    }

    fn curvature(self) -> Traced<'t> {
        self.tape.input(Input::Curvature, self.batch.curvature())
    }
}
