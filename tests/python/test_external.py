"""Optimizers of one's own in simulations and sweeps."""

import numpy as np
import pytest
import valleyscope as vs

GRID = {"grid": (3, 4), "steps": 150, "replicates": 4, "progress": False}
# Without noise and with small learning rates no trajectory is chaotic.
CALM = GRID | {"set": {"columns.from": 0.01, "columns.to": 0.3}}
RATES = (1e-3, 1e-2, 3)


class Adam:
    """Adam with the program's defaults and without weight decay, on arrays."""

    def __init__(self, lr):
        self.lr, self.m, self.v, self.t = lr, 0.0, 0.0, 0

    def step(self, theta, gradient):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * gradient
        self.v = 0.95 * self.v + 0.05 * gradient**2
        size = np.sqrt(self.v / (1 - 0.95**self.t)) + 1e-8
        return theta - self.lr * (self.m / (1 - 0.9**self.t)) / size


def own(make=lambda params, lr: Adam(lr), name="own", **settings):
    return vs.Optimizer(make, name, **settings)


def built_in(**settings):
    return vs.Adam(beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.0, **settings)


@pytest.mark.parametrize("elementwise", [True, False])
def test_a_rule_of_ones_own_follows_the_built_in_one(elementwise):
    settings = {"steps": 60, "particles": 6, "noise": 0.5, "progress": False}
    ours = vs.simulate("fig1c", [built_in(learning_rate=0.01)], **settings)
    theirs = vs.simulate("fig1c", [own(learning_rate=0.01, elementwise=elementwise)], **settings)
    np.testing.assert_allclose(theirs.positions, ours.positions, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(theirs.loss_mean, ours.loss_mean, rtol=1e-9)
    assert list(theirs.optimizers) == ["own"]
    assert theirs._repr_svg_()


def test_a_sweep_scores_it_as_the_built_in_one():
    others = [vs.Signum(weight_decay=0.0, learning_rates=RATES), vs.Sgd(learning_rates=RATES)]
    ours = vs.sweep("fig2a", optimizers=[built_in(learning_rates=RATES), *others], precision="f64", **CALM)
    theirs = vs.sweep("fig2a", optimizers=[own(learning_rates=RATES), *others], precision="f64", **CALM)
    np.testing.assert_allclose(theirs.score, ours.score, rtol=1e-9)
    np.testing.assert_array_equal(theirs.winner, ours.winner)
    np.testing.assert_array_equal(theirs.best_lr, ours.best_lr)
    np.testing.assert_array_equal(theirs.score[1:], ours.score[1:])


def test_adaptive_sampling_takes_as_many_runs():
    settings = {"optimizers": None, "adaptive": True, "precision": "f64", "grid": (2, 3), "steps": 60, "progress": False}
    ours = vs.sweep("fig2a", **settings | {"optimizers": [built_in(learning_rates=RATES), vs.Signum(learning_rates=RATES)]})
    theirs = vs.sweep("fig2a", **settings | {"optimizers": [own(learning_rates=RATES), vs.Signum(learning_rates=RATES)]})
    np.testing.assert_array_equal(theirs.spent, ours.spent)
    np.testing.assert_allclose(theirs.certainty, ours.certainty, rtol=1e-6)


def test_learning_rate_and_steps_may_be_axes():
    settings = dict(GRID, set={"columns.of": "Steps", "columns.from": 20, "columns.to": 50, "columns.count": 3})
    settings.pop("steps")
    settings["grid"] = (2, 3)
    rows = [built_in(learning_rates=RATES), vs.Signum(learning_rates=RATES)]
    ours = vs.sweep("fig2a", optimizers=rows, precision="f64", **settings)
    theirs = vs.sweep("fig2a", optimizers=[own(learning_rates=RATES), rows[1]], precision="f64", **settings)
    np.testing.assert_allclose(theirs.score, ours.score, rtol=1e-6)


def test_equal_sweeps_have_equal_bytes(tmp_path):
    rules = [own(learning_rates=RATES), vs.Signum(learning_rates=RATES)]
    for name, threads in [("one", 1), ("two", 2)]:
        vs.sweep("fig2a", optimizers=rules, threads=threads, **GRID).save(tmp_path / name)
    for file in ["phase.npz", "phase.csv", "phase.svg", "spec.ron"]:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_result_names_it_and_has_no_code(tmp_path, program):
    sweep = vs.sweep("fig2a", optimizers=[own(learning_rates=RATES), vs.Signum(learning_rates=RATES)], **GRID)
    sweep.save(tmp_path / "result")
    again = vs.read(tmp_path / "result")
    assert list(again.optimizers) == ["own", "Signum"]
    np.testing.assert_array_equal(again.score, sweep.score)
    with pytest.raises(ValueError, match="external optimizer"):
        vs.sweep(sweep.spec, progress=False)
    program("figure", tmp_path / "result", "--out", tmp_path / "figure.svg")
    assert "own" in (tmp_path / "figure.svg").read_text()


def test_what_fails_says_why():
    with pytest.raises(ValueError, match="shape"):
        vs.simulate("fig1c", [own(lambda params, lr: type("O", (), {"step": lambda *_: np.zeros(3)})(), learning_rate=0.1)])
    with pytest.raises(TypeError, match="with `step`, found NoneType"):
        vs.simulate("fig1c", [own(lambda params, lr: None, learning_rate=0.1)])
    with pytest.raises(ZeroDivisionError):
        vs.sweep("fig2a", optimizers=[own(lambda params, lr: 1 / 0), vs.Signum()], **GRID)
    with pytest.raises(ValueError, match="needs a learning rate"):
        vs.simulate("fig1c", [own()])
    with pytest.raises(TypeError, match="vs.Optimizer"):
        vs.sweep("fig2a", optimizers=["Adam"])
    with pytest.raises(ValueError, match="2 dimensions"):
        vs.sweep("fig2a", optimizers=[own(), vs.Signum()], dimension=5, **GRID)
