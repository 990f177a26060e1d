//! Loops over the elements of tensors, shared among libtorch's OpenMP threads.

use std::fs;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tch::{Device, Kind, Tensor};
use valleyscope_engine::lanes::Real;

/// The number types of tensors: `f32` and `f64`.
pub(crate) trait Number:
    Real + tch::kind::Element + From<u8> + Into<f64> + PartialOrd + Send + Sync + 'static
{
    fn exp(self) -> Self;

    fn ln(self) -> Self;
}

macro_rules! number {
    ($number:ident) => {
        impl Number for $number {
            #[inline(always)]
            fn exp(self) -> Self {
                $number::exp(self)
            }

            #[inline(always)]
            fn ln(self) -> Self {
                $number::ln(self)
            }
        }
    };
}

number!(f32);
number!(f64);

/// Views the elements of a contiguous tensor in the processor's memory.
pub(crate) fn numbers<T: Number>(tensor: &Tensor) -> &[T] {
    check::<T>(tensor);
    // SAFETY: the tensor is contiguous, of this type, and on the processor; it lives as long as the slice, and
    // nothing else writes to it meanwhile: libtorch's operations end before they return.
    unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast(), tensor.numel()) }
}

/// Views the elements of a contiguous tensor in the processor's memory as a mutable slice.
pub(crate) fn numbers_mut<T: Number>(tensor: &mut Tensor) -> &mut [T] {
    check::<T>(tensor);
    // SAFETY: as in `numbers`; other views of the tensor's memory are not read meanwhile.
    unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast(), tensor.numel()) }
}

fn check<T: Number>(tensor: &Tensor) {
    let kind: Kind = T::KIND;
    assert!(tensor.device() == Device::Cpu && tensor.kind() == kind && tensor.is_contiguous());
}

/// Calls `$body` with `$number` as the number type of a tensor's kind.
macro_rules! with_number {
    ($kind:expr, $number:ident => $body:expr) => {
        match $kind {
            tch::Kind::Double => {
                type $number = f64;
                $body
            }
            _ => {
                type $number = f32;
                $body
            }
        }
    };
}

pub(crate) use with_number;

// Parallel loops over parts of a task, on libtorch's own OpenMP threads.
//
// Separate threads would compete with libtorch's, each of which spins on a processor until the next product
// ([`ThreadSpin`]). PyTorch on Linux ships GNU OpenMP, whose entry point for a parallel region is an ordinary function.
// On other systems the calling thread does all parts.

/// Runs `work` on all items, each on some thread.
pub(crate) fn share<I: Iterator<Item: Send> + Send>(items: I, work: impl Fn(I::Item) + Sync) {
    if items.size_hint().1 == Some(1) {
        return items.for_each(work);
    }
    let items = Mutex::new(items);
    let take_all = || {
        loop {
            // The lock is released before the work begins.
            let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(item) = next else { return };
            work(item);
        }
    };
    match usize::try_from(tch::get_num_threads()) {
        Ok(threads) if threads > 1 => gomp::on_threads(threads, &take_all),
        _ => take_all(),
    }
}

#[cfg(target_os = "linux")]
mod gomp {
    use std::ffi::{c_uint, c_void};
    use std::sync::OnceLock;

    use libloading::os::unix::Library;

    /// `void GOMP_parallel(void (*work)(void *), void *data, unsigned threads, unsigned flags)`: calls the work on each
    /// thread of a team that includes the caller, and returns when all have finished.
    type Parallel = unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void, c_uint, c_uint);

    /// Finds the function in libtorch's OpenMP library, if that is GNU's.
    fn parallel() -> Option<Parallel> {
        static FOUND: OnceLock<Option<Parallel>> = OnceLock::new();
        *FOUND.get_or_init(|| {
            // SAFETY: the only function of this name is that of GNU OpenMP, which has this type.
            unsafe { Library::this().get::<Parallel>(b"GOMP_parallel\0").ok().map(|found| *found) }
        })
    }

    pub(super) fn on_threads<W: Fn() + Sync>(threads: usize, work: &W) {
        /// Calls the work. A panic ends the process here, as it cannot unwind through C.
        unsafe extern "C" fn call<W: Fn() + Sync>(work: *mut c_void) {
            // SAFETY: it points to the work below, which lives until all threads have finished.
            unsafe { (*work.cast::<W>().cast_const())() }
        }
        match parallel() {
            // SAFETY: the work may be called by many threads, and outlives the call.
            Some(parallel) => unsafe {
                parallel(call::<W>, std::ptr::from_ref(work).cast_mut().cast(), threads as c_uint, 0);
            },
            None => work(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod gomp {
    pub(super) fn on_threads<W: Fn() + Sync>(_threads: usize, work: &W) {
        work();
    }
}

// Limits the time for which libtorch's threads spin before they sleep.
//
// OpenMP's threads share each matrix product, some twenty times a step, and a thread that has finished spins for some
// milliseconds until the others have. On an otherwise idle machine that is fastest. While other programs work it is by
// far the slowest: an interrupted thread waits for a processor while the others use it up by spinning.
//
// GNU OpenMP, which PyTorch uses on Linux, spins only for some 20 to 50 µs while the process has more of its threads
// than there are processors. So while other processes use the processors, one more thread of this program has an idle
// team. The number of threads that share a product stays constant, and so does every bit of the results. A shorter time
// set by `OMP_WAIT_POLICY` or `GOMP_SPINCOUNT` still applies.

const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The use of one processor by other processes above which threads sleep soon.
const HIGH_LOAD: f64 = 0.15;
/// The number of consecutive measurements below that after which threads spin for long again.
const LOW_LOAD_COUNT: u32 = 5;

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
    while ended.recv_timeout(CHECK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
        let now = Ticks::now();
        let others = before.zip(now).map_or(0.0, |(before, now)| now.others_since(&before));
        before = now;
        quiet = if others > HIGH_LOAD { 0 } else { quiet + 1 };
        if quiet == 0 {
            team = team.or_else(|| Helper::begin("crowded", hold_idle_team));
        } else if quiet >= LOW_LOAD_COUNT {
            team = None;
        }
    }
}

/// Holds an idle team of OpenMP's threads until the end: the first large operation of a thread creates one.
fn hold_idle_team(ended: &Receiver<()>) {
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

    /// The average number of processors that other processes have used since.
    fn others_since(&self, before: &Ticks) -> f64 {
        let busy = self.busy - before.busy;
        let all = busy + self.idle - before.idle;
        if all > 0.0 { (busy - (self.own - before.own)) / all * self.processors } else { 0.0 }
    }
}
