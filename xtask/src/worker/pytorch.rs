//! Finding a PyTorch to build the worker with.

use std::collections::HashSet;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use valleyscope_machine::{PyTorchVariant, WorkerFolder};

/// The version that the bindings support.
pub const VERSION: &str = "2.11.0";

/// A PyTorch of the right version, with everything that a build needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PyTorch {
    /// The folder with `lib` and `include`.
    pub root: PathBuf,
    /// The version by its own name, such as `2.11.0+cu130`.
    pub version: String,
    /// Whether it can compute on an NVIDIA GPU, given the driver.
    pub has_cuda: bool,
}

/// The folder in which the set-up installs a PyTorch, complete or not at all.
pub fn root(variant: PyTorchVariant, folder: &WorkerFolder) -> PathBuf {
    site(variant, folder).join("torch")
}

/// The folder of a PyTorch's Python packages.
pub fn site(variant: PyTorchVariant, folder: &WorkerFolder) -> PathBuf {
    folder.path().join(format!("pytorch-{VERSION}-{}", variant.name))
}

/// The list of packages for pip, a file of requirements with versions and checksums.
///
/// In a PyTorch made for CUDA, the libraries for the processor depend on some of CUDA's.
pub fn requirements(variant: PyTorchVariant) -> &'static str {
    if variant == PyTorchVariant::CUDA {
        include_str!("../../pytorch-cuda.txt")
    } else {
        include_str!("../../pytorch-cpu.txt")
    }
}

/// Describes the download for a user who may decline it.
pub fn announcement(variant: PyTorchVariant, folder: &WorkerFolder) -> String {
    format!(
        "the training worker needs PyTorch {VERSION}, which is missing; {}, that is a download of {} and {} in {}",
        variant.purpose,
        gigabytes(variant.download),
        gigabytes(variant.disk),
        folder.path().display()
    )
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// The PyTorch to build the worker with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    Use(PyTorch),
    Install(PyTorchVariant),
}

/// The description of the PyTorch that the user has chosen.
const NAMED: &str = "the PyTorch in LIBTORCH";

/// Lists the folders that may hold a PyTorch with their descriptions, each once, in the order of preference.
pub fn candidates(folder: &WorkerFolder, pythons: &[Python]) -> Vec<(String, PathBuf)> {
    let named = std::env::var_os("LIBTORCH").filter(|path| !path.is_empty()).map(|path| (NAMED, path.into()));
    // The link points to the `lib` of a PyTorch.
    let in_use = fs::canonicalize(folder.libraries()).ok();
    let in_use = in_use.and_then(|lib| Some(("the PyTorch of the installed worker", lib.parent()?.to_owned())));
    let private = [PyTorchVariant::CUDA, PyTorchVariant::CPU].map(|variant| root(variant, folder)).into_iter();
    let private = private.filter(|root| root.is_dir()).map(|root| ("the PyTorch of an earlier set-up", root));
    let all = named.into_iter().chain(in_use).chain(private).map(|(what, root)| (what.to_owned(), root));
    let of_python = |python: &Python| Some((format!("the PyTorch of {}", python.program), python.torch.clone()?));
    let mut seen = HashSet::new();
    all.chain(pythons.iter().filter_map(of_python)).filter(|(_, root)| seen.insert(root.clone())).collect()
}

/// Chooses the first PyTorch that fits this machine, after a check of its folder; also returns notes on those that do
/// not.
pub fn choose(
    candidates: Vec<(String, PathBuf)>,
    has_gpu: bool,
    check: impl Fn(&Path) -> Result<PyTorch, String>,
) -> (Choice, Vec<String>) {
    let mut notes = Vec::new();
    for (what, root) in candidates {
        let what_in = format!("{what} ({})", root.display());
        match check(&root) {
            Err(unfit) => notes.push(format!("{what_in} is not used: {unfit}")),
            Ok(pytorch) if has_gpu && !pytorch.has_cuda => {
                if what == NAMED {
                    notes.push(format!("{what_in} has no CUDA: only the processor will train"));
                    return (Choice::Use(pytorch), notes);
                }
                notes.push(format!("{what_in} is not used: it has no CUDA for this GPU"));
            }
            Ok(pytorch) => return (Choice::Use(pytorch), notes),
        }
    }
    (Choice::Install(PyTorchVariant::for_machine(has_gpu)), notes)
}

const NO_FOLDER: &str = "there is no such folder";

impl PyTorch {
    /// Checks the PyTorch in this folder, which is that of the Python package `torch`, or an unpacked libtorch.
    ///
    /// # Errors
    ///
    /// Fails with the reason why it cannot be used.
    pub fn at(root: &Path) -> Result<PyTorch, String> {
        if !root.is_dir() {
            return Err(NO_FOLDER.to_owned());
        }
        let read = |name: &str| fs::read_to_string(root.join(name)).ok();
        let version = read("version.py").and_then(|text| version_in_python(&text));
        let version = version.or_else(|| Some(read("build-version")?.trim().to_owned()));
        let version = version.ok_or("it has neither version.py nor build-version, so it is not a PyTorch")?;
        if !fits(&version) {
            return Err(format!("it is version {version}, and {VERSION} is needed"));
        }
        let cpu = library("torch_cpu");
        let needed = [cpu.clone(), library("c10"), "include/torch/csrc/api/include/torch/torch.h".to_owned()];
        if let Some(missing) = needed.iter().find(|name| !root.join(name).is_file()) {
            return Err(format!("it has no {missing}"));
        }
        let missing = missing_libraries(&root.join(cpu));
        if !missing.is_empty() {
            return Err(format!("libraries that it needs are missing: {}", missing.join(", ")));
        }
        let cuda = root.join(library("torch_cuda"));
        let has_cuda = cuda.is_file() && missing_libraries(&cuda).is_empty();
        // Absolute, as it becomes part of the program.
        let root = root.canonicalize().map_err(|_| NO_FOLDER)?;
        Ok(PyTorch { root, version, has_cuda })
    }

    pub fn lib(&self) -> PathBuf {
        self.root.join("lib")
    }
}

pub fn library(name: &str) -> String {
    format!("lib/{DLL_PREFIX}{name}{DLL_SUFFIX}")
}

/// Whether a version such as `2.11.0+cu130` is the one needed.
fn fits(version: &str) -> bool {
    version.split('+').next() == Some(VERSION)
}

/// Finds the version in a `version.py` of PyTorch.
fn version_in_python(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("__version__")?.trim_start().strip_prefix('='))?;
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

/// Lists the libraries that a library needs and the system's loader does not find, if that can be determined.
fn missing_libraries(library: &Path) -> Vec<String> {
    if !cfg!(target_os = "linux") {
        return Vec::new();
    }
    let output = Command::new("ldd").arg(library).stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.map(|output| not_found(&String::from_utf8_lossy(&output.stdout))).unwrap_or_default()
}

fn not_found(ldd: &str) -> Vec<String> {
    let missing = ldd.lines().filter_map(|line| line.trim().strip_suffix("=> not found"));
    let mut names: Vec<_> = missing.map(|name| name.trim().to_owned()).collect();
    names.sort_unstable();
    names.dedup();
    // NVIDIA's driver belongs to the GPU, and is not needed before a GPU is used.
    names.retain(|name| name != "libcuda.so.1");
    names
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Python {
    pub program: &'static str,
    pub version: (u32, u32),
    /// The folder of its torch, which may have any version, or not work.
    pub torch: Option<PathBuf>,
    pub has_pip: bool,
}

/// A script that finds torch without loading it, which takes long and fails if its CUDA libraries are missing.
const PROBE: &str = "
import sys
from importlib.util import find_spec
torch = find_spec('torch')
print('version', *sys.version_info[:2])
print('pip', find_spec('pip') is not None)
if torch and torch.submodule_search_locations:
    print('torch', list(torch.submodule_search_locations)[0])
";

/// Lists the Pythons on the path, the active one first.
pub fn pythons() -> Vec<Python> {
    let programs = if cfg!(windows) { ["python", "py"] } else { ["python3", "python"] };
    programs.into_iter().filter_map(ask).collect()
}

fn ask(program: &'static str) -> Option<Python> {
    let mut command = Command::new(program);
    command.args(["-c", PROBE]).stdin(Stdio::null()).stderr(Stdio::null());
    // Python would take a folder named torch in the working folder for the package.
    command.current_dir(std::env::temp_dir());
    let output = command.output().ok()?;
    Python::from_answer(program, &String::from_utf8_lossy(&output.stdout))
}

impl Python {
    fn from_answer(program: &'static str, answer: &str) -> Option<Python> {
        let field = |name: &str| answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let (major, minor) = field("version")?.split_once(' ')?;
        Some(Python {
            program,
            version: (major.parse().ok()?, minor.trim().parse().ok()?),
            torch: field("torch").map(|path| PathBuf::from(path.trim())),
            has_pip: field("pip")?.trim() == "True",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pytorch(root: &str, has_cuda: bool) -> PyTorch {
        PyTorch { root: root.into(), version: "2.11.0+cu130".to_owned(), has_cuda }
    }

    /// Chooses among folders of which those with `bad` in their names hold another version, and those with `cuda` one
    /// with CUDA.
    fn chosen(folders: &[(&str, &str)], has_gpu: bool) -> (Choice, Vec<String>) {
        let candidates = folders.iter().map(|(what, root)| ((*what).to_owned(), PathBuf::from(root))).collect();
        choose(candidates, has_gpu, |root| match root.to_string_lossy() {
            root if root.contains("bad") => Err("it is version 2.10.0".to_owned()),
            root => Ok(pytorch(&root, root.contains("cuda"))),
        })
    }

    #[test]
    fn reads_the_version_of_the_package() {
        let text =
            "from typing import Optional\n\n__all__ = ['__version__']\n__version__ = '2.11.0+cu130'\ndebug = False";
        assert_eq!(version_in_python(text).as_deref(), Some("2.11.0+cu130"));
        assert_eq!(version_in_python("__version__=\"2.10.0\"\n").as_deref(), Some("2.10.0"));
        assert_eq!(version_in_python("debug = False\n"), None);
        assert_eq!(version_in_python("__version__ = ''\n"), None);
    }

    #[test]
    fn only_one_version_fits() {
        for version in ["2.11.0", "2.11.0+cpu", "2.11.0+cu130"] {
            assert!(fits(version), "{version}");
        }
        for version in ["2.11.1", "2.1.0", "2.11", "2.11.0a0+git1", "12.11.0", ""] {
            assert!(!fits(version), "{version}");
        }
    }

    #[test]
    fn rejects_a_folder_that_is_not_a_pytorch_with_the_reason() {
        let folder = std::env::temp_dir().join(format!("xtask-pytorch-{}", std::process::id()));
        let refusal = || PyTorch::at(&folder).unwrap_err();
        assert_eq!(refusal(), NO_FOLDER);
        fs::create_dir_all(&folder).unwrap();
        assert!(refusal().contains("neither version.py nor build-version"));
        fs::write(folder.join("build-version"), "2.10.0+cpu\n").unwrap();
        assert_eq!(refusal(), format!("it is version 2.10.0+cpu, and {VERSION} is needed"));
        fs::write(folder.join("build-version"), "2.11.0+cpu\n").unwrap();
        assert_eq!(refusal(), format!("it has no {}", library("torch_cpu")));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn names_each_missing_library_once() {
        let ldd = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibcudart.so.13 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n\
                   \tlibcudart.so.13 => not found\n\tlibcuda.so.1 => not found\n";
        assert_eq!(not_found(ldd), ["libcudart.so.13"]);
        assert_eq!(not_found("\tstatically linked\n"), Vec::<String>::new());
    }

    #[test]
    fn chooses_the_first_that_fits() {
        let found = [(NAMED, "/bad"), ("an earlier set-up", "/own"), ("python3", "/cuda")];
        let (choice, notes) = chosen(&found, false);
        assert_eq!(choice, Choice::Use(pytorch("/own", false)));
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains("LIBTORCH") && notes[0].contains("2.10.0"), "{notes:?}");
    }

    #[test]
    fn a_gpu_needs_cuda_unless_the_user_chooses_otherwise() {
        let found = [("an earlier set-up", "/own"), ("python3", "/cuda")];
        assert_eq!(chosen(&found, true).0, Choice::Use(pytorch("/cuda", true)));
        assert_eq!(chosen(&found[..1], true).0, Choice::Install(PyTorchVariant::CUDA));
        let (choice, notes) = chosen(&[(NAMED, "/named"), found[1]], true);
        assert_eq!(choice, Choice::Use(pytorch("/named", false)));
        assert!(notes[0].contains("no CUDA"), "{notes:?}");
    }

    #[test]
    fn installs_the_variant_of_the_machine_if_none_fits() {
        assert_eq!(chosen(&[], false), (Choice::Install(PyTorchVariant::CPU), Vec::new()));
        let expected = if cfg!(target_os = "linux") { PyTorchVariant::CUDA } else { PyTorchVariant::CPU };
        assert_eq!(chosen(&[("python3", "/bad")], true).0, Choice::Install(expected));
    }

    #[test]
    fn parses_version_pip_and_torch() {
        let answer = "version 3 11\npip True\ntorch /opt/with space/site-packages/torch\n";
        let expected = Python {
            program: "python3",
            version: (3, 11),
            torch: Some("/opt/with space/site-packages/torch".into()),
            has_pip: true,
        };
        assert_eq!(Python::from_answer("python3", answer), Some(expected));
        let bare = Python::from_answer("python", "version 3 9\npip False\n").unwrap();
        assert_eq!((bare.version, bare.torch, bare.has_pip), ((3, 9), None, false));
        assert_eq!(Python::from_answer("python", ""), None);
        assert_eq!(Python::from_answer("python", "pyenv: python: command not found"), None);
    }

    #[test]
    fn a_machine_without_a_gpu_downloads_the_libraries_for_the_processor() {
        let names = |variant: PyTorchVariant| {
            let lines = requirements(variant).lines().filter(|line| line.contains("==") && !line.starts_with('#'));
            lines.map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>()
        };
        let (cpu, cuda) = (names(PyTorchVariant::CPU), names(PyTorchVariant::CUDA));
        assert_eq!(cpu, [&format!("torch=={VERSION}"), "nvidia-cuda-cupti==13.0.85", "nvidia-cuda-runtime==13.0.96"]);
        assert!(cpu.iter().all(|name| cuda.contains(name)) && cuda.len() == 31, "{cuda:?}");
        let (cpu, cuda) = (PyTorchVariant::CPU, PyTorchVariant::CUDA);
        assert!(cpu.download * 3 < cuda.download && cpu.disk * 3 < cuda.disk, "{cpu:?} {cuda:?}");
    }

    #[test]
    fn the_announcement_has_the_size_and_the_folder() {
        let folder = WorkerFolder::at(Path::new("/home/ada/.local/share/valleyscope/worker"));
        let text = announcement(PyTorchVariant::CUDA, &folder);
        for expected in ["2.8 GB", "5.0 GB", "/home/ada/.local/share/valleyscope/worker", VERSION, "GPU"] {
            assert!(text.contains(expected), "no {expected:?} in {text}");
        }
        assert_eq!(root(PyTorchVariant::CPU, &folder), folder.path().join("pytorch-2.11.0-cpu/torch"));
    }
}
