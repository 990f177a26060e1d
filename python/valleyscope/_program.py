"""The commands ``valleyscope`` and ``valleyscope-train`` of this package."""

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "bin"
SUFFIX = ".exe" if sys.platform == "win32" else ""
TORCH = "2.11.0"


def path(name="valleyscope"):
    """The path of a program of this package; ``FileNotFoundError`` where the package was made without it."""
    program = FOLDER / (name + SUFFIX)
    if not program.exists():
        raise FileNotFoundError(f"this package was made without {name}; `cargo xtask wheel` makes one with it")
    return program


def main():
    """``valleyscope``, which trains with this package's worker where there is no other."""
    environment = dict(os.environ)
    worker = Path(sys.argv[0]).with_name("valleyscope-train" + SUFFIX)
    if worker.exists() and not refusal():
        environment.setdefault("VALLEYSCOPE_TRAIN", str(worker))
    _replace(path(), environment)


def train():
    """``valleyscope-train``, the worker, on the libtorch of the installed torch."""
    reason = refusal()
    if reason:
        sys.exit(f"error: {reason}")
    environment = dict(os.environ)
    libraries = Path(importlib.util.find_spec("torch").origin).parent / "lib"
    if sys.platform == "win32":
        os.add_dll_directory(str(libraries))
        environment["PATH"] = f"{libraries}{os.pathsep}{environment.get('PATH', '')}"
    else:
        name = "DYLD_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"
        environment[name] = os.pathsep.join(filter(None, [str(libraries), environment.get(name)]))
    _replace(path("valleyscope-train"), environment)


def refusal():
    """Why the worker of this package cannot run here; ``None`` where it can."""
    if not (FOLDER / ("valleyscope-train" + SUFFIX)).exists():
        return "this package was made without the worker; `cargo xtask wheel` makes one with it"
    try:
        version = importlib.metadata.version("torch").partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return f"the worker needs torch {TORCH}, found none; `pip install 'valleyscope[torch]'` installs it"
    if version != TORCH:
        return f"the worker runs with torch {TORCH} only, found {version}; `pip install torch=={TORCH}` installs it"
    return None


def _replace(program, environment):
    """Runs a program in place of this one."""
    arguments = [str(program), *sys.argv[1:]]
    if sys.platform == "win32":
        sys.exit(subprocess.call(arguments, env=environment))
    os.execve(program, arguments, environment)
