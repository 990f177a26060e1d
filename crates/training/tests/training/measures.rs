//! Measures of gradients: against their definition, computed plainly in double precision; and trainings are the same
//! with them and without.

use tch::{Device, Kind, Tensor};
use valleyscope_engine::quantity::{BatchSize, MeasureInterval, TrainingSteps};
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::dataset::text::{Corpus, Split, TextSources, obtain};
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::{FloatType, Gpt2Precision, Gpt2Spec, MnistSpec};
use valleyscope_runs::{Measure, MetricId, MetricValues, RunFolder};
use valleyscope_training::gpt2::{Gpt2, Gpt2Run};
use valleyscope_training::mnist::{BatchSampler, Images, Mlp, MnistRun};
use valleyscope_training::{ParameterLayout, Training};

use crate::mnist::numbers;
use crate::ranks::together;
use crate::stage::{Stage, curve, history, kill_at, mnist, quick, spec, tensors, tiny, to_the_end};

const ALL: [MetricId; 7] = [
    Measure::NOISE,
    Measure::NOISE_SCALE,
    Measure::SIGNAL,
    Measure::NOISE_SHARE,
    Measure::OSCILLATION,
    Measure::EXPONENT,
    Measure::EFFECTIVE_STEP,
];

fn interval(every: u64) -> MeasureInterval {
    MeasureInterval::new(every).unwrap()
}

/// Returns the elements of the tensors, one after another without gaps.
fn elements(layout: &ParameterLayout, flat: &Tensor) -> Vec<f64> {
    (0..layout.segments().len()).flat_map(|index| numbers(&layout.view(flat, index))).collect()
}

/// A step as the definition uses it.
struct Step {
    gradient: Vec<f64>,
    /// The mean gradients of the parts; empty if the step is not measured.
    parts: Vec<Vec<f64>>,
    theta: [Vec<f64>; 2],
    samples: f64,
    eta: f64,
    omega: f64,
}

/// The definition of the measures.
struct Plain {
    every: u64,
    /// The range, the name and the decay of each tensor.
    tensors: Vec<(std::ops::Range<usize>, String, bool)>,
    m: Vec<f64>,
    v: Vec<f64>,
    n: i32,
    averages: Vec<[f64; 4]>,
    bins: Vec<[f64; 2]>,
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

impl Plain {
    fn new(every: u64, layout: &ParameterLayout) -> Plain {
        let mut end = 0;
        let tensors = layout.segments().iter().map(|segment| {
            end += segment.size();
            (end - segment.size()..end, segment.name.clone(), segment.decays)
        });
        let tensors: Vec<_> = tensors.collect();
        let count = tensors.len();
        Plain {
            every,
            tensors,
            m: vec![0.0; end],
            v: vec![0.0; count],
            n: 0,
            averages: vec![[0.0; 4]; count],
            bins: vec![[0.0; 2]; 16],
        }
    }

    fn step(&mut self, t: u64, step: &Step) -> Option<Measure> {
        let (k, at) = (self.every, (t - 1) % self.every);
        if k > 32 && at < k - 32 {
            return None;
        }
        if k > 32 && at == k - 32 {
            self.m.fill(0.0);
            self.v.fill(0.0);
            self.n = 0;
        }
        let (before, had_steps) = (self.m.clone(), self.n > 0);
        self.m.iter_mut().zip(&step.gradient).for_each(|(m, g)| *m = 0.9 * *m + 0.1 * g);
        for ((range, ..), v) in self.tensors.iter().zip(&mut self.v) {
            *v = 0.99 * *v + 0.01 * squares(&step.gradient[range.clone()]);
        }
        self.n += 1;
        t.is_multiple_of(k).then(|| self.measure(step, had_steps.then_some(before)))
    }

    fn measure(&mut self, step: &Step, before: Option<Vec<f64>>) -> Measure {
        let (count, length) = (step.parts.len() as f64, self.m.len());
        let mean = |i: usize| step.parts.iter().map(|part| part[i]).sum::<f64>() / count;
        let means: Vec<f64> = (0..length).map(mean).collect();
        let variance = |i: usize| {
            step.parts.iter().map(|part| (part[i] - means[i]).powi(2)).sum::<f64>() / (count * (count - 1.0))
        };
        let variances: Vec<f64> = (0..length).map(variance).collect();
        let (b1, b2) = (0.9_f64.powi(self.n), 0.99_f64.powi(self.n));
        let kappa = 0.1 / 1.9 * (1.0 + b1) / (1.0 - b1);
        for (((range, ..), v), averages) in self.tensors.iter().zip(&self.v).zip(&mut self.averages) {
            let factor = squares(&step.gradient[range.clone()]) / squares(&means[range.clone()]);
            let s = factor * variances[range.clone()].iter().sum::<f64>();
            let g2 = factor * squares(&means[range.clone()]) - s;
            let m = squares(&self.m[range.clone()]) / (1.0 - b1).powi(2);
            for (average, now) in averages.iter_mut().zip([s, g2, m, v / (1.0 - b2)]) {
                *average = 0.9 * *average + 0.1 * now;
            }
        }
        let sampled: Vec<usize> = (0..length).step_by(length.div_ceil(16384)).collect();
        if let Some(before) = before {
            let factor = squares(&step.gradient) / squares(&means);
            let mut order = sampled.clone();
            order.sort_by(|a, b| before[*a].abs().total_cmp(&before[*b].abs()));
            for (bin, average) in self.bins.iter_mut().enumerate() {
                let of_bin = &order[bin * order.len() / 16..(bin + 1) * order.len() / 16];
                let s = factor * of_bin.iter().map(|i| variances[*i]).sum::<f64>();
                let g2 = factor * of_bin.iter().map(|i| means[*i].powi(2) - variances[*i]).sum::<f64>();
                *average = [0.9 * average[0] + 0.1 * s, 0.9 * average[1] + 0.1 * g2];
            }
        }
        let decay = |i: usize| self.tensors.iter().any(|(range, _, decays)| range.contains(&i) && *decays);
        let moved = |i: &usize| {
            let omega = if decay(*i) { step.omega } else { 0.0 };
            (step.theta[1][*i] - step.theta[0][*i] + step.eta * omega * step.theta[0][*i]).abs() / step.eta
        };
        let all = self.averages.iter().fold([0.0; 4], |sum, tensor| std::array::from_fn(|of| sum[of] + tensor[of]));
        let mut metrics = shares(all, kappa);
        if all[1] > 0.0 {
            metrics.set(Measure::NOISE_SCALE, step.samples * all[0] / all[1]);
        }
        self.slope().into_iter().for_each(|slope| metrics.set(Measure::EXPONENT, slope));
        metrics.set(Measure::EFFECTIVE_STEP, sampled.iter().map(moved).sum::<f64>() / sampled.len() as f64);
        let tensors = self.tensors.iter().zip(&self.averages);
        Measure {
            metrics,
            tensors: tensors.map(|((_, name, _), averages)| (name.clone(), shares(*averages, kappa))).collect(),
        }
    }

    fn slope(&self) -> Option<f64> {
        let points = self.bins.iter().filter(|[s, g2]| *s > 0.0 && *g2 > 0.0).map(|[s, g2]| (g2.ln(), s.ln()));
        let points: Vec<(f64, f64)> = points.collect();
        let n = points.len() as f64;
        let sum = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
        let (x, y, xy, xx) = (sum(|it| it.0), sum(|it| it.1), sum(|it| it.0 * it.1), sum(|it| it.0 * it.0));
        (points.len() >= 3).then(|| (n * xy - x * y) / (n * xx - x * x))
    }
}

fn shares([s, g2, m2, v]: [f64; 4], kappa: f64) -> MetricValues {
    let mut metrics = MetricValues::default();
    if g2 > 0.0 {
        metrics.set(Measure::NOISE, (s / g2).sqrt());
    }
    if v > 0.0 {
        let noise = s / (s + g2);
        let signal = m2 / v - kappa * noise;
        metrics.set(Measure::SIGNAL, signal);
        metrics.set(Measure::NOISE_SHARE, noise);
        metrics.set(Measure::OSCILLATION, 1.0 - signal - noise);
    }
    metrics
}

#[track_caller]
fn assert_equal(about: &str, found: &MetricValues, expected: &MetricValues, within: f64) {
    for metric in ALL {
        match (found.get(metric), expected.get(metric)) {
            (Some(found), Some(expected)) => {
                let off = (found - expected).abs() / expected.abs().max(1e-3);
                assert!(off <= within, "{about}, {metric}: {found} where {expected} is right");
            }
            (found, expected) => assert_eq!(found, expected, "{about}, {metric}"),
        }
    }
}

#[track_caller]
fn compare(step: u64, found: Option<Measure>, expected: Option<Measure>) -> usize {
    assert_eq!(found.is_some(), expected.is_some(), "step {step}");
    let Some((found, expected)) = found.zip(expected) else { return 0 };
    assert_equal(&format!("step {step}"), &found.metrics, &expected.metrics, 1e-6);
    assert_eq!(found.tensors.len(), expected.tensors.len());
    for ((name, found), (expected_name, expected)) in found.tensors.iter().zip(&expected.tensors) {
        assert_eq!(name, expected_name);
        assert_equal(&format!("step {step}, {name}"), found, expected, 1e-6);
    }
    found.metrics.iter().count()
}

/// Trains MNIST in double precision, and measures it plainly from gradients at the same parameters.
fn check_mnist(rule: &str, every: u64, steps: u64, batch: u64) {
    let (data, precision) = (mnist(), FloatType::Float64);
    let (measure_every, batch_size) = (interval(every), BatchSize::new(batch).unwrap());
    let spec = MnistSpec { precision, measure_every, batch_size, ..spec(rule) };
    let mut run = MnistRun::new(&spec, &data, Device::Cpu).unwrap();
    run.start().unwrap();
    let mut model = Mlp::new(1, Kind::Double, Device::Cpu).unwrap();
    let layout = model.layout().clone();
    let images = Images::new(&data.train.images, &data.train.labels, Kind::Double, Device::Cpu).unwrap();
    let mut order = BatchSampler::new(Key::new(spec.seed).at(1).at(0).at(0), 1000, batch as u32);
    let mut plain = Plain::new(every, &layout);
    let mut measured = 0;
    for t in 1..=steps {
        model.parameters().shallow_clone().copy_(run.mlp.parameters());
        let all = order.batch(t - 1).to_vec();
        let mut gradient = |indices: &[u32]| {
            let _ = model.differentiate(images.batch(indices, 1, Kind::Double).unwrap()).unwrap();
            elements(&layout, model.gradients())
        };
        let half = all.len() / 2;
        let parts = [&all[..half], &all[half..2 * half]];
        let parts = if t % every == 0 { parts.map(&mut gradient).to_vec() } else { Vec::new() };
        let gradient = gradient(&all);
        let before = elements(&layout, run.mlp.parameters());
        let _ = run.advance(&mut || Ok(())).unwrap();
        let theta = [before, elements(&layout, run.mlp.parameters())];
        let (eta, omega) = (spec.learning_rate.get(), spec.optimizer.weight_decay());
        let step = Step { gradient, parts, theta, samples: all.len() as f64, eta, omega };
        measured += compare(t, run.measured(), plain.step(t, &step));
    }
    let least = 5 * (steps / every) as usize;
    assert!(measured >= least, "{measured} metrics, at least {least} were expected");
}

#[test]
fn measures_of_mnist_follow_their_definition() {
    // The averages go on, and the last batch of an epoch of 1000 images is smaller.
    check_mnist("Adam", 4, 24, 48);
    // The averages begin anew 32 steps before each measured step; an odd batch.
    check_mnist("FOCUS", 40, 80, 15);
}

fn corpus(spec: &Gpt2Spec) -> Corpus {
    let sources = TextSources::of_this_machine();
    obtain(&DataChoice::Synthetic, spec.wanted(), &sources, &mut |_: &str| (), &|| false).unwrap().0
}

fn gpt2_spec(stage: &Stage, settings: &[(&str, &str)]) -> Gpt2Spec {
    let text = std::fs::read_to_string(tiny(stage, settings).config()).unwrap();
    let Preset::Gpt2(preset) = Preset::parse(&text, "config").unwrap() else { panic!("it is of GPT-2") };
    preset.runs[0].clone()
}

/// Trains GPT-2 in double precision, and measures it plainly from gradients at the same parameters.
fn check_gpt2(settings: &[(&str, &str)], every: u64, steps: u64) {
    let stage = Stage::new();
    let spec = gpt2_spec(&stage, settings);
    let spec = Gpt2Spec { precision: Gpt2Precision::Float64, measure_every: interval(every), ..spec };
    let mut run = Gpt2Run::new(&spec, corpus(&spec), Device::Cpu).unwrap();
    run.start().unwrap();
    let corpus = corpus(&spec);
    let mut model = Gpt2::new(spec.shape, Gpt2Precision::Float64, spec.attention, Device::Cpu).unwrap();
    let layout = model.layout().clone();
    let offsets = corpus.offsets(Split::Train, Key::new(spec.seed).at(1));
    let (size, accumulation) = (spec.batch_size.get(), spec.accumulation.get());
    let mut plain = Plain::new(every, &layout);
    let mut measured = 0;
    for t in 1..=steps {
        model.parameters().shallow_clone().copy_(run.optimized().0);
        let mut gradient = |offsets: &[u64]| {
            let sequences = corpus.sequences(Split::Train, offsets).unwrap();
            let tensor = |tokens: &[u16]| {
                let tokens: Vec<i64> = tokens.iter().map(|&token| i64::from(token)).collect();
                Tensor::from_slice(&tokens).view([offsets.len() as i64, -1])
            };
            model.forget_gradients().unwrap();
            let (tokens, targets) = (tensor(&sequences.inputs), tensor(&sequences.targets));
            let _ = model.differentiate(&tokens, &targets, 1.0, 1.0, &mut || Ok(())).unwrap();
            elements(&layout, model.gradients())
        };
        let batches: Vec<Vec<u64>> = (0..accumulation).map(|of| offsets.batch(t - 1, of as u64, size)).collect();
        let mut parts: Vec<Vec<f64>> = batches.iter().map(|batch| gradient(batch)).collect();
        let mut whole = vec![0.0; parts[0].len()];
        for part in &parts {
            whole.iter_mut().zip(part).for_each(|(sum, part)| *sum += part / accumulation as f64);
        }
        if accumulation == 1 {
            let half = size / 2;
            parts = vec![gradient(&batches[0][..half]), gradient(&batches[0][half..2 * half])];
        }
        let factor = spec.clip.map_or(1.0, |most| (most.get() / (squares(&whole).sqrt() + 1e-6)).min(1.0));
        parts.iter_mut().flatten().chain(&mut whole).for_each(|value| *value *= factor);
        let before = elements(&layout, run.optimized().0);
        let _ = run.advance(&mut || Ok(())).unwrap();
        let theta = [before, elements(&layout, run.optimized().0)];
        let eta = spec.schedule.learning_rate(spec.learning_rate.get(), t - 1, spec.steps.get() as u64);
        let (samples, omega) = ((size * accumulation) as f64, spec.optimizer.weight_decay());
        let step = Step { gradient: whole, parts, theta, samples, eta, omega };
        measured += compare(t, run.measured(), plain.step(t, &step));
    }
    assert!(measured >= 5 * (steps / every) as usize, "{measured} metrics");
}

#[test]
fn measures_of_gpt2_follow_their_definition() {
    check_gpt2(&[("accumulation", "3"), ("batch_size", "2"), ("clip", "0.5")], 3, 9);
    check_gpt2(&[("accumulation", "1"), ("batch_size", "5"), ("clip", "0.5")], 3, 9);
    check_gpt2(&[("accumulation", "2"), ("batch_size", "1"), ("clip", "None")], 34, 34);
}

#[test]
fn a_batch_of_one_sequence_is_not_measured() {
    let stage = Stage::new();
    let spec = gpt2_spec(&stage, &[("accumulation", "1"), ("batch_size", "1")]);
    let spec = Gpt2Spec { measure_every: interval(1), ..spec };
    let mut run = Gpt2Run::new(&spec, corpus(&spec), Device::Cpu).unwrap();
    run.start().unwrap();
    for _ in 0..3 {
        let _ = run.advance(&mut || Ok(())).unwrap();
        assert_eq!(run.measured(), None);
    }
}

/// Returns the curves of all metrics that depend on the training only, as bits.
fn learned(run: &RunFolder) -> Vec<(String, Vec<u64>)> {
    let history = history(run);
    let is_learned = |name: &str| {
        let measured = [MetricId::SAMPLES_PER_S, MetricId::TOKENS_PER_S].map(MetricId::name);
        !measured.contains(&name) && !["memory", "tflops", "mfu"].iter().any(|of| name.contains(of))
    };
    let metrics = history.metrics().into_iter().filter(|info| is_learned(&info.name));
    let metrics = metrics.filter(|info| ALL.iter().all(|of| of.name() != info.name));
    let bits = |name: &str| {
        let curve = history.curve(MetricId::named(name).unwrap());
        curve.value.iter().map(|value| value.to_bits()).collect()
    };
    metrics.map(|info| (info.name.clone(), bits(&info.name))).collect()
}

#[track_caller]
fn assert_learns_the_same(about: &str, steps: u64, [with, without]: [RunFolder; 2]) {
    for run in [&with, &without] {
        let output = to_the_end(run, false);
        assert!(output.status.success(), "{about}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(curve(&with), curve(&without), "{about}");
    assert_eq!(learned(&with), learned(&without), "{about}");
    assert!(tensors(&with, steps) == tensors(&without, steps), "{about}: the checkpoints differ");
    let (with, without) = (history(&with), history(&without));
    assert!(with.latest(Measure::NOISE_SHARE).is_some() && with.tensors().is_some(), "{about}: nothing was measured");
    assert!(without.latest(Measure::NOISE_SHARE).is_none() && without.tensors().is_none(), "{about}: it was measured");
}

#[test]
fn mnist_learns_the_same_with_measures_and_without() {
    for (rule, precision, every) in [
        ("FOCUS", FloatType::Float32, 1),
        ("Adam", FloatType::Float64, 3),
        ("Schedule-Free", FloatType::Float32, 2),
        ("Sophia", FloatType::Float32, 7),
    ] {
        let stage = Stage::new();
        let steps = TrainingSteps::new(40).unwrap();
        let run = |every| {
            let rule = valleyscope_engine::optimizer::RuleKind::ALL.iter().find(|kind| kind.info().name == rule);
            let optimizer = valleyscope_engine::optimizer::RuleSpec::in_training(*rule.unwrap());
            stage.run(MnistSpec { optimizer, precision, steps, measure_every: interval(every), ..quick(40) })
        };
        assert_learns_the_same(rule, 40, [run(every), run(0)]);
    }
}

#[test]
fn gpt2_learns_the_same_with_measures_and_without() {
    for settings in [
        &[("accumulation", "1"), ("measure_every", "3")][..],
        &[("accumulation", "3"), ("measure_every", "4"), ("clip", "0.5")],
        &[("accumulation", "2"), ("measure_every", "2"), ("precision", "Float16")],
        &[("accumulation", "1"), ("measure_every", "2"), ("precision", "Float16")],
        &[("accumulation", "1"), ("measure_every", "5"), ("optimizer", "ScheduleFree")],
    ] {
        let stage = Stage::new();
        let usual = [("steps", "20"), ("log_every", "1")];
        let never = [("measure_every", "0")];
        let runs = [&[&usual[..], settings].concat()[..], &[&usual[..], settings, &never].concat()];
        assert_learns_the_same(&format!("{settings:?}"), 20, runs.map(|settings| tiny(&stage, settings)));
    }
}

#[test]
fn ranks_measure_like_one_process_with_the_same_parts() {
    let stage = Stage::new();
    let settings = [
        ("steps", "20"),
        ("precision", "Float64"),
        ("batch_size", "3"),
        ("accumulation", "2"),
        ("measure_every", "5"),
        ("clip", "0.5"),
    ];
    let runs = [1, 2].map(|processes| {
        let run = tiny(&stage, &settings);
        let output = together(&run, false, processes).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        history(&run)
    });
    let [alone, ranks] = &runs;
    for metric in ALL {
        let (expected, found) = (alone.curve(metric), ranks.curve(metric));
        assert_eq!(expected.step, found.step, "{metric}");
        for (found, expected) in found.value.iter().zip(expected.value) {
            assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1e-3), "{metric}: {found}, {expected}");
        }
    }
    assert!(alone.latest(Measure::NOISE).is_some() && alone.latest(Measure::OSCILLATION).is_some());
}

#[test]
fn ranks_measure_mnist() {
    let stage = Stage::new();
    let run = stage.run(MnistSpec { measure_every: interval(5), ..quick(20) });
    assert!(together(&run, false, 2).output().unwrap().status.success());
    let history = history(&run);
    assert_eq!(history.curve(Measure::NOISE_SHARE).step, [5, 10, 15, 20]);
    assert!(history.latest(Measure::NOISE_SHARE).is_some_and(|share| share > 0.0 && share < 1.0));
}

#[test]
fn a_resumed_run_measures_anew_and_forgets_void_points() {
    let stage = Stage::new();
    let run = stage.run(MnistSpec { measure_every: interval(3), ..quick(200) });
    kill_at(&run, 16);
    assert!(to_the_end(&run, true).status.success());
    let steps = history(&run).curve(Measure::SIGNAL).step.to_vec();
    assert_eq!(steps, (1..=66).map(|point| 3 * point).collect::<Vec<u64>>());
}
