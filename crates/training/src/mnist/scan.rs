//! A point of the scan: all learning rates and replicates of an optimizer and a batch size, as stacks.
//!
//! On the processor each thread trains separate stacks, small enough for the cache, with libtorch on one thread. The
//! event of a grid point holds all its results, so a scan needs no checkpoint, and its figure, table and arrays are
//! made from the events at any time.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use rayon::prelude::*;
use tch::{Device, Kind};
use valleyscope_engine::optimizer::RuleSpec;
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::mnist::Mnist;
use valleyscope_experiments::workload::{MnistScanPreset, MnistScanSpec, Workload};
use valleyscope_runs::{Event, GridPoint, RunCommand, RunHistory};

use super::{BatchSampler, Evaluation, Images, Mlp, check_batch, key, kind, obtain_mnist, purpose};
use crate::training::NO_TEXT;
use crate::work::answer_commands;
use crate::{Ended, FlatOptimizer, TrainError, Trained, Work, with_parameters};

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
            pool.map_err(|error| TrainError::Refused(format!("cannot start threads: {error}")))
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

    /// Trains a point; returns its losses, or `None` if it was stopped before the end.
    pub fn point(
        &self,
        rule: &RuleSpec,
        batch_size: usize,
        stop: &AtomicBool,
    ) -> Result<Option<GridPoint>, TrainError> {
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
        Ok(Some(GridPoint {
            train_loss: grid(|(loss, _)| *loss),
            test_loss: grid(|(_, evaluation)| evaluation.loss),
            test_accuracy: grid(|(_, evaluation)| evaluation.accuracy),
            ..GridPoint::default()
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

impl Trained for MnistScanPreset {
    fn train(&self, work: &mut Work<'_>) -> anyhow::Result<Ended> {
        let device = work.devices.open(self.device(), 0)?;
        let obtained = work.data(|say, cancelled| obtain_mnist(&self.scan.data, say, cancelled))?;
        let Some(obtained) = obtained else { return Ok(Ended::Stopped) };
        let complete = complete(work.session.before());
        let mut done = complete.len() as u64;
        let started = work.started(&obtained, device);
        let axes = started.scan.clone().context("a scan has axes")?;
        let own = started.own_points.clone().unwrap_or_else(|| axes.points());
        if work.session.is_new() {
            work.session.record(0, Event::Started(started))?;
        } else {
            work.session.resume(done, work.session.wall_s())?;
            if let Some(started) = work.again(started) {
                work.session.record(done, Event::Started(started))?;
            }
        }
        work.warn(obtained.warnings)?;
        let scan = Scan::new(&self.scan, &obtained.data, device)?;
        work.session.begin_training();
        for &index in own.iter().filter(|point| !complete.contains(*point)) {
            let begun = Instant::now();
            let Some(losses) = watched(&scan, index, work)? else { return Ok(Ended::Stopped) };
            done += 1;
            let point = GridPoint {
                index,
                optimizer: axes.optimizers[index[0]].clone(),
                batch_size: axes.batch_sizes[index[1]],
                done,
                total: own.len() as u64,
                seconds: begun.elapsed().as_secs_f64(),
                ..losses
            };
            work.session.record(done, Event::GridPoint(point))?;
        }
        Ok(Ended::Finished)
    }
}

/// Trains a point in a separate thread, and answers commands meanwhile.
fn watched(scan: &Scan<'_>, [row, column]: [usize; 2], work: &mut Work<'_>) -> anyhow::Result<Option<GridPoint>> {
    let reply = |command: &RunCommand| match command {
        RunCommand::Stop => (true, "stopping; finished grid points are kept"),
        RunCommand::Save => (true, "finished grid points are saved already"),
        RunCommand::SetSteps { .. } | RunCommand::Set { .. } => {
            (false, "a scan's settings cannot be changed while it runs")
        }
        RunCommand::Sample(_) => (false, NO_TEXT),
    };
    let (rule, batch_size) = (&scan.spec.optimizers[row].rule, scan.spec.batch_sizes[column].get());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let point = scope.spawn(|| scan.point(rule, batch_size, &stop));
        while !point.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
            let asked = answer_commands(&mut work.session, reply);
            // An error of receiving or answering ends the run at once, not only after the grid point.
            if work.stop.is_raised() || !matches!(asked, Ok(false)) {
                stop.store(true, Ordering::Relaxed);
            }
            asked?;
        }
        Ok(point.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
    })
}

/// Lists the grid points of a scan up to the first unreadable one: readers drop the points after the step from which a
/// run resumes.
fn complete(before: &RunHistory) -> HashSet<[usize; 2]> {
    let mut known: Vec<(u64, [usize; 2])> = before.grid_points().map(|point| (point.done, point.index)).collect();
    known.sort_unstable();
    let whole = known.into_iter().zip(1..).take_while(|((done, _), number)| done == number);
    whole.map(|((_, point), _)| point).collect()
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
