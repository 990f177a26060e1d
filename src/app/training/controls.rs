//! The controls of a training: workload, preset, data, device, optimizer, and number of steps.

use std::path::PathBuf;

use egui::{Button, CollapsingHeader, ComboBox, Label, RichText, Stroke, TextEdit, TextStyle, Ui};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{BatchSize, OutOfRange};
use valleyscope_engine::setting::SettingInfo;
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::form::{Choice, FormSection, Value};
use valleyscope_experiments::workload::{Dataset, DeviceChoice, ScanOptimizer};

use super::editor::{TrainingEditor, TrainingFault, first_of};
use super::worker::WorkerState;
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::editor::change_mark;
use crate::app::shell::presets::PresetCatalog;
use crate::app::widgets::form::check_box;
use crate::app::widgets::number::TypedField;
use crate::app::widgets::text_editor::{RuleChoice, TextEditor, TextTab};
use crate::app::widgets::{form, number, text_editor};

const FIELD_WIDTH: f32 = 84.0;

/// Shows a field for a setting. `enter` sets a typed number; the reason for its refusal is shown.
fn number_field(
    ui: &mut Ui,
    owner: &str,
    of: &SettingInfo,
    value: f64,
    enter: impl FnOnce(f64) -> Result<(), OutOfRange>,
) {
    form::line(ui, of.label, of.help, |ui| {
        let name = form::owned(owner, of.label);
        let text = if of.is_whole() { value.to_string() } else { number::text(value) };
        let typed = TypedField { name: &name, width: FIELD_WIDTH }.show(ui, &text, |text| {
            let whole = |text| number::read_whole(text).map(|whole| whole as f64);
            let number = if of.is_whole() { whole(text)? } else { number::read(text)? };
            enter(number).map_err(|refused| refused.to_string())
        });
        typed.response.on_hover_text(of.help);
    });
}

fn heading(ui: &mut Ui, text: &str) {
    form::heading(ui, 6.0, text);
}

#[derive(Clone, Copy)]
pub(super) struct SetupStatus<'a> {
    pub worker: &'a WorkerState,
    /// The fault that prevents the start of the training.
    pub fault: Option<&'a TrainingFault>,
}

pub(super) fn show(
    ui: &mut Ui,
    editor: &mut TrainingEditor,
    status: SetupStatus<'_>,
    catalog: &PresetCatalog,
    requests: &mut Requests,
) {
    preset_menu(ui, editor, catalog, requests);
    let before = editor.data();
    for section in editor.form() {
        show_section(ui, &section, editor, status, requests);
    }
    // The runs of a preset use the same data.
    let data = editor.data();
    if data != before {
        editor.set_data(&data);
    }
    ui.add_space(6.0);
}

fn show_section(
    ui: &mut Ui,
    section: &FormSection,
    editor: &mut TrainingEditor,
    status: SetupStatus<'_>,
    requests: &mut Requests,
) {
    let FormSection { heading: title, folded, fields } = section;
    // A faulty field is always visible.
    let is_wrong = status.fault.is_some_and(|fault| fields.iter().any(|field| fault.is_at(field.key)));
    let mut show = |ui: &mut Ui| {
        for field in fields {
            if let Some(value) = editor.value(field.key) {
                show_field(ui, field, value, status, requests);
            }
        }
    };
    if *folded {
        CollapsingHeader::new(*title).open(is_wrong.then_some(true)).show(ui, show);
    } else {
        if !title.is_empty() {
            heading(ui, title);
        }
        show(ui);
    }
}

/// Shows a field, and below it its fault.
fn show_field(ui: &mut Ui, of: &SettingInfo, value: Value<'_>, status: SetupStatus<'_>, requests: &mut Requests) {
    let Some(fault) = status.fault.filter(|fault| fault.is_at(of.key)) else {
        return show_value(ui, of, value, status.worker, requests);
    };
    let color = ui.visuals().error_fg_color;
    ui.scope(|ui| {
        let widgets = &mut ui.visuals_mut().widgets;
        widgets.noninteractive.fg_stroke.color = color;
        widgets.inactive.bg_stroke = Stroke::new(1.0, color);
        show_value(ui, of, value, status.worker, requests);
    });
    ui.add(Label::new(RichText::new(&fault.message).small().color(color)).selectable(true).wrap());
}

fn show_value(ui: &mut Ui, of: &SettingInfo, value: Value<'_>, worker: &WorkerState, requests: &mut Requests) {
    let SettingInfo { label: name, help, .. } = *of;
    match value {
        Value::Number(value) => number_field(ui, "", of, value.value(), |entered| value.enter(entered)),
        Value::Seed(value) => form::line(ui, name, help, |ui| seed(ui, value)),
        Value::Switch(value) => form::line(ui, name, help, |ui| {
            check_box(ui, value, "").on_hover_text(help).accessible_name(name);
        }),
        Value::Choice(choice) => form::line(ui, name, help, |ui| choose(ui, name, choice)),
        Value::Data(value, dataset) => data_field(ui, name, help, value, dataset, requests),
        Value::Device(value) => form::line(ui, name, help, |ui| devices(ui, value, worker)),
        Value::Rule(value) => {
            form::line(ui, name, help, |ui| rules(ui, value));
            RULE.note(ui, value);
            hyperparameters(ui, "", value);
        }
        Value::BatchSizes(value) => form::line(ui, name, help, |ui| {
            let sizes: Vec<String> = value.iter().map(|size| size.get().to_string()).collect();
            let field = TypedField { name, width: ui.available_width() - 12.0 };
            *value = field.show(ui, &sizes.join(", "), batch_sizes).entered.unwrap_or_else(|| value.clone());
        }),
        Value::Optimizers(value) => optimizers(ui, value),
        Value::Note(text) if text.is_empty() => {}
        Value::Note(text) => drop(ui.add(Label::new(RichText::new(text).small().weak()).wrap())),
    }
}

fn choose(ui: &mut Ui, name: &str, mut choice: Choice<'_>) {
    /// The largest number of names that fit in a row.
    const MOST_IN_ROW: usize = 3;
    if choice.names.len() > MOST_IN_ROW {
        let text = choice.chosen.map_or("", |chosen| choice.names[chosen]);
        let combo = ComboBox::from_id_salt(("choice", name)).selected_text(text);
        combo.show_ui(ui, |ui| choices(ui, &mut choice)).response.accessible_name(name);
    } else {
        choices(ui, &mut choice);
    }
}

fn choices(ui: &mut Ui, choice: &mut Choice<'_>) {
    for (index, name) in choice.names.iter().enumerate() {
        let is_chosen = choice.chosen == Some(index);
        if ui.selectable_label(is_chosen, *name).clicked() && !is_chosen {
            (choice.choose)(index);
        }
    }
}

const RULE: RuleChoice<'static> =
    RuleChoice { tab: TextTab::Training, optimizer: 0, name: "Optimizer", usual: RuleSpec::in_training };

fn rules(ui: &mut Ui, value: &mut RuleSpec) {
    RULE.menu(ui, value);
    let editor = TextEditor::<RuleKind>::new(TextTab::Training, 0, value.name());
    if value.kind().typed().is_some()
        && form::small_button(ui, true, "Edit text", "Text of the optimizer", "The rule as text")
    {
        editor.open(ui.ctx());
    }
    editor.show(ui.ctx(), value);
}

fn seed(ui: &mut Ui, seed: &mut u64) {
    let field = TypedField { name: "Seed of the training", width: FIELD_WIDTH };
    if let Some(entered) = field.show(ui, &seed.to_string(), number::read_whole).entered {
        *seed = entered;
    }
    let next = Button::new("+1").small();
    if ui.add(next).on_hover_text("The next replicate").accessible_name("Next seed").clicked() {
        *seed = seed.wrapping_add(1);
    }
}

fn devices(ui: &mut Ui, device: &mut DeviceChoice, worker: &WorkerState) {
    let mut choices = vec![(DeviceChoice::Automatic, "Automatic".to_owned())];
    if let WorkerState::Ready(handshake) = worker {
        choices.extend(handshake.devices.iter().filter_map(|found| {
            let choice = match found.name.strip_prefix("cuda:") {
                Some(number) => DeviceChoice::Cuda(number.parse().ok()?),
                None => DeviceChoice::Cpu,
            };
            Some((choice, format!("{} ({})", found.name, found.kind)))
        }));
    } else {
        choices.push((DeviceChoice::Cpu, "cpu".to_owned()));
    }
    if !choices.iter().any(|(choice, _)| choice == device) {
        let name = match *device {
            DeviceChoice::Automatic => "Automatic".to_owned(),
            DeviceChoice::Cpu => "cpu".to_owned(),
            DeviceChoice::Cuda(number) => format!("cuda:{number} (not found here)"),
        };
        choices.push((*device, name));
    }
    let text = choices.iter().find(|(choice, _)| choice == device).map_or("", |(_, name)| name);
    let combo = ComboBox::from_id_salt("device").selected_text(text).truncate().width(ui.available_width() - 8.0);
    let shown = combo.show_ui(ui, |ui| {
        for (choice, name) in &choices {
            ui.selectable_value(device, *choice, name);
        }
    });
    shown.response.accessible_name("Device");
}

fn hyperparameters(ui: &mut Ui, owner: &str, rule: &mut RuleSpec) {
    for (of, mut value) in rule.hyperparameters() {
        match of.choices() {
            [] => number_field(ui, owner, of, value, |entered| rule.set(of.key, entered)),
            choices => form::line(ui, of.label, of.help, |ui| {
                // Choices without room in a row are below each other, beside the name.
                ui.horizontal_wrapped(|ui| {
                    for (index, choice) in choices.iter().enumerate() {
                        ui.selectable_value(&mut value, index as f64, choice.label).on_hover_text(choice.help);
                    }
                });
                rule.set(of.key, value).expect("it is one of the choices");
            }),
        }
    }
}

fn optimizers(ui: &mut Ui, optimizers: &mut Vec<ScanOptimizer>) {
    let (mut removed, several) = (None, optimizers.len() > 1);
    for (index, optimizer) in optimizers.iter_mut().enumerate() {
        let label = optimizer.label().to_owned();
        CollapsingHeader::new(&label).id_salt(("scanned", index)).show(ui, |ui| {
            let owner = format!("{} {label}", index + 1);
            hyperparameters(ui, &owner, &mut optimizer.rule);
            if optimizer.rule.kind().typed().is_some()
                && form::small_button(ui, true, "Edit text", &form::owned(&owner, "text"), "The rule as text")
            {
                scanned(index, "").open(ui.ctx());
            }
            let remove = ui.add_enabled(several, Button::new("Remove").small());
            if remove.accessible_name(form::owned(&owner, "remove")).clicked() {
                removed = Some(index);
            }
        });
    }
    for (index, optimizer) in optimizers.iter_mut().enumerate() {
        let label = optimizer.label().to_owned();
        scanned(index, &label).show(ui.ctx(), &mut optimizer.rule);
    }
    if let Some(index) = removed {
        optimizers.remove(index);
    }
    ui.menu_button("Add an optimizer", |ui| {
        if let Some(kind) = text_editor::choices::<RuleKind>(ui, None) {
            if kind.typed().is_some() {
                scanned(optimizers.len(), "").open(ui.ctx());
            }
            optimizers.push(ScanOptimizer { name: None, color: None, rule: RuleSpec::in_training(kind) });
            ui.close();
        }
    });
}

/// Makes the editor of the text of a scan's optimizer.
fn scanned(index: usize, owner: &str) -> TextEditor<'_, RuleKind> {
    TextEditor::new(TextTab::Scan, index as u32, owner)
}

fn batch_sizes(text: &str) -> Result<Vec<BatchSize>, String> {
    let parts = text.split([',', ';', ' ']).filter(|part| !part.trim().is_empty());
    let sizes: Result<Vec<BatchSize>, String> =
        parts.map(|part| BatchSize::new(number::read_whole(part)?).map_err(|refused| refused.to_string())).collect();
    sizes
        .and_then(|sizes| if sizes.is_empty() { Err("expected at least one batch size".to_owned()) } else { Ok(sizes) })
}

pub(super) fn preset_menu(ui: &mut Ui, editor: &mut TrainingEditor, catalog: &PresetCatalog, requests: &mut Requests) {
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

fn name_of(kind: &str) -> &'static str {
    first_of(kind).preset.workload().map_or("", |workload| workload.info().name)
}

fn row(ui: &Ui) -> [f32; 2] {
    [ui.spacing().interact_size.y, ui.spacing().item_spacing.y]
}

/// Computes a menu's height: whole entries, in half of the window and within the usual limit.
fn menu_height(ui: &Ui) -> f32 {
    let ([row, gap], spacing) = (row(ui), ui.spacing());
    let most = spacing.default_area_size.y - spacing.menu_margin.sum().y - 2.0;
    let room = most.min(0.5 * ui.ctx().content_rect().height());
    let rows = ((room + gap) / (row + gap)).floor().max(1.0);
    rows * (row + gap) - gap
}

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
        for preset in own.iter().filter(|preset| preset.preset.as_ref().is_some_and(|preset| preset.kind() == kind)) {
            if ui.selectable_label(false, format!("{} (your own)", preset.title)).clicked() {
                requests.actions.push(Action::OpenFile(preset.path.clone()));
            }
        }
    }
}

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

/// The width between the frame of a text field and its text, on both sides together, in points.
const MARGIN: f32 = 8.0;

/// Shows the choice of the source, and below it the path of a chosen folder.
pub(super) fn data_field(
    ui: &mut Ui,
    name: &str,
    help: &str,
    data: &mut DataChoice,
    dataset: &Dataset,
    requests: &mut Requests,
) {
    form::line(ui, name, help, |ui| {
        let text = match data {
            DataChoice::Automatic => "Automatic",
            DataChoice::Folder(_) => "A folder",
            DataChoice::Synthetic => dataset.synthetic,
        };
        let shown = ComboBox::from_id_salt("dataset").selected_text(text).truncate().show_ui(ui, |ui| {
            ui.selectable_value(data, DataChoice::Automatic, "Automatic");
            if ui.selectable_label(matches!(data, DataChoice::Folder(_)), "A folder").clicked()
                && !matches!(data, DataChoice::Folder(_))
            {
                *data = DataChoice::Folder(String::new());
            }
            ui.selectable_value(data, DataChoice::Synthetic, dataset.synthetic);
        });
        shown.response.accessible_name("Dataset");
        let choose =
            ui.add(Button::new("Folder…")).on_hover_text(format!("Choose a folder that has {}", dataset.folder));
        if choose.accessible_name("Choose the folder of the dataset").clicked() {
            let begin = match data {
                DataChoice::Folder(folder) => Some(PathBuf::from(folder.as_str())),
                DataChoice::Automatic | DataChoice::Synthetic => None,
            };
            requests.actions.push(Action::ChooseDataFolder(begin));
        }
    });
    if let DataChoice::Folder(path) = data {
        form::line(ui, "", &format!("A folder that has {}", dataset.folder), |ui| data_folder(ui, path));
    }
}

/// Shows the path of the folder. Where it does not fit its end is shown, which distinguishes it from others, until it
/// is edited.
fn data_folder(ui: &mut Ui, path: &mut String) {
    let id = ui.make_persistent_id("folder of the dataset");
    let width = ui.available_width() - 16.0;
    let mut shown = if ui.memory(|memory| memory.has_focus(id)) { path.clone() } else { end(ui, path, width - MARGIN) };
    let edit = TextEdit::singleline(&mut shown).id(id).hint_text("Path of the folder").desired_width(width);
    let field = ui.add(edit).on_hover_text(path.as_str()).accessible_name("Folder of the dataset");
    if field.changed() {
        *path = shown;
    }
}

/// Cuts a path so that its end fits into `room`.
fn end(ui: &Ui, path: &str, room: f32) -> String {
    const LEFT_OUT: char = '…';
    let font = TextStyle::Body.resolve(ui.style());
    let width = |c: char| ui.fonts_mut(|fonts| fonts.glyph_width(&font, c));
    if path.chars().map(width).sum::<f32>() <= room {
        return path.to_owned();
    }
    let (mut left, mut start) = (room - width(LEFT_OUT), path.len());
    for (index, c) in path.char_indices().rev() {
        left -= width(c);
        if left < 0.0 {
            break;
        }
        start = index;
    }
    // Cut between folder names, if possible.
    let names = path[start..].find(std::path::is_separator).map_or(start, |index| start + index);
    format!("{LEFT_OUT}{}", &path[names..])
}
