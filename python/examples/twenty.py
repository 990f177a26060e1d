"""Twenty optimizers of the package pytorch_optimizer in one phase diagram with Adam, Signum and FOCUS.

    pip install pytorch_optimizer==4.1.0
    python python/examples/twenty.py FOLDER [ROWSxCOLS] [--whole]

The twenty treat each number by itself, so that a step serves all runs. --whole adds AdamP, CAME and Prodigy, which see a
whole tensor or all parameters: each run has an optimizer of its own then, which takes an hour or more. All have weight
decay 0.1, as the built-in rules, where they have any.
"""

import inspect
import sys
import time

import pytorch_optimizer as po
import torch
import valleyscope as vs

ELEMENTWISE = [
    "AdaBelief", "AdaBound", "AdaMod", "AdaMax", "Adan", "ADOPT", "AggMo", "DiffGrad", "EXAdam", "Grams", "LaProp",
    "Lion", "MADGRAD", "PAdam", "QHAdam", "RAdam", "SignSGD", "SimplifiedAdEMAMix", "Tiger", "Yogi",
]  # fmt: skip
WHOLE = ["AdamP", "CAME", "Prodigy"]
RATES = (1e-3, 1.0, 10)


def maker(name):
    optimizer = getattr(po, name)
    known = inspect.signature(optimizer.__init__).parameters
    decay = {"weight_decay": 0.1} if "weight_decay" in known else {}
    # Decoupled decay is usually an option.
    decoupled = {"weight_decouple": True} if "weight_decouple" in known else {}
    return lambda params, lr: optimizer(params, lr=lr, **decay, **decoupled)


def main():
    folder, *options = [argument for argument in sys.argv[1:] if argument != "--whole"]
    rows, columns = map(int, (options or ["12x13"])[0].split("x"))
    torch.set_num_threads(1)
    own = [vs.Optimizer(maker(name), name, learning_rates=RATES) for name in ELEMENTWISE]
    if "--whole" in sys.argv:
        own += [vs.Optimizer(maker(name), name, learning_rates=RATES, elementwise=False) for name in WHOLE]
    built_in = [vs.Adam(learning_rates=RATES), vs.Signum(learning_rates=RATES), vs.Focus(learning_rates=RATES)]
    begun = time.monotonic()
    sweep = vs.sweep("fig2a", grid=(rows, columns), replicates=5, optimizers=built_in + own)
    sweep.save(folder)
    for index, name in enumerate(sweep.optimizers):
        print(f"{name}: wins {(sweep.winner == index).sum()} of {sweep.winner.size} pixels")
    print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
