//! Devices of libtorch: choosing one, CUDA's libraries, and how busy a device is.

use std::ffi::{CStr, c_char, c_int};
use std::mem::ManuallyDrop;
use std::sync::OnceLock;

use libloading::Library;
use tch::{Cuda, Device};
use valleyscope_experiments::workload::DeviceChoice;
use valleyscope_runs as run;
use valleyscope_runs::{Handshake, MetricId, MetricInfo, MetricValues, PROTOCOL, Unit};

use super::error::TrainError;

#[derive(Debug)]
pub(crate) struct Devices {
    cuda: usize,
    problem: Option<String>,
}

/// CUDA's driver, installed with the graphics card.
const DRIVER: &str = "libcuda.so.1";
/// The version of libtorch that tch binds.
const LIBTORCH: &str = "2.11.0";
/// The CUDA version of libtorch's builds.
const CUDA: &str = "13.0";

impl Devices {
    /// Loads libtorch's CUDA backend if there is a driver for it, and lists the devices. Must be called before anything
    /// else of libtorch.
    pub(crate) fn detect() -> Devices {
        let none = |problem| Devices { cuda: 0, problem };
        match load(DRIVER) {
            // A machine without such a card needs no driver.
            Err(_) if !std::path::Path::new("/proc/driver/nvidia").exists() => return none(None),
            Err(error) => return none(Some(format!("CUDA's driver cannot be loaded: {error}; reinstall it"))),
            Ok(()) => {}
        }
        if let Err(error) = load(BACKEND) {
            let problem = format!(
                "there is a CUDA driver, but libtorch's CUDA backend cannot be loaded: {error}; install PyTorch 2.11.0 \
                 with CUDA by `cargo xtask setup`"
            );
            return none(Some(problem));
        }
        let cuda = usize::try_from(Cuda::device_count()).unwrap_or(0);
        let problem = (cuda == 0 || !Cuda::is_available()).then(|| {
            "libtorch finds no CUDA device that it can use; the driver may be older than CUDA 13 needs (580), see nvidia-smi"
                .to_owned()
        });
        Devices { cuda, problem }
    }

    pub(super) fn handshake(&self) -> Handshake {
        Handshake {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL,
            libtorch: LIBTORCH.to_owned(),
            cuda: (self.cuda > 0).then(|| CUDA.to_owned()),
            devices: self.list(),
            problem: self.problem.clone(),
        }
    }

    /// Lists all devices, the processor first.
    fn list(&self) -> Vec<run::Device> {
        let processor = run::Device { name: "cpu".to_owned(), kind: processor_name(), memory: None };
        let cards = (0..self.cuda).map(|index| {
            let (kind, memory) = card(index);
            run::Device { name: format!("cuda:{index}"), kind, memory }
        });
        std::iter::once(processor).chain(cards).collect()
    }

    /// Opens the chosen device for a process by its number among those on this machine: each has its own GPU, from the
    /// chosen one on.
    ///
    /// # Errors
    ///
    /// Fails if there is no such device.
    pub(crate) fn open(&self, choice: DeviceChoice, local_rank: usize) -> Result<Device, TrainError> {
        let first = match choice {
            DeviceChoice::Cpu => return Ok(Device::Cpu),
            DeviceChoice::Automatic if self.cuda == 0 => return Ok(Device::Cpu),
            DeviceChoice::Automatic => 0,
            DeviceChoice::Cuda(index) => index as usize,
        };
        match first + local_rank {
            index if index < self.cuda => Ok(Device::Cuda(index)),
            index if local_rank > 0 => Err(TrainError::Refused(format!(
                "expected a CUDA device for each process of this machine, found {} for process {local_rank}, counted from 0, \
                 which needs cuda:{index}; start fewer processes, or choose `device: Cpu`",
                self.cuda
            ))),
            index => {
                let found = match (self.cuda, &self.problem) {
                    (0, Some(problem)) => format!("there is none that works: {problem}"),
                    (0, None) => "this machine has none".to_owned(),
                    (count, _) => format!("this machine has {count}, counted from 0"),
                };
                Err(TrainError::Refused(format!(
                    "expected the CUDA device {index}, but {found}; choose `device: Automatic` or `device: Cpu`"
                )))
            }
        }
    }

    /// Describes a device, such as `cpu, Intel Xeon` or `cuda:0, NVIDIA H200`.
    pub(crate) fn describe(&self, device: Device) -> String {
        let index = if let Device::Cuda(index) = device { index + 1 } else { 0 };
        self.list().get(index).map_or_else(String::new, |device| format!("{}, {}", device.name, device.kind))
    }
}

fn load(library: &str) -> Result<(), String> {
    // SAFETY: the libraries' initialisers are those of CUDA and libtorch, which are designed to be loaded this way.
    match unsafe { Library::new(library) } {
        Ok(library) => {
            // The library stays loaded for the life of the process.
            std::mem::forget(library);
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn processor_name() -> String {
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        about.lines().find_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned()));
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Name and memory of a graphics card, as reported by its driver.
fn card(index: usize) -> (String, Option<u64>) {
    let query = std::process::Command::new("nvidia-smi")
        .args(["--query-gpu=name,memory.total", "--format=csv,noheader,nounits", "--id"])
        .arg(bus_id(index).unwrap_or_else(|| index.to_string()))
        .output();
    let text = query.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    match text.trim().rsplit_once(", ") {
        Some((name, mib)) => (name.to_owned(), mib.parse::<u64>().ok().map(|mib| mib << 20)),
        None => ("CUDA device".to_owned(), None),
    }
}

// Queries about devices through CUDA's runtime, which is part of libtorch. Without a runtime they return nothing.
//
// A worker without NCCL is linked with libtorch's CPU libraries only, and loads the CUDA backend at run time if there
// is a driver, so it runs with a libtorch without CUDA too. A worker with NCCL is linked with the CUDA backend: it
// runs without a driver, but not without that library.

/// The part of libtorch that uses CUDA. The worker is not linked with it, and so starts without it too.
pub(super) const BACKEND: &str = "libtorch_cuda.so";

/// Functions of the runtime; they return 0 on success.
struct Runtime {
    /// `cudaError_t cudaSetDevice(int device)`
    set_device: unsafe extern "C" fn(c_int) -> c_int,
    /// `cudaError_t cudaMemGetInfo(size_t *free, size_t *total)`
    memory_info: unsafe extern "C" fn(*mut usize, *mut usize) -> c_int,
    /// `cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)`
    bus_id: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int,
}

impl Runtime {
    fn get() -> Option<&'static Runtime> {
        static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
        let load = || {
            // SAFETY: if there is a device, the backend is loaded; the functions have these types in all versions of
            // CUDA, and stay for the life of the process.
            unsafe {
                // The backend depends on the runtime.
                let library = ManuallyDrop::new(Library::new(BACKEND).ok()?);
                Some(Runtime {
                    set_device: *library.get(b"cudaSetDevice\0").ok()?,
                    memory_info: *library.get(b"cudaMemGetInfo\0").ok()?,
                    bus_id: *library.get(b"cudaDeviceGetPCIBusId\0").ok()?,
                })
            }
        };
        RUNTIME.get_or_init(load).as_ref()
    }
}

/// Measures the bytes in use on a device by all programs.
pub(super) fn memory_in_use(device: usize) -> Option<u64> {
    let runtime = Runtime::get()?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: both numbers live until the call returns. This thread trains on the same device.
    let outcome = unsafe {
        ((runtime.set_device)(c_int::try_from(device).ok()?), (runtime.memory_info)(&raw mut free, &raw mut total))
    };
    (outcome == (0, 0)).then(|| (total - free) as u64)
}

/// The PCI address of a device, such as `0000:3B:00.0`. Unlike the numbers of devices, it does not depend on
/// `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER`.
pub(super) fn bus_id(device: usize) -> Option<String> {
    let runtime = Runtime::get()?;
    let mut text = [0; 32];
    // SAFETY: the text has the stated length, and lives until the call returns.
    let outcome = unsafe { (runtime.bus_id)(text.as_mut_ptr(), text.len() as c_int, c_int::try_from(device).ok()?) };
    let bytes = text.map(|byte: c_char| byte as u8);
    let text = CStr::from_bytes_until_nul(&bytes).ok()?;
    (outcome == 0).then(|| text.to_string_lossy().into_owned())
}

/// Operations per second of forward and backward pass, in 10¹².
pub(crate) const TFLOPS: MetricId = MetricId::of("tflops");
/// The rate [`TFLOPS`] as a fraction of the device's peak (model FLOPs utilization).
pub(crate) const MFU: MetricId = MetricId::of("mfu");
/// Memory in use, in MiB: of the process if it trains on the processor, of the whole device on a GPU.
pub(crate) const MEMORY: MetricId = MetricId::of("memory_mib");

/// Dense peak rates of matrix products by the makers' data sheets, in 10¹² operations per second: in half and in single
/// precision. The first entry applies whose words all occur in the device's name.
const PEAKS: [(&str, f64, f64); 13] = [
    ("B200", 2250.0, 75.0),
    ("H200", 989.4, 66.9),
    ("H100 NVL", 835.5, 60.0),
    ("H100 PCIe", 756.5, 51.2),
    ("H100", 989.4, 66.9),
    ("A100", 311.9, 19.5),
    ("L40S", 362.0, 91.6),
    ("L4", 121.0, 30.3),
    ("A10", 125.0, 31.2),
    ("T4", 65.0, 8.1),
    ("V100", 125.0, 15.7),
    ("RTX 4090", 165.2, 82.6),
    ("RTX 3090", 71.0, 35.6),
];

/// Looks up the peak of a device in operations per second, if its data sheet is listed. `precision` is as in the events
/// of a run.
fn peak(device: &str, precision: &str) -> Option<f64> {
    let parts: Vec<&str> = device.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    // Laptop versions of a chip are slower.
    if parts.contains(&"Laptop") {
        return None;
    }
    let is_it = |name: &str| name.split(' ').all(|part| parts.contains(&part));
    let (_, half, single) = PEAKS.into_iter().find(|(name, ..)| is_it(name))?;
    match precision {
        "float16" | "bfloat16" => Some(half * 1e12),
        "float32" => Some(single * 1e12),
        _ => None,
    }
}

pub(crate) struct Usage {
    device: Device,
    /// The operations of a step of this process.
    pub step_operations: f64,
    peak: Option<f64>,
}

impl Usage {
    /// Creates a measurement of steps with `step_operations` operations on a device of this name.
    pub(crate) fn new(device: Device, name: &str, precision: &str, step_operations: f64) -> Usage {
        Usage { device, step_operations, peak: peak(name, precision) }
    }

    pub(crate) fn metrics(&self) -> Vec<MetricInfo> {
        let mfu = self.peak.map(|_| MFU.described("MFU", Unit::Fraction));
        let others = [TFLOPS.described("Tflop/s", Unit::Plain), MEMORY.described("Memory (MiB)", Unit::Plain)];
        mfu.into_iter().chain(others).collect()
    }

    /// Computes the metrics of steps with this many operations in all, in `seconds` seconds.
    pub(crate) fn measure(&self, operations: f64, seconds: f64) -> MetricValues {
        let rate = operations / seconds;
        let mut metrics = MetricValues::from([(TFLOPS, rate / 1e12)]);
        if let Some(peak) = self.peak {
            metrics.set(MFU, rate / peak);
        }
        if let Some(memory) = memory(self.device) {
            metrics.set(MEMORY, memory as f64 / f64::from(1 << 20));
        }
        metrics
    }
}

fn memory(device: Device) -> Option<u64> {
    match device {
        Device::Cpu => {
            let status = std::fs::read_to_string("/proc/self/status").ok()?;
            let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"))?;
            Some(size.trim().parse::<u64>().ok()? * 1024)
        }
        Device::Cuda(index) => memory_in_use(index),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_depend_on_device_and_precision() {
        assert_eq!(peak("NVIDIA H100 80GB HBM3", "bfloat16"), Some(989.4e12));
        assert_eq!(peak("NVIDIA H100 PCIe", "float16"), Some(756.5e12));
        assert_eq!(peak("NVIDIA L40S", "float32"), Some(91.6e12));
        assert_eq!(peak("NVIDIA L4", "float16"), Some(121.0e12));
        assert_eq!(peak("NVIDIA A100-SXM4-80GB", "bfloat16"), Some(311.9e12));
        for other in ["NVIDIA L40", "NVIDIA T400", "NVIDIA RTX A1000", "NVIDIA GeForce RTX 4090 Laptop GPU"] {
            assert_eq!(peak(other, "float16"), None, "{other}");
        }
        assert_eq!(peak("NVIDIA H200", "float64"), None);
        assert_eq!(peak("Intel(R) Xeon(R) Processor", "float32"), None);
    }
}
