use std::fs;
use std::thread;

/// The processor available to this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    pub model: String,
    /// The number of threads that run at the same time.
    pub threads: usize,
    /// Vector instructions that make the simulation faster, and whether they are available.
    pub features: Vec<(&'static str, bool)>,
}

impl Processor {
    pub fn here() -> Processor {
        Processor {
            model: model().unwrap_or_else(|| "a processor of unknown model".to_owned()),
            threads: thread::available_parallelism().map_or(1, |threads| threads.get()),
            features: features(),
        }
    }
}

#[cfg(target_os = "macos")]
fn model() -> Option<String> {
    let output = std::process::Command::new("sysctl").args(["-n", "machdep.cpu.brand_string"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(target_os = "windows")]
fn model() -> Option<String> {
    std::env::var("PROCESSOR_IDENTIFIER").ok()
}

#[cfg(not(any(target_os = "macos", target_os = "windows")))]
fn model() -> Option<String> {
    field(&fs::read_to_string("/proc/cpuinfo").ok()?, "model name").map(str::to_owned)
}

fn features() -> Vec<(&'static str, bool)> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let avx512 = has!("avx512f") && has!("avx512dq");
        vec![("AVX2", has!("avx2")), ("AVX-512 (F, DQ)", avx512)]
    }
    #[cfg(target_arch = "aarch64")]
    {
        vec![("NEON", std::arch::is_aarch64_feature_detected!("neon"))]
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    Vec::new()
}

/// Returns the value of the first line `name: value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}
