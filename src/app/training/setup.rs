//! What to train: workload, preset, data, device, optimizer, and how long.

use std::path::PathBuf;

use egui::{Button, CollapsingHeader, ComboBox, Label, RichText, TextEdit, Ui};

use super::draft::{Draft, first_of};
use super::office::WorkerState;
use crate::app::form;
use crate::app::live::{Action, Requests};
use crate::app::number;
use crate::app::shelf::Shelf;
use crate::app::typed::TypedField;
use crate::optimizer::DecayTarget;
use crate::preset::{Preset, built_ins};
use crate::quantity::{BatchSize, RealQuantity, WholeQuantity};
use crate::workload::form::{Choice, Field, Section, Value};
use crate::workload::{DataChoice, Dataset, DeviceChoice, ScanOptimizer, TrainingRule};

const NAME_WIDTH: f32 = 108.0;
const FIELD_WIDTH: f32 = 84.0;

/// A line with a name and something to change.
fn line(ui: &mut Ui, name: &str, help: &str, add: impl FnOnce(&mut Ui)) {
    form::line(ui, NAME_WIDTH, name, help, add);
}

/// A quantity that is typed; what is out of its range is refused with its reason.
fn real(ui: &mut Ui, owner: &str, name: &str, help: &str, value: &mut dyn RealQuantity) {
    line(ui, name, help, |ui| {
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
    line(ui, name, help, |ui| {
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

/// Shows the controls.
pub fn show(ui: &mut Ui, draft: &mut Draft, worker: &WorkerState, shelf: &Shelf, requests: &mut Requests) {
    workload(ui, draft, shelf, requests);
    several(ui, draft);
    let before = draft.data();
    for section in draft.form() {
        show_section(ui, section, worker, requests);
    }
    // The runs of a preset learn from the same data.
    let data = draft.data();
    if data != before {
        draft.set_data(&data);
    }
    ui.add_space(6.0);
}

fn workload(ui: &mut Ui, draft: &mut Draft, shelf: &Shelf, requests: &mut Requests) {
    line(ui, "Workload", "What is trained", |ui| {
        let text = draft.preset.workload().map_or("", |workload| workload.name());
        let combo = ComboBox::from_id_salt("workload").selected_text(text).truncate().width(ui.available_width() - 8.0);
        let shown = combo.show_ui(ui, |ui| {
            for &kind in Preset::WORKLOADS {
                let (preset, _) = first_of(kind);
                let is_present = kind == draft.preset.kind();
                let text = preset.workload().map_or("", |workload| workload.name());
                if ui.selectable_label(is_present, text).clicked() && !is_present {
                    draft.take(kind);
                }
            }
        });
        shown.response.accessible_name("Workload");
    });
    line(ui, "Preset", "Settings to begin with", |ui| {
        let changed = if draft.is_changed() { " · changed" } else { "" };
        let text = format!("{}{changed}", draft.preset.title());
        let combo = ComboBox::from_id_salt("training preset").selected_text(text).truncate();
        let shown = combo.width(ui.available_width() - 8.0).show_ui(ui, |ui| presets(ui, draft, shelf, requests));
        shown.response.on_hover_text(draft.preset.description()).accessible_name("Training preset");
    });
}

fn presets(ui: &mut Ui, draft: &Draft, shelf: &Shelf, requests: &mut Requests) {
    for built_in in built_ins().iter().filter(|built_in| built_in.preset.workload().is_some()) {
        let name = format!("{} ({})", built_in.preset.title(), built_in.name);
        if ui.selectable_label(built_in.preset == draft.origin().clean, name).clicked() {
            requests.actions.push(Action::OpenBuiltIn(built_in.name));
        }
    }
    let own = shelf.own().as_deref().unwrap_or_default();
    for preset in own.iter().filter(|preset| preset.is_training) {
        if ui.selectable_label(false, format!("{} (your own)", preset.title)).clicked() {
            requests.actions.push(Action::OpenFile(preset.path.clone()));
        }
    }
}

/// Which of a preset's runs is under the controls.
fn several(ui: &mut Ui, draft: &mut Draft) {
    let labels = draft.preset.workload().map_or_else(Vec::new, |workload| workload.labels());
    if labels.len() < 2 {
        return;
    }
    let name = |index: usize| format!("{} of {}: {}", index + 1, labels.len(), labels[index]);
    let mut chosen = draft.chosen();
    line(ui, "Run", "The preset has several runs; the controls below are those of this one", |ui| {
        let combo = ComboBox::from_id_salt("run of the preset").selected_text(name(chosen)).truncate();
        let shown = combo.width(ui.available_width() - 8.0).show_ui(ui, |ui| {
            for index in 0..labels.len() {
                ui.selectable_value(&mut chosen, index, name(index));
            }
        });
        shown.response.accessible_name("Run of the preset");
    });
    draft.choose(chosen);
}

fn show_section(ui: &mut Ui, section: Section<'_>, worker: &WorkerState, requests: &mut Requests) {
    let Section { heading: title, folded, fields } = section;
    let show = |ui: &mut Ui| fields.into_iter().for_each(|field| show_field(ui, field, worker, requests));
    if folded {
        CollapsingHeader::new(title).show(ui, show);
    } else {
        if !title.is_empty() {
            heading(ui, title);
        }
        show(ui);
    }
}

fn show_field(ui: &mut Ui, field: Field<'_>, worker: &WorkerState, requests: &mut Requests) {
    let Field { name, help, value } = field;
    match value {
        Value::Real(value) => real(ui, "", name, help, value),
        Value::Whole(value) => whole(ui, name, help, value),
        Value::Seed(value) => line(ui, name, help, |ui| seed(ui, value)),
        Value::Switch(value) => line(ui, name, help, |ui| {
            ui.checkbox(value, "").on_hover_text(help).accessible_name(name);
        }),
        Value::Choice(choice) => line(ui, name, help, |ui| choose(ui, name, choice)),
        Value::Data(value, dataset) => data(ui, name, help, value, dataset, requests),
        Value::Device(value) => line(ui, name, help, |ui| devices(ui, value, worker)),
        Value::Rule(value) => {
            line(ui, name, help, |ui| rules(ui, value));
            hyperparameters(ui, "", value);
        }
        Value::BatchSizes(value) => line(ui, name, help, |ui| {
            let sizes: Vec<String> = value.iter().map(|size| size.get().to_string()).collect();
            let field = TypedField { name, width: ui.available_width() - 12.0 };
            *value = field.show(ui, &sizes.join(", "), batch_sizes).entered.unwrap_or_else(|| value.clone());
        }),
        Value::Optimizers(value) => optimizers(ui, value),
        Value::Note(text) => drop(ui.add(Label::new(RichText::new(text).small().weak()).wrap())),
    }
}

fn choose(ui: &mut Ui, name: &str, mut choice: Choice<'_>) {
    /// More names have no room beside each other.
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

fn rules(ui: &mut Ui, value: &mut TrainingRule) {
    let shown = ComboBox::from_id_salt("rule").selected_text(value.name()).show_ui(ui, |ui| {
        for rule in TrainingRule::all() {
            let chosen = rule.name() == value.name();
            if ui.selectable_label(chosen, rule.name()).clicked() && !chosen {
                *value = rule;
            }
        }
    });
    shown.response.accessible_name("Optimizer");
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

fn data(ui: &mut Ui, name: &str, help: &str, data: &mut DataChoice, dataset: &Dataset, requests: &mut Requests) {
    line(ui, name, help, |ui| {
        let text = match data {
            DataChoice::Automatic => "Automatic",
            DataChoice::Folder(_) => "A folder",
            DataChoice::StandIn => dataset.stand_in,
        };
        let shown = ComboBox::from_id_salt("dataset").selected_text(text).truncate().show_ui(ui, |ui| {
            ui.selectable_value(data, DataChoice::Automatic, "Automatic");
            if ui.selectable_label(matches!(data, DataChoice::Folder(_)), "A folder").clicked()
                && !matches!(data, DataChoice::Folder(_))
            {
                *data = DataChoice::Folder(String::new());
            }
            ui.selectable_value(data, DataChoice::StandIn, dataset.stand_in);
        });
        shown.response.accessible_name("Dataset");
        let choose =
            ui.add(Button::new("Folder…")).on_hover_text(format!("Choose a folder that has {}", dataset.folder));
        if choose.accessible_name("Choose the folder of the dataset").clicked() {
            let begin = match data {
                DataChoice::Folder(folder) => Some(PathBuf::from(folder.as_str())),
                DataChoice::Automatic | DataChoice::StandIn => None,
            };
            requests.actions.push(Action::ChooseDataFolder(begin));
        }
    });
    if let DataChoice::Folder(folder) = data {
        line(ui, "", &format!("A folder that has {}", dataset.folder), |ui| {
            let field =
                TextEdit::singleline(folder).hint_text("Path of the folder").desired_width(ui.available_width() - 16.0);
            ui.add(field).accessible_name("Folder of the dataset");
        });
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

/// The hyperparameters of a rule.
fn hyperparameters(ui: &mut Ui, owner: &str, rule: &mut TrainingRule) {
    const BETA1: &str = "Decay rate of the momentum.";
    const DECAY: &str = "Pull of the linear layers' weights to 0.";
    match rule {
        TrainingRule::Adam { beta1, beta2, weight_decay } => {
            real(ui, owner, "β₁", BETA1, beta1);
            real(ui, owner, "β₂", "Decay rate of the squared gradient's average.", beta2);
            real(ui, owner, "Weight decay ω", DECAY, weight_decay);
        }
        TrainingRule::Focus { beta1, beta2, gamma, weight_decay, decay } => {
            real(ui, owner, "β₁", BETA1, beta1);
            real(ui, owner, "β₂", "Decay rate of the parameters' average.", beta2);
            real(ui, owner, "Attraction γ", "Strength of the pull to the average.", gamma);
            real(ui, owner, "Weight decay ω", DECAY, weight_decay);
            line(ui, "Decay of", "The paper's training code decays the average.", |ui| {
                ui.selectable_value(decay, DecayTarget::Average, "average");
                ui.selectable_value(decay, DecayTarget::Parameters, "parameters");
            });
        }
        TrainingRule::Signum { beta1, weight_decay } | TrainingRule::Sgd { beta1, weight_decay } => {
            real(ui, owner, "β₁", BETA1, beta1);
            real(ui, owner, "Weight decay ω", DECAY, weight_decay);
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
            let remove = ui.add_enabled(several, Button::new("Remove").small());
            if remove.accessible_name(form::owned(&owner, "remove")).clicked() {
                removed = Some(index);
            }
        });
    }
    if let Some(index) = removed {
        optimizers.remove(index);
    }
    ui.menu_button("Add an optimizer", |ui| {
        for rule in TrainingRule::all() {
            if ui.button(rule.name()).clicked() {
                optimizers.push(ScanOptimizer { name: None, color: None, rule });
                ui.close();
            }
        }
    });
}

fn batch_sizes(text: &str) -> Result<Vec<BatchSize>, String> {
    let parts = text.split([',', ';', ' ']).filter(|part| !part.trim().is_empty());
    let sizes: Result<Vec<BatchSize>, String> =
        parts.map(|part| BatchSize::new(number::read_whole(part)?).map_err(|refused| refused.to_string())).collect();
    sizes
        .and_then(|sizes| if sizes.is_empty() { Err("expected at least one batch size".to_owned()) } else { Ok(sizes) })
}
