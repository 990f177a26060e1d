"""Optimizers of simulations and sweeps: built-in rules, rules as text, and Python objects."""

import importlib.util
import sys

import numpy as np

from . import _native
from .presets import ron, ron_text


class Rule:
    """A built-in rule, or one as text, with its hyperparameters.

    ``learning_rate`` is that of a simulation; ``learning_rates`` are those of a sweep, (from, to, count) with equal
    quotients: 20 from 0.001 to 1 unless given. Hyperparameters that are not given have their defaults.
    """

    key = None
    fields = ()

    def __init__(self, *, learning_rate=None, learning_rates=None, name=None, color=None, **hyperparameters):
        unknown = sorted(set(hyperparameters) - set(self.fields))
        if unknown and self.key != "Typed":
            known = f"has the hyperparameters {', '.join(self.fields)}" if self.fields else "has no hyperparameters"
            raise TypeError(f"{type(self).__name__} {known}; found {', '.join(unknown)}")
        if learning_rates is not None and len(learning_rates) != 3:
            raise ValueError(f"expected learning_rates as (from, to, count), found {learning_rates!r}")
        self.learning_rate, self.learning_rates = learning_rate, learning_rates
        self.name, self.color, self.hyperparameters = name, color, hyperparameters

    def _texts(self):
        return {}

    def _rule(self, **rates):
        fields = self._texts() | {name: ron(value) for name, value in (rates | self.hyperparameters).items()}
        return f"{self.key}({', '.join(f'{name}: {value}' for name, value in fields.items())})"

    def _label(self):
        name = "" if self.name is None else f"name: {ron_text(self.name)}, "
        return name if self.color is None else f"{name}color: ({', '.join(map(str, self.color))}), "

    def in_simulation(self, index, learning_rate):
        return f"(id: {index}, {self._label()}rule: {self._rule(learning_rate=float(learning_rate))})"

    def in_sweep(self, index):
        first, last, count = self.learning_rates or (1e-3, 1.0, 20)
        rates = f"(from: {float(first)!r}, to: {float(last)!r}, count: {int(count)})"
        return f"(id: {index}, {self._label()}rule: {self._rule()}, learning_rates: {rates})"

    def __repr__(self):
        given = {"name": self.name, "learning_rate": self.learning_rate, "learning_rates": self.learning_rates}
        fields = {key: value for key, value in given.items() if value is not None} | self.hyperparameters
        return f"vs.{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in fields.items())})"


def _built_in(key, fields):
    about = f"The rule {key}, with the hyperparameters {', '.join(fields)}. See ``Rule``."
    return type(key, (Rule,), {"key": key, "fields": tuple(fields), "__doc__": about, "__module__": "valleyscope"})


rules = {key: _built_in(key, fields) for key, fields in _native.rules()}


class _Typed(Rule):
    key = "Typed"

    def __init__(self, text, name, **settings):
        super().__init__(name=name, **settings)
        self.text = text

    def _texts(self):
        return {"name": ron_text(self.name), "text": ron_text(self.text)}


def rule(text, name="typed", **settings):
    """A rule in the program's language: ``vs.rule("theta = theta - eta*sign(g)", learning_rate=0.01)``, with values of
    its parameters."""
    return _Typed(text, name, **settings)


class Optimizer(Rule):
    """An optimizer of your own.

        vs.Optimizer(lambda params, lr: torch.optim.Adagrad(params, lr=lr), name="Adagrad")

    ``make(params, lr)`` returns a ``torch.optim.Optimizer`` on ``params``, or any object with
    ``step(theta, gradient) -> theta`` on float64 arrays. The engine gives the gradients, with its own noise, in float64.

    With ``elementwise`` all particles, or all runs of a sweep that share a learning rate, are the rows of one parameter
    of the shape (rows, 2): right for rules that treat each number by itself, and fast. Without it each has an optimizer of
    its own, with a parameter of the shape ``shape``: for rules that see a whole tensor or all parameters, and slower by
    the number of rows. Objects with ``step(theta, gradient)`` get arrays of the shape (rows, 2), or else (2,).
    """

    key = "External"

    def __init__(self, make, name, *, elementwise=True, shape=(2, 1), **settings):
        super().__init__(name=name, **settings)
        self.make, self.elementwise, self.shape = make, elementwise, shape

    def begin(self, learning_rate, theta, gradient):
        """A function that takes a step: it changes ``theta``, (rows, 2), given ``gradient``, in place."""
        if self.elementwise:
            return self._begin_part(learning_rate, theta, gradient)
        steps = [self._begin_part(learning_rate, theta[row], gradient[row]) for row in range(len(theta))]

        def step_each():
            for step in steps:
                step()

        return step_each

    def _begin_part(self, learning_rate, theta, gradient):
        if "torch" in sys.modules or importlib.util.find_spec("torch"):
            step = self._begin_torch(learning_rate, theta, gradient)
            if step is not None:
                return step
        optimizer = self.make([theta.copy()], learning_rate)
        if not hasattr(optimizer, "step"):
            found = type(optimizer).__name__
            raise TypeError(f"expected that make returns a torch.optim.Optimizer or an object with `step`, found {found}")

        def step():
            theta[...] = self._checked(optimizer.step(theta.copy(), gradient.copy()), theta.shape)

        return step

    def _begin_torch(self, learning_rate, theta, gradient):
        """A step of PyTorch on memory shared with NumPy; ``None`` where the optimizer is not one of PyTorch."""
        import torch

        shape = theta.shape if self.elementwise else self.shape
        param = torch.nn.Parameter(torch.from_numpy(theta.reshape(shape)))
        of_param, start = torch.from_numpy(gradient.reshape(shape)), param.data_ptr()
        generator = torch.default_generator
        # The optimizer's random numbers are its own: those of the process stay as they are.
        before = generator.get_state()
        try:
            generator.manual_seed(0)
            optimizer = self.make([param], learning_rate)
            own = generator.get_state()
        finally:
            generator.set_state(before)
        if not isinstance(optimizer, torch.optim.Optimizer):
            return None

        def step():
            nonlocal own
            param.grad = of_param
            before = generator.get_state()
            generator.set_state(own)
            try:
                optimizer.step()
                own = generator.get_state()
            finally:
                generator.set_state(before)
            # Where the optimizer has put other numbers in place of the parameter's.
            if param.data_ptr() != start:
                theta[...] = param.detach().numpy().reshape(theta.shape)

        return step

    @staticmethod
    def _checked(after, shape):
        if after is None or np.shape(after) != shape:
            found = "nothing" if after is None else f"the shape {np.shape(after)}"
            raise ValueError(f"expected that step(theta, gradient) returns parameters of the shape {shape}, found {found}")
        return after


class Stepper:
    """Begins the steps of the external optimizers among some, by their ids."""

    def __init__(self, optimizers):
        self.by_id = dict(enumerate(optimizers))

    def __call__(self, index, learning_rate, theta, gradient):
        optimizer = self.by_id.get(index)
        if not isinstance(optimizer, Optimizer):
            raise ValueError(
                "the preset names an external optimizer, whose code is not in it; pass it in `optimizers` again"
            )
        return optimizer.begin(learning_rate, theta, gradient)

