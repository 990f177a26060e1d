//! The menus for the initial settings: a workload, a preset of it, and one of its runs.

use egui::{ComboBox, RichText, Ui};
use valleyscope_experiments::preset::{Preset, built_ins};

use super::editor::{TrainingEditor, first_of};
use crate::app::editor::change_mark;
use crate::app::form;
use crate::app::live::{Action, Requests};
use crate::app::preset_catalog::PresetCatalog;

/// Shows the menus for workload, preset and run.
pub(super) fn show(ui: &mut Ui, editor: &mut TrainingEditor, catalog: &PresetCatalog, requests: &mut Requests) {
    form::line(ui, "Workload", "What is trained", |ui| {
        let combo = ComboBox::from_id_salt("workload").selected_text(name_of(editor.preset().kind())).truncate();
        let shown = combo.width(ui.available_width() - 8.0).show_ui(ui, |ui| {
            for &kind in Preset::WORKLOADS {
                let is_present = kind == editor.preset().kind();
                if ui.selectable_label(is_present, name_of(kind)).clicked() && !is_present {
                    editor.take(kind);
                }
            }
        });
        shown.response.accessible_name("Workload");
    });
    form::line(ui, "Preset", "The initial settings", |ui| {
        let named = editor.named();
        let text = format!("{}{}", named.title(), change_mark(named.title(), editor.presets.is_dirty()));
        let combo = ComboBox::from_id_salt("training preset").selected_text(text).truncate().height(menu_height(ui));
        let shown = combo.width(ui.available_width() - 8.0).show_ui(ui, |ui| presets(ui, editor, catalog, requests));
        shown.response.on_hover_text(named.description()).accessible_name("Training preset");
    });
    runs(ui, editor);
}

/// Returns the name of a workload.
fn name_of(kind: &str) -> &'static str {
    first_of(kind).preset.workload().map_or("", |workload| workload.info().name)
}

/// Returns the height of a menu entry, including the space to the next.
fn row(ui: &Ui) -> [f32; 2] {
    [ui.spacing().interact_size.y, ui.spacing().item_spacing.y]
}

/// Returns a menu's height: whole entries, in half of the window and within the usual limit.
fn menu_height(ui: &Ui) -> f32 {
    let ([row, gap], spacing) = (row(ui), ui.spacing());
    let most = spacing.default_area_size.y - spacing.menu_margin.sum().y - 2.0;
    let room = most.min(0.5 * ui.ctx().content_rect().height());
    let rows = ((room + gap) / (row + gap)).floor().max(1.0);
    rows * (row + gap) - gap
}

/// Shows the presets, those of the present workload first.
fn presets(ui: &mut Ui, editor: &TrainingEditor, catalog: &PresetCatalog, requests: &mut Requests) {
    let present = editor.preset().kind();
    let mut kinds = Preset::WORKLOADS.to_vec();
    kinds.sort_by_key(|kind| *kind != present);
    let own = catalog.own().as_deref().unwrap_or_default();
    for kind in kinds {
        ui.horizontal(|ui| {
            ui.set_min_height(row(ui)[0]);
            ui.label(RichText::new(name_of(kind)).small().weak());
        });
        for built_in in built_ins().iter().filter(|built_in| built_in.preset.kind() == kind) {
            let name = format!("{} ({})", built_in.preset.title(), built_in.name);
            let entry = ui.selectable_label(built_in.preset == editor.presets.saved_state().clean, name);
            if entry.on_hover_text(built_in.preset.description()).clicked() {
                requests.actions.push(Action::Open(Box::new(built_in.preset.clone())));
            }
        }
        for preset in own.iter().filter(|preset| preset.kind == Some(kind)) {
            if ui.selectable_label(false, format!("{} (your own)", preset.title)).clicked() {
                requests.actions.push(Action::OpenFile(preset.path.clone()));
            }
        }
    }
}

/// Shows the choice among a preset's runs.
fn runs(ui: &mut Ui, editor: &mut TrainingEditor) {
    let labels = editor.named().workload().map_or_else(Vec::new, |workload| workload.labels());
    if labels.len() < 2 {
        return;
    }
    let name = |index: usize| format!("{} of {}: {}", index + 1, labels.len(), labels[index]);
    let mut chosen = editor.chosen();
    form::line(ui, "Run", "The preset has several runs; the controls below are those of this one", |ui| {
        let combo = ComboBox::from_id_salt("run of the preset").selected_text(name(chosen)).truncate();
        let shown = combo.width(ui.available_width() - 8.0).show_ui(ui, |ui| {
            for index in 0..labels.len() {
                ui.selectable_value(&mut chosen, index, name(index));
            }
        });
        shown.response.accessible_name("Run of the preset");
    });
    editor.choose(chosen);
}
