//! How long libtorch's threads wait for each other before they sleep.
//!
//! Each product of matrices is shared among OpenMP's threads, some twenty times a step, and those that are through wait
//! for the others in a loop, for some milliseconds. On a machine of its own that is the fastest way. Beside other work it
//! is by far the slowest: a thread that was interrupted waits for a processor while the others use it up for their
//! waiting.
//!
//! GNU's OpenMP, which is that of PyTorch on Linux, waits for some 20 to 50 µs only as long as the process has more of its
//! threads than there are processors. So while others use the processors, one more thread of ours keeps a team of its own,
//! which does nothing. The number of threads that share a product stays, and so does each bit. Where somebody has set
//! `OMP_WAIT_POLICY` or `GOMP_SPINCOUNT`, that holds as far as it is shorter.

use std::fs;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tch::{Device, Kind, Tensor};

/// Between two looks at what else the machine does.
const LOOK: Duration = Duration::from_secs(1);
/// What others use of one processor from which on threads sleep soon.
const CROWDED: f64 = 0.15;
/// Looks in a row with less than that until threads wait for long again.
const QUIET: u32 = 5;

/// A thread that lasts until this is dropped.
struct Helper {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    /// None where the system has no more threads.
    fn begin(name: &str, work: impl FnOnce(&Receiver<()>) + Send + 'static) -> Option<Helper> {
        let (end, ended) = mpsc::channel();
        let thread = Builder::new().name(name.to_owned()).spawn(move || work(&ended)).ok()?;
        Some(Helper { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

/// Watches what else the machine does, and lets threads sleep soon while that is much, until this is dropped. Elsewhere
/// than on Linux libtorch has other threads, and nothing is done.
pub(super) struct Waiting {
    _watch: Option<Helper>,
}

impl Waiting {
    pub(super) fn adapt() -> Waiting {
        Waiting { _watch: if cfg!(target_os = "linux") { Helper::begin("waiting", watch) } else { None } }
    }
}

fn watch(ended: &Receiver<()>) {
    let (mut before, mut team, mut quiet) = (Ticks::now(), None, 0);
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let now = Ticks::now();
        let others = before.zip(now).map_or(0.0, |(before, now)| now.others_since(&before));
        before = now;
        quiet = if others > CROWDED { 0 } else { quiet + 1 };
        if quiet == 0 {
            team = team.or_else(|| Helper::begin("crowded", keep_team));
        } else if quiet >= QUIET {
            team = None;
        }
    }
}

/// Has a team of OpenMP's threads until the end: the first large operation of a thread makes one.
fn keep_team(ended: &Receiver<()>) {
    let _ = Tensor::f_ones([1 << 20], (Kind::Float, Device::Cpu)).and_then(|ones| ones.f_exp());
    // Only the end comes.
    let _ = ended.recv();
}

/// Time of processors that was used since the machine was started, in the system's ticks.
#[derive(Clone, Copy)]
struct Ticks {
    /// By whomever, and not at all.
    busy: f64,
    idle: f64,
    /// By this process.
    own: f64,
    processors: f64,
}

impl Ticks {
    fn now() -> Option<Ticks> {
        let machine = fs::read_to_string("/proc/stat").ok()?;
        let of_all = machine.lines().next()?.strip_prefix("cpu ")?;
        let of_all: Vec<f64> = of_all.split_whitespace().map_while(|ticks| ticks.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; what follows is counted in them.
        let &[user, nice, system, idle, iowait, irq, softirq, steal] = of_all.first_chunk()?;
        let is_processor = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
        let process = fs::read_to_string("/proc/self/stat").ok()?;
        // The name, in brackets, may hold anything. `utime` and `stime` are fields 14 and 15.
        let mut fields = process.rsplit_once(')')?.1.split_whitespace().skip(11).map(str::parse::<f64>);
        Some(Ticks {
            busy: user + nice + system + irq + softirq + steal,
            idle: idle + iowait,
            own: fields.next()?.ok()? + fields.next()?.ok()?,
            processors: machine.lines().filter(is_processor).count() as f64,
        })
    }

    /// How many processors' time others have used.
    fn others_since(&self, before: &Ticks) -> f64 {
        let busy = self.busy - before.busy;
        let all = busy + self.idle - before.idle;
        if all > 0.0 { (busy - (self.own - before.own)) / all * self.processors } else { 0.0 }
    }
}
