//! Statistics of an optimizer's step, from a sample of the parameters.

use tch::Tensor;
use valleyscope_engine::optimizer::{BiasCorrection, Numbers, Observation, ObservedStatistic, Rule, RuleSpec};
use valleyscope_engine::with_rule;
use valleyscope_runs::{MetricId, MetricInfo, MetricScale, MetricValues, Unit};

use super::error::TrainError;
use super::layout::ParameterLayout;
use super::optimizer::FlatOptimizer;

/// The quantiles of a rule's observed quantity that are logged, and their suffixes in the metrics' names.
const QUANTILES: [(f64, &str); 3] = [(0.1, "q10"), (0.5, "q50"), (0.9, "q90")];

/// The number of sampled parameters of a layer.
const SAMPLED: usize = 4096;
/// The largest number of sampled layers; the first ones are sampled.
const MOST_LAYERS: usize = 128;

/// A sample of a model's parameters, evenly spread over each layer.
pub struct Probe {
    layers: Vec<Layer>,
    /// The number of elements of the flat tensor.
    length: usize,
    /// The indices of the sampled elements in the flat tensor, `[sampled]`, layer after layer.
    indices: Tensor,
    before: Option<Tensor>,
}

struct Layer {
    /// The metric of the size of an update relative to the parameters, ‖Δθ‖ / ‖θ‖.
    metric: Option<MetricId>,
    name: String,
    /// The number of sampled elements of the layer.
    count: usize,
}

impl Probe {
    /// Creates a probe of the only model of a layout, with flat tensors like `parameters`.
    pub fn new(layout: &ParameterLayout, parameters: &Tensor) -> Result<Probe, TrainError> {
        let mut ranges: Vec<(&str, Vec<std::ops::Range<usize>>)> = Vec::new();
        for (index, segment) in layout.segments().iter().enumerate() {
            let name = layer_name(&segment.name);
            match ranges.last_mut() {
                Some((last, ranges)) if *last == name => ranges.push(layout.range(index, 0)),
                _ => ranges.push((name, vec![layout.range(index, 0)])),
            }
        }
        let mut indices: Vec<i64> = Vec::new();
        let layers = ranges.into_iter().take(MOST_LAYERS).map(|(name, ranges)| {
            let size: usize = ranges.iter().map(ExactSizeIterator::len).sum();
            let sampled = ranges.into_iter().flatten().step_by(size.div_ceil(SAMPLED).max(1));
            let known = indices.len();
            indices.extend(sampled.map(|index| index as i64));
            let metric = MetricId::named(&format!("update_ratio.{name}"));
            Layer { metric, name: name.to_owned(), count: indices.len() - known }
        });
        let layers = layers.collect();
        let indices = Tensor::f_from_slice(&indices)?.f_to_device(parameters.device())?;
        Ok(Probe { layers, length: layout.length(), indices, before: None })
    }

    pub fn metrics(&self, optimizer: &FlatOptimizer) -> Vec<MetricInfo> {
        let mut metrics = Vec::new();
        let rule = optimizer.rule();
        if let Some(Observation { title, statistic, .. }) = self.observation(optimizer) {
            metrics.extend(observed_metrics(rule).into_iter().zip(QUANTILES).map(
                |(metric, (share, _))| match statistic {
                    ObservedStatistic::Mean => metric.described(title, Unit::Fraction),
                    ObservedStatistic::Quantiles => {
                        metric.described(format!("{title}, {:.0} % quantile", 100.0 * share), Unit::Plain)
                    }
                },
            ));
        }
        let named = self.layers.iter().filter_map(|layer| Some((layer.metric?, &layer.name)));
        metrics.extend(named.map(|(metric, name)| {
            // Ratios are small numbers.
            MetricInfo { scale: MetricScale::Log, ..metric.described(format!("Update ratio, {name}"), Unit::Exact) }
        }));
        metrics
    }

    /// Collects the observation of the sampled parameters' states. `None` if a rule has nothing to observe, if its
    /// states have other shapes than the parameters (statistics of axes), and if other processes store some of them.
    fn observation(&self, optimizer: &FlatOptimizer) -> Option<Observation> {
        let is_flat = |(_, state): (String, &Tensor)| state.size() == [self.length as i64];
        optimizer.rule().info().observed.filter(|_| optimizer.states().all(is_flat))
    }

    /// Stores the parameters before a step.
    pub fn begin(&mut self, parameters: &Tensor) -> Result<(), TrainError> {
        self.before = Some(self.sample(parameters)?);
        Ok(())
    }

    /// Computes the metrics of the step since [`Probe::begin`]; none if there was no step. Blocks on the device.
    pub fn end(&mut self, parameters: &Tensor, optimizer: &FlatOptimizer) -> Result<MetricValues, TrainError> {
        let Some(before) = self.before.take() else { return Ok(MetricValues::default()) };
        let numbers =
            |sample: &Tensor| Ok::<_, TrainError>(Vec::<f64>::try_from(sample.f_to_kind(tch::Kind::Double)?)?);
        let (before, after) = (numbers(&before)?, numbers(&self.sample(parameters)?)?);
        let mut metrics = MetricValues::default();
        if self.observation(optimizer).is_some() {
            let states = optimizer.states().map(|(_, flat)| numbers(&self.sample(flat)?));
            let states = states.collect::<Result<Vec<_>, _>>()?;
            metrics = observed(optimizer.rule(), optimizer.bias(), &before, &states);
        }
        let mut at = 0;
        for Layer { metric, count, .. } in &self.layers {
            let (before, after) = (&before[at..at + count], &after[at..at + count]);
            let square = |sum: f64, x: f64| sum + x * x;
            let moved = before.iter().zip(after).map(|(before, after)| after - before).fold(0.0, square);
            let size = before.iter().copied().fold(0.0, square);
            if let Some(metric) = metric.filter(|_| size > 0.0) {
                metrics.set(metric, (moved / size).sqrt());
            }
            at += count;
        }
        Ok(metrics)
    }

    fn sample(&self, flat: &Tensor) -> Result<Tensor, TrainError> {
        Ok(flat.f_index_select(0, &self.indices)?)
    }
}

/// The layer of a parameter tensor: its name up to the number, as in `transformer.h.3`, or without its last part.
fn layer_name(segment: &str) -> &str {
    let mut end = 0;
    for word in segment.split('.') {
        end += word.len();
        if word.parse::<u32>().is_ok() {
            return &segment[..end];
        }
        end += 1;
    }
    segment.rsplit_once('.').map_or(segment, |(layer, _)| layer)
}

/// The metrics of a rule's observed quantity: one, or one for each quantile.
fn observed_metrics(rule: &RuleSpec) -> Vec<MetricId> {
    match rule.info().observed {
        None => Vec::new(),
        Some(Observation { metric, statistic: ObservedStatistic::Mean, .. }) => vec![MetricId::of(metric)],
        Some(Observation { metric, statistic: ObservedStatistic::Quantiles, .. }) => {
            QUANTILES.iter().filter_map(|(_, name)| MetricId::named(&format!("{metric}_{name}"))).collect()
        }
    }
}

/// Computes the observed quantity of a rule from the parameters before a step and its states after the step.
fn observed(rule: &RuleSpec, bias: &BiasCorrection, theta: &[f64], states: &[Vec<f64>]) -> MetricValues {
    let Some(Observation { statistic, .. }) = rule.info().observed else { return MetricValues::default() };
    let mut values: Vec<f64> = with_rule!(rule.kind(), R => {
        let settings = bias.settings::<R>(rule);
        let value = |(index, theta): (usize, &f64)| {
            R::observed(&settings, *theta, Numbers::from_fn(|of| states[of][index]))
        };
        theta.iter().enumerate().map(value).collect()
    });
    let metrics = observed_metrics(rule).into_iter();
    match statistic {
        ObservedStatistic::Mean => {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            metrics.map(|metric| (metric, mean)).collect()
        }
        ObservedStatistic::Quantiles => {
            values.sort_by(f64::total_cmp);
            let last = values.len().saturating_sub(1) as f64;
            metrics
                .zip(QUANTILES)
                .map(|(metric, (share, _))| (metric, values[(share * last).round() as usize]))
                .collect()
        }
    }
}
