//! Landscapes as text.

use std::fmt::Write;

use egui::{CollapsingHeader, Label, RichText, Ui};
use valleyscope_engine::landscape::{LandscapeFormula, LandscapeInfo, LandscapeKind, LandscapeSpec};
use valleyscope_engine::parameter::BoundedParameter;

use super::{Mistake, TypedKind, Words, read_as};

const WORDS: Words = Words {
    noun: "landscape",
    own: "A formula of your own…",
    own_help: "Type a loss L(x, y) to simulate on and to sweep.",
    first_name: "My landscape",
    first_text: "\
# A valley that bends and narrows along x
param a = 10 in 0.1..1000, bend = 0.4 in 0..2
off = y - bend*sin(2*x)
L = a/2*(0.1 + x^2)*off^2 - 0.1*x
",
    language: &[
        ("x  y", "the coordinates of the point"),
        ("u  v", "the coordinates turned by φ: u = x cos φ + y sin φ, v = −x sin φ + y cos φ"),
        ("phi", "the rotation φ in radians"),
        ("param b = 100 in 1..1000", "a parameter with its default and range"),
        ("off = …", "a new name"),
        ("L = …", "the loss; its gradient and curvature are derived"),
    ],
};

impl TypedKind for LandscapeKind {
    type Spec = LandscapeSpec;

    const WORDS: Words = WORDS;
    const BUILT_IN: &'static [LandscapeKind] = LandscapeKind::ALL;
    const LONGEST_NAME: usize = LandscapeFormula::LONGEST_NAME;

    fn read(name: &str, text: &str) -> Result<LandscapeKind, Mistake> {
        Ok(LandscapeKind::Formula(LandscapeFormula::new(name, text)?))
    }

    fn latest() -> Vec<LandscapeKind> {
        LandscapeFormula::latest().into_iter().map(LandscapeKind::Formula).collect()
    }

    fn make_latest(self) {
        if let Some(formula) = self.formula() {
            formula.make_latest();
        }
    }

    fn of(spec: &LandscapeSpec) -> LandscapeKind {
        spec.kind()
    }

    fn in_spec(self, spec: &LandscapeSpec) -> LandscapeSpec {
        self.formula().map_or(*spec, |formula| spec.with_text(formula))
    }

    fn title(self) -> &'static str {
        self.name()
    }

    fn text(self) -> Option<&'static str> {
        self.formula().map(LandscapeFormula::text)
    }

    fn help(self) -> Option<String> {
        let LandscapeInfo { formula, about, source, .. } = self.info();
        self.formula().is_none().then(|| format!("{about}\n\nL = {formula}\n\nSource: {source}."))
    }

    fn derived(self, ui: &mut Ui) {
        CollapsingHeader::new("Gradient").show(ui, |ui| gradient(ui, self));
    }
}

/// Shows the derivatives of the loss: by u and v of a built-in landscape, by x and y of a typed one.
pub(in crate::app) fn gradient(ui: &mut Ui, kind: LandscapeKind) {
    let own_name: fn(&BoundedParameter) -> &'static str = match kind.formula() {
        Some(_) => BoundedParameter::key,
        None => |parameter| parameter.parameter.symbol,
    };
    let (_rotation, parameters) = kind.info().parameters.split_last().expect("a landscape can be rotated");
    let names: Vec<&str> = parameters.iter().map(own_name).collect();
    for line in kind.program().gradient_text(&names).lines() {
        let line = line.strip_prefix("L_").map_or_else(|| line.to_owned(), |rest| format!("∂L/∂{rest}"));
        ui.add(Label::new(RichText::new(line).monospace()).wrap());
    }
}

/// Makes a typed copy of a landscape: its parameters' values are the defaults of the text, and the rotation is kept.
///
/// # Errors
///
/// Returns why the landscape cannot be written as text.
pub(in crate::app) fn landscape_as_text(landscape: &LandscapeSpec) -> Result<LandscapeSpec, String> {
    let mut parameters: Vec<(&BoundedParameter, f64)> = landscape.parameters().collect();
    let _rotation = parameters.pop();
    let mut text = String::new();
    for (of, value) in &parameters {
        let extents = [of.parameter.slider, of.parameter.axis];
        let low = extents.iter().fold(*value, |low, extent| low.min(extent.low));
        let high = extents.iter().fold(*value, |high, extent| high.max(extent.high));
        writeln!(text, "param {} = {value} in {low}..{high}", of.key()).expect("a string takes all text");
    }
    let names: Vec<&str> = parameters.iter().map(|(of, _)| of.key()).collect();
    text += &landscape.kind().program().loss_text(&names);
    let name = landscape.kind().name();
    let refused = |reason: String| format!("{name} cannot be written as text: {reason}.");
    let kind: LandscapeKind = read_as(&format!("{name} as text"), &text).map_err(|mistake| refused(mistake.message))?;
    let mut copy = LandscapeSpec::new(kind);
    for (of, value) in landscape.parameters() {
        copy.set(of.key(), value).map_err(|error| refused(error.to_string()))?;
    }
    Ok(copy)
}
