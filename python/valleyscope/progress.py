"""Progress of long work: tqdm where it is installed, else lines on standard error."""

import contextlib
import sys
import time


@contextlib.contextmanager
def progress(is_shown):
    """A function of what is done, the whole and its unit, that shows progress once the work takes over a second."""
    shown = _Shown() if is_shown else None
    try:
        yield shown or (lambda *_: None)
    finally:
        if shown:
            shown.close()


class _Shown:
    def __init__(self):
        self.begun, self.told, self.bar, self.unit = time.monotonic(), 0.0, None, None

    def __call__(self, done, whole, unit="steps"):
        now = time.monotonic()
        if now - self.begun < 1.0:
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            if now - self.told > 5.0:
                self.told = now
                print(f"{done:,} of {whole:,} {unit}", file=sys.stderr)
            return
        if self.unit != unit:
            self.close()
            self.bar, self.unit = tqdm(total=whole, unit=f" {unit}", unit_scale=True, leave=False), unit
        self.bar.total = whole
        self.bar.update(done - self.bar.n)

    def close(self):
        if self.bar is not None:
            self.bar.close()
            self.bar = self.unit = None
