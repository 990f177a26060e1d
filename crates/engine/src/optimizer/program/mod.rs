//! Update rules as text: a small language, and the programs that are made of it.
//!
//! ```text
//! state m, avg
//! param beta1 = 0.9 in 0..1, beta2 = 0.9 in 0..1, gamma = 0.2 in -1..1
//! m   = beta1*m + (1 - beta1)*g
//! avg = avg + (1 - beta2)/(1 - beta2^t)*(theta - avg)
//! theta = theta - eta*(sign(m) + gamma*sign(theta - avg) + omega*theta)
//! ```
//!
//! A line declares states, which are 0 before the first step, or hyperparameters with a default and a range, or assigns
//! to a state, to `theta` or to a new name. Given are `theta`, the gradient `g`, the number of the step `t` from 1, the
//! learning rate `eta` and the weight decay `omega`. There are `+ - * / ^`, comparisons, which are 1 or 0, `where(c, a,
//! b)`, `sign abs sqrt exp ln tanh sin cos min max clamp`, and over the whole parameter `norm mean sum dot`. `#` begins
//! a comment. The power `β^t` of a hyperparameter between 0 and 1 is its product over the steps, also when it is
//! changed on the way.
//!
//! A text becomes a graph of numbers ([`language`](crate::language)), and that a list of instructions ([`code`]), of
//! which those that depend on hyperparameters and t alone are executed once a step. The instructions are executed for
//! the numbers of any [`Algebra`](super::Algebra): vectors of particles or parameters, and numbers that are recorded
//! for formulas and tensors. Sizes are bounded, as programs come with presets from anywhere.

mod code;
mod text;

pub(crate) use code::GivenOfStep;
pub use code::{ProgramCoefficients, step_slices};
pub use text::text_of;

use std::sync::Mutex;

use super::{
    Algebra, Batch, External, MOST_HYPERPARAMETERS, MOST_STATES, Marker, MarkerShape, Moved, Need, Rule, RuleInfo,
    RuleInput, RuleKind, RuleSpec, Scalar, StepArrow, StepPart, StepSettings,
};
use crate::expression::compile::{Excess, Instruction};
use crate::expression::{Graph, Input, Node, NodeId, Op};
use crate::language::{Dialect, Parameter, ProgramError, parse, symbol};
use crate::quantity::{Beta, Range};
use crate::setting::{SettingInfo, SettingKind, Spacing};
use crate::typed_text::{Compiled, Interned};
use code::{COEFFICIENTS, Code, REGISTERS, STEP_NUMBERS};

/// The language of rules.
const RULES: Dialect = Dialect {
    given: &[
        ("theta", Input::Theta),
        ("g", Input::Gradient),
        ("t", Input::Step),
        ("eta", Input::LearningRate),
        ("omega", Input::WeightDecay),
    ],
    has_axes: false,
    most_states: MOST_STATES,
    target: "theta",
    target_line: "a line `theta = …` that takes the step",
    // One less than of all rules, for the weight decay.
    most_parameters: MOST_HYPERPARAMETERS - 1,
    parameter: "hyperparameter",
    // The fields of a typed rule in a preset besides its hyperparameters, and the weight decay, which every rule has.
    reserved: &["name", "text", "learning_rate", "lr", "schedule", "schedule_end", "weight_decay"],
};

/// An update rule that was read from text.
#[derive(Clone, Debug)]
pub struct Program {
    text: String,
    states: Vec<String>,
    parameters: Vec<Parameter>,
    names: Vec<String>,
    /// The `names` whose numbers are the same for all elements.
    names_of_step: Vec<String>,
    has_weight_decay: bool,
    needs_whole_parameter: bool,
    code: Code,
}

impl Program {
    /// Reads a text.
    ///
    /// # Errors
    ///
    /// The first mistake, and where it stands.
    pub fn new(text: &str) -> Result<Program, ProgramError> {
        let mut parsed = parse(text, &RULES)?;
        let end = text.len()..text.len();
        if parsed.graph.largest_expression() > Graph::LARGEST_EXPRESSION {
            let expected = format!("at most {} numbers in an expression, written out", Graph::LARGEST_EXPRESSION);
            return Err(ProgramError::new(text, end, expected, "more"));
        }
        let Some(direction) = parsed.graph.direction(parsed.target) else {
            let expected = format!("at most {} operations", parsed.graph.most_nodes());
            return Err(ProgramError::new(text, end, expected, "more"));
        };
        let code = Code::new(&parsed, direction).map_err(|excess| {
            let expected = match excess {
                Excess::Registers => format!("a rule that keeps at most {REGISTERS} numbers of an element at a time"),
                Excess::Coefficients => format!("at most {COEFFICIENTS} constants and coefficients"),
                Excess::UniformNumbers => format!("at most {STEP_NUMBERS} operations on hyperparameters"),
            };
            ProgramError::new(text, end, expected, "more")
        })?;
        let is_whole = |instruction: &Instruction| instruction.operation.is_reduction();
        Ok(Program {
            text: text.to_owned(),
            has_weight_decay: code.has_weight_decay,
            needs_whole_parameter: code.instructions.iter().any(is_whole),
            names_of_step: parsed.names_of_step(),
            names: parsed.named.into_iter().map(|(_, name)| name).collect(),
            states: parsed.states,
            parameters: parsed.parameters,
            code,
        })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The names of what it remembers.
    pub(crate) fn states(&self) -> &[String] {
        &self.states
    }

    pub(crate) fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The names that lines assign to, in their order, without `theta`.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the number of this name follows from hyperparameters and t.
    pub(crate) fn is_of_step(&self, name: &str) -> bool {
        self.names_of_step.iter().any(|known| known == name)
    }

    /// Whether the step depends on the weight decay `omega`.
    pub(crate) fn has_weight_decay(&self) -> bool {
        self.has_weight_decay
    }

    /// Whether the step uses `norm`, `mean`, `sum` or `dot`.
    pub fn needs_whole_parameter(&self) -> bool {
        self.needs_whole_parameter
    }
}

/// The rule of a [`TypedRule`], whose steps follow its text.
pub struct Typed;

/// A typed rule.
pub type TypedRule = Interned<CompiledRule>;

/// The program and the description of a typed rule.
#[derive(Debug)]
pub struct CompiledRule {
    program: Program,
    info: RuleInfo,
    /// The named results of the lines of the text, in their order.
    parts: &'static [StepPart],
}

impl Interned<CompiledRule> {
    /// The colour of a typed rule that is shown alone. Among others, a typed rule has a colour that differs from all.
    pub const COLOR: [u8; 3] = [186, 153, 139];

    pub fn info(&'static self) -> &'static RuleInfo {
        &self.compiled.info
    }

    pub(super) fn tables() -> Vec<&'static [SettingInfo]> {
        TypedRule::all().into_iter().map(|rule| rule.compiled.info.hyperparameters).collect()
    }
}

impl Compiled for CompiledRule {
    const NOUN: &'static str = "rule";
    const KIN: &'static str = "optimizer";

    fn compile(name: &str, text: &str) -> Result<CompiledRule, ProgramError> {
        let program = Program::new(text)?;
        let parts = parts(&program).leak();
        Ok(CompiledRule { info: info(name.to_owned().leak(), &program, parts), program, parts })
    }

    fn name(&self) -> &'static str {
        self.info.name
    }

    fn text(&self) -> &str {
        self.program.text()
    }

    fn is_built_in(name: &str) -> bool {
        RuleKind::named(name).is_some() || [Typed::INFO.name, External::INFO.name].contains(&name)
    }

    fn interned() -> &'static Mutex<Vec<&'static TypedRule>> {
        static INTERNED: Mutex<Vec<&'static TypedRule>> = Mutex::new(Vec::new());
        &INTERNED
    }
}

/// The states, then the other names, in the order in which the lines assign to them.
fn parts(program: &Program) -> Vec<StepPart> {
    let part = |name: &String| match program.states().contains(name) {
        true => StepPart::state(symbol(name).leak(), name.clone().leak(), ""),
        false if program.is_of_step(name) => StepPart::coefficient(symbol(name).leak()),
        false => StepPart::quantity(symbol(name).leak(), ""),
    };
    program.names().iter().map(part).collect()
}

fn info(name: &'static str, program: &Program, parts: &'static [StepPart]) -> RuleInfo {
    let state = |name: &String| -> &'static StepPart {
        let named = parts.iter().find(|part| part.is_state_of(name));
        named.unwrap_or_else(|| Box::leak(Box::new(StepPart::state(symbol(name).leak(), name.clone().leak(), ""))))
    };
    let states: Vec<&'static StepPart> = program.states().iter().map(state).collect();
    let needs: &'static [Need] = if program.needs_whole_parameter() { &[Need::WholeParameter] } else { &[] };
    let marker = Marker::of_name(name);
    RuleInfo { name, marker, hyperparameters: table(program), states: states.leak(), needs, ..Typed::INFO }
}

fn table(program: &Program) -> &'static [SettingInfo] {
    let hyperparameter = |parameter: &Parameter| {
        let key = &*parameter.name.clone().leak();
        let symbol = &*symbol(key).leak();
        let label = if symbol == key { key } else { format!("{key} {symbol}").leak() };
        let [low, high] = parameter.range;
        let of = SettingInfo::number(symbol, label, Range::new(key, low, high)).default(parameter.default);
        match parameter.is_decay_rate {
            true => {
                let high = high.min(Beta::RANGE.max);
                let default = parameter.default.min(high);
                SettingInfo { kind: SettingKind::DecayRate, ..of }
                    .slider(low, high)
                    .spacing(Spacing::LogComplement)
                    .default(default)
            }
            false if low > 0.0 && high / low >= 1e3 => of.logarithmic(),
            false => of,
        }
    };
    let mut table: Vec<SettingInfo> = program.parameters().iter().map(hyperparameter).collect();
    if program.has_weight_decay() {
        table.push(SettingInfo::weight_decay());
    }
    table.leak()
}

#[inline(always)]
fn given<N: Copy>(settings: &StepSettings<N, [N; MOST_HYPERPARAMETERS]>) -> GivenOfStep<'_, N> {
    GivenOfStep { parameters: &settings.hyper, powers: &settings.power, t: settings.t }
}

const DIRECTION: StepArrow = StepArrow::direction("−d", "direction of the step");

impl Rule for Typed {
    /// The description that all typed rules share.
    const INFO: RuleInfo = RuleInfo {
        name: "Typed",
        color: TypedRule::COLOR,
        marker: Marker::filled(MarkerShape::Star),
        source: "a rule of your own",
        hyperparameters: &[],
        states: &[],
        needs: &[],
        observed: None,
    };

    type Hyper<N: Copy> = [N; MOST_HYPERPARAMETERS];
    type Coefficients<A: Algebra> = ProgramCoefficients<A>;
    type State<A: Algebra> = [A; MOST_STATES];

    #[inline(always)]
    fn info(rule: &RuleSpec) -> &'static RuleInfo {
        rule.info()
    }

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(
        settings: &StepSettings<N, [N; MOST_HYPERPARAMETERS]>,
        of: impl Fn(N) -> A,
    ) -> ProgramCoefficients<A> {
        let CompiledRule { program, parts, .. } = &settings.typed.expect("a typed rule has its text").compiled;
        let mut coefficients = ProgramCoefficients::new(program, parts);
        coefficients.set(given(settings), of);
        coefficients
    }

    #[inline(always)]
    fn set_coefficients<N: Scalar, A: Algebra>(
        coefficients: &mut ProgramCoefficients<A>,
        settings: &StepSettings<N, [N; MOST_HYPERPARAMETERS]>,
        of: impl Fn(N) -> A,
    ) {
        coefficients.set_changed(given(settings), of);
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(
        coefficients: &ProgramCoefficients<A>,
        seen: RuleInput<A, B>,
        mut states: [A; MOST_STATES],
    ) -> ([A; MOST_STATES], Moved<A>) {
        let moved = Typed::step_in_place(coefficients, seen, &mut states);
        (states, moved)
    }

    #[inline(always)]
    fn step_in_place<A: Algebra, B: Batch<A>>(
        coefficients: &ProgramCoefficients<A>,
        RuleInput { rates, theta, gradient, .. }: RuleInput<A, B>,
        states: &mut [A; MOST_STATES],
    ) -> Moved<A> {
        let moved = coefficients.step(rates, theta, gradient, states);
        A::draw(&DIRECTION, || moved.direction);
        moved
    }
}

impl Graph {
    /// `(θ − θ′) / η`, where θ′ is θ after a step without weight decay: the direction of the step. Where η is not found
    /// as a factor, it is 0 for η = 0.
    fn direction(&mut self, theta_after: NodeId) -> Option<NodeId> {
        let after = self.without_decay(theta_after)?;
        let theta = self.add(Node::Input(Input::Theta))?;
        let moved = match self.node(after) {
            Node::Of(Op::Sub(from, by)) if from == theta => self.over_rate(by)?,
            Node::Of(Op::Add(from, by)) if from == theta => match self.over_rate(by)? {
                Some(by) => Some(self.add(Node::Of(Op::Neg(by)))?),
                None => None,
            },
            _ => None,
        };
        if moved.is_some() {
            return moved;
        }
        let difference = self.add(Node::Of(Op::Sub(theta, after)))?;
        let rate = self.add(Node::Input(Input::LearningRate))?;
        let quotient = self.add(Node::Of(Op::Div(difference, rate)))?;
        // A schedule may end with no step at all.
        let none = self.constant(0.0)?;
        self.add(Node::Of(Op::Select(rate, quotient, none)))
    }

    /// Returns the number for ω = 0.
    fn without_decay(&mut self, of: NodeId) -> Option<NodeId> {
        // Nodes come after what they are computed of, so that one pass suffices.
        let mut replaced: Vec<NodeId> = Vec::with_capacity(of.0 + 1);
        for index in 0..=of.0 {
            let same = match self.node(NodeId(index)) {
                Node::Input(Input::WeightDecay) => self.constant(0.0)?,
                Node::Constant(_) | Node::Input(_) => NodeId(index),
                Node::Of(op) => {
                    let without = op.map(|operand| replaced[operand.0]);
                    if without == op { NodeId(index) } else { self.simplified(without)? }
                }
            };
            replaced.push(same);
        }
        Some(replaced[of.0])
    }

    /// Interns an operation without terms that are 0 and factors that are 1.
    fn simplified(&mut self, op: Op<NodeId>) -> Option<NodeId> {
        let is = |graph: &Graph, id: NodeId, value: f64| graph.node(id) == Node::Constant(value);
        match op {
            Op::Mul(a, b) if is(self, a, 0.0) || is(self, b, 0.0) => self.constant(0.0),
            Op::Div(a, _) if is(self, a, 0.0) => self.constant(0.0),
            Op::Mul(a, b) if is(self, a, 1.0) => Some(b),
            Op::Mul(a, b) if is(self, b, 1.0) => Some(a),
            Op::Add(a, b) if is(self, a, 0.0) => Some(b),
            Op::Add(a, b) | Op::Sub(a, b) if is(self, b, 0.0) => Some(a),
            Op::Sub(a, b) => match (self.node(a), self.node(b)) {
                (Node::Constant(a), Node::Constant(b)) => self.constant(a - b),
                _ => self.add(Node::Of(op)),
            },
            other => self.add(Node::Of(other)),
        }
    }

    /// Returns a number divided by η, if η is a factor of it.
    fn over_rate(&mut self, of: NodeId) -> Option<Option<NodeId>> {
        let made = |graph: &mut Graph, op| graph.add(Node::Of(op)).map(Some);
        match self.node(of) {
            Node::Input(Input::LearningRate) => self.constant(1.0).map(Some),
            Node::Of(Op::Mul(a, b)) => {
                for (a, b) in [(a, b), (b, a)] {
                    if self.node(a) == Node::Input(Input::LearningRate) {
                        return Some(Some(b));
                    }
                    if let Some(a) = self.over_rate(a)? {
                        return made(self, Op::Mul(a, b));
                    }
                }
                Some(None)
            }
            Node::Of(Op::Div(a, b)) => match self.over_rate(a)? {
                // η / b is 1 / b.
                Some(a) => made(self, Op::Div(a, b)),
                None => Some(None),
            },
            Node::Of(Op::Neg(a)) => match self.over_rate(a)? {
                Some(a) => made(self, Op::Neg(a)),
                None => Some(None),
            },
            Node::Constant(_) | Node::Input(_) | Node::Of(_) => Some(None),
        }
    }
}
