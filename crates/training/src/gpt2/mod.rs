//! A training of a GPT-2 with libtorch.

mod model;

use std::path::Path;
use std::sync::Arc;

use tch::{Device, Kind, Tensor};
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::text::{Corpus, Offsets, Split, TextError, TextSource, TextSources, obtain};
use valleyscope_experiments::workload::gpt2::{CLIP_RATE, LOSS_SCALE, MOMENTUM_NORM, PARAM_NORM, SKIPPED};
use valleyscope_experiments::workload::{Gpt2Precision, Gpt2Spec, RunSpec};
use valleyscope_runs::atomic_file::Overwrite;
use valleyscope_runs::{Measure, MetricId, MetricValues, TextRequest, WholeLoss};

use super::group::Group;
use super::measures::{Measures, Parts, Spread};
use super::restore_tensors;
use super::uniforms;
use super::with_parameters;
use super::{
    Check, Differentiable, FlatOptimizer, Labels, NamedTensors, ObtainResult, Obtained, OptimizerProgress,
    ParameterLayout, QueryResults, SavedRun, TrainError, TrainedSpec, Training,
};

pub use model::Gpt2;

/// Purposes of a training's random streams.
mod purpose {
    pub(super) const WEIGHTS: u64 = 0;
    pub(super) const SEQUENCES: u64 = 1;
    pub(super) const SAMPLES: u64 = 2;
    pub(super) const LABELS: u64 = 3;
}

/// The name of the model's parameters among the tensors of a checkpoint.
const PARAMETERS: &str = "parameters";

#[derive(Debug)]
pub struct Gpt2Run {
    spec: Gpt2Spec,
    model: Gpt2,
    optimizer: FlatOptimizer,
    corpus: Corpus,
    sequences: Offsets,
    /// The processes that share each batch.
    group: Arc<Group>,
    step: u64,
    /// The loss scale of float16.
    scale: LossScale,
    /// The gradient norm of the last step, before clipping, on the device.
    gradient_norm: Tensor,
    since: SincePoint,
    /// [`LossScale::to_numbers`] and the steps since the last point, for checkpoints.
    numbers: Tensor,
    measures: Measures,
}

#[derive(Debug)]
struct SincePoint {
    steps: u64,
    /// The number of these steps whose gradient was clipped, on the device.
    clipped: Tensor,
}

fn first_scale(precision: Gpt2Precision) -> LossScale {
    LossScale::new(if precision == Gpt2Precision::Float16 { 65536.0 } else { 1.0 })
}

impl Differentiable for Gpt2Run {
    fn parameters_mut(&mut self) -> &mut Tensor {
        self.model.parameters_mut()
    }

    fn gradients_mut(&mut self) -> &mut Tensor {
        self.model.gradients_mut()
    }
}

impl Gpt2Run {
    /// Creates a training before its first step, whose weights are zero until [`Training::start`] or
    /// [`Training::restore`].
    pub fn new(spec: &Gpt2Spec, corpus: Corpus, device: Device) -> Result<Gpt2Run, TrainError> {
        spec.check_vocabulary(corpus.tokenizer.vocabulary_size()).map_err(TrainError::Refused)?;
        let key = |purpose| Key::new(spec.seed).at(purpose);
        let model = Gpt2::new(spec.shape, spec.precision, spec.attention, device)?;
        let kind = model.parameters().kind();
        let rule = spec.optimizer;
        let optimizer = FlatOptimizer::new(rule, &[spec.learning_rate.get()], model.layout(), kind, device)?;
        let sequences = corpus.offsets(Split::Train, key(purpose::SEQUENCES));
        let zero = || Tensor::f_zeros([], (kind, device));
        let measures = Measures::new(spec.measure_every.get(), model.layout(), model.parameters())?;
        let mut run = Gpt2Run {
            spec: spec.clone(),
            sequences,
            group: Arc::new(Group::alone()),
            step: 0,
            scale: first_scale(spec.precision),
            gradient_norm: zero()?,
            since: SincePoint { steps: 0, clipped: zero()? },
            numbers: Tensor::f_zeros([4], (Kind::Double, Device::Cpu))?,
            model,
            optimizer,
            corpus,
            measures,
        };
        run.note_numbers()?;
        Ok(run)
    }

    /// Makes the inputs and targets of sequences, on the device.
    fn batch(&self, split: Split, offsets: &[u64]) -> Result<[Tensor; 2], TrainError> {
        let sequences =
            self.corpus.sequences(split, offsets).map_err(|error| TrainError::Refused(error.to_string()))?;
        let tensor = |tokens: &[u16]| -> Result<Tensor, TrainError> {
            let tokens: Vec<i64> = tokens.iter().map(|&token| i64::from(token)).collect();
            let shape = [offsets.len() as i64, i64::from(self.spec.shape.context)];
            Ok(Tensor::f_from_slice(&tokens)?.f_view(shape)?.f_to_device(self.model.device())?)
        };
        Ok([tensor(&sequences.inputs)?, tensor(&sequences.targets)?])
    }

    /// Computes the gradients of a step's global batch, and its mean loss.
    ///
    /// Each process computes those of a part of the batch's sequences, a micro-batch or a part of one at a time, and
    /// adds them to `parts`.
    fn differentiate(
        &mut self,
        labels: Labels,
        mut parts: Option<&mut Parts>,
        check: &mut Check<'_>,
    ) -> Result<Tensor, TrainError> {
        let size = self.spec.batch_size.get();
        let all = size * self.spec.accumulation.get();
        let own = self.group.part(all);
        self.model.forget_gradients()?;
        let mut loss = Tensor::f_zeros([1], (self.model.parameters().kind(), self.model.device()))?;
        let mut start = own.start;
        while start < own.end {
            let micro_batch = (start / size) as u64;
            let rows = start % size..size.min(start % size + own.end - start);
            let offsets = self.sequences.batch(self.step, micro_batch, size);
            let [tokens, mut targets] = self.batch(Split::Train, &offsets[rows.clone()])?;
            if labels == Labels::OfModel {
                let key = Key::new(self.spec.seed).at(purpose::LABELS).at(self.step).at(micro_batch);
                let context = self.spec.shape.context as usize;
                let uniforms = uniforms(&[key], size * context, self.model.device())?;
                let of_rows = uniforms.f_narrow(1, (rows.start * context) as i64, (rows.len() * context) as i64)?;
                targets = self.model.drawn_targets(&tokens, &of_rows.f_contiguous()?, check)?;
            }
            let share = rows.len() as f64 / all as f64;
            let before = parts.as_ref().filter(|_| start > own.start).map(|_| self.model.gradients().f_detach_copy());
            let of_rows = self.model.differentiate(&tokens, &targets, share, self.scale.factor, check)?;
            if let Some(parts) = &mut parts {
                let part = before.transpose()?.map(|mut before| before.f_sub_(self.model.gradients())).transpose()?;
                self.measures.add_part(parts, part.as_ref().unwrap_or(self.model.gradients()), share)?;
            }
            let _ = loss.f_add_(&of_rows.f_mul_scalar(share)?)?;
            start += rows.len();
        }
        self.group.sum(self.model.gradients_mut())?;
        self.group.sum(&mut loss)?;
        Ok(loss)
    }

    /// Computes the spread of the gradients of two halves of the only micro-batch's sequences, before clipping.
    fn halves(&mut self, check: &mut Check<'_>) -> Result<Spread, TrainError> {
        let half = self.spec.batch_size.get() / 2;
        let offsets = self.sequences.batch(self.step, 0, 2 * half);
        self.differentiate_at(&offsets[..half], check)?;
        let first = self.model.gradients().f_detach_copy()?;
        self.differentiate_at(&offsets[half..], check)?;
        self.measures.halves(first, self.model.gradients())
    }

    /// Computes the gradients of the mean loss of some sequences, before clipping.
    fn differentiate_at(&mut self, offsets: &[u64], check: &mut Check<'_>) -> Result<(), TrainError> {
        let [tokens, targets] = self.batch(Split::Train, offsets)?;
        self.model.forget_gradients()?;
        self.model.differentiate(&tokens, &targets, 1.0, self.scale.factor, check).map(drop)
    }

    /// Computes the results of the queries of the optimizer's next step. The gradient at other parameters is clipped by
    /// its own norm, like a step's; the curvature is that of the loss and is not clipped.
    fn query_results(&mut self, check: &mut Check<'_>) -> Result<QueryResults, TrainError> {
        let tokens = self.spec.tokens_per_step() as f64;
        let (scale, most) = (self.scale.factor, self.spec.clip.map(|clip| clip.get()));
        QueryResults::compute(self.optimizer.queries(), self, tokens, |run, labels| {
            let _ = run.differentiate(labels, None, check)?;
            let most = most.filter(|_| labels == Labels::OfData);
            run.model.clip(most, scale).map(drop)
        })
    }

    /// Computes the mean loss over the batches of an evaluation, which are always the same. Each process computes some
    /// of them.
    fn evaluate_on(&self, split: Split, check: &mut Check<'_>) -> Result<f64, TrainError> {
        let offsets = self.corpus.evaluation_offsets(split);
        let (batches, size) = (self.spec.eval_batches.get(), self.spec.batch_size.get());
        let mut sum = Tensor::f_zeros([], (Kind::Double, self.model.device()))?;
        for batch in self.group.part(batches) {
            let [tokens, targets] = self.batch(split, &offsets.batch(0, batch as u64, size))?;
            let loss = self.model.loss(&tokens, &targets, check)?;
            let _ = sum.f_add_(&loss.f_to_kind(Kind::Double)?.f_view([0; 0])?)?;
        }
        self.group.sum(&mut sum)?;
        Ok(sum.f_double_value(&[])? / batches as f64)
    }

    fn note_numbers(&mut self) -> Result<(), TrainError> {
        let [factor, good, skipped] = self.scale.to_numbers();
        let numbers = [factor, good, skipped, self.since.steps as f64];
        Ok(self.numbers.f_copy_(&Tensor::f_from_slice(&numbers)?)?)
    }

    fn learning_rate(&self, update: u64) -> f64 {
        let spec = &self.spec;
        spec.schedule.learning_rate(spec.learning_rate.get(), update, spec.steps.get() as u64)
    }
}

impl TrainedSpec for Gpt2Spec {
    type Data = Corpus;
    type Training = Gpt2Run;

    fn obtain(&self, say: &mut dyn FnMut(&str), cancelled: &dyn Fn() -> bool) -> ObtainResult<Corpus> {
        let sources = TextSources::of_this_machine();
        let (data, warnings) = match obtain(self.common().data, self.wanted(), &sources, say, cancelled) {
            Err(TextError::Cancelled) => return Ok(None),
            outcome => outcome?,
        };
        let (source, fingerprint) = (data.source.to_string(), data.fingerprint()?);
        let is_synthetic = data.source == TextSource::Synthetic;
        Ok(Some(Obtained { data, source, fingerprint, is_synthetic, warnings }))
    }

    fn begin(&self, data: Corpus, device: Device) -> Result<Gpt2Run, TrainError> {
        Gpt2Run::new(self, data, device)
    }

    fn export(&self, saved: &SavedRun, folder: &Path) -> Result<(), TrainError> {
        let model = Gpt2::new(self.shape, self.precision, self.attention, Device::Cpu)?;
        saved.restore(&vec![(PARAMETERS.to_owned(), model.parameters())])?;
        model.export(folder, Overwrite::No)
    }
}

impl Training for Gpt2Run {
    type Spec = Gpt2Spec;

    fn adopt(&mut self, spec: &Gpt2Spec) -> Result<(), TrainError> {
        spec.check_processes(self.group.size()).map_err(TrainError::Refused)?;
        // Each step sets its learning rate.
        self.optimizer.set_rule(spec.optimizer, self.model.layout())?;
        self.spec = spec.clone();
        Ok(())
    }

    fn join(&mut self, group: Arc<Group>) -> Result<(), TrainError> {
        if group.divides_optimizer() {
            self.optimizer.keep(group.optimized(self.model.layout().length()))?;
        }
        self.group = group;
        Ok(())
    }

    fn step(&self) -> u64 {
        self.step
    }

    fn advance(&mut self, check: &mut Check<'_>) -> Result<Tensor, TrainError> {
        let point = self.optimizer.gradient_point(self.model.parameters())?;
        let samples = self.spec.batch_size.get() * self.spec.accumulation.get();
        let is_measured = self.measures.is_due(self.step + 1, samples);
        let is_whole = self.group.size() == 1 && self.spec.accumulation.get() == 1;
        let mut parts = (is_measured && !is_whole).then(|| self.measures.parts());
        let (loss, mut spread) = with_parameters(self, point, |run| {
            let halves = (is_measured && is_whole).then(|| run.halves(check)).transpose()?;
            Ok((run.differentiate(Labels::OfData, parts.as_mut(), check)?, halves))
        })?;
        let most = self.spec.clip.map(|clip| clip.get());
        let norm = self.model.clip(most, self.scale.factor)?;
        let is_scaled = self.spec.precision == Gpt2Precision::Float16;
        // A step with gradients that are not finite must not be taken, so this blocks on the device.
        let mut finite = !is_scaled || norm.f_double_value(&[])?.is_finite();
        if let Some(parts) = parts.filter(|_| finite) {
            // The contributions are neither unscaled nor clipped, as the gradients are.
            let norm = norm.f_double_value(&[])?;
            let factor = most.map_or(1.0, |most| (most / (norm + 1e-6)).min(1.0)) / self.scale.factor;
            spread = Some(self.measures.spread(&parts, &self.group, self.model.gradients(), factor)?);
        }
        // Computed before anything changes, as this can be interrupted.
        let query_results = if finite { self.query_results(check)? } else { QueryResults::default() };
        if is_scaled {
            finite &= query_results.are_finite()?;
            self.scale.update(finite);
        }
        if let Some(most) = most {
            let _ = self.since.clipped.f_add_(&norm.f_gt(most)?.f_to_kind(norm.kind())?)?;
        }
        if finite {
            self.optimizer.set_learning_rate(self.learning_rate(self.step));
            let before = is_measured.then(|| self.measures.before(self.model.parameters())).transpose()?;
            self.measures.add(self.step + 1, self.model.gradients())?;
            self.model.update(&mut self.optimizer, &query_results)?;
            self.group.gather(self.model.parameters_mut())?;
            if let Some((spread, before)) = spread.zip(before) {
                self.measures.measure(&spread, &before, self.model.parameters(), samples, self.optimizer.rates())?;
            }
        }
        self.gradient_norm = norm;
        self.since.steps += 1;
        self.step += 1;
        self.note_numbers()?;
        Ok(loss)
    }

    fn point(&mut self) -> Result<MetricValues, TrainError> {
        let norm = |tensor: &Tensor| Ok::<f64, TrainError>(tensor.f_norm()?.f_double_value(&[])?);
        let mut metrics = MetricValues::from([
            (MetricId::LEARNING_RATE, self.learning_rate(self.step.saturating_sub(1))),
            (MetricId::GRAD_NORM, self.gradient_norm.f_double_value(&[])?),
            (PARAM_NORM, norm(self.model.parameters())?),
        ]);
        // Other processes may have parts of it.
        let is_whole = self.optimizer.own().len() == self.model.layout().length();
        if let Some((_, momentum)) = self.optimizer.states().next().filter(|_| is_whole) {
            metrics.set(MOMENTUM_NORM, norm(momentum)?);
        }
        if self.spec.clip.is_some() {
            metrics.set(CLIP_RATE, self.since.clipped.f_double_value(&[])? / self.since.steps as f64);
        }
        if self.spec.precision == Gpt2Precision::Float16 {
            metrics.set(LOSS_SCALE, self.scale.factor);
            metrics.set(SKIPPED, self.scale.skipped as f64);
        }
        let _ = self.since.clipped.f_zero_()?;
        self.since.steps = 0;
        self.note_numbers()?;
        Ok(metrics)
    }

    fn measured(&mut self) -> Option<Measure> {
        self.measures.measured.take()
    }

    fn rate(&self) -> (MetricId, f64) {
        (MetricId::TOKENS_PER_S, self.spec.tokens_per_step() as f64)
    }

    fn evaluate(&mut self, check: &mut Check<'_>) -> Result<MetricValues, TrainError> {
        let validation = self.evaluate_on(Split::Validation, check)?;
        let train = self.evaluate_on(Split::Train, check)?;
        Ok([(MetricId::VAL_LOSS, validation), (MetricId::TRAIN_LOSS, train)].into())
    }

    fn evaluate_all(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<WholeLoss, TrainError> {
        let windows = self.corpus.windows(Split::Validation);
        let mut sum = Tensor::f_zeros([], (Kind::Double, self.model.device()))?;
        let mut done = 0;
        for offsets in windows.chunks(self.spec.batch_size.get()) {
            let [tokens, targets] = self.batch(Split::Validation, offsets)?;
            let loss = self.model.loss(&tokens, &targets, &mut || Ok(()))?.f_to_kind(Kind::Double)?.f_view([0; 0])?;
            let _ = sum.f_add_(&loss.f_mul_scalar(offsets.len() as f64)?)?;
            done += offsets.len();
            progress(done as u64, windows.len() as u64);
        }
        let loss = sum.f_double_value(&[])? / windows.len() as f64;
        let count = windows.len() as u64 * u64::from(self.spec.shape.context);
        Ok(WholeLoss::of(MetricId::VAL_LOSS, loss, count, "tokens"))
    }

    fn parameters(&self) -> u64 {
        self.spec.shape.parameters()
    }

    fn optimized(&self) -> (&Tensor, &ParameterLayout, &FlatOptimizer) {
        (self.model.parameters(), self.model.layout(), &self.optimizer)
    }

    fn tensors(&self) -> NamedTensors<'_> {
        let mut tensors = vec![
            (PARAMETERS.to_owned(), self.model.parameters()),
            ("numbers".to_owned(), &self.numbers),
            ("clipped".to_owned(), &self.since.clipped),
        ];
        tensors.extend(self.optimizer.states());
        tensors
    }

    fn restore(
        &mut self,
        step: u64,
        optimizer: &OptimizerProgress,
        saved: &[(String, Tensor)],
    ) -> Result<(), TrainError> {
        restore_tensors(&self.tensors(), saved)?;
        let numbers = Vec::<f64>::try_from(&self.numbers)?;
        let scale = LossScale::from_numbers([numbers[0], numbers[1], numbers[2]], step);
        let steps = Some(numbers[3]).filter(|steps| (0.0..=step as f64).contains(steps));
        let (Some(scale), Some(steps)) = (scale, steps) else {
            return Err(TrainError::Refused(format!(
                "expected a loss scale and counts of steps up to {step} as a checkpoint's `numbers`, found {numbers:?}"
            )));
        };
        // A fork may have another precision than the run that saved this; without float16 the scale stays 1.
        let is_scaled = scale != first_scale(Gpt2Precision::Float32);
        let is_of_this = is_scaled == (self.spec.precision == Gpt2Precision::Float16);
        self.scale = if is_of_this { scale } else { first_scale(self.spec.precision) };
        self.since.steps = steps as u64;
        self.optimizer.set_progress(optimizer)?;
        self.measures.restart()?;
        self.step = step;
        Ok(())
    }

    fn start(&mut self) -> Result<(), TrainError> {
        let Some(path) = &self.spec.init_from else {
            return self.model.initialize(Key::new(self.spec.seed).at(purpose::WEIGHTS));
        };
        self.model.import(Path::new(path)).map_err(|error| TrainError::Refused(format!("`init_from`: {error}")))
    }

    fn first_not_finite(&self) -> Result<Option<String>, TrainError> {
        for (of, flat) in [("", self.model.parameters()), ("gradient of ", self.model.gradients())] {
            if let Some(name) = self.model.first_not_finite(flat)? {
                return Ok(Some(format!("{of}{name}")));
            }
        }
        Ok(None)
    }

    fn usual_sample(&self) -> Option<TextRequest> {
        let sample = self.spec.sample?;
        // At character level the text may have no line feed.
        let line_feed = self.corpus.tokenizer.encode("\n").is_ok();
        Some(TextRequest {
            prompt: if line_feed { "\n".to_owned() } else { self.corpus.tokenizer.decode(&[0]) },
            tokens: sample.tokens.get() as u32,
            temperature: sample.temperature.get(),
            top_k: sample.top_k.map(|top_k| top_k.get() as u32),
        })
    }

    fn sample(&mut self, request: &TextRequest, step: u64, check: &mut Check<'_>) -> Result<String, TrainError> {
        let tokenizer = &self.corpus.tokenizer;
        let refuse = |error: TextError| TrainError::Refused(error.to_string());
        let prompt: Vec<i64> = tokenizer.encode(&request.prompt).map_err(refuse)?.into_iter().map(i64::from).collect();
        let key = Key::new(self.spec.seed).at(purpose::SAMPLES).at(step);
        let top_k = request.top_k.map(|top_k| top_k as usize);
        let written = self.model.generate(&prompt, request.tokens as usize, request.temperature, top_k, key, check)?;
        let written: Vec<u16> = written.into_iter().map(|token| token as u16).collect();
        Ok(format!("{}{}", request.prompt, tokenizer.decode(&written)))
    }
}

/// The factor by which the loss is multiplied so that gradients do not underflow in float16.
///
/// The factor is halved whenever a gradient is not finite, and doubled after [`LossScale::PATIENCE`] steps without
/// that.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LossScale {
    pub factor: f64,
    /// Steps with finite gradients since the last change of the factor.
    good: u64,
    /// The number of skipped steps, whose gradients were not finite.
    pub skipped: u64,
}

impl LossScale {
    /// Steps until the factor is doubled.
    const PATIENCE: u64 = 2000;

    fn new(factor: f64) -> LossScale {
        LossScale { factor, good: 0, skipped: 0 }
    }

    /// Updates the factor, given whether the gradients of a step were finite.
    fn update(&mut self, finite: bool) {
        if !finite {
            *self = LossScale { factor: 0.5 * self.factor, good: 0, skipped: self.skipped + 1 };
        } else if self.good + 1 == Self::PATIENCE {
            *self = LossScale { factor: 2.0 * self.factor, good: 0, ..*self };
        } else {
            self.good += 1;
        }
    }

    fn to_numbers(self) -> [f64; 3] {
        [self.factor, self.good as f64, self.skipped as f64]
    }

    /// Restores the loss scale after `step` steps from these numbers; `None` if they are impossible.
    fn from_numbers([factor, good, skipped]: [f64; 3], step: u64) -> Option<LossScale> {
        let is_count = |number: f64, most: u64| (0.0..=most as f64).contains(&number);
        let fits = factor.is_normal() && factor > 0.0 && is_count(good, Self::PATIENCE - 1) && is_count(skipped, step);
        fits.then_some(LossScale { factor, good: good as u64, skipped: skipped as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::LossScale;

    #[test]
    fn halves_at_once_and_doubles_after_two_thousand_good_steps() {
        let mut scale = LossScale::new(65536.0);
        scale.update(false);
        assert_eq!((scale.factor, scale.skipped), (32768.0, 1));
        for _ in 0..1999 {
            scale.update(true);
        }
        assert_eq!(scale.factor, 32768.0);
        scale.update(true);
        assert_eq!(scale.factor, 65536.0);
        assert_eq!(LossScale::from_numbers(scale.to_numbers(), 2001), Some(scale));
        for wrong in [[0.0, 0.0, 0.0], [f64::NAN, 0.0, 0.0], [1.0, 2000.0, 0.0], [1.0, 0.0, 2002.0], [1.0, -1.0, 0.0]] {
            assert_eq!(LossScale::from_numbers(wrong, 2001), None, "{wrong:?}");
        }
        // A bad step restarts the count.
        for _ in 0..1999 {
            scale.update(true);
        }
        scale.update(false);
        scale.update(true);
        assert_eq!((scale.factor, scale.skipped), (32768.0, 2));
    }
}
