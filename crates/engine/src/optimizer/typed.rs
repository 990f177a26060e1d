//! Rules that are typed: the language of [`program`](super::program) as one more rule.
//!
//! [`RuleKind::Typed`](super::RuleKind) holds a `&'static TypedRule`: equal names and texts are kept once, so that
//! rules stay `Copy` and are compared by their address. Each text without a mistake that is typed stays in memory, a
//! few kB.

use std::hash::{Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::program::{GivenOfStep, Program, ProgramCoefficients};
use super::{
    Algebra, Batch, Hyperparameter, HyperparameterKind, MOST_HYPERPARAMETERS, MOST_STATES, Marker, MarkerShape, Moved,
    Need, Rule, RuleInfo, RuleInput, RuleKind, RuleSpec, Scalar, StepArrow, StepPart, StepSettings,
};
use crate::language::{Parameter, ProgramError};
use crate::latest::{latest, make_latest};
use crate::quantity::{Beta, Range};
use crate::spacing::Spacing;
use crate::terminal_escape::{escaped_name, is_visible_name};

/// The rule of a [`TypedRule`], whose steps follow its text.
pub struct Typed;

/// A rule that was typed, with its name. Equal ones are kept once, for as long as the program runs.
#[derive(Debug)]
pub struct TypedRule {
    name: &'static str,
    program: Program,
    info: RuleInfo,
    /// The named results of the lines of the text, in their order.
    parts: &'static [StepPart],
}

/// The reason why a typed rule is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypedRuleError {
    #[error("the rule's text, {0}")]
    Text(#[from] ProgramError),
    #[error("a typed rule has a name of 1 to {} characters, found {found} of them", TypedRule::LONGEST_NAME)]
    Name { found: usize },
    #[error(
        "a typed rule's name has a visible character, no spaces around it, and no control characters or other invisible \
         ones, found `{0}`"
    )]
    Characters(String),
    #[error("the name `{0}` is that of another optimizer; a typed rule has a name of its own")]
    NameOfAnother(String),
}

/// All that were made so far.
static KNOWN: Mutex<Vec<&'static TypedRule>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<&'static TypedRule>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TypedRule {
    pub const LONGEST_NAME: usize = 60;
    pub(crate) const MARKER: Marker = Marker::filled(MarkerShape::Star);
    const COLOR: [u8; 3] = [188, 152, 128];

    /// The rule of this name and text.
    ///
    /// # Errors
    ///
    /// The first mistake in the text, or a name that is empty, too long or that of another optimizer.
    pub fn new(name: &str, text: &str) -> Result<&'static TypedRule, TypedRuleError> {
        let is_it = |rule: &&&'static TypedRule| rule.name == name && rule.text() == text;
        if let Some(rule) = known().iter().find(is_it) {
            return Ok(rule);
        }
        let length = name.chars().count();
        if length == 0 || length > Self::LONGEST_NAME {
            return Err(TypedRuleError::Name { found: length });
        }
        if name.trim() != name || !is_visible_name(name) {
            return Err(TypedRuleError::Characters(escaped_name(name)));
        }
        if RuleKind::named(name).is_some() || name == Typed::INFO.name {
            return Err(TypedRuleError::NameOfAnother(name.to_owned()));
        }
        let program = Program::new(text)?;
        let mut known = known();
        if let Some(rule) = known.iter().find(is_it) {
            return Ok(rule);
        }
        let name = &*name.to_owned().leak();
        let parts = parts(&program).leak();
        let rule = Box::leak(Box::new(TypedRule { name, info: info(name, &program, parts), program, parts }));
        known.push(rule);
        Ok(rule)
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn text(&self) -> &str {
        self.program.text()
    }

    pub fn info(&'static self) -> &'static RuleInfo {
        &self.info
    }

    /// Makes it the last of its name, as where its text is typed once more after others.
    pub fn make_latest(&'static self) {
        make_latest(&mut known(), self, TypedRule::name);
    }

    /// The last of each name, in the order of the names' first.
    pub fn latest() -> Vec<&'static TypedRule> {
        latest(&known(), TypedRule::name)
    }

    /// The tables of the hyperparameters of all that were made so far.
    pub(super) fn tables() -> Vec<&'static [Hyperparameter]> {
        known().iter().map(|rule| rule.info.hyperparameters).collect()
    }
}

/// Each is kept once.
impl PartialEq for TypedRule {
    fn eq(&self, other: &TypedRule) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for TypedRule {}

impl Hash for TypedRule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
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
        let TypedRule { program, parts, .. } = settings.typed.expect("a typed rule has its text");
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
