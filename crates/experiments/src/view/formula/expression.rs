//! Expressions in the text of formulas.

use crate::view::ticks::significant;

/// The estimate of the Hessian's diagonal in formulas.
pub(super) const CURVATURE: &str = "ĥ";
/// Significant digits in the formulas.
const DIGITS: usize = 4;

/// The display of the numbers in a formula.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Symbols,
    /// Numbers of x (0) or of y (1). Unnamed values that are equal for both are computed.
    Numbers(usize),
}

/// The binding strength of the parts of an expression.
pub(super) const SUM: u8 = 0;
pub(super) const PRODUCT: u8 = 1;
pub(super) const ATOM: u8 = 2;

/// An expression with its outermost operation.
pub(super) struct Expression {
    pub text: String,
    pub binding: u8,
}

impl Expression {
    pub(super) fn atom(text: impl Into<String>) -> Expression {
        Expression { text: text.into(), binding: ATOM }
    }

    /// Returns a number. A negative one binds like a sum, as its sign begins one; every other binds like a symbol.
    pub(super) fn number(value: f64) -> Expression {
        let text = text(value);
        let binding = if text.starts_with('−') { SUM } else { ATOM };
        Expression { text, binding }
    }

    /// Returns the text, in brackets where it binds less tightly.
    pub(super) fn at_least(&self, binding: u8) -> String {
        if self.binding < binding { format!("({})", self.text) } else { self.text.clone() }
    }
}

pub(super) fn sum(a: &Expression, b: &Expression) -> Expression {
    // A term that begins with a minus is put in brackets after a plus.
    let b = if b.text.starts_with('−') { format!("({})", b.text) } else { b.text.clone() };
    Expression { text: format!("{} + {b}", a.text), binding: SUM }
}

pub(super) fn difference(a: &Expression, b: &Expression) -> Expression {
    Expression { text: format!("{} − {}", a.text, b.at_least(PRODUCT)), binding: SUM }
}

pub(super) fn multiplied(factors: &[Expression], mode: Mode) -> Expression {
    let between = if mode == Mode::Symbols { " " } else { " · " };
    let texts: Vec<String> = factors.iter().map(|factor| factor.at_least(ATOM)).collect();
    Expression { text: texts.join(between), binding: PRODUCT }
}

/// Returns a symbol with a hat.
pub(super) fn hat(symbol: &str) -> String {
    // Precomposed letters are drawn better.
    match symbol {
        "s" => "ŝ".to_owned(),
        "g" => "ĝ".to_owned(),
        "h" => "ĥ".to_owned(),
        other => format!("{other}\u{302}"),
    }
}

/// Returns a number in a formula. Hyperparameters such as 0.9 are not padded with zeros, and 1e-8 is `10⁻⁸`.
pub fn text(value: f64) -> String {
    let exact = significant(value, 12);
    if let Some(("1.00000000000", power)) = exact.split_once('×') {
        return power.to_owned();
    }
    let rounded = significant(value, DIGITS);
    let trimmed = |text: &str| match text.contains('×') || !text.contains('.') {
        true => text.to_owned(),
        false => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    if trimmed(&exact).chars().count() <= rounded.chars().count() { trimmed(&exact) } else { rounded }
}

/// Returns a result, always with the same number of digits, so that columns line up.
pub fn result_text(value: f64) -> String {
    significant(value, DIGITS + 1)
}
