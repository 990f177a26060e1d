"""The printed PyTorch classes of the built-in rules against trajectories of their reference implementations.

    VALLEYSCOPE=target/release/valleyscope pytest tests/python/test_rules.py

The trajectories are in `tests/numbers/goldens`, or in the folder that VALLEYSCOPE_GOLDENS names.
"""

import copy
import os
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

PROGRAM = os.environ.get("VALLEYSCOPE", "valleyscope")
GOLDENS = Path(os.environ.get("VALLEYSCOPE_GOLDENS", Path(__file__).parents[1] / "numbers" / "goldens"))
# Relative to the largest parameter of a tensor.
TOLERANCE = 1e-12
STEPS = 60

CAUTIOUS = {"mask": "Cautious"}
COUPLED = {"decay": "Coupled"}
# Golden, rule, its choices, and the names of hyperparameters that the golden names otherwise.
CASES = [
    ("adamw", "Adam", {}, {}),
    ("cautious_adamw", "Adam", CAUTIOUS, {}),
    ("signum", "Signum", {}, {}),
    ("focus", "FOCUS", {"decay": "Average"}, {}),
    ("sgd", "SGD", COUPLED, {}),
    ("sgd_momentum", "SGD", COUPLED, {"momentum": "beta1"}),
    ("sgd_nesterov", "SGD", {"form": "Nesterov", **COUPLED}, {"momentum": "beta1"}),
    ("sgd_momentum_decoupled", "SGD", {}, {"momentum": "beta1"}),
    ("lion", "Lion", {}, {}),
    ("cautious_lion", "Lion", CAUTIOUS, {}),
    ("mars_approx", "MARS", {}, {}),
    ("mars", "MARS", {"form": "Exact"}, {}),
    ("sophia", "Sophia", {}, {}),
    ("muon", "Muon", {}, {"aux_beta1": "beta1", "aux_beta2": "beta2", "aux_eps": "eps"}),
    ("rmsprop", "RMSProp", COUPLED, {"alpha": "beta2"}),
    ("rmsprop_centered", "RMSProp", {"form": "Centred"}, {"alpha": "beta2"}),
    ("nadam", "NAdam", {}, {}),
    ("ademamix", "AdEMAMix", {}, {}),
    ("adam_mini", "Adam-mini", {}, {}),
    ("adabelief", "AdaBelief", {}, {}),
    ("shampoo", "Shampoo", {"statistics": "Sum", "grafting": "Off"}, {}),
    ("shampoo_ema", "Shampoo", {"grafting": "Off"}, {}),
    ("shampoo_ema_graft", "Shampoo", {}, {"frequency": "interval"}),
    ("soap", "SOAP", {}, {"frequency": "interval"}),
    ("schedule_free", "Schedule-Free", {}, {}),
]
# Hyperparameters of references that have fixed values there.
FIXED = {
    "sgd": {"beta1": 0.0},
    "shampoo": {"beta1": 0.0, "interval": 1},
    "shampoo_ema": {"interval": 1},
    "sophia": {"eps": 1e-15},
    "rmsprop": {"momentum": 0.0},
}


@pytest.fixture(autouse=True)
def in_double_precision():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    yield
    torch.set_default_dtype(torch.float32)


@cache
def printed(rule, settings=()):
    """The class that the program prints for a rule with these choices."""
    arguments = [part for key, value in settings for part in ("--set", f"{key}={value}")]
    command = [PROGRAM, "optimizers", "show", rule, "--as", "pytorch", *arguments]
    text = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout
    names = {}
    exec(compile(text, f"{rule}.py", "exec"), names)
    classes = [value for value in names.values() if isinstance(value, type) and value is not names["Optimizer"]]
    assert len(classes) == 1
    return classes[0]


class Replay:
    """The run of an optimizer on the recorded gradients of a golden."""

    def __init__(self, golden, rule, choices, renamed):
        path = GOLDENS / f"{golden}.npz"
        if not path.exists():
            pytest.skip(f"{path} is missing")
        self.golden, self.arrays = golden, np.load(path)
        self.make = printed(rule, tuple(choices.items()))
        self.names = [key[:-6] for key in self.arrays.files if key.endswith("_theta")]
        known = self.make.__init__.__code__.co_varnames
        given = {key[2:]: float(self.arrays[key]) for key in self.arrays.files if key.startswith("h_")}
        self.given = given
        values = {renamed.get(key, key): value for key, value in given.items()} | FIXED.get(golden, {})
        if golden == "muon":
            values |= {"vector_rate": given["aux_lr"] / given["lr"]}
            values |= {"vector_decay": given["aux_weight_decay"] / given["weight_decay"]}
        self.values = {key: value for key, value in values.items() if key in known}
        if golden in ("mars", "mars_approx"):
            # The references step vectors by Adam.
            self.names = [name for name in self.names if name != "b"]
        self.params = {name: torch.tensor(self.shaped(name, self.row(name, "theta", 0))) for name in self.names}
        for param in self.params.values():
            param.requires_grad_()
        self.optimizer = self.make(self.groups(), **self.values)

    def groups(self):
        """A group for each tensor, with the options that it has."""
        options = {name: {} for name in self.names}
        if self.golden == "adam_mini":
            options["Q"] = {"blocks": int(self.given["heads"])}
            options["b"] = {"weight_decay": 0.0}
            options["U"] = options["p2"] = {"blocks": 1}
        return [{"params": [self.params[name]], **options[name]} for name in self.names]

    def row(self, name, array, index):
        return self.arrays[f"{name}_{array}"][index]

    def shaped(self, name, row):
        # The plane is a matrix of Muon's, and a vector of SOAP's that has eigenvectors only as one.
        return row.reshape(2, 1) if (self.golden, name) == ("muon", "p2") else row

    def step(self, t):
        if self.golden == "soap" and t == 2:
            self.take_eigenvectors()
        gradients = {name: torch.tensor(self.shaped(name, self.row(name, "g", t - 1))) for name in self.names}
        for name, param in self.params.items():
            param.grad = gradients[name]
        if self.golden == "sophia":
            index = (t - 1) // int(self.given["interval"]) - 1
            estimates = {
                id(self.params[name]): self.given["batch"] * torch.tensor(self.row(name, "hgrad", index)) ** 2
                for name in self.names
            }
            self.optimizer.step(lambda param: estimates[id(param)])
        elif self.golden == "mars":
            self.optimizer.step(lambda: self.gradients_at_points(t, gradients))
        else:
            self.optimizer.step()

    def gradients_at_points(self, t, gradients):
        """Sets the gradients at the present parameters, or at those before the last step."""
        for name, param in self.params.items():
            before = torch.tensor(self.row(name, "theta", max(t - 2, 0)))
            is_before = t > 1 and (param - before).abs().max() < TOLERANCE
            param.grad = torch.tensor(self.row(name, "gprev", t - 1)) if is_before else gradients[name]

    def take_eigenvectors(self):
        """Takes the recorded eigenvectors, as those of the null space are arbitrary."""
        for name in ("W", "p2"):
            state = self.optimizer.state[self.params[name]]
            state["Q"] = {axis: torch.tensor(self.arrays[f"{name}_Q{axis}"]) for axis in state["Q"]}

    def compare(self, t):
        for name, param in self.params.items():
            golden = torch.tensor(self.shaped(name, self.row(name, "theta", t)))
            error = ((param - golden).abs().max() / golden.abs().max()).item()
            assert error < TOLERANCE, f"{name} in step {t}: {error:.1e}"


def soap_of_vectors(replay):
    """SOAP's plane is a vector with eigenvectors, unlike its other vectors."""
    if replay.golden == "soap":
        replay.names.remove("p2")
        del replay.params["p2"]
        replay.optimizer = replay.make(replay.groups(), **replay.values)


def replays(case):
    replay = Replay(*case)
    if replay.golden == "soap":
        plane = Replay("soap", "SOAP", {"precondition_1d": "On"}, case[3])
        plane.names, plane.params = ["p2"], {"p2": plane.params["p2"]}
        plane.optimizer = plane.make(plane.groups(), **plane.values)
        plane.take_eigenvectors = lambda: None
        replay.names.remove("p2")
        del replay.params["p2"]
        replay.optimizer = replay.make(replay.groups(), **replay.values)
        take = replay.take_eigenvectors
        replay.take_eigenvectors = lambda: take_of(replay, ["W"])
        return [replay, plane]
    return [replay]


def take_of(replay, names):
    for name in names:
        state = replay.optimizer.state[replay.params[name]]
        state["Q"] = {axis: torch.tensor(replay.arrays[f"{name}_Q{axis}"]) for axis in state["Q"]}


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_printed_class_agrees_with_the_reference(case):
    for replay in replays(case):
        for t in range(1, STEPS + 1):
            replay.step(t)
            replay.compare(t)


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_state_dict_continues_the_trajectory(case):
    for replay in replays(case):
        for t in range(1, STEPS + 1):
            if t == STEPS // 2 + 3:
                state = copy.deepcopy(replay.optimizer.state_dict())
                replay.optimizer = replay.make(replay.groups(), **replay.values)
                replay.optimizer.load_state_dict(state)
            replay.step(t)
        replay.compare(STEPS)
