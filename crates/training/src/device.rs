//! The devices that a worker can train on.

use tch::{Cuda, Device};
use valleyscope_experiments::workload::DeviceChoice;
use valleyscope_runs::{self as run, Handshake, PROTOCOL};

use super::cuda;
use super::error::TrainError;

/// The devices of this machine.
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
    /// Loads libtorch's CUDA backend if there is a driver for it, and lists the devices. To be called before anything
    /// else of libtorch.
    pub(crate) fn look() -> Devices {
        let none = |problem| Devices { cuda: 0, problem };
        match load(DRIVER) {
            // A machine without such a card lacks nothing.
            Err(_) if !std::path::Path::new("/proc/driver/nvidia").exists() => return none(None),
            Err(error) => return none(Some(format!("CUDA's driver cannot be loaded: {error}; reinstall it"))),
            Ok(()) => {}
        }
        if let Err(error) = load(cuda::BACKEND) {
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

    /// Describes this worker to the programs that start it.
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

    /// Returns all devices, the processor first.
    fn list(&self) -> Vec<run::Device> {
        let processor = run::Device { name: "cpu".to_owned(), kind: processor_name(), memory: None };
        let cards = (0..self.cuda).map(|index| {
            let (kind, memory) = card(index);
            run::Device { name: format!("cuda:{index}"), kind, memory }
        });
        std::iter::once(processor).chain(cards).collect()
    }

    /// Returns the chosen device for the process of this number among those on this machine: each has a GPU of its own,
    /// from the chosen one on.
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
            index if local_rank > 0 => Err(TrainError::Device(format!(
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
                Err(TrainError::Device(format!(
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
    match unsafe { libloading::Library::new(library) } {
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
        .arg(cuda::bus_id(index).unwrap_or_else(|| index.to_string()))
        .output();
    let text = query.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    match text.trim().rsplit_once(", ") {
        Some((name, mib)) => (name.to_owned(), mib.parse::<u64>().ok().map(|mib| mib << 20)),
        None => ("CUDA device".to_owned(), None),
    }
}
