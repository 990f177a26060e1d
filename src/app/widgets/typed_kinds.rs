//! Update rules and landscapes as text.

use std::fmt::Write;

use egui::{Button, CollapsingHeader, Id, Label, RichText, Ui};
use valleyscope_engine::landscape::{CompiledLandscape, LandscapeFormula, LandscapeInfo, LandscapeKind, LandscapeSpec};
use valleyscope_engine::optimizer::notation::{Notation, written};
use valleyscope_engine::optimizer::program::text_of;
use valleyscope_engine::optimizer::{CompiledRule, RatedRule, RuleKind, RuleSpec, TypedRule};
use valleyscope_engine::setting::SettingInfo;
use valleyscope_engine::simulation::defaults;

use super::form;
use super::text_editor::{TextTab, TypedKind, choices, complaint, read_as};

impl TypedKind for RuleKind {
    type Spec = RuleSpec;
    type Compiled = CompiledRule;

    const OWN: &'static str = "A rule of your own…";
    const OWN_HELP: &'static str = "Type an update rule to simulate, to sweep and to train with.";
    const FIRST_NAME: &'static str = "My rule";
    const FIRST_TEXT: &'static str = "\
# FOCUS: Signum, attracted to the average of the parameters
state m, avg
param beta1 = 0.9 in 0..1, beta2 = 0.9 in 0..1, gamma = 0.2 in -1..1
m   = beta1*m + (1 - beta1)*g
avg = avg + (1 - beta2)/(1 - beta2^t)*(theta - avg)
theta = theta - eta*(sign(m) + gamma*sign(theta - avg) + omega*theta)
";
    const LANGUAGE: &'static [(&'static str, &'static str)] = &[
        ("state m, s", "values kept between steps, 0 before the first"),
        ("param beta = 0.9 in 0..1", "a hyperparameter with its default and range"),
        ("m = …,  theta = …,  u = …", "a state, the parameters, or a new name"),
        ("theta  g  t  eta  omega", "parameters, gradient, number of the step from 1, learning rate, weight decay"),
        ("norm mean sum dot", "over the whole parameter: x and y on the plane, a tensor in training"),
        ("beta^t", "of a hyperparameter from 0 to 1: its product over the steps"),
    ];
    const BUILT_IN: &'static [RuleKind] = RuleKind::ALL;

    fn of(spec: &RuleSpec) -> RuleKind {
        spec.kind()
    }

    fn of_typed(rule: &'static TypedRule) -> RuleKind {
        RuleKind::Typed(rule)
    }

    fn typed(self) -> Option<&'static TypedRule> {
        self.typed()
    }

    fn in_spec(self, spec: &RuleSpec) -> RuleSpec {
        self.typed().map_or(*spec, |rule| spec.with_text(rule))
    }

    fn title(self) -> &'static str {
        self.info().name
    }

    fn help(self) -> Option<String> {
        None
    }

    fn derived(spec: &RuleSpec, ui: &mut Ui) {
        let rated = spec.rated(defaults::learning_rate());
        ui.menu_button("Copy as…", |ui| copy_entries(ui, &rated));
    }
}

pub(crate) struct RuleChoice<'a> {
    pub tab: TextTab,
    /// The optimizer's id.
    pub optimizer: u32,
    /// The accessible name.
    pub name: &'a str,
    /// Makes a rule with its default values.
    pub usual: fn(RuleKind) -> RuleSpec,
}

#[derive(Clone, Copy)]
struct Replacement {
    before: RuleSpec,
    after: RuleSpec,
    /// The rule in the last frame.
    seen: RuleSpec,
}

impl Replacement {
    /// Whether the rule may be the one of the last frame with another value of a hyperparameter. Otherwise undo or
    /// another preset has changed it.
    fn is_of(&self, rule: &RuleSpec) -> bool {
        let values = rule.hyperparameters().zip(self.seen.hyperparameters());
        rule.kind() == self.seen.kind() && values.filter(|((_, one), (_, other))| one != other).count() <= 1
    }
}

impl RuleChoice<'_> {
    /// Shows the row of the rule, whose menu replaces it; settings that both rules have stay. Returns whether it was
    /// replaced.
    pub(crate) fn row(&self, ui: &mut Ui, rule: &mut RuleSpec) -> bool {
        let before = *rule;
        ui.horizontal(|ui| {
            let help = "The update rule. A new one keeps the settings that both have.";
            let id = ("rule", self.name);
            let shown = form::list_field(ui, "Rule", help, id, rule.name(), 0.0, |ui| {
                if let Some(kind) = choices(ui, Some(before.kind())).filter(|kind| *kind != before.kind()) {
                    *rule = (self.usual)(kind).in_place_of(&before);
                    ui.data_mut(|data| data.insert_temp(self.id(), Replacement { before, after: *rule, seen: *rule }));
                }
            });
            shown.accessible_name(self.name);
        });
        self.note(ui, rule);
        rule.kind() != before.kind()
    }

    /// Shows which values the last replacement reset and which stayed, until it is dismissed or another rule is chosen,
    /// with a button that sets the rule's defaults for values that stayed.
    fn note(&self, ui: &mut Ui, rule: &mut RuleSpec) {
        let known = ui.data_mut(|data| {
            let known = data.get_temp::<Replacement>(self.id());
            data.remove::<Replacement>(self.id());
            known
        });
        let Some(Replacement { before, after, .. }) = known.filter(|replacement| replacement.is_of(rule)) else {
            return;
        };
        let mut is_dismissed = false;
        let own = (self.usual)(rule.kind());
        let others = rule.own_values(&before, &own);
        form::framed(ui, |ui| {
            ui.add(Label::new(RichText::new(after.replacement(&before, true)).small()).wrap());
            ui.horizontal_wrapped(|ui| {
                if !others.is_empty() {
                    let text = format!("Use {}'s own values", rule.name());
                    let button = Button::new(RichText::new(&text).small());
                    let hint = format!("Set {}. Kept values stay otherwise.", others.join(", "));
                    if ui.add(button).on_hover_text(hint).accessible_name(self.owned(&text)).clicked() {
                        *rule = own;
                    }
                }
                let dismiss = ui.add(Button::new(RichText::new("Dismiss").small()));
                is_dismissed = dismiss.accessible_name(self.owned("dismiss the note about the rule")).clicked();
            });
        });
        if !is_dismissed {
            ui.data_mut(|data| data.insert_temp(self.id(), Replacement { before, after, seen: *rule }));
        }
    }

    /// The accessible name of a button next to the choice.
    fn owned(&self, text: &str) -> String {
        format!("{}: {text}", self.name)
    }

    fn id(&self) -> Id {
        Id::unique(("rule replaced", self.tab, self.optimizer))
    }
}

/// Converts the rule to a typed one.
///
/// # Errors
///
/// Fails with the reason why the rule cannot be written as text.
pub(crate) fn rule_as_text(rule: &RuleSpec) -> Result<RuleSpec, String> {
    let refused = |what| format!("{} cannot be written as text: the language lacks {what}.", rule.name());
    let text = text_of(rule).map_err(refused)?;
    let kind: RuleKind =
        read_as(&format!("{} as text", rule.name()), &text).map_err(|_| "Its text has too many numbers.".to_owned())?;
    Ok(kind.in_spec(rule))
}

/// Shows the entries of a menu that copies a rule as code.
pub(crate) fn copy_entries(ui: &mut Ui, rule: &RatedRule) {
    for notation in Notation::ALL {
        let (text, reason) = match written(rule, notation) {
            Ok(text) => (Some(text), String::new()),
            Err(reason) => (None, reason),
        };
        let entry = ui.add_enabled(text.is_some(), Button::new(format!("Copy as {}", notation.title())));
        if let (true, Some(text)) = (entry.on_disabled_hover_text(reason).clicked(), text) {
            ui.ctx().copy_text(text);
            ui.close();
        }
    }
}

impl TypedKind for LandscapeKind {
    type Spec = LandscapeSpec;
    type Compiled = CompiledLandscape;

    const OWN: &'static str = "A formula of your own…";
    const OWN_HELP: &'static str = "Type a loss L(x, y) to simulate on and to sweep.";
    const FIRST_NAME: &'static str = "My landscape";
    const FIRST_TEXT: &'static str = "\
# A valley that bends and narrows along x
param a = 10 in 0.1..1000, bend = 0.4 in 0..2
off = y - bend*sin(2*x)
L = a/2*(0.1 + x^2)*off^2 - 0.1*x
";
    const LANGUAGE: &'static [(&'static str, &'static str)] = &[
        ("x  y", "the coordinates of the point"),
        ("u  v", "the coordinates turned by φ: u = x cos φ + y sin φ, v = −x sin φ + y cos φ"),
        ("phi", "the rotation φ in radians"),
        ("param b = 100 in 1..1000", "a parameter with its default and range"),
        ("off = …", "a new name"),
        ("L = …", "the loss; its gradient and curvature are derived"),
    ];
    const BUILT_IN: &'static [LandscapeKind] = LandscapeKind::ALL;

    fn of(spec: &LandscapeSpec) -> LandscapeKind {
        spec.kind()
    }

    fn of_typed(formula: &'static LandscapeFormula) -> LandscapeKind {
        LandscapeKind::Formula(formula)
    }

    fn typed(self) -> Option<&'static LandscapeFormula> {
        self.formula()
    }

    fn in_spec(self, spec: &LandscapeSpec) -> LandscapeSpec {
        self.formula().map_or(*spec, |formula| spec.with_text(formula))
    }

    fn title(self) -> &'static str {
        self.name()
    }

    fn help(self) -> Option<String> {
        let LandscapeInfo { formula, about, source, .. } = self.info();
        self.formula().is_none().then(|| format!("{about}\n\nL = {formula}\n\nSource: {source}."))
    }

    fn derived(spec: &LandscapeSpec, ui: &mut Ui) {
        CollapsingHeader::new("Gradient").show(ui, |ui| gradient(ui, spec.kind()));
    }
}

/// Shows the derivatives of the loss: by u and v of a built-in landscape, by x and y of a typed one.
pub(crate) fn gradient(ui: &mut Ui, kind: LandscapeKind) {
    let own_name: fn(&SettingInfo) -> &'static str = match kind.formula() {
        Some(_) => |parameter| parameter.key,
        None => |parameter| parameter.symbol,
    };
    let (_rotation, parameters) = kind.info().parameters.split_last().expect("a landscape can be rotated");
    let names: Vec<&str> = parameters.iter().map(own_name).collect();
    for line in kind.program().gradient_text(&names).lines() {
        let line = line.strip_prefix("L_").map_or_else(|| line.to_owned(), |rest| format!("∂L/∂{rest}"));
        ui.add(Label::new(RichText::new(line).monospace()).wrap());
    }
}

/// Writes a landscape as text: its parameters' values are the defaults.
pub(crate) fn landscape_text(landscape: &LandscapeSpec) -> String {
    let mut parameters: Vec<(&SettingInfo, f64)> = landscape.parameters().collect();
    let _rotation = parameters.pop();
    let mut text = String::new();
    for (of, value) in &parameters {
        let extents = [of.slider, of.axis];
        let low = extents.iter().fold(*value, |low, extent| low.min(extent.low));
        let high = extents.iter().fold(*value, |high, extent| high.max(extent.high));
        writeln!(text, "param {} = {value} in {low}..{high}", of.key).expect("a string takes all text");
    }
    let names: Vec<&str> = parameters.iter().map(|(of, _)| of.key).collect();
    text + &landscape.kind().program().loss_text(&names)
}

/// Makes a typed copy of a landscape, with the same parameters and rotation.
///
/// # Errors
///
/// Fails with the reason why the landscape cannot be written as text.
pub(crate) fn landscape_as_text(landscape: &LandscapeSpec) -> Result<LandscapeSpec, String> {
    let (name, text) = (landscape.kind().name(), landscape_text(landscape));
    let refused = |reason: String| format!("{name} cannot be written as text: {reason}.");
    let kind: LandscapeKind = read_as(&format!("{name} as text"), &text).map_err(|error| refused(complaint(&error)))?;
    let mut copy = LandscapeSpec::new(kind);
    for (of, value) in landscape.parameters() {
        copy.set(of.key, value).map_err(|error| refused(error.to_string()))?;
    }
    Ok(copy)
}
