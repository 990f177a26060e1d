//! Limits the time for which libtorch's threads spin before they sleep.
//!
//! OpenMP's threads share each matrix product, some twenty times a step, and a thread that has finished spins for some
//! milliseconds until the others have. On an otherwise idle machine that is fastest. Beside other work it is by far the
//! slowest: an interrupted thread waits for a processor while the others use it up by spinning.
//!
//! GNU OpenMP, which PyTorch uses on Linux, spins only for some 20 to 50 µs while the process has more of its threads
//! than there are processors. So while other processes use the processors, one more thread of ours keeps an idle team
//! of its own. The number of threads that share a product stays constant, and so does every bit of the results. A
//! shorter time set by `OMP_WAIT_POLICY` or `GOMP_SPINCOUNT` still applies.

use std::fs;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tch::{Device, Kind, Tensor};

/// The interval between two measurements of the load by other processes.
const LOOK: Duration = Duration::from_secs(1);
/// The use of one processor by other processes above which threads sleep soon.
const CROWDED: f64 = 0.15;
/// The number of consecutive measurements below that after which threads spin for long again.
const QUIET: u32 = 5;

/// A thread that ends when this is dropped.
struct Helper {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    /// Starts the thread; None if the system has no more threads.
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
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}

/// Measures the load by other processes, and lets threads sleep soon while it is high, until this is dropped. Does
/// nothing on systems other than Linux, where libtorch has other threads.
pub(super) struct ThreadSpin {
    _watch: Option<Helper>,
}

impl ThreadSpin {
    pub(super) fn adapt() -> ThreadSpin {
        ThreadSpin { _watch: if cfg!(target_os = "linux") { Helper::begin("waiting", watch) } else { None } }
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

/// Keeps a team of OpenMP's threads until the end: the first large operation of a thread creates one.
fn keep_team(ended: &Receiver<()>) {
    let _ = Tensor::f_ones([1 << 20], (Kind::Float, Device::Cpu)).and_then(|ones| ones.f_exp());
    // Closing the channel is the only message.
    let _ = ended.recv();
}

/// Processor time used since the machine was started, in the system's ticks.
#[derive(Clone, Copy)]
struct Ticks {
    /// The ticks of all processes, idle ones included.
    busy: f64,
    idle: f64,
    /// The ticks of this process.
    own: f64,
    processors: f64,
}

impl Ticks {
    fn now() -> Option<Ticks> {
        let machine = fs::read_to_string("/proc/stat").ok()?;
        let of_all = machine.lines().next()?.strip_prefix("cpu ")?;
        let of_all: Vec<f64> = of_all.split_whitespace().map_while(|ticks| ticks.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; the later fields are included in these.
        let &[user, nice, system, idle, iowait, irq, softirq, steal] = of_all.first_chunk()?;
        let is_processor = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
        let process = fs::read_to_string("/proc/self/stat").ok()?;
        // The name, in brackets, may contain anything. `utime` and `stime` are fields 14 and 15.
        let mut fields = process.rsplit_once(')')?.1.split_whitespace().skip(11).map(str::parse::<f64>);
        Some(Ticks {
            busy: user + nice + system + irq + softirq + steal,
            idle: idle + iowait,
            own: fields.next()?.ok()? + fields.next()?.ok()?,
            processors: machine.lines().filter(is_processor).count() as f64,
        })
    }

    /// Returns the number of processors that other processes have used on average.
    fn others_since(&self, before: &Ticks) -> f64 {
        let busy = self.busy - before.busy;
        let all = busy + self.idle - before.idle;
        if all > 0.0 { (busy - (self.own - before.own)) / all * self.processors } else { 0.0 }
    }
}
