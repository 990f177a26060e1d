//! The cards of optimizers in all tabs: colour, name and rule, the settings of the tab, and buttons below them.

use egui::collapsing_header::CollapsingState;
use egui::{Align, Button, Layout, RichText, Role, TextEdit, TextStyle, Ui, WidgetInfo, vec2};
use valleyscope_engine::optimizer::{RatedRule, RuleKind, RuleSpec};
use valleyscope_engine::quantity::LearningRate;
use valleyscope_engine::simulation::{OptimizerSpec, distinct_name, states_other_settings};
use valleyscope_engine::terminal_escape::{is_unseen, is_visible_name};

use super::form;
use super::form::Highlight;
use super::icons::color_swatch;
use super::text_editor;
use super::text_editor::{RuleChoice, TextEditor, TextTab};
use crate::app::shell::actions::{Action, Requests};

/// An optimizer of a tab's settings.
pub(crate) trait CardOptimizer: Clone {
    fn new(rule: RuleSpec) -> Self;

    fn parts(&mut self) -> CardParts<'_>;

    /// Returns the name, or else the usual one.
    fn label(&self) -> &str;

    /// Returns the rule with its learning rate, or with the first of several.
    fn rated(&self) -> RatedRule;

    /// Whether it has a single learning rate, which its name may state.
    fn has_one_rate(&self) -> bool {
        false
    }

    fn is_enabled(&self) -> bool {
        true
    }
}

/// The parts of an optimizer that its card sets in all tabs.
pub(crate) struct CardParts<'a> {
    /// The id, unique among the optimizers of the tab; `None` where their indices identify them.
    pub id: Option<&'a mut u32>,
    pub name: &'a mut Option<String>,
    pub color: &'a mut Option<[u8; 3]>,
    pub rule: &'a mut RuleSpec,
}

/// A change of the list of optimizers.
pub(crate) enum CardEdit {
    /// Adds an optimizer with a rule.
    Add(RuleSpec),
    /// Adds a copy of the optimizer of this index, with another rule if there is one.
    Duplicate(usize, Option<RuleSpec>),
    Remove(usize),
    /// The rule of the optimizer of this index was replaced.
    Replaced(usize),
}

/// The cards of all optimizers of a tab.
pub(crate) struct OptimizerCards<'a> {
    pub tab: TextTab,
    /// The distinct names of the optimizers.
    pub names: &'a [String],
    /// The colours that they have unless others are chosen.
    pub usual_colors: &'a [[u8; 3]],
    /// The largest number of optimizers.
    pub most: usize,
    /// Makes a rule with its default values.
    pub usual: fn(RuleKind) -> RuleSpec,
    /// Whether each optimizer has to stay, and the reason.
    pub is_needed: &'a [bool],
    pub why_needed: &'static str,
}

impl OptimizerCards<'_> {
    /// Shows the cards. `status` is the right part of a card's head, `settings` the rows below the rule.
    pub(crate) fn show<O: CardOptimizer>(
        &self,
        ui: &mut Ui,
        optimizers: &mut [O],
        requests: &mut Requests,
        mut status: impl FnMut(&mut Ui, usize, &mut O),
        mut settings: impl FnMut(&mut Ui, usize, &mut O),
    ) -> Option<CardEdit> {
        let mut edit = None;
        for (index, optimizer) in optimizers.iter_mut().enumerate() {
            let id = id(optimizer, index);
            let card = Card { of: self, name: &self.names[index], index, id };
            let before = stated(optimizer);
            let shown =
                ui.push_id(("optimizer", id), |ui| card.show(ui, optimizer, requests, &mut status, &mut settings));
            edit = shown.inner.or(edit);
            card.editor().show(ui.ctx(), optimizer.parts().rule);
            let (rule, rate) = stated(optimizer);
            if (rule, rate) != before {
                optimizer.parts().name.take_if(|name| states_other_settings(name, &rule, rate));
            }
        }
        edit
    }

    /// Shows the menu that adds an optimizer.
    pub(crate) fn add_menu(&self, ui: &mut Ui) -> Option<CardEdit> {
        let shown = ui.add_enabled_ui(self.has_room(), |ui| {
            let menu = ui.menu_button("+ Add optimizer", |ui| {
                let chosen = text_editor::choices::<RuleKind>(ui, None);
                if chosen.is_some() {
                    ui.close();
                }
                chosen
            });
            menu.response.on_disabled_hover_text(self.full());
            menu.inner.flatten()
        });
        shown.inner.map(|kind| CardEdit::Add((self.usual)(kind)))
    }

    /// Carries out a change of the list. A new optimizer is the last one, with a unique id and name; the text of a new
    /// typed rule is opened.
    pub(crate) fn apply<O: CardOptimizer>(&self, ui: &Ui, optimizers: &mut Vec<O>, edit: &CardEdit) {
        let (mut new, typed) = match *edit {
            CardEdit::Add(rule) => (O::new(rule), Some(rule)),
            CardEdit::Duplicate(index, typed) => (optimizers[index].clone(), typed),
            CardEdit::Remove(index) => return drop(optimizers.remove(index)),
            CardEdit::Replaced(_) => return,
        };
        let ids: Vec<u32> = optimizers.iter_mut().enumerate().map(|(index, other)| id(other, index)).collect();
        let highest = ids.iter().copied().max().unwrap_or(u32::MAX);
        let mut unused = (1..).map(|by| highest.wrapping_add(by)).filter(|id| !ids.contains(id));
        let unused = unused.next().expect("a tab has few optimizers");
        let parts = new.parts();
        parts.id.into_iter().for_each(|id| *id = unused);
        *parts.color = None;
        if let Some(rule) = typed {
            (*parts.name, *parts.rule) = (None, rule);
        }
        let name = distinct_name(new.label(), |name| self.names.iter().any(|other| other == name));
        if name != new.label() {
            *new.parts().name = Some(name);
        }
        if typed.is_some_and(|rule| rule.kind().typed().is_some()) {
            TextEditor::<RuleKind>::new(self.tab, unused, "").open(ui.ctx());
        }
        optimizers.push(new);
    }

    fn has_room(&self) -> bool {
        self.names.len() < self.most
    }

    fn full(&self) -> String {
        format!("At most {} optimizers fit.", self.most)
    }
}

fn id(optimizer: &mut impl CardOptimizer, index: usize) -> u32 {
    optimizer.parts().id.map_or(index as u32, |id| *id)
}

/// Returns what the name of an optimizer may state.
fn stated(optimizer: &impl CardOptimizer) -> (RuleSpec, Option<LearningRate>) {
    let RatedRule { rule, learning_rate, .. } = optimizer.rated();
    (rule, optimizer.has_one_rate().then_some(learning_rate))
}

struct Card<'a> {
    of: &'a OptimizerCards<'a>,
    name: &'a str,
    index: usize,
    id: u32,
}

impl Card<'_> {
    fn show<O: CardOptimizer>(
        &self,
        ui: &mut Ui,
        optimizer: &mut O,
        requests: &mut Requests,
        status: &mut impl FnMut(&mut Ui, usize, &mut O),
        settings: &mut impl FnMut(&mut Ui, usize, &mut O),
    ) -> Option<CardEdit> {
        form::framed(ui, |ui| {
            let id = ui.make_persistent_id("card");
            let mut state = CollapsingState::load_with_default_open(ui.ctx(), id, true);
            if Highlight::includes_control_of(ui.ctx(), self.name) {
                state.set_open(true);
            }
            let header = state.show_header(ui, |ui| self.header(ui, optimizer, status));
            let (toggle, _, body) = header.body_unindented(|ui| {
                let is_replaced = ui.add_enabled_ui(optimizer.is_enabled(), |ui| {
                    let name = format!("{}: rule", self.name);
                    let (tab, usual) = (self.of.tab, self.of.usual);
                    let choice = RuleChoice { tab, optimizer: self.id, name: &name, usual };
                    let is_replaced = choice.row(ui, optimizer.parts().rule);
                    settings(ui, self.index, optimizer);
                    is_replaced
                });
                let edit = self.footer(ui, &optimizer.rated(), requests);
                edit.or(is_replaced.inner.then_some(CardEdit::Replaced(self.index)))
            });
            let name = format!("{}: card", self.name);
            toggle.widget_info(|| WidgetInfo::labeled(Role::DisclosureTriangle, true, &name));
            body.and_then(|body| body.inner)
        })
    }

    fn editor(&self) -> TextEditor<'_, RuleKind> {
        TextEditor::new(self.of.tab, self.id, self.name)
    }

    fn header<O: CardOptimizer>(
        &self,
        ui: &mut Ui,
        optimizer: &mut O,
        status: &mut impl FnMut(&mut Ui, usize, &mut O),
    ) {
        let usual_color = self.of.usual_colors[self.index];
        let name = format!("{}: colour", self.name);
        color_swatch(ui, optimizer.parts().color, usual_color, "Colour in all pictures of it", &name);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            status(ui, self.index, optimizer);
            // The hint is the present name, so it looks like text.
            ui.visuals_mut().weak_text_color = Some(ui.visuals().strong_text_color());
            let CardParts { name: own, .. } = optimizer.parts();
            let mut name = own.clone().unwrap_or_default();
            let field = TextEdit::singleline(&mut name)
                .hint_text(self.name)
                .desired_width(ui.available_width())
                .char_limit(OptimizerSpec::LONGEST_NAME)
                .font(TextStyle::Button)
                .align(egui::Align2::LEFT_CENTER)
                .min_size(vec2(0.0, ui.spacing().interact_size.y))
                .frame(egui::Frame::NONE);
            let response = ui.add(field).accessible_name(format!("{}: name", self.id));
            if response.changed() {
                name.retain(|c| !is_unseen(c));
                *own = Some(name).filter(|name| is_visible_name(name));
            }
        });
    }

    fn footer(&self, ui: &mut Ui, rated: &RatedRule, requests: &mut Requests) -> Option<CardEdit> {
        let (mut edit, rule) = (None, &rated.rule);
        let name = |what: &str| format!("{}: {what}", self.name);
        ui.horizontal(|ui| {
            let about = ui.link(RichText::new(rule.name()).small());
            let about = about.on_hover_text("Formulas, source and hyperparameters");
            if about.accessible_name(name("explain")).clicked() {
                requests.actions.push(Action::ShowOptimizer(rule.kind()));
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let small = |text| Button::new(RichText::new(text).small());
                let remove = ui.add_enabled(!self.of.is_needed[self.index], small("Remove"));
                let remove = remove.on_disabled_hover_text(self.of.why_needed);
                if remove.accessible_name(name("remove")).clicked() {
                    edit = Some(CardEdit::Remove(self.index));
                }
                let duplicate = ui.add_enabled(self.of.has_room(), small("Duplicate"));
                let duplicate = duplicate.on_disabled_hover_text(self.of.full());
                if duplicate.accessible_name(name("duplicate")).clicked() {
                    edit = Some(CardEdit::Duplicate(self.index, None));
                }
                let menu = ui.menu_button(RichText::new("…").small(), |ui| text_editor::copy_entries(ui, rated));
                menu.response.on_hover_text("Copy the rule as code").accessible_name(name("copy as code"));
                if self.text_button(ui, rule) {
                    edit = self.as_text(ui, rule, requests).or(edit.take());
                }
            });
        });
        edit
    }

    fn text_button(&self, ui: &mut Ui, rule: &RuleSpec) -> bool {
        let is_typed = rule.kind().typed().is_some();
        let (button, help) = self.editor().button(ui, if is_typed { "Edit text" } else { "As text" }, rule);
        let button = ui.add_enabled(self.of.has_room() || is_typed, button);
        let button = button.on_disabled_hover_text(self.of.full()).on_hover_text(help);
        button.accessible_name(format!("{}: text", self.name)).clicked()
    }

    /// Opens the text of a typed rule, or requests a typed copy of a built-in one.
    fn as_text(&self, ui: &Ui, rule: &RuleSpec, requests: &mut Requests) -> Option<CardEdit> {
        if rule.kind().typed().is_some() {
            self.editor().open(ui.ctx());
            return None;
        }
        match text_editor::rule_as_text(rule) {
            Ok(typed) => return Some(CardEdit::Duplicate(self.index, Some(typed))),
            Err(reason) => requests.actions.push(Action::Notify(reason)),
        }
        None
    }
}
