"""The commands ``valleyscope`` and ``valleyscope-train`` of this package."""

import importlib.metadata
import importlib.util
import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

WORKER = Path(__file__).parent / "bin" / ("valleyscope-train.exe" if sys.platform == "win32" else "valleyscope-train")
TORCH = "2.11.0"


def main():
    """``valleyscope``, which trains with this package's worker where no other is named."""
    from . import _native

    scripts = Path(sysconfig.get_path("scripts"))
    worker, command = scripts / WORKER.name, scripts / WORKER.name.replace("-train", "")
    if worker.exists() and not refusal():
        os.environ.setdefault("VALLEYSCOPE_TRAIN", str(worker))
    os.environ["VALLEYSCOPE_COMMAND"] = str(command if command.exists() else sys.argv[0])
    # Ctrl-C is the program's.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.run_program(["valleyscope", *sys.argv[1:]]))


def train():
    """``valleyscope-train``, the worker, on the libtorch of the installed torch."""
    reason = refusal()
    if reason:
        sys.exit(f"error: {reason}")
    environment = dict(os.environ)
    libraries = str(Path(importlib.util.find_spec("torch").origin).parent / "lib")
    name = {"win32": "PATH", "darwin": "DYLD_LIBRARY_PATH"}.get(sys.platform, "LD_LIBRARY_PATH")
    environment[name] = os.pathsep.join(filter(None, [libraries, environment.get(name)]))
    arguments = [str(WORKER), *sys.argv[1:]]
    if sys.platform == "win32":
        sys.exit(subprocess.call(arguments, env=environment))
    os.execve(WORKER, arguments, environment)


def refusal():
    """Why the worker of this package cannot run here; ``None`` where it can."""
    if not WORKER.exists():
        return "this package was made without the worker; `cargo xtask wheel` makes one with it"
    try:
        version = importlib.metadata.version("torch").partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return f"the worker needs torch {TORCH}, found none; `pip install 'valleyscope[torch]'` installs it"
    if version != TORCH:
        return f"the worker runs with torch {TORCH} only, found {version}; `pip install torch=={TORCH}` installs it"
    return None
