"""Twenty optimizers of the package pytorch_optimizer against Adam, Signum and FOCUS, in one phase diagram each.

    pip install pytorch_optimizer==4.1.0
    python python/examples/twenty.py [FOLDER]

A diagram holds at most sixteen optimizers, so each of the twenty gets a diagram with the three, and the last figure
shows, for each pixel, the best of all. It takes about N minutes on two cores.
"""
