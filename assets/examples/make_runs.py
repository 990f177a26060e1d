#!/usr/bin/env python3
"""Records runs.jsonl, the example of *Real workloads*: three optimizers train a small classifier of MNIST.

784 - 128 - 128 - 10 units, ReLU, cross entropy, batches of 128 images, 400 steps. The file holds the events of the runs
one after another, in the format of `events.jsonl`.

    pip install numpy
    ./make_runs.py FOLDER_OF_MNIST runs.jsonl
"""
import gzip
import json
import pathlib
import sys
import time

import numpy as np

LAYERS = [784, 128, 128, 10]
BATCH, STEPS, LOG_EVERY, EVAL_EVERY = 128, 400, 5, 20


def read(folder, name):
    data = gzip.decompress((folder / name).read_bytes())
    return np.frombuffer(data, np.uint8, offset=16 if "images" in name else 8)


def passes(weights, images, labels, with_gradient=True):
    """Computes the mean loss, the accuracy and the gradient."""
    activations = [images]
    for index, (matrix, bias) in enumerate(weights):
        outputs = activations[-1] @ matrix + bias
        activations.append(outputs if index == len(weights) - 1 else np.maximum(outputs, 0))
    logits = activations[-1] - activations[-1].max(1, keepdims=True)
    log_probabilities = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    rows = np.arange(len(labels))
    loss = -log_probabilities[rows, labels].mean()
    accuracy = (logits.argmax(1) == labels).mean()
    if not with_gradient:
        return loss, accuracy, None
    delta = np.exp(log_probabilities)
    delta[rows, labels] -= 1
    delta /= len(labels)
    gradient = []
    for index in range(len(weights) - 1, -1, -1):
        gradient.append([activations[index].T @ delta, delta.sum(0)])
        delta = (delta @ weights[index][0].T) * (activations[index] > 0)
    return loss, accuracy, gradient[::-1]


class Optimizer:
    """Makes a step of Adam, Signum or FOCUS in place, with the usual hyperparameters."""

    def __init__(self, name, rate):
        self.name, self.rate, self.steps, self.states = name, rate, 0, {}

    def step(self, weights, gradient):
        self.steps += 1
        for layer, (values, grads) in enumerate(zip(weights, gradient)):
            for part in (0, 1):
                state = self.states.setdefault((layer, part), [np.zeros_like(grads[part]), np.zeros_like(grads[part])])
                self.move(values[part], grads[part], state)

    def move(self, value, grad, state):
        state[0] += 0.1 * (grad - state[0])
        if self.name == "Adam":
            state[1] += 0.001 * (grad * grad - state[1])
            mean, square = state[0] / (1 - 0.9**self.steps), state[1] / (1 - 0.999**self.steps)
            value -= self.rate * mean / (np.sqrt(square) + 1e-8)
        elif self.name == "Signum":
            value -= self.rate * np.sign(state[0])
        else:
            state[1] += 0.01 / (1 - 0.99**self.steps) * (value - state[1])
            value -= self.rate * (np.sign(state[0]) + 0.2 * np.sign(value - state[1]) + 0.01 * state[1])


def run(name, rate, train, test, write):
    random = np.random.default_rng(0)
    sizes = zip(LAYERS, LAYERS[1:])
    weights = [[random.normal(0, np.sqrt(2 / rows), (rows, columns)), np.zeros(columns)] for rows, columns in sizes]
    optimizer, order, wall = Optimizer(name, rate), random.permutation(len(train[1])), 0.0

    def event(kind, step, **values):
        # The clock's time would make each recording another file.
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_767_225_600 + int(wall)))
        head = {"event": kind, "step": step, "time": stamp, "wall_s": round(wall, 3)}
        write(json.dumps(head | {key: short(value) for key, value in values.items()}, separators=(",", ":")))

    def evaluate(step):
        loss, accuracy, _ = passes(weights, *test, with_gradient=False)
        event("eval", step, test_loss=loss, test_accuracy=accuracy)

    title = "A small classifier of MNIST"
    event("started", 0, title=title, steps=STEPS, optimizer=name, learning_rate=rate, batch_size=BATCH, seed=0)
    for step in range(STEPS):
        begun = time.perf_counter()
        chosen = order[step * BATCH % 60_000 :][:BATCH]
        loss, _, gradient = passes(weights, train[0][chosen], train[1][chosen])
        norm = np.sqrt(sum((part**2).sum() for layer in gradient for part in layer))
        optimizer.step(weights, gradient)
        wall += time.perf_counter() - begun
        if step == 0 or (step + 1) % LOG_EVERY == 0:
            event("train", step + 1, loss=loss, grad_norm=norm)
        if (step + 1) % EVAL_EVERY == 0:
            evaluate(step + 1)
    event("finished", STEPS)


def short(value):
    return float(f"{value:.5g}") if isinstance(value, float) else value


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    sets = []
    for name in ("train", "t10k"):
        images = read(folder, f"{name}-images-idx3-ubyte.gz").reshape(-1, 784) / 255
        sets.append(((images - 0.1307) / 0.3081, read(folder, f"{name}-labels-idx1-ubyte.gz")))
    with out.open("w") as file:
        for name, rate in (("Adam", 1e-3), ("Signum", 3e-4), ("FOCUS", 3e-4)):
            run(name, rate, *sets, lambda line: file.write(line + "\n"))


main()
