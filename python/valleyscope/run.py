"""Runs of any training, as folders that Valleyscope lists, plots and watches. Needs the standard library alone."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import math
import operator
import os
import platform
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:
    fcntl = None

_CONFIG, _EVENTS, _COMMANDS, _LOCK, _HEARTBEAT = "config.json", "events.jsonl", "commands.jsonl", "lock", "heartbeat"
_RESERVED = frozenset({"event", "step", "time", "wall_s"})
_MOST, _LONGEST = 256, 1024  # Metrics of an event, and characters of a name.
_NON_FINITE = {"NaN": math.nan, "inf": math.inf, "-inf": -math.inf}
_WRITE, _BEAT = 0.25, 10.0  # Seconds between two writes of waiting events, and between two heartbeats.


def runs_folder() -> Path:
    """Return the folder in which Valleyscope looks for runs: ``VALLEYSCOPE_RUNS``, or in the user's folder for data."""
    if os.environ.get("VALLEYSCOPE_RUNS"):
        return Path(os.environ["VALLEYSCOPE_RUNS"]).absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/valleyscope/runs"
    if sys.platform == "win32":
        return Path(os.environ["APPDATA"]) / "valleyscope/data/runs"
    named = Path(os.environ.get("XDG_DATA_HOME") or ".")
    return (named if named.is_absolute() else Path.home() / ".local/share") / "valleyscope/runs"


class Run:
    """A training's log in a folder, live in the lists and plots of Valleyscope::

        with Run("CNN on CIFAR-10", config={"lr": 1e-3, "model": {"layers": 12}}) as run:
            for step in range(1000):
                run.log(step, {"train/loss": loss, "train/accuracy": accuracy})

    Args:
        title: The name in lists. The attribute ``step`` is the step of the last event.
        config: The settings, which are columns and filters; nested ones are named like ``model.layers``.
        runs: The folder in which the run's folder is made; by default the program's (``runs_folder()``).
        steps: The number of steps of the whole training, if known; lists then show the time that is left.
        resume: Whether to go on with the newest run of this title and config in ``runs``, unless it has finished. A
            path names the folder of the run instead.

    A thread writes what is logged to the disk four times a second and at the end of the process. A killed process
    loses at most the last quarter of a second, and is listed as crashed. Where the environment has a ``RANK`` above 0,
    as in processes of ``torchrun``, a run writes nothing and has no folder: rank 0 logs for all. Processes that are
    forked while the run is logged, such as workers of a ``DataLoader``, log nothing, either.
    """

    def __init__(self, title: str, config: Mapping[str, Any] | None = None, runs: str | os.PathLike | None = None, *,
                 steps: int | None = None, resume: bool | str | os.PathLike = False) -> None:
        self.title, self.config, self.folder = title, _plain(config or {}), None
        self.step, self._wall_s, self._began = 0, 0.0, time.perf_counter()
        self._writer, self._resumed = None, None
        self._stop_requested = self._reads_stop = self._keeps_first = False
        if int(os.environ.get("RANK") or 0) > 0:
            return
        parent = Path(runs).expanduser().absolute() if runs is not None else runs_folder()
        if isinstance(resume, bool):
            self.folder = _unfinished(parent, title, self.config) if resume else None
        else:
            self.folder = Path(resume).expanduser().absolute()
            before = _read_config(self.folder)
            if (config is not None and before != self.config) or (self.folder / "config.ron").exists():
                raise ValueError(f"{self.folder} has another config; leave config out, or log into a new run")
            self.config = before
        if self.folder is not None:
            self._resumed = _Log(self.folder)
            self.step = self._resumed.step
        self.folder = self.folder or _new_folder(parent, title, self.config)
        self._writer = _Writer(self.folder, self._answer)
        if self._resumed is None:
            self._put("started", 0, {"title": title, "kind": "Python", "steps": operator.index(steps or 0)})
        _live.add(self)

    @classmethod
    def open(cls, folder: str | os.PathLike) -> Run:
        """Return the run in a folder, of this class or of Valleyscope, to be read."""
        run = cls.__new__(cls)
        run.folder, run._writer, run._stop_requested = Path(folder).expanduser().absolute(), None, False
        log = _Log(run.folder)
        run.title, run.config, run.step = log.title or run.folder.name, _read_config(run.folder), log.step
        return run

    @property
    def should_stop(self) -> bool:
        """Whether the run was asked to stop, in the window or by ``valleyscope runs stop``.

        Cheap enough for each step. It stays False on ranks above 0, to which rank 0 must pass it on.
        """
        self._reads_stop = True
        return self._stop_requested

    def log(self, step: int, values: Mapping[str, Any]) -> None:
        """Log numbers by the names of their metrics, as points of curves at a step.

        A value is anything that ``float`` takes; a tensor on a GPU waits for the GPU. Metrics with the same text before
        a slash are listed together; ``val``, ``test`` or ``eval`` marks results on data that are not trained on.
        """
        if self._writer is None or not values:
            return
        if len(values) > _MOST:
            raise ValueError(f"expected at most {_MOST} metrics in a call, found {len(values)}")
        numbers = {}
        for name, value in values.items():
            if not isinstance(name, str) or name in _RESERVED or not name.strip() or not name.isprintable() or len(name) > _LONGEST:
                raise ValueError(f"expected the name of a metric, such as train/loss, found {name!r}")
            numbers[name] = value if type(value) is float else float(value)
        self._record("train", step, numbers)

    def text(self, step: int, name: str, text: str) -> None:
        """Log a text under a name at a step, such as a sample of a language model."""
        self._record("sample", step, {"text": f"{name}: {text}"})

    def finish(self) -> None:
        """End the run: as stopped if it was asked to stop and has read ``should_stop``, else as finished."""
        self._end("stopped" if self._stop_requested and self._reads_stop else "finished")

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._end_after(error)

    def __getitem__(self, name: str) -> tuple[Any, Any]:
        """Return the steps and the values of a metric: NumPy arrays, or lists where NumPy is not installed."""
        curves = self._log().curves
        if name not in curves:
            raise KeyError(f"{name!r}; the run has {', '.join(map(repr, curves)) or 'no metrics so far'}")
        steps, values = map(list, zip(*curves[name], strict=True))
        with contextlib.suppress(ImportError):
            import numpy as np
            return np.array(steps, dtype=np.int64), np.array(values, dtype=np.float64)
        return steps, values

    def keys(self) -> list[str]:
        """Return the names of the metrics."""
        return list(self._log().curves)

    def _log(self) -> _Log:
        self._writer and self._writer.write()
        return _Log(self.folder)

    def _record(self, event: str, step: int, fields: dict) -> None:
        if self._writer is None:
            return
        if (step := operator.index(step)) < 0:
            raise ValueError(f"expected a step from 0, found {step}")
        if self._resumed is not None:
            self._go_on(step)
        if step > 0 or not self._keeps_first:
            self._put(event, step, fields)
        self.step = step

    def _go_on(self, step: int) -> None:
        """Record that a session goes on with this step, which makes events of this and later steps void."""
        log, self._resumed = self._resumed, None
        from_step = min(max(step - 1, 0), log.step)
        # No event makes the points at step 0 void.
        self._keeps_first = step == 0 and any(curve[0][0] == 0 for curve in log.curves.values())
        self._wall_s = next((wall_s for at, wall_s in reversed(log.moments) if at <= from_step), 0.0)
        self._began = time.perf_counter()
        self._put("resumed", from_step, {"from_step": from_step})

    def _put(self, event: str, step: int, fields: dict) -> None:
        wall_s = self._wall_s + time.perf_counter() - self._began
        self._writer.queue.append((event, step, time.time(), wall_s, fields))

    def _answer(self, number: str, command: object) -> None:
        """Answer a command, in the writer's thread."""
        stops, message = command == "Stop", 'expected the command "Stop", the only one that a script takes'
        if stops:
            self._stop_requested, message = True, "run.should_stop is set; the script ends the run when it reads that"
        self._put("command", self.step, {"id": number, "ok": stops, "message": message})

    def _end(self, event: str, **fields: str) -> None:
        if self._writer is None:
            return
        if self._resumed is not None:
            self._go_on(self.step + 1)
        self._put(event, self.step, fields)
        self._writer.close()
        self._writer = None
        _live.discard(self)

    def _end_after(self, error: BaseException | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            self._end("stopped")
        elif error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            self.finish()
        else:
            self._end("failed", message=f"{type(error).__name__}: {error}".removesuffix(": "))

    def _exit(self) -> None:
        # Errors in an interactive session do not end the process.
        self._end_after(None if hasattr(sys, "ps1") else getattr(sys, "last_value", None))

    def _leave(self) -> None:
        """Leave the run to the parent of this forked process. Closing the copied files keeps the parent's locks."""
        os.close(self._writer.events)
        os.close(self._writer.lock)
        self._writer = None
        _live.discard(self)


_live: set[Run] = set()
atexit.register(lambda: [run._exit() for run in list(_live)])
if fcntl is not None:
    os.register_at_fork(after_in_child=lambda: [run._leave() for run in list(_live)])


class _Writer:
    """The thread that writes a run's events and heartbeat, and passes on commands to the run."""

    def __init__(self, folder: Path, answer: Callable[[str, object], None]) -> None:
        self.folder, self._answer = folder, answer
        self.queue: deque[tuple[str, int, float, float, dict]] = deque()
        self._waiting, self._mutex, self._ended = b"", threading.Lock(), threading.Event()
        self._has_warned, self._beaten, self._has_locks = False, -math.inf, fcntl is not None
        self.lock, self.events = self._take(_LOCK), self._take(_EVENTS, os.O_APPEND)
        written = (folder / _EVENTS).read_bytes()
        # A killed process may have left a part of a line.
        os.truncate(self.events, written.rfind(b"\n") + 1)
        owner = {"host": platform.node() or "localhost", "pid": os.getpid(), "started": _timestamp(time.time()),
                 "lines": written.count(b"\n")}
        # Without locks, the process would count as ended.
        os.truncate(self.lock, os.write(self.lock, json.dumps(owner).encode() + b"\n" if self._has_locks else b""))
        # Commands to an earlier session are void.
        self._read = (folder / _COMMANDS).stat().st_size if (folder / _COMMANDS).is_file() else 0
        self._thread = threading.Thread(target=self._work, name="valleyscope-run", daemon=True)
        self._thread.start()

    def _take(self, name: str, flags: int = 0) -> int:
        """Open a file and lock it. Programs that look whether it is locked hold it for a moment."""
        file = _open(self.folder / name, flags)
        for _ in range(50):
            try:
                if self._has_locks:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:  # Some file systems have no locks.
                self._has_locks = False
        os.close(file)
        raise RuntimeError(f"another process is logging the run in {self.folder}; end that one first")

    def close(self) -> None:
        """Write what waits, and release the run."""
        self._ended.set()
        self._thread.join()
        self.write()
        for file in (self.events, self.lock):
            if self._has_locks:
                fcntl.flock(file, fcntl.LOCK_UN)
            os.close(file)

    def _work(self) -> None:
        self.write()
        while not self._ended.wait(_WRITE):
            # After an error of reading, the next turn tries again.
            with contextlib.suppress(OSError):
                self._read_commands()
            self.write()

    def write(self) -> None:
        """Write the queue to the file of events. After a failure, the first of which is reported, its lines wait."""
        with self._mutex:
            lines = [self._waiting]
            while self.queue:
                lines.append(_line(*self.queue.popleft()))
            self._waiting = b"".join(lines)
            try:
                if time.monotonic() - self._beaten >= _BEAT:
                    self._beaten = time.monotonic()
                    file = _open(self.folder / _HEARTBEAT)
                    os.write(file, _timestamp(time.time()).encode() + b"\n")
                    os.close(file)
                while self._waiting:
                    self._waiting = self._waiting[os.write(self.events, self._waiting):]
            except OSError as error:
                if not self._has_warned:
                    self._has_warned = True
                    print(f"warning: the run in {self.folder} cannot be written: {error}", file=sys.stderr)

    def _read_commands(self) -> None:
        if not (self.folder / _COMMANDS).is_file():
            return
        with (self.folder / _COMMANDS).open("rb") as file:
            file.seek(self._read)
            lines, end, _ = file.read(1 << 20).rpartition(b"\n")
        self._read += len(lines + end)
        for line in filter(bytes.strip, lines.splitlines()):
            try:
                command = json.loads(line)
                self._answer(str(command["id"])[:100], command["command"])
            except (ValueError, TypeError, KeyError):
                self._answer("unknown", None)


class _Log:
    """The title and the curves in the events of a run. Lines that are no events are skipped, as is one without end."""

    def __init__(self, folder: Path, forks: int = 64) -> None:
        self.title, self.step, self.has_finished = "", 0, False
        self.curves: dict[str, list[tuple[int, float]]] = {}
        self.moments: list[tuple[int, float]] = []  # Steps and seconds of training.
        for line in (folder / _EVENTS).read_bytes().split(b"\n")[:-1]:
            try:
                event = json.loads(line)
                kind, step, wall_s = event["event"], operator.index(event["step"]), _number(event["wall_s"])
            except (ValueError, TypeError, KeyError):
                continue
            if kind == "started":
                self.title = str(event.get("title", ""))
            elif kind == "resumed":
                self._forget_after(event.get("from_step", step))
            elif kind == "forked" and forks:
                other = folder.parent / Path(str(event.get("from_run"))).name
                self.curves = _Log(other, forks - 1).curves if (other / _EVENTS).is_file() else {}
                self._forget_after(event.get("from_step", step))
            elif kind in ("train", "eval", "measure"):
                for name, value in event.items():
                    if name not in _RESERVED and (value := _number(value)) is not None:
                        self.curves.setdefault(name, []).append((step, value))
            self.step, self.has_finished = step, kind == "finished"
            self.moments.append((step, wall_s or 0.0))

    def _forget_after(self, step: int) -> None:
        kept = ((name, [point for point in curve if point[0] <= step]) for name, curve in self.curves.items())
        self.curves = {name: curve for name, curve in kept if curve}


def _line(event: str, step: int, at: float, wall_s: float, fields: dict) -> bytes:
    if event == "train":
        fields = {name: value if math.isfinite(value) else str(value).replace("nan", "NaN")
                  for name, value in fields.items()}
    whole = {"event": event, "step": step, "time": _timestamp(at), "wall_s": round(wall_s, 6), **fields}
    return (json.dumps(whole, separators=(",", ":"), ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _timestamp(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S.%f}000Z"


def _number(value: object) -> float | None:
    if isinstance(value, str):
        return _NON_FINITE.get(value)
    return float(value) if type(value) in (int, float) else None


def _plain(config: Mapping[str, Any]) -> dict:
    """Return settings as JSON has them: what JSON lacks becomes a text."""
    text = json.dumps(dict(config), default=lambda it: it.item() if getattr(it, "ndim", None) == 0 else str(it))
    return json.loads(text, parse_constant=str)


def _new_folder(parent: Path, title: str, config: dict) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", title[:80]).lstrip(".-") or "run"
    name = f"{stem}-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}"
    for end in itertools.chain([""], (f"-{number}" for number in itertools.count(2))):
        with contextlib.suppress(FileExistsError):
            folder = parent / (name + end)
            folder.mkdir()
            (folder / _CONFIG).write_text(json.dumps(config, indent=2) + "\n")
            return folder


def _unfinished(parent: Path, title: str, config: dict) -> Path | None:
    """Find the newest run of a title and a config, unless that has finished."""
    for events in sorted(parent.glob(f"*/{_EVENTS}"), key=lambda path: path.stat().st_mtime, reverse=True):
        if _read_config(events.parent) == config and (log := _Log(events.parent)).title == title:
            return None if log.has_finished else events.parent
    return None


def _read_config(folder: Path) -> dict:
    with contextlib.suppress(OSError, ValueError):
        return json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
    return {}


def _open(path: Path, flags: int = 0) -> int:
    return os.open(path, flags | os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
