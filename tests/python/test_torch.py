"""PyTorch's optimizers in simulations and sweeps."""

import inspect

import numpy as np
import pytest
import valleyscope as vs

torch = pytest.importorskip("torch")
RATES = (1e-3, 1e-2, 3)


def test_pytorchs_adam_follows_the_built_in_one():
    settings = {"steps": 100, "particles": 10, "noise": 0.3, "progress": False}
    ours = vs.simulate("fig1c", [vs.Adam(beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.0, learning_rate=0.01)], **settings)
    for elementwise in [True, False]:
        make = lambda params, lr: torch.optim.Adam(params, lr=lr, betas=(0.9, 0.95))
        theirs = vs.simulate("fig1c", [vs.Optimizer(make, "Adam", learning_rate=0.01, elementwise=elementwise)], **settings)
        np.testing.assert_allclose(theirs.positions, ours.positions, rtol=1e-9, atol=1e-12)


def test_a_diagram_of_pytorchs_optimizers():
    make = lambda params, lr: torch.optim.Adagrad(params, lr=lr)
    rules = [vs.Optimizer(make, "Adagrad", learning_rates=RATES), vs.Signum(learning_rates=RATES)]
    sweep = vs.sweep("fig2a", grid=(3, 3), steps=50, replicates=2, optimizers=rules, progress=False)
    assert np.isfinite(sweep.score).all()


def test_random_numbers_of_the_process_stay():
    class Noisy(torch.optim.SGD):
        def step(self, closure=None):
            torch.rand(3)
            return super().step(closure)

    torch.manual_seed(7)
    expected = torch.rand(2)
    torch.manual_seed(7)
    make = lambda params, lr: Noisy(params, lr=lr)
    vs.simulate("fig1c", [vs.Optimizer(make, "noisy", learning_rate=0.01)], steps=3, progress=False)
    assert torch.equal(torch.rand(2), expected)


RULES = [key for key, _ in vs._native.rules()]
# Rules that see a whole tensor, with the shape of x and y.
WHOLE = {"AdamMini": (1, 2), "Muon": (2, 1), "Shampoo": (2,), "Soap": (2, 1)}
# Sophia's step needs estimates of the curvature, and exact MARS a closure. The parameters of Schedule-Free are where it
# takes the gradient, and the built-in rule shows the average.
NEED_MORE = {"Mars", "ScheduleFree", "Sophia"}


def values_of(key):
    """The defaults of a printed class, which are those of trainings, with its choices, for the built-in rule."""
    parameters = inspect.signature(getattr(vs.torch, key).__init__).parameters
    fields = getattr(vs, key).fields
    numbers = {name: of.default for name, of in parameters.items() if name in fields}
    return numbers | ({"decay": "Average"} if key == "Focus" else {})


def printed(key, **settings):
    make = lambda params, lr: getattr(vs.torch, key)(params, lr=lr)
    return vs.Optimizer(make, key, elementwise=key not in WHOLE, shape=WHOLE.get(key), **settings)


@pytest.mark.parametrize("key", [key for key in RULES if key not in NEED_MORE])
def test_a_printed_class_is_the_built_in_rule(key):
    settings = {"steps": 80, "particles": 5, "noise": 0.2, "progress": False}
    ours = vs.simulate("fig1c", [getattr(vs, key)(learning_rate=0.003, **values_of(key))], **settings)
    theirs = vs.simulate("fig1c", [printed(key, learning_rate=0.003)], **settings)
    np.testing.assert_allclose(theirs.positions, ours.positions, rtol=1e-9, atol=1e-12)


def test_printed_classes_win_where_the_built_in_rules_do():
    calm = {"columns.from": 0.01, "columns.to": 0.3}
    settings = {"grid": (3, 3), "steps": 100, "replicates": 3, "precision": "f64", "progress": False, "set": calm}
    keys = [key for key in RULES if key not in NEED_MORE | set(WHOLE)]
    ours = [getattr(vs, key)(learning_rates=RATES, **values_of(key)) for key in keys]
    ours = vs.sweep("fig2a", optimizers=ours, **settings)
    theirs = vs.sweep("fig2a", optimizers=[printed(key, learning_rates=RATES) for key in keys], **settings)
    np.testing.assert_array_equal(theirs.winner, ours.winner)
    np.testing.assert_allclose(theirs.score, ours.score, rtol=1e-9)
