//! The command `cargo xtask wheel`: the Python package, with the program and its worker in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use valleyscope_machine as machine;

use super::cargo::{forget_package, project, step};
use super::worker::Audience;
use super::{Stop, say, setup, worker};

/// The Python that has what makes the wheel.
pub fn maturin() -> Result<PathBuf, Stop> {
    environment("wheel", &["maturin>=1.9,<2"])
}

/// Builds the native module, which is the program, too, in a profile, and the worker if wanted; makes a wheel of them, and
/// returns its path.
pub fn wheel(profile: &str, with_worker: bool) -> Result<PathBuf, Stop> {
    setup::provide(machine::for_building())?;
    let programs = project().join("python/valleyscope/bin");
    let _ = fs::remove_dir_all(&programs);
    fs::create_dir_all(&programs).map_err(|error| failed(&programs, &error))?;
    if with_worker {
        worker::set_up(Audience::here())?;
        add(&worker::installed()?, &programs)?;
    }
    let python = maturin()?;
    let wheels = project().join("target/wheels");
    let mut maturin = Command::new(python);
    maturin.args(["-m", "maturin", "build", "--profile", profile, "--out"]).arg(&wheels);
    maturin.current_dir(project().join("python"));
    forget_package(&mut maturin);
    step("the wheel: maturin build", &mut maturin)?;
    let newest = fs::read_dir(&wheels).map_err(|error| failed(&wheels, &error))?.filter_map(|entry| {
        let path = entry.ok()?.path();
        let is_wheel = path.extension().is_some_and(|extension| extension == "whl");
        is_wheel.then(|| path.metadata().and_then(|about| about.modified()).ok().map(|time| (time, path)))?
    });
    let (_, path) = newest.max().ok_or_else(|| Stop::failed("xtask: maturin has made no wheel"))?;
    let megabytes = path.metadata().map_or(0.0, |about| about.len() as f64 / 1e6);
    say(format_args!("{} ({megabytes:.1} MB); install it with `pip install {0}`", path.display()));
    Ok(path)
}

/// Copies a program into the package, without its line tables where there is a tool that removes them.
fn add(program: &Path, folder: &Path) -> Result<(), Stop> {
    let target = folder.join(program.file_name().expect("a program has a name"));
    fs::copy(program, &target).map_err(|error| failed(&target, &error))?;
    if !cfg!(windows) && !Command::new("strip").arg(&target).status().is_ok_and(|status| status.success()) {
        say(format_args!("{} keeps its line tables: there is no program strip", target.display()));
    }
    Ok(())
}

/// Makes a virtual environment `target/NAME` with these packages, unless it is there; returns its Python.
pub fn environment(name: &str, packages: &[&str]) -> Result<PathBuf, Stop> {
    let folder = project().join("target").join(name);
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        let of_machine = env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
        step("a virtual environment for Python", Command::new(of_machine).args(["-m", "venv"]).arg(&folder))?;
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    step(&format!("pip install {}", packages.join(" ")), &mut pip)?;
    Ok(python)
}

fn failed(path: &Path, error: &io::Error) -> Stop {
    Stop::failed(format!("xtask: {}: {error}", path.display()))
}
