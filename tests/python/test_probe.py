"""`valleyscope.torch.Probe` against the definition of its measures, in NumPy, and against noise that is known."""

import copy
import json
import math
import os
import random
import socket
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from valleyscope.run import Run

torch = pytest.importorskip("torch")
from valleyscope.probe import Probe  # noqa: E402

NAMES = ("noise", "noise_scale", "signal", "noise_share", "oscillation", "exponent", "effective_step")
RATE, DECAY = 0.01, 0.1


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


class Expected:
    """The measures by their definition, from all gradients, in float64."""

    def __init__(self, every, names):
        self.every, self.names, self.t, self.n, self.m, self.v = every, names, 0, 0, None, None
        self.tables, self.bins = None, np.zeros((16, 2))

    def step(self, gradient, parts, before, after, batch, rates=RATE, decays=DECAY):
        """Take a step: lists of arrays, an array a tensor; `parts` is a list of such lists."""
        self.t += 1
        at = (self.t - 1) % self.every
        if self.every > 32 and at < self.every - 32:
            return None
        if self.m is None or (self.every > 32 and at == self.every - 32):
            self.m, self.v, self.n = [np.zeros_like(g) for g in gradient], np.zeros(len(gradient)), 0
        m_before = flat(self.m) if self.n else None
        self.m = [0.9 * m + 0.1 * g for m, g in zip(self.m, gradient)]
        self.v = 0.99 * self.v + 0.01 * np.array([np.sum(g**2) for g in gradient])
        self.n += 1
        of_step = parts, gradient, m_before, before, after, batch, rates, decays
        return self.measure(*of_step) if self.t % self.every == 0 else None

    def measure(self, parts, gradient, m_before, before, after, batch, rates, decays):
        k = len(parts)
        means = [sum(of) / k for of in zip(*parts)]
        spread = [sum((g - mean) ** 2 for g in of) / (k * (k - 1)) for of, mean in zip(zip(*parts), means)]
        kappa = 0.1 / 1.9 * (1 + 0.9**self.n) / (1 - 0.9**self.n)
        # The step's gradient over the mean of the parts, of each tensor and of all, squared.
        sums = np.array([[(of**2).sum() for of in each] for each in (gradient, means)])
        whole_factor, factors = sums[0].sum() / sums[1].sum(), sums[0] / np.where(sums[1] > 0, sums[1], np.inf)
        rows = []
        for m, v, mean, s, factor in zip(self.m, self.v, means, spread, np.sqrt(factors)):
            mean, s = factor * mean, factor**2 * s
            m_hat, v_hat = m / (1 - 0.9**self.n), v / (1 - 0.99**self.n)
            rows.append([s.sum(), (mean**2).sum() - s.sum(), (m_hat**2).sum(), v_hat])
        rows = np.array([*rows, np.sum(rows, axis=0)])
        self.tables = 0.1 * rows if self.tables is None else 0.9 * self.tables + 0.1 * rows
        *tensors, whole = [shares(*row, kappa) for row in self.tables]
        if "noise" in whole:
            whole["noise_scale"] = batch * whole["noise"] ** 2
        size = flat(means).size
        chosen = np.arange(0, size, math.ceil(size / 16384))
        if m_before is not None:
            s = whole_factor * flat(spread)[chosen]
            g2 = whole_factor * flat(means)[chosen] ** 2 - s
            order = sorted(range(len(chosen)), key=lambda i: (abs(m_before[chosen[i]]), i))
            cuts = [j * len(chosen) // 16 for j in range(17)]
            new = np.array([[s[order[a:b]].sum(), g2[order[a:b]].sum()] for a, b in zip(cuts, cuts[1:])])
            self.bins = 0.9 * self.bins + 0.1 * new
        good = self.bins[(self.bins > 0).all(1)]
        if len(good) >= 3:
            whole["exponent"] = np.polyfit(np.log(good[:, 1]), np.log(good[:, 0]), 1)[0]
        sizes = [theta.size for theta in before]
        rates, decays = (np.repeat(np.broadcast_to(of, len(sizes)), sizes) for of in (rates, decays))
        moved = flat(after) - flat(before) + rates * decays * flat(before)
        whole["effective_step"] = np.mean(np.abs(moved / rates)[chosen])
        return whole | {"tensors": {name: of for name, of in zip(self.names, tensors) if of}}


def flat(arrays):
    return np.concatenate([np.ravel(array) for array in arrays])


def shares(s, g2, m2, v, kappa):
    found = {"noise": np.sqrt(s / g2)} if g2 > 0 else {}
    if v > 0:
        noise = s / (s + g2)
        signal = m2 / v - kappa * noise
        found |= {"signal": signal, "noise_share": noise, "oscillation": 1 - signal - noise}
    return found


def agree(found, expected, tolerance=1e-9):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if name == "tensors":
            assert found[name].keys() == value.keys()
            for tensor, of in value.items():
                agree(found[name][tensor], of, tolerance)
        else:
            assert found[name] == pytest.approx(value, rel=tolerance, abs=tolerance), name


class Net(torch.nn.Module):
    """With tied weights, a frozen layer, a parameter that no step uses, and more coordinates than are sampled."""

    def __init__(self, width=8):
        super().__init__()
        self.into = torch.nn.Linear(width, width, bias=False)
        self.out = torch.nn.Linear(width, width)
        self.frozen = torch.nn.Linear(width, width)
        self.frozen.requires_grad_(False)
        self.unused = torch.nn.Parameter(torch.ones(3))
        self.out.weight = self.into.weight
        self.scale = torch.nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return self.scale * self.out(torch.tanh(self.frozen(self.into(x))))


def loss_of(model):
    return lambda x, y: (model(x) - y).square().mean()


def data(size, width=8, steps=10_000):
    generator = torch.Generator().manual_seed(5)
    for _ in range(steps):
        x = torch.randn(size, width, generator=generator, dtype=torch.float64)
        yield x, 4 + 0.3 * torch.randn(size, width, generator=generator, dtype=torch.float64)


def arrays(tensors):
    return [tensor.detach().double().cpu().numpy().copy() for tensor in tensors]


def gradients_of(loss, params):
    found = torch.autograd.grad(loss, params, allow_unused=True)
    return arrays([torch.zeros_like(p) if g is None else g for p, g in zip(params, found)])


def trained(model):
    return zip(*[(name, p) for name, p in model.named_parameters() if p.requires_grad])


def both(model, optimizer, every, steps, parts, clip=None, size=8, scale=1.0, expected=None):
    """Train with a probe and by the definition; yield both results of each measured step."""
    names, params = trained(model)
    probe = Probe(None, model, optimizer, every=every, batch_size=size)
    expected = expected or Expected(every, list(names))
    loss, batches = loss_of(model), data(size, model.out.in_features)
    for step in range(steps):
        x, y = next(batches)
        optimizer.zero_grad(set_to_none=step % 3 > 0)
        cuts = [slice(i * (size // parts), (i + 1) * (size // parts)) for i in range(parts)]
        untouched = copy.deepcopy(model)
        of_parts = [gradients_of(loss_of(untouched)(x[cut], y[cut]), list(trained(untouched))[1]) for cut in cuts]
        if parts == 2 and size % 2:
            loss(x, y).backward()
            probe.halves(loss, x, y)
        else:
            for cut in cuts:
                (scale * loss(x[cut], y[cut]) / parts).backward()
        for p in params:
            if p.grad is not None:
                p.grad /= scale
        factor = 1.0
        if clip:
            factor = min(1.0, clip / (torch.nn.utils.clip_grad_norm_(params, clip).item() + 1e-6))
        of_parts = [[factor * g for g in part] for part in of_parts]
        before = arrays(params)
        gradient = arrays([torch.zeros_like(p) if p.grad is None else p.grad for p in params])
        optimizer.step()
        of = expected.step(gradient, of_parts, before, arrays(params), size)
        if of is not None:
            yield probe.last, of


@pytest.fixture
def net():
    torch.manual_seed(1)
    return Net().double()


@pytest.mark.parametrize("every", [1, 7, 32, 40])
@pytest.mark.parametrize(("parts", "size"), [(4, 8), (2, 9)], ids=["micro-batches", "halves"])
@pytest.mark.parametrize("clip", [None, 0.05])
def test_measures_are_those_of_the_definition(net, every, parts, size, clip):
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=DECAY)
    results = list(both(net, optimizer, every, 130, parts, clip, size))
    assert len(results) == 130 // every
    for found, expected in results:
        agree(found, expected)
    assert set(found) == {*NAMES, "tensors"}
    assert set(found["tensors"]) == {"into.weight", "out.bias", "scale"}


def test_coordinates_of_large_models_are_a_sample():
    torch.manual_seed(2)
    model = Net(200).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, weight_decay=DECAY)
    for found, expected in both(model, optimizer, 5, 15, 4):
        agree(found, expected)


def test_scaled_losses_change_nothing(net):
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=DECAY)
    for found, expected in both(net, optimizer, 5, 20, 4, clip=0.05, scale=1024.0):
        agree(found, expected)


@pytest.mark.parametrize("parts", [2, 4])
def test_half_precision_is_measured_in_float32(parts):
    torch.manual_seed(3)
    model = torch.nn.Linear(8, 8).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    probe = Probe(None, model, optimizer, every=2, batch_size=8)
    for x, y in data(8, steps=4):
        optimizer.zero_grad()
        x, y = x.bfloat16(), y.bfloat16()
        if parts == 2:
            loss_of(model)(x, y).backward()
            probe.halves(loss_of(model), x, y)
        else:
            for a, b in zip(x.chunk(parts), y.chunk(parts)):
                (loss_of(model)(a, b) / parts).backward()
        optimizer.step()
    assert set(probe.last) == {*NAMES, "tensors"}
    assert all(m.dtype == torch.float32 for m in probe._m)


def test_groups_have_their_own_rates_and_decays(net):
    rest = [net.out.bias, net.unused, net.scale]
    groups = [{"params": [net.into.weight], "lr": 0.02, "weight_decay": 0.3}, {"params": rest}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, weight_decay=0.0)
    names, params = trained(net)
    settings = [(0.02, 0.3) if name == "into.weight" else (RATE, 0.0) for name in names]
    rates, decays = zip(*settings)
    expected = Expected(3, list(names))
    take = expected.step
    expected.step = lambda *arguments: take(*arguments, rates=rates, decays=decays)
    for found, of in both(net, optimizer, 3, 9, 4, expected=expected):
        agree(found, of)


@pytest.mark.parametrize("rule", [torch.optim.Adam, torch.optim.RMSprop])
def test_coupled_decay_is_no_decay_of_the_step(net, rule):
    optimizer = rule(net.parameters(), lr=RATE, weight_decay=0.5)
    expected = Expected(3, list(trained(net))[0])
    take = expected.step
    expected.step = lambda *arguments: take(*arguments, decays=0.0)
    for found, of in both(net, optimizer, 3, 9, 4, expected=expected):
        agree(found, of)


class Quadratic(torch.nn.Module):
    """A loss whose gradient is known, with noise in each sample."""

    def __init__(self, size, sigma, multiplicative):
        super().__init__()
        self.theta = torch.nn.Parameter(torch.logspace(-2, 1, size, dtype=torch.float64))
        self.sigma, self.multiplicative = sigma, multiplicative

    def forward(self, noise):
        gradient = self.theta.detach()
        each = self.sigma * noise * (gradient if self.multiplicative else 1.0)
        return (self.theta * (gradient + each.mean(0))).sum()


@pytest.mark.parametrize(("multiplicative", "exponent"), [(True, 1.0), (False, 0.0)])
def test_known_noise_is_found(multiplicative, exponent):
    model = Quadratic(4000, 1.5, multiplicative)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    probe = Probe(None, model, optimizer, every=1)
    generator = torch.Generator().manual_seed(4)
    for _ in range(60):
        optimizer.zero_grad()
        noise = torch.randn(16, 4000, generator=generator, dtype=torch.float64)
        model(noise).backward()
        probe.halves(model, noise)
        optimizer.step()
    theta = model.theta.detach().numpy()
    # Halves of 8 samples; the mean of both has a quarter of the sum of their variances, a sixteenth of a sample's.
    added = 1.5**2 / 16 * (np.sum(theta**2) if multiplicative else theta.size)
    assert probe.last["noise"] == pytest.approx(np.sqrt(added / np.sum(theta**2)), rel=0.02)
    assert probe.last["noise_scale"] == pytest.approx(16 * added / np.sum(theta**2), rel=0.04)
    assert probe.last["exponent"] == pytest.approx(exponent, abs=0.05)
    assert probe.last["signal"] == pytest.approx(np.sum(theta**2) / (np.sum(theta**2) + added), rel=0.02)
    assert probe.last["oscillation"] == pytest.approx(0, abs=0.01)


def test_oscillation_between_walls_is_found():
    theta = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(50, dtype=torch.float64))])
    optimizer = torch.optim.SGD(theta.parameters(), lr=2.0)
    probe = Probe(None, theta, optimizer, every=40)
    for _ in range(40):
        optimizer.zero_grad()
        for _ in range(2):
            (theta[0].square().sum() / 4).backward()
        optimizer.step()
    assert probe.last["oscillation"] > 0.99
    assert probe.last["noise_share"] == pytest.approx(0, abs=1e-12)


def random_training(probed, accumulate):
    torch.manual_seed(6)
    np.random.seed(6)
    random.seed(6)
    norm, dropout = torch.nn.BatchNorm1d(16), torch.nn.Dropout(0.3)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), norm, torch.nn.ReLU(), dropout, torch.nn.Linear(16, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    probe = Probe(None, model, optimizer, every=3) if probed else None

    def loss(x, y):
        return random.random() * np.random.rand() * (model(x) - y).square().mean()

    for _ in range(12):
        x, y = torch.randn(8, 8), torch.randn(8, 8)
        optimizer.zero_grad()
        if accumulate:
            for a, b in zip(x.chunk(2), y.chunk(2)):
                (loss(a, b) / 2).backward()
        else:
            loss(x, y).backward()
            if probe:
                gradients = [p.grad.clone() for p in model.parameters()]
                probe.halves(loss, x, y)
                assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), gradients))
        optimizer.step()
    if probe:
        assert probe.last["noise_share"] > 0
    return [*model.state_dict().values(), torch.get_rng_state(), torch.tensor([random.random(), np.random.rand()])]


@pytest.mark.parametrize("accumulate", [True, False])
def test_a_training_is_bit_identical_with_a_probe(accumulate):
    plain, probed = (random_training(with_probe, accumulate) for with_probe in (False, True))
    assert all(torch.equal(a, b) for a, b in zip(plain, probed))


def test_an_error_in_halves_restores_the_state(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    probe = Probe(None, net, optimizer, every=1)
    x, y = next(data(8))
    loss_of(net)(x, y).backward()
    state = torch.get_rng_state()

    def fails(x, y):
        torch.rand(1)
        raise OSError

    with pytest.raises(OSError):
        probe.halves(fails, x, y)
    assert torch.equal(torch.get_rng_state(), state)


def test_batches_may_be_dicts(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    probe = Probe(None, net, optimizer, every=1)
    x, y = next(data(9))
    loss = lambda batch: loss_of(net)(batch["x"], *batch["more"])
    batch = {"x": x, "more": [y], "name": "a", "number": torch.tensor(9)}
    loss(batch).backward()
    seen = []
    probe.halves(lambda batch: (seen.append((len(batch["x"]), batch["name"])), loss(batch))[1], batch)
    optimizer.step()
    assert seen == [(4, "a"), (4, "a")]
    assert probe.last["noise_scale"] == pytest.approx(9 * probe.last["noise"] ** 2)


def test_closures_are_measured(net):
    results = []
    for with_closure in (False, True):
        model = copy.deepcopy(net)
        optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
        probe = Probe(None, model, optimizer, every=2)
        for x, y in data(8, steps=6):
            def closure():
                optimizer.zero_grad()
                for a, b in zip(x.chunk(4), y.chunk(4)):
                    loss = loss_of(model)(a, b) / 4
                    loss.backward()
                return loss

            if with_closure:
                assert optimizer.step(closure) is not None
            else:
                closure()
                optimizer.step()
        results.append(probe.last)
    assert results[0] == results[1]
    assert results[0]["noise"] > 0


def test_backward_passes_before_zero_grad_are_no_parts(net):
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE)
    probe = Probe(None, net, optimizer, every=1)
    x, y = next(data(8))
    parts = [gradients_of(loss_of(net)(a, b), list(trained(net))[1]) for a, b in zip(x.chunk(2), y.chunk(2))]
    (100 * loss_of(net)(x, y)).backward()
    optimizer.zero_grad()
    for a, b in zip(x.chunk(2), y.chunk(2)):
        (loss_of(net)(a, b) / 2).backward()
    optimizer.step()
    s = np.sum((flat(parts[0]) - flat(parts[1])) ** 2) / 4
    g2 = np.sum((flat(parts[0]) + flat(parts[1])) ** 2) / 4 - s
    assert probe.last["noise"] == pytest.approx(np.sqrt(s / g2), rel=1e-9)


def test_gradient_scaler_is_seen_through(net):
    results = []
    for scaled in (False, True):
        model = copy.deepcopy(net)
        optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, fused=True)
        probe = Probe(None, model, optimizer, every=2)
        scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=1, enabled=scaled)
        for x, y in data(8, steps=4):
            optimizer.zero_grad()
            loss = lambda x, y: scaler.scale(loss_of(model)(x, y))
            loss(x, y).backward()
            probe.halves(loss, x, y)
            scaler.step(optimizer)
            scaler.update()
        results.append(probe.last)
    agree(*results, tolerance=1e-6)


@pytest.mark.parametrize("fused", [False, True])
def test_steps_that_overflow_are_no_measurements(net, fused):
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, fused=fused)
    probe, scaler = Probe(None, net, optimizer, every=3), torch.amp.GradScaler("cpu", init_scale=4.0)
    for step, (x, y) in enumerate(data(8, steps=12)):
        optimizer.zero_grad()
        for a, b in zip(x.chunk(2), y.chunk(2)):
            scaler.scale(loss_of(net)(a, b) * (math.inf if step in (1, 2) else 0.5)).backward()
        scaler.step(optimizer)
        scaler.update()
    assert probe.steps == (12 if fused else 10)
    assert {"noise", "signal", "exponent"} <= set(probe.last)


def test_nothing_is_held_outside_windows(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    probe = Probe(None, net, optimizer, every=40)
    for step, (x, y) in enumerate(data(8, steps=80)):
        assert (probe._m is not None) == (step % 40 > 8)
        assert bool(net.scale._backward_hooks) == (step % 40 == 39)
        optimizer.zero_grad()
        for a, b in zip(x.chunk(2), y.chunk(2)):
            loss_of(net)(a, b).backward()
        optimizer.step()
    probe.close()
    last = probe.last
    for _ in range(40):
        optimizer.step()
    assert probe.steps == 80
    assert probe.last is last


def test_a_run_has_events_and_curves(net, tmp_path):
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    with Run("probed", runs=tmp_path) as run:
        probe = Probe(run, net, optimizer, every=2, batch_size=8, steps=100)
        for x, y in data(8, steps=5):
            optimizer.zero_grad()
            for a, b in zip(x.chunk(2), y.chunk(2)):
                loss_of(net)(a, b).backward()
            optimizer.step()
    lines = [json.loads(line) for line in (run.folder / "events.jsonl").read_text().splitlines()]
    measured = [line for line in lines if line["event"] == "measure"]
    assert [line["step"] for line in measured] == [102, 104]
    assert {name: measured[-1][name] for name in probe.last} == probe.last
    steps, values = Run.open(run.folder)["noise_scale"]
    assert list(steps) == [102, 104]
    assert values[-1] == probe.last["noise_scale"]


PROCESS = """
    import json
    import torch
    from torch.nn.parallel import DistributedDataParallel
    from valleyscope.probe import Probe

    def train(way, parts=4):
        torch.manual_seed(0)
        inner = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 8)).double()
        model = DistributedDataParallel(inner, gradient_as_bucket_view=way == "view")
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        probe = Probe(None, model, optimizer, every=3, batch_size=8)
        mine = range(rank, parts, ranks)
        for step in range(12):
            x, y = torch.randn(2, 8, 8, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
            y = 4 + 0.3 * y
            optimizer.zero_grad()
            for part in [list(mine)] if way == "whole" else [[at] for at in mine]:
                model.require_backward_grad_sync = way in ("each", "whole") or part == [mine[-1]]
                rows = [row for at in part for row in (2 * at, 2 * at + 1)]
                loss = (model(x[rows]) - y[rows]).square().mean()
                (loss * len(part) / len(mine)).backward()
                if way == "whole":
                    probe.halves(None)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        return probe.last

    torch.distributed.init_process_group("gloo")
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    print(json.dumps({way: train(way) for way in ["last", "view", "each", *["whole"] * (ranks > 1)]}))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
"""


def processes(ranks):
    """Run the script in processes; return what each of them has printed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    command = [sys.executable, "-c", textwrap.dedent(PROCESS)]
    started = [subprocess.Popen(command, env=environment | {"RANK": str(rank)}, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True) for rank in range(ranks)]
    results = []
    for process in started:
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        results.append(json.loads(out))
    return results


@pytest.mark.skipif(not torch.distributed.is_available(), reason="PyTorch without torch.distributed")
def test_processes_measure_as_one():
    """Gradients are averaged after the last micro-batch, into buckets, after each, or one backward pass is all."""
    [alone], (first, second) = processes(1), processes(2)
    assert first == second
    for way in ["last", "view", "each"]:
        agree(first[way], alone[way])
    assert set(first["last"]) == set(first["whole"]) == {*NAMES, "tensors"}
    assert set(first["last"]["tensors"]) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert first["whole"]["signal"] == pytest.approx(first["last"]["signal"], rel=0.1)


def test_errors_say_what_to_do(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    for arguments, expected in [
        ((net.parameters(), optimizer), "expected a torch.nn.Module"),
        ((net, "SGD"), "expected a torch.optim.Optimizer"),
        ((copy.deepcopy(net), optimizer), "found none; make the Probe with the model"),
        ((net, optimizer, 0), "expected every to be at least 1, found 0"),
    ]:
        with pytest.raises(ValueError, match=expected):
            Probe(None, *arguments[:2], **({"every": arguments[2]} if arguments[2:] else {}))
    probe = Probe(None, net, optimizer, every=1)
    x, y = next(data(8))
    with pytest.raises(ValueError, match="call halves\\(\\) after backward"):
        probe.halves(loss_of(net), x, y)
    with pytest.raises(ValueError, match="one size of the batch as their first dimension, found \\[7, 8\\]"):
        probe.halves(loss_of(net), x, y[:7])


def test_sparse_gradients_and_lbfgs_are_refused():
    model = torch.nn.Embedding(4, 2, sparse=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    Probe(None, model, optimizer, every=1)
    with pytest.raises(ValueError, match="make the embedding with sparse=False"):
        model(torch.tensor([1])).sum().backward()
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.LBFGS(model.parameters())
    Probe(None, model, optimizer)
    with pytest.raises(ValueError, match="found LBFGS"):
        optimizer.step(lambda: model(torch.ones(2)).sum())


def test_steps_without_equal_parts_are_left_out_with_a_warning(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    probe = Probe(None, net, optimizer, every=2)
    for step, (x, y) in enumerate(data(8, steps=4)):
        optimizer.zero_grad()
        loss_of(net)(x, y).backward()
        if step == 1:
            with pytest.warns(RuntimeWarning, match="step 2 is not measured: .* found 1 backward passes; accumulate"):
                optimizer.step()
        else:
            optimizer.step()
    assert probe.last == {}
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    probe = Probe(None, net, optimizer, every=1)
    for a, b in zip(x.chunk(2), y.chunk(2)):
        loss_of(net)(a, b).backward()
    torch.nn.utils.clip_grad_value_(net.parameters(), 1e-3)
    with pytest.warns(RuntimeWarning, match="do not add up to the gradient"):
        optimizer.step()
    assert probe.last == {}
