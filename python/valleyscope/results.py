"""Simulations, sweeps and runs: computed, read, shown and saved."""

import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from . import _native
from .optimizers import Optimizer, Rule, Stepper
from .presets import preset as load
from .progress import progress as shown
from .run import Run


class _Arrays:
    """The arrays of a file of NumPy as attributes."""

    def __init__(self, npz):
        self._npz = npz
        with np.load(io.BytesIO(npz), allow_pickle=False) as arrays:
            # A text is an array without dimensions.
            self._arrays = {name: array.item() if array.ndim == 0 else array for name, array in arrays.items()}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._arrays:
            raise AttributeError(f"{type(self).__name__} has no array {name!r}; it has {', '.join(self.arrays())}")
        return self._arrays[name]

    def __dir__(self):
        return [*super().__dir__(), *self._arrays]

    def arrays(self):
        """The names of the arrays."""
        return list(self._arrays)


class Simulation(_Arrays):
    """A recorded simulation: the arrays of ``valleyscope simulate --out FILE.npz``.

    ``optimizers`` (O) names, ``step`` (S) the recorded steps, ``positions`` (O, S, P, 2) of the first 100 particles, and
    curves (O, S) such as ``loss_mean``; ``arrays()`` lists them. ``spec`` is the preset that repeats it.
    """

    def __init__(self, npz, native=None):
        super().__init__(npz)
        self._native = native

    def save(self, path):
        """Writes the arrays to ``path``, a file that ends in ``.npz``."""
        Path(path).write_bytes(self._npz)

    def show(self):
        """Opens the window with the recorded clouds."""
        folder = Path(tempfile.mkdtemp(prefix="valleyscope-"))
        self.save(folder / "simulation.npz")
        _open(folder / "simulation.npz")

    def _repr_svg_(self):
        if self._native is None and "External(" not in self._arrays.get("spec", "External("):
            self._native = _native.simulate(self.spec, 2**63, Stepper([]), lambda *_: None)
        return self._native and self._native.svg()

    def __repr__(self):
        names = self._arrays.get("optimizers", ["a recorded cloud"])
        return f"<Simulation of {', '.join(names)}, positions of the shape {self.positions.shape}>"


class Sweep(_Arrays):
    """A phase diagram: the arrays of ``phase.npz``.

    ``optimizers`` (O) names, ``rows`` (R) and ``cols`` (C) values of the axes, ``lrs`` learning rates, ``score``
    (O, R, C), ``winner`` (R, C) the index of the best optimizer, −1 where there is none; ``arrays()`` lists all.
    """

    def __init__(self, native):
        super().__init__(native.npz())
        self._native = native

    def save(self, folder):
        """Writes the files of ``valleyscope sweep --out FOLDER``."""
        self._native.save(os.fspath(folder))

    def show(self):
        """Opens the window with the diagram."""
        folder = tempfile.mkdtemp(prefix="valleyscope-")
        self.save(folder)
        _open(folder)

    def to_pandas(self):
        """A ``DataFrame`` with a row for each pixel and optimizer."""
        import pandas

        optimizers, rows, cols = self.score.shape
        index = np.indices((optimizers, rows, cols)).reshape(3, -1)
        winner = self.winner[index[1], index[2]]
        names = np.append(self.optimizers, None)
        table = {
            self.row_name: self.rows[index[1]],
            self.col_name: self.cols[index[2]],
            "optimizer": self.optimizers[index[0]],
            "score": self.score.ravel(),
            "score_std": self.score_std.ravel(),
            "best_learning_rate": self._best_rates().ravel(),
            "diverged": self.diverged.ravel(),
            "replicates": self.replicates[index[1], index[2]],
            "winner": names[winner],
        }
        if "certainty" in self._arrays:
            table["certainty"] = self.certainty[index[1], index[2]]
        return pandas.DataFrame(table)

    def to_xarray(self):
        """A ``Dataset`` over optimizer, row and column."""
        import xarray

        full, pixel = ("optimizer", self.row_name, self.col_name), (self.row_name, self.col_name)
        arrays = {name: (full, self._arrays[name]) for name in ["score", "score_std", "min_loss", "depth", "diverged"]}
        arrays["best_learning_rate"] = full, self._best_rates()
        arrays |= {name: (pixel, self._arrays[name]) for name in ["winner", "replicates"]}
        if "certainty" in self._arrays:
            arrays["certainty"] = pixel, self.certainty
        coordinates = {"optimizer": self.optimizers, self.row_name: self.rows, self.col_name: self.cols}
        return xarray.Dataset(arrays, coordinates, {"metric": self.metric, "spec": self.spec, "program": self.program})

    def _best_rates(self):
        """The learning rate of each score, (O, R, C); NaN where it is unknown, or an axis."""
        rates = np.broadcast_to(np.atleast_2d(self.lrs), (len(self.optimizers), np.shape(self.lrs)[-1]))
        padded = np.concatenate([rates, np.full((len(rates), 1), np.nan)], axis=1)
        return padded[np.arange(len(rates))[:, None, None], self.best_lr]

    def _repr_svg_(self):
        return self._native.svg()

    def __repr__(self):
        rows, cols = self.winner.shape
        return f"<Sweep of {', '.join(self.optimizers)}, {rows} × {cols} pixels>"


def simulate(preset="fig1c", optimizers=None, *, every=1, set=None, progress=True, **settings):
    """Simulates a preset and records the start, every ``every``-th step and the last; returns a ``Simulation``.

    ``optimizers`` replace those of the preset: ``[vs.Adam(learning_rate=0.01), vs.Optimizer(…)]``. Settings have the
    names of ``--set``: ``noise=0.5``, or in ``set={"landscape.sharpness": 100}`` those with dots.
    """
    changed = _changed(preset, set, settings, None if optimizers is None else _in_simulation(optimizers))
    with shown(progress) as tell:
        native = _native.simulate(changed.text, int(every), Stepper(optimizers or []), tell)
    return Simulation(native.npz(), native)


def sweep(
    preset="fig2a",
    grid=None,
    *,
    adaptive=None,
    optimizers=None,
    precision="f32",
    threads=None,
    set=None,
    progress=True,
    **settings,
):
    """Computes a phase diagram; returns a ``Sweep``.

    ``grid`` is (rows, columns), over the preset's ranges. ``adaptive`` spends replicates where the winner is open:
    ``True``, or the budget as a multiple of the steps of uniform sampling. ``optimizers`` replace those of the preset.
    ``precision`` is that of built-in rules, f32 or f64; external optimizers always have f64. Other settings have the
    names of ``--set``: ``replicates=10``, ``steps=500``, or in ``set={"rows.from": 0.1}`` those with dots.
    """
    if precision not in ("f32", "f64"):
        raise ValueError(f"expected the precision f32 or f64, found {precision!r}")
    listed = None
    if optimizers is not None:
        listed = "[" + ", ".join(of.in_sweep(index) for index, of in enumerate(_rules(optimizers))) + "]"
    settings = dict(settings)
    if grid is not None:
        if isinstance(grid, str) or np.size(grid) != 2:
            raise ValueError(f"expected grid as (rows, columns), found {grid!r}")
        rows, columns = grid
        settings |= {"rows.count": int(rows), "columns.count": int(columns)}
    if adaptive is True:
        settings["sampling"] = "Adaptive()"
    elif adaptive is not None:
        settings["sampling"] = f"Adaptive(budget: {float(adaptive)!r})" if adaptive else "Uniform"
    changed = _changed(preset, set, settings, listed)
    if precision == "f32" and "External(" in changed.text and "common_random_numbers: true" in changed.text:
        raise ValueError('expected precision="f64" where runs share their noise, as external optimizers have it')
    with shown(progress) as tell:
        stepper = Stepper(optimizers or [])
        return Sweep(_native.sweep(changed.text, precision == "f64", threads, stepper, tell))


def _changed(preset, of_paths, settings, optimizers):
    changed = load(preset).copy()
    # Settings may be of the optimizers that are passed.
    all_settings = [] if optimizers is None else [("optimizers", optimizers)]
    all_settings += [*(of_paths or {}).items(), *settings.items()]
    return changed._set(all_settings) if all_settings else changed


def _rules(optimizers):
    if isinstance(optimizers, Rule):
        raise TypeError("expected a list of optimizers, found one optimizer")
    for of in optimizers:
        if not isinstance(of, Rule):
            found = type(of).__name__
            raise TypeError(f"expected optimizers such as vs.Adam() or vs.Optimizer(make, name), found {found}")
    return optimizers


def _in_simulation(optimizers):
    for of in _rules(optimizers):
        if of.learning_rate is None:
            raise ValueError(f"{of.name or of.key} needs a learning rate: pass learning_rate=0.01, say")
    return "[" + ", ".join(of.in_simulation(index, of.learning_rate) for index, of in enumerate(optimizers)) + "]"


def read(path):
    """What a path holds: the ``Sweep`` of a folder or of ``phase.npz``, the ``Simulation`` of an NPZ, or a ``Run``."""
    path = Path(path)
    if path.is_dir() and (path / "events.jsonl").exists():
        return Run.open(path)
    if path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        if "positions.npy" in names and "winner.npy" not in names:
            return Simulation(path.read_bytes())
    return Sweep(_native.read_sweep(os.fspath(path)))


def runs(folder=None):
    """The runs in a folder, by default the program's own: a ``DataFrame`` with a row for each, with its settings and its
    last metrics."""
    import pandas

    command = [*program(), "runs", "list", "--json"]
    if folder is not None:
        command += ["--runs", os.fspath(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr.strip().removeprefix("error: "))
    # JSON has no NaN and no infinities: they are texts there.
    numbers = {"NaN": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
    return pandas.json_normalize(json.loads(done.stdout)).replace(numbers).infer_objects()


def program():
    """The command of the program: that of the variable ``VALLEYSCOPE``, or of this package."""
    named = os.environ.get("VALLEYSCOPE")
    return [named] if named else [sys.executable, "-m", "valleyscope"]


def _open(path):
    """Opens the window in a process of its own."""
    subprocess.Popen([*program(), "app", "--open", os.fspath(path)], start_new_session=True)
