"""Times GPT-2 on one process and on several that share each batch, and prints a table in Markdown.

    python benches/processes.py [--bin target/release] [--processes 2] [--threads 1]       # on the processor
    python benches/processes.py --device cuda --processes 8                                # on eight GPUs

Every run has the same global batch, and with one process the same number of threads as each of several. The runs take
turns, in some rounds. Rates are medians of a run's points after the first; memory is the most that one process has had
of the machine's.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gpu import SMALL, call, check_finished, gpt2_config, of_kind

HERE = Path(__file__).resolve().parent
CHARACTERS = SMALL | {"layers": 4, "heads": 4, "width": 128, "context": 64, "vocabulary": 65}


def most_memory(pid):
    """The most memory that a process has had, in bytes, and its children's."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return {}
    words = [line.split()[1] for line in status.split("\n") if line.startswith("VmHWM")]
    own = {int(pid): 1024 * int(word) for word in words}
    for child in children:
        own |= most_memory(child)
    return own


def train(args, place, config):
    """Trains; returns the points of the curve, and the most memory that a process has had."""
    place.mkdir()
    (place / "config.ron").write_text(config)
    worker = subprocess.Popen(
        [args.worker, "run", place, "--timeout", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    memory = {}
    while worker.poll() is None:
        memory |= most_memory(worker.pid)
        time.sleep(0.1)
    events = [json.loads(line) for line in (place / "events.jsonl").read_text().splitlines()]
    check_finished(events)
    return of_kind(events, "train"), max(memory.values(), default=0)


def workloads(args):
    """The name, shape, sequences of a micro-batch, micro-batches of a step, steps and other fields of each.

    A process has one micro-batch of each step at the least, where the exchange weighs most, and several in others.
    """
    some = args.processes
    if args.device == "cpu":
        for count, steps in [(some, 160), (8 * some, 40)]:
            yield f"4 layers × 128, {12 * count} × 64", CHARACTERS, 12, count, steps, {"tokenizer": "Char"}
        yield f"GPT-2 small, {some} × 256", SMALL | {"context": 256}, 1, some, 6, {}
    else:
        for count, steps in [(some, 100), (max(40, some), 20)]:
            yield f"GPT-2 small, {12 * count} × 1024", SMALL, 12, count, steps, {"precision": "BFloat16"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=HERE.parent / "target/release", help="folder of the worker")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--processes", type=int, default=2, help="the number of processes, each with a GPU of its own")
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    args.worker = args.bin.resolve() / "valleyscope-train"
    if not args.worker.is_file():
        parser.error(f"there is no {args.worker}; build it, or name its folder with --bin")
    os.environ |= {"OMP_NUM_THREADS": str(args.threads), "MKL_NUM_THREADS": str(args.threads)}
    said = json.loads(call([args.worker, "--handshake"], 60).strip().split("\n")[-1])
    kinds = {device["name"].partition(":")[0]: device["kind"] for device in said["devices"]}
    if args.device not in kinds:
        parser.error(f"expected one of the worker's devices, {', '.join(kinds)}, found {args.device}")
    print(f"| {kinds[args.device]} | processes | tokens/s, median (all rounds) | times that of one | waiting | memory |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, shape, size, count, steps, fields in workloads(args):
        several = {"processes": args.processes}
        sharings = {"1": {}, f"{args.processes}": several}
        sharings |= {f"{args.processes}, memory divided": several | {"shard_optimizer": "true"}}
        found = {words: [] for words in sharings}
        for _ in range(args.rounds):
            for words, sharing in sharings.items():
                more = {"steps": steps, "log_every": max(steps // 8, 1), "batch_size": size, "accumulation": count}
                more |= fields | sharing
                config = gpt2_config(argparse.Namespace(device=args.device), shape, **more)
                with tempfile.TemporaryDirectory() as place:
                    points, memory = train(args, Path(place) / "run", config)
                rate = statistics.median(point["tokens_per_s"] for point in points[1:])
                waits = [point["wait_share"] for point in points[1:] if "wait_share" in point]
                found[words].append((rate, statistics.median(waits) if waits else None, memory))
        of_one = [rate for rate, _, _ in found["1"]]
        for words, rounds in found.items():
            rates = [rate for rate, _, _ in rounds]
            times = statistics.median(rate / one for rate, one in zip(rates, of_one, strict=True))
            waits = [wait for _, wait, _ in rounds if wait is not None]
            wait = f"{100 * statistics.median(waits):.1f} %" if waits else ""
            memory = max(memory for _, _, memory in rounds) / 2**30
            each = ", ".join(f"{rate:.0f}" for rate in rates)
            cells = [name, words, f"{statistics.median(rates):.0f} ({each})", f"{times:.2f}", wait, f"{memory:.2f} GiB"]
            print(f"| {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
