"""Time of a call of `Run.log` with four metrics: mean, and the 99.9th percentile, of 100,000 calls.

    python benches/run_log.py

The first line is of calls without a pause, while the writing thread competes for Python's lock; the second is of calls
a millisecond apart, as in a training.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "python"))

from valleyscope.run import Run  # noqa: E402

VALUES = {"train/loss": 0.5, "train/accuracy": 0.75, "lr": 1e-3, "grad_norm": 1.25}


def measure(calls: int, pause: float) -> str:
    with tempfile.TemporaryDirectory() as runs, Run("overhead", {"lr": 1e-3}, runs) as run:
        times = []
        for step in range(calls):
            before = time.perf_counter()
            run.log(step, VALUES)
            times.append(time.perf_counter() - before)
            time.sleep(pause) if pause else None
    times.sort()
    return f"{1e6 * statistics.fmean(times):.1f} µs, 99.9 % below {1e6 * times[int(0.999 * calls)]:.1f} µs"


print(f"{'without a pause':<20}{measure(100_000, 0.0)}")
print(f"{'a millisecond apart':<20}{measure(10_000, 1e-3)}")
