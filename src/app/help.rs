//! The windows of keyboard shortcuts, of the optimizers, and about the program.

use egui::{Align, Context, Grid, Layout, RichText, ScrollArea, Ui, Window, vec2};
use valleyscope_engine::optimizer::{RuleKind, TypedRule};
use valleyscope_experiments::view::formula::Formula;
use valleyscope_experiments::view::rule_summary::{RuleSummary, Variant, defaults, values};

use super::keyboard::shortcuts;

/// The open help windows.
#[derive(Default)]
pub(super) struct Help {
    pub keys: bool,
    /// The optimizer that is shown.
    pub optimizer: Option<RuleKind>,
    pub about: bool,
}

impl Help {
    pub(super) fn show(&mut self, ctx: &Context) {
        let screen = ctx.content_rect();
        let centred = |title: &'static str, size: egui::Vec2| {
            let size = size.min(screen.size() - vec2(40.0, 90.0));
            Window::new(title).collapsible(false).default_size(size).default_pos(screen.center() - 0.5 * size)
        };
        centred("Keys", vec2(500.0, 640.0)).open(&mut self.keys).show(ctx, |ui| {
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                Grid::new("keys").num_columns(2).spacing(vec2(24.0, 6.0)).show(ui, |ui| {
                    for (keys, what) in shortcuts() {
                        ui.label(RichText::new(keys).strong());
                        ui.label(what);
                        ui.end_row();
                    }
                });
            });
        });
        if let Some(mut shown) = self.optimizer {
            let mut is_open = true;
            centred("Optimizers", vec2(820.0, 620.0)).open(&mut is_open).show(ctx, |ui| optimizers(ui, &mut shown));
            self.optimizer = is_open.then_some(shown);
        }
        centred("About Valleyscope", vec2(440.0, 230.0)).open(&mut self.about).show(ctx, |ui| {
            ui.label(RichText::new(format!("Valleyscope {}", env!("CARGO_PKG_VERSION"))).heading().strong());
            ui.label("See why one optimizer beats another in a narrowing valley.");
            ui.add_space(6.0);
            ui.label(
                "The landscape, the optimizers and the experiments are those of: Yizhou Liu, Ziming Liu and Jeff Gore, \
                 FOCUS: First Order Concentrated Updating Scheme.",
            );
            ui.add_space(6.0);
            ui.label("Licence: MIT or Apache 2.0. The typeface is derived from Inter, SIL Open Font License.");
        });
        if (self.keys || self.optimizer.is_some() || self.about)
            && !ctx.text_edit_focused()
            && ctx.input_mut(|input| input.consume_key(egui::Modifiers::NONE, egui::Key::Escape))
        {
            *self = Help::default();
        }
    }
}

/// Shows the list of optimizers, and beside it the chosen one's description.
fn optimizers(ui: &mut Ui, shown: &mut RuleKind) {
    let height = ui.available_height();
    ui.with_layout(Layout::left_to_right(Align::Min), |ui| {
        ui.vertical(|ui| {
            ui.set_width(110.0);
            ui.set_min_height(height);
            let typed = TypedRule::latest().into_iter().map(RuleKind::Typed);
            for kind in RuleKind::ALL.iter().copied().chain(typed) {
                ui.selectable_value(shown, kind, kind.info().name);
            }
        });
        ui.separator();
        ScrollArea::vertical().id_salt(*shown).auto_shrink(false).show(ui, |ui| {
            ui.vertical(|ui| optimizer(ui, *shown));
        });
    });
}

fn optimizer(ui: &mut Ui, kind: RuleKind) {
    let summary = RuleSummary::new(kind);
    let info = summary.info();
    ui.label(RichText::new(info.name).heading().strong());
    ui.label(format!("Source: {}", info.source));
    ui.add_space(8.0);
    ui.weak("A step, with the parameter θ, its gradient g, the learning rate η and the number of the step t from 1");
    lines(ui, &summary.formulas);
    for Variant { of, choice, formulas } in &summary.variants {
        ui.add_space(8.0);
        ui.weak(format!("{}: {}", of.label, choice.label)).on_hover_text(choice.help);
        lines(ui, formulas);
    }
    ui.add_space(8.0);
    ui.weak("Hyperparameters besides the learning rate, with their defaults");
    for of in info.hyperparameters {
        let [on_plane, in_training] = defaults(of);
        ui.add_space(4.0);
        ui.horizontal_wrapped(|ui| {
            ui.strong(of.label);
            ui.label(format!("on the plane {on_plane}, in training {in_training}"));
            ui.weak(format!("{}, {}", of.key, values(of)));
        });
        ui.label(of.help);
    }
}

fn lines(ui: &mut Ui, formulas: &[Formula]) {
    for formula in formulas {
        ui.horizontal_wrapped(|ui| {
            ui.strong(&formula.rule);
            ui.weak(RichText::new(formula.meaning).small());
        });
    }
}
