//! The results of trainings over the settings that vary among them.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::io;

use valleyscope_engine::optimizer::{Marker, MarkerShape, RuleKind, markers};
use valleyscope_engine::quantity::number_text;
use valleyscope_engine::setting::LEARNING_RATE;
use valleyscope_experiments::view::assigned_colors;
use valleyscope_experiments::view::ticks::{RangeEdge, with_edge};
use valleyscope_runs::Better;

use super::column::{Column, Columns, lower_first};
use super::facts::{OPTIMIZER, REPLICATES, RunFacts, STATE, SYNTHETIC, is_held_out, last_of};
use super::value::{Aggregate, Statistic, Value};
use super::{Group, Grouping, SortKey, grouped};
use crate::export::{CsvCell, CsvWriter};

/// The chosen axes of a picture of a grid; without a choice, those that suit the settings that vary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GridAxes {
    /// The field of the horizontal axis.
    pub x: Option<String>,
    /// The field of the setting of which only the best value is shown.
    pub best_over: Option<String>,
}

/// The last results of finished trainings over one setting, with a curve for each combination of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct GridResult {
    pub title: String,
    pub x: Column,
    /// The positions of the values on the horizontal axis, one unit apart on average, and their texts.
    pub ticks: Vec<(f64, String)>,
    /// The setting of which each point has the best value.
    pub best_over: Option<Column>,
    /// The compared result.
    pub result: Column,
    pub curves: Vec<GridCurve>,
    /// The settings that vary, which can be axes.
    pub varied: Vec<Column>,
    /// A row for each combination of the varied settings: their values, and the result.
    pub rows: Vec<(Vec<Option<Value>>, GridMean)>,
    /// Advice about best values at the ends of those tried.
    pub remarks: Vec<String>,
    /// The numbers of finished trainings, and of all.
    pub counts: [usize; 2],
    /// The data that stand in for real ones, if a run has learned from such.
    pub synthetic: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GridCurve {
    pub name: String,
    pub rule: Option<RuleKind>,
    pub color: [u8; 3],
    pub marker: Marker,
    /// A point for each tick, where a training with that value has finished.
    pub points: Vec<Option<GridMean>>,
    /// The index of the point with the best result.
    pub best: Option<usize>,
}

/// The mean of a result over seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct GridMean {
    pub mean: f64,
    /// The sample standard deviation over seeds, with n − 1; NaN for a single one.
    pub deviation: f64,
    pub seeds: usize,
    /// The value of the setting of which only the best is shown.
    pub best: String,
    /// The end of the tried values at which the best one lies.
    pub edge: Option<RangeEdge>,
}

impl GridMean {
    fn of(runs: &[&RunFacts], group: &[usize], result: &Column) -> Option<GridMean> {
        let seeds = group.len();
        let (mean, deviation) = match result.of_group(group.iter().map(|index| runs[*index]), Statistic::Mean) {
            Aggregate::Mean { mean, deviation, .. } => (mean, deviation),
            Aggregate::Same(value) => (value.number()?, if seeds > 1 { 0.0 } else { f64::NAN }),
            _ => return None,
        };
        Some(GridMean { mean, deviation, seeds, best: String::new(), edge: None })
    }

    /// Returns the standard error of the mean, NaN for a single seed.
    pub fn error(&self) -> f64 {
        self.deviation / (self.seeds as f64).sqrt()
    }
}

/// The settings by which trainings of a grid do not differ in what they learn.
const NO_AXES: [&str; 4] = ["seed", "data", "device", "name"];
/// The setting of which the best value is usually wanted.
const TUNED: &str = LEARNING_RATE.key;

impl GridResult {
    /// Arranges the results of runs, whose order is that of the curves.
    ///
    /// # Errors
    ///
    /// Fails with a sentence if no run has finished, if no setting varies, or if an axis does not vary.
    pub fn of(title: &str, runs: &[&RunFacts], axes: &GridAxes) -> Result<GridResult, String> {
        let is_finished = |run: &&RunFacts| run.text(STATE).as_deref() == Some("finished");
        let counts = [runs.iter().filter(|run| is_finished(run)).count(), runs.len()];
        let mut runs: Vec<&RunFacts> = runs.iter().copied().filter(is_finished).collect();
        let mut known = HashSet::new();
        // Of equal trainings, the last counts, as a repeated one is no other seed.
        runs.reverse();
        runs.retain(|run| {
            let keys = [REPLICATES, "seed"].map(|field| run.get(field).map(Value::key));
            keys.iter().any(Option::is_none) || known.insert(keys)
        });
        runs.reverse();
        let columns = Columns::of(&runs, false);
        let varied = varied(&runs, &columns);
        let result = result(&runs, &columns)?;
        let (x, best_over) = chosen(axes, &columns, &varied)?;
        let by: Vec<Column> = varied.iter().filter(|it| Some(*it) != best_over.as_ref()).cloned().collect();
        let best_field = best_over.as_ref().map(|column| column.field.clone());
        let fields = by.iter().map(|column| column.field.clone()).collect();
        let grouping = Grouping { by: fields, statistic: Statistic::Mean, best_over: best_field };
        let keys = [SortKey { field: result.field.clone(), is_descending: false }];
        let mut groups = grouping.groups(&runs, (0..runs.len()).collect(), &keys, &columns);
        groups.sort_by_key(|group| group.members[0]);
        let (values, positions) = positions_of(runs.iter().filter_map(|run| x.of(run)));
        let ticks = positions.into_iter().zip(values.iter().map(|value| short_text(&x, value)));
        let mut it = GridResult {
            title: title.to_owned(),
            ticks: ticks.collect(),
            curves: curves(&runs, &groups, &by, &x, &values, best_over.as_ref(), &result),
            remarks: Vec::new(),
            rows: rows(&runs, &varied, &result),
            x,
            best_over,
            result,
            varied,
            counts,
            synthetic: runs.iter().find_map(|run| Some(run.text(SYNTHETIC)?.into_owned())),
        };
        it.remarks = it.edges();
        Ok(it)
    }

    /// Formats a point: the mean with its error over seeds, and the best value of the setting that is chosen.
    pub fn text(&self, point: &GridMean) -> String {
        let format = self.result.format;
        let mean = match point.error() {
            error if error.is_finite() => format.with_deviation(point.mean, error),
            _ => format.number(point.mean),
        };
        match &self.best_over {
            Some(column) => format!("{mean} at {} {}", column.short, with_edge(point.edge, &point.best)),
            None => mean,
        }
    }

    /// Finds the curves of Adam and Signum, which the paper compares.
    pub fn adam_and_signum(&self) -> Option<[&GridCurve; 2]> {
        let of = |rule| self.curves.iter().find(|curve| curve.rule == Some(rule));
        Some([of(RuleKind::Adam)?, of(RuleKind::Signum)?])
    }

    /// Describes the best values at the ends of those tried: of the setting of which only the best is shown, and else of
    /// the horizontal axis.
    fn edges(&self) -> Vec<String> {
        let advice = |name: &str, of: &Column, edge: RangeEdge| {
            let sentence = edge.sentence(&of.values_word());
            format!("{name}: the best {} is {sentence} (`--vary {}={}`)", of.word(), of.field, self.widened(of, edge))
        };
        let of_curve = |curve: &GridCurve| -> Vec<String> {
            if let Some(of) = &self.best_over {
                let at = |edge: RangeEdge| {
                    let pairs = curve.points.iter().zip(&self.ticks);
                    let same = pairs.filter(|(point, _)| point.as_ref().is_some_and(|it| it.edge == Some(edge)));
                    let texts: Vec<&str> = same.map(|(_, (_, text))| text.as_str()).collect();
                    advice(&format!("{}, {} {}", curve.name, lower_first(&self.x.short), texts.join(", ")), of, edge)
                };
                let mut edges: Vec<RangeEdge> = curve.points.iter().flatten().filter_map(|point| point.edge).collect();
                edges.sort_by_key(|edge| edge.is_low());
                edges.dedup();
                return edges.into_iter().map(at).collect();
            }
            self.edge_of(curve).map(|edge| advice(&curve.name, &self.x, edge)).into_iter().collect()
        };
        self.curves.iter().flat_map(of_curve).collect()
    }

    /// Writes a row for each combination of settings as CSV: the settings, the mean of the result, its deviation (n − 1)
    /// and the number of seeds.
    pub fn csv(&self) -> io::Result<Vec<u8>> {
        let fields = self.varied.iter().map(|column| column.field.as_str());
        let (result, std) = (self.result.field.as_str(), format!("{}_std", self.result.field));
        let header: Vec<&str> = fields.chain([result, &std, "seeds"]).collect();
        let mut table = CsvWriter::new(Vec::new(), &header)?;
        for (values, mean) in &self.rows {
            let settings = values.iter().map(|value| value.as_ref().map_or(CsvCell::Text(""), Value::csv_cell));
            let result =
                [CsvCell::Number(mean.mean), CsvCell::Number(mean.deviation), CsvCell::Whole(mean.seeds as u64)];
            table.row(&settings.chain(result).collect::<Vec<_>>())?;
        }
        Ok(table.into_inner())
    }

    /// Lists all values of a setting and the next one beyond an end, as text for `--vary`.
    fn widened(&self, of: &Column, edge: RangeEdge) -> String {
        let index = self.varied.iter().position(|column| column.field == of.field);
        let values = self.rows.iter().filter_map(|(values, _)| values[index?].as_ref());
        let (values, _) = positions_of(values);
        let mut numbers: Vec<f64> = values.iter().filter_map(Value::number).collect();
        numbers.insert(if edge.is_low() { 0 } else { numbers.len() }, edge.next());
        numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(",")
    }

    /// Returns the end of the horizontal axis at which a curve has its best point, if the axis has numbers.
    pub fn edge_of(&self, curve: &GridCurve) -> Option<RangeEdge> {
        let tried =
            |(index, point): (usize, &Option<GridMean>)| point.is_some().then(|| self.ticks[index].1.parse().ok())?;
        let numbers: Vec<f64> = curve.points.iter().enumerate().filter_map(tried).collect();
        RangeEdge::of(self.ticks[curve.best?].1.parse().ok()?, numbers)
    }
}

/// Lists the settings that vary among runs, the optimizer first. A hyperparameter that only the optimizer decides is none.
fn varied(runs: &[&RunFacts], columns: &Columns) -> Vec<Column> {
    let by_optimizer = grouped(runs, (0..runs.len()).collect(), &[OPTIMIZER.to_owned()]);
    let differs = |column: &Column| {
        let of = |index: &usize| column.of(runs[*index]);
        by_optimizer.iter().any(|group| group.iter().any(|index| of(index) != of(&group[0])))
    };
    let is_axis = |column: &&Column| {
        column.is_setting && column.is_usual && !NO_AXES.contains(&column.field.as_str()) && differs(column)
    };
    let optimizer = columns.get(OPTIMIZER).filter(|_| by_optimizer.len() > 1).into_iter();
    optimizer.chain(columns.iter().filter(is_axis)).cloned().collect()
}

/// Returns the column of the last value of the loss by which runs are judged.
fn result(runs: &[&RunFacts], columns: &Columns) -> Result<Column, String> {
    let judged =
        runs.iter().find_map(|run| run.metrics().iter().find(|info| is_held_out(info)).or(run.training_loss()));
    let judged = judged.ok_or("no training of the grid has finished yet")?;
    let column = columns.get(&last_of(judged)).ok_or("no training of the grid was evaluated")?;
    Ok(Column { title: lower_first(&judged.title), better: judged.better, ..column.clone() })
}

/// Returns the column of the horizontal axis, and of the setting of which the best is shown.
fn chosen(axes: &GridAxes, columns: &Columns, varied: &[Column]) -> Result<(Column, Option<Column>), String> {
    let named = |field: &String| {
        let column = columns.find(field)?;
        let known = varied.iter().find(|it| it.field == column.field).cloned();
        let all = || varied.iter().map(|it| it.field.clone()).collect::<Vec<_>>().join(", ");
        known.ok_or_else(|| format!("expected a setting that varies in the grid, one of {}, found {field}", all()))
    };
    let best_over = axes.best_over.as_ref().map(named).transpose()?;
    let tuned = varied.iter().find(|it| it.field == TUNED && Some(*it) != best_over.as_ref());
    let others: Vec<&Column> =
        varied.iter().filter(|it| it.field != TUNED && Some(*it) != best_over.as_ref()).collect();
    let usual = || {
        let mut numbers = others.iter().copied().filter(|it| it.format.is_number() && it.is_setting);
        let of_training = numbers.clone().find(|it| !it.field.starts_with("optimizer."));
        of_training.or(tuned).or_else(|| numbers.next()).or(others.first().copied())
    };
    let x = match &axes.x {
        Some(field) => named(field)?,
        None => usual().cloned().ok_or("no setting varies among the trainings, so there is nothing to compare")?,
    };
    if best_over.as_ref() == Some(&x) {
        return Err(format!("expected two settings, found {} for both axes", x.field));
    }
    let best_over = best_over.or_else(|| tuned.filter(|it| **it != x).cloned());
    Ok((x, best_over))
}

/// Formats a value of an axis with at most four digits.
pub(crate) fn short_text(column: &Column, value: &Value) -> String {
    match value {
        Value::Number(number) => number_text(*number),
        value => column.format.text(value).into_owned(),
    }
}

/// Lists distinct values in their order, and places them on an axis.
pub(crate) fn positions_of<'v>(all: impl Iterator<Item = &'v Value>) -> (Vec<Value>, Vec<f64>) {
    let mut values: Vec<Value> = Vec::new();
    for value in all {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    values.sort_by(|a, b| Value::order(Some(a), Some(b), false));
    let positions = positions(&values);
    (values, positions)
}

/// Places values on an axis, one unit apart on average: by their logarithms if the largest is at least ten times the
/// smallest, and texts side by side.
fn positions(values: &[Value]) -> Vec<f64> {
    let numbers: Option<Vec<f64>> = values.iter().map(Value::number).collect();
    let Some(mut numbers) = numbers.filter(|numbers| numbers.len() > 1) else {
        return (0..values.len()).map(|index| index as f64).collect();
    };
    if numbers[0] > 0.0 && numbers[numbers.len() - 1] >= 10.0 * numbers[0] {
        numbers.iter_mut().for_each(|number| *number = number.ln());
    }
    let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
    let unit = (last - first) / (numbers.len() - 1) as f64;
    numbers.iter().map(|number| (number - first) / unit).collect()
}

fn curves(
    runs: &[&RunFacts],
    groups: &[Group],
    by: &[Column],
    x: &Column,
    values: &[Value],
    best_over: Option<&Column>,
    result: &Column,
) -> Vec<GridCurve> {
    let mut curves: Vec<GridCurve> = Vec::new();
    for group in groups {
        let first = runs[group.shown[0]];
        let others = by.iter().filter(|column| *column != x && column.of(first).is_some());
        let mut name = others.map(|column| column.named(first, None)).collect::<Vec<_>>().join(", ");
        // A single curve has the name of its optimizer, unless that varies along it. On an axis of optimizers, each has a
        // curve of its own.
        let is_of_one = best_over.is_none_or(|column| column.field != OPTIMIZER);
        let optimizer = first.text(OPTIMIZER).filter(|_| is_of_one);
        let own = optimizer.as_deref().unwrap_or("all runs");
        if name.is_empty() {
            name = own.to_owned();
        } else if x.field == OPTIMIZER {
            name = format!("{own}, {name}");
        }
        let Some(tick) = x.of(first).and_then(|value| values.iter().position(|other| other == value)) else { continue };
        let index = curves.iter().position(|curve| curve.name == name).unwrap_or_else(|| {
            let rule = optimizer.as_ref().and_then(|name| RuleKind::shown_as(name.split(',').next().unwrap_or(name)));
            let marker = rule.map_or(Marker::filled(MarkerShape::Star), |rule| rule.info().marker);
            let points = vec![None; values.len()];
            curves.push(GridCurve { name, rule, color: [150; 3], marker, points, best: None });
            curves.len() - 1
        });
        let best = best_over.and_then(|column| Some(short_text(column, column.of(first)?))).unwrap_or_default();
        let mean = GridMean::of(runs, &group.shown, result);
        curves[index].points[tick] = mean.map(|mean| GridMean { best, edge: group.edge(), ..mean });
    }
    let colors = assigned_colors(curves.iter().map(|it| (None, it.rule.map_or([150; 3], |rule| rule.info().color))));
    let of_curves = markers(curves.iter().map(|curve| curve.marker));
    for ((curve, color), marker) in curves.iter_mut().zip(colors).zip(of_curves) {
        let sign = if result.better == Better::Higher { -1.0 } else { 1.0 };
        let known =
            curve.points.iter().enumerate().filter_map(|(index, point)| Some((index, sign * point.as_ref()?.mean)));
        let best = known.filter(|(_, mean)| mean.is_finite()).min_by(|a, b| a.1.total_cmp(&b.1));
        (curve.color, curve.marker, curve.best) = (color, marker, best.map(|(index, _)| index));
    }
    curves
}

fn rows(runs: &[&RunFacts], varied: &[Column], result: &Column) -> Vec<(Vec<Option<Value>>, GridMean)> {
    let fields: Vec<String> = varied.iter().map(|column| column.field.clone()).collect();
    let row = |group: Vec<usize>| {
        let values = varied.iter().map(|column| column.of(runs[group[0]]).cloned()).collect();
        Some((values, GridMean::of(runs, &group, result)?))
    };
    let mut rows: Vec<_> = grouped(runs, (0..runs.len()).collect(), &fields).into_iter().filter_map(row).collect();
    let order = |a: &Option<Value>, b: &Option<Value>| Value::order(a.as_ref(), b.as_ref(), false);
    rows.sort_by(|(a, _): &(Vec<Option<Value>>, GridMean), (b, _)| {
        let mut orders = a.iter().zip(b).map(|(a, b)| order(a, b));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    rows
}
