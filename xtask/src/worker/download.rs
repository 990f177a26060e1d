//! Installing a PyTorch for the worker only.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, Stdio};

use valleyscope_machine::{self as machine, PyTorchVariant, SetUp, WorkerFolder};

use super::job::{Job, Stdout};
use super::pytorch::{PyTorch, Python, library, pythons, requirements, root, site};
use crate::{Stop, say, setup};

/// The Python versions that PyTorch is published for.
const PYTHONS: std::ops::RangeInclusive<(u32, u32)> = (3, 10)..=(3, 14);

/// Installs PyTorch in a temporary folder next to its own, and renames that once it is complete.
pub fn install(variant: PyTorchVariant, session: &SetUp, job: &mut Job<'_>) -> Result<PyTorch, Stop> {
    let folder = session.folder();
    remove_remains(folder);
    let python = python_with_pip()?;
    let aside = folder.path().join(format!("{ASIDE}{}", std::process::id()));
    let outcome = install_aside(variant, &python, &aside, job).and_then(|()| move_to_site(variant, &aside, folder));
    // Nothing of value remains, and the next set-up removes the rest.
    let _ = fs::remove_dir_all(&aside);
    outcome
}

const ASIDE: &str = ".installing-";

/// Removes the remains of killed set-ups.
fn remove_remains(folder: &WorkerFolder) {
    let entries = fs::read_dir(folder.path()).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(ASIDE)) {
        if let Err(error) = fs::remove_dir_all(entry.path()) {
            say(format_args!("cannot remove {}: {error}", entry.path().display()));
        }
    }
}

fn install_aside(variant: PyTorchVariant, python: &Python, aside: &Path, job: &mut Job<'_>) -> Result<(), Stop> {
    // pip unpacks on the same disk, so that files are moved and not copied, and the checked disk is the one that is
    // filled.
    let temporary = aside.join("tmp");
    let list = aside.join("requirements.txt");
    let failed = |path: &Path, error: io::Error| Stop::failed(format!("{}: {error}", path.display()));
    fs::create_dir_all(&temporary).map_err(|error| failed(&temporary, error))?;
    fs::write(&list, requirements(variant)).map_err(|error| failed(&list, error))?;
    let mut pip = Command::new(python.program);
    pip.args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-compile"]);
    pip.args(["--only-binary", ":all:", "--progress-bar"]).arg(if io::stdout().is_terminal() { "on" } else { "off" });
    if !PYTHONS.contains(&python.version) {
        // Only the libraries are used, which are the same for every Python.
        pip.args(["--python-version", "3.12"]);
    }
    pip.arg("--target").arg(aside.join("site"));
    // Installs only packages of the list, each with one of its checksums.
    pip.args(["--no-deps", "--require-hashes", "--requirement"]).arg(&list);
    pip.env("TMPDIR", &temporary).env("PIP_USER", "0").env("PIP_REQUIRE_VIRTUALENV", "0").stdin(Stdio::null());
    pip.current_dir(aside);
    let whole = variant.download + variant.unpacked;
    let measured = aside.to_owned();
    let mut most = 0;
    let percent = move || {
        // pip removes its copy of a file once it is unpacked.
        most = (size_of(&measured) * 100 / whole).min(99).max(most);
        u8::try_from(most).ok()
    };
    let outcome = job.carry_out("Downloading and unpacking PyTorch", &mut pip, Stdout::Shown, percent)?;
    outcome.map(drop).map_err(|output| Stop::failed(explain(&output)))
}

/// Renames the folder of a complete installation to its final name.
fn move_to_site(variant: PyTorchVariant, aside: &Path, folder: &WorkerFolder) -> Result<PyTorch, Stop> {
    let complete = aside.join("site");
    if variant == PyTorchVariant::CPU && cfg!(target_os = "linux") {
        // Without NVIDIA's libraries they cannot be loaded.
        for name in ["torch_cuda", "torch_cuda_linalg"] {
            let _ = fs::remove_file(complete.join("torch").join(library(name)));
        }
    }
    PyTorch::at(&complete.join("torch"))
        .map_err(|unfit| Stop::failed(format!("pip has installed a PyTorch that cannot be used: {unfit}")))?;
    let target = site(variant, folder);
    let moved = match fs::rename(&target, aside.join("former")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::rename(&complete, &target),
    };
    moved.map_err(|error| Stop::failed(format!("cannot put PyTorch into {}: {error}", target.display())))?;
    PyTorch::at(&root(variant, folder)).map_err(|unfit| Stop::failed(format!("{}: {unfit}", target.display())))
}

/// Finds a Python with pip; installs it if that is allowed.
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

/// Parts of pip's messages, each with the explanation that is shown for it. The first match counts.
const CAUSES: [(&[&str], &str); 5] = [
    (&["No space left", "Disk quota exceeded"], "The disk is full: free some space, and start again."),
    (
        &[
            "name resolution",
            "service not known",
            "timed out",
            "Timeout",
            "unreachable",
            "Proxy",
            "Connection",
            "Protocol",
        ],
        "There seems to be no way to the package index: check the network and the proxy, and start again; what is \
         downloaded already is not downloaded twice.",
    ),
    (
        &["DO NOT MATCH THE HASHES"],
        "A package is not the one whose checksum Valleyscope knows: it was damaged on the way, or the package index has \
         another in its place. Start again; where that does not help, look into pip's settings, or set LIBTORCH to a \
         PyTorch that you have.",
    ),
    (
        &["(from versions: none)"],
        "The package index has no PyTorch at all for this machine, or there is no way to it: check the network and \
         pip's settings. PyTorch is published for Linux with glibc 2.28 or newer, macOS on Apple silicon, and Windows.",
    ),
    (
        &["No matching distribution", "Could not find a version"],
        "The package index has no PyTorch of this version for this machine and its Python. Set LIBTORCH to one that you \
         have.",
    ),
];

/// Explains the message with which pip failed, and suggests a remedy.
fn explain(output: &str) -> String {
    let known = CAUSES.iter().find(|(signs, _)| signs.iter().any(|sign| output.contains(sign)));
    let cause = known.map_or("pip could not install PyTorch.", |(_, cause)| cause);
    format!("{cause}\nIts last output:\n{output}")
}

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

    #[test]
    fn the_cause_precedes_pips_message() {
        let cause = |output: &str| explain(output).lines().next().unwrap().to_owned();
        assert!(cause("ERROR: [Errno 28] No space left on device").contains("disk"));
        assert!(
            cause("Temporary failure in name resolution\nERROR: No matching distribution found").contains("network")
        );
        assert!(cause("ERROR: No matching distribution found for torch==2.11.0").contains("and its Python"));
        assert!(cause("ERROR: Could not find a version (from versions: none)").contains("no way to it"));
        assert!(
            cause("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.").contains("checksum")
        );
        assert!(explain("ERROR: surprise").ends_with("ERROR: surprise"));
    }
}
