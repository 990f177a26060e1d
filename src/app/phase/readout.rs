//! The results of one pixel: scores, certainty, and the curve over a setting.

use egui::{Color32, ComboBox, Label, RichText, Stroke, TextStyle, Ui, vec2};
use egui_plot::Plot;
use valleyscope_engine::optimizer::MarkerShape;
use valleyscope_engine::quantity::Replicates;
use valleyscope_engine::setting::{Key, LEARNING_RATE};
use valleyscope_engine::sweep::{
    Average, Cell, Diagram, Gap, Metric, Point, Sampled, Sampling, Score, SweepOptimizer, Variant, tuned_info,
    tuned_label, tuned_spacing, tuned_value,
};
use valleyscope_experiments::view::range::{across, union};
use valleyscope_experiments::view::ticks::{fixed, short, significant, with_edge};
use valleyscope_experiments::view::{AxisScale, Dash};

use super::score_table;
use super::score_table::{BestEdge, number};
use crate::app::widgets::icons::line_color;
use crate::app::widgets::plot::{PlotAxis, PlotFrame, describe, readout};
use crate::draw::rgb;
use crate::sweep::titles::{axis_label, axis_meanings};

/// A pixel of a diagram and its results by a metric, with the names and colours of the optimizers.
pub(super) struct PixelScores<'a> {
    pub diagram: &'a Diagram,
    pub pixel: [usize; 2],
    pub cell: &'a Cell,
    pub metric: Metric,
    pub names: Vec<String>,
    pub colors: &'a [[u8; 3]],
}

impl PixelScores<'_> {
    pub(super) fn optimizers(&self) -> &[SweepOptimizer] {
        &self.diagram.spec().optimizers
    }

    pub(super) fn score(&self, optimizer: usize) -> Score {
        self.cell.score(optimizer, self.metric)
    }

    /// Returns the standard error of a candidate's average with this deviation.
    pub(super) fn error(&self, optimizer: usize, candidate: usize, deviation: f64) -> f64 {
        deviation / ((self.cell.replicates_of(optimizer, candidate).max(2) - 1) as f64).sqrt()
    }
}

/// Shows a pixel's results, or those of the pixel that represents it on the map, in these colours of the optimizers.
/// `over` is the setting of the curve.
pub(super) fn show(
    ui: &mut Ui,
    diagram: &Diagram,
    pixel: [usize; 2],
    metric: Metric,
    colors: &[[u8; 3]],
    over: &mut Over,
) {
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
    let scores = PixelScores { diagram, pixel, cell, metric, names: spec.shown_names(), colors };
    let longest = scores.names.iter().max_by_key(|name| name.chars().count()).map_or("", String::as_str);
    // Widgets below a text do not move while the pointer moves from pixel to pixel.
    reserve(ui, &undecided(longest), |ui| ui.add(Label::new(RichText::new(scores.verdict()).strong()).wrap()));
    ui.add_space(4.0);
    score_table::show(ui, &scores);
    if let Some([best, longest]) = scores.best_settings() {
        reserve(ui, &longest, |ui| ui.add(Label::new(RichText::new(best).weak()).wrap()));
    }
    ui.add_space(4.0);
    reserve(ui, &longest_lead(cell, longest), |ui| scores.lead(ui));
    ui.add_space(2.0);
    scores.show_curve(ui, over);
    // Below all widgets that should not move.
    if let Some(shares) = diagram.shares(pixel) {
        let meaning = "What the second moment of Adam’s gradients consists of here, at its best learning rate by the sweep’s own metric";
        ui.add(Label::new(RichText::new(format!("Adam: {shares}")).weak()).wrap()).on_hover_text(meaning);
    }
    for (index, name) in scores.names.iter().enumerate() {
        for edge in BestEdge::all(&scores, index) {
            ui.add(Label::new(RichText::new(format!("{name}: {}", edge.note)).small().weak()).wrap());
        }
    }
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

impl PixelScores<'_> {
    /// Lists the values of the tuned settings of the scores, and in a second text values that are as long as any; none
    /// where nothing is tuned.
    fn best_settings(&self) -> Option<[String; 2]> {
        let optimizers = self.optimizers();
        let label = |index: usize| {
            let label = optimizers[index].label();
            let is_unique = optimizers.iter().filter(|other| other.label() == label).count() == 1;
            if is_unique { label } else { &self.names[index] }
        };
        let label = |value: &dyn Fn(usize, usize) -> String| {
            let tuning = (0..optimizers.len()).filter(|index| !optimizers[*index].tune.is_empty());
            let of_optimizer = |index: usize| {
                let tuned = optimizers[index].tune.iter().enumerate();
                let values =
                    tuned.map(|(setting, of)| format!("{} {}", tuned_info(of.of).symbol, value(index, setting)));
                format!("{}: {}", label(index), values.collect::<Vec<_>>().join(", "))
            };
            let all: Vec<String> = tuning.map(of_optimizer).collect();
            (!all.is_empty()).then(|| format!("Best settings: {}", all.join("; ")))
        };
        let best = label(&|index, setting| {
            let score = self.score(index);
            if !score.value.is_finite() {
                return "–".to_owned();
            }
            let best = self.diagram.tuned_value(index, setting, score.best);
            with_edge(BestEdge::of_tuned(self, index, setting).map(|it| it.edge), &short(best))
        });
        let longest = label(&|index, setting| {
            let all = self.diagram.tuned_values(index)[setting].iter().map(|value| format!("≤ {}", short(*value)));
            all.max_by_key(|text| text.chars().count()).unwrap_or_default()
        });
        Some([best?, longest?])
    }

    /// Describes the winner and its certainty.
    fn verdict(&self) -> String {
        let comparison = self.cell.comparison(self.metric);
        let Some(winner) = comparison.winner else {
            let mut scores = (0..self.names.len()).map(|index| self.score(index).value);
            return match scores.any(f64::is_finite) {
                true => "No winner: the best scores are equal.".to_owned(),
                false => "No winner: every optimizer diverged.".to_owned(),
            };
        };
        let name = &self.names[winner];
        match comparison.certainty() {
            Some(certainty) if certainty < UNDECIDED => undecided(name),
            Some(certainty) => format!("{name} wins, {} sure", percent(certainty)),
            None if self.cell.sampled.is_some() => {
                format!("{name} scores best; how surely is known for the sweep's own metric")
            }
            None => format!("{name} wins; too few replicates to say how surely"),
        }
    }

    /// Shows the difference on which the verdict rests.
    fn lead(&self, ui: &mut Ui) {
        let PixelScores { diagram, cell, names, .. } = self;
        let comparison = cell.comparison(self.metric);
        if comparison.winner.is_none() {
            return;
        }
        if let Some(sampled) = &cell.sampled {
            ui.add(Label::new(RichText::new(self.adaptive_lead(sampled)).weak()).wrap());
            return;
        }
        if let Some((rival, _)) = comparison.rival() {
            let gap = comparison.gaps[rival];
            let lead = held_out_lead(&names[rival], &with_error(gap.value, gap.error))
                + &more_replicates(&gap, cell.replicates);
            let lead = ui.add(Label::new(RichText::new(lead).weak()).wrap());
            lead.on_hover_text(held_out_explanation(cell.replicates));
        }
        let all = diagram.spec().replicates.get();
        if cell.replicates < all {
            ui.label(RichText::new(format!("so far from {} of {all} replicates", cell.replicates)).weak());
        }
    }

    /// Describes the winner's lead over its closest rival, by adaptive sampling, and the optimizer that the budget does not
    /// part from it, which may be another.
    fn adaptive_lead(&self, sampled: &Sampled) -> String {
        let comparison = self.cell.comparison(self.metric);
        let (Some((rival, _)), Sampling::Adaptive(adaptive)) = (comparison.rival(), self.diagram.spec().sampling)
        else {
            return String::new();
        };
        let most = comparison.error_probabilities.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let (open, doubt) = most.map_or((rival, 0.0), |(open, doubt)| (open, *doubt));
        let (gap, asked) = (comparison.gaps[rival], adaptive.certainty.get());
        let lead = sampled_lead(&self.names[rival], &with_error(gap.value, gap.error), self.cell.runs());
        match (1.0 - doubt >= asked, sampled.is_over) {
            (true, _) => lead,
            (false, false) => format!("{lead} More runs follow."),
            (false, true) => {
                let apart = sampled.apart.get(open).copied().unwrap_or(f64::NAN);
                format!("{lead} {}", not_parted(&self.names[open], apart, asked))
            }
        }
    }
}

fn held_out_lead(rival: &str, lead: &str) -> String {
    format!("Where half of the replicates choose η and the other half compare, it leads {rival} by {lead}.")
}

fn longest_lead(cell: &Cell, name: &str) -> String {
    let lead = with_error(-0.1, 0.1);
    match cell.sampled {
        Some(_) => format!("{} {}", sampled_lead(name, &lead, 10_000), not_parted(name, 0.1, 0.95)),
        None => held_out_lead(name, &lead) + &decisive_replicates(1000.0),
    }
}

fn sampled_lead(rival: &str, lead: &str, runs: u64) -> String {
    format!("It leads {rival} by {lead}, from {runs} runs.")
}

fn not_parted(other: &str, apart: f64, asked: f64) -> String {
    let apart = number(apart);
    format!(
        "The budget does not part it from {other}: their scores are at most about {apart} apart ({:.0}\u{a0}%).",
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
        "Each score above is the best of its candidates over all {replicates} replicates, which flatters it; candidates are \
         learning rates, with all combinations of tuned settings. For the lead, each optimizer's candidate is chosen on one half of the replicates ({} runs), and the optimizers are \
         compared on the other half, in both directions; of nine such splits the one in the middle is shown. Where few runs choose \
         badly, the lead is small although the scores differ: more replicates decide.",
        replicates / 2
    )
}

/// Formats a certainty in percent, never as 100 %.
fn percent(certainty: f64) -> String {
    if certainty > 0.999 { "over 99.9 %".to_owned() } else { format!("{:.1} %", 100.0 * certainty) }
}

/// Formats a number and its standard error in a text that is not broken between them.
pub(super) fn with_error(value: f64, error: f64) -> String {
    format!("{}\u{a0}±\u{a0}{}", number(value), number(error))
}

/// The setting over which averages are plotted: the learning rate, or a tuned setting.
pub(super) type Over = Option<Key>;

/// The best average at a value of the setting, with its position on the axis and its standard error.
struct BestAt {
    position: f64,
    average: f64,
    error: f64,
}

impl PixelScores<'_> {
    /// Shows the best averages at each value of a setting, with standard errors. Where settings are tuned, `over` can be
    /// chosen.
    fn show_curve(&self, ui: &mut Ui, over: &mut Over) {
        let spec = self.diagram.spec();
        let tuned = spec.tuned_settings();
        let title = format!("{} {} over", average_name(spec.average), self.metric.label(&spec.landscape));
        if tuned.is_empty() {
            ui.label(RichText::new(format!("{title} learning rate η")).small());
        } else {
            choice(ui, &title, &tuned, over);
        }
        // Another diagram may tune what this one does not.
        let over = over.filter(|setting| tuned.contains(setting));
        let scale = over.map_or(AxisScale::Log, |setting| AxisScale::from(tuned_spacing(setting, [&**spec])));
        let point = spec.point(self.pixel[0], self.pixel[1]);
        let curves: Vec<_> = (0..self.names.len()).map(|index| self.curve(&point, index, over, scale)).collect();
        self.plot(ui, &curves, over, scale);
    }

    fn plot(&self, ui: &mut Ui, curves: &[Vec<BestAt>], over: Over, scale: AxisScale) {
        let PixelScores { diagram, metric, names, .. } = self;
        let (average, name) = (average_name(diagram.spec().average), metric.label(&diagram.spec().landscape));
        let colors: Vec<Color32> = self.colors.iter().map(|color| line_color(rgb(*color), ui.theme())).collect();
        let shown = average_range((0..names.len()).map(|index| self.score(index).value), *metric);
        let positions = curves.iter().flatten().map(|best| [best.position; 2]).reduce(union);
        let size = vec2(ui.available_width(), ui.available_height().clamp(120.0, 260.0));
        let axes = [PlotAxis::new(scale, across(positions)), PlotAxis::new(AxisScale::Linear, shown)];
        let frame = PlotFrame { axes, size, is_moved: [false; 2], pointer: None };
        let drawn = frame.show(ui, Plot::new("learning rates"), |plot| {
            for (index, color) in colors.iter().copied().enumerate() {
                for BestAt { position, average, error } in curves[index].iter().filter(|best| best.error.is_finite()) {
                    let bar = [average - error, average + error].map(|end| [*position, end]);
                    plot.line(&bar, Stroke::new(1.2, color), Dash::Solid);
                }
                let positions: Vec<[f64; 2]> = curves[index].iter().map(|best| [best.position, best.average]).collect();
                plot.line(&positions, Stroke::new(1.5, color), Dash::Solid);
                if let Some(best) = best_of(&curves[index], *metric) {
                    plot.point([best.position, best.average], MarkerShape::Diamond, 4.0, color);
                }
            }
        });
        let (symbol, parameter) = match over {
            None => (LEARNING_RATE.symbol, "learning rate".to_owned()),
            Some(setting) => (tuned_info(setting).symbol, tuned_label(setting).to_owned()),
        };
        let label = |index: usize, best: &BestAt| {
            let value = significant(scale.value(best.position), 3);
            format!("{} at {symbol} {value}: {}", names[index], with_error(best.average, best.error))
        };
        if let Some([at, _]) = drawn.pointer {
            readout(&drawn.response, &format!("{average} {name}"), None, |ui| {
                for (index, curve) in curves.iter().enumerate() {
                    let away = |best: &&BestAt| (best.position - at).abs();
                    if let Some(best) = curve.iter().min_by(|a, b| away(a).total_cmp(&away(b))) {
                        ui.label(label(index, best));
                        ui.end_row();
                    }
                }
            });
        }
        describe(&drawn.response, &format!("Plot of {average} {name} over {parameter}"), || {
            let best =
                curves.iter().enumerate().filter_map(|(index, curve)| Some(label(index, best_of(curve, *metric)?)));
            best.collect::<Vec<_>>().join("; ")
        });
    }

    /// Returns the best finite average of an optimizer at each value of a setting, over its candidates with this value. An
    /// optimizer that does not tune the setting has the value of the pixel.
    fn curve(&self, point: &Point, optimizer: usize, over: Over, scale: AxisScale) -> Vec<BestAt> {
        let PixelScores { cell, metric, .. } = *self;
        let of = &point.optimizers[optimizer];
        let value = |candidate: usize| match over {
            None => Some(of.learning_rate(candidate)),
            Some(setting) => {
                let Variant { rule, schedule } = of.variant(candidate);
                tuned_value(setting, rule, schedule)
            }
        };
        let mut curve: Vec<BestAt> = Vec::new();
        for (candidate, (average, deviation)) in
            cell.averages[optimizer].iter().zip(&cell.deviations[optimizer]).enumerate()
        {
            let (average, deviation) = (average[metric as usize], deviation[metric as usize]);
            let position = value(candidate).map(|value| scale.position(value)).filter(|position| position.is_finite());
            let Some(position) = position.filter(|_| average.is_finite()) else { continue };
            let best = BestAt { position, average, error: self.error(optimizer, candidate, deviation) };
            match curve.iter_mut().find(|known| known.position == position) {
                Some(known) if metric.advantage(average, known.average) > 0.0 => *known = best,
                Some(_) => {}
                None => curve.push(best),
            }
        }
        curve.sort_by(|a, b| a.position.total_cmp(&b.position));
        curve
    }
}

fn average_name(average: Average) -> &'static str {
    match average {
        Average::Mean => "Mean",
        Average::Median => "Median",
    }
}

/// Shows the choice of the setting.
fn choice(ui: &mut Ui, title: &str, tuned: &[Key], over: &mut Over) {
    let name = |over: Over| match over {
        None => LEARNING_RATE.axis_label(),
        Some(setting) => tuned_label(setting).to_owned(),
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
