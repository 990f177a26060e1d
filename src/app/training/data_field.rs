//! The control for the source of the data.

use std::path::PathBuf;

use egui::{Button, ComboBox, TextEdit, TextStyle, Ui};
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::workload::Dataset;

use crate::app::form;
use crate::app::live::{Action, Requests};

/// The width between the frame of a text field and its text, on both sides together, in points.
const MARGIN: f32 = 8.0;

/// Shows the choice of the source, and below it the path of a chosen folder.
pub(super) fn show(
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
        form::line(ui, "", &format!("A folder that has {}", dataset.folder), |ui| folder(ui, path));
    }
}

/// Shows the path of the folder. Where it does not fit its end is shown, which distinguishes it from others, until it
/// is edited.
fn folder(ui: &mut Ui, path: &mut String) {
    let id = ui.make_persistent_id("folder of the dataset");
    let width = ui.available_width() - 16.0;
    let mut shown = if ui.memory(|memory| memory.has_focus(id)) { path.clone() } else { end(ui, path, width - MARGIN) };
    let edit = TextEdit::singleline(&mut shown).id(id).hint_text("Path of the folder").desired_width(width);
    let field = ui.add(edit).on_hover_text(path.as_str()).accessible_name("Folder of the dataset");
    if field.changed() {
        *path = shown;
    }
}

/// Returns the end of a path that fits into `room`.
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
