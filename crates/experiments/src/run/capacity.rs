//! Comparison of a machine's memory and disk with the requirements of a training.

use std::fs;
use std::path::Path;

use valleyscope_runs::{Handshake, span};

use crate::preset::Preset;
use crate::workload::{DeviceChoice, Needs};

/// Main memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemMemory {
    pub total: u64,
    pub available: u64,
}

impl SystemMemory {
    /// Reads main memory of this machine; none where the system has no `/proc/meminfo`.
    pub fn here() -> Option<SystemMemory> {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        let bytes = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            Some(value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
        };
        Some(SystemMemory { total: bytes("MemTotal")?, available: bytes("MemAvailable")? })
    }
}

/// The resources available to a training, in bytes, where they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// The number of a CUDA device, or none for the processor.
    device: Option<u32>,
    /// The free memory of the processor, or the total memory of a GPU.
    pub memory: Option<u64>,
    /// Free disk space in the folder of runs.
    pub disk: Option<u64>,
    threads: u32,
}

/// Floating-point operations per second of a thread with AVX-512 in products of large matrices; other operations are
/// slower.
const THREAD_RATE: f64 = 6.5e10;
/// Steps on a processor that take more seconds cause a warning.
const LONG_STEP: f64 = 60.0;

/// The requirements of a training and whether they are met, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityReport {
    /// The bytes of memory that the training needs.
    pub memory: u64,
    /// The requirements, such as `needs about 1.6 GiB of memory and 1.3 GiB of disk`.
    pub needs: String,
    /// The reason why the training would not fit, with a remedy; none if it fits.
    pub lacks: Option<String>,
    /// A warning before its start.
    pub warning: Option<String>,
}

impl CapacityReport {
    /// Compares the requirements of the first run of a preset, with its folder in `runs`, with what the machine has;
    /// `None` where they are not known beforehand.
    pub fn of(training: &Preset, has: &Handshake, runs: &Path) -> Option<CapacityReport> {
        let workload = training.workload()?;
        let (needs, capacity) = (workload.needs(0)?, Capacity::measure(workload.device(), has, runs));
        let processes = if capacity.is_gpu() { 1 } else { workload.sharing().processes.get() };
        let needs = needs.of_processes(processes);
        let fits = capacity.memory.filter(|_| processes == 1);
        let fits = fits.and_then(|memory| workload.fitting(0, memory, capacity.is_gpu()));
        let with = workload.info().with_smaller_batches;
        let fits = fits.map(|fits| format!("a batch_size of at most {fits}{with}"));
        Some(CapacityReport {
            memory: needs.memory(capacity.is_gpu()),
            needs: capacity.text(&needs),
            lacks: capacity.lacks(&needs, fits.as_deref()),
            warning: capacity.warns(&needs),
        })
    }
}

impl Capacity {
    /// Measures the resources for a training on a device of the worker, with its folder in `runs`.
    pub fn measure(choice: DeviceChoice, has: &Handshake, runs: &Path) -> Capacity {
        let cards = has.devices.iter().filter(|device| device.name != "cpu");
        let device = match choice {
            DeviceChoice::Cpu => None,
            DeviceChoice::Cuda(number) => Some(number),
            DeviceChoice::Automatic => (cards.count() > 0).then_some(0),
        };
        let memory = match device {
            None => SystemMemory::here().map(|memory| memory.available),
            Some(number) => {
                let name = format!("cuda:{number}");
                has.devices.iter().find(|device| device.name == name).and_then(|device| device.memory)
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u32);
        Capacity { device, memory, disk: free_disk(runs), threads }
    }

    /// The reason why a training would not fit, with a remedy; `fits` names a `batch_size` that fits into memory, if
    /// there is one.
    pub fn lacks(&self, needs: &Needs, fits: Option<&str>) -> Option<String> {
        let is_less = |there: Option<u64>, needed: u64| there.is_some_and(|there| there < needed);
        let memory = needs.memory(self.is_gpu());
        if is_less(self.memory, memory) {
            let ([needed, there], of) = (sizes(memory, self.memory?), self.device_text());
            let batch = fits.map_or_else(String::new, |fits| format!("{fits}, "));
            return Some(format!(
                "the training needs about {needed} of memory, and {of} has {there}; take {batch}a smaller model, or \
                 another device"
            ));
        }
        if is_less(self.disk, needs.disk) {
            let [needed, there] = sizes(needs.disk, self.disk?);
            return Some(format!(
                "the training's checkpoints need about {needed} of disk, and {there} are free where its folder would be; \
                 make room, keep fewer checkpoints (keep_every), or choose another folder for runs"
            ));
        }
        None
    }

    pub fn is_gpu(&self) -> bool {
        self.device.is_some()
    }

    fn warns(&self, needs: &Needs) -> Option<String> {
        let seconds = needs.step_operations / (f64::from(self.threads) * THREAD_RATE);
        (self.device.is_none() && seconds > LONG_STEP).then(|| {
            let least = span(seconds as u64);
            format!("a step of this training takes the processor {least} or more; it is meant for a GPU")
        })
    }

    /// Formats the requirements of a training and the available resources.
    pub fn text(&self, needs: &Needs) -> String {
        let of = |needed: u64, there: Option<u64>| match there {
            Some(there) => sizes(needed, there).join(" of "),
            None => size(needed, f64::ceil),
        };
        let memory = of(needs.memory(self.is_gpu()), self.memory);
        format!("needs about {memory} of memory and {} of disk", of(needs.disk, self.disk))
    }

    fn device_text(&self) -> String {
        self.device.map_or_else(|| "this machine".to_owned(), |number| format!("cuda:{number}"))
    }
}

/// Free bytes in a folder, or in its nearest existing parent.
fn free_disk(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let there = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
        let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        let about = rustix::fs::statvfs(there).ok()?;
        Some(about.f_bavail * about.f_frsize)
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

/// Formats a requirement and the available amount. Requirements are rounded up and insufficient amounts down, so that
/// the text never contradicts the comparison.
fn sizes(needed: u64, there: u64) -> [String; 2] {
    [size(needed, f64::ceil), size(there, if there < needed { f64::floor } else { f64::ceil })]
}

fn size(bytes: u64, round: fn(f64) -> f64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    match mib {
        ..10.0 => format!("{:.1} MiB", round(mib * 10.0) / 10.0),
        ..1000.0 => format!("{} MiB", round(mib)),
        _ => format!("{:.1} GiB", round(mib / 1024.0 * 10.0) / 10.0),
    }
}
