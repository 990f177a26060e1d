"""Trains the MNIST classifier with PyTorch, for the test `pytorch.rs` to compare with.

    valleyscope data mnist --synthetic --dir FOLDER
    python pytorch.py FOLDER > data/pytorch.json        # made with PyTorch 2.11.0
    python pytorch.py FOLDER --time [THREADS]           # how fast it is, one model after another

The start and the batches are formulas that both sides know. Rounding decides on which side of zero a ReLU's
input or a gradient falls if it is very near, and from there on two right programs differ. So STARTS are such that
single precision stays with double precision also where every weight of the start is off by a part in ten million;
how far it departs then is printed as `shaken`.
"""

import json
import math
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

SIZES = [784, 128, 128, 128, 128, 128, 10]
BATCH = 32
STEPS = 50
STARTS = {"Adam": 5, "Signum": 3, "FOCUS": 6, "SGD": 1}
# Small ones where each step is as large as the rate, whatever the gradient: a bias that the next normalisation takes
# out again has a gradient of rounding alone, whose sign then moves it by the rate.
RATES = {"Adam": 2e-4, "Signum": 2e-4, "FOCUS": 2e-4, "SGD": 1e-2}
MASK = (1 << 64) - 1


def uniform(counter):
    z = counter * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return ((z ^ (z >> 31)) >> 11) / (1 << 53)


def idx(folder, name, skip):
    data = (Path(folder) / name).read_bytes()[skip:]
    return torch.from_numpy(np.frombuffer(data, dtype=np.uint8).copy())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.BatchNorm1d(size) for size in SIZES[:-1])
        self.linears = nn.ModuleList(nn.Linear(*pair) for pair in zip(SIZES, SIZES[1:]))

    def forward(self, x):
        for layer, (norm, linear) in enumerate(zip(self.norms, self.linears)):
            x = linear(norm(x))
            if layer < 5:
                x = torch.relu(x)
        return x

    @torch.no_grad()
    def begin(self, start):
        counter = start * 1_000_000
        for norm, linear, size in zip(self.norms, self.linears, SIZES):
            for parameter in [linear.weight, linear.bias]:
                values = [uniform(counter + at) for at in range(parameter.numel())]
                counter += parameter.numel()
                values = torch.tensor(values, dtype=torch.float64).view(parameter.shape)
                parameter.copy_((2 * values - 1) / math.sqrt(size))


class SignDescent(torch.optim.Optimizer):
    """Signum, and FOCUS where there is a gamma, with decay of the average."""

    def __init__(self, groups, lr, gamma=None, beta1=0.9, beta2=0.99):
        super().__init__(groups, {"lr": lr})
        self.gamma, self.beta1, self.beta2, self.t = gamma, beta1, beta2, 0

    @torch.no_grad()
    def step(self):
        self.t += 1
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["m"], state["average"] = torch.zeros_like(p), torch.zeros_like(p)
                m, average = state["m"], state["average"]
                m.mul_(self.beta1).add_(p.grad, alpha=1 - self.beta1)
                decay = group["weight_decay"]
                if self.gamma is None:
                    p.sub_(group["lr"] * (m.sign() + decay * p))
                    continue
                weight = (1 - self.beta2) / (1 - self.beta2**self.t)
                average.copy_(p - (1 - weight) * (p - average))
                p.sub_(group["lr"] * (m.sign() + self.gamma * (p - average).sign() + decay * average))


class Momentum(torch.optim.SGD):
    """SGD with decoupled weight decay."""

    def __init__(self, groups, lr):
        super().__init__([{"params": g["params"], "decay": g["weight_decay"]} for g in groups], lr=lr, momentum=0.9)

    def step(self):
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    p.mul_(1 - group["lr"] * group["decay"])
        super().step()


OPTIMIZERS = {
    "Adam": torch.optim.AdamW,
    "Signum": SignDescent,
    "FOCUS": lambda groups, lr: SignDescent(groups, lr, gamma=0.2),
    "SGD": Momentum,
}


def optimizer(name, net):
    weights = [linear.weight for linear in net.linears]
    others = [p for p in net.parameters() if all(p is not w for w in weights)]
    groups = [{"params": weights, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    return OPTIMIZERS[name](groups, lr=RATES[name])


def train(name, images, labels, dtype, steps, shake=None):
    net = Net().to(dtype)
    net.begin(STARTS[name])
    if shake is not None:
        draw = torch.Generator().manual_seed(shake)
        with torch.no_grad():
            for p in net.parameters():
                p.mul_(1 + 1e-7 * torch.randn(p.shape, generator=draw, dtype=dtype))
    return steps_of(net, optimizer(name, net), images.to(dtype) / 255, labels, steps, BATCH)


def steps_of(net, descent, images, labels, steps, batch):
    losses = []
    for step in range(steps):
        chosen = torch.arange(step * batch, (step + 1) * batch) % len(labels)
        descent.zero_grad()
        loss = nn.functional.cross_entropy(net(images[chosen]), labels[chosen])
        loss.backward()
        descent.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


@torch.no_grad()
def evaluate(net, images, labels):
    net.eval()
    parts = zip(images.split(8192), labels.split(8192))
    losses = [nn.functional.cross_entropy(net(x), y, reduction="sum").item() for x, y in parts]
    return sum(losses) / len(labels)


def time_steps(images, labels, test, threads):
    torch.set_num_threads(threads)
    images, test = images.float() / 255, (test[0].float() / 255, test[1])
    for batch in [8, 32, 128]:
        for name in OPTIMIZERS:
            net = Net()
            descent = optimizer(name, net)
            steps_of(net, descent, images, labels, 50, batch)
            best = math.inf
            for _ in range(5):
                begun = time.perf_counter()
                steps_of(net, descent, images, labels, 100, batch)
                best = min(best, time.perf_counter() - begun)
            begun = time.perf_counter()
            net = Net()
            steps_of(net, optimizer(name, net), images, labels, 400, batch)
            evaluate(net, *test)
            model = time.perf_counter() - begun
            print(f"batch {batch:4}, {threads} threads, {name:6}: {100 / best:8.0f} steps/s,", end=" ")
            print(f"{1 / model:6.2f} models/s of 400 steps and an evaluation")


def main():
    folder = sys.argv[1]
    images = idx(folder, "train-images-idx3-ubyte", 16).view(-1, 784)
    labels = idx(folder, "train-labels-idx1-ubyte", 8).long()
    if "--time" in sys.argv:
        threads = sys.argv[sys.argv.index("--time") + 1 :]
        test = idx(folder, "t10k-images-idx3-ubyte", 16).view(-1, 784), idx(folder, "t10k-labels-idx1-ubyte", 8).long()
        return time_steps(images, labels, test, int(threads[0]) if threads else torch.get_num_threads())
    torch.set_num_threads(1)
    # What the steps need.
    images, labels = images[: STEPS * BATCH], labels[: STEPS * BATCH]
    result = {"pytorch": torch.__version__, "batch": BATCH}
    for name in OPTIMIZERS:
        double = train(name, images, labels, torch.float64, STEPS)
        single = train(name, images, labels, torch.float32, 20)
        shaken = (train(name, images, labels, torch.float32, 20, shake) for shake in range(5))
        off = max(abs(a - b) for losses in shaken for a, b in zip(losses, double))
        about = {"start": STARTS[name], "learning_rate": RATES[name], "shaken": off}
        result[name] = {**about, "float64": double, "float32": single}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
