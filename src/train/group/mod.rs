//! The processes of a data-parallel training, on libtorch's c10d.
//!
//! Each process has the whole model, computes the gradients of its part of a step's batch, and takes the same step with
//! their sum. Rank 0 leads: it writes the run and decides what is done; the others follow ([`Order`]).

mod c10d;
mod local;
mod place;
mod watch;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tch::{Device, Tensor};

pub use self::c10d::Bind;
use self::c10d::{C10dError, Operation, ProcessGroup, Store};
pub use self::local::{LocalProcesses, StartError};
pub use self::place::{Place, PlaceError};
use self::watch::Watch;
use super::error::TrainError;

/// The time for all processes to find each other: those of a cluster do not start at once.
const MEETING: Duration = Duration::from_secs(300);
/// The time after which c10d itself gives up an operation, where nothing else has ended the process.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The interval between two looks at the others while an operation lasts.
const LOOK: Duration = Duration::from_millis(100);

/// What rank 0 has all processes do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Step,
    Evaluate,
    /// Put the parts of the optimizer's memory together.
    Gather,
    End,
}

impl Order {
    const ALL: [Order; 4] = [Order::Step, Order::Evaluate, Order::Gather, Order::End];
}

/// The processes of a training, or a single one.
#[derive(Debug)]
pub struct Group {
    rank: usize,
    size: usize,
    /// Whether each process keeps the optimizer's memory for a part of the parameters only, and steps these.
    divides_optimizer: bool,
    link: Option<Link>,
}

/// The connections to the other processes.
#[derive(Debug)]
struct Link {
    group: ProcessGroup,
    store: Arc<Store>,
    watch: Watch,
    patience: Duration,
    /// When the last operation ended.
    ended: Mutex<Instant>,
}

fn lost(why: String) -> TrainError {
    TrainError::Lost(why)
}

impl Group {
    /// A process without others.
    pub fn alone() -> Group {
        Group { rank: 0, size: 1, divides_optimizer: false, link: None }
    }

    /// Meets the other processes. A process that does not answer for `patience` ends the training, and one that does not
    /// come to the end of its part of a step for that and twice the time that another has taken for its own. Rank 0 says whether the optimizer's memory is divided.
    ///
    /// # Errors
    ///
    /// Where they do not all come.
    pub fn join(mut place: Place, patience: Duration, divides_optimizer: bool) -> Result<Group, TrainError> {
        let Place { rank, size, .. } = place;
        let mut open = |prefix: &str| {
            let listener = place.listener.take();
            let opened = Store::open(&place.host, place.port, listener, &format!("{}/{prefix}", place.prefix), MEETING);
            opened.map_err(|C10dError(error)| {
                let (host, port) = (&place.host, place.port);
                lost(format!("the processes meet at {host}:{port}, and that is not reached: {error}"))
            })
        };
        let (store, beats) = (Arc::new(open("group")?), open("watch")?);
        let last_words = Arc::new(open("watch")?);
        let failed = |C10dError(error)| lost(format!("cannot join the other processes: {error}"));
        meet(&store, rank, size)?;
        let group = ProcessGroup::join(&store, rank, size, &place.bind, LONGEST).map_err(failed)?;
        let watch = Watch::begin(beats, last_words, rank, size, patience);
        let link = Link { group, store, watch, patience, ended: Mutex::new(Instant::now()) };
        let mut group = Group { rank, size, divides_optimizer: false, link: Some(link) };
        let said = group.share_text("divides_optimizer", if divides_optimizer { "yes" } else { "no" })?;
        group.divides_optimizer = said == "yes";
        Ok(group)
    }

    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of processes.
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

    /// This process's part of `count` things: parts differ by one at most, and follow each other in the order of ranks.
    pub fn part(&self, count: usize) -> Range<usize> {
        let start = |rank: usize| count * rank / self.size;
        start(self.rank)..start(self.rank + 1)
    }

    /// The elements, of so many, for which this process keeps the optimizer's memory, and which it steps: where they are
    /// divided, as many for each process, and the rest for the last one.
    pub fn optimized(&self, count: usize) -> Range<usize> {
        if !self.divides_optimizer {
            return 0..count;
        }
        let each = count / self.size;
        let end = if self.rank + 1 == self.size { count } else { (self.rank + 1) * each };
        self.rank * each..end
    }

    pub fn divides_optimizer(&self) -> bool {
        self.divides_optimizer
    }

    /// Gives all processes the elements of a flat tensor that each has ([`Group::optimized`]). Nothing is done where each has
    /// all.
    pub fn gather(&self, tensor: &mut Tensor) -> Result<(), TrainError> {
        let Some(link) = self.link.as_ref().filter(|_| self.divides_optimizer) else { return Ok(()) };
        on_host(tensor, |tensor| {
            let count = tensor.size1()?;
            let (rank, size) = (self.rank as i64, self.size as i64);
            let each = count / size;
            if each > 0 {
                let mut even = tensor.f_narrow(0, 0, each * size)?;
                // A copy, as the whole is written while the part is read.
                let mut own = even.f_narrow(0, each * rank, each)?.f_detach_copy()?;
                link.complete(link.group.gather(&mut even, &mut own), Some(link.patience))?;
            }
            let mut rest = tensor.f_narrow(0, each * size, count - each * size)?;
            if count == each * size {
                return Ok(());
            }
            link.complete(link.group.send(&mut rest, self.size - 1), Some(link.patience))
        })
    }

    /// Replaces a tensor by its sum over all processes, the same bits for all of them.
    pub fn sum(&self, tensor: &mut Tensor) -> Result<(), TrainError> {
        let Some(link) = &self.link else { return Ok(()) };
        on_host(tensor, |tensor| link.complete(link.group.sum(tensor), Some(link.patience)))
    }

    /// Replaces a tensor by that of rank 0.
    pub fn share(&self, tensor: &mut Tensor) -> Result<(), TrainError> {
        let Some(link) = &self.link else { return Ok(()) };
        // The others wait while rank 0 makes what it shares.
        on_host(tensor, |tensor| link.complete(link.group.send(tensor, 0), None))
    }

    /// Replaces a text by that of rank 0, which gives it under a key.
    pub fn share_text(&self, key: &str, text: &str) -> Result<String, TrainError> {
        let Some(link) = &self.link else { return Ok(text.to_owned()) };
        let failed = |C10dError(error)| link.failed(&error);
        if self.leads() {
            link.store.set(key, text).map_err(failed)?;
            return Ok(text.to_owned());
        }
        loop {
            if let Some(text) = link.store.get(key).map_err(failed)? {
                return Ok(text);
            }
            if let Some(trouble) = link.watch.trouble() {
                return Err(lost(trouble));
            }
            thread::sleep(LOOK);
        }
    }

    /// Rank 0 tells all processes what to do next, and each whether it was asked to stop: returns the order, and whether any
    /// was.
    pub fn order(&self, order: Order, is_asked_to_stop: bool) -> Result<(Order, bool), TrainError> {
        let Some(link) = &self.link else { return Ok((order, is_asked_to_stop)) };
        let index = Order::ALL.iter().position(|other| *other == order).expect("it is one of all");
        let own = if self.leads() { index as i64 } else { 0 };
        let mut numbers = Tensor::f_from_slice(&[own, i64::from(is_asked_to_stop)])?;
        // The others wait for as long as rank 0 has other things to do.
        link.complete(link.group.sum(&mut numbers), None)?;
        let numbers = Vec::<i64>::try_from(&numbers)?;
        let order = usize::try_from(numbers[0]).ok().and_then(|index| Order::ALL.get(index));
        let order = order.ok_or_else(|| lost(format!("rank 0 gave an order that is none: {}", numbers[0])))?;
        Ok((*order, numbers[1] > 0))
    }

    /// Seconds for which each process has waited for the others so far, as far as rank 0 knows.
    pub fn waited_s(&self) -> Vec<f64> {
        self.link.as_ref().map_or_else(Vec::new, |link| link.watch.waited_s())
    }

    /// Tells the other processes why this one ends; without a reason, all have come to the end.
    pub fn end(&self, why: Option<&str>) {
        let Some(link) = &self.link else { return };
        match why {
            Some(why) => link.watch.end(why),
            None => link.watch.rest(),
        }
    }
}

/// Waits until all processes are there.
fn meet(store: &Store, rank: usize, size: usize) -> Result<(), TrainError> {
    let failed = |C10dError(error)| lost(format!("the store where the processes meet is lost: {error}"));
    store.set(&format!("here/{rank}"), "").map_err(failed)?;
    let begun = Instant::now();
    for other in 0..size {
        while store.get(&format!("here/{other}")).map_err(failed)?.is_none() {
            if begun.elapsed() > MEETING {
                let seconds = MEETING.as_secs();
                return Err(lost(format!("rank {other} of {size} processes did not come within {seconds} s")));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

/// Does the work with a tensor, or with a copy of it in the processor's memory, which Gloo needs.
fn on_host(tensor: &mut Tensor, work: impl FnOnce(&mut Tensor) -> Result<(), TrainError>) -> Result<(), TrainError> {
    if tensor.device() == Device::Cpu && tensor.is_contiguous() {
        return work(tensor);
    }
    let mut host = tensor.f_to_device(Device::Cpu)?.f_contiguous()?;
    work(&mut host)?;
    Ok(tensor.f_copy_(&host)?)
}

impl Link {
    /// Waits for an operation, and looks at the other processes meanwhile. They may take longer than this one, as their
    /// parts of a step can be larger.
    fn complete(
        &self,
        operation: Result<Operation<'_>, C10dError>,
        patience: Option<Duration>,
    ) -> Result<(), TrainError> {
        self.watch.begin_operation();
        let begun = Instant::now();
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = patience.map(|patience| patience + 2 * ended.elapsed());
        let operation = operation.map_err(|C10dError(error)| self.failed(&error))?;
        while !operation.wait(LOOK).map_err(|C10dError(error)| self.failed(&error))? {
            if let Some(trouble) = self.watch.trouble() {
                return Err(lost(trouble));
            }
            if patience.is_some_and(|patience| begun.elapsed() > patience) {
                return Err(lost(self.watch.late()));
            }
        }
        *ended = Instant::now();
        self.watch.add_wait(begun.elapsed());
        Ok(())
    }

    fn failed(&self, error: &str) -> TrainError {
        lost(self.watch.inquire(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_differ_by_one() {
        for (count, size) in [(0, 1), (7, 3), (8, 4), (2, 5), (1000, 7)] {
            let mut end = 0;
            for rank in 0..size {
                let part = Group { rank, size, divides_optimizer: false, link: None }.part(count);
                assert_eq!(part.start, end);
                assert!((count / size..=count.div_ceil(size)).contains(&part.len()), "{count} {size}");
                end = part.end;
            }
            assert_eq!(end, count);
        }
    }

    #[test]
    fn parts_of_the_optimizer_are_equally_long_and_the_last_has_the_rest() {
        for (count, size) in [(0, 2), (7, 3), (8, 4), (2, 5), (1000, 7)] {
            let of = |rank, divides_optimizer| Group { rank, size, divides_optimizer, link: None }.optimized(count);
            let parts: Vec<_> = (0..size).map(|rank| of(rank, true)).collect();
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].len() == count / size));
            assert_eq!((parts[0].start, parts[size - 1].end), (0, count));
            assert_eq!(of(0, false), 0..count);
        }
    }
}
