//! The controls of a training: workload, preset, data, device, optimizer, and number of steps.

use egui::{Button, CollapsingHeader, ComboBox, Label, RichText, Stroke, Ui};
use valleyscope_engine::optimizer::{HyperparameterKind, RuleKind, RuleSpec};
use valleyscope_engine::quantity::{BatchSize, OutOfRange, RealQuantity, WholeQuantity};
use valleyscope_experiments::workload::form::{Choice, Field, Section, Value};
use valleyscope_experiments::workload::{DeviceChoice, ScanOptimizer};

use super::editor::{TrainingEditor, TrainingFault};
use super::update::WorkerState;
use super::{data_field, preset_menu};
use crate::app::boxes::check_box;
use crate::app::form;
use crate::app::live::Requests;
use crate::app::number;
use crate::app::preset_catalog::PresetCatalog;
use crate::app::text_editor::{self, RuleChoice, TextEditor, TextTab};
use crate::app::typed::TypedField;

const FIELD_WIDTH: f32 = 84.0;

/// Shows a field for a quantity, which refuses a value out of its range with the reason.
fn real(ui: &mut Ui, owner: &str, name: &str, help: &str, value: &mut dyn RealQuantity) {
    form::line(ui, name, help, |ui| {
        let field_name = form::owned(owner, name);
        let field = TypedField { name: &field_name, width: FIELD_WIDTH };
        let typed = field.show(ui, &number::text(value.value()), |text| {
            let entered = number::read(text)?;
            value.enter(entered).map_err(|refused| refused.to_string())
        });
        typed.response.on_hover_text(help);
    });
}

fn whole(ui: &mut Ui, name: &str, help: &str, value: &mut dyn WholeQuantity) {
    form::line(ui, name, help, |ui| {
        let field = TypedField { name, width: FIELD_WIDTH };
        let typed = field.show(ui, &value.value().to_string(), |text| {
            let entered = number::read_whole(text)?;
            value.enter(entered).map_err(|refused| refused.to_string())
        });
        typed.response.on_hover_text(help);
    });
}

fn heading(ui: &mut Ui, text: &str) {
    form::heading(ui, 6.0, text);
}

/// The available information on the current settings.
#[derive(Clone, Copy)]
pub(super) struct SetupStatus<'a> {
    pub worker: &'a WorkerState,
    /// The fault that prevents the start of the training.
    pub fault: Option<&'a TrainingFault>,
}

/// Shows the controls of the training in `editor`.
pub(super) fn show(
    ui: &mut Ui,
    editor: &mut TrainingEditor,
    status: SetupStatus<'_>,
    catalog: &PresetCatalog,
    requests: &mut Requests,
) {
    preset_menu::show(ui, editor, catalog, requests);
    let before = editor.data();
    for section in editor.form() {
        show_section(ui, section, status, requests);
    }
    // The runs of a preset learn from the same data.
    let data = editor.data();
    if data != before {
        editor.set_data(&data);
    }
    ui.add_space(6.0);
}

fn show_section(ui: &mut Ui, section: Section<'_>, status: SetupStatus<'_>, requests: &mut Requests) {
    let Section { heading: title, folded, fields } = section;
    // A faulty field is always visible.
    let is_wrong = status.fault.is_some_and(|fault| fields.iter().any(|field| fault.is_at(field.path)));
    let show = |ui: &mut Ui| fields.into_iter().for_each(|field| show_field(ui, field, status, requests));
    if folded {
        CollapsingHeader::new(title).open(is_wrong.then_some(true)).show(ui, show);
    } else {
        if !title.is_empty() {
            heading(ui, title);
        }
        show(ui);
    }
}

/// Shows a field, and below it its fault.
fn show_field(ui: &mut Ui, field: Field<'_>, status: SetupStatus<'_>, requests: &mut Requests) {
    let Some(fault) = status.fault.filter(|fault| fault.is_at(field.path)) else {
        return show_value(ui, field, status.worker, requests);
    };
    let color = ui.visuals().error_fg_color;
    ui.scope(|ui| {
        let widgets = &mut ui.visuals_mut().widgets;
        widgets.noninteractive.fg_stroke.color = color;
        widgets.inactive.bg_stroke = Stroke::new(1.0, color);
        show_value(ui, field, status.worker, requests);
    });
    ui.add(Label::new(RichText::new(&fault.message).small().color(color)).selectable(true).wrap());
}

fn show_value(ui: &mut Ui, field: Field<'_>, worker: &WorkerState, requests: &mut Requests) {
    let Field { name, help, path: _, value } = field;
    match value {
        Value::Real(value) => real(ui, "", name, help, value),
        Value::Whole(value) => whole(ui, name, help, value),
        Value::Seed(value) => form::line(ui, name, help, |ui| seed(ui, value)),
        Value::Switch(value) => form::line(ui, name, help, |ui| {
            check_box(ui, value, "").on_hover_text(help).accessible_name(name);
        }),
        Value::Choice(choice) => form::line(ui, name, help, |ui| choose(ui, name, choice)),
        Value::Data(value, dataset) => data_field::show(ui, name, help, value, dataset, requests),
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
    /// The largest number of names that fit side by side.
    const BESIDE: usize = 3;
    if choice.names.len() > BESIDE {
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

/// The choice of the rule of the shown run.
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

/// A numeric hyperparameter of a rule.
struct HyperparameterField<'a> {
    rule: &'a mut RuleSpec,
    key: &'static str,
    value: f64,
}

impl RealQuantity for HyperparameterField<'_> {
    fn value(&self) -> f64 {
        self.value
    }

    fn enter(&mut self, value: f64) -> Result<(), OutOfRange> {
        self.rule.set(self.key, value)
    }
}

/// Shows the hyperparameters of a rule.
fn hyperparameters(ui: &mut Ui, owner: &str, rule: &mut RuleSpec) {
    for (of, mut value) in rule.hyperparameters() {
        match of.kind {
            HyperparameterKind::Choice(choices) => form::line(ui, of.label, of.help, |ui| {
                // Choices without room in a row are below each other, beside the name.
                ui.horizontal_wrapped(|ui| {
                    for (index, choice) in choices.iter().enumerate() {
                        ui.selectable_value(&mut value, index as f64, choice.label).on_hover_text(choice.help);
                    }
                });
                rule.set(of.key, value).expect("it is one of the choices");
            }),
            HyperparameterKind::DecayRate | HyperparameterKind::Number(_) | HyperparameterKind::Whole(_) => {
                real(ui, owner, of.label, of.help, &mut HyperparameterField { rule, key: of.key, value });
            }
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
