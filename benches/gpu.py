"""Checks and times the worker on a GPU, and prints a table in Markdown.

    python benches/gpu.py [--bin target/release] [--device cuda:0] [--threads N] [--only TEXT]
    python benches/gpu.py --device cpu --quick     # every part with tiny sizes, in a minute

It takes under nine minutes. It needs `valleyscope` and `valleyscope-train`; with PyTorch 2.11 importable it also compares
with that. Each part has a time limit of its own, and one that fails does not keep the others from running. Ends with 1
where any part has failed.
"""

import argparse
import contextlib
import importlib.util
import json
import math
import re
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
HAS_TORCH = importlib.util.find_spec("torch") is not None

SMALL = {"layers": 12, "heads": 12, "width": 768, "context": 1024, "vocabulary": 50304}
TINY = {"layers": 2, "heads": 2, "width": 32, "context": 64, "vocabulary": 50304}
MIDDLE = {"layers": 4, "heads": 4, "width": 256, "context": 256, "vocabulary": 50304}
PARITY_BATCH = 4
# The largest difference between losses of the same step, relative to the loss.
LIMITS = {"Float64": 1e-9, "Float32": 1e-4, "BFloat16": 2e-2, "Float16": 1e-2}


class Skipped(Exception):
    """Why a part has nothing to say here."""


def ron_device(args):
    return "Cpu" if args.device == "cpu" else f"Cuda({args.device.partition(':')[2] or 0})"


def ron_text(path):
    """A path as a text in RON, which escapes as JSON does."""
    return json.dumps(str(path))


def gpt2_config(args, shape, **fields):
    """The config of a run of GPT-2 with Adam, in RON."""
    sides = dict(shape)
    flags = sides.pop("flags", "")
    fields = {
        "optimizer": "Adam(beta1: 0.9, beta2: 0.95, weight_decay: 0.1)",
        "learning_rate": 0.0006,
        "schedule": "(warmup: 0, min_lr: 0.0006)",
        "clip": 1.0,
        "eval_every": 1000000,
        "eval_batches": 1,
        "checkpoint_every": 1000000,
        "data": "Synthetic",
        "device": ron_device(args),
    } | fields
    sides = ", ".join(f"{name}: {value}" for name, value in sides.items())
    fields = ", ".join(f"{name}: {value}" for name, value in fields.items())
    return f'Gpt2(version: 1, title: "GPU check", runs: [(shape: ({sides}{flags}), {fields})])'


def train(args, place, name, config, limit):
    """Lets the worker train, and returns the run's folder, its events, and whether it ended in time."""
    folder = place / name
    folder.mkdir()
    (folder / "config.ron").write_text(config)
    try:
        command = [args.worker, "run", folder]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=limit)
        in_time = True
    except subprocess.TimeoutExpired:
        in_time = False
    events = folder / "events.jsonl"
    # The last line of a killed worker may be cut.
    lines = events.read_text().split("\n")[:-1] if events.exists() else []
    return folder, [json.loads(line) for line in lines], in_time


def of_kind(events, kind):
    return [event for event in events if event["event"] == kind]


def check_finished(events):
    """Raises the worker's own words where a run has failed."""
    failed = of_kind(events, "failed")
    if failed:
        raise RuntimeError(failed[-1]["message"])
    if not of_kind(events, "finished"):
        raise RuntimeError(f"the run did not come to its end in time, but to step {events[-1]['step'] if events else 0}")


def call(command, limit):
    """The standard output of a program; raises its last words where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip().split("\n")[-1])
    return done.stdout


def parity(args, place, limit, precision):
    """The losses of the same training by the worker and by PyTorch.

    The part to learn from has one token more than the context, so that every sequence of a batch is the same one,
    whoever draws it.
    """
    if not HAS_TORCH:
        raise Skipped("PyTorch cannot be imported")
    shape = TINY if args.quick else MIDDLE
    data = corpus(place / "tokens", shape["context"])
    data_choice = f"Folder({ron_text(data)})"
    until = time.monotonic() + limit
    # With a learning rate of 0 in the first step, the final model equals the initial one.
    start = gpt2_config(args, shape, steps=1, batch_size=1, data=data_choice, schedule="(warmup: 1, min_lr: 0.0)")
    run, events, _ = train(args, place, "start", start, limit)
    check_finished(events)
    model = place / "model"
    call([args.valleyscope, "runs", "export", run, "--model", model, "--worker", args.worker], limit)
    steps = 4 if args.quick else 20
    config = gpt2_config(
        args, shape, steps=steps, batch_size=PARITY_BATCH, log_every=1, data=data_choice, precision=precision,
        init_from=ron_text(model),
    )  # fmt: skip
    _, events, _ = train(args, place, "parity", config, until - time.monotonic())
    check_finished(events)
    ours = [event["loss"] for event in of_kind(events, "train")]
    left = until - time.monotonic()
    theirs = by_torch(args, "losses", left, model=model, data=data, precision=precision, steps=steps, **shape)
    off = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))
    if not off <= LIMITS[precision]:
        raise RuntimeError(f"expected losses within {LIMITS[precision]:.0e} of PyTorch's, found {off:.1e}")
    return [(f"losses of {steps} steps in {precision.lower()}, against PyTorch's", f"within {off:.1e}")]


def corpus(folder, context):
    """GPT-2's tokens by a formula, one more than the context for each of both parts."""
    folder.mkdir()
    for name, factor in [("train.bin", 7919), ("val.bin", 104729)]:
        tokens = [factor * (at + 1) ** 2 % 50257 for at in range(context + 1)]
        (folder / name).write_bytes(struct.pack(f"<{len(tokens)}H", *tokens))
    return folder


def by_torch(args, what, limit, **options):
    """What a process of its own finds with PyTorch, which gives the GPU's memory back when it ends."""
    options |= {"device": args.device, "threads": args.threads}
    options = json.dumps({name: str(value) if isinstance(value, Path) else value for name, value in options.items()})
    command = [sys.executable, __file__, "--torch", what, options]
    return json.loads(call(command, limit).strip().split("\n")[-1])


def torch_net(shape):
    """The reference model of the tests."""
    sys.path.insert(0, str(HERE.parent / "crates/training/tests/training"))
    sys.dont_write_bytecode = True
    import pytorch_gpt2

    return pytorch_gpt2, pytorch_gpt2.Gpt2(**shape)


def load(net, folder):
    """Sets the parameters to those of a file of safetensors: a header in JSON, and the numbers after it."""
    import torch

    file = (Path(folder) / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", file[:8])[0]
    header = json.loads(file[8 : 8 + length])
    with torch.no_grad():
        for name, p in net.named_parameters():
            name = "transformer." + re.sub(r"(h\.\d+\.)(c_fc|c_proj)", r"\1mlp.\2", name)
            first, last = header[name]["data_offsets"]
            kind = {"F32": torch.float32, "F64": torch.float64}[header[name]["dtype"]]
            values = torch.frombuffer(bytearray(file[8 + length + first : 8 + length + last]), dtype=kind)
            # The weights of linear layers have inputs before outputs in that format.
            is_linear = ".h." in name and p.dim() == 2
            p.copy_(values.view(p.shape[::-1]).T if is_linear else values.view(p.shape))


def autocast(device, precision):
    import torch

    kind = {"BFloat16": torch.bfloat16, "Float16": torch.float16}.get(precision)
    if kind is None:
        return contextlib.nullcontext()
    return torch.autocast(device.partition(":")[0], dtype=kind)


def torch_losses(device, threads, model, data, precision, steps, **shape):
    import torch

    torch.set_num_threads(threads)
    pytorch_gpt2, net = torch_net(shape)
    load(net, model)
    net = net.to(device, torch.float64 if precision == "Float64" else torch.float32)
    descent = pytorch_gpt2.optimizer("Adam", net, 6e-4)
    scaler = torch.amp.GradScaler(device.partition(":")[0], enabled=precision == "Float16")
    tokens = torch.tensor(struct.unpack(f"<{shape['context'] + 1}H", (Path(data) / "train.bin").read_bytes()))
    tokens = tokens.repeat(PARITY_BATCH, 1).to(device)
    losses = []
    for _ in range(steps):
        with autocast(device, precision):
            loss = net(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        scaler.scale(loss).backward()
        scaler.unscale_(descent)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(descent)
        scaler.update()
        descent.zero_grad(set_to_none=True)
        losses.append(loss.item())
    return losses


def torch_speed(device, threads, batch, steps, is_compiled, **shape):
    """Tokens a second of the best of three rounds, after one that does not count, and the most memory, in bytes."""
    import torch

    torch.set_num_threads(threads)
    pytorch_gpt2, net = torch_net(shape)
    net = net.to(device)
    for p in net.parameters():
        torch.nn.init.normal_(p, std=0.02) if p.dim() > 1 else None
    descent = pytorch_gpt2.optimizer("Adam", net, 1e-4, fused=True)
    forward = torch.compile(net) if is_compiled else net
    draw = torch.randint(shape["vocabulary"], (batch, shape["context"] + 1), device=device)
    wait = torch.cuda.synchronize if device != "cpu" else lambda: None

    def advance():
        with autocast(device, "BFloat16"):
            loss = forward(draw[:, :-1].contiguous(), draw[:, 1:].contiguous())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        descent.step()
        descent.zero_grad(set_to_none=True)

    best = math.inf
    for _ in range(4):
        begun = time.perf_counter()
        for _ in range(steps):
            advance()
        wait()
        best = min(best, time.perf_counter() - begun)
    memory = torch.cuda.mem_get_info(device) if device != "cpu" else None
    return {"rate": steps * batch * shape["context"] / best, "memory": memory and memory[1] - memory[0]}


def speed(args, place, limit, batch, by):
    shape, batch, steps = (TINY, 2, 5) if args.quick else (SMALL, batch, 20)
    if by != "Valleyscope":
        if not HAS_TORCH:
            raise Skipped("PyTorch cannot be imported")
        found = by_torch(args, "speed", limit, batch=batch, steps=steps, is_compiled=by == "torch.compile", **shape)
        rate, memory = found["rate"], found["memory"]
    else:
        config = gpt2_config(
            args, shape, steps=11 * steps, batch_size=batch, log_every=steps, precision="BFloat16"
        )
        _, events, _ = train(args, place, f"speed-{batch}", config, limit)
        check_finished(events)
        points = of_kind(events, "train")
        # The first point includes the libraries' warm-up; some metrics exist at some points only.
        rate = statistics.median(point["tokens_per_s"] for point in points[1:])
        memory = max((point["memory_mib"] * 2**20 for point in points if "memory_mib" in point), default=None)
        args.mfu = next((point["mfu"] / point["tokens_per_s"] for point in points if "mfu" in point), None)
    return [(rate_name(by, batch, shape), rate_words(rate, args.mfu, memory))]


def rate_name(by, batch, shape):
    model = "GPT-2 small" if shape is SMALL else "a tiny GPT-2"
    return f"{model}, bfloat16, {batch} × {shape['context']}: {by}"


def rate_words(rate, mfu_of_rate, memory):
    words = [f"{rate:,.0f} tokens/s".replace(",", " ")]
    if mfu_of_rate is not None:
        words.append(f"MFU {100 * rate * mfu_of_rate:.1f} %")
    if memory is not None:
        words.append(f"{memory / 2**30:.1f} GiB")
    return ", ".join(words)


def grid(args, place, limit):
    """The grid of Fig. 2c and d, as far as it comes in time: one worker trains those of equal batches together."""
    runs = place / "grid"
    command = [args.valleyscope, "train", "fig2cd", "--runs", runs, "--worker", args.worker]
    command += ["--set", "data=Synthetic", "--device", args.device]
    if args.quick:
        command += ["--set", "steps=5", "--seeds", "1"]
        command += ["--vary", "batch_size=64,128", "--vary", "learning_rate=1e-3,1e-2"]
    begun = time.monotonic()
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        program.wait(limit)
    except subprocess.TimeoutExpired:
        program.send_signal(signal.SIGINT)
    seconds = time.monotonic() - begun
    events = [path.read_text() for path in runs.glob("fig2cd-*/events.jsonl")]
    program.wait()
    finished = sum('"event":"finished"' in text for text in events)
    if not finished:
        raise RuntimeError("no training was finished in time")
    return [("grid of MNIST", f"{finished} trainings in {seconds:.0f} s")]


def overflow(args, place, limit):
    """Float16 with explicit attention and Adam's η = 6e-4, which the paper found unstable (presets/fig3b.ron)."""
    shape, batch, steps = (TINY, 2, 12) if args.quick else (SMALL, 12, 400)
    shape = shape | {"flags": ", scale_attn_by_inverse_layer_idx: true"}
    config = gpt2_config(
        args, shape, steps=steps, batch_size=batch, log_every=2, precision="Float16", attention="Explicit",
        schedule=f"(warmup: {steps // 4}, min_lr: 0.00003)",
    )  # fmt: skip
    _, events, _ = train(args, place, "overflow", config, limit)
    points = of_kind(events, "train")
    failed = of_kind(events, "failed")
    if failed or not points:
        raise RuntimeError(failed[-1]["message"] if failed else "no step was taken in time")
    last, scales = points[-1], [point["loss_scale"] for point in points]
    finite = [point["loss"] for point in points if isinstance(point["loss"], float)]
    words = f"{last['step']} steps, {last['skipped']:.0f} skipped, loss scale {min(scales):.0f} to {max(scales):.0f}, "
    words += f"loss {finite[0]:.2f} to {finite[-1]:.2f}" if finite else "no finite loss"
    words += "".join(f"; {event['message']}" for event in of_kind(events, "warning"))
    return [(f"float16, explicit attention, Adam with η 6e-4 after {steps // 4} steps", words)]


def out_of_memory(args, place, limit):
    if args.device == "cpu":
        raise Skipped("a processor's memory is not filled on purpose")
    config = gpt2_config(args, SMALL, steps=1, batch_size=4096, attention="Explicit")
    _, events, _ = train(args, place, "memory", config, limit)
    failed = of_kind(events, "failed")
    if not failed or "out of memory" not in failed[-1]["message"]:
        raise RuntimeError(f"expected a run that runs out of memory, found {events[-1] if events else 'no event'}")
    return [("4096 × 1024 in float32, explicit attention", failed[-1]["message"])]


def parts():
    """Each with its name and its limit in seconds, which are under nine minutes together."""
    for precision in LIMITS:
        what = f"parity with PyTorch in {precision.lower()}"
        yield what, 25, lambda args, place, limit, precision=precision: parity(args, place, limit, precision)
    for batch, limit in [(12, 35), (16, 30)]:
        # Valleyscope runs first, as it reports the device's peak rate, from which the MFU follows.
        for by, more in [("Valleyscope", 10), ("PyTorch, eager", 0), ("torch.compile", 45)]:
            what = f"speed, {batch} × 1024, {by}"
            yield what, limit + more, lambda args, place, limit, batch=batch, by=by: speed(args, place, limit, batch, by)
    yield "grid of MNIST", 70, grid
    yield "overflow in float16", 35, overflow
    yield "out of memory", 25, out_of_memory


def main():
    if sys.argv[1:2] == ["--torch"]:
        what, options = sys.argv[2:]
        print(json.dumps({"losses": torch_losses, "speed": torch_speed}[what](**json.loads(options))))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=HERE.parent / "target/release", help="folder of the two programs")
    parser.add_argument("--device", default="cuda:0", help="cpu, or cuda:0 and so on")
    parser.add_argument("--threads", type=int, default=8, help="of PyTorch on the processor")
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--only", default="", metavar="TEXT", help="run the parts whose names contain this text")
    args = parser.parse_args()
    args.valleyscope, args.worker = (args.bin.resolve() / name for name in ["valleyscope", "valleyscope-train"])
    args.failed, args.mfu = False, None
    for program in [args.valleyscope, args.worker]:
        if not program.is_file():
            parser.error(f"there is no {program}; build it, or name its folder with --bin")
    begun = time.monotonic()
    print(f"| {args.device}{device_name(args)} | |\n| --- | --- |", flush=True)
    for name, limit, part in parts():
        if args.only not in name:
            continue
        try:
            with tempfile.TemporaryDirectory() as place:
                rows = part(args, Path(place), limit)
        except Skipped as why:
            rows = [(name, f"skipped: {why}")]
        except subprocess.TimeoutExpired:
            args.failed, rows = True, [(name, f"**failed: not done after {limit} s**")]
        except Exception as error:  # Whatever one part meets, the others are run.
            args.failed, rows = True, [(name, f"**failed: {error}**")]
        for what, words in rows:
            print(f"| {what} | {words} |".replace("\n", " "), flush=True)
    print(f"\n{time.monotonic() - begun:.0f} s", file=sys.stderr)
    return int(args.failed)


def device_name(args):
    devices = json.loads(call([args.worker, "--handshake"], 60).strip().split("\n")[-1])["devices"]
    names = {device["name"]: device["kind"] for device in devices}
    wanted = "cuda:0" if args.device == "cuda" else args.device
    if wanted not in names:
        sys.exit(f"expected one of the worker's devices, {', '.join(names)}, found {args.device}")
    return f", {names[wanted]}"


if __name__ == "__main__":
    sys.exit(main())
