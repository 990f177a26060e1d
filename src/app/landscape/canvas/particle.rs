//! The selected particle: the arrows on it, and its step as formulas.

use std::collections::BTreeMap;
use std::sync::Arc;

use egui::emath::Rot2;
use egui::{
    Align2, Color32, DragValue, FontId, FontSelection, Galley, Grid, Label, Painter, Pos2, Rect, RichText, Shape,
    Stroke, TextStyle, Ui, Vec2, pos2, vec2,
};
use valleyscope_engine::optimizer::{ArrowRole, PartRole, StepInputs};
use valleyscope_engine::shares::Shares;
use valleyscope_engine::simulation::{ParticleId, SimulationSpec, StepTrace};
use valleyscope_experiments::view::formula::{Formula, formulas, result_text, text};
use valleyscope_experiments::view::ticks::grouped;

use super::legend::OverlayColors;
use crate::app::landscape::editor::Document;
use crate::app::landscape::live::Live;
use crate::app::shell::actions::Requests;
use crate::app::widgets::icons::{color_of, draw_marker, line_color, marker_of};
use crate::app::widgets::theme::text_width;
use crate::draw::Projection;

/// An arrow at the particle's position before the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Glyph {
    /// The label at the arrow, and its text in the key.
    pub label: &'static str,
    pub meaning: &'static str,
    pub color: Color32,
    /// The vector in the plane.
    pub vector: [f64; 2],
    /// Draws the arrow to scale if true; others show a direction and, roughly, a size.
    pub to_scale: bool,
}

/// Returns the arrows of a step, each in the direction in which it pushes the particle: down the gradient, not up.
pub fn glyphs(step: &StepTrace) -> Vec<Glyph> {
    let glyph = |label, meaning, color, vector: [f64; 2]| Glyph {
        label,
        meaning,
        color,
        vector: vector.map(|value| -value),
        to_scale: false,
    };
    let StepInputs { theta, gradient: noisy_gradient, .. } = step.inputs;
    let mut glyphs = vec![
        glyph("−∇L", "down the gradient", Color32::WHITE, step.gradient),
        glyph("−g", "down the noisy gradient", Color32::from_rgb(120, 220, 255), noisy_gradient),
    ];
    // A rule without weight decay has none to draw.
    let drawn = step.trace.arrows.iter().filter(|(arrow, value)| arrow.role != ArrowRole::Decay || *value != [0.0; 2]);
    glyphs.extend(drawn.map(|(arrow, value)| {
        let color = match arrow.role {
            ArrowRole::Momentum => Color32::from_rgb(255, 150, 220),
            ArrowRole::Direction => Color32::from_rgb(160, 255, 160),
            ArrowRole::Decay => Color32::from_rgb(200, 165, 255),
        };
        glyph(arrow.label, arrow.meaning, color, *value)
    }));
    let vector = [step.after[0] - theta[0], step.after[1] - theta[1]];
    glyphs.push(Glyph {
        label: "step",
        meaning: "the step taken",
        color: Color32::from_rgb(255, 220, 60),
        vector,
        to_scale: true,
    });
    glyphs
}

/// Returns the length of an arrow that is not to scale, in points: 16 to 84, by the logarithm of its size from 0.0001
/// to 100; 0 for a size that is 0 or not finite.
pub fn compressed_length(size: f64) -> f32 {
    if !(size > 0.0 && size.is_finite()) {
        return 0.0;
    }
    let part = (size.log10() + 4.0) / 6.0;
    16.0 + 68.0 * part.clamp(0.0, 1.0) as f32
}

/// The length of a step, in points, below which it is drawn lengthened and the key notes that.
const VISIBLE_STEP: f32 = 6.0;

/// Draws the arrows, and unless `note` is missing their key into a corner where it covers none of `particles`; returns
/// the key's area. The key has the note where the step is not to scale.
pub(crate) fn draw_arrows(
    painter: &Painter,
    canvas: Rect,
    projection: &Projection,
    step: &StepTrace,
    (font, colors): (&FontId, OverlayColors),
    note: Option<&str>,
    particles: &[Pos2],
) -> Rect {
    let glyphs = glyphs(step);
    let theta = step.inputs.theta;
    let base = projection.mark(theta);
    let mut step_to_scale = true;
    if let Some(at) = base.map(|mark| mark.on(canvas)).filter(|at| canvas.expand(200.0).contains(*at)) {
        let mut labels = Vec::new();
        for glyph in &glyphs {
            let size = (glyph.vector[0].powi(2) + glyph.vector[1].powi(2)).sqrt();
            if compressed_length(size) == 0.0 {
                continue;
            }
            let true_length = projection.length_px(glyph.vector) as f32;
            let length = match glyph.to_scale && true_length >= VISIBLE_STEP {
                true => true_length,
                false => compressed_length(size),
            };
            step_to_scale &= !glyph.to_scale || true_length >= VISIBLE_STEP;
            let Some(Shaft { points, unit, tip }) = shaft(canvas, projection, theta, at, glyph.vector, length) else {
                continue;
            };
            let width = if glyph.to_scale { 3.0 } else { 2.0 };
            arrow(painter, &points, unit, glyph.color, width);
            let galley = painter.layout_no_wrap(glyph.label.to_owned(), font.clone(), glyph.color);
            let wanted = LabelRequest { tip, unit, size: galley.size() + vec2(6.0, 0.0) };
            labels.push((wanted, galley, glyph.color));
        }
        let mut taken = vec![Rect::from_center_size(at, Vec2::splat(10.0))];
        let states = step.inputs.rule.info().states.iter().zip(&step.trace.states);
        for (part, place) in states.filter(|(part, _)| matches!(part.role, PartRole::State { is_point: true, .. })) {
            let Some(mark) = projection.mark(*place) else { continue };
            taken.push(place_mark(painter, mark.on(canvas), part.symbol, font));
        }
        draw_labels(painter, canvas, labels, &taken);
    }
    let Some(note) = note else { return Rect::NOTHING };
    let note = if step_to_scale { "The step is to scale; the others’ lengths are logarithmic." } else { note };
    draw_key(painter, canvas, &glyphs, (font, colors), note, particles)
}

/// The line of an arrow on the screen, up to its tip.
struct Shaft {
    points: Vec<Pos2>,
    /// The direction at the tip.
    unit: Vec2,
    /// The tip, also where it lies far outside of the canvas and the line ends before.
    tip: Pos2,
}

/// Returns the line of an arrow of this length along a vector of the plane. In space it lies on the surface, and ends
/// where that does.
fn shaft(
    canvas: Rect,
    projection: &Projection,
    theta: [f64; 2],
    at: Pos2,
    vector: [f64; 2],
    length: f32,
) -> Option<Shaft> {
    let size = vector[0].hypot(vector[1]);
    if let Projection::Plane(viewport) = projection {
        let [right, up] = viewport.px_of_vector(vector);
        let direction = vec2(right as f32, -up as f32);
        let unit = if direction.length() > 0.0 { direction.normalized() } else { Vec2::X };
        return Some(Shaft { points: vec![at, at + unit * length.min(2000.0)], unit, tip: at + unit * length });
    }
    let reach = f64::from(length.min(2000.0)) * projection.units_per_px() / size;
    let end = [0, 1].map(|axis| theta[axis] + reach * vector[axis]);
    let pieces = projection.pieces(theta, end).max(4);
    let points: Vec<Pos2> = (0..=pieces)
        .map_while(|piece| {
            let part = piece as f64 / pieces as f64;
            projection.px([0, 1].map(|axis| theta[axis] + part * (end[axis] - theta[axis])))
        })
        .map(|px| canvas.min + Vec2::from(px))
        .collect();
    let tip = *points.last()?;
    let before = points.iter().rev().find(|point| point.distance(tip) > 3.0).or(points.first())?;
    let unit = (tip - *before).normalized();
    (points.len() > 1 && unit != Vec2::ZERO).then_some(Shaft { points, unit, tip })
}

/// The colour around arrows and samples of them.
const HALO: Color32 = Color32::from_black_alpha(170);

fn arrow(painter: &Painter, points: &[Pos2], unit: Vec2, color: Color32, width: f32) {
    let Some(&tip) = points.last() else { return };
    let length: f32 = points.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    let head = (3.0 + 2.5 * width).min(0.7 * length);
    let neck = tip - unit * head * 0.8;
    let side = unit.rot90() * head * 0.5;
    // The line ends inside the head.
    let mut line = points[..points.len() - 1].to_vec();
    while line.len() > 1 && line[line.len() - 1].distance(tip) < head {
        line.pop();
    }
    line.push(neck);
    painter.line(line.clone(), Stroke::new(width + 2.0, HALO));
    let corners = vec![tip, tip - unit * head + side, tip - unit * head - side];
    painter.add(Shape::convex_polygon(corners.clone(), HALO, Stroke::new(2.0, HALO)));
    painter.line(line, Stroke::new(width, color));
    painter.add(Shape::convex_polygon(corners, color, Stroke::NONE));
}

/// Draws the labels beyond the arrows' tips, each joined to its tip by a line if it had to move away.
fn draw_labels(painter: &Painter, canvas: Rect, labels: Vec<(LabelRequest, Arc<Galley>, Color32)>, taken: &[Rect]) {
    const FAR: f32 = 16.0;
    let wanted: Vec<LabelRequest> = labels.iter().map(|(wanted, ..)| *wanted).collect();
    let rects = place_labels(&wanted, canvas.shrink(2.0), taken);
    for ((wanted, galley, color), rect) in labels.into_iter().zip(rects) {
        let Some(rect) = rect else { continue };
        let nearest = rect.clamp(wanted.tip);
        if nearest.distance(wanted.tip) > FAR {
            painter.line_segment([wanted.tip, nearest], Stroke::new(1.0, color.gamma_multiply(0.7)));
        }
        painter.rect_filled(rect, 3.0, Color32::from_black_alpha(150));
        painter.galley(rect.min + vec2(3.0, 0.0), galley, color);
    }
}

/// Marks a position that the rule remembers by a hollow diamond; returns the area that the mark covers.
fn place_mark(painter: &Painter, at: Pos2, symbol: &str, font: &FontId) -> Rect {
    let corners = [vec2(0.0, -5.0), vec2(5.0, 0.0), vec2(0.0, 5.0), vec2(-5.0, 0.0)].map(|offset| at + offset);
    painter.add(Shape::closed_line(corners.to_vec(), Stroke::new(3.0, Color32::from_black_alpha(170))));
    painter.add(Shape::closed_line(corners.to_vec(), Stroke::new(1.5, Color32::WHITE)));
    let anchor = at + vec2(0.0, 6.0);
    painter.text(anchor + vec2(0.7, 0.7), Align2::CENTER_TOP, symbol, font.clone(), Color32::BLACK);
    let name = painter.text(anchor, Align2::CENTER_TOP, symbol, font.clone(), Color32::WHITE);
    name.union(Rect::from_center_size(at, Vec2::splat(10.0)))
}

/// The distance of the key from particles, in points.
const CLEAR: f32 = 12.0;

/// Draws the key of the arrows with their sizes and a note into a corner, if there is room: the lower right one, or
/// another that holds fewer of `particles`; returns its area.
fn draw_key(
    painter: &Painter,
    canvas: Rect,
    glyphs: &[Glyph],
    (font, OverlayColors { background, text, weak, .. }): (&FontId, OverlayColors),
    note: &str,
    particles: &[Pos2],
) -> Rect {
    let rows: Vec<_> = glyphs
        .iter()
        .map(|glyph| {
            let size = (glyph.vector[0].powi(2) + glyph.vector[1].powi(2)).sqrt();
            let name = format!("{}  {}", glyph.label, glyph.meaning);
            let size = valleyscope_experiments::view::ticks::significant(size, 3);
            (
                glyph.color,
                painter.layout_no_wrap(name, font.clone(), text),
                painter.layout_no_wrap(size, font.clone(), text),
            )
        })
        .collect();
    let names = rows.iter().map(|(_, name, _)| name.size().x).fold(0.0, f32::max);
    let sizes = rows.iter().map(|(_, _, size)| size.size().x).fold(0.0, f32::max);
    let line = rows.first().map_or(14.0, |(_, name, _)| name.size().y);
    let width = 26.0 + names + 14.0 + sizes;
    let note = painter.layout(note.to_owned(), font.clone(), weak, width);
    let height = line * rows.len() as f32 + note.size().y + 4.0;
    let size = vec2(width + 14.0, height + 12.0);
    let corners = canvas.shrink(8.0);
    let areas = [
        Rect::from_min_size(corners.max - size, size),
        Rect::from_min_size(pos2(corners.left(), corners.bottom() - size.y), size),
        Rect::from_min_size(corners.min, size),
    ];
    let covered = |area: &Rect| particles.iter().filter(|at| area.expand(CLEAR).contains(**at)).count();
    let area = areas.into_iter().min_by_key(covered).unwrap_or(areas[0]);
    if area.height() > 0.6 * canvas.height() || area.width() > 0.7 * canvas.width() {
        return Rect::NOTHING;
    }
    painter.rect_filled(area, 5.0, background);
    let mut at = area.min + vec2(7.0, 6.0);
    for (color, name, size) in rows {
        let middle = at.y + 0.5 * line;
        for stroke in [Stroke::new(4.5, HALO), Stroke::new(2.5, color)] {
            painter.line_segment([pos2(at.x, middle), pos2(at.x + 18.0, middle)], stroke);
        }
        painter.galley(pos2(at.x + 26.0, at.y), name, text);
        painter.galley(pos2(at.x + width - size.size().x, at.y), size, text);
        at.y += line;
    }
    painter.galley(pos2(at.x, at.y + 4.0), note, text);
    area
}

/// A label to place: the tip of its arrow, the arrow's direction, and the label's size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LabelRequest {
    pub tip: egui::Pos2,
    pub unit: Vec2,
    pub size: Vec2,
}

/// The gap between a tip and its label, in points.
const LABEL_GAP: f32 = 6.0;
/// The increment of the tried distances beyond the gap, in points.
const RING: f32 = 12.0;
const RINGS: usize = 16;
/// The tried rotations from the arrow's direction, in degrees, the best first.
const TURNS: [f32; 12] = [0.0, 20.0, -20.0, 40.0, -40.0, 65.0, -65.0, 95.0, -95.0, 130.0, -130.0, 180.0];

/// Half the side of the square about a tip that is reserved for its own label, in points.
const TIP: f32 = 6.0;

/// Places the labels within `inside`, each as near beyond its tip as possible, without covering another, another's tip
/// or `taken`. Returns `None` for a tip outside of it, and where no position is free.
pub(crate) fn place_labels(wanted: &[LabelRequest], inside: Rect, taken: &[Rect]) -> Vec<Option<Rect>> {
    let mut taken = taken.to_vec();
    let mut rects = Vec::with_capacity(wanted.len());
    for (index, label) in wanted.iter().enumerate() {
        let others = wanted.iter().enumerate().filter(|(other, _)| *other != index);
        let tips = others.map(|(_, other)| Rect::from_center_size(other.tip, Vec2::splat(2.0 * TIP)));
        let taken_here: Vec<Rect> = taken.iter().copied().chain(tips).collect();
        let rect = inside.contains(label.tip).then(|| free(label, inside, &taken_here)).flatten();
        taken.extend(rect);
        rects.push(rect);
    }
    rects
}

fn free(label: &LabelRequest, inside: Rect, taken: &[Rect]) -> Option<Rect> {
    let candidates = (0..RINGS).flat_map(|ring| TURNS.map(|turn| (ring as f32 * RING, turn)));
    candidates
        .map(|(distance, turn)| {
            let unit = Rot2::from_angle(turn.to_radians()) * label.unit;
            // The label's extent back towards the tip.
            let reach = 0.5 * (unit.x.abs() * label.size.x + unit.y.abs() * label.size.y);
            let center = label.tip + unit * (LABEL_GAP + distance + reach);
            Rect::from_center_size(pos2(center.x.round(), center.y.round()), label.size)
        })
        .find(|place| inside.contains_rect(*place) && !taken.iter().any(|other| other.intersects(*place)))
}

/// The lines of the selected particle's update rule with the numbers of its last step.
#[derive(Debug, Default)]
pub struct FormulaPanel {
    /// The selected particle.
    particle: Option<ParticleId>,
    /// The displayed step, from 1.
    step: u64,
    /// The largest width of the numbers of each formula so far, in points. Results start beyond it, so that they do not
    /// move while the numbers change.
    reached: BTreeMap<String, f32>,
}

/// The least width of the list of optimizers, with which the chooser of a small window is a single row.
const NARROW_LIST: f32 = 64.0;

impl FormulaPanel {
    pub fn ui(&mut self, ui: &mut Ui, document: &Document, live: &mut Live, requests: &mut Requests) {
        let spec = document.spec(live.chosen);
        particle_chooser(ui, spec, live, requests);
        if live.selected.is_none() {
            return;
        }
        ui.separator();
        let paused = live.snapshot.is_some() && !live.is_playing();
        let Some(step) = live.step_trace(live.chosen) else {
            show_pre_step_readout(ui, spec, live);
            return;
        };
        if self.particle != Some(step.id) || step.step() < self.step {
            *self = FormulaPanel { particle: Some(step.id), ..FormulaPanel::default() };
        }
        self.step = step.step();
        heading(ui, step);
        if step.after.iter().any(|value| !value.is_finite()) {
            let text = "This particle has diverged: its position is not a finite number any more.";
            ui.label(RichText::new(text).color(ui.visuals().error_fg_color));
        }
        for formula in formulas(step) {
            let reached = self.reached.entry(formula.rule.clone()).or_default();
            formula_block(ui, &formula, reached);
        }
        show_shares(ui, step.shares);
        if !paused {
            ui.add_space(6.0);
            ui.weak("Pause and single-step (→) to follow the numbers from step to step.");
        }
    }
}

/// Shows controls that choose a particle without the pointer.
fn particle_chooser(ui: &mut Ui, spec: &SimulationSpec, live: &mut Live, requests: &mut Requests) {
    let ensembles = live.simulated(live.chosen).map(|view| (view.optimizer, view.particles));
    let ensembles: Vec<(u32, usize)> = ensembles.collect();
    let Some(&(first, _)) = ensembles.first() else {
        ui.label("Nothing is simulated yet.");
        return;
    };
    let label = |id: u32| spec.name_of(id).unwrap_or_else(|| format!("optimizer {id}"));
    let mut chosen = live.selected;
    ui.horizontal_wrapped(|ui| {
        let mut optimizer = chosen.map_or(first, |particle| particle.optimizer);
        let before = optimizer;
        egui::ComboBox::from_id_salt("formula optimizer")
            .selected_text(label(optimizer))
            .width(NARROW_LIST)
            .height(500.0)
            .show_ui(ui, |ui| {
                for &(id, _) in &ensembles {
                    ui.selectable_value(&mut optimizer, id, label(id));
                }
            })
            .response
            .accessible_name("Optimizer of the selected particle");
        let count = ensembles.iter().find(|(id, _)| *id == optimizer).map_or(1, |&(_, particles)| particles.max(1));
        let mut number = chosen.map_or(1, |particle| particle.particle + 1).min(count);
        let number_before = number;
        let response = ui
            .add(DragValue::new(&mut number).range(1..=count).speed(0.2).prefix("particle "))
            .accessible_name("Number of the selected particle");
        let touched = response.changed() || number != number_before || optimizer != before;
        if touched {
            chosen = Some(ParticleId { optimizer, particle: number - 1 });
        }
        if chosen.is_none() {
            if ui.button("Show").on_hover_text("Show how its rule moves this particle").clicked() {
                chosen = Some(ParticleId { optimizer, particle: number - 1 });
            }
            ui.weak("or click on one");
        } else if ui.button("Deselect").clicked() {
            chosen = None;
        }
        if let Some(particle) = chosen {
            let optimizers = &spec.optimizers;
            if optimizers.iter().any(|spec| spec.id == particle.optimizer) {
                let (rect, _) = ui.allocate_exact_size(egui::Vec2::splat(14.0), egui::Sense::hover());
                let marker = marker_of(optimizers, particle.optimizer);
                let color = line_color(color_of(optimizers, particle.optimizer), ui.ctx().theme());
                ui.painter().add(draw_marker(marker, rect.center(), 4.5, color, ui.visuals().text_color()));
            }
        }
    });
    live.select(chosen, requests);
}

/// Shows the reasons for which a step of Adam along the particle's gradients is short.
fn show_shares(ui: &mut Ui, shares: Shares) {
    if !shares.is_known() {
        return;
    }
    ui.add_space(6.0);
    let meaning = "The second moment by which Adam divides, v̂, consists of signal (gradients that agree), noise and \
                   oscillation (gradients that alternate between the walls). Adam’s step is about √signal learning \
                   rates; noise and oscillation shorten it.";
    ui.label(RichText::new("Reasons for a small step").strong()).on_hover_text(meaning);
    ui.add(Label::new(format!("{shares}")).wrap()).on_hover_text(meaning);
    ui.weak(format!("Adam’s step: about √signal = {:.2} of η", shares.signal.sqrt()));
}

fn heading(ui: &mut Ui, step: &StepTrace) {
    ui.horizontal_wrapped(|ui| {
        ui.strong(step.inputs.rule.name());
        ui.label(format!("step t = {}", grouped(step.step())));
    });
    ui.weak(hyperparameters(&step.inputs));
    ui.add_space(4.0);
}

/// Formats the learning rate of the step and the rule's hyperparameters in one line.
fn hyperparameters(inputs: &StepInputs) -> String {
    let numbers = inputs.rule.hyperparameters().filter(|(of, _)| of.is_axis());
    let numbers = numbers.map(|(of, value)| (of.symbol, value));
    let all = std::iter::once(("η", inputs.learning_rate)).chain(numbers);
    all.map(|(symbol, value)| format!("{symbol} {}", text(value))).collect::<Vec<_>>().join("   ")
}

/// The indent of a coordinate's numbers, and the gap between the numbers and their result, in points.
const FORMULA_INDENT: f32 = 14.0;
const FORMULA_GAP: f32 = 8.0;

/// Shows a formula with its meaning, and below it a line for each coordinate. A result that does not fit goes to a line
/// of its own. Updates `reached`, the largest width of the numbers so far.
fn formula_block(ui: &mut Ui, formula: &Formula, reached: &mut f32) {
    ui.add_space(3.0);
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(&formula.rule).strong()).on_hover_text(formula.meaning);
        ui.weak(RichText::new(formula.meaning).small());
    });
    let font = FontSelection::from(TextStyle::Body).resolve(ui.style());
    let width_of = |text: &str| text_width(ui, &font, text);
    *reached = formula.filled.iter().map(|filled| FORMULA_INDENT + width_of(filled)).fold(*reached, f32::max);
    let fits = *reached + FORMULA_GAP + width_of(WIDEST_RESULT) <= ui.available_width();
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing = egui::Vec2::ZERO;
        ui.spacing_mut().interact_size.y = 0.0;
        for (axis, name) in ["x", "y"].into_iter().enumerate() {
            let result = result_text(formula.result[axis]);
            ui.horizontal(|ui| {
                let left = ui.cursor().left();
                ui.weak(name);
                ui.add_space(left + FORMULA_INDENT - ui.cursor().left());
                ui.add(Label::new(&formula.filled[axis]).wrap());
                if fits {
                    ui.add_space(left + *reached + FORMULA_GAP - ui.cursor().left());
                    show_result(ui, &result);
                }
            });
            if !fits {
                ui.horizontal(|ui| {
                    ui.add_space(FORMULA_INDENT);
                    show_result(ui, &result);
                });
            }
        }
    });
}

/// The widest result.
const WIDEST_RESULT: &str = "= −8.8888×10⁻⁸⁸";

fn show_result(ui: &mut Ui, result: &str) {
    ui.weak("= ");
    ui.label(RichText::new(result).color(result_color(ui)));
}

pub(crate) fn result_color(ui: &Ui) -> Color32 {
    match ui.ctx().theme() {
        egui::Theme::Dark => Color32::from_rgb(140, 200, 255),
        egui::Theme::Light => Color32::from_rgb(0, 80, 160),
    }
}

/// Shows the position of the selected particle, and how to see its next step.
fn show_pre_step_readout(ui: &mut Ui, spec: &SimulationSpec, live: &Live) {
    ui.label("Press → for this particle’s next step, formula by formula.");
    let Some(ParticleId { optimizer, particle }) = live.selected else { return };
    let Some(view) = live.visible(live.chosen).find(|view| view.optimizer == optimizer) else { return };
    let Some(position) = view.newest().get(particle).map(|position| position.map(f64::from)) else { return };
    let gradient = spec.landscape.landscape().gradient(position);
    ui.add_space(4.0);
    ui.label("Where it is now:");
    Grid::new("pre-step readout").num_columns(3).spacing([12.0, 2.0]).show(ui, |ui| {
        for (axis, name) in ["x", "y"].into_iter().enumerate() {
            ui.label(format!("{name} = {}", text(position[axis])));
            ui.label(format!("∂L/∂{name} = {}", text(gradient[axis])));
            ui.end_row();
        }
    });
}

#[cfg(test)]
mod tests {
    use egui::{Rect, pos2, vec2};

    use super::{LabelRequest, place_labels};

    #[test]
    fn labels_of_arrows_that_agree_do_not_cover_each_other() {
        let inside = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 300.0));
        let wanted = |tip, unit| LabelRequest { tip, unit, size: vec2(58.0, 16.0) };
        for tip in [pos2(200.0, 150.0), pos2(3.0, 3.0), pos2(398.0, 290.0)] {
            let labels = [wanted(tip, vec2(0.0, 1.0)); 5];
            let mark = Rect::from_center_size(tip, vec2(10.0, 10.0));
            let rects: Vec<Rect> =
                place_labels(&labels, inside, &[mark]).into_iter().map(|p| p.expect("room")).collect();
            for (index, one) in rects.iter().enumerate() {
                assert!(inside.contains_rect(*one) && !one.intersects(mark));
                assert!(rects[..index].iter().all(|other| !other.intersects(*one)), "{rects:?}");
            }
        }
    }

    #[test]
    fn a_label_does_not_stand_at_the_tip_of_another_arrow() {
        let inside = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 300.0));
        let wanted = |tip| LabelRequest { tip, unit: vec2(1.0, 0.0), size: vec2(40.0, 16.0) };
        // The second tip is where the first label would be.
        let labels = [wanted(pos2(200.0, 150.0)), wanted(pos2(225.0, 150.0))];
        let rects: Vec<Rect> = place_labels(&labels, inside, &[]).into_iter().map(|p| p.expect("room")).collect();
        for (label, other) in [(0, 1), (1, 0)] {
            let distance = rects[label].distance_to_pos(labels[other].tip);
            assert!(distance >= 5.0, "label {label} is {distance} points from the other's tip");
        }
        assert_eq!(rects[1], Rect::from_min_size(pos2(231.0, 142.0), vec2(40.0, 16.0)));
    }

    #[test]
    fn a_lone_label_stands_straight_beyond_its_tip() {
        let inside = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 300.0));
        let label = LabelRequest { tip: pos2(200.0, 150.0), unit: vec2(1.0, 0.0), size: vec2(40.0, 16.0) };
        let expected = Rect::from_min_size(pos2(206.0, 142.0), vec2(40.0, 16.0));
        assert_eq!(place_labels(&[label], inside, &[]), [Some(expected)]);
        let outside = LabelRequest { tip: pos2(-5.0, 150.0), ..label };
        assert_eq!(place_labels(&[outside], inside, &[]), [None]);
    }
}
