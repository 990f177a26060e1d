//! The controls of a training: workload, preset, data, device, optimizer, and number of steps.

use std::path::PathBuf;

use egui::{Button, Label, RichText, Stroke, TextEdit, TextStyle, Ui};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::Replicates;
use valleyscope_engine::setting::{SettingInfo, SettingPath, SettingValue};
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::preset::{GridPreset, Preset, UserPreset, Variation, built_ins};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::workload::form::{Choice, FormSection, Value};
use valleyscope_experiments::workload::{Dataset, DeviceChoice};

use super::editor::{Feasibility, GRID, TrainingEditor, TrainingFault, first_of};
use super::view::show_found;
use super::worker::WorkerState;
use crate::app::shell::actions::{Action, Requests};
use crate::app::shell::editor::change_mark;
use crate::app::shell::files::Purpose;
use crate::app::shell::presets::PresetCatalog;
use crate::app::widgets::form::{check_box, scrolled_list};
use crate::app::widgets::number::TypedField;
use crate::app::widgets::setting::{Pins, RowAction, SliderStyle, pinned_card, setting_row, unpinned_row};
use crate::app::widgets::text_editor::{RuleChoice, TextEditor, TextTab};
use crate::app::widgets::theme::text_width;
use crate::app::widgets::{form, number};

#[derive(Clone, Copy)]
pub(super) struct SetupStatus<'a> {
    pub worker: &'a WorkerState,
    /// The fault that prevents the start of the training.
    pub fault: Option<&'a TrainingFault>,
    /// The data, and the requirements of the training.
    pub found: Option<&'a Feasibility>,
}

/// Shows the controls of a training.
pub(super) fn show(
    ui: &mut Ui,
    editor: &mut TrainingEditor,
    pins: &mut Pins,
    status: SetupStatus<'_>,
    catalog: &PresetCatalog,
    requests: &mut Requests,
) {
    let rows = rows(editor);
    pinned_card(ui, pins, rows.clone(), |_| VARY.to_vec(), |path, value| editor.set(path, value));
    form::card(ui, "Preset", |ui| preset_menu(ui, editor, catalog, requests));
    if let Some(path) = RowAction::VaryTraining.take(ui.ctx()) {
        editor.vary(&path.path);
    }
    form::card(ui, "Grid", |ui| {
        grid(ui, editor);
        status.fault.filter(|fault| fault.is_at(GRID)).into_iter().for_each(|fault| form::fault(ui, &fault.message));
    });
    let before = editor.data();
    let rows: Vec<_> = rows.into_iter().filter(|(_, it)| !editor.varies(&it.path.path)).collect();
    let mut form = TrainingForm { rows, pins, status, requests };
    for section in editor.form() {
        form.section(ui, &section, editor);
    }
    // The runs of a preset use the same data.
    let data = editor.data();
    if data != before {
        editor.set_data(&data);
    }
    ui.add_space(6.0);
}

/// How values are typed.
const VALUES: &str = "Values: with commas, or FROM..TO:COUNT, with :log for equal quotients";
/// The text in place of the value of a setting that varies.
const VARIES: &str = "varies in the grid";
/// The actions of the rows of numbers.
const VARY: [RowAction; 1] = [RowAction::VaryTraining];

/// Shows the settings that vary, with their values, the number of seeds and that of the trainings.
fn grid(ui: &mut Ui, editor: &mut TrainingEditor) {
    let mut changed = None;
    let settings = editor.can_vary();
    if let Preset::Grid(grid) = editor.preset() {
        for (index, Variation { setting, text, .. }) in grid.vary.iter().enumerate() {
            let label = settings.iter().find(|(path, _)| path == setting).map_or(setting, |(_, label)| label);
            let name = format!("Values of {setting}");
            form::line(ui, label, VALUES, |ui| {
                let field = TypedField { name: &name, width: ui.available_width() - form::BUTTON_SIDE - 15.0 };
                let read = |text: &str| format!("{setting}={text}").parse::<Variation>();
                if let Some(entered) = field.show_text(ui, text, read).entered {
                    let mut grid = grid.clone();
                    grid.vary[index] = entered;
                    changed = Some(grid);
                }
                if form::small_button(ui, true, "×", &format!("Do not vary {setting}"), "Train with one value") {
                    let mut grid = grid.clone();
                    grid.vary.remove(index);
                    changed = Some(grid);
                }
            });
            // A field shows the beginning only.
            if text.len() > 30 {
                ui.add(Label::new(RichText::new(text).small().weak()).wrap());
            }
        }
        form::line(ui, "Seeds", "Trainings of each combination, which differ in the seed", |ui| {
            let field = TypedField { name: "Number of seeds", width: form::FIELD_WIDTH };
            let read = |text: &str| Replicates::new(number::read_whole(text)?).map_err(|refused| refused.to_string());
            if let Some(seeds) = field.show(ui, &grid.seeds.get().to_string(), read).entered {
                changed = Some(GridPreset { seeds, ..grid.clone() });
            }
        });
        let text = format!("{} = {} trainings", editor.preset().varied().join(" × "), grouped(grid.count() as u64));
        ui.add(Label::new(RichText::new(text).small().weak()).wrap());
        ui.add(Label::new(RichText::new(VALUES).small().weak()).wrap());
    } else {
        ui.label(RichText::new("Train all combinations of some values.").small().weak());
    }
    if let Some(grid) = changed {
        editor.set_grid(grid);
    }
    ui.menu_button("Vary…", |ui| {
        for (path, label) in settings {
            if ui.add_enabled(!editor.varies(&path), Button::new(label)).clicked() {
                editor.vary(&path);
            }
        }
    });
}

/// Lists the numbers of a training with their optimizers' names. The default is the preset's value, or else the rule's.
fn rows(editor: &mut TrainingEditor) -> Vec<(String, SettingValue)> {
    let mut usual = editor.usual();
    let mut rows = Vec::new();
    for of in editor.form().into_iter().flat_map(|section| section.fields) {
        let mut add = |owner: &str, path: SettingPath, info: &'static SettingInfo, [value, default]: [f64; 2]| {
            let default = usual(&path).unwrap_or(default);
            rows.push((owner.to_owned(), SettingValue { path, info, value, default }));
        };
        let of_rule = |rule: &RuleSpec| rule.hyperparameters().filter(|(of, _)| of.range().is_some());
        match editor.value(of.key) {
            Some(Value::Number(number)) => add("", SettingPath::new(of.key), of, [number.value(); 2]),
            Some(Value::Rule(rule)) => {
                for (info, value) in of_rule(rule) {
                    add("", SettingPath::new(format!("{}.{}", of.key, info.key)), info, [value, info.in_training]);
                }
            }
            _ => {}
        }
    }
    rows
}

/// The controls of a training, without those of its preset.
struct TrainingForm<'a> {
    rows: Vec<(String, SettingValue)>,
    pins: &'a mut Pins,
    status: SetupStatus<'a>,
    requests: &'a mut Requests,
}

impl TrainingForm<'_> {
    fn section(&mut self, ui: &mut Ui, section: &FormSection, editor: &mut TrainingEditor) {
        let FormSection { heading: title, folded, fields } = section;
        // A faulty field is always visible.
        let is_wrong = self.status.fault.is_some_and(|fault| fields.iter().any(|field| fault.is_at(field.key)));
        let found = self.status.found.filter(|_| fields.iter().any(|field| field.key == "data"));
        let mut show = |ui: &mut Ui| fields.iter().for_each(|field| self.field(ui, field, editor));
        match (*title, folded) {
            ("", _) => show(ui),
            (title, true) => form::folded_card(ui, title, is_wrong, show),
            (title, false) => form::card(ui, title, |ui| {
                show(ui);
                found.into_iter().for_each(|found| show_found(ui, found));
            }),
        }
    }

    /// Shows a field, and below it its fault.
    fn field(&mut self, ui: &mut Ui, of: &SettingInfo, editor: &mut TrainingEditor) {
        if editor.varies(of.key) {
            return form::line(ui, of.label, of.help, |ui| drop(ui.weak(VARIES)));
        }
        let Some(value) = editor.value(of.key) else { return };
        let Some(fault) = self.status.fault.filter(|fault| fault.is_at(of.key)) else {
            return self.value(ui, of, value);
        };
        let color = ui.visuals().error_fg_color;
        ui.scope(|ui| {
            let widgets = &mut ui.visuals_mut().widgets;
            widgets.noninteractive.fg_stroke.color = color;
            widgets.inactive.bg_stroke = Stroke::new(1.0, color);
            self.value(ui, of, value);
        });
        form::fault(ui, &fault.message);
    }

    fn value(&mut self, ui: &mut Ui, of: &SettingInfo, value: Value<'_>) {
        let SettingInfo { label: name, help, .. } = *of;
        match value {
            Value::Number(value) => {
                if let Some(entered) = self.row(ui, "", &SettingPath::new(of.key)) {
                    value.enter(entered).expect("the control keeps to the range");
                }
            }
            Value::Seed(value) => form::line(ui, name, help, |ui| seed(ui, value)),
            Value::Switch(value) => form::line(ui, name, help, |ui| {
                check_box(ui, value, "").on_hover_text(help).accessible_name(name);
            }),
            Value::Choice(choice) => choose(ui, name, help, choice),
            Value::Data(value, dataset) => data_field(ui, name, help, value, dataset, self.requests),
            Value::Device(value) => devices(ui, name, help, value, self.status.worker),
            Value::Rule(value) => {
                RULE.row(ui, value);
                let editor = TextEditor::<RuleKind>::new(TextTab::Training, 0, value.name());
                if value.kind().typed().is_some()
                    && form::small_button(ui, true, "Edit text", "Text of the optimizer", "The rule as text")
                {
                    editor.open(ui.ctx());
                }
                self.hyperparameters(ui, "", value, |key| SettingPath::new(format!("{}.{key}", of.key)));
                editor.show(ui.ctx(), value);
            }
            Value::Note(text) if text.is_empty() => {}
            Value::Note(text) => drop(ui.add(Label::new(RichText::new(text).small().weak()).wrap())),
        }
    }

    /// Shows the row of the number at a path, unless it is pinned or its rule is new in this frame.
    fn row(&mut self, ui: &mut Ui, owner: &str, path: &SettingPath) -> Option<f64> {
        let (_, it) = self.rows.iter().find(|(_, it)| it.path == *path)?;
        unpinned_row(ui, owner, it, self.pins, &VARY)
    }

    fn hyperparameters(&mut self, ui: &mut Ui, owner: &str, rule: &mut RuleSpec, path: impl Fn(&str) -> SettingPath) {
        for (of, value) in rule.hyperparameters() {
            let set = match of.choices() {
                [] => self.row(ui, owner, &path(of.key)),
                _ => setting_row(ui, owner, of, [value, of.in_training], SliderStyle::Plain),
            };
            if let Some(set) = set {
                rule.set(of.key, set).expect("the control keeps to the range");
            }
        }
    }
}

fn choose(ui: &mut Ui, name: &str, help: &str, mut choice: Choice<'_>) {
    /// The largest number of names that fit in a row.
    const MOST_IN_ROW: usize = 3;
    if choice.names.len() > MOST_IN_ROW {
        let text = choice.chosen.map_or("", |chosen| choice.names[chosen]);
        ui.horizontal(|ui| form::list_field(ui, name, help, name, text, 0.0, |ui| choices(ui, &mut choice)));
    } else {
        form::line(ui, name, help, |ui| choices(ui, &mut choice));
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

fn seed(ui: &mut Ui, seed: &mut u64) {
    let field = TypedField { name: "Seed of the training", width: form::FIELD_WIDTH };
    if let Some(entered) = field.show(ui, &seed.to_string(), number::read_whole).entered {
        *seed = entered;
    }
    let next = Button::new("+1").small();
    if ui.add(next).on_hover_text("The next replicate").accessible_name("Next seed").clicked() {
        *seed = seed.wrapping_add(1);
    }
}

fn devices(ui: &mut Ui, name: &str, help: &str, device: &mut DeviceChoice, worker: &WorkerState) {
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
    ui.horizontal(|ui| {
        form::list_field(ui, name, help, "device", text, 0.0, |ui| {
            for (choice, name) in &choices {
                ui.selectable_value(device, *choice, name);
            }
        });
    });
}

fn preset_menu(ui: &mut Ui, editor: &mut TrainingEditor, catalog: &PresetCatalog, requests: &mut Requests) {
    ui.horizontal(|ui| {
        let (help, chosen) = ("What is trained", name_of(editor.preset().base().kind()));
        form::list_field(ui, "Workload", help, "workload", chosen, 0.0, |ui| {
            for &kind in Preset::WORKLOADS {
                let is_present = kind == editor.preset().base().kind();
                if ui.selectable_label(is_present, name_of(kind)).clicked() && !is_present {
                    editor.take(kind);
                }
            }
        });
    });
    ui.horizontal(|ui| {
        let named = editor.named();
        let text = format!("{}{}", named.title(), change_mark(named.title(), editor.presets.is_dirty()));
        let shown = form::list_field(ui, "Preset", "The initial settings", "training preset", &text, 0.0, |ui| {
            scrolled_list(ui, |ui| presets(ui, editor, catalog, requests));
        });
        shown.on_hover_text(named.description()).accessible_name("Training preset");
    });
    runs(ui, editor);
}

fn name_of(kind: &str) -> &'static str {
    first_of(kind).preset.workload().map_or("", |workload| workload.info().name)
}

fn presets(ui: &mut Ui, editor: &TrainingEditor, catalog: &PresetCatalog, requests: &mut Requests) {
    let present = editor.preset().base().kind();
    let mut kinds = Preset::WORKLOADS.to_vec();
    kinds.sort_by_key(|kind| *kind != present);
    let own = catalog.own.as_deref().unwrap_or_default();
    for kind in kinds {
        ui.label(RichText::new(name_of(kind)).small().weak());
        for built_in in built_ins().iter().filter(|built_in| built_in.preset.base().kind() == kind) {
            let name = format!("{} ({})", built_in.preset.title(), built_in.name);
            let entry = ui.selectable_label(built_in.preset == editor.presets.saved_state().clean, name);
            if entry.on_hover_text(built_in.preset.description()).clicked() {
                requests.actions.push(Action::Open(Box::new(built_in.preset.clone())));
            }
        }
        for UserPreset { path, preset, .. } in own {
            if let Ok(preset) = preset
                && preset.base().kind() == kind
                && ui.selectable_label(false, format!("{} (your own)", preset.title())).clicked()
            {
                requests.actions.push(Action::OpenFile(path.clone()));
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
    ui.horizontal(|ui| {
        let help = "The preset has several runs; the controls below are those of this one";
        let shown = form::list_field(ui, "Run", help, "run of the preset", &name(chosen), 0.0, |ui| {
            for index in 0..labels.len() {
                ui.selectable_value(&mut chosen, index, name(index));
            }
        });
        shown.accessible_name("Run of the preset");
    });
    editor.choose(chosen);
}

const FOLDER: &str = "Folder…";
/// The width between the frame of a text field and its text, on both sides together, in points.
const MARGIN: f32 = 8.0;

/// Shows the choice of the source, and below it the path of a chosen folder.
fn data_field(ui: &mut Ui, name: &str, help: &str, data: &mut DataChoice, dataset: &Dataset, requests: &mut Requests) {
    ui.horizontal(|ui| {
        let text = match data {
            DataChoice::Automatic => "Automatic",
            DataChoice::Folder(_) => "A folder",
            DataChoice::Synthetic => dataset.synthetic,
        };
        let spacing = ui.spacing();
        let font = TextStyle::Button.resolve(ui.style());
        let button = spacing.item_spacing.x + 2.0 * spacing.button_padding.x + text_width(ui, &font, FOLDER);
        form::list_field(ui, name, help, "dataset", text, button, |ui| {
            ui.selectable_value(data, DataChoice::Automatic, "Automatic");
            if ui.selectable_label(matches!(data, DataChoice::Folder(_)), "A folder").clicked()
                && !matches!(data, DataChoice::Folder(_))
            {
                *data = DataChoice::Folder(String::new());
            }
            ui.selectable_value(data, DataChoice::Synthetic, dataset.synthetic);
        });
        let choose = ui.add(Button::new(FOLDER)).on_hover_text(format!("Choose a folder that has {}", dataset.folder));
        if choose.accessible_name("Choose the folder of the dataset").clicked() {
            let begin = match data {
                DataChoice::Folder(folder) => Some(PathBuf::from(folder.as_str())),
                DataChoice::Automatic | DataChoice::Synthetic => None,
            };
            requests.actions.push(Action::Choose(Box::new(Purpose::Data(begin))));
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
