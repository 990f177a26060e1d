//! What an optimizer does to a model in a step, seen on a sample of the parameters.

use tch::Tensor;

use super::error::TrainError;
use super::layout::Layout;
use super::optimizer::FlatOptimizer;
use crate::optimizer::Clock;
use crate::run::{Better, Metric, MetricInfo, Metrics, Scale, Source, Unit};
use crate::simulation::Configured;

/// Share of the parameters whose pull towards or away from the average, γ sign(θ − θ̂), opposes sign(m).
pub const PULL_OPPOSES: Metric = Metric::of("pull_opposes");
/// Quantiles of |m̂| / √ŝ over the parameters: 1 where gradients agree, 0 where noise outweighs them.
pub const SIGNAL: [(f64, Metric); 3] =
    [(0.1, Metric::of("signal_q10")), (0.5, Metric::of("signal_q50")), (0.9, Metric::of("signal_q90"))];

/// Parameters that are looked at in a layer.
const SAMPLED: usize = 4096;
/// Layers that are looked at, the first ones.
const MOST_LAYERS: usize = 128;

/// A sample of a model's parameters, evenly spread over each layer.
pub struct Probe {
    layers: Vec<Layer>,
    /// Places in the flat tensor, `[sampled]`, layer after layer.
    places: Tensor,
    /// The parameters there before the step.
    before: Option<Tensor>,
}

struct Layer {
    /// Of the size of an update relative to the parameters, ‖Δθ‖ / ‖θ‖.
    metric: Option<Metric>,
    name: String,
    /// Places of its sample.
    count: usize,
}

impl Probe {
    /// For the only model of a layout, with flat tensors like `parameters`.
    pub fn new(layout: &Layout, parameters: &Tensor) -> Result<Probe, TrainError> {
        let mut ranges: Vec<(&str, Vec<std::ops::Range<usize>>)> = Vec::new();
        for (index, segment) in layout.segments().iter().enumerate() {
            let name = layer_name(&segment.name);
            match ranges.last_mut() {
                Some((last, ranges)) if *last == name => ranges.push(layout.range(index, 0)),
                _ => ranges.push((name, vec![layout.range(index, 0)])),
            }
        }
        let mut places: Vec<i64> = Vec::new();
        let layers = ranges.into_iter().take(MOST_LAYERS).map(|(name, ranges)| {
            let size: usize = ranges.iter().map(ExactSizeIterator::len).sum();
            let sampled = ranges.into_iter().flatten().step_by(size.div_ceil(SAMPLED).max(1));
            let known = places.len();
            places.extend(sampled.map(|place| place as i64));
            let metric = Metric::named(&format!("update_ratio.{name}"));
            Layer { metric, name: name.to_owned(), count: places.len() - known }
        });
        let layers = layers.collect();
        let places = Tensor::f_from_slice(&places)?.f_to_device(parameters.device())?;
        Ok(Probe { layers, places, before: None })
    }

    /// What it measures with a rule.
    pub fn metrics(&self, rule: &Configured) -> Vec<MetricInfo> {
        let info = |metric: Metric, title: String, unit, scale| {
            let (better, source) = (Better::Neither, Source::Training);
            MetricInfo { name: metric.name().to_owned(), title, unit, scale, better, source }
        };
        let mut metrics = Vec::new();
        match rule {
            Configured::Adam(_) => metrics.extend(SIGNAL.map(|(share, metric)| {
                let title = format!("|m̂|/√ŝ, {:.0} % quantile", 100.0 * share);
                info(metric, title, Unit::Plain, Scale::Linear)
            })),
            Configured::Focus(_) => {
                metrics.push(info(PULL_OPPOSES, "Pull opposes momentum".to_owned(), Unit::Fraction, Scale::Linear));
            }
            Configured::Signum(_) | Configured::Sgd(_) => {}
        }
        let named = self.layers.iter().filter_map(|layer| Some((layer.metric?, &layer.name)));
        metrics.extend(named.map(|(metric, name)| {
            // Such numbers are small.
            info(metric, format!("Update ratio, {name}"), Unit::Exact, Scale::Log)
        }));
        metrics
    }

    /// Keeps the parameters as they are before a step.
    pub fn begin(&mut self, parameters: &Tensor) -> Result<(), TrainError> {
        self.before = Some(self.sample(parameters)?);
        Ok(())
    }

    /// What the step since [`Probe::begin`] did; nothing where there was none. Waits for the device.
    pub fn end(&mut self, parameters: &Tensor, optimizer: &FlatOptimizer) -> Result<Metrics, TrainError> {
        let Some(before) = self.before.take() else { return Ok(Metrics::default()) };
        let numbers =
            |sample: &Tensor| Ok::<_, TrainError>(Vec::<f64>::try_from(sample.f_to_kind(tch::Kind::Double)?)?);
        let (before, after) = (numbers(&before)?, numbers(&self.sample(parameters)?)?);
        let memory = optimizer.memory().into_iter().map(|(_, flat)| numbers(&self.sample(flat)?));
        let memory = memory.collect::<Result<Vec<_>, _>>()?;
        let mut metrics = of_rule(optimizer.rule(), optimizer.clock(), &before, &memory);
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
        Ok(flat.f_index_select(0, &self.places)?)
    }
}

/// The layer of a parameter tensor: up to the number in its name, as in `transformer.h.3`, or all but its last word.
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

/// What a rule did with parameters `theta` and its memory after the step.
fn of_rule(rule: &Configured, clock: Clock, theta: &[f64], memory: &[Vec<f64>]) -> Metrics {
    match (rule, memory) {
        (Configured::Adam(_), [m, s]) => {
            let unbias = (1.0 - clock.beta2_power).sqrt() / (1.0 - clock.beta1_power);
            let ratio = |(m, s): (&f64, &f64)| if *m == 0.0 { 0.0 } else { unbias * m.abs() / s.sqrt() };
            let mut ratios: Vec<f64> = m.iter().zip(s).map(ratio).collect();
            ratios.sort_by(f64::total_cmp);
            let last = ratios.len().saturating_sub(1) as f64;
            SIGNAL.into_iter().map(|(share, metric)| (metric, ratios[(share * last).round() as usize])).collect()
        }
        (Configured::Focus(focus), [m, average]) => {
            let opposes = |((theta, average), m): ((&f64, &f64), &f64)| focus.gamma * (theta - average) * m < 0.0;
            let count = theta.iter().zip(average).zip(m).filter(|at| opposes(*at)).count();
            [(PULL_OPPOSES, count as f64 / theta.len() as f64)].into()
        }
        _ => Metrics::default(),
    }
}
