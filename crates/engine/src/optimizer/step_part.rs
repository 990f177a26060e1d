//! Names of the parts of a step, for formulas and arrows.

/// A number in a step that has a name.
#[derive(Debug, PartialEq, Eq)]
pub struct StepPart {
    /// The symbol in formulas.
    pub symbol: &'static str,
    /// The meaning in words.
    pub meaning: &'static str,
    pub role: PartRole,
}

/// The role of a part in formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartRole {
    /// A number that is remembered from step to step: `m ← …`.
    State {
        /// The name in checkpoints.
        key: &'static str,
        /// Whether it is a place among the parameters, to be marked on the landscape.
        is_place: bool,
    },
    /// An intermediate result of the step: `d = …`.
    Quantity,
    /// A number that is the same for all parameters; shown after the formula that uses it.
    Coefficient,
}

impl StepPart {
    /// The momentum m of most rules.
    pub(crate) const MOMENTUM: StepPart = StepPart::state("m", "m", "running average of the gradients");
    /// The average s of squares of most rules.
    pub(crate) const SQUARES: StepPart = StepPart::state("s", "s", "running average of the squared gradients");
    /// The direction d of a step.
    pub(crate) const DIRECTION: StepPart = StepPart::quantity("d", "direction of the step");
    /// The direction d of Adam and of rules like it.
    pub(crate) const SIGNAL_OVER_NOISE: StepPart = StepPart::quantity("d", "direction: signal over noise");

    /// A number that the rule remembers for each parameter, with its name in checkpoints.
    pub(crate) const fn state(symbol: &'static str, key: &'static str, meaning: &'static str) -> StepPart {
        StepPart { symbol, meaning, role: PartRole::State { key, is_place: false } }
    }

    /// A remembered place among the parameters.
    pub(crate) const fn place(symbol: &'static str, key: &'static str, meaning: &'static str) -> StepPart {
        StepPart { symbol, meaning, role: PartRole::State { key, is_place: true } }
    }

    /// Whether it is the state with this name in checkpoints.
    pub(crate) fn is_state_of(&self, name: &str) -> bool {
        matches!(self.role, PartRole::State { key, .. } if key == name)
    }

    pub(crate) const fn quantity(symbol: &'static str, meaning: &'static str) -> StepPart {
        StepPart { symbol, meaning, role: PartRole::Quantity }
    }

    pub(crate) const fn coefficient(symbol: &'static str) -> StepPart {
        StepPart { symbol, meaning: "", role: PartRole::Coefficient }
    }
}

/// A vector that is drawn at a particle.
#[derive(Debug, PartialEq, Eq)]
pub struct StepArrow {
    /// The label at the arrow.
    pub label: &'static str,
    /// The meaning in the key of the arrows.
    pub meaning: &'static str,
    pub role: ArrowRole,
}

/// The role of an arrow; arrows of one role have one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowRole {
    Momentum,
    /// The direction that the rule makes from the momentum, or a part that it adds.
    Direction,
    /// The decoupled weight decay, which a rule adds to its direction.
    Decay,
}

impl StepArrow {
    /// The momentum m, along which the particle is moved.
    pub(crate) const MOMENTUM: StepArrow = StepArrow { label: "−m", meaning: "momentum", role: ArrowRole::Momentum };

    /// The decoupled weight decay, −ω times what decays.
    pub(crate) const DECAY: StepArrow = StepArrow { label: "decay", meaning: "weight decay", role: ArrowRole::Decay };

    pub(crate) const fn direction(label: &'static str, meaning: &'static str) -> StepArrow {
        StepArrow { label, meaning, role: ArrowRole::Direction }
    }
}
