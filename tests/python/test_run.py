"""`valleyscope.Run`: what its folders hold while a script runs, after its end, and after a kill."""

import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from valleyscope.run import Run, runs_folder


def begin(script, *arguments, **environment):
    """Start a script, whose first line imports `Run`, in a process of its own."""
    script = "import os, sys, time\nfrom valleyscope.run import Run\n" + textwrap.dedent(script)
    environment = {**os.environ, **environment}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process, code=0):
    out, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    return out


def only(folder):
    [run] = folder.iterdir()
    return run


def events(folder):
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def kinds(folder):
    return [event["event"] for event in events(folder)]


def is_locked(folder):
    fcntl = pytest.importorskip("fcntl")
    with (folder / "lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def points(run, name):
    return [list(column) for column in run[name]]


def test_a_run_holds_its_settings_points_and_texts(tmp_path):
    config = {"lr": 1e-3, "model": {"layers": 12, "act": "gelu"}, "betas": (0.9, 0.99), "path": Path("x"), "big": math.inf}
    with Run("A run / ü", config, tmp_path, steps=3) as run:
        for step in range(3):
            run.log(step, {"train/loss": 1 / (step + 1), "val/accuracy": step})
        run.text(2, "sample", "To be\nor \ud800")
        assert is_locked(run.folder)
    folder = only(tmp_path)
    assert folder.name.startswith("A-run-----2") and not is_locked(folder)
    expected = {"lr": 1e-3, "model": {"layers": 12, "act": "gelu"}, "betas": [0.9, 0.99], "path": "x", "big": "Infinity"}
    assert json.loads((folder / "config.json").read_text()) == expected
    assert kinds(folder) == ["started", "train", "train", "train", "sample", "finished"]
    started, *_, sample, _ = events(folder)
    assert (started["title"], started["steps"], sample["text"]) == ("A run / ü", 3, "sample: To be\nor ?")
    read = Run.open(folder)
    assert (read.title, read.config, read.step, read.keys()) == ("A run / ü", expected, 2, ["train/loss", "val/accuracy"])
    assert points(read, "train/loss") == [[0, 1, 2], [1.0, 0.5, 1 / 3]]
    with pytest.raises(KeyError, match="'train/loss', 'val/accuracy'"):
        read["loss"]


def test_the_first_bytes_of_points_are_those_that_readers_expect(tmp_path):
    with Run("one", runs=tmp_path) as run:
        run.log(0, {"loss": 1})
    line = (run.folder / "events.jsonl").read_text().splitlines()[1]
    assert line.startswith('{"event":"train","step":0,"time":"2') and line.endswith(',"loss":1.0}')
    heartbeat = (run.folder / "heartbeat").read_text()
    assert len(heartbeat) == len("2026-03-01T12:00:00.123456789Z\n")
    lock = json.loads((run.folder / "lock").read_text())
    assert (lock["pid"], lock["lines"]) == (os.getpid(), 0) and lock["started"].endswith("Z")


def test_values_that_are_not_finite_are_texts_in_the_file_and_numbers_when_read(tmp_path):
    with Run("one", runs=tmp_path) as run:
        for step, value in enumerate([math.nan, math.inf, -math.inf]):
            run.log(step, {"loss": value})
    assert [event["loss"] for event in events(run.folder)[1:4]] == ["NaN", "inf", "-inf"]
    _, values = Run.open(run.folder)["loss"]
    assert math.isnan(values[0]) and list(values[1:]) == [math.inf, -math.inf]


def test_numbers_of_numpy_and_torch_are_logged(tmp_path):
    np = pytest.importorskip("numpy")
    with Run("one", {"lr": np.float64(0.5), "layers": np.int64(3)}, tmp_path) as run:
        run.log(np.int64(4), {"a": np.float32(0.5), "b": np.array(2)})
    assert run.config == {"lr": 0.5, "layers": 3}
    assert points(Run.open(run.folder), "b") == [[4], [2.0]]


def test_mistakes_are_refused(tmp_path):
    with Run("one", runs=tmp_path) as run:
        for step, values, error in [
            (-1, {"loss": 1.0}, ValueError), (0.5, {"loss": 1.0}, TypeError), (0, {"step": 1.0}, ValueError),
            (0, {"": 1.0}, ValueError), (0, {"a\nb": 1.0}, ValueError), (0, {"loss": "low"}, ValueError), (0, {"loss": [1.0, 2.0]}, TypeError),
            (0, {str(name): 1.0 for name in range(300)}, ValueError),
        ]:
            with pytest.raises(error):
                run.log(step, values)
    assert kinds(run.folder) == ["started", "finished"]


def test_an_exception_ends_the_run_as_failed_and_an_interrupt_as_stopped(tmp_path):
    for error, expected in [(ValueError("NaN in layer 3"), "failed"), (KeyboardInterrupt(), "stopped"),
                            (SystemExit(2), "failed"), (SystemExit(0), "finished")]:
        with pytest.raises(type(error)):
            with Run("one", runs=tmp_path) as run:
                raise error
        last = events(run.folder)[-1]
        assert last["event"] == expected
        if isinstance(error, ValueError):
            assert last["message"] == "ValueError: NaN in layer 3"


@pytest.mark.parametrize(("script_end", "code", "expected"), [
    ("", 0, "finished"), ("1 / 0", 1, "failed"), ("os.kill(os.getpid(), 9)", -9, "train"),
])
def test_the_end_of_the_process_ends_the_run(tmp_path, script_end, code, expected):
    script = f"""
        run = Run("script", runs=sys.argv[1])
        for step in range(1000):
            run.log(step, {{"loss": step}})
        if {script_end!r}.startswith("os.kill"):
            time.sleep(1)
        {script_end}
    """
    end(begin(script, tmp_path), code)
    last = events(only(tmp_path))[-1]
    assert (last["event"], last["step"]) == (expected, 999)
    assert last.get("message", "ZeroDivisionError: division by zero") == "ZeroDivisionError: division by zero"


def test_a_killed_script_leaves_what_it_logged_and_a_free_lock(tmp_path):
    process = begin("""
        run = Run("killed", runs=sys.argv[1])
        for step in range(10**9):
            run.log(step, {"train/loss": 1 / (step + 1)})
            print(step, time.time(), flush=True)
            time.sleep(0.001)
    """, tmp_path)
    wait_for(lambda: list(tmp_path.glob("*/events.jsonl")))
    time.sleep(1.0)
    assert is_locked(only(tmp_path))
    killed = time.time()
    process.send_signal(signal.SIGKILL)
    out = end(process, -signal.SIGKILL)
    logged = [line.split() for line in out.splitlines()[:-1]]
    safe = [int(step) for step, at in logged if float(at) < killed - 0.8]
    steps, _ = Run.open(only(tmp_path))["train/loss"]
    assert len(safe) > 10 and list(steps)[:len(safe)] == safe
    assert not is_locked(only(tmp_path)) and kinds(only(tmp_path))[-1] == "train"


def test_points_are_on_the_disk_within_a_second_while_the_script_runs(tmp_path):
    run = Run("live", runs=tmp_path)
    run.log(0, {"loss": 2.0})
    began = time.monotonic()
    wait_for(lambda: "train" in kinds(run.folder))
    assert time.monotonic() - began < 1.0
    run.finish()
    run.finish()
    run.log(1, {"loss": 1.0})
    assert kinds(run.folder) == ["started", "train", "finished"]


def test_a_crashed_run_is_resumed_without_gap_and_repeat(tmp_path):
    script = """
        first, last = int(sys.argv[2]), int(sys.argv[3])
        run = Run("again", {"lr": 0.5}, sys.argv[1], resume=True)
        for step in range(first, last):
            run.log(step, {"loss": first + step})
        time.sleep(0.7)
        os.kill(os.getpid(), 9) if last < 30 else run.finish()
    """
    end(begin(script, tmp_path, 0, 20), -9)
    with (only(tmp_path) / "events.jsonl").open("a") as file:
        file.write('{"event":"train","st')
    lines = len(events_of_whole_lines(only(tmp_path)))
    end(begin(script, tmp_path, 10, 30))
    folder = only(tmp_path)
    assert json.loads((folder / "lock").read_text())["lines"] == lines
    resumed = [event for event in events(folder) if event["event"] == "resumed"]
    assert [(event["from_step"], event["step"]) for event in resumed] == [(9, 9)]
    assert points(Run.open(folder), "loss") == [list(range(30)), [*range(10), *range(20, 40)]]
    walls = [event["wall_s"] for event in events(folder)]
    assert walls[lines] <= walls[lines - 1] and walls == sorted(walls[:lines]) + sorted(walls[lines:])


def test_a_run_that_begins_again_has_its_first_point_once(tmp_path):
    for value in (1.0, 2.0):
        run = Run("one", runs=tmp_path, resume=True)
        for step in range(3):
            run.log(step, {"loss": value})
        run._end("stopped")
    assert points(Run.open(only(tmp_path)), "loss") == [[0, 1, 2], [1.0, 2.0, 2.0]]


def events_of_whole_lines(folder):
    return (folder / "events.jsonl").read_text().split("\n")[:-1]


def test_only_an_unfinished_run_of_the_same_title_and_config_is_resumed(tmp_path):
    def log(title, config):
        with Run(title, config, tmp_path, resume=True) as run:
            run.log(0, {"loss": 1.0})
            return run.folder

    stopped = Run("one", {"lr": 1}, tmp_path)
    stopped._end("stopped")
    assert log("two", {"lr": 1}) != stopped.folder
    assert log("one", {"lr": 2}) != stopped.folder
    assert log("one", {"lr": 1}) == stopped.folder
    assert log("one", {"lr": 1}) != stopped.folder, "it has finished"
    with Run("one", resume=stopped.folder) as run:
        assert run.config == {"lr": 1}
    with pytest.raises(ValueError, match="another config"):
        Run("one", {"lr": 3}, resume=stopped.folder)


def test_a_run_has_one_writer(tmp_path):
    with Run("one", runs=tmp_path) as run:
        with pytest.raises(RuntimeError, match="another process is logging"):
            Run("one", resume=run.folder)


def test_two_ranks_log_one_run(tmp_path):
    script = """
        run = Run("ranks", {"lr": 0.5}, sys.argv[1])
        with run:
            for step in range(10):
                run.log(step, {"loss": step})
                run.text(step, "a", "b")
        print(run.folder, run.should_stop)
    """
    ranks = [begin(script, tmp_path, RANK=str(rank), WORLD_SIZE="2") for rank in range(2)]
    outputs = [end(rank).split() for rank in ranks]
    assert outputs == [[str(only(tmp_path)), "False"], ["None", "False"]]
    assert kinds(only(tmp_path)).count("train") == 10


def test_forked_processes_leave_the_run_alone(tmp_path):
    script = """
        run = Run("forks", runs=sys.argv[1])
        run.log(0, {"loss": 0})
        child = os.fork()
        if child == 0:
            run.log(1, {"loss": 1})
            run.finish()
            sys.exit(0)
        os.waitpid(child, 0)
        other = os.fork()
        if other == 0:
            time.sleep(60)
            os._exit(0)
        run.log(2, {"loss": 2})
        print(other, flush=True)
        time.sleep(0.7)
        os.kill(os.getpid(), 9)
    """
    process = begin(script, tmp_path)
    other = int(process.stdout.readline())
    try:
        process.wait(timeout=60)
        assert points(Run.open(only(tmp_path)), "loss") == [[0, 2], [0.0, 2.0]]
        assert not is_locked(only(tmp_path)), "the child of a killed script does not hold its lock"
    finally:
        os.kill(other, signal.SIGKILL)
        process.communicate()


def test_a_command_stops_the_run(tmp_path):
    with Run("one", runs=tmp_path) as run:
        assert not run.should_stop
        with (run.folder / "commands.jsonl").open("a") as file:
            file.write('{"id": "1", "command": "Save"}\nnonsense\n{"id": "2", "comm')
        wait_for(lambda: kinds(run.folder).count("command") == 2)
        assert not run.should_stop
        with (run.folder / "commands.jsonl").open("a") as file:
            file.write('and": "Stop"}\n')
        wait_for(lambda: run.should_stop)
        run.log(7, {"loss": 1.0})
    answers = [(event["id"], event["ok"]) for event in events(run.folder) if event["event"] == "command"]
    assert answers == [("1", False), ("unknown", False), ("2", True)]
    assert kinds(run.folder)[-1] == "stopped"
    with Run("one", runs=tmp_path, resume=True) as again:
        time.sleep(0.6)
        assert again.folder == run.folder and not again.should_stop, "an old command does not stop a new session"


def test_a_disk_that_cannot_be_written_is_reported_once_and_no_error(tmp_path, capfd):
    run = Run("one", runs=tmp_path)
    wait_for(lambda: kinds(run.folder) == ["started"])
    written, run._writer.events = run._writer.events, os.open(os.devnull, os.O_RDONLY)
    run.log(0, {"loss": 1.0})
    run._writer.write()
    run._writer.write()
    run._writer.events = written
    run.log(1, {"loss": 0.5})
    run.finish()
    assert capfd.readouterr().err.count("cannot be written") == 1
    assert points(Run.open(run.folder), "loss") == [[0, 1], [1.0, 0.5]], "the lines wait for the disk"


def test_a_file_system_without_locks_leaves_the_lock_empty(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with Run("one", runs=tmp_path) as run:
        run.log(0, {"loss": 1.0})
    assert (run.folder / "lock").read_bytes() == b"" and kinds(run.folder)[-1] == "finished"


def test_lines_that_are_no_events_and_forks_are_read(tmp_path):
    head = '"time":"2026-03-01T12:00:00Z","wall_s":1.0'
    for name, lines in [
        ("first", [f'{{"event":"train","step":{step},{head},"loss":{step}.5,"note":"x"}}' for step in range(4)]),
        ("fork", [f'{{"event":"forked","step":1,{head},"from_run":"first","from_step":1}}', "[]", "nonsense", "{}",
                  f'{{"event":"eval","step":2,{head},"loss":9}}', f'{{"event":"train","step":3,{head},"loss":8']),
    ]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "events.jsonl").write_text("\n".join(lines) + ("\n" if name == "first" else ""))
    assert points(Run.open(tmp_path / "fork"), "loss") == [[0, 1, 2], [0.5, 1.5, 9.0]]


def test_the_usual_folder_is_that_of_the_users_data(monkeypatch, tmp_path):
    if sys.platform not in ("darwin", "win32"):
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        assert runs_folder() == tmp_path / "valleyscope" / "runs"
        with Run("here") as run:
            pass
        assert run.folder.parent == runs_folder()
        monkeypatch.setenv("XDG_DATA_HOME", "relative")
        assert runs_folder() == Path.home() / ".local/share/valleyscope/runs"
    monkeypatch.setenv("VALLEYSCOPE_RUNS", str(tmp_path / "own"))
    assert runs_folder() == tmp_path / "own"
