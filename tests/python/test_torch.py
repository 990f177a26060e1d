"""PyTorch's optimizers in simulations and sweeps."""

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
