//! What to train: workload, preset, data, device, optimizer, and how long.

use std::path::PathBuf;

use egui::{Button, CollapsingHeader, ComboBox, Label, RichText, TextEdit, Ui};

use super::draft::{Draft, Subject, Workload};
use super::office::WorkerState;
use crate::app::form;
use crate::app::live::{Action, Requests};
use crate::app::number;
use crate::app::shelf::Shelf;
use crate::app::typed::TypedField;
use crate::optimizer::DecayTarget;
use crate::preset::{Preset, built_ins};
use crate::quantity::{
    BatchSize, Beta, CheckpointInterval, EvaluationInterval, Gamma, LearningRate, LoggingInterval, PointCount,
    Replicates, TrainingSteps, WeightDecay,
};
use crate::workload::{
    DataChoice, DeviceChoice, FloatType, MnistScanSpec, MnistSpec, NotFinite, ScanOptimizer, TrainingRule,
};

const NAME_WIDTH: f32 = 108.0;
const FIELD_WIDTH: f32 = 84.0;

/// A line with a name and something to change.
fn line(ui: &mut Ui, name: &str, help: &str, add: impl FnOnce(&mut Ui)) {
    form::line(ui, NAME_WIDTH, name, help, add);
}

/// A quantity that is typed; what is out of its range is refused with its reason.
macro_rules! real {
    ($ui:expr, $owner:expr => $name:expr, $help:expr, $value:expr, $type:ty) => {
        line($ui, $name, $help, |ui| {
            let name = form::owned($owner, $name);
            let field = TypedField { name: &name, width: FIELD_WIDTH };
            let typed = field.show(ui, &number::text($value.get()), |text| {
                <$type>::new(number::read(text)?).map_err(|refused| refused.to_string())
            });
            typed.response.on_hover_text($help);
            if let Some(entered) = typed.entered {
                $value = entered;
            }
        })
    };
}

macro_rules! whole {
    ($ui:expr, $name:expr, $help:expr, $value:expr, $type:ty) => {
        line($ui, $name, $help, |ui| {
            let field = TypedField { name: $name, width: FIELD_WIDTH };
            let typed = field.show(ui, &$value.get().to_string(), |text| {
                <$type>::new(number::read_whole(text)?).map_err(|refused| refused.to_string())
            });
            typed.response.on_hover_text($help);
            if let Some(entered) = typed.entered {
                $value = entered;
            }
        })
    };
}

fn heading(ui: &mut Ui, text: &str) {
    form::heading(ui, 6.0, text);
}

/// Shows the controls.
pub fn show(ui: &mut Ui, draft: &mut Draft, worker: &WorkerState, shelf: &Shelf, requests: &mut Requests) {
    workload(ui, draft, shelf, requests);
    several(ui, draft);
    let before = draft.data();
    match draft.subject() {
        Some(Subject::Run(run)) => run_controls(ui, run, worker, requests),
        Some(Subject::Scan(scan)) => scan_controls(ui, scan, worker, requests),
        None => {}
    }
    // The runs of a preset learn from the same data.
    let data = draft.data();
    if data != before {
        draft.set_data(&data);
    }
    ui.add_space(6.0);
}

fn workload(ui: &mut Ui, draft: &mut Draft, shelf: &Shelf, requests: &mut Requests) {
    let present = Workload::of(&draft.preset);
    line(ui, "Workload", "What is trained", |ui| {
        let text = present.map_or("", Workload::name);
        let combo = ComboBox::from_id_salt("workload").selected_text(text).truncate().width(ui.available_width() - 8.0);
        let shown = combo.show_ui(ui, |ui| {
            for workload in Workload::ALL {
                if ui.selectable_label(present == Some(workload), workload.name()).clicked()
                    && present != Some(workload)
                {
                    let data = draft.lasting_data();
                    let (preset, name) = workload.first();
                    *draft = Draft::new(preset, name, None);
                    draft.keep_data(&data);
                }
            }
        });
        shown.response.accessible_name("Workload");
    });
    line(ui, "Preset", "Settings to begin with", |ui| {
        let changed = if draft.preset == draft.clean { "" } else { " · changed" };
        let text = format!("{}{changed}", draft.preset.title());
        let combo = ComboBox::from_id_salt("training preset").selected_text(text).truncate();
        let shown = combo.width(ui.available_width() - 8.0).show_ui(ui, |ui| presets(ui, draft, shelf, requests));
        shown.response.on_hover_text(draft.preset.description()).accessible_name("Training preset");
    });
}

fn presets(ui: &mut Ui, draft: &Draft, shelf: &Shelf, requests: &mut Requests) {
    for built_in in built_ins().iter().filter(|built_in| Workload::of(&built_in.preset).is_some()) {
        let name = format!("{} ({})", built_in.preset.title(), built_in.name);
        if ui.selectable_label(built_in.preset == draft.clean, name).clicked() {
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
    let Preset::Mnist(preset) = &draft.preset else { return };
    if preset.runs.len() < 2 {
        return;
    }
    let name = |index: usize| format!("{} of {}: {}", index + 1, preset.runs.len(), preset.runs[index].label());
    let mut chosen = draft.chosen();
    line(ui, "Run", "The preset has several runs; the controls below are those of this one", |ui| {
        let combo = ComboBox::from_id_salt("run of the preset").selected_text(name(chosen)).truncate();
        let shown = combo.width(ui.available_width() - 8.0).show_ui(ui, |ui| {
            for index in 0..preset.runs.len() {
                ui.selectable_value(&mut chosen, index, name(index));
            }
        });
        shown.response.accessible_name("Run of the preset");
    });
    draft.choose(chosen);
}

fn run_controls(ui: &mut Ui, run: &mut MnistSpec, worker: &WorkerState, requests: &mut Requests) {
    where_and_what(ui, &mut run.data, &mut run.device, &mut run.precision, worker, requests);
    heading(ui, "Optimizer");
    line(ui, "Rule", "The update rule", |ui| {
        let shown = ComboBox::from_id_salt("rule").selected_text(run.optimizer.name()).show_ui(ui, |ui| {
            for rule in TrainingRule::all() {
                let chosen = rule.name() == run.optimizer.name();
                if ui.selectable_label(chosen, rule.name()).clicked() && !chosen {
                    run.optimizer = rule;
                }
            }
        });
        shown.response.accessible_name("Optimizer");
    });
    real!(ui, "" => "Learning rate η", "The length of steps", run.learning_rate, LearningRate);
    rule(ui, "", &mut run.optimizer);
    heading(ui, "Training");
    whole!(ui, "Batch size", "Images a step", run.batch_size, BatchSize);
    whole!(ui, "Steps", "Steps of the run. The paper takes 400.", run.steps, TrainingSteps);
    seed(ui, &mut run.seed);
    CollapsingHeader::new("Logging and checkpoints").show(ui, |ui| {
        whole!(ui, "Log every", "Steps between points of the training curve", run.log_every, LoggingInterval);
        whole!(ui, "Test every", "Steps between evaluations on the test images", run.eval_every, EvaluationInterval);
        whole!(ui, "Save every", "Steps between checkpoints", run.checkpoint_every, CheckpointInterval);
        line(ui, "At NaN", "When the loss is no finite number any more", |ui| {
            ui.selectable_value(&mut run.not_finite, NotFinite::GoOn, "go on");
            ui.selectable_value(&mut run.not_finite, NotFinite::Stop, "stop");
        });
    });
}

fn seed(ui: &mut Ui, seed: &mut u64) {
    let help = "Names the initial weights and the order of the images. Runs that differ only in it are replicates.";
    line(ui, "Seed", help, |ui| {
        let field = TypedField { name: "Seed of the training", width: FIELD_WIDTH };
        if let Some(entered) = field.show(ui, &seed.to_string(), number::read_whole).entered {
            *seed = entered;
        }
        let next = Button::new("+1").small();
        if ui.add(next).on_hover_text("The next replicate").accessible_name("Next seed").clicked() {
            *seed = seed.wrapping_add(1);
        }
    });
}

fn where_and_what(
    ui: &mut Ui,
    data: &mut DataChoice,
    device: &mut DeviceChoice,
    precision: &mut FloatType,
    worker: &WorkerState,
    requests: &mut Requests,
) {
    let help = "Automatic: the cache, else a download, and with no network digits that the program draws";
    line(ui, "Dataset", help, |ui| {
        let text = match data {
            DataChoice::Automatic => "Automatic",
            DataChoice::Folder(_) => "A folder",
            DataChoice::StandIn => "Drawn digits (not MNIST)",
        };
        let shown = ComboBox::from_id_salt("dataset").selected_text(text).truncate().show_ui(ui, |ui| {
            ui.selectable_value(data, DataChoice::Automatic, "Automatic");
            if ui.selectable_label(matches!(data, DataChoice::Folder(_)), "A folder").clicked()
                && !matches!(data, DataChoice::Folder(_))
            {
                *data = DataChoice::Folder(String::new());
            }
            ui.selectable_value(data, DataChoice::StandIn, "Drawn digits (not MNIST)");
        });
        shown.response.accessible_name("Dataset");
        let choose =
            ui.add(Button::new("Folder…")).on_hover_text("Choose a folder that has the four IDX files of MNIST");
        if choose.accessible_name("Choose the folder of the dataset").clicked() {
            let begin = match data {
                DataChoice::Folder(folder) => Some(PathBuf::from(folder.as_str())),
                DataChoice::Automatic | DataChoice::StandIn => None,
            };
            requests.actions.push(Action::ChooseDataFolder(begin));
        }
    });
    if let DataChoice::Folder(folder) = data {
        line(ui, "", "The four IDX files of MNIST, packed or not", |ui| {
            let field =
                TextEdit::singleline(folder).hint_text("Path of the folder").desired_width(ui.available_width() - 16.0);
            ui.add(field).accessible_name("Folder of the dataset");
        });
    }
    line(ui, "Device", "What the worker has found on this machine", |ui| devices(ui, device, worker));
    line(ui, "Precision", "Double precision is for checking", |ui| {
        for choice in [FloatType::Float32, FloatType::Float64] {
            ui.selectable_value(precision, choice, choice.name());
        }
    });
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
fn rule(ui: &mut Ui, owner: &str, rule: &mut TrainingRule) {
    const BETA1: &str = "Decay rate of the momentum.";
    const DECAY: &str = "Pull of the linear layers' weights to 0.";
    match rule {
        TrainingRule::Adam { beta1, beta2, weight_decay } => {
            real!(ui, owner => "β₁", BETA1, *beta1, Beta);
            real!(ui, owner => "β₂", "Decay rate of the squared gradient's average.", *beta2, Beta);
            real!(ui, owner => "Weight decay ω", DECAY, *weight_decay, WeightDecay);
        }
        TrainingRule::Focus { beta1, beta2, gamma, weight_decay, decay } => {
            real!(ui, owner => "β₁", BETA1, *beta1, Beta);
            real!(ui, owner => "β₂", "Decay rate of the parameters' average.", *beta2, Beta);
            real!(ui, owner => "Attraction γ", "Strength of the pull to the average.", *gamma, Gamma);
            real!(ui, owner => "Weight decay ω", DECAY, *weight_decay, WeightDecay);
            line(ui, "Decay of", "The paper's training code decays the average.", |ui| {
                ui.selectable_value(decay, DecayTarget::Average, "average");
                ui.selectable_value(decay, DecayTarget::Parameters, "parameters");
            });
        }
        TrainingRule::Signum { beta1, weight_decay } | TrainingRule::Sgd { beta1, weight_decay } => {
            real!(ui, owner => "β₁", BETA1, *beta1, Beta);
            real!(ui, owner => "Weight decay ω", DECAY, *weight_decay, WeightDecay);
        }
    }
}

fn scan_controls(ui: &mut Ui, scan: &mut MnistScanSpec, worker: &WorkerState, requests: &mut Requests) {
    where_and_what(ui, &mut scan.data, &mut scan.device, &mut scan.precision, worker, requests);
    heading(ui, "Grid");
    line(ui, "Batch sizes", "Images a step, separated by commas", |ui| {
        let sizes: Vec<String> = scan.batch_sizes.iter().map(|size| size.get().to_string()).collect();
        let field = TypedField { name: "Batch sizes", width: ui.available_width() - 12.0 };
        if let Some(entered) = field.show(ui, &sizes.join(", "), batch_sizes).entered {
            scan.batch_sizes = entered;
        }
    });
    let rates = &mut scan.learning_rates;
    real!(ui, "" => "η from", "The smallest learning rate", rates.from, LearningRate);
    real!(ui, "" => "η to", "The largest learning rate", rates.to, LearningRate);
    whole!(ui, "η, how many", "Learning rates, with equal quotients", rates.count, PointCount);
    whole!(ui, "Replicates", "Trainings with each learning rate. The paper takes 3.", scan.replicates, Replicates);
    whole!(ui, "Steps", "Steps of each training. The paper takes 400.", scan.steps, TrainingSteps);
    seed(ui, &mut scan.seed);
    heading(ui, "Optimizers");
    let (mut removed, several) = (None, scan.optimizers.len() > 1);
    for (index, optimizer) in scan.optimizers.iter_mut().enumerate() {
        let label = optimizer.label().to_owned();
        CollapsingHeader::new(&label).id_salt(("scanned", index)).show(ui, |ui| {
            let owner = format!("{} {label}", index + 1);
            rule(ui, &owner, &mut optimizer.rule);
            let remove = ui.add_enabled(several, Button::new("Remove").small());
            if remove.accessible_name(form::owned(&owner, "remove")).clicked() {
                removed = Some(index);
            }
        });
    }
    if let Some(index) = removed {
        scan.optimizers.remove(index);
    }
    ui.menu_button("Add an optimizer", |ui| {
        for rule in TrainingRule::all() {
            if ui.button(rule.name()).clicked() {
                scan.optimizers.push(ScanOptimizer { name: None, color: None, rule });
                ui.close();
            }
        }
    });
    let trainings = scan.pixels() * scan.stack();
    ui.add(
        Label::new(RichText::new(format!("{trainings} trainings in {} pixels", scan.pixels())).small().weak()).wrap(),
    );
}

fn batch_sizes(text: &str) -> Result<Vec<BatchSize>, String> {
    let parts = text.split([',', ';', ' ']).filter(|part| !part.trim().is_empty());
    let sizes: Result<Vec<BatchSize>, String> =
        parts.map(|part| BatchSize::new(number::read_whole(part)?).map_err(|refused| refused.to_string())).collect();
    sizes
        .and_then(|sizes| if sizes.is_empty() { Err("expected at least one batch size".to_owned()) } else { Ok(sizes) })
}
