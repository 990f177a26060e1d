//! Watches the processes of a training: each reports to the store once a second that it is alive, and its progress.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use valleyscope_runs::host;

use super::c10d::Store;
use crate::error::TrainError;

/// The interval between two reports.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// The silence after which a process whose connection was lost counts as ended.
const SILENT: Duration = Duration::from_secs(4);
/// The time limit for finding out why a connection was lost.
const INQUIRY_TIMEOUT: Duration = Duration::from_secs(12);
/// The time limit for a final message to the store, which may not answer.
const FINAL_MESSAGE_TIMEOUT: Duration = Duration::from_secs(2);
/// The key under which rank 0 stores why the training ends.
pub(super) const FAILURE: &str = "trouble";

/// The time for which a process has waited for others, in seconds, at a time of the process's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    pub waited_s: f64,
    pub at_s: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Beat {
    host: String,
    pid: u32,
    /// The number of reports so far.
    count: u64,
    /// Operations with the others that the process has begun.
    operations: u64,
    /// The time for which the process has waited for the others within steps.
    wait: Wait,
    /// The reason why the process ends, if it does.
    final_message: Option<String>,
}

/// The last report of a process, and when it arrived.
#[derive(Clone, Debug)]
struct LastBeat {
    beat: Option<Beat>,
    at: Instant,
}

#[derive(Debug)]
struct Board {
    /// The last reports: of all processes on rank 0, of rank 0 on the others.
    last: Vec<LastBeat>,
    /// Whether all ranks have joined; from then on silence is a failure.
    expects_all: bool,
    /// The time of the store's last answer.
    answered: Instant,
    /// Why the training ends.
    failure: Option<String>,
}

#[derive(Debug)]
pub(super) struct Watch {
    /// The connection for a final message.
    store: Store,
    begun: Instant,
    rank: usize,
    size: usize,
    patience: Duration,
    operations: AtomicU64,
    waited_us: AtomicU64,
    final_message: Mutex<Option<String>>,
    /// Held while a report is made and sent, so that no report replaces a later one.
    report_lock: Mutex<()>,
    board: Mutex<Board>,
    ends: AtomicBool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Starts to watch. `own` is a connection for the watch's thread alone, which may block on a store that does not
    /// answer; `store` is the connection for a final message.
    pub(super) fn begin(own: Store, store: Store, rank: usize, size: usize, patience: Duration) -> Arc<Watch> {
        let last = LastBeat { beat: None, at: Instant::now() };
        let last = vec![last; if rank == 0 { size } else { 1 }];
        let board = Board { last, expects_all: false, answered: Instant::now(), failure: None };
        let watch = Arc::new(Watch {
            store,
            begun: Instant::now(),
            rank,
            size,
            patience,
            operations: AtomicU64::new(0),
            waited_us: AtomicU64::new(0),
            final_message: Mutex::new(None),
            report_lock: Mutex::new(()),
            board: Mutex::new(board),
            ends: AtomicBool::new(false),
        });
        let beating = Arc::clone(&watch);
        thread::spawn(move || beating.beat(&own));
        watch
    }

    /// Expects reports of all processes from now on.
    pub(super) fn begin_to_expect_all(&self) {
        let mut board = locked(&self.board);
        board.expects_all = true;
        for last in board.last.iter_mut().filter(|last| last.beat.is_none()) {
            last.at = Instant::now();
        }
    }

    pub(super) fn begin_operation(&self) {
        self.operations.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds to the time for which this process has waited for others.
    pub(super) fn add_wait(&self, waited: Duration) {
        self.waited_us.fetch_add(waited.as_micros() as u64, Ordering::Relaxed);
    }

    pub(super) fn waits(&self) -> Vec<Wait> {
        let board = locked(&self.board);
        let last = board.last.iter().skip(1);
        let others = last.map(|last| last.beat.as_ref().map_or_else(Wait::default, |beat| beat.wait));
        std::iter::once(self.wait()).chain(others).collect()
    }

    pub(super) fn check(&self) -> Result<(), TrainError> {
        self.failure().map_or(Ok(()), |failure| Err(TrainError::Lost(failure)))
    }

    /// Describes which processes delay an operation in which this process has waited for this time.
    pub(super) fn describe_delay(&self, waited: Duration) -> String {
        let seconds = waited.as_secs();
        let own = self.operations.load(Ordering::Relaxed);
        let late = {
            let board = locked(&self.board);
            let late = board.last.iter().enumerate().skip(1);
            let late = late.filter(|(_, last)| last.beat.as_ref().is_none_or(|beat| beat.operations < own));
            late.map(|(rank, last)| named(rank, last)).collect::<Vec<_>>()
        };
        match (self.rank, &late[..]) {
            (0, [_, ..]) => {
                format!("{} did not finish its part of a step within {seconds} s after the others", late.join(" and "))
            }
            (0, []) => format!("an exchange between all processes took more than {seconds} s"),
            _ => self.explain_lost_connection(&format!(
                "the other processes did not finish their parts of a step within {seconds} s after this one"
            )),
        }
    }

    /// Describes why a connection to others was lost, as far as it can be determined.
    pub(super) fn explain_lost_connection(&self, error: &str) -> String {
        let begun = Instant::now();
        while begun.elapsed() < INQUIRY_TIMEOUT {
            if let Some(failure) = self.failure() {
                return failure;
            }
            let board = locked(&self.board);
            let silent = board.last.iter().enumerate().skip(usize::from(self.rank == 0));
            let silent = silent.filter(|(_, last)| last.at.elapsed() > SILENT);
            let silent: Vec<String> = silent.map(|(rank, last)| named(rank, last)).collect();
            if !silent.is_empty() {
                return format!("{} ended, or lost its connection ({error})", silent.join(" and "));
            }
            drop(board);
            thread::sleep(Duration::from_millis(100));
        }
        format!("a connection between the processes was lost, and all of them still answer ({error})")
    }

    /// Reports why this process ends: rank 0 for all processes, another rank for itself.
    pub(super) fn end(self: &Arc<Self>, why: &str) {
        self.ends.store(true, Ordering::Relaxed);
        if self.rank == 0 {
            let (watch, why) = (Arc::clone(self), why.to_owned());
            run_with_timeout(FINAL_MESSAGE_TIMEOUT, move || watch.store.set(FAILURE, &why));
            return;
        }
        // A failure that rank 0 has found is reported already.
        if self.failure().is_none() {
            *locked(&self.final_message) = Some(why.to_owned());
            let watch = Arc::clone(self);
            run_with_timeout(FINAL_MESSAGE_TIMEOUT, move || watch.say_beat(&watch.store, u64::MAX));
        }
    }

    /// Stops watching without a report, as the training has ended for all.
    pub(super) fn rest(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// Runs work that may block in a separate thread, which is abandoned after a time.
pub(super) fn run_with_timeout<V: Send + 'static>(limit: Duration, work: impl FnOnce() -> V + Send + 'static) {
    let working = thread::spawn(work);
    let begun = Instant::now();
    while !working.is_finished() && begun.elapsed() < limit {
        thread::sleep(Duration::from_millis(10));
    }
}

fn key(rank: usize) -> String {
    format!("beat/{rank}")
}

/// Names a rank, with its process if it has reported one.
fn named(rank: usize, last: &LastBeat) -> String {
    match &last.beat {
        Some(Beat { host, pid, .. }) => format!("rank {rank} (process {pid} on {host})"),
        None => format!("rank {rank}"),
    }
}

impl Watch {
    fn wait(&self) -> Wait {
        let waited_s = self.waited_us.load(Ordering::Relaxed) as f64 * 1e-6;
        Wait { waited_s, at_s: self.begun.elapsed().as_secs_f64() }
    }

    fn own_beat(&self, count: u64) -> Beat {
        Beat {
            host: host(),
            pid: std::process::id(),
            count,
            operations: self.operations.load(Ordering::Relaxed),
            wait: self.wait(),
            final_message: locked(&self.final_message).clone(),
        }
    }

    fn beat(&self, store: &Store) {
        for count in 0.. {
            if self.ends.load(Ordering::Relaxed) {
                return;
            }
            // A failure shows as a store that does not answer.
            let _ = self.exchange(store, count);
            thread::sleep(BEAT);
        }
    }

    fn say_beat(&self, store: &Store, count: u64) -> Result<(), String> {
        let _guard = locked(&self.report_lock);
        let beat = serde_json::to_string(&self.own_beat(count)).expect("a beat is plain text");
        store.set(&key(self.rank), &beat)
    }

    /// Sends this process's report, and reads those of the others.
    fn exchange(&self, store: &Store, count: u64) -> Result<(), String> {
        self.say_beat(store, count)?;
        let ranks = if self.rank == 0 { 1..self.size } else { 0..1 };
        for rank in ranks {
            let report = store.get(&key(rank))?;
            let beat: Option<Beat> = report.and_then(|report| serde_json::from_str(&report).ok());
            let mut board = locked(&self.board);
            let last = &mut board.last[rank];
            if last.beat != beat {
                *last = LastBeat { beat, at: Instant::now() };
            }
        }
        let failure = store.get(FAILURE)?;
        let mut board = locked(&self.board);
        board.answered = Instant::now();
        board.failure = board.failure.take().or(failure);
        Ok(())
    }

    /// The reason why the training must end, if it must.
    fn failure(&self) -> Option<String> {
        let seconds = self.patience.as_secs();
        let mut board = locked(&self.board);
        let watched = board.last.iter().enumerate().skip(usize::from(self.rank == 0));
        let found = watched.clone().find_map(|(rank, last)| {
            let final_message = last.beat.as_ref()?.final_message.as_ref()?;
            Some(format!("{} ended: {final_message}", named(rank, last)))
        });
        let silent = || {
            let is_expected = |last: &LastBeat| board.expects_all || last.beat.is_some();
            let silent = watched.filter(|(_, last)| is_expected(last) && last.at.elapsed() > self.patience);
            let silent: Vec<String> = silent.map(|(rank, last)| named(rank, last)).collect();
            let many = (!silent.is_empty()).then(|| silent.join(" and "))?;
            Some(format!("{many} did not answer for {seconds} s: it was stopped, or has lost its network"))
        };
        let mute = || {
            let is_mute = board.answered.elapsed() > self.patience;
            is_mute.then(|| format!("the store where the processes meet did not answer for {seconds} s"))
        };
        // Rank 0 serves the store, and is named first.
        let failure = board.failure.clone().or(found).or_else(silent).or_else(mute);
        board.failure.clone_from(&failure);
        failure
    }
}
