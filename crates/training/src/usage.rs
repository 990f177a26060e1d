//! A training's use of its device.

use tch::Device;
use valleyscope_runs::{MetricId, MetricInfo, MetricValues, Unit};

use super::cuda;

/// Operations per second of forward and backward pass, in 10¹².
pub(crate) const TFLOPS: MetricId = MetricId::of("tflops");
/// The rate [`TFLOPS`] as a fraction of the device's peak (model FLOPs utilization).
pub(crate) const MFU: MetricId = MetricId::of("mfu");
/// Memory in use, in MiB: of the process if it trains on the processor, of the whole device on a GPU.
pub(crate) const MEMORY: MetricId = MetricId::of("memory_mib");

/// Dense peak rates of matrix products by the makers' data sheets, in 10¹² operations per second: in half and in single
/// precision. The first entry whose words are all in the device's name applies.
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

/// Returns the peak of a device in operations per second, if its data sheet is listed. `precision` is as in the events
/// of a run.
fn peak(device: &str, precision: &str) -> Option<f64> {
    let words: Vec<&str> = device.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    // Laptop versions of a chip are slower.
    if words.contains(&"Laptop") {
        return None;
    }
    let is_it = |name: &str| name.split(' ').all(|word| words.contains(&word));
    let (_, half, single) = PEAKS.into_iter().find(|(name, ..)| is_it(name))?;
    match precision {
        "float16" | "bfloat16" => Some(half * 1e12),
        "float32" => Some(single * 1e12),
        _ => None,
    }
}

/// Measures a training's use of its device.
pub(crate) struct Usage {
    device: Device,
    /// The number of operations of a step.
    step_operations: f64,
    /// The device's peak, in operations per second.
    peak: Option<f64>,
}

impl Usage {
    /// Creates a measurement of steps with `step_operations` operations on a device of this name.
    pub(crate) fn new(device: Device, name: &str, precision: &str, step_operations: f64) -> Usage {
        Usage { device, step_operations, peak: peak(name, precision) }
    }

    /// Sets the number of operations of the next steps.
    pub(crate) fn set_step_operations(&mut self, step_operations: f64) {
        self.step_operations = step_operations;
    }

    /// Returns the number of operations of a step.
    pub(crate) fn step_operations(&self) -> f64 {
        self.step_operations
    }

    /// Lists the measured metrics.
    pub(crate) fn metrics(&self) -> Vec<MetricInfo> {
        let mfu = self.peak.map(|_| MFU.described("MFU", Unit::Fraction));
        let others = [TFLOPS.described("Tflop/s", Unit::Plain), MEMORY.described("Memory (MiB)", Unit::Plain)];
        mfu.into_iter().chain(others).collect()
    }

    /// Returns the metrics of steps with this many operations in all, in `seconds` seconds.
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

/// Returns the bytes in use.
fn memory(device: Device) -> Option<u64> {
    match device {
        Device::Cpu => {
            let status = std::fs::read_to_string("/proc/self/status").ok()?;
            let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"))?;
            Some(size.trim().parse::<u64>().ok()? * 1024)
        }
        Device::Cuda(index) => cuda::memory_in_use(index),
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
