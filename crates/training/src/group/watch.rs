//! Watches the processes of a training: each says in the store once a second that it lives, and how far it is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use valleyscope_runs::host;

use super::c10d::{C10dError, Store};
use crate::error::TrainError;

/// The interval between two beats.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// A process whose connections are lost and that was not heard from for so long has ended.
const SILENT: Duration = Duration::from_secs(4);
/// The time for finding out why a connection was lost.
const INQUIRY: Duration = Duration::from_secs(12);
/// The time for saying something to a store, which nobody else does where it does not answer.
const SAYING: Duration = Duration::from_secs(2);
/// The key under which the leader says why the training ends.
pub(super) const TROUBLE: &str = "trouble";

/// For how long a process has waited for others, in seconds, at some time of its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    pub waited_s: f64,
    pub at_s: f64,
}

/// What a process says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Beat {
    host: String,
    pid: u32,
    /// Grows with each beat.
    count: u64,
    /// Operations with the others that it has begun.
    operations: u64,
    /// For how long it has waited for the others within steps.
    wait: Wait,
    /// Why it ends, where it does.
    last_words: Option<String>,
}

/// The last beat of a process, and when it came.
#[derive(Clone, Debug)]
struct Heard {
    beat: Option<Beat>,
    at: Instant,
}

#[derive(Debug)]
struct Board {
    /// All processes for the leader, which knows of all, and rank 0 for the others.
    heard: Vec<Heard>,
    /// Whether all have come, so that one that says nothing is missed.
    expects_all: bool,
    /// When the store answered last.
    answered: Instant,
    /// Why the training ends.
    trouble: Option<String>,
}

/// What the threads of this process share.
#[derive(Debug)]
struct Shared {
    begun: Instant,
    rank: usize,
    size: usize,
    patience: Duration,
    operations: AtomicU64,
    waited_us: AtomicU64,
    last_words: Mutex<Option<String>>,
    /// Held while a beat is made and said, so that none takes the place of a later one.
    speaking: Mutex<()>,
    board: Mutex<Board>,
    ends: AtomicBool,
}

/// The watch of a process over the others.
#[derive(Debug)]
pub(super) struct Watch {
    shared: Arc<Shared>,
    store: Arc<Store>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Begins to watch: `own` is a connection for its thread alone, which may be blocked by a store that does not answer,
    /// and `store` one for the last words.
    pub(super) fn begin(own: Store, store: Arc<Store>, rank: usize, size: usize, patience: Duration) -> Watch {
        let heard = Heard { beat: None, at: Instant::now() };
        let heard = vec![heard; if rank == 0 { size } else { 1 }];
        let board = Board { heard, expects_all: false, answered: Instant::now(), trouble: None };
        let shared = Arc::new(Shared {
            begun: Instant::now(),
            rank,
            size,
            patience,
            operations: AtomicU64::new(0),
            waited_us: AtomicU64::new(0),
            last_words: Mutex::new(None),
            speaking: Mutex::new(()),
            board: Mutex::new(board),
            ends: AtomicBool::new(false),
        });
        let beating = Arc::clone(&shared);
        thread::spawn(move || beating.beat(&own));
        Watch { shared, store }
    }

    /// From now on all processes are expected to beat.
    pub(super) fn begin_to_expect_all(&self) {
        let mut board = locked(&self.shared.board);
        board.expects_all = true;
        for heard in board.heard.iter_mut().filter(|heard| heard.beat.is_none()) {
            heard.at = Instant::now();
        }
    }

    /// Counts an operation with the others.
    pub(super) fn begin_operation(&self) {
        self.shared.operations.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the time for which this process has waited for others.
    pub(super) fn add_wait(&self, waited: Duration) {
        self.shared.waited_us.fetch_add(waited.as_micros() as u64, Ordering::Relaxed);
    }

    /// For how long each process has waited for the others, as far as the leader has heard.
    pub(super) fn waits(&self) -> Vec<Wait> {
        let board = locked(&self.shared.board);
        let heard = board.heard.iter().skip(1);
        let others = heard.map(|heard| heard.beat.as_ref().map_or_else(Wait::default, |beat| beat.wait));
        std::iter::once(self.shared.wait()).chain(others).collect()
    }

    /// Whether the training may go on.
    pub(super) fn check(&self) -> Result<(), TrainError> {
        self.trouble().map_or(Ok(()), |trouble| Err(TrainError::Lost(trouble)))
    }

    /// Why the training must end, if it must.
    fn trouble(&self) -> Option<String> {
        self.shared.trouble()
    }

    /// Who holds up an operation in which this process has waited for so long.
    pub(super) fn late(&self, waited: Duration) -> String {
        let seconds = waited.as_secs();
        let own = self.shared.operations.load(Ordering::Relaxed);
        let late = {
            let board = locked(&self.shared.board);
            let late = board.heard.iter().enumerate().skip(1);
            let late = late.filter(|(_, heard)| heard.beat.as_ref().is_none_or(|beat| beat.operations < own));
            late.map(|(rank, heard)| named(rank, heard)).collect::<Vec<_>>()
        };
        match (self.shared.rank, &late[..]) {
            (0, [_, ..]) => {
                format!("{} did not come to the end of a step's part, {seconds} s after the others", late.join(" and "))
            }
            (0, []) => format!("an exchange between the processes took more than {seconds} s, for all of them"),
            _ => self.inquire(&format!(
                "the other processes did not come to the end of a step's part, {seconds} s after this one"
            )),
        }
    }

    /// Why a connection to others was lost, as far as it can be found out.
    pub(super) fn inquire(&self, error: &str) -> String {
        let begun = Instant::now();
        while begun.elapsed() < INQUIRY {
            if let Some(trouble) = self.trouble() {
                return trouble;
            }
            let board = locked(&self.shared.board);
            let silent = board.heard.iter().enumerate().skip(usize::from(self.shared.rank == 0));
            let silent = silent.filter(|(_, heard)| heard.at.elapsed() > SILENT);
            let silent: Vec<String> = silent.map(|(rank, heard)| named(rank, heard)).collect();
            if !silent.is_empty() {
                return format!("{} ended, or lost its connection ({error})", silent.join(" and "));
            }
            drop(board);
            thread::sleep(Duration::from_millis(100));
        }
        format!("a connection between the processes was lost, and all of them still answer ({error})")
    }

    /// Says why this process ends, to the others too: the leader for all, another for itself.
    pub(super) fn end(&self, why: &str) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if self.shared.rank == 0 {
            let (store, why) = (Arc::clone(&self.store), why.to_owned());
            briefly(SAYING, move || store.set(TROUBLE, &why));
            return;
        }
        // What the leader has found out is known to all.
        if self.trouble().is_none() {
            *locked(&self.shared.last_words) = Some(why.to_owned());
            let (shared, store) = (Arc::clone(&self.shared), Arc::clone(&self.store));
            briefly(SAYING, move || shared.say_beat(&store, u64::MAX));
        }
    }

    /// Ends without complaint: the training has ended for all.
    pub(super) fn rest(&self) {
        self.shared.ends.store(true, Ordering::Relaxed);
    }
}

/// Does work that may block in a thread of its own, which is left behind after a time.
pub(super) fn briefly<V: Send + 'static>(limit: Duration, work: impl FnOnce() -> V + Send + 'static) {
    let working = thread::spawn(work);
    let begun = Instant::now();
    while !working.is_finished() && begun.elapsed() < limit {
        thread::sleep(Duration::from_millis(10));
    }
}

fn key(rank: usize) -> String {
    format!("beat/{rank}")
}

/// A rank, and the process that has it.
fn named(rank: usize, heard: &Heard) -> String {
    match &heard.beat {
        Some(Beat { host, pid, .. }) => format!("rank {rank} (process {pid} on {host})"),
        None => format!("rank {rank}"),
    }
}

impl Shared {
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
            last_words: locked(&self.last_words).clone(),
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

    fn say_beat(&self, store: &Store, count: u64) -> Result<(), C10dError> {
        let _speaking = locked(&self.speaking);
        let beat = serde_json::to_string(&self.own_beat(count)).expect("a beat is plain text");
        store.set(&key(self.rank), &beat)
    }

    /// Says what there is to say, and reads what the others have said.
    fn exchange(&self, store: &Store, count: u64) -> Result<(), C10dError> {
        self.say_beat(store, count)?;
        let ranks = if self.rank == 0 { 1..self.size } else { 0..1 };
        for rank in ranks {
            let said = store.get(&key(rank))?;
            let beat: Option<Beat> = said.and_then(|said| serde_json::from_str(&said).ok());
            let mut board = locked(&self.board);
            let heard = &mut board.heard[rank];
            if heard.beat != beat {
                *heard = Heard { beat, at: Instant::now() };
            }
        }
        let trouble = store.get(TROUBLE)?;
        let mut board = locked(&self.board);
        board.answered = Instant::now();
        board.trouble = board.trouble.take().or(trouble);
        Ok(())
    }

    fn trouble(&self) -> Option<String> {
        let seconds = self.patience.as_secs();
        let mut board = locked(&self.board);
        let watched = board.heard.iter().enumerate().skip(usize::from(self.rank == 0));
        let found = watched.clone().find_map(|(rank, heard)| {
            let last_words = heard.beat.as_ref()?.last_words.as_ref()?;
            Some(format!("{} ended: {last_words}", named(rank, heard)))
        });
        let silent = || {
            let is_expected = |heard: &Heard| board.expects_all || heard.beat.is_some();
            let silent = watched.filter(|(_, heard)| is_expected(heard) && heard.at.elapsed() > self.patience);
            let silent: Vec<String> = silent.map(|(rank, heard)| named(rank, heard)).collect();
            let many = (!silent.is_empty()).then(|| silent.join(" and "))?;
            Some(format!("{many} did not answer for {seconds} s: it was stopped, or has lost its network"))
        };
        let mute = || {
            let is_mute = board.answered.elapsed() > self.patience;
            is_mute.then(|| format!("the store where the processes meet did not answer for {seconds} s"))
        };
        // Rank 0 has the store, and is named first.
        let trouble = board.trouble.clone().or(found).or_else(silent).or_else(mute);
        board.trouble.clone_from(&trouble);
        trouble
    }
}
