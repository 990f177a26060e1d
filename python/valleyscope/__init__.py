"""Valleyscope from Python: see why one optimizer beats another in a narrowing valley.

    import valleyscope as vs

    vs.sweep("fig2a", grid=(24, 25))            # the paper's phase diagram; a figure in a notebook
    vs.simulate("fig1c", noise=0.5).positions   # (optimizers, steps, particles, 2)

Presets, landscapes, simulations and sweeps are computed by the same code as those of the window and the command line,
with the same bits. ``vs.Optimizer`` takes optimizers of one's own into both, ``vs.Run`` logs one's own trainings, and
``vs.torch`` has the built-in rules as PyTorch optimizers, and ``vs.torch.Probe``, which measures trainings.
"""

import importlib

from ._native import __version__
from .optimizers import Optimizer, Rule, rule
from .optimizers import rules as _rules
from .presets import Landscape, Preset, landscape, preset, presets
from .results import Simulation, Sweep, read, runs, simulate, sweep
from .run import Run

# A class for each built-in rule: ``vs.Adam(beta1=0.9, learning_rate=0.01)``.
globals().update(_rules)

__all__ = [
    "Landscape", "Optimizer", "Preset", "Rule", "Run", "Simulation", "Sweep", "__version__", "landscape", "preset",
    "presets", "read", "rule", "runs", "simulate", "sweep", "torch", *_rules,
]  # fmt: skip


def __getattr__(name):
    # PyTorch is imported only where its optimizers are used.
    if name == "torch":
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
