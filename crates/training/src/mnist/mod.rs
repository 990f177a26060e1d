//! A training of the classifier with libtorch, alone or together with others.
//!
//! All trainings use a **stack** of models of one shape, which are trained together: products have a leading axis over
//! the models. A run that is trained alone is a stack of one. Forward and backward pass are written out, not recorded: the model is
//! small, and on the processor recording would take most of a step's time.

mod mlp;
mod stack;

use std::sync::Arc;

use tch::{Device, Kind, Tensor};
use valleyscope_engine::random::{Key, Stream};
use valleyscope_engine::vectorized;
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::dataset::download::DownloadError;
use valleyscope_experiments::dataset::mnist::{DataError, Digits, Mnist, MnistSource, MnistSources, obtain};
use valleyscope_experiments::workload::{FloatType, MnistSpec};
use valleyscope_runs::{Measure, MetricId, MetricValues, WholeLoss};

use super::group::Group;
use super::loops::{Number, numbers_mut, with_number};
use super::measures::Measures;
use super::restore_tensors;
use super::with_parameters;
use super::{
    Check, Differentiable, FlatOptimizer, NamedTensors, ObtainResult, Obtained, OptimizerProgress, ParameterLayout,
    TrainError, TrainedSpec, Training,
};

pub use mlp::{Evaluation, Mlp};
use stack::Member;

/// Purposes of a training's random streams.
mod purpose {
    pub(super) const WEIGHTS: u64 = 0;
    pub(super) const ORDER: u64 = 1;
    pub(super) const LABELS: u64 = 2;
}

fn key(seed: u64, purpose: u64) -> Key {
    // The zeros belong to the format of keys.
    Key::new(seed).at(purpose).at(0).at(0)
}

fn kind(precision: FloatType) -> Kind {
    match precision {
        FloatType::Float32 => Kind::Float,
        FloatType::Float64 => Kind::Double,
    }
}

/// Refuses batches of one image, which cannot be normalised.
fn check_batch(images: usize, batch_size: usize) -> Result<(), TrainError> {
    if images % batch_size == 1 {
        return Err(TrainError::Refused(format!(
            "`batch_size` {batch_size} leaves a last batch of one of the {images} images, and batch normalisation needs \
             two; choose another batch_size"
        )));
    }
    if batch_size > images {
        return Err(TrainError::Refused(format!("`batch_size` {batch_size} is more than the {images} images")));
    }
    Ok(())
}

fn order(spec: &MnistSpec, images: usize) -> BatchSampler {
    BatchSampler::new(key(spec.seed, purpose::ORDER), images as u32, spec.batch_size.get() as u32)
}

#[derive(Debug)]
pub struct MnistRun {
    pub mlp: Mlp,
    optimizer: FlatOptimizer,
    order: BatchSampler,
    /// The processes that share each batch.
    group: Arc<Group>,
    images: Arc<AllImages>,
    step: u64,
    spec: MnistSpec,
    measures: Measures,
    /// The place in a stack that steps the model together with those of other runs.
    member: Option<Member>,
}

/// The images of a training on its device.
#[derive(Debug)]
struct AllImages {
    train: Images,
    test: Images,
}

impl AllImages {
    fn new(data: &Mnist, spec: &MnistSpec, device: Device) -> Result<Arc<AllImages>, TrainError> {
        let images = |of: &Digits| Images::new(&of.images, &of.labels, kind(spec.precision), device);
        Ok(Arc::new(AllImages { train: images(&data.train)?, test: images(&data.test)? }))
    }
}

impl MnistRun {
    /// Creates a training before its first step, whose weights are zero until [`Training::start`] or
    /// [`Training::restore`].
    pub fn new(spec: &MnistSpec, data: &Mnist, device: Device) -> Result<MnistRun, TrainError> {
        MnistRun::with(spec, AllImages::new(data, spec, device)?, None, device)
    }

    /// Creates a training like [`MnistRun::new`], whose model may be one of a stack.
    fn with(
        spec: &MnistSpec,
        images: Arc<AllImages>,
        member: Option<Member>,
        device: Device,
    ) -> Result<MnistRun, TrainError> {
        let (kind, count) = (kind(spec.precision), images.train.count());
        check_batch(count, spec.batch_size.get())?;
        let (mlp, optimizer) = match &member {
            Some(member) => member.views()?,
            None => {
                let mlp = Mlp::new(1, kind, device)?;
                let rates = [spec.learning_rate.get()];
                let optimizer = FlatOptimizer::new(spec.optimizer, &rates, mlp.layout(), kind, device)?;
                (mlp, optimizer)
            }
        };
        let (order, group, spec) = (order(spec, count), Arc::new(Group::alone()), spec.clone());
        let measures = Measures::new(spec.measure_every.get(), mlp.layout(), mlp.parameters())?;
        Ok(MnistRun { mlp, optimizer, order, group, images, step: 0, spec, measures, member })
    }
}

impl TrainedSpec for MnistSpec {
    type Data = Mnist;
    type Training = MnistRun;

    fn obtain(&self, say: &mut dyn FnMut(&str), cancelled: &dyn Fn() -> bool) -> ObtainResult<Mnist> {
        obtain_mnist(&self.data, say, cancelled)
    }

    fn begin(&self, data: Mnist, device: Device) -> Result<MnistRun, TrainError> {
        MnistRun::new(self, &data, device)
    }
}

fn obtain_mnist(choice: &DataChoice, say: &mut dyn FnMut(&str), cancelled: &dyn Fn() -> bool) -> ObtainResult<Mnist> {
    let (data, warnings) = match obtain(choice, &MnistSources::of_this_machine(), say, cancelled) {
        Err(DataError::Download(DownloadError::Cancelled)) => return Ok(None),
        outcome => outcome?,
    };
    let (source, fingerprint) = (data.source.to_string(), data.fingerprint());
    let is_synthetic = data.source == MnistSource::Synthetic;
    Ok(Some(Obtained { data, source, fingerprint, is_synthetic, warnings }))
}

/// Refuses more processes than the smallest batch has images.
fn check_processes(images: usize, batch_size: usize, processes: usize) -> Result<(), TrainError> {
    let last = images % batch_size;
    let least = if last == 0 { batch_size } else { last };
    if processes > least {
        return Err(TrainError::Refused(format!(
            "expected at most {least} processes, one for each image of the smallest batch (of {images} images in batches \
             of {batch_size}), found {processes}"
        )));
    }
    Ok(())
}

/// Takes a step of all models of a stack; returns their losses. `part` is called as by [`Mlp::differentiate_parts`].
fn step_models(
    mlp: &mut Mlp,
    optimizer: &mut FlatOptimizer,
    labels: &[Key],
    batch: impl Fn() -> Result<Batch, TrainError>,
    part: impl FnOnce(&Tensor, f64) -> Result<(), TrainError>,
) -> Result<Tensor, TrainError> {
    let point = optimizer.gradient_point(mlp.parameters())?;
    let losses = with_parameters(mlp, point, |mlp| mlp.differentiate_parts(batch()?, part))?;
    let query_results = mlp.query_results(optimizer.queries(), labels, batch)?;
    mlp.update(optimizer, &query_results)?;
    Ok(losses)
}

impl Training for MnistRun {
    type Spec = MnistSpec;

    fn adopt(&mut self, spec: &MnistSpec) -> Result<(), TrainError> {
        let of_step = |spec: &MnistSpec| (spec.optimizer, spec.learning_rate, spec.batch_size);
        if self.member.is_some() && of_step(spec) != of_step(&self.spec) {
            let why = "it trains together with others; stop it and resume it, and it trains alone";
            return Err(TrainError::Refused(why.to_owned()));
        }
        let (images, batch_size) = (self.images.train.count(), spec.batch_size.get());
        if spec.batch_size != self.spec.batch_size {
            check_batch(images, batch_size)?;
            check_processes(images, batch_size, self.group.size())?;
            self.order = order(spec, images);
        }
        self.optimizer.set_rule(spec.optimizer, self.mlp.layout())?;
        self.optimizer.set_learning_rate(spec.learning_rate.get());
        self.spec = spec.clone();
        Ok(())
    }

    fn join(&mut self, group: Arc<Group>) -> Result<(), TrainError> {
        check_processes(self.images.train.count(), self.spec.batch_size.get(), group.size())?;
        if group.divides_optimizer() {
            self.optimizer.keep(group.optimized(self.mlp.layout().length()))?;
        }
        self.mlp.join(Arc::clone(&group));
        self.group = group;
        Ok(())
    }

    fn step(&self) -> u64 {
        self.step
    }

    fn advance(&mut self, _: &mut Check<'_>) -> Result<Tensor, TrainError> {
        let kind = self.mlp.kind();
        let all = self.order.batch(self.step);
        let train = &self.images.train;
        let (measures, step, samples) = (&self.measures, self.step + 1, all.len());
        // Batch normalisation of one image, the half of two or three, gives zeros.
        let (is_measured, is_whole) = (samples > 3 && measures.is_due(step, samples), self.group.size() == 1);
        let mut parts = (is_measured && !is_whole).then(|| measures.parts());
        let before = is_measured.then(|| measures.before(self.mlp.parameters())).transpose()?;
        let mut halves = None;
        if is_measured && is_whole {
            let point = self.optimizer.gradient_point(self.mlp.parameters())?;
            let half = |start: usize| train.batch(&all[start..start + samples / 2], 1, kind);
            halves = Some(with_parameters(&mut self.mlp, point, |mlp| {
                let first = mlp.gradients_of(half(0)?)?.f_detach_copy()?;
                measures.halves(first, mlp.gradients_of(half(samples / 2)?)?)
            })?);
        }
        let labels = key(self.spec.seed, purpose::LABELS).at(self.step);
        let loss =
            match &self.member {
                Some(member) => member.step(all, labels, &mut self.optimizer)?,
                None => {
                    let batch = || train.batch(&all[self.group.part(samples)], 1, kind);
                    step_models(&mut self.mlp, &mut self.optimizer, &[labels], batch, |gradients, share| {
                        match &mut parts {
                            Some(parts) => measures.add_part(parts, gradients, share),
                            None => Ok(()),
                        }
                    })?
                }
            };
        let of_parts =
            parts.map(|parts| measures.spread(&parts, &self.group, self.mlp.gradients(), 1.0)).transpose()?;
        let spread = halves.or(of_parts);
        self.measures.add(step, self.mlp.gradients())?;
        self.group.gather(self.mlp.parameters_mut())?;
        if let Some((spread, before)) = spread.zip(before) {
            self.measures.measure(&spread, &before, self.mlp.parameters(), samples, self.optimizer.rates())?;
        }
        self.step += 1;
        Ok(loss)
    }

    fn point(&mut self) -> Result<MetricValues, TrainError> {
        let norm = self.mlp.gradients().f_norm()?.f_double_value(&[])?;
        Ok([(MetricId::LEARNING_RATE, self.spec.learning_rate.get()), (MetricId::GRAD_NORM, norm)].into())
    }

    fn measured(&mut self) -> Option<Measure> {
        self.measures.measured.take()
    }

    fn rate(&self) -> (MetricId, f64) {
        (MetricId::SAMPLES_PER_S, self.spec.batch_size.get() as f64)
    }

    fn evaluate(&mut self, _: &mut Check<'_>) -> Result<MetricValues, TrainError> {
        let Evaluation { loss, accuracy } = self.mlp.evaluate(0, &self.images.test)?;
        Ok([(MetricId::TEST_LOSS, loss), (MetricId::TEST_ACCURACY, accuracy)].into())
    }

    fn evaluate_all(&mut self, _: &mut dyn FnMut(u64, u64)) -> Result<WholeLoss, TrainError> {
        let Evaluation { loss, .. } = self.mlp.evaluate(0, &self.images.test)?;
        Ok(WholeLoss::of(MetricId::TEST_LOSS, loss, self.images.test.count() as u64, "images"))
    }

    fn parameters(&self) -> u64 {
        self.mlp.layout().model_size() as u64
    }

    fn optimized(&self) -> (&Tensor, &ParameterLayout, &FlatOptimizer) {
        (self.mlp.parameters(), self.mlp.layout(), &self.optimizer)
    }

    fn tensors(&self) -> NamedTensors<'_> {
        let mut tensors =
            vec![("parameters".to_owned(), self.mlp.parameters()), ("statistics".to_owned(), self.mlp.statistics())];
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
        self.optimizer.set_progress(optimizer)?;
        self.measures.restart()?;
        self.step = step;
        Ok(())
    }

    fn start(&mut self) -> Result<(), TrainError> {
        self.mlp.initialize(0, key(self.spec.seed, purpose::WEIGHTS))
    }
}

/// The order in which a run uses the images: each epoch all of them once, reshuffled, in batches. The remainder at an
/// epoch's end is a smaller batch.
///
/// The order depends only on the key; the batch of any step can be computed.
#[derive(Clone, Debug)]
pub struct BatchSampler {
    key: Key,
    images: u32,
    batch: u32,
    epoch: u64,
    /// The images of the epoch, of which the first `shuffled` have their final positions.
    permutation: Vec<u32>,
    shuffled: usize,
    stream: Stream,
}

impl BatchSampler {
    /// Creates a sampler of batches of `batch` images out of `images`.
    pub fn new(key: Key, images: u32, batch: u32) -> BatchSampler {
        assert!(images > 0 && batch > 0, "there is nothing to order");
        let mut sampler = BatchSampler {
            key,
            images,
            batch,
            epoch: 0,
            permutation: Vec::new(),
            shuffled: 0,
            stream: Stream::new(key),
        };
        sampler.begin(0);
        sampler
    }

    /// Lists the images of the batch of a step, counted from 0.
    pub fn batch(&mut self, step: u64) -> &[u32] {
        let batches = u64::from(self.images.div_ceil(self.batch));
        let epoch = step / batches;
        if epoch != self.epoch {
            self.begin(epoch);
        }
        let start = (step % batches) as usize * self.batch as usize;
        let end = (start + self.batch as usize).min(self.images as usize);
        // Fisher–Yates shuffle, as far as needed.
        for index in self.shuffled..end {
            let other = index + self.stream.below(u64::from(self.images) - index as u64) as usize;
            self.permutation.swap(index, other);
        }
        self.shuffled = self.shuffled.max(end);
        &self.permutation[start..end]
    }

    fn begin(&mut self, epoch: u64) {
        self.epoch = epoch;
        self.stream = Stream::new(self.key.at(epoch));
        self.permutation = (0..self.images).collect();
        self.shuffled = 0;
    }
}

/// Labelled images on a device.
///
/// On the processor they stay bytes, a quarter of the memory, and are converted when a batch is made.
#[derive(Debug)]
pub enum Images {
    Processor {
        pixels: Vec<u8>,
        labels: Vec<u8>,
        size: usize,
    },
    /// All images as numbers `[images, size]` and their labels `[images]`.
    Device {
        pixels: Tensor,
        labels: Tensor,
    },
}

// SAFETY: the tensors are only read after they have been made, which libtorch allows from many threads.
unsafe impl Sync for Images {}

/// Images for one step of a stack: `[models, batch, size]` and `[models, batch]`.
#[derive(Debug)]
pub struct Batch {
    pub images: Tensor,
    pub labels: Tensor,
}

impl Images {
    /// Creates images of `size` bytes each, 0 to 255, which are scaled to 0 to 1.
    pub fn new(pixels: &[u8], labels: &[u8], kind: Kind, device: Device) -> Result<Images, TrainError> {
        assert!(!labels.is_empty() && pixels.len().is_multiple_of(labels.len()), "each image has a label");
        let size = pixels.len() / labels.len();
        if device == Device::Cpu {
            return Ok(Images::Processor { pixels: pixels.to_vec(), labels: labels.to_vec(), size });
        }
        let count = labels.len() as i64;
        let bytes = Tensor::f_from_slice(pixels)?.f_to_device(device)?.f_view([count, size as i64])?;
        let pixels = bytes.f_to_kind(kind)?.f_div_scalar(255.0)?;
        let labels = Tensor::f_from_slice(labels)?.f_to_device(device)?.f_to_kind(Kind::Int64)?;
        Ok(Images::Device { pixels, labels })
    }

    pub fn count(&self) -> usize {
        match self {
            Images::Processor { labels, .. } => labels.len(),
            Images::Device { labels, .. } => labels.size()[0] as usize,
        }
    }

    /// Makes one batch for each model of a stack; `indices` lists them one model after another.
    pub fn batch(&self, indices: &[u32], models: usize, kind: Kind) -> Result<Batch, TrainError> {
        let (models_i, batch) = (models as i64, (indices.len() / models) as i64);
        match self {
            Images::Processor { pixels, labels, size } => {
                let shape = [models_i, batch, *size as i64];
                let mut images = Tensor::f_empty(shape, (kind, Device::Cpu))?;
                with_number!(kind, T => gather::<T>(pixels, *size, indices, numbers_mut(&mut images)));
                let chosen: Vec<i64> = indices.iter().map(|&index| i64::from(labels[index as usize])).collect();
                Ok(Batch { images, labels: Tensor::f_from_slice(&chosen)?.f_view([models_i, batch])? })
            }
            Images::Device { pixels, labels } => {
                let indices: Vec<i64> = indices.iter().map(|&index| i64::from(index)).collect();
                let indices = Tensor::f_from_slice(&indices)?.f_to_device(pixels.device())?;
                let images = pixels.f_index_select(0, &indices)?.f_view([models_i, batch, -1])?;
                Ok(Batch { images, labels: labels.f_index_select(0, &indices)?.f_view([models_i, batch])? })
            }
        }
    }

    pub fn range(&self, range: std::ops::Range<usize>, kind: Kind) -> Result<Batch, TrainError> {
        self.batch(&(range.start as u32..range.end as u32).collect::<Vec<_>>(), 1, kind)
    }
}

vectorized! {
    fn gather<T: Number>(pixels: &[u8], size: usize, indices: &[u32], out: &mut [T]) {
        for (&index, out) in indices.iter().zip(out.chunks_exact_mut(size)) {
            let image = &pixels[index as usize * size..][..size];
            for (out, &byte) in out.iter_mut().zip(image) {
                *out = T::from(byte) / T::splat(255.0);
            }
        }
    }
}
