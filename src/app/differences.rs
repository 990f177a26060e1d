//! The window with the settings in which runs, presets or diagrams differ.

use egui::{Context, Grid, Id, Label, RichText, ScrollArea, Ui, Window, vec2};
use valleyscope_experiments::difference::{DifferenceRow, DifferenceTable};

/// The largest number of characters of a value and of a name in the table.
const LONGEST: usize = 48;

/// The window, with its table while it is open.
#[derive(Default)]
pub(super) struct DifferencesWindow {
    table: Option<DifferenceTable>,
}

impl DifferencesWindow {
    /// Opens the window with this table, in place of the one that it shows.
    pub(super) fn open(&mut self, table: DifferenceTable) {
        self.table = Some(table);
    }

    pub(super) fn show(&mut self, ctx: &Context) {
        let Some(table) = &self.table else { return };
        let screen = ctx.content_rect();
        let width = 240.0 + 200.0 * table.names.len() as f32;
        let size = vec2(width, 420.0).min(screen.size() - vec2(40.0, 90.0));
        let mut is_open = true;
        Window::new("Differences")
            .id(Id::unique("differences"))
            .collapsible(false)
            .open(&mut is_open)
            .default_size(size)
            .default_pos(screen.center() - 0.5 * size)
            .show(ctx, |ui| contents(ui, table));
        let is_escaped = !ctx.text_edit_focused()
            && !egui::Popup::is_any_open(ctx)
            && ctx.input_mut(|input| input.consume_key(egui::Modifiers::NONE, egui::Key::Escape));
        if !is_open || is_escaped {
            self.table = None;
        }
    }
}

fn contents(ui: &mut Ui, table: &DifferenceTable) {
    egui::Panel::bottom("equal settings").frame(egui::Frame::NONE).show_separator_line(false).show(ui, |ui| {
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            let copy = ui.button("Copy").on_hover_text("Copy the table as text, for a spreadsheet");
            if copy.accessible_name("Copy the differences").clicked() {
                ui.ctx().copy_text(table.to_text());
            }
            ui.weak(format!("{}.", table.equal_in_words()));
        });
    });
    if table.rows.is_empty() {
        ui.label("No setting differs.");
        return;
    }
    ScrollArea::both().auto_shrink(false).show(ui, |ui| {
        Grid::new(("differences", table.names.len())).striped(true).spacing(vec2(18.0, 5.0)).show(ui, |ui| {
            ui.label("");
            for name in &table.names {
                let shown = valleyscope_engine::terminal_escape::shortened(name, LONGEST);
                ui.add(Label::new(RichText::new(shown).strong()).extend()).on_hover_text(name);
            }
            ui.end_row();
            table.rows.iter().for_each(|row| show_row(ui, row));
        });
    });
}

fn show_row(ui: &mut Ui, row: &DifferenceRow) {
    let label = ui.add(Label::new(&row.label).extend());
    label.on_hover_text(format!("{}\n{}", row.label, row.path));
    for (shown, whole) in row.shown(LONGEST).into_iter().zip(&row.values) {
        match whole {
            Some(whole) => drop(ui.add(Label::new(shown).extend()).on_hover_text(whole)),
            None => drop(ui.weak(shown).on_hover_text("It has no such setting.")),
        }
    }
    ui.end_row();
}
