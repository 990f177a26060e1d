//! The results of one pixel: scores, certainty, and the curve over learning rates.

use egui::{Color32, Label, RichText, TextStyle, Ui, vec2};
use egui_plot::{MarkerShape, Plot};
use valleyscope_engine::quantity::Replicates;
use valleyscope_engine::sweep::{Average, Cell, Diagram, Gap, Metric, Sampled, Sampling};
use valleyscope_experiments::view::AxisScale;
use valleyscope_experiments::view::range::{across, union};
use valleyscope_experiments::view::ticks::{fixed, significant};

use super::score_table;
use crate::app::landscape::marker::line_color;
use crate::app::plot::{PlotAxis, PlotFrame, error_bar, line, point, readout};
use crate::figure::{axis_label, axis_meanings};

/// Shows a pixel's results, or those of the pixel that represents it on the map, in these colours of the optimizers.
pub(super) fn show(ui: &mut Ui, diagram: &Diagram, pixel: [usize; 2], metric: Metric, colors: &[[u8; 3]]) {
    let spec = diagram.spec();
    let pixel = diagram.known_near(pixel).unwrap_or(pixel);
    let [row, column] = pixel;
    let line = |label: String, value: f64| match value.fract() {
        0.0 => format!("{label}: {}", fixed(value, 0)),
        _ => format!("{label}: {}", number(value)),
    };
    for (axis, value) in [(&spec.rows, diagram.rows()[row]), (&spec.columns, diagram.columns()[column])] {
        ui.label(line(axis_label(spec, axis), value));
        if let Some(meanings) = axis_meanings(spec, axis) {
            ui.add(Label::new(RichText::new(meanings).small().weak()).wrap());
        }
    }
    ui.add_space(4.0);
    let Some(cell) = diagram.cell(pixel) else {
        ui.label(RichText::new("Not computed yet.").weak());
        return;
    };
    let names = spec.shown_names();
    let longest = names.iter().max_by_key(|name| name.chars().count()).map_or("", String::as_str);
    // What is below a text stays in its place while the pointer moves from pixel to pixel.
    let verdict = verdict(cell, metric, &names);
    reserve(ui, &undecided(longest), |ui| ui.add(Label::new(RichText::new(verdict).strong()).wrap()));
    ui.add_space(4.0);
    score_table::show(ui, diagram, pixel, cell, metric, colors);
    ui.add_space(4.0);
    reserve(ui, &longest_lead(cell, longest), |ui| lead(ui, diagram, cell, metric, &names));
    ui.add_space(2.0);
    curve(ui, diagram, pixel, cell, metric, colors);
}

/// Adds a text, and leaves at least as much room as the longest one takes.
fn reserve<R>(ui: &mut Ui, longest: &str, add: impl FnOnce(&mut Ui) -> R) {
    let font = TextStyle::Body.resolve(ui.style());
    let longest = ui.painter().layout(longest.to_owned(), font, Color32::PLACEHOLDER, ui.available_width());
    let end = ui.cursor().top() + longest.size().y + ui.spacing().item_spacing.y;
    add(ui);
    ui.add_space((end - ui.cursor().top()).max(0.0));
}

fn undecided(name: &str) -> String {
    format!("{name} scores best, but the runs do not decide who wins")
}

/// Describes the winner and its certainty.
fn verdict(cell: &Cell, metric: Metric, names: &[String]) -> String {
    let comparison = cell.comparison(metric);
    let Some(winner) = comparison.winner else {
        let mut scores = (0..cell.averages.len()).map(|index| cell.score(index, metric).value);
        return match scores.any(f64::is_finite) {
            true => "No winner: the best scores are equal.".to_owned(),
            false => "No winner: every optimizer diverged.".to_owned(),
        };
    };
    let name = &names[winner];
    match comparison.certainty() {
        Some(certainty) if certainty < UNDECIDED => undecided(name),
        Some(certainty) => format!("{name} wins, {} sure", percent(certainty)),
        None if cell.sampled.is_some() => format!("{name} scores best; how surely is known for the sweep's own metric"),
        None => format!("{name} wins; too few replicates to say how surely"),
    }
}

/// Shows the difference on which the verdict rests.
fn lead(ui: &mut Ui, diagram: &Diagram, cell: &Cell, metric: Metric, names: &[String]) {
    let comparison = cell.comparison(metric);
    if comparison.winner.is_none() {
        return;
    }
    if let Some(sampled) = &cell.sampled {
        ui.add(Label::new(RichText::new(adaptive_lead(diagram, cell, sampled, metric, names)).weak()).wrap());
        return;
    }
    if let Some((rival, _)) = comparison.rival() {
        let gap = comparison.gaps[rival];
        let lead =
            held_out_lead(&names[rival], &with_error(gap.value, gap.error)) + &more_replicates(&gap, cell.replicates);
        let lead = ui.add(Label::new(RichText::new(lead).weak()).wrap());
        lead.on_hover_text(held_out_explanation(cell.replicates));
    }
    let all = diagram.spec().replicates.get();
    if cell.replicates < all {
        ui.label(RichText::new(format!("so far from {} of {all} replicates", cell.replicates)).weak());
    }
}

fn held_out_lead(rival: &str, lead: &str) -> String {
    format!("Where half of the replicates choose η and the other half compare, it leads {rival} by {lead}.")
}

/// Returns a description of a lead that is as long as any.
fn longest_lead(cell: &Cell, name: &str) -> String {
    let lead = with_error(-0.1, 0.1);
    match cell.sampled {
        Some(_) => format!("{} {}", sampled_lead(name, &lead, 10_000), not_parted(0.1, 0.95)),
        None => held_out_lead(name, &lead) + &decisive_replicates(1000.0),
    }
}

/// Describes the winner's lead, by adaptive sampling, over the rival that is the hardest to tell from it.
fn adaptive_lead(diagram: &Diagram, cell: &Cell, sampled: &Sampled, metric: Metric, names: &[String]) -> String {
    let comparison = cell.comparison(metric);
    let (Some((rival, certainty)), Sampling::Adaptive(adaptive)) = (comparison.rival(), diagram.spec().sampling) else {
        return String::new();
    };
    let (gap, asked) = (comparison.gaps[rival], adaptive.certainty.get());
    let lead = sampled_lead(&names[rival], &with_error(gap.value, gap.error), cell.runs());
    match (certainty >= asked, sampled.is_over) {
        (true, _) => lead,
        (false, false) => format!("{lead} More runs follow."),
        (false, true) => format!("{lead} {}", not_parted(sampled.apart.get(rival).copied().unwrap_or(f64::NAN), asked)),
    }
}

fn sampled_lead(rival: &str, lead: &str, runs: u64) -> String {
    format!("It leads {rival} by {lead}, from {runs} runs.")
}

fn not_parted(apart: f64, asked: f64) -> String {
    let apart = number(apart);
    format!(
        "The budget does not part them: their scores are at most about {apart} apart ({:.0}\u{a0}%).",
        100.0 * asked
    )
}

/// The certainty below which a winner is as likely as not to be another.
const UNDECIDED: f64 = 0.5;

/// Estimates how many replicates would decide, in a sentence after the lead; empty where it is decided.
fn more_replicates(gap: &Gap, replicates: usize) -> String {
    let errors = gap.value / gap.error;
    if !errors.is_finite() || errors >= ENOUGH_ERRORS {
        return String::new();
    }
    // The error falls with the root of the number of replicates.
    let needed = replicates as f64 * (ENOUGH_ERRORS / errors).powi(2);
    if errors <= 0.0 || needed > Replicates::MAX as f64 {
        return " More replicates may turn it round.".to_owned();
    }
    decisive_replicates(needed)
}

fn decisive_replicates(needed: f64) -> String {
    format!(" If the lead is real, about {} replicates would make it 95\u{a0}% sure.", significant(needed, 2))
}

/// The number of standard errors above which a lead over one rival is about 95 % sure.
const ENOUGH_ERRORS: f64 = 1.7;

/// Explains how the held-out lead is estimated, and why it may be smaller than the scores' difference.
fn held_out_explanation(replicates: usize) -> String {
    format!(
        "Each score above is the best of its learning rates over all {replicates} replicates, which flatters it. For the \
         lead, each optimizer's learning rate is chosen on one half of the replicates ({} runs), and the optimizers are \
         compared on the other half, in both directions; of nine such splits the one in the middle is shown. Where few runs choose the \
         learning rate badly, the lead is small although the scores differ: more replicates decide.",
        replicates / 2
    )
}

/// Formats a certainty in percent, never as 100 %.
fn percent(certainty: f64) -> String {
    if certainty > 0.999 { "over 99.9 %".to_owned() } else { format!("{:.1} %", 100.0 * certainty) }
}

/// Formats a number and its standard error in a text that is not broken between them.
fn with_error(value: f64, error: f64) -> String {
    format!("{}\u{a0}±\u{a0}{}", number(value), number(error))
}

/// Formats a number with three digits, in the width of a column.
pub(super) fn number(value: f64) -> String {
    if value.is_nan() {
        "–".to_owned()
    } else if value.is_infinite() {
        "diverged".to_owned()
    } else if value != 0.0 && !(1e-3..1e4).contains(&value.abs()) {
        format!("{value:.2e}").replace('-', "−")
    } else {
        format!("{value:.4}").replace('-', "−")
    }
}

/// Shows the average over learning rates, with standard errors.
fn curve(ui: &mut Ui, diagram: &Diagram, pixel: [usize; 2], cell: &Cell, metric: Metric, colors: &[[u8; 3]]) {
    let name = metric.label(&diagram.spec().landscape);
    let average = match diagram.spec().average {
        Average::Mean => "Mean",
        Average::Median => "Median",
    };
    ui.label(RichText::new(format!("{average} {name} over learning rate η")).small());
    let optimizers = &diagram.spec().optimizers;
    let names = diagram.spec().shown_names();
    let shown = average_range((0..optimizers.len()).map(|index| cell.score(index, metric).value), metric);
    let curves: Vec<_> = (0..cell.averages.len()).map(|index| rates(diagram, pixel, cell, index, metric)).collect();
    let places = curves.iter().flatten().map(|rate| [rate.place; 2]).reduce(union);
    let size = vec2(ui.available_width(), ui.available_height().clamp(120.0, 260.0));
    let axes = [PlotAxis::new(AxisScale::Log, across(places)), PlotAxis::new(AxisScale::Linear, shown)];
    let frame = PlotFrame { axes, size, is_moved: [false; 2], pointer: None };
    let line_color = |&[red, green, blue]: &[u8; 3]| line_color(Color32::from_rgb(red, green, blue), ui.theme());
    let colors: Vec<Color32> = colors.iter().map(line_color).collect();
    let drawn = frame.show(ui, Plot::new("learning rates"), |plot| {
        for (index, name) in names.iter().enumerate() {
            let color = colors[index];
            for Rate { place, average, error } in curves[index].iter().filter(|rate| rate.error.is_finite()) {
                error_bar(plot, [*place, average - error, average + error], None, color, shown);
            }
            let places: Vec<[f64; 2]> = curves[index].iter().map(|rate| [rate.place, rate.average]).collect();
            line(plot, name, &places, 1.5, color, shown);
            let score = cell.score(index, metric);
            if score.value.is_finite() {
                let place = diagram.learning_rate(pixel, index, score.best).log10();
                point(plot, [place, score.value], MarkerShape::Diamond, 4.0, color, shown);
            }
        }
    });
    let words = |index: usize, rate: &Rate| {
        let learning_rate = significant(10_f64.powf(rate.place), 3);
        format!("{} at η {learning_rate}: {}", names[index], with_error(rate.average, rate.error))
    };
    if let Some([at, _]) = drawn.pointer {
        readout(&drawn.response, &format!("{average} {name}"), None, |ui| {
            for (index, rates) in curves.iter().enumerate() {
                let away = |rate: &&Rate| (rate.place - at).abs();
                if let Some(rate) = rates.iter().min_by(|a, b| away(a).total_cmp(&away(b))) {
                    ui.label(words(index, rate));
                    ui.end_row();
                }
            }
        });
    }
    drawn.describe(&format!("Plot of {average} {name} over learning rate"), || {
        let best = curves.iter().enumerate().filter_map(|(index, rates)| {
            let place = diagram.learning_rate(pixel, index, cell.score(index, metric).best).log10();
            rates.iter().find(|rate| rate.place == place).map(|rate| words(index, rate))
        });
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

/// The average at a learning rate, with its place on a logarithmic axis and its standard error.
struct Rate {
    place: f64,
    average: f64,
    error: f64,
}

/// Returns the learning rates of an optimizer whose average is finite.
fn rates(diagram: &Diagram, pixel: [usize; 2], cell: &Cell, optimizer: usize, metric: Metric) -> Vec<Rate> {
    let averages = cell.averages[optimizer].iter().zip(&cell.deviations[optimizer]).enumerate();
    let rates = averages.map(|(rate, (average, deviation))| Rate {
        place: diagram.learning_rate(pixel, optimizer, rate).log10(),
        average: average[metric as usize],
        error: deviation[metric as usize] / ((cell.replicates_of(optimizer, rate).max(2) - 1) as f64).sqrt(),
    });
    rates.filter(|rate| rate.average.is_finite()).collect()
}
