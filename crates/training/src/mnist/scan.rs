//! A point of the scan: all learning rates and replicates of an optimizer and a batch size, as stacks.
//!
//! On the processor each thread trains separate stacks, small enough for the cache, with libtorch on one thread. The
//! event of a grid point holds all its results, so a scan needs no checkpoint, and its figure, table and arrays are
//! made from the events at any time.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use tch::{Device, Kind};
use valleyscope_engine::optimizer::RuleSpec;
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::mnist::Mnist;
use valleyscope_experiments::workload::{MnistScanPreset, MnistScanSpec};

use super::check_batch;
use super::key;
use super::kind;
use super::obtain_mnist;
use super::purpose;
use super::{BatchSampler, Evaluation, Images, Mlp};
use crate::with_parameters;
use crate::{Ended, FlatOptimizer, ObtainResult, PointLosses, PointTraining, TrainError, Trained, TrainedScan, Work};

/// The data of a scan on its device, and its division among threads.
#[derive(Debug)]
pub struct Scan<'a> {
    spec: &'a MnistScanSpec,
    device: Device,
    kind: Kind,
    train: Images,
    test: Images,
    learning_rates: Vec<f64>,
    /// The threads on the processor, each of which trains separate stacks.
    threads: Option<rayon::ThreadPool>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    learning_rate: usize,
    replicate: usize,
}

impl<'a> Scan<'a> {
    /// Prepares a scan.
    ///
    /// # Errors
    ///
    /// Fails if a batch size does not fit the number of images, or the device has too little memory for them.
    pub fn new(spec: &'a MnistScanSpec, data: &Mnist, device: Device) -> Result<Scan<'a>, TrainError> {
        let images = data.train.labels.len();
        for batch_size in &spec.batch_sizes {
            check_batch(images, batch_size.get())?;
        }
        let kind = kind(spec.precision);
        let threads = (device == Device::Cpu).then(|| {
            // Models are independent, whereas threads that share one would wait for each other.
            let pool = rayon::ThreadPoolBuilder::new().start_handler(|_| tch::set_num_threads(1)).build();
            pool.map_err(|error| TrainError::Device(format!("cannot start threads: {error}")))
        });
        Ok(Scan {
            spec,
            device,
            kind,
            train: Images::new(&data.train.images, &data.train.labels, kind, device)?,
            test: Images::new(&data.test.images, &data.test.labels, kind, device)?,
            learning_rates: spec.learning_rates.values(),
            threads: threads.transpose()?,
        })
    }

    /// Trains a point; returns `None` if it was stopped before the end.
    pub fn point(
        &self,
        rule: &RuleSpec,
        batch_size: usize,
        stop: &AtomicBool,
    ) -> Result<Option<PointLosses>, TrainError> {
        let replicates = self.spec.replicates.get();
        let members: Vec<Member> = (0..self.spec.stack())
            .map(|index| Member { learning_rate: index / replicates, replicate: index % replicates })
            .collect();
        let mut stack = stack_size(self.device, batch_size, members.len());
        let outcomes = loop {
            match self.stacks(rule, batch_size, &members, stack, stop) {
                // The stack size that fits into a GPU's memory can only be found by trying.
                Err(TrainError::OutOfMemory { .. }) if stack > 1 => stack = stack.div_ceil(2),
                outcomes => break outcomes?,
            }
        };
        let Some(outcomes) = outcomes else { return Ok(None) };
        let grid = |of: fn(&(f64, Evaluation)) -> f64| {
            outcomes.chunks(replicates).map(|row| row.iter().map(of).collect()).collect()
        };
        Ok(Some(PointLosses {
            train_loss: grid(|(loss, _)| *loss),
            test_loss: grid(|(_, evaluation)| evaluation.loss),
            test_accuracy: grid(|(_, evaluation)| evaluation.accuracy),
        }))
    }

    /// Trains the members of a point in stacks of a size; returns the last training loss and the evaluation of each.
    fn stacks(
        &self,
        rule: &RuleSpec,
        batch_size: usize,
        members: &[Member],
        stack: usize,
        stop: &AtomicBool,
    ) -> Result<Option<Vec<(f64, Evaluation)>>, TrainError> {
        let train = |members: &[Member]| self.stack(rule, batch_size, members, stop);
        let outcomes: Option<Vec<_>> = match &self.threads {
            Some(threads) => threads.install(|| {
                // One stack at a time for each thread, so that an idle thread takes the next.
                members.par_chunks(stack).with_max_len(1).map(train).collect::<Result<_, _>>()
            })?,
            None => members.chunks(stack).map(train).collect::<Result<_, _>>()?,
        };
        Ok(outcomes.map(|outcomes| outcomes.concat()))
    }

    /// Trains some members of a point together; returns the last training loss and the evaluation of each.
    fn stack(
        &self,
        rule: &RuleSpec,
        batch_size: usize,
        members: &[Member],
        stop: &AtomicBool,
    ) -> Result<Option<Vec<(f64, Evaluation)>>, TrainError> {
        let member_key = |purpose: u64, member: &Member| -> Key {
            key(self.spec.seed, purpose, member.learning_rate as u64, member.replicate as u64)
        };
        let mut mlp = Mlp::new(members.len(), self.kind, self.device)?;
        for (model, member) in members.iter().enumerate() {
            mlp.initialize(model, member_key(purpose::WEIGHTS, member))?;
        }
        let images = self.train.count() as u32;
        let mut orders: Vec<BatchSampler> = members
            .iter()
            .map(|member| BatchSampler::new(member_key(purpose::ORDER, member), images, batch_size as u32))
            .collect();
        let rates: Vec<f64> = members.iter().map(|member| self.learning_rates[member.learning_rate]).collect();
        let mut optimizer = FlatOptimizer::new(*rule, &rates, mlp.layout(), self.kind, self.device)?;
        let mut losses = None;
        let mut indices = Vec::new();
        for step in 0..self.spec.steps.get() as u64 {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            indices.clear();
            for order in &mut orders {
                indices.extend_from_slice(order.batch(step));
            }
            let batch = || self.train.batch(&indices, members.len(), self.kind);
            let point = optimizer.gradient_point(mlp.parameters())?;
            losses = Some(with_parameters(&mut mlp, point, |mlp| mlp.differentiate(batch()?))?);
            let labels = |member| member_key(purpose::LABELS, member).at(step);
            let labels: Vec<Key> = members.iter().map(labels).collect();
            let query_results = mlp.query_results(optimizer.queries(), &labels, batch)?;
            mlp.update(&mut optimizer, &query_results)?;
        }
        let losses = losses.expect("a scan has steps");
        let losses = Vec::<f64>::try_from(losses.f_to_kind(Kind::Double)?.f_to_device(Device::Cpu)?)?;
        let outcomes = losses.into_iter().enumerate().map(|(model, loss)| Ok((loss, mlp.evaluate(model, &self.test)?)));
        outcomes.collect::<Result<_, TrainError>>().map(Some)
    }
}

impl PointTraining for Scan<'_> {
    fn train_point(
        &self,
        optimizer: usize,
        batch_size: usize,
        stop: &AtomicBool,
    ) -> Result<Option<PointLosses>, TrainError> {
        self.point(&self.spec.optimizers[optimizer].rule, self.spec.batch_sizes[batch_size].get(), stop)
    }
}

impl TrainedScan for MnistScanPreset {
    type Data = Mnist;
    type Scan<'a> = Scan<'a>;

    fn obtain(&self, say: &mut dyn FnMut(&str), cancelled: &dyn Fn() -> bool) -> ObtainResult<Mnist> {
        obtain_mnist(&self.scan.data, say, cancelled)
    }

    fn begin(&self, data: Mnist, device: Device) -> Result<Scan<'_>, TrainError> {
        Scan::new(&self.scan, &data, device)
    }
}

impl Trained for MnistScanPreset {
    fn train(&self, work: &mut Work<'_>) -> anyhow::Result<Ended> {
        work.scan(self)
    }
}

/// Chooses the number of models that are trained together.
fn stack_size(device: Device, batch_size: usize, members: usize) -> usize {
    match device {
        // Parameters, gradients and the optimizer's states of a model are some 2.7 MB. Two models share the overhead of
        // each operation; more models do not fit into the caches (`cargo bench -p valleyscope-training`).
        Device::Cpu => 2.min(members),
        // Many models keep a GPU busy; the tensors stored for the backward pass must fit.
        _ => ((1 << 17) / batch_size).clamp(1, members),
    }
}
