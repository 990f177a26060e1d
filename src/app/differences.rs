//! The window with the settings in which runs, presets or diagrams differ.

use egui::{Color32, Context, Grid, Id, Label, RichText, ScrollArea, TextStyle, Ui, Window, vec2};
use valleyscope_engine::terminal_escape::shortened;
use valleyscope_experiments::difference::{DifferenceRow, DifferenceTable};

/// The largest number of characters of a value and of a name in the table.
const LONGEST: usize = 48;

/// The space between columns, in points.
const SPACING: f32 = 18.0;

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
        let width = width(ctx, table);
        let size = vec2(width, 420.0).min(screen.size() - vec2(40.0, 90.0));
        let mut is_open = true;
        Window::new("Differences")
            // A window of its own for each number of columns, as windows keep their sizes.
            .id(Id::unique(("differences", table.names.len())))
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

/// Returns the width in which the whole table fits, in points.
fn width(ctx: &Context, table: &DifferenceTable) -> f32 {
    let font = TextStyle::Body.resolve(&ctx.global_style());
    let width = |text: &str| {
        ctx.fonts_mut(|fonts| fonts.layout_no_wrap(text.to_owned(), font.clone(), Color32::PLACEHOLDER).size().x)
    };
    let widest = |texts: &mut dyn Iterator<Item = String>| texts.map(|text| width(&text)).fold(0.0, f32::max);
    let rows = || table.results.iter().chain(&table.rows);
    let labels = widest(&mut rows().map(|row| row.label.clone()));
    let column = |index: usize| {
        let head = [&table.names[index], &table.places[index]].map(|text| shortened(text, LONGEST).into_owned());
        widest(&mut head.into_iter().chain(rows().map(|row| row.shown(LONGEST).swap_remove(index))))
    };
    let columns: f32 = (0..table.names.len()).map(|index| column(index) + SPACING).sum();
    labels + columns + 2.0 * SPACING
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
    if table.rows.is_empty() && table.results.is_empty() {
        ui.label("No setting differs.");
        return;
    }
    ScrollArea::both().auto_shrink(false).show(ui, |ui| {
        Grid::new(("differences", table.names.len())).striped(true).spacing(vec2(SPACING, 5.0)).show(ui, |ui| {
            ui.label("");
            for name in &table.names {
                let shown = shortened(name, LONGEST);
                ui.add(Label::new(RichText::new(shown).strong()).extend()).on_hover_text(name);
            }
            ui.end_row();
            if table.places.iter().any(|place| !place.is_empty()) {
                ui.label("");
                for place in &table.places {
                    ui.add(Label::new(RichText::new(place).small().weak()).extend());
                }
                ui.end_row();
            }
            table.results.iter().chain(&table.rows).for_each(|row| show_row(ui, row));
        });
        if table.rows.is_empty() {
            ui.label("No setting differs.");
        }
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
