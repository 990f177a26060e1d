//! The tab with the paths of runs through the triangle of signal, noise and oscillation, and with the shares of the
//! parameter tensors of a run.

use std::cmp::Ordering;

use egui::{Button, Color32, Label, RichText, ScrollArea, Sense, TextStyle, Ui, Vec2, vec2};
use valleyscope_engine::shares::Shares;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::view::ticks::{grouped, significant};
use valleyscope_experiments::view::{Pen, ReferenceTriangle};
use valleyscope_runs::{Measure, MetricValues};

use super::detail::RunDetail;
use super::list::line_with_name;
use super::plotter::RunCurves;
use super::summary::{Summary, color_of_rule};
use crate::app::widgets::form::cell;
use crate::app::widgets::plot::describe;
use crate::app::widgets::theme;
use crate::draw::{Canvas, TriangleFrame, rgb};

/// The smallest width for which the triangle is beside the texts, and the smallest height of the triangle, in points.
const WIDE: f32 = 520.0;
const LEAST_HEIGHT: f32 = 160.0;
/// The height of a tensor's row and the width of its noise, in points.
const ROW: f32 = 17.0;
const NOISE_WIDTH: f32 = 46.0;

const HELP: &str = "Shares of Adam’s v̂, whose root divides its steps.\nSignal: the squared mean of the last gradients.\n\
     Noise: how much gradients differ from batch to batch.\nOscillation: how much they change from step to step, as \
     between the walls of a valley.";

/// The measures of parameter tensors by their names, in the order of the model, with their step.
pub(super) type TensorMeasures = (u64, Vec<(String, MetricValues)>);

/// Returns the shares of a tensor, if all three are known.
fn shares_of(values: &MetricValues) -> Option<Shares> {
    let value = |metric| values.get(metric).filter(|value| value.is_finite());
    let [signal, noise] = [value(Measure::SIGNAL)?, value(Measure::NOISE_SHARE)?];
    Some(Shares { signal, noise, oscillation: value(Measure::OSCILLATION)? })
}

/// Compares tensors by their noise shares; unknown ones are the least.
fn compare_noise((_, one): &(String, MetricValues), (_, other): &(String, MetricValues)) -> Ordering {
    let [one, other] = [one, other].map(|values| shares_of(values).map_or(f64::NEG_INFINITY, |shares| shares.noise));
    one.total_cmp(&other)
}

/// The path of a run through the triangle.
#[derive(Default)]
struct MeasuredPath {
    /// The measured shares, the oldest first.
    shares: Vec<Shares>,
    /// The step of the newest shares.
    step: f64,
    /// The newest exponent of the noise.
    exponent: Option<f64>,
}

impl MeasuredPath {
    fn of(curves: &RunCurves) -> MeasuredPath {
        let track = |metric| curves.tracks.get(&metric).into_iter().flat_map(|track| track.raw_points());
        let exponents = track(Measure::EXPONENT).map(|[_, exponent]| exponent);
        let exponent = exponents.filter(|exponent| exponent.is_finite()).last();
        let mut path = MeasuredPath { exponent, ..MeasuredPath::default() };
        let mut others = [Measure::NOISE_SHARE, Measure::OSCILLATION].map(|metric| track(metric).peekable());
        for [step, signal] in track(Measure::SIGNAL) {
            let [noise, oscillation] = others.each_mut().map(|other| {
                while other.next_if(|[at, _]| *at < step).is_some() {}
                other.next_if(|[at, _]| *at == step).map_or(f64::NAN, |[_, value]| value)
            });
            if [signal, noise, oscillation].iter().all(|share| share.is_finite()) {
                path.shares.push(Shares { signal, noise, oscillation });
                path.step = step;
            }
        }
        path
    }

    /// The triangle of the noise that is most like the run's own.
    fn reference(&self) -> &'static ReferenceTriangle {
        ReferenceTriangle::nearest(self.exponent)
    }

    /// Describes the newest shares; empty without any.
    fn sentence(&self) -> String {
        let Some(newest) = self.shares.last() else { return String::new() };
        format!("Step {}: {}", grouped(self.step as u64), self.reference().triangle.resemblance(*newest))
    }
}

#[derive(Debug, Default)]
pub(super) struct TriangleView {
    /// Whether the tensors are sorted by their noise share, and not in the order of the model.
    by_noise: bool,
}

impl TriangleView {
    pub(super) fn show(&mut self, ui: &mut Ui, run: &Summary, detail: &RunDetail, curves: &[(&RunCurves, Pen)]) {
        let paths = curves.iter().map(|(curves, pen)| (MeasuredPath::of(curves), *pen));
        let paths: Vec<(MeasuredPath, Pen)> = paths.collect();
        let index = curves.iter().position(|(curves, _)| curves.runs.contains(&run.run));
        let (none, no_tensors) = (MeasuredPath::default(), (0, Vec::new()));
        let own = index.map_or(&none, |index| &paths[index].0);
        let tensors = detail.tensors.as_ref().unwrap_or(&no_tensors);
        let size = ui.available_size();
        ScrollArea::vertical().auto_shrink(false).id_salt("triangle").show(ui, |ui| {
            if own.shares.is_empty() && tensors.1.is_empty() {
                let text = match index {
                    None => "Shown once the run’s curves are.".to_owned(),
                    Some(_) => why_unmeasured(run, detail),
                };
                ui.add(Label::new(RichText::new(text).weak()).wrap());
            } else if size.x < WIDE {
                let height = TriangleFrame::height(size.x.min(320.0), TextStyle::Small.resolve(ui.style()).size);
                picture(ui, vec2(ui.available_width(), height), &paths, own);
                self.texts(ui, 16.0 * ROW, own, tensors);
            } else {
                let height = size.y.max(LEAST_HEIGHT);
                ui.horizontal_top(|ui| {
                    picture(ui, vec2((1.25 * height).min(0.45 * size.x), height), &paths, own);
                    ui.vertical(|ui| self.texts(ui, height, own, tensors));
                });
            }
        });
    }

    /// Shows the texts, and the tensors in the rest of a height.
    fn texts(&mut self, ui: &mut Ui, height: f32, own: &MeasuredPath, tensors: &TensorMeasures) {
        let bottom = ui.cursor().top() + height;
        if !own.shares.is_empty() {
            ui.add(Label::new(own.sentence()).wrap()).on_hover_text(HELP);
            let ReferenceTriangle { noise, triangle, .. } = own.reference();
            let exponent = own.exponent.map_or_else(|| "unknown".to_owned(), |exponent| significant(exponent, 2));
            let text = format!("Pixels with {noise} noise (the run’s exponent is {exponent})");
            let winners = triangle.optimizers.iter().map(|name| (rgb(color_of_rule(name)), name.as_str()));
            key(ui, RichText::new(text).small(), winners);
            let text = format!(
                "A hypothesis: these are pixels of a toy valley. How often it has held on trainings so far (“Where is \
                 my training?” in the book): {}.",
                ReferenceTriangle::HELD
            );
            ui.add(Label::new(RichText::new(text).small().weak()).wrap());
        }
        let (step, tensors) = tensors;
        if let Some((name, values)) = tensors.iter().max_by(|one, other| compare_noise(one, other)) {
            let noise = shares_of(values).map_or(f64::NAN, |shares| shares.noise);
            let text = format!("Most noise: {name}, {noise:.2} (step {})", grouped(*step));
            key(ui, RichText::new(text), share_colors(ui).into_iter().zip(["signal", "noise", "oscillation"]));
            self.tensors(ui, (bottom - ui.cursor().top()).max(5.0 * ROW), tensors);
        }
    }

    /// Shows the shares and the noise of each tensor.
    fn tensors(&mut self, ui: &mut Ui, height: f32, tensors: &[(String, MetricValues)]) {
        ui.spacing_mut().interact_size.y = ROW - 2.0;
        ui.spacing_mut().item_spacing.y = 2.0;
        let room = ui.available_width() - NOISE_WIDTH - 4.0 * ui.spacing().item_spacing.x;
        let name = (0.5 * room).clamp(50.0, 260.0);
        let widths = [name, (room - name).max(40.0)];
        ui.horizontal(|ui| {
            for (by_noise, width, text, help) in [
                (false, widths[0], "Tensor", "Sort the tensors in the order of the model"),
                (true, widths[1], "Noise share", "Sort the tensors by their share of noise"),
            ] {
                let arrow = if self.by_noise == by_noise { "▼ " } else { "" };
                let button = Button::new(RichText::new(format!("{arrow}{text}")).small().strong()).frame(false);
                let sort = cell(ui, width, |ui| ui.add(button).on_hover_text(help).accessible_name(help));
                self.by_noise = if sort.clicked() { by_noise } else { self.by_noise };
            }
            let noise = ui.label(RichText::new("σ̂").small().strong());
            noise.on_hover_text("The noise of a batch’s gradient in units of its signal");
        });
        let mut order: Vec<&(String, MetricValues)> = tensors.iter().collect();
        if self.by_noise {
            order.sort_by(|one, other| compare_noise(other, one));
        }
        let area = ScrollArea::vertical().auto_shrink([false, true]).max_height(height - ROW).id_salt("tensors");
        area.show_rows(ui, ROW - 2.0, order.len(), |ui, rows| {
            for tensor in &order[rows] {
                ui.horizontal(|ui| tensor_row(ui, tensor, widths));
            }
        });
    }
}

/// Shows a tensor's name, its shares as a bar, and its noise.
fn tensor_row(ui: &mut Ui, (name, values): &(String, MetricValues), widths: [f32; 2]) {
    let (noise, shares) = (values.get(Measure::NOISE), shares_of(values));
    let noise = noise.map_or_else(|| "–".to_owned(), |noise| significant(noise, 3));
    let text = shares.map_or_else(|| "unknown shares".to_owned(), |shares| shares.to_string());
    let help = format!("{name}\n{text}\nσ̂ {noise}");
    // A long name is cut before its last two parts.
    let (head, tail) = name.split_at(name.rmatch_indices('.').nth(1).map_or(name.len(), |(end, _)| end));
    let color = ui.visuals().text_color();
    cell(ui, widths[0], |ui| line_with_name(ui, color, ["", head, tail])).on_hover_text(&help);
    let (area, response) = ui.allocate_exact_size(vec2(widths[1], ROW - 5.0), Sense::hover());
    describe(&response, &format!("Shares of {name}"), || text.clone());
    // A negative share has no part of the bar.
    let parts = shares.map_or([0.0; 3], |shares| shares.to_array().map(|share| share.max(0.0) as f32));
    let (mut left, scale) = (area.left(), area.width() / parts.iter().sum::<f32>().max(1e-6));
    for (part, color) in parts.into_iter().zip(share_colors(ui)) {
        ui.painter().rect_filled(area.with_min_x(left).with_max_x(left + scale * part), 0.0, color);
        left += scale * part;
    }
    response.on_hover_text(help);
    ui.label(RichText::new(noise).small());
}

/// The colours of signal, noise and oscillation, which are none of the optimizers'.
fn share_colors(ui: &Ui) -> [Color32; 3] {
    [Color32::from_rgb(60, 170, 140), Color32::from_rgb(190, 95, 180), ui.visuals().widgets.inactive.bg_fill]
}

/// Draws the triangle of the noise that is most like a run's own, with the paths of all runs.
fn picture(ui: &mut Ui, size: Vec2, paths: &[(MeasuredPath, Pen)], own: &MeasuredPath) {
    let (area, response) = ui.allocate_exact_size(size, Sense::hover());
    let canvas = Canvas { painter: ui.painter_at(area), style: theme::drawing(ui, &TextStyle::Small) };
    let frame = TriangleFrame::within(area.shrink(2.0), canvas.style.em);
    frame.draw(&canvas);
    let triangle = &own.reference().triangle;
    let colors: Vec<[u8; 3]> = triangle.optimizers.iter().map(|name| color_of_rule(name)).collect();
    frame.draw_pixels(&canvas, triangle, &colors);
    for (path, pen) in paths {
        frame.draw_path(&canvas, &path.shares, *pen);
    }
    describe(&response, "Triangle of the runs", || own.sentence());
    response.on_hover_text_at_pointer(format!("{HELP}\nEach line leads from a run’s first measures to its newest."));
}

/// Shows a text, and the meanings of colours.
fn key<'n>(ui: &mut Ui, text: RichText, colors: impl Iterator<Item = (Color32, &'n str)>) {
    ui.horizontal_wrapped(|ui| {
        ui.label(text);
        for (color, name) in colors {
            let (area, _) = ui.allocate_exact_size(Vec2::splat(9.0), Sense::hover());
            ui.painter().rect_filled(area, 2.0, color);
            ui.label(RichText::new(name).small());
        }
    });
}

/// Explains why a run has no measures, and what to do.
fn why_unmeasured(run: &Summary, detail: &RunDetail) -> String {
    let Some(training) = detail.in_force.as_ref().and_then(Preset::training) else {
        return "Nothing is measured in this run. In your own training, “vs.torch.Probe” measures it.".to_owned();
    };
    match training.course.measure_every {
        0 => "Nothing is measured in this run: its “measure_every” is 0. Set it for the next run.".to_owned(),
        _ if training.batch_size < 4 => "Noise cannot be measured in so small batches: set a larger batch size.".into(),
        every if run.is_open() && run.step() < every => {
            format!("Nothing is measured yet; the first measures are due after {} steps.", grouped(every))
        }
        every => format!("Nothing was measured in this run; measures are due every {} steps.", grouped(every)),
    }
}
