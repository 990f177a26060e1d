"""The printed PyTorch classes of the built-in rules against trajectories of their reference implementations.

The trajectories are in `tests/numbers/goldens`, or in the folder that VALLEYSCOPE_GOLDENS names.
"""

import copy
import os
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from valleyscope.results import program

torch = pytest.importorskip("torch")

GOLDENS = Path(os.environ.get("VALLEYSCOPE_GOLDENS", Path(__file__).parents[1] / "numbers" / "goldens"))
# Relative to the largest parameter of a tensor.
TOLERANCE = 1e-12
STEPS = 60

CAUTIOUS = {"mask": "Cautious"}
COUPLED = {"decay": "Coupled"}
# Golden, rule, its choices, and the tensors of the golden: all where none are named.
CASES = [
    ("adamw", "Adam", {}),
    ("cautious_adamw", "Adam", CAUTIOUS),
    ("signum", "Signum", {}),
    ("focus", "FOCUS", {"decay": "Average"}),
    ("sgd", "SGD", COUPLED),
    ("sgd_momentum", "SGD", COUPLED),
    ("sgd_nesterov", "SGD", {"form": "Nesterov", **COUPLED}),
    ("sgd_momentum_decoupled", "SGD", {}),
    ("lion", "Lion", {}),
    ("cautious_lion", "Lion", CAUTIOUS),
    # The references of MARS step vectors by Adam.
    ("mars_approx", "MARS", {}, ("W", "p2")),
    ("mars", "MARS", {"form": "Exact"}, ("W", "p2")),
    ("sophia", "Sophia", {}),
    ("muon", "Muon", {}),
    ("rmsprop", "RMSProp", COUPLED),
    ("rmsprop_centered", "RMSProp", {"form": "Centred"}),
    ("nadam", "NAdam", {}),
    ("ademamix", "AdEMAMix", {}),
    ("adam_mini", "Adam-mini", {}),
    ("adabelief", "AdaBelief", {}),
    ("shampoo", "Shampoo", {"statistics": "Sum", "grafting": "Off"}),
    ("shampoo_ema", "Shampoo", {"grafting": "Off"}),
    ("shampoo_ema_graft", "Shampoo", {}),
    ("soap", "SOAP", {}, ("W", "b", "S")),
    # The plane is a vector, which has eigenvectors in this case only.
    ("soap", "SOAP", {"precondition_1d": "On"}, ("p2",)),
    ("schedule_free", "Schedule-Free", {}),
]
NAMES = ["-".join([case[0], *sum(case[3:], ())]) for case in CASES]
# The names of hyperparameters that a golden names otherwise.
RENAMED = {
    "SGD": {"momentum": "beta1"},
    "RMSProp": {"alpha": "beta2"},
    "Shampoo": {"frequency": "interval"},
    "SOAP": {"frequency": "interval"},
    "Muon": {"aux_beta1": "beta1", "aux_beta2": "beta2", "aux_eps": "eps"},
}
# Hyperparameters that have a fixed value in the reference of a golden.
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


def text(*arguments):
    command = [*program(), "optimizers", "show", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout


@cache
def printed(rule, settings=()):
    """The class that the program prints for a rule with these choices."""
    sets = [part for key, value in settings for part in ("--set", f"{key}={value}")]
    names = {}
    exec(compile(text(rule, "--as", "pytorch", *sets), f"{rule}.py", "exec"), names)
    (made,) = [it for it in names.values() if isinstance(it, type) and it is not names["Optimizer"]]
    return made


class Replay:
    """The run of an optimizer on the recorded gradients of a golden, with a parameter group for each tensor."""

    def __init__(self, golden, rule, choices, tensors=None):
        path = GOLDENS / f"{golden}.npz"
        if not path.exists():
            pytest.skip(f"{path} is missing")
        self.golden, self.arrays = golden, np.load(path)
        self.given = {key[2:]: float(self.arrays[key]) for key in self.arrays.files if key.startswith("h_")}
        self.make = printed(rule, tuple(choices.items()))
        self.values = self.hyperparameters(rule)
        every = [key.removesuffix("_theta") for key in self.arrays.files if key.endswith("_theta")]
        self.params = {name: self.tensor(name, "theta", 0).requires_grad_() for name in tensors or every}
        self.optimizer = self.make(self.groups(), **self.values)

    def hyperparameters(self, rule):
        renamed = RENAMED.get(rule, {})
        values = {renamed.get(key, key): value for key, value in self.given.items()} | FIXED.get(self.golden, {})
        if rule == "Muon":
            values["vector_rate"] = self.given["aux_lr"] / self.given["lr"]
            values["vector_decay"] = self.given["aux_weight_decay"] / self.given["weight_decay"]
        known = self.make.__init__.__code__.co_varnames
        return {key: value for key, value in values.items() if key in known}

    def groups(self):
        options = {name: {} for name in self.params}
        if self.golden == "adam_mini":
            options["Q"] = {"blocks": int(self.given["heads"])}
            options["b"] = {"weight_decay": 0.0}
            options["U"] = options["p2"] = {"blocks": 1}
        return [{"params": [param], **options[name]} for name, param in self.params.items()]

    def tensor(self, name, array, index):
        row = self.arrays[f"{name}_{array}"][index]
        # The plane is a matrix of Muon's.
        return torch.tensor(row.reshape(2, 1) if (self.golden, name) == ("muon", "p2") else row)

    def step(self, t):
        for name, param in self.params.items():
            param.grad = self.tensor(name, "g", t - 1)
        if self.golden == "sophia":
            self.optimizer.step(lambda param: self.curvature(param, t))
        elif self.golden == "mars":
            self.optimizer.step(lambda: self.gradients_at_parameters(t))
        else:
            self.optimizer.step()
        if self.golden == "soap" and t == 1 and "W" in self.params:
            # Some eigenvectors of the first statistic are arbitrary.
            state = self.optimizer.state[self.params["W"]]
            state["Q"] = {axis: torch.tensor(self.arrays[f"W_Q{axis}"]) for axis in state["Q"]}

    def curvature(self, param, t):
        (name,) = [name for name, it in self.params.items() if it is param]
        index = (t - 1) // int(self.given["interval"]) - 1
        return self.given["batch"] * self.tensor(name, "hgrad", index) ** 2

    def gradients_at_parameters(self, t):
        """Sets the gradients at the present parameters, or at those before the last step."""
        for name, param in self.params.items():
            is_before = t > 1 and relative(param, self.tensor(name, "theta", t - 2)) < TOLERANCE
            param.grad = self.tensor(name, "gprev" if is_before else "g", t - 1)

    def compare(self, t):
        for name, param in self.params.items():
            error = relative(param, self.tensor(name, "theta", t))
            assert error < TOLERANCE, f"{name} in step {t}: {error:.1e}"


def relative(tensor, golden):
    return ((tensor - golden).abs().max() / golden.abs().max()).item()


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_printed_class_agrees_with_the_reference(case):
    replay = Replay(*case)
    for t in range(1, STEPS + 1):
        replay.step(t)
        replay.compare(t)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_state_dict_continues_the_trajectory(case):
    replay = Replay(*case)
    for t in range(1, STEPS + 1):
        if t == 33:
            state = copy.deepcopy(replay.optimizer.state_dict())
            replay.optimizer = replay.make(replay.groups(), **replay.values)
            replay.optimizer.load_state_dict(state)
        replay.step(t)
    replay.compare(STEPS)


def test_schedule_free_evaluates_at_the_average():
    replay = Replay("schedule_free", "Schedule-Free", {})
    for t in range(1, STEPS + 1):
        replay.step(t)
        replay.optimizer.eval()
        for name, param in replay.params.items():
            assert relative(param, replay.tensor(name, "x", t - 1)) < TOLERANCE
        with pytest.raises(RuntimeError, match="train"):
            replay.step(t)
        replay.optimizer.train()
        replay.compare(t)


@pytest.mark.parametrize("rule", ["Adam", "FOCUS", "Muon", "NAdam", "Schedule-Free", "SOAP"])
def test_groups_and_late_parameters_step_as_if_they_were_alone(rule):
    """A parameter steps the same with others in its group, and with another group beside it, as alone."""
    torch.manual_seed(0)
    starts, gradients = torch.randn(3, 4, 4), torch.randn(10, 3, 4, 4)
    # The third parameter has no gradient in the first steps, and the second has other hyperparameters.
    first_steps, options = [0, 0, 4], [{}, {"lr": 0.1, "weight_decay": 0.3}, {}]

    def run(chosen):
        params = {index: starts[index].clone().requires_grad_() for index in chosen}
        own = [params[index] for index in chosen if not options[index]]
        groups = [{"params": own}] if own else []
        groups += [{"params": [params[index]], **options[index]} for index in chosen if options[index]]
        optimizer = printed(rule)(groups, lr=0.01)
        for t in range(10):
            for index, param in params.items():
                param.grad = gradients[t, index].clone() if t >= first_steps[index] else None
            optimizer.step()
        return params

    together = run([0, 1, 2])
    for index, param in together.items():
        alone = run([index])[index]
        torch.testing.assert_close(param, alone, rtol=0.0, atol=1e-15)


def test_schedulers_and_closures_work():
    param = torch.ones(3, requires_grad=True)
    optimizer = printed("FOCUS")([param], lr=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)

    def closure():
        optimizer.zero_grad()
        loss = (param**2).sum()
        loss.backward()
        return loss

    losses = []
    for _ in range(5):
        losses.append(optimizer.step(closure).item())
        scheduler.step()
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("values", [{"lr": -1.0}, {"beta1": 1.0}, {"beta2": -0.1}, {"weight_decay": float("nan")}])
def test_values_out_of_range_are_refused(values):
    with pytest.raises(ValueError, match=next(iter(values))):
        printed("FOCUS")([torch.ones(1, requires_grad=True)], **values)


def test_latex_is_aligned_equations():
    lines = text("FOCUS", "--as", "latex").splitlines()
    assert (lines[0], lines[-1]) == (r"\begin{aligned}", r"\end{aligned}")
    assert all(line.endswith(r"\\") for line in lines[1:-2])


@pytest.mark.parametrize("rule", ["SOAP", "Shampoo", "Muon"])
@pytest.mark.parametrize("shape", [(6, 4), (0, 5), (3, 0), (2, 3, 4)])
def test_half_precision_and_empty_tensors_are_stepped(rule, shape):
    param = torch.ones(shape, dtype=torch.bfloat16, requires_grad=True)
    optimizer = printed(rule)([param], lr=0.01)
    for _ in range(12):
        param.grad = torch.randn(shape).to(torch.bfloat16)
        optimizer.step()
    assert param.isfinite().all()
