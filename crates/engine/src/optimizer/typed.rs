//! Rules that are typed: the language of [`program`](super::program) as one more rule.

use std::sync::Mutex;

use super::program::{GivenOfStep, Program, ProgramCoefficients};
use super::{
    Algebra, Batch, Hyperparameter, HyperparameterKind, MOST_HYPERPARAMETERS, MOST_STATES, Marker, MarkerShape, Moved,
    Need, Rule, RuleInfo, RuleInput, RuleKind, RuleSpec, Scalar, StepArrow, StepPart, StepSettings,
};
use crate::language::{Parameter, ProgramError};
use crate::quantity::{Beta, Range};
use crate::spacing::Spacing;
use crate::typed_text::{Compiled, Interned};

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
    pub(crate) const MARKER: Marker = Marker::filled(MarkerShape::Star);
    const COLOR: [u8; 3] = [186, 153, 139];

    pub fn info(&'static self) -> &'static RuleInfo {
        &self.compiled.info
    }

    /// Lists the tables of the hyperparameters of all rules typed so far.
    pub(super) fn tables() -> Vec<&'static [Hyperparameter]> {
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
        RuleKind::named(name).is_some() || name == Typed::INFO.name
    }

    fn interned() -> &'static Mutex<Vec<&'static TypedRule>> {
        static INTERNED: Mutex<Vec<&'static TypedRule>> = Mutex::new(Vec::new());
        &INTERNED
    }
}

/// A name as it is shown: with a Greek letter and an index in place of their names, so that no two look alike.
pub(crate) fn symbol(name: &str) -> &'static str {
    const GREEK: [(&str, &str); 15] = [
        ("alpha", "α"),
        ("beta", "β"),
        ("gamma", "γ"),
        ("delta", "δ"),
        ("eps", "ε"),
        ("zeta", "ζ"),
        ("kappa", "κ"),
        ("lambda", "λ"),
        ("mu", "μ"),
        ("nu", "ν"),
        ("rho", "ρ"),
        ("sigma", "σ"),
        ("tau", "τ"),
        ("phi", "φ"),
        ("psi", "ψ"),
    ];
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let index = name[letters.len()..].chars().filter_map(|digit| char::from_u32(0x2080 + digit.to_digit(10)?));
    let greek = GREEK.iter().find(|(word, _)| *word == letters).map_or(letters, |(_, letter)| letter);
    greek.chars().chain(index).collect::<String>().leak()
}

/// The states, then the other names, in the order in which the lines assign to them.
fn parts(program: &Program) -> Vec<StepPart> {
    let part = |name: &String| match program.states().contains(name) {
        true => StepPart::state(symbol(name), name.clone().leak(), ""),
        false if program.is_of_step(name) => StepPart::coefficient(symbol(name)),
        false => StepPart::quantity(symbol(name), ""),
    };
    program.names().iter().map(part).collect()
}

fn info(name: &'static str, program: &Program, parts: &'static [StepPart]) -> RuleInfo {
    let state = |name: &String| -> &'static StepPart {
        let named = parts.iter().find(|part| part.is_state_of(name));
        named.unwrap_or_else(|| Box::leak(Box::new(StepPart::state(symbol(name), name.clone().leak(), ""))))
    };
    let states: Vec<&'static StepPart> = program.states().iter().map(state).collect();
    let needs: &'static [Need] = if program.needs_whole_parameter() { &[Need::WholeParameter] } else { &[] };
    RuleInfo { name, hyperparameters: table(program), states: states.leak(), needs, ..Typed::INFO }
}

fn table(program: &Program) -> &'static [Hyperparameter] {
    let hyperparameter = |parameter: &Parameter| {
        let key = &*parameter.name.clone().leak();
        let symbol = symbol(key);
        let label = if symbol == key { key } else { format!("{key} {symbol}").leak() };
        let [low, high] = parameter.range;
        let range = Range { name: key, min: low, max: high };
        let of = Hyperparameter { key, ..Hyperparameter::number(symbol, label, range) };
        let of = of.defaults(parameter.default, parameter.default);
        match parameter.is_decay_rate {
            true => {
                let high = high.min(Beta::RANGE.max);
                let default = parameter.default.min(high);
                Hyperparameter { kind: HyperparameterKind::DecayRate, spacing: Spacing::LogComplement, ..of }
                    .slider(low, high)
                    .defaults(default, default)
            }
            false if low > 0.0 && high / low >= 1e3 => of.spacing(Spacing::Log),
            false => of,
        }
    };
    let mut table: Vec<Hyperparameter> = program.parameters().iter().map(hyperparameter).collect();
    if program.has_weight_decay() {
        table.push(Hyperparameter { key: Hyperparameter::WEIGHT_DECAY, ..Hyperparameter::weight_decay() });
    }
    table.leak()
}

/// Returns the inputs of the coefficients of a step.
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
        marker: TypedRule::MARKER,
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
