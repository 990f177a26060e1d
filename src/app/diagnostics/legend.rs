//! The legend of the plots, with the optimizers that diverged.

use egui::{Rect, Response, RichText, Sense, Stroke, TextStyle, TextWrapMode, Ui, WidgetInfo, WidgetText, pos2, vec2};
use valleyscope_experiments::view::Dash;
use valleyscope_experiments::view::ticks::grouped;

use super::history::{DiagnosticsHistory, EnsembleHistory};
use crate::app::branch_list::pale;
use crate::app::controls::{COLOR_HINT, color_menu};
use crate::app::landscape::ChosenColor;
use crate::app::landscape::marker::{draw_marker, marker_of, rgb_of};
use crate::app::plot::dash_sample;
use crate::app::{Document, Live};

/// The width of a line sample with its marker, in points.
const SAMPLE: f32 = 20.0;
const GAP: f32 = 5.0;

/// Shows an entry for each shown ensemble, whose colour a right click chooses; a line breaks only between entries.
pub(super) fn legend(ui: &mut Ui, history: &DiagnosticsHistory, document: &mut Document, live: &Live) {
    let mut chosen = None;
    let row_height = std::mem::take(&mut ui.spacing_mut().interact_size.y);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(12.0, 2.0);
        let shown = || history.ensembles.iter().filter(|ensemble| !live.hidden.contains(&ensemble.optimizer));
        for (index, ensemble) in shown().enumerate() {
            let is_same =
                |other: &EnsembleHistory| (other.optimizer, &other.name) == (ensemble.optimizer, &ensemble.name);
            if !shown().take(index).any(is_same) {
                chosen = entry(ui, ensemble, document).or(chosen.take());
            }
            if let Some(text) = divergence(ensemble) {
                let of = if history.is_side_by_side() { format!("{} ", ensemble.name_beside()) } else { String::new() };
                let color = ui.visuals().error_fg_color;
                ui.label(RichText::new(of + &text).small().color(color));
            }
        }
        if history.is_side_by_side() {
            for (title, dash) in document.titles().iter().zip(Dash::SIDE_BY_SIDE) {
                key(ui, title, |ui, line| {
                    let ends = [line.left_center(), line.right_center()];
                    dash_sample(ui.painter(), ends, dash, Stroke::new(1.6, ui.visuals().text_color()));
                });
            }
        }
        for pale in &history.pale {
            pale_entry(ui, &pale.label);
        }
    });
    ui.spacing_mut().interact_size.y = row_height;
    if let Some(chosen) = chosen {
        chosen.apply(document);
    }
}

/// Shows the entry of a branch.
fn pale_entry(ui: &mut Ui, label: &str) {
    let most = (ui.max_rect().width() - SAMPLE - GAP).max(20.0);
    let text = WidgetText::from(RichText::new(label).small().weak());
    let galley = text.into_galley(ui, Some(TextWrapMode::Truncate), most, TextStyle::Small);
    let size = vec2(SAMPLE + GAP + galley.size().x, galley.size().y.max(12.0));
    let (area, response) = ui.allocate_exact_size(size, Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Label, true, label));
    let line = area.left()..=area.left() + SAMPLE;
    ui.painter().hline(line, area.center().y, Stroke::new(1.2, pale(ui)));
    let at = pos2(area.left() + SAMPLE + GAP, area.center().y - 0.5 * galley.size().y);
    ui.painter().galley(at, galley, ui.visuals().weak_text_color());
    response.on_hover_text(format!("{label}: the pale curves, in the colours of the optimizers."));
}

fn entry(ui: &mut Ui, ensemble: &EnsembleHistory, document: &Document) -> Option<ChosenColor> {
    let optimizers = ensemble.spec(document).map_or(&[][..], |spec| &spec.optimizers);
    let response = key(ui, &ensemble.name, |ui, line| {
        let color = ensemble.color(document, ui.ctx().theme());
        ui.painter().hline(line.x_range(), line.center().y, Stroke::new(2.0, color));
        let marker = marker_of(optimizers, ensemble.optimizer);
        ui.painter().add(draw_marker(marker, line.center(), 4.0, color, ui.visuals().text_color()));
    });
    let (id, name) = (ensemble.optimizer, ensemble.name.clone());
    let is_chosen = optimizers.iter().any(|spec| spec.id == id && spec.color.is_some());
    let color = color_menu(&response.on_hover_text(COLOR_HINT), &name, rgb_of(optimizers, id), is_chosen)?;
    Some(ChosenColor { id, name, color })
}

/// Shows a name after the sample of a line, which `draw` draws into an area.
fn key(ui: &mut Ui, name: &str, draw: impl FnOnce(&Ui, Rect)) -> Response {
    let most = (ui.max_rect().width() - SAMPLE - GAP).max(20.0);
    let text = WidgetText::from(RichText::new(name).small());
    let galley = text.into_galley(ui, Some(TextWrapMode::Truncate), most, TextStyle::Small);
    let size = vec2(SAMPLE + GAP + galley.size().x, galley.size().y.max(12.0));
    let (area, response) = ui.allocate_exact_size(size, Sense::CLICK);
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Label, true, name));
    let middle = area.center().y;
    let line = Rect::from_min_max(pos2(area.left(), middle), pos2(area.left() + SAMPLE, middle));
    draw(ui, line);
    let at = pos2(line.right() + GAP, middle - 0.5 * galley.size().y);
    ui.painter().galley(at, galley, ui.visuals().text_color());
    response
}

/// Describes how many particles diverged, and since when.
fn divergence(ensemble: &EnsembleHistory) -> Option<String> {
    let first = ensemble.buckets.iter().find(|bucket| bucket.diverged > 0)?;
    let most = ensemble.buckets.iter().map(|bucket| bucket.diverged).max()?;
    let from = match first.steps {
        1 => format!("from step {}", grouped(first.first_step)),
        // The bucket is the finest known resolution.
        steps => format!("from step {}–{}", grouped(first.first_step), grouped(first.first_step + steps - 1)),
    };
    Some(format!("✗ {most} of {} diverged, {from}", ensemble.particles))
}
