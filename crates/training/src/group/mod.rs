//! The processes of a data-parallel training, on libtorch's c10d.
//!
//! Each process has the whole model, computes the gradients of its part of a step's batch, and takes the same step with
//! their sum. Rank 0 leads: it writes the run and decides on each action; the others follow ([`Order`]).

mod c10d;
mod link;
mod rank_env;
mod watch;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use c10d::{ProcessGroup, Store};
use link::{CONNECT_TIMEOUT, Link, connected_key, lost, meet, open_stores, run_interruptibly, wait_for_others};
use tch::{Device, Tensor};
use valleyscope_runs::{MetricId, MetricInfo, MetricValues, Unit};
use watch::Watch;

use super::error::TrainError;

pub(super) use link::LocalProcesses;
pub(super) use rank_env::RankEnv;
pub(super) use watch::Wait;

/// The transport of tensors between GPUs of several processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    /// Sends from GPU to GPU, if libtorch has NCCL.
    #[default]
    Nccl,
    /// Sends through the processor's memory.
    Gloo,
}

impl Backend {
    pub fn name(self) -> &'static str {
        match self {
            Backend::Nccl => "nccl",
            Backend::Gloo => "gloo",
        }
    }
}

/// The settings with which a process joins the others.
#[derive(Clone, Copy, Debug)]
pub struct Joining {
    /// The longest silence of a process; a longer one ends the training. So does a process whose part of a step takes
    /// longer than this plus twice the time of another process.
    pub patience: Duration,
    pub backend: Backend,
    /// Whether the optimizer's states are divided; rank 0's value applies to all.
    pub divides_optimizer: bool,
}

/// The next action of all processes, chosen by rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Step,
    Evaluate,
    /// Gathers the parts of the optimizer's states.
    Gather,
    Change,
    End,
    /// Ends, as the run has failed.
    Fail,
}

impl Order {
    const ALL: [Order; 6] = [Order::Step, Order::Evaluate, Order::Gather, Order::Change, Order::End, Order::Fail];
}

/// The processes of a training, or a single one.
#[derive(Debug)]
pub struct Group {
    rank: usize,
    size: usize,
    /// Whether each process steps only a part of the parameters, and stores only the optimizer's states of these.
    divides_optimizer: bool,
    /// The transport for tensors on a GPU.
    backend: Backend,
    link: Option<Link>,
}

impl Group {
    pub fn alone() -> Group {
        Group { rank: 0, size: 1, divides_optimizer: false, backend: Backend::Gloo, link: None }
    }

    /// Joins the other processes. `check` is called repeatedly meanwhile, and its error ends the attempt.
    ///
    /// # Errors
    ///
    /// Fails if some of them do not join.
    pub fn join(
        mut rank_env: RankEnv,
        joining: Joining,
        check: &mut dyn FnMut() -> Result<(), TrainError>,
    ) -> Result<Group, TrainError> {
        let Joining { patience, backend, divides_optimizer } = joining;
        let RankEnv { rank, size, .. } = rank_env;
        let listener = rank_env.listener.take();
        let [store, beats, final_message] = open_stores(&rank_env, listener, CONNECT_TIMEOUT, check)?;
        let store = Arc::new(store);
        let watch = Watch::begin(beats, final_message, rank, size, patience);
        let met = Group::meet(&rank_env, &store, &watch, check);
        let group = met.inspect_err(|error| watch.end(&error.to_string()))?;
        let link = Link {
            group,
            device_group: OnceLock::new(),
            store,
            watch,
            patience,
            ended: Mutex::new(Instant::now()),
            is_in_step: AtomicBool::new(false),
            texts: AtomicU64::new(0),
        };
        let mut group = Group { rank, size, divides_optimizer: false, backend, link: Some(link) };
        group.divides_optimizer = group.share_text(&divides_optimizer.to_string())? == "true";
        Ok(group)
    }

    fn meet(
        rank_env: &RankEnv,
        store: &Arc<Store>,
        watch: &Watch,
        check: &mut dyn FnMut() -> Result<(), TrainError>,
    ) -> Result<ProcessGroup, TrainError> {
        let (rank, size, bind) = (rank_env.rank, rank_env.size, rank_env.bind.clone());
        let mut check = || {
            check()?;
            watch.check()
        };
        let meeting = Arc::clone(store);
        run_interruptibly(move || meet(&meeting, rank, size), &mut check)??;
        watch.begin_to_expect_all();
        let meeting = Arc::clone(store);
        let joined =
            run_interruptibly(move || ProcessGroup::join(&meeting, rank, size, &bind, CONNECT_TIMEOUT), &mut check)?;
        joined
            .map_err(|error| lost(watch.explain_lost_connection(&format!("cannot join the other processes: {error}"))))
    }

    /// Reports to processes that wait for this one to join why it does not.
    pub fn refuse(mut rank_env: RankEnv, why: &str) {
        let listener = rank_env.listener.take();
        let serves = listener.is_some();
        // If the report fails, they stop waiting at the time limit.
        let Ok([store, beats, _]) = open_stores(&rank_env, listener, CONNECT_TIMEOUT, &mut || Ok(())) else { return };
        let reported = beats.set(watch::FAILURE, why);
        // The store ends with the process that serves it.
        if serves && reported.is_ok() {
            wait_for_others(&store, rank_env.size, connected_key);
            thread::sleep(2 * watch::BEAT);
        }
    }

    /// Switches to exchanges from GPU to GPU if each process has a GPU and NCCL. `device` is the device of this
    /// process's tensors. Returns the backend in use.
    ///
    /// # Errors
    ///
    /// Fails if NCCL fails, as on GPUs that two processes share.
    pub fn meet_on_devices(&self, device: Device) -> Result<Backend, TrainError> {
        let Some(link) = &self.link else { return Ok(Backend::Gloo) };
        let device = match device {
            Device::Cuda(number) if self.backend == Backend::Nccl && c10d::has_nccl() => Some(number),
            _ => None,
        };
        let mut able = Tensor::f_from_slice(&[i64::from(device.is_some())])?;
        link.complete(link.group.sum(&mut able), None)?;
        if able.f_int64_value(&[0])? < self.size as i64 {
            return Ok(Backend::Gloo);
        }
        let number = device.expect("all have one");
        let (store, rank, size) = (Arc::clone(&link.store), self.rank, self.size);
        let joined =
            run_interruptibly(move || ProcessGroup::join_nccl(&store, rank, size, number), || link.watch.check())?;
        let explain = |error| lost(format!("NCCL fails between the processes: {error}; use --backend gloo instead"));
        let joined = joined.map_err(explain)?;
        link.device_group.set(Arc::new(joined)).expect("a training begins once");
        Ok(Backend::Nccl)
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn is_alone(&self) -> bool {
        self.link.is_none()
    }

    /// Whether this process writes the run.
    pub fn leads(&self) -> bool {
        self.rank == 0
    }

    /// Chooses this process's part of `count` items: the lengths of parts differ by one at most.
    pub fn part(&self, count: usize) -> Range<usize> {
        let start = |rank: usize| count * rank / self.size;
        start(self.rank)..start(self.rank + 1)
    }

    /// Chooses the elements, of `count`, that this process steps and whose optimizer's states it stores: if these are
    /// divided, equally many for each process, and the rest for the last one.
    pub fn optimized(&self, count: usize) -> Range<usize> {
        if self.divides_optimizer { self.optimized_by(self.rank, count) } else { 0..count }
    }

    /// Chooses the elements that the process of a rank steps, if they are divided.
    fn optimized_by(&self, rank: usize, count: usize) -> Range<usize> {
        let each = count / self.size;
        let end = if rank + 1 == self.size { count } else { (rank + 1) * each };
        rank * each..end
    }

    pub fn divides_optimizer(&self) -> bool {
        self.divides_optimizer
    }

    /// Sends each process's elements of a flat tensor ([`Group::optimized`]) to all others. Does nothing if each
    /// process has all. Each part is sent in place: Gloo's all-gather would make a copy of the whole.
    pub fn gather(&self, tensor: &mut Tensor) -> Result<(), TrainError> {
        let Some(link) = self.link.as_ref().filter(|_| self.divides_optimizer) else { return Ok(()) };
        link.exchange(tensor, |group, tensor| {
            let count = tensor.size1()? as usize;
            for rank in 0..self.size {
                let part = self.optimized_by(rank, count);
                if !part.is_empty() {
                    let mut part = tensor.f_narrow(0, part.start as i64, part.len() as i64)?;
                    link.complete(group.send(&mut part, rank), Some(link.patience))?;
                }
            }
            Ok(())
        })
    }

    /// Gathers a flat tensor of `count` elements, of which each process has a part ([`Group::optimized`]), on rank 0 in
    /// the processor's memory.
    pub fn gather_to_first(&self, part: &Tensor, count: i64) -> Result<Option<Tensor>, TrainError> {
        let part = part.f_to_device(Device::Cpu)?.f_contiguous()?;
        let Some(link) = self.link.as_ref().filter(|_| self.divides_optimizer) else { return Ok(Some(part)) };
        let like = (part.kind(), Device::Cpu);
        let (size, last) = (self.size as i64, self.size - 1);
        let each = count / size;
        let whole = if self.leads() { Some(Tensor::f_empty([count], like)?) } else { None };
        if each > 0 {
            let mut own = part.f_narrow(0, 0, each)?;
            let mut even =
                whole.as_ref().unwrap_or(&part).f_narrow(0, 0, if self.leads() { each * size } else { each })?;
            let operation = link.group.gather_to_first(self.rank, self.size, &mut even, &mut own);
            link.complete(operation, Some(link.patience))?;
        }
        let left = count - each * size;
        if left > 0 {
            let mut rest = match &whole {
                Some(whole) => whole.f_narrow(0, each * size, left)?,
                None if self.rank == last => part.f_narrow(0, each, left)?,
                None => Tensor::f_empty([left], like)?,
            };
            link.complete(link.group.send(&mut rest, last), Some(link.patience))?;
        }
        Ok(whole)
    }

    /// Replaces a tensor by its sum over all processes, with the same bits for all of them.
    pub fn sum(&self, tensor: &mut Tensor) -> Result<(), TrainError> {
        let Some(link) = &self.link else { return Ok(()) };
        link.exchange(tensor, |group, tensor| link.complete(group.sum(tensor), Some(link.patience)))
    }

    /// Replaces a tensor by that of rank 0.
    pub fn share(&self, tensor: &mut Tensor) -> Result<(), TrainError> {
        let Some(link) = &self.link else { return Ok(()) };
        // The others wait while rank 0 makes the tensor.
        link.exchange(tensor, |group, tensor| link.complete(group.send(tensor, 0), None))
    }

    /// Replaces a text by that of rank 0. All processes share their texts in the same order.
    pub fn share_text(&self, text: &str) -> Result<String, TrainError> {
        let Some(link) = &self.link else { return Ok(text.to_owned()) };
        let key = format!("text/{}", link.texts.fetch_add(1, Ordering::Relaxed));
        if self.leads() {
            link.store.set(&key, text).map_err(|error| link.failed(&error))?;
            return Ok(text.to_owned());
        }
        link.wait_for_text(&key)
    }

    /// Broadcasts an order from rank 0; returns it, and whether any process was asked to stop.
    pub fn order(&self, order: Order, is_asked_to_stop: bool) -> Result<(Order, bool), TrainError> {
        let Some(link) = &self.link else { return Ok((order, is_asked_to_stop)) };
        let own = if self.leads() { order as i64 } else { 0 };
        let mut numbers = Tensor::f_from_slice(&[own, i64::from(is_asked_to_stop)])?;
        // The others wait here while rank 0 does other work.
        link.is_in_step.store(false, Ordering::Relaxed);
        link.complete(link.group.sum(&mut numbers), self.leads().then_some(link.patience))?;
        let numbers = Vec::<i64>::try_from(&numbers)?;
        let order = usize::try_from(numbers[0]).ok().and_then(|index| Order::ALL.get(index));
        let order = order.ok_or_else(|| lost(format!("rank 0 sent an invalid order: {}", numbers[0])))?;
        link.is_in_step.store(*order == Order::Step, Ordering::Relaxed);
        Ok((*order, numbers[1] > 0))
    }

    /// The time for which each process has waited for the others within steps so far, as reported to rank 0.
    pub fn waits(&self) -> Vec<Wait> {
        self.link.as_ref().map_or_else(Vec::new, |link| link.watch.waits())
    }

    /// Waits until all processes have reached this point, for some seconds at most, as the store ends with the process
    /// that serves it.
    pub fn wait_at_end(&self) {
        let Some(link) = &self.link else { return };
        let key = |rank| format!("left/{rank}");
        // A process whose store fails does not wait forever.
        let _ = link.store.set(&key(self.rank), "");
        if self.leads() {
            wait_for_others(&link.store, self.size, key);
        }
    }

    /// Reports to the other processes why this one ends; without a reason, all have ended regularly.
    pub fn end(&self, why: Option<&str>) {
        let Some(link) = &self.link else { return };
        match why {
            Some(why) => {
                link.watch.end(why);
                link.abort();
                if self.leads() {
                    // The others read it before the store ends with this process.
                    thread::sleep(2 * watch::BEAT);
                }
            }
            None => link.watch.rest(),
        }
    }
}

/// Measures how long the processes of a training wait for each other.
pub(super) struct WaitMetrics {
    group: Arc<Group>,
    before: Vec<Wait>,
    /// The fraction of its recent time for which each process has waited; none before its second report.
    shares: Vec<Option<f64>>,
}

impl WaitMetrics {
    pub(super) fn new(group: Arc<Group>) -> WaitMetrics {
        let shares = vec![None; group.size()];
        WaitMetrics { group, before: Vec::new(), shares }
    }

    /// Lists the measured metrics: none for a single process.
    pub(super) fn metrics(&self) -> Vec<MetricInfo> {
        if self.group.is_alone() {
            return Vec::new();
        }
        vec![
            MetricId::PROCESSES.described("Processes", Unit::Exact),
            MetricId::WAIT_SHARE.described("Wait for other processes", Unit::Fraction),
            MetricId::SLOWEST_RANK.described("Slowest rank", Unit::Exact),
        ]
    }

    pub(super) fn begin(&mut self) {
        self.before = self.group.waits();
    }

    /// Computes the metrics of the last `seconds`, the time since the previous call.
    pub(super) fn measure(&mut self, seconds: f64) -> MetricValues {
        if self.group.is_alone() {
            return MetricValues::default();
        }
        let now = self.group.waits();
        let own_share = ((now[0].waited_s - self.before[0].waited_s) / seconds).clamp(0.0, 1.0);
        // The others report once a second, each by its own clock.
        for ((now, before), share) in now.into_iter().zip(&mut self.before).zip(&mut self.shares) {
            let passed = now.at_s - before.at_s;
            if passed > 0.0 {
                *share = (before.at_s > 0.0).then(|| (now.waited_s - before.waited_s) / passed).or(*share);
                *before = now;
            }
        }
        let mut values: MetricValues =
            [(MetricId::PROCESSES, self.group.size() as f64), (MetricId::WAIT_SHARE, own_share)].into();
        let shares: Option<Vec<f64>> = self.shares.iter().copied().collect();
        let least = shares.and_then(|shares| (0..shares.len()).min_by(|a, b| shares[*a].total_cmp(&shares[*b])));
        if let Some(slowest) = least {
            values.set(MetricId::SLOWEST_RANK, slowest as f64);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_the_order_of_ranks_and_differ_by_one() {
        for (count, size) in [(0, 1), (7, 3), (8, 4), (2, 5), (1000, 7)] {
            let mut end = 0;
            for rank in 0..size {
                let part =
                    Group { rank, size, divides_optimizer: false, backend: Backend::Gloo, link: None }.part(count);
                assert_eq!(part.start, end);
                assert!((count / size..=count.div_ceil(size)).contains(&part.len()), "{count} {size}");
                end = part.end;
            }
            assert_eq!(end, count);
        }
    }

    #[test]
    fn optimizer_parts_are_equal_and_the_last_rank_has_the_rest() {
        for (count, size) in [(0, 2), (7, 3), (8, 4), (2, 5), (1000, 7)] {
            let of = |rank, divides_optimizer| {
                Group { rank, size, divides_optimizer, backend: Backend::Gloo, link: None }.optimized(count)
            };
            let parts: Vec<_> = (0..size).map(|rank| of(rank, true)).collect();
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].len() == count / size));
            assert_eq!((parts[0].start, parts[size - 1].end), (0, count));
            assert_eq!(of(0, false), 0..count);
        }
    }
}
