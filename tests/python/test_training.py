"""The printed PyTorch classes of the built-in rules against trainings by the worker.

Both train the classifier of MNIST in double precision, from the same parameters and with all images in each batch. The
losses of each step agree, so the class takes the worker's steps, with the same defaults.

Two things come from the worker's checkpoints, as no other program can compute them: Sophia's estimate of the
curvature, for which the worker draws labels, and the eigenvectors of SOAP's first statistics, which are arbitrary where
eigenvalues are 0.
"""

import importlib.util
import json
import math
import os
import struct
import subprocess
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from valleyscope.optimizers import rules
from valleyscope.results import program as command

torch = pytest.importorskip("torch")
Probe = pytest.importorskip("valleyscope.torch").Probe

MODEL = Path(__file__).parents[2] / "crates/training/tests/training/pytorch.py"
# 50 steps of the rule lie between the first loss and the last.
STEPS = 51
IMAGES = 64
TOLERANCE = 1e-9
# The only step in which Sophia estimates the curvature.
ESTIMATE = 27
# Each rule, and its settings other than the defaults.
CASES = [
    ("Adam", {}),
    ("Adam", {"mask": "Cautious"}),
    ("Signum", {}),
    ("Focus", {}),
    ("Focus", {"decay": "Parameters"}),
    ("Sgd", {}),
    ("Sgd", {"form": "Nesterov", "decay": "Coupled"}),
    ("Lion", {}),
    ("Mars", {}),
    ("Mars", {"form": "Exact"}),
    ("Sophia", {"interval": ESTIMATE - 1}),
    ("Muon", {}),
    ("RmsProp", {}),
    ("RmsProp", {"form": "Centred"}),
    ("NAdam", {}),
    ("AdEmaMix", {}),
    ("AdamMini", {}),
    ("AdaBelief", {}),
    # Statistics of so few images have eigenvalues of 0, and ε^(−1/4) multiplies the rounding in their directions.
    ("Shampoo", {"eps": 1e-8, "interval": 20}),
    # There 1/ε multiplies it. After a refresh of the eigenvectors, which follows rounding there, even two trainings by
    # the same class that begin 1e-15 apart have losses 1e-5 apart or more; so there is no refresh.
    ("Soap", {"eps": 1e-4, "interval": 100}),
    ("ScheduleFree", {}),
]
NAMES_OF_MEASURES = ["noise", "noise_scale", "signal", "noise_share", "oscillation", "exponent", "effective_step"]
NAMES = ["-".join([rule, *map(str, settings.values())]) for rule, settings in CASES]


def test_every_rule_has_a_case():
    assert {rule for rule, _ in CASES} == set(rules)


def drawn(folder, count):
    """Images of noise with labels, and a folder with them in the format of MNIST."""
    draw = np.random.default_rng(0)
    images = draw.integers(256, size=(count, 28, 28), dtype=np.uint8)
    labels = draw.integers(10, size=count, dtype=np.uint8)
    for part in ["train", "t10k"]:
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, *images.shape) + images.tobytes())
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, count) + labels.tobytes())
    images = torch.from_numpy(images).double().view(count, -1) / 255
    return folder, images, torch.from_numpy(labels).long()


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return drawn(tmp_path_factory.mktemp("digits"), IMAGES)


@pytest.fixture(scope="module")
def train(digits, tmp_path_factory):
    """Trains with the worker; returns the run's folder."""

    def run(rule, settings, steps, data=digits, **others):
        home = tmp_path_factory.mktemp(rule)
        optimizer = f"{rule}({', '.join(f'{name}: {value}' for name, value in settings.items())})"
        fields = {
            "optimizer": optimizer,
            "learning_rate": 0.001,
            "batch_size": len(data[2]),
            "steps": steps,
            "log_every": 1,
            "eval_every": 1000,
            "checkpoint_every": ESTIMATE,
            # JSON escapes as RON does.
            "data": f"Folder({json.dumps(str(data[0]))})",
            "device": "Cpu",
            "precision": "Float64",
            **others,
        }
        fields = ", ".join(f"{name}: {value}" for name, value in fields.items())
        (home / "preset.ron").write_text(f'Mnist(version: 1, title: "{rule}", runs: [({fields})])', encoding="utf-8")
        arguments = [*command(), "train", str(home / "preset.ron"), "--runs", str(home / "runs")]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, env=environment)
        if "valleyscope-train, is not installed" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        [folder] = (home / "runs").iterdir()
        return folder

    return run


def losses_of(run):
    lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return [event["loss"] for event in map(json.loads, lines) if event["event"] == "train"]


def tensors_of(run, step):
    """The tensors of a checkpoint by name: safetensors have a header in JSON, and the numbers after it."""
    file = (run / f"checkpoint-{step:08}.safetensors").read_bytes()
    length = struct.unpack("<Q", file[:8])[0]
    tensors = {}
    for name, about in json.loads(file[8 : 8 + length]).items():
        first, last = about["data_offsets"]
        values = torch.frombuffer(bytearray(file[8 + length + first : 8 + length + last]), dtype=torch.float64)
        tensors[name] = values.view(about["shape"])
    return tensors


@pytest.fixture(scope="module")
def beginning(train):
    """The checkpoint after SOAP's first step, which changes no parameters."""
    return tensors_of(train("Soap", {}, 1), 1)


@pytest.fixture(scope="module")
def reference():
    """The module with the classifier in PyTorch."""
    spec = importlib.util.spec_from_file_location("mnist_in_pytorch", MODEL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def named_parameters(net):
    """The parameters by the worker's names, in its order."""
    for layer, (norm, linear) in enumerate(zip(net.norms, net.linears)):
        for name, module in [("norm", norm), ("linear", linear)]:
            for parameter in ["weight", "bias"]:
                yield f"layers.{layer}.{name}.{parameter}", getattr(module, parameter)


def parts(net, flat):
    """The parts of a flat tensor of the worker, for each parameter; each begins at a multiple of 64."""
    start, parts = 0, {}
    for name, param in named_parameters(net):
        parts[param] = flat[start : start + param.numel()].view(param.shape)
        start += -(-param.numel() // 64) * 64
    return parts


def groups(rule, net):
    """A parameter group for each tensor, with the worker's choices: which tensors decay, are matrices or blocks."""
    output = net.linears[-1].weight
    for name, param in named_parameters(net):
        group = {"params": [param]}
        if not name.endswith("linear.weight"):
            group["weight_decay"] = 0.0
        if rule == "Muon":
            group["matrices"] = param is not output
        if rule == "AdamMini" and name.endswith("norm.weight"):
            group["blocks"] = 1
        yield group


def printed(program, rule, settings):
    """The class that the program prints for a rule with these settings."""
    sets = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    names = {}
    exec(compile(program("optimizers", "show", rule, "--as", "pytorch", *sets), f"{rule}.py", "exec"), names)
    [made] = [it for it in names.values() if isinstance(it, type) and it is not torch.optim.Optimizer]
    return made


def set_eigenvectors(optimizer, net, tensors):
    """Replaces SOAP's eigenvectors by those of a checkpoint."""
    for name, param in named_parameters(net):
        vectors = optimizer.state[param]["Q"]
        for axis, side in enumerate(["left", "right"]):
            if axis in vectors:
                vectors[axis] = tensors[f"optimizer.{side}_eigenvectors.{name}"].squeeze(0).clone()


@pytest.mark.parametrize("rule, settings", CASES, ids=NAMES)
def test_printed_class_follows_the_worker(rule, settings, program, train, beginning, digits, reference):
    made = printed(program, rule, settings)
    run = train(rule, settings, STEPS)
    _, images, labels = digits
    net = reference.Net().double()
    with torch.no_grad():
        for param, values in parts(net, beginning["parameters"]).items():
            param.copy_(values)
    optimizer = made(groups(rule, net), lr=0.001)

    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        return loss

    def step():
        if rule != "Sophia":
            return optimizer.step(closure)
        loss = closure()
        optimizer.step(curvature.get)
        return loss

    if rule == "Sophia":
        # The average of the estimates was 0 before the only one.
        average = tensors_of(run, ESTIMATE)["optimizer.h"]
        curvature = parts(net, average / (1 - optimizer.defaults["beta2"]))

    for t, theirs in enumerate(losses_of(run), 1):
        ours = step().item()
        assert abs(ours - theirs) < TOLERANCE, f"in step {t}: {ours}, the worker's {theirs}"
        if rule == "Soap" and t == 1:
            set_eigenvectors(optimizer, net, beginning)
    assert t == STEPS


class Layers(torch.nn.Module):
    """The classifier with its parameters by the worker's names, in its order."""

    def __init__(self, net):
        super().__init__()
        pairs = zip(net.norms, net.linears)
        self.layers = torch.nn.ModuleList(torch.nn.ModuleDict({"norm": n, "linear": li}) for n, li in pairs)


@pytest.mark.parametrize("every", [20, 50])
def test_probe_agrees_with_the_worker(every, train, tmp_path_factory, reference):
    # Eight images are divided into halves in 35 ways, of which the worker's order of images chooses one.
    data = drawn(tmp_path_factory.mktemp("eight"), 8)
    settings = {"beta2": 0.99}
    beginning = tensors_of(train("Soap", {}, 1, data), 1)
    run = train("Adam", settings, every, data, measure_every=every)
    events = [json.loads(line) for line in (run / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    [theirs] = [event for event in events if event["event"] == "measure"]
    off = []
    for rest in combinations(range(1, 8), 3):
        order = [0, *rest, *sorted({*range(1, 8)} - {*rest})]
        images, labels = data[1][order], data[2][order]
        net = reference.Net().double()
        with torch.no_grad():
            for param, values in parts(net, beginning["parameters"]).items():
                param.copy_(values)
        optimizer = torch.optim.AdamW(groups("Adam", net), lr=0.001, betas=(0.9, 0.99), weight_decay=0.01)
        probe = Probe(None, Layers(net), optimizer, every)

        def loss_of(x, y):
            return torch.nn.functional.cross_entropy(net(x), y)

        for _ in range(every):
            optimizer.zero_grad()
            loss_of(images, labels).backward()
            probe.halves(loss_of, images, labels)
            optimizer.step()
        ours = probe.last
        names = [name for name in ours if name != "tensors"]
        if set(names) != {name for name in NAMES_OF_MEASURES if name in theirs}:
            off.append(math.inf)
            continue
        differences = [abs(ours[name] - theirs[name]) / max(abs(theirs[name]), 1e-3) for name in names]
        assert list(ours["tensors"]) == list(theirs["tensors"])
        for name, measures in ours["tensors"].items():
            differences += [abs(measures[of] - theirs["tensors"][name][of]) for of in ("signal", "noise_share")]
        off.append(max(differences))
    assert min(off) < 1e-6 < 1e-3 < max(off), off
