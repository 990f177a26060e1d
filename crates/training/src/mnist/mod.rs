//! A training of the classifier with libtorch, and a scan of many.
//!
//! All trainings use a **stack** of models of one shape, which are trained side by side: products have a leading axis
//! over the models. A single run is a stack of one. Forward and backward pass are written out, not recorded: the model
//! is small, and on the processor recording would take most of a step's time.

mod batch_sampler;
mod images;
mod mlp;
mod scan;

use std::sync::Arc;

use tch::{Device, Kind, Tensor};

pub use self::batch_sampler::BatchSampler;
pub use self::images::{Batch, Images};
pub use self::mlp::{Evaluation, Mlp};
pub use self::scan::Scan;
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::dataset::download::DownloadError;
use valleyscope_experiments::dataset::mnist::{DataError, Mnist, MnistSource, MnistSources, obtain};
use valleyscope_experiments::workload::{FloatType, MnistSpec};
use valleyscope_runs::{MetricId, MetricValues};

use crate::group::Group;
use crate::{
    Check, Differentiable, FlatOptimizer, MeanLoss, NamedTensors, ObtainResult, Obtained, OptimizerProgress,
    ParameterLayout, TrainError, TrainedSpec, Training, restore_tensors, with_parameters,
};

/// Purposes of a training's random streams.
pub(super) mod purpose {
    pub(crate) const WEIGHTS: u64 = 0;
    pub(crate) const ORDER: u64 = 1;
    pub(crate) const LABELS: u64 = 2;
}

/// Returns the key of one of a seed's trainings. In a scan each learning rate and replicate is a training of its own,
/// the same for all optimizers and batch sizes; a single run is the first.
pub(super) fn key(seed: u64, purpose: u64, learning_rate: u64, replicate: u64) -> Key {
    Key::new(seed).at(purpose).at(learning_rate).at(replicate)
}

pub(super) fn kind(precision: FloatType) -> Kind {
    match precision {
        FloatType::Float32 => Kind::Float,
        FloatType::Float64 => Kind::Double,
    }
}

/// Refuses batches of one image, which cannot be normalised.
pub(super) fn check_batch(images: usize, batch_size: usize) -> Result<(), TrainError> {
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

/// Returns the order of the training images of a run.
fn order(spec: &MnistSpec, images: usize) -> BatchSampler {
    BatchSampler::new(key(spec.seed, purpose::ORDER, 0, 0), images as u32, spec.batch_size.get() as u32)
}

/// A training in progress.
#[derive(Debug)]
pub struct MnistRun {
    pub mlp: Mlp,
    optimizer: FlatOptimizer,
    order: BatchSampler,
    /// The processes that share each batch.
    group: Arc<Group>,
    train: Images,
    test: Images,
    step: u64,
    spec: MnistSpec,
}

impl MnistRun {
    /// Creates a training before its first step, whose weights are zero until [`Training::start`] or
    /// [`Training::restore`].
    pub fn new(spec: &MnistSpec, data: &Mnist, device: Device) -> Result<MnistRun, TrainError> {
        let (kind, batch_size) = (kind(spec.precision), spec.batch_size.get());
        let images = data.train.labels.len();
        check_batch(images, batch_size)?;
        let mlp = Mlp::new(1, kind, device)?;
        let rule = spec.optimizer;
        let optimizer = FlatOptimizer::new(rule, &[spec.learning_rate.get()], mlp.layout(), kind, device)?;
        let order = order(spec, images);
        let train = Images::new(&data.train.images, &data.train.labels, kind, device)?;
        let test = Images::new(&data.test.images, &data.test.labels, kind, device)?;
        let (group, spec) = (Arc::new(Group::alone()), spec.clone());
        Ok(MnistRun { mlp, optimizer, order, group, train, test, step: 0, spec })
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

impl Training for MnistRun {
    type Spec = MnistSpec;

    fn adopt(&mut self, spec: &MnistSpec) -> Result<(), TrainError> {
        let (images, batch_size) = (self.train.count(), spec.batch_size.get());
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
        check_processes(self.train.count(), self.spec.batch_size.get(), group.size())?;
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
        let indices = self.order.batch(self.step);
        let indices = &indices[self.group.part(indices.len())];
        let batch = || self.train.batch(indices, 1, kind);
        let place = self.optimizer.gradient_place(self.mlp.parameters())?;
        let loss = with_parameters(&mut self.mlp, place, |mlp| mlp.differentiate(batch()?))?;
        let labels = key(self.spec.seed, purpose::LABELS, 0, 0).at(self.step);
        let query_results = self.mlp.query_results(self.optimizer.queries(), &[labels], batch)?;
        self.mlp.update(&mut self.optimizer, &query_results)?;
        self.group.gather(self.mlp.parameters_mut())?;
        self.step += 1;
        Ok(loss)
    }

    fn point(&mut self) -> Result<MetricValues, TrainError> {
        let norm = self.mlp.gradients().f_norm()?.f_double_value(&[])?;
        Ok([(MetricId::LEARNING_RATE, self.spec.learning_rate.get()), (MetricId::GRAD_NORM, norm)].into())
    }

    fn rate(&self) -> (MetricId, f64) {
        (MetricId::SAMPLES_PER_S, self.spec.batch_size.get() as f64)
    }

    fn evaluate(&mut self, _: &mut Check<'_>) -> Result<MetricValues, TrainError> {
        let Evaluation { loss, accuracy } = self.mlp.evaluate(0, &self.test)?;
        Ok([(MetricId::TEST_LOSS, loss), (MetricId::TEST_ACCURACY, accuracy)].into())
    }

    fn evaluate_all(&mut self, _: &mut dyn FnMut(u64, u64)) -> Result<MeanLoss, TrainError> {
        let Evaluation { loss, .. } = self.mlp.evaluate(0, &self.test)?;
        Ok(MeanLoss { metric: MetricId::TEST_LOSS, loss, count: self.test.count() as u64, unit: "images" })
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
        self.step = step;
        Ok(())
    }

    fn start(&mut self) -> Result<(), TrainError> {
        self.mlp.initialize(0, key(self.spec.seed, purpose::WEIGHTS, 0, 0))
    }
}
