"""Twenty optimizers of the package pytorch_optimizer in one phase diagram with Adam, Signum and FOCUS.

    pip install pytorch_optimizer==4.1.0
    python python/examples/twenty.py FOLDER [ROWSxCOLS]

Rules that treat each number by itself take the steps of all runs at a time. The three that see a whole tensor, or all
parameters, have an optimizer for each run, which takes most of the time.
"""

import sys
import time

import pytorch_optimizer as po
import torch
import valleyscope as vs

ELEMENTWISE = [
    "AdaBelief", "AdaBound", "AdaMod", "AdaMax", "Adan", "ADOPT", "AggMo", "DiffGrad", "Grams", "LaProp", "Lion",
    "MADGRAD", "PAdam", "QHAdam", "RAdam", "Tiger", "Yogi",
]  # fmt: skip
# AdamP projects by norms, CAME has statistics of rows and columns, Prodigy estimates one distance for all parameters.
WHOLE = ["AdamP", "CAME", "Prodigy"]
RATES = (1e-3, 1.0, 10)
# Fewer, as each run has an optimizer of its own.
RATES_OF_WHOLE = (1e-3, 1.0, 6)


def maker(name):
    optimizer = getattr(po, name)
    return lambda params, lr: optimizer(params, lr=lr)


def main():
    folder = sys.argv[1]
    rows, columns = map(int, (sys.argv[2] if len(sys.argv) > 2 else "8x9").split("x"))
    torch.set_num_threads(1)
    own = [vs.Optimizer(maker(name), name, learning_rates=RATES) for name in ELEMENTWISE]
    own += [vs.Optimizer(maker(name), name, learning_rates=RATES_OF_WHOLE, elementwise=False) for name in WHOLE]
    built_in = [vs.Adam(learning_rates=RATES), vs.Signum(learning_rates=RATES), vs.Focus(learning_rates=RATES)]
    begun = time.monotonic()
    sweep = vs.sweep("fig2a", grid=(rows, columns), replicates=2, optimizers=built_in + own)
    sweep.save(folder)
    for index, name in enumerate(sweep.optimizers):
        print(f"{name}: wins {(sweep.winner == index).sum()} of {sweep.winner.size} pixels")
    print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
