//! The curve of a pixel's averages over the learning rate or a tuned setting.

use egui::{Color32, ComboBox, RichText, Ui, vec2};
use egui_plot::{MarkerShape, Plot};
use valleyscope_engine::parameter::LEARNING_RATE;
use valleyscope_engine::sweep::{Average, Cell, Diagram, Metric, Point, TunedSetting, Variant};
use valleyscope_experiments::view::AxisScale;
use valleyscope_experiments::view::range::{across, union};
use valleyscope_experiments::view::ticks::significant;

use super::readout::with_error;
use crate::app::landscape::marker::line_color;
use crate::app::plot::{PlotAxis, PlotFrame, error_bar, line, point, readout};

/// The setting over which averages are plotted: the learning rate, or a tuned setting.
pub(super) type Over = Option<TunedSetting>;

/// The best average at a value of the setting, with its place on the axis and its standard error.
struct BestAt {
    place: f64,
    average: f64,
    error: f64,
}

/// Shows the best averages at each value of a setting, with standard errors. Where settings are tuned, `over` can be chosen.
pub(super) fn show(
    ui: &mut Ui,
    diagram: &Diagram,
    pixel: [usize; 2],
    cell: &Cell,
    metric: Metric,
    colors: &[[u8; 3]],
    over: &mut Over,
) {
    let spec = diagram.spec();
    let tuned = spec.tuned_settings();
    let title = format!("{} {} over", average_name(spec.average), metric.label(&spec.landscape));
    if tuned.is_empty() {
        ui.label(RichText::new(format!("{title} learning rate η")).small());
    } else {
        choice(ui, &title, &tuned, over);
    }
    // Another diagram may tune what this one does not.
    let over = over.filter(|setting| tuned.contains(setting));
    let scale = over.map_or(AxisScale::Log, |setting| AxisScale::from(setting.spacing([&**spec])));
    let point = spec.point(pixel[0], pixel[1]);
    let curves: Vec<Vec<BestAt>> =
        (0..cell.averages.len()).map(|index| curve(&point, cell, index, metric, (over, scale))).collect();
    let line_color = |&[red, green, blue]: &[u8; 3]| line_color(Color32::from_rgb(red, green, blue), ui.theme());
    let colors: Vec<Color32> = colors.iter().map(line_color).collect();
    plot(ui, diagram, cell, metric, &curves, &colors, (over, scale));
}

fn average_name(average: Average) -> &'static str {
    match average {
        Average::Mean => "Mean",
        Average::Median => "Median",
    }
}

/// Shows the choice of the setting.
fn choice(ui: &mut Ui, title: &str, tuned: &[TunedSetting], over: &mut Over) {
    let name = |over: Over| match over {
        None => LEARNING_RATE.axis_label(),
        Some(setting) => setting.short_label(),
    };
    ui.horizontal(|ui| {
        ui.label(RichText::new(title).small());
        let shown = over.filter(|setting| tuned.contains(setting));
        let combo = ComboBox::from_id_salt("setting of the curve").selected_text(name(shown)).truncate();
        let shown = combo.width(ui.available_width() - 8.0).show_ui(ui, |ui| {
            for setting in [None].into_iter().chain(tuned.iter().map(|setting| Some(*setting))) {
                ui.selectable_value(over, setting, name(setting));
            }
        });
        shown.response.accessible_name("Setting over which scores are plotted");
    });
}

fn plot(
    ui: &mut Ui,
    diagram: &Diagram,
    cell: &Cell,
    metric: Metric,
    curves: &[Vec<BestAt>],
    colors: &[Color32],
    (over, scale): (Over, AxisScale),
) {
    let (average, name) = (average_name(diagram.spec().average), metric.label(&diagram.spec().landscape));
    let names = diagram.spec().shown_names();
    let shown = average_range((0..names.len()).map(|index| cell.score(index, metric).value), metric);
    let places = curves.iter().flatten().map(|best| [best.place; 2]).reduce(union);
    let size = vec2(ui.available_width(), ui.available_height().clamp(120.0, 260.0));
    let axes = [PlotAxis::new(scale, across(places)), PlotAxis::new(AxisScale::Linear, shown)];
    let frame = PlotFrame { axes, size, is_moved: [false; 2], pointer: None };
    let drawn = frame.show(ui, Plot::new("learning rates"), |plot| {
        for (index, name) in names.iter().enumerate() {
            let color = colors[index];
            for BestAt { place, average, error } in curves[index].iter().filter(|best| best.error.is_finite()) {
                error_bar(plot, [*place, average - error, average + error], None, color, shown);
            }
            let places: Vec<[f64; 2]> = curves[index].iter().map(|best| [best.place, best.average]).collect();
            line(plot, name, &places, 1.5, color, shown);
            if let Some(best) = best_of(&curves[index], metric) {
                point(plot, [best.place, best.average], MarkerShape::Diamond, 4.0, color, shown);
            }
        }
    });
    let (symbol, parameter) = match over {
        None => (LEARNING_RATE.symbol, "learning rate".to_owned()),
        Some(setting) => (setting.parameter().symbol, setting.short_label()),
    };
    let words = |index: usize, best: &BestAt| {
        let value = significant(scale.value(best.place), 3);
        format!("{} at {symbol} {value}: {}", names[index], with_error(best.average, best.error))
    };
    if let Some([at, _]) = drawn.pointer {
        readout(&drawn.response, &format!("{average} {name}"), None, |ui| {
            for (index, curve) in curves.iter().enumerate() {
                let away = |best: &&BestAt| (best.place - at).abs();
                if let Some(best) = curve.iter().min_by(|a, b| away(a).total_cmp(&away(b))) {
                    ui.label(words(index, best));
                    ui.end_row();
                }
            }
        });
    }
    drawn.describe(&format!("Plot of {average} {name} over {parameter}"), || {
        let best = curves.iter().enumerate().filter_map(|(index, curve)| Some(words(index, best_of(curve, metric)?)));
        best.collect::<Vec<_>>().join("; ")
    });
}

/// Returns the displayed range of averages, which excludes those of far too large learning rates.
fn average_range(scores: impl Iterator<Item = f64>, metric: Metric) -> [f64; 2] {
    let scores = scores.filter(|score| score.is_finite()).map(|score| [score; 2]);
    let Some([low, high]) = scores.reduce(union) else { return [0.0, 1.0] };
    let reach = (3.0 * (high - low)).max(0.5 * low.abs().max(high.abs())).max(1e-6);
    match metric {
        Metric::FinalLoss | Metric::SmallestLoss => [low - 0.15 * reach, low + reach],
        Metric::Depth => [high - reach, high + 0.15 * reach],
    }
}

/// Returns the best of a curve, the first of equals.
fn best_of(curve: &[BestAt], metric: Metric) -> Option<&BestAt> {
    curve.iter().reduce(|best, next| if metric.advantage(next.average, best.average) > 0.0 { next } else { best })
}

/// Returns the best finite average of an optimizer at each value of a setting, over its candidates with this value. An
/// optimizer that does not tune the setting has the value of the pixel.
fn curve(
    point: &Point,
    cell: &Cell,
    optimizer: usize,
    metric: Metric,
    (over, scale): (Over, AxisScale),
) -> Vec<BestAt> {
    let of = &point.optimizers[optimizer];
    let value = |candidate: usize| match over {
        None => Some(of.learning_rate(candidate)),
        Some(setting) => {
            let Variant { rule, schedule } = of.variant(candidate);
            setting.value_of(rule, schedule)
        }
    };
    let mut curve: Vec<BestAt> = Vec::new();
    for (candidate, (average, deviation)) in
        cell.averages[optimizer].iter().zip(&cell.deviations[optimizer]).enumerate()
    {
        let (average, deviation) = (average[metric as usize], deviation[metric as usize]);
        let Some(place) = value(candidate).map(|value| scale.place(value)).filter(|place| place.is_finite()) else {
            continue;
        };
        if !average.is_finite() {
            continue;
        }
        let error = deviation / ((cell.replicates_of(optimizer, candidate).max(2) - 1) as f64).sqrt();
        let best = BestAt { place, average, error };
        match curve.iter_mut().find(|known| known.place == place) {
            Some(known) if metric.advantage(average, known.average) > 0.0 => *known = best,
            Some(_) => {}
            None => curve.push(best),
        }
    }
    curve.sort_by(|a, b| a.place.total_cmp(&b.place));
    curve
}
