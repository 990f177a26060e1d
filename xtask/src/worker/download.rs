//! Installing a PyTorch for the worker alone.

use std::fmt;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use valleyscope_machine::{self as machine, PyTorchBytes, SetUp, WorkerFolder};

use super::job::{Ended, Job, Stdout};
use super::python::{Python, pythons};
use super::pytorch::{PyTorch, VERSION, library};
use crate::{Stop, say, setup};

/// The libraries of PyTorch that are installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The libraries for the processor.
    Cpu,
    /// All libraries, including NVIDIA's.
    Cuda,
}

/// The Python versions that PyTorch is published for.
const PYTHONS: std::ops::RangeInclusive<(u32, u32)> = (3, 10)..=(3, 14);

impl Variant {
    /// All variants, the best first.
    pub const ALL: [Variant; 2] = [Variant::Cuda, Variant::Cpu];

    pub fn for_machine(has_gpu: bool) -> Variant {
        if PyTorchBytes::for_machine(has_gpu) == PyTorchBytes::CUDA { Variant::Cuda } else { Variant::Cpu }
    }

    /// Returns the folder in which the set-up installs it, complete or not at all.
    pub fn root(self, folder: &WorkerFolder) -> PathBuf {
        self.site(folder).join("torch")
    }

    /// Returns the folder of Python packages inside.
    fn site(self, folder: &WorkerFolder) -> PathBuf {
        let kind = match self {
            Variant::Cpu => "cpu",
            Variant::Cuda => "cuda",
        };
        folder.path().join(format!("pytorch-{VERSION}-{kind}"))
    }

    /// Returns the list of packages for pip, a file of requirements with versions and checksums.
    ///
    /// In a PyTorch made for CUDA, the libraries for the processor depend on some of CUDA's.
    fn requirements(self) -> &'static str {
        match self {
            Variant::Cpu => include_str!("../../pytorch-cpu.txt"),
            Variant::Cuda => include_str!("../../pytorch-cuda.txt"),
        }
    }

    fn bytes(self) -> PyTorchBytes {
        match self {
            Variant::Cpu => PyTorchBytes::CPU,
            Variant::Cuda => PyTorchBytes::CUDA,
        }
    }

    /// Returns the bytes that unpacking takes, besides the download.
    fn unpacked(self) -> u64 {
        match self {
            Variant::Cpu => 1_300_000_000,
            Variant::Cuda => 5_000_000_000,
        }
    }

    /// Describes the download for a person who may decline it.
    pub fn announcement(self, folder: &WorkerFolder) -> String {
        let PyTorchBytes { download, disk } = self.bytes();
        format!(
            "the training worker needs PyTorch {VERSION}, which is missing; {self}, that is a download of {} and {} in {}",
            gigabytes(download),
            gigabytes(disk),
            folder.path().display()
        )
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variant::Cpu => f.write_str("for the processor"),
            Variant::Cuda => f.write_str("with CUDA for this machine's NVIDIA GPU"),
        }
    }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Installs PyTorch beside its place and moves it there once it is complete.
pub fn install(variant: Variant, session: &SetUp, job: &mut Job<'_>) -> Result<PyTorch, Ended> {
    let folder = session.folder();
    sweep(folder);
    let python = python_with_pip()?;
    let PyTorchBytes { download, .. } = variant.bytes();
    let needed = download + variant.unpacked();
    if let Some(free) = free_bytes(folder.path()).filter(|free| *free < needed) {
        return Err(Ended::failed(format!(
            "Installing PyTorch takes {} for a while, and {} has {} left. Make room there, or set XDG_DATA_HOME to a \
             folder on another disk.",
            gigabytes(needed),
            folder.path().display(),
            gigabytes(free)
        )));
    }
    let aside = folder.path().join(format!("{ASIDE}{}", std::process::id()));
    let outcome = install_aside(variant, &python, &aside, job).and_then(|()| put_in_place(variant, &aside, folder));
    // Nothing of value is left there, and the next set-up removes the rest.
    let _ = fs::remove_dir_all(&aside);
    outcome
}

const ASIDE: &str = ".installing-";

/// Removes the remains of killed set-ups.
fn sweep(folder: &WorkerFolder) {
    let entries = fs::read_dir(folder.path()).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(ASIDE)) {
        if let Err(error) = fs::remove_dir_all(entry.path()) {
            say(format_args!("cannot remove {}: {error}", entry.path().display()));
        }
    }
}

fn install_aside(variant: Variant, python: &Python, aside: &Path, job: &mut Job<'_>) -> Result<(), Ended> {
    // pip unpacks beside the result, so that files are moved and not copied, and the checked disk is the one that is
    // filled.
    let temporary = aside.join("tmp");
    let requirements = aside.join("requirements.txt");
    let failed = |path: &Path, error: io::Error| Ended::failed(format!("{}: {error}", path.display()));
    fs::create_dir_all(&temporary).map_err(|error| failed(&temporary, error))?;
    fs::write(&requirements, variant.requirements()).map_err(|error| failed(&requirements, error))?;
    let mut pip = Command::new(python.program);
    pip.args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-compile"]);
    pip.args(["--only-binary", ":all:", "--progress-bar"]).arg(if io::stdout().is_terminal() { "on" } else { "off" });
    if !PYTHONS.contains(&python.version) {
        // Only the libraries are used, which are the same for every Python.
        pip.args(["--python-version", "3.12"]);
    }
    pip.arg("--target").arg(aside.join("site"));
    // Installs only packages of the list, each with one of its checksums.
    pip.args(["--no-deps", "--require-hashes", "--requirement"]).arg(&requirements);
    pip.env("TMPDIR", &temporary).env("PIP_USER", "0").env("PIP_REQUIRE_VIRTUALENV", "0").stdin(Stdio::null());
    pip.current_dir(aside);
    let PyTorchBytes { download, .. } = variant.bytes();
    let whole = download + variant.unpacked();
    let measured = aside.to_owned();
    let mut most = 0;
    let percent = move || {
        // pip removes its copy of a file once it is unpacked.
        most = (size_of(&measured) * 100 / whole).min(99).max(most);
        u8::try_from(most).ok()
    };
    let said = job.carry_out("Downloading and unpacking PyTorch", &mut pip, Stdout::Shown, percent)?;
    said.map(drop).map_err(|words| Ended::failed(explain(&words, python)))
}

/// Moves a complete installation to its place.
fn put_in_place(variant: Variant, aside: &Path, folder: &WorkerFolder) -> Result<PyTorch, Ended> {
    let site = aside.join("site");
    if variant == Variant::Cpu && cfg!(target_os = "linux") {
        // These need libraries that are not installed, and take half a gigabyte.
        for name in ["torch_cuda", "torch_cuda_linalg"] {
            let _ = fs::remove_file(site.join("torch").join(library(name)));
        }
    }
    PyTorch::at(&site.join("torch"))
        .map_err(|unfit| Ended::failed(format!("pip has installed a PyTorch that cannot be used: {unfit}")))?;
    let place = variant.site(folder);
    let moved = match fs::rename(&place, aside.join("former")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::rename(&site, &place),
    };
    moved.map_err(|error| Ended::failed(format!("cannot put PyTorch into {}: {error}", place.display())))?;
    PyTorch::at(&variant.root(folder)).map_err(|unfit| Ended::failed(format!("{}: {unfit}", place.display())))
}

/// Returns a Python with pip; installs it if that is allowed.
fn python_with_pip() -> Result<Python, Stop> {
    let find = || pythons().into_iter().find(|python| python.has_pip);
    if let Some(python) = find() {
        return Ok(python);
    }
    setup::provide(machine::for_installing_pytorch())?;
    find().ok_or_else(|| {
        Stop::failed(
            "PyTorch is installed with pip, and neither `python3 -m pip` nor `python -m pip` works here. Install Python \
             3.10 or newer with pip, or set LIBTORCH to the folder of a PyTorch or an unpacked libtorch.",
        )
    })
}

/// Explains the message with which pip failed, and what to do.
fn explain(words: &str, python: &Python) -> String {
    let has = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    let (major, minor) = python.version;
    let cause = if has(&["No space left", "Disk quota exceeded"]) {
        "The disk is full: free some space, and start again.".to_owned()
    } else if has(&[
        "name resolution",
        "Name or service not known",
        "NewConnectionError",
        "ConnectTimeout",
        "timed out",
    ]) || has(&[
        "Network is unreachable",
        "ProxyError",
        "ConnectionError",
        "Connection refused",
        "ProtocolError",
    ]) {
        "There seems to be no way to the package index: check the network and the proxy, and start again; what is \
         downloaded already is not downloaded twice."
            .to_owned()
    } else if has(&["DO NOT MATCH THE HASHES"]) {
        "A package is not the one whose checksum Valleyscope knows: it was damaged on the way, or the package index has \
         another in its place. Start again; where that does not help, look into pip's settings, or set LIBTORCH to a \
         PyTorch that you have."
            .to_owned()
    } else if has(&["(from versions: none)"]) {
        "The package index has no PyTorch at all for this machine, or there is no way to it: check the network and \
         pip's settings. PyTorch is published for Linux with glibc 2.28 or newer, macOS on Apple silicon, and Windows."
            .to_owned()
    } else if has(&["No matching distribution", "Could not find a version"]) {
        format!(
            "The package index has no PyTorch {VERSION} for this machine and Python {major}.{minor}. Set LIBTORCH to one \
             that you have."
        )
    } else {
        "pip could not install PyTorch.".to_owned()
    };
    format!("{cause}\nIts last output:\n{words}")
}

/// Returns the free bytes on the disk of a folder, if the system reports them.
fn free_bytes(folder: &Path) -> Option<u64> {
    let output = Command::new("df").args(["-Pk"]).arg(folder).stdin(Stdio::null()).output().ok()?;
    free_in(&String::from_utf8_lossy(&output.stdout))
}

/// Parses the fourth column of the last line, in KiB, as POSIX defines it.
fn free_in(df: &str) -> Option<u64> {
    // A file system's name may have spaces, so columns are counted from the one with the percentage.
    let words: Vec<_> = df.lines().nth(1)?.split_whitespace().collect();
    let percentage =
        words.iter().position(|word| word.strip_suffix('%').is_some_and(|it| it.parse::<u32>().is_ok()))?;
    Some(words.get(percentage.checked_sub(1)?)?.parse::<u64>().ok()? * 1024)
}

/// Returns the bytes of all files in a folder.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size_of(&entry.path()),
        _ => entry.metadata().map_or(0, |file| file.len()),
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python() -> Python {
        Python { program: "python3", version: (3, 9), torch: None, has_pip: true }
    }

    /// Returns the requirements with their markers, each with its checksums.
    fn pinned(variant: Variant) -> Vec<(String, Vec<&'static str>)> {
        let text = variant.requirements();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let mut pinned: Vec<(String, Vec<&str>)> = Vec::new();
        for line in lines {
            let line = line.trim_end_matches('\\').trim();
            match line.strip_prefix("--hash=sha256:") {
                Some(sum) => pinned.last_mut().expect("a sum follows a requirement").1.push(sum),
                None => pinned.push((line.to_owned(), Vec::new())),
            }
        }
        pinned
    }

    #[test]
    fn every_package_has_a_version_and_checksums() {
        for variant in Variant::ALL {
            let pinned = pinned(variant);
            let torch = &pinned[0];
            assert_eq!(torch.0, format!("torch=={VERSION}"));
            // One wheel for each Python, with and without its global lock, and each of its systems.
            assert_eq!(torch.1.len(), if variant == Variant::Cpu { 28 } else { 14 });
            for (requirement, sums) in &pinned {
                let (_, version) = requirement.split_once("==").expect("a version");
                assert!(!version.contains('*') && !sums.is_empty(), "{requirement}");
                let is_sum = |sum: &&str| sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
                assert!(sums.iter().all(is_sum), "{requirement}: {sums:?}");
            }
        }
    }

    #[test]
    fn a_machine_without_a_gpu_downloads_the_libraries_for_the_processor() {
        let names = |variant| {
            let of_linux = r#" ; platform_system == "Linux""#;
            pinned(variant).into_iter().map(|(name, _)| name.replace(of_linux, "")).collect::<Vec<_>>()
        };
        let (cpu, cuda) = (names(Variant::Cpu), names(Variant::Cuda));
        assert_eq!(cpu, ["torch==2.11.0", "nvidia-cuda-cupti==13.0.85", "nvidia-cuda-runtime==13.0.96"]);
        assert!(cpu.iter().all(|name| cuda.contains(name)) && cuda.len() == 31, "{cuda:?}");
        let (cpu, cuda) = (Variant::Cpu.bytes(), Variant::Cuda.bytes());
        assert!(cpu.download * 3 < cuda.download && cpu.disk * 3 < cuda.disk, "{cpu:?} {cuda:?}");
    }

    #[test]
    fn the_announcement_has_the_size_and_the_folder() {
        let folder = WorkerFolder::at(Path::new("/home/ada/.local/share/valleyscope/worker"));
        let text = Variant::Cuda.announcement(&folder);
        for expected in ["2.8 GB", "5.0 GB", "/home/ada/.local/share/valleyscope/worker", VERSION, "GPU"] {
            assert!(text.contains(expected), "no {expected:?} in {text}");
        }
        assert_eq!(Variant::Cpu.root(&folder), folder.path().join("pytorch-2.11.0-cpu/torch"));
    }

    #[test]
    fn parses_the_free_space_of_a_disk() {
        let df = "Filesystem     1024-blocks     Used Available Capacity Mounted on\n/dev/vda  263174212 71000000 25000000      75% /\n";
        assert_eq!(free_in(df), Some(25_000_000 * 1024));
        let spaced =
            "Filesystem 1024-blocks Used Available Capacity Mounted on\nmy share 100 60 40 60% /mnt/my share\n";
        assert_eq!(free_in(spaced), Some(40 * 1024));
        assert_eq!(free_in(""), None);
        assert_eq!(free_in("df: no such file\n"), None);
    }

    #[test]
    fn the_cause_precedes_pips_message() {
        let cause = |words: &str| explain(words, &python()).lines().next().unwrap().to_owned();
        assert!(cause("ERROR: [Errno 28] No space left on device").contains("disk"));
        assert!(
            cause("Temporary failure in name resolution\nERROR: No matching distribution found").contains("network")
        );
        assert!(cause("ERROR: No matching distribution found for torch==2.11.0").contains("Python 3.9"));
        assert!(cause("ERROR: Could not find a version (from versions: none)").contains("no way to it"));
        assert!(
            cause("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.").contains("checksum")
        );
        assert!(explain("ERROR: surprise", &python()).ends_with("ERROR: surprise"));
    }
}
