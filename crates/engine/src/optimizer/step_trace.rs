//! A step on the plane, recorded as it is computed.

use super::step_part::{StepArrow, StepPart};
use super::trace::{Node, Operand, Recorded, Symbol, Tape, Traced, TracedBatch};
use super::{
    Algebra, Batch, BiasCorrection, Hyperparameter, HyperparameterKind, Numbers, Rates, Rule, RuleInput, RuleSpec,
    StepSettings, with_rule,
};

/// The inputs of a step, for the coordinates x and y.
#[derive(Clone, Debug, PartialEq)]
pub struct StepInputs {
    pub rule: RuleSpec,
    /// η of this step.
    pub learning_rate: f64,
    /// The bias correction of this step.
    pub bias: BiasCorrection,
    pub theta: [f64; 2],
    pub gradient: [f64; 2],
    /// The states, in the order of the rule's.
    pub states: Vec<[f64; 2]>,
}

/// A step, recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub nodes: Vec<Node>,
    /// The named ones among the nodes, in the order in which they are computed.
    pub parts: Vec<(usize, &'static StepPart)>,
    /// The vectors to draw, whose negatives are the arrows.
    pub arrows: Vec<(&'static StepArrow, [f64; 2])>,
    /// θ after the step.
    pub theta: Operand,
    pub direction: [f64; 2],
    /// The state after the step, in the order of the rule's states, and its values.
    pub new_states: Vec<Operand>,
    pub states: Vec<[f64; 2]>,
}

/// Takes a step with traced numbers.
pub fn trace(inputs: &StepInputs, batch: impl Batch<[f64; 2]>) -> Trace {
    with_rule!(inputs.rule.kind(), R => trace_rule::<R>(inputs, batch))
}

fn trace_rule<R: Rule>(inputs: &StepInputs, batch: impl Batch<[f64; 2]>) -> Trace {
    let StepInputs { rule, learning_rate, bias, theta, gradient, states } = inputs;
    let tape = Tape::default();
    let table = R::info(rule).hyperparameters;
    let hyper = <R::Hyper<Traced<'_>> as Numbers<_>>::from_fn(|index| match table.get(index) {
        None | Some(Hyperparameter { kind: HyperparameterKind::Choice(_), .. }) => Traced::splat(rule.values()[index]),
        Some(of) => tape.symbol(Symbol::Hyperparameter(of.symbol), [rule.values()[index]; 2]),
    });
    let power = <R::Hyper<Traced<'_>> as Numbers<_>>::from_fn(|index| match table.get(index) {
        None => Traced::splat(1.0),
        Some(of) => tape.symbol(Symbol::Power(of.symbol), [bias.powers[index]; 2]),
    });
    let t = tape.symbol(Symbol::Step, [bias.steps as f64; 2]);
    let settings = StepSettings { hyper, t, power, share: bias.weights.share, typed: rule.kind().typed() };
    let coefficients = R::coefficients(&settings, |coefficient| coefficient);
    let rates = Rates {
        learning_rate: tape.symbol(Symbol::LearningRate, [*learning_rate; 2]),
        weight_decay: match rule.hyperparameter(Hyperparameter::WEIGHT_DECAY) {
            Some(_) => tape.symbol(Symbol::WeightDecay, [rule.weight_decay(); 2]),
            None => Traced::splat(0.0),
        },
        is_cautious: rule.is_cautious(),
    };
    let seen = RuleInput {
        rates,
        theta: tape.symbol(Symbol::Theta, *theta),
        gradient: tape.symbol(Symbol::Gradient, *gradient),
        batch: TracedBatch::new(&tape, batch),
    };
    let state = Numbers::from_fn(|index| match states.get(index) {
        Some(values) => tape.symbol(Symbol::State(index), *values),
        None => Traced::splat(0.0),
    });
    let (state, moved) = R::step(&coefficients, seen, state);
    let states = &state.as_ref()[..states.len()];
    let new_states = states.iter().map(|state| state.operand()).collect();
    let states = states.iter().map(|state| state.values()).collect();
    let (theta, direction) = (moved.theta.operand(), moved.direction.values());
    let Recorded { nodes, parts, arrows } = tape.recorded();
    Trace { nodes, parts, arrows, theta, direction, new_states, states }
}
