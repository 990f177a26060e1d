"""Does the triangle of the toy name the winner of real trainings?

    python benches/where.py mnist --out FOLDER --data FOLDER_OF_MNIST
    python benches/where.py gpt2 --out FOLDER --data FOLDER_OF_TEXT
    python benches/where.py triangle --out MEASURED_SWEEP --data MEASURED_SWEEP_OF_FIG2A

For each batch size: tunes Adam, Signum and FOCUS over learning rates, compares them by the held-out loss, measures
Adam's gradients at its best learning rate, and predicts the winner from the nearest pixels of the shipped triangle
(assets/triangles) of the noise that is nearest by its exponent. Prints a table in Markdown, and writes where-NAME.svg
into FOLDER; the run folders stay there, so that the command, repeated, goes on where it was stopped. Measures are
means over the last half of the steps; "early" is the mean over steps up to a fifth.

`mnist`: batches of 2 to 1024, 400 steps, nine learning rates; ten seeds up to batches of 256, then three. The learning
rate is chosen and the optimizers are compared by the same seeds, as in the paper.
`gpt2`: a GPT-2 of two layers of width 64 on characters, 300 steps; five learning rates with one seed, then three other
seeds by which the optimizers are compared.
`triangle`: at how many decided pixels of a measured sweep most of the nearest decided pixels, its own others or those of
another sweep, have the same winner (Adam or not).
"""

import argparse
import csv
import json
import math
import statistics
import subprocess
from pathlib import Path

RULES = {"Adam": "Adam({})", "Signum": "Signum({})", "FOCUS": "Focus({})"}
COLORS = {"Adam": "#f46f43", "Signum": "#d9b53a", "FOCUS": "#80a6e2"}
ROOT = Path(__file__).parent.parent
NEIGHBORS, DECIDED = 7, 0.95


def pixels(path):
    """The shares, the winner and its certainty of each pixel in a table."""
    with open(path) as table:
        rows = [row for row in csv.DictReader(table) if row["winner"]]
    shares = [[float(row[f"adam_{share}"]) for share in ("signal", "noise", "oscillation")] for row in rows]
    return [(at, row["winner"], float(row["certainty"])) for at, row in zip(shares, rows) if at[0] == at[0]]


def triangle(exponent):
    name = "additive" if exponent is not None and exponent < 0.5 else "multiplicative"
    return name, pixels(ROOT / "assets" / "triangles" / f"{name}.csv")


def agreement(sweep, other):
    own, others = pixels(sweep / "phase.csv"), pixels(other / "phase.csv")
    decided = [index for index, (_, _, certainty) in enumerate(own) if certainty >= DECIDED]
    for name, of in [("its own pixels", None), (f"those of {other}", others)]:
        guesses = [predicted(own[i][0], of or own[:i] + own[i + 1 :])[0] for i in decided]
        right = sum((guess == "Adam") == (own[i][1] == "Adam") for guess, i in zip(guesses, decided))
        print(f"from {name}: right at {right} of {len(decided)} decided pixels, {100 * right / len(decided):.1f} %")


def predicted(shares, points):
    """The winner of most of the nearest decided pixels, their number, and the distance to the nearest."""
    decided = [(math.dist(shares, at), winner) for at, winner, certainty in points if certainty >= DECIDED]
    nearest = sorted(decided)[:NEIGHBORS]
    winners = [winner for _, winner in nearest]
    winner = max(dict.fromkeys(winners), key=winners.count)
    return winner, winners.count(winner), nearest[0][0]


def events(run):
    with open(run / "events.jsonl") as lines:
        return [json.loads(line) for line in lines if line.endswith("\n")]


def is_finished(run):
    return (run / "events.jsonl").exists() and any(event["event"] == "finished" for event in events(run))


def train(run, config, worker):
    """Trains the run in a folder, unless it has finished."""
    run.mkdir(parents=True, exist_ok=True)
    if not is_finished(run):
        begun = (run / "events.jsonl").exists()
        (run / "config.ron").write_text(config)
        command = [worker, "run", run, *(["--resume"] if begun else [])]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return events(run)


def measures(run_events, until):
    """The means of the measures over steps: after the first half, and up to a fifth."""
    found = [event for event in run_events if event["event"] == "measure"]
    keys = ("noise", "noise_scale", "signal", "noise_share", "oscillation", "exponent")

    def mean(of, key):
        values = [event[key] for event in of if isinstance(event.get(key), float) and math.isfinite(event[key])]
        return statistics.fmean(values) if values else None

    late = [event for event in found if event["step"] > until / 2]
    early = [event for event in found if event["step"] <= until / 5]
    return {key: mean(late, key) for key in keys}, {key: mean(early, key) for key in keys}


def together(all_measures):
    keys = all_measures[0].keys()
    known = {key: [each[key] for each in all_measures if each[key] is not None] for key in keys}
    return {key: statistics.fmean(values) if values else None for key, values in known.items()}


def grid(args, name, batches, seeds):
    """Trains a grid of MNIST, and returns the test loss of each run by optimizer, batch size, learning rate and seed."""
    rules = ", ".join(RULES[name].format("gamma: 0.2, decay: Average" if name == "FOCUS" else "") for name in RULES)
    preset, runs = args.out / f"{name}.ron", args.out / name
    preset.write_text(
        f'Grid(version: 1, title: "Where is my training? MNIST", base: Mnist(version: 1, runs: [(optimizer: Adam(), '
        f"learning_rate: 0.001, batch_size: {batches[0]}, steps: 400, log_every: 400, eval_every: 400, "
        f'checkpoint_every: 0, measure_every: 0, data: Folder("{args.data}"), device: Cpu)]), '
        f'vary: ["optimizer={rules}", "batch_size={",".join(map(str, batches))}", "learning_rate=0.00003..0.03:9:log"], '
        f"seeds: {seeds})\n"
    )
    what = ["queue", "run"] if (runs / "queue").exists() else ["train", preset]
    if not (args.out / f"{name}.done").exists():
        subprocess.run([args.valleyscope, *what, "--runs", runs, "--worker", args.worker], check=True)
        (args.out / f"{name}.done").touch()
    losses = {}
    for run in runs.glob("*/events.jsonl"):
        found = events(run.parent)
        of = next(event for event in found if event["event"] == "started")
        loss = [event["test_loss"] for event in found if event["event"] == "eval"][-1]
        cap = min(loss, 100.0) if isinstance(loss, float) and loss == loss else 100.0
        losses[of["optimizer"], of["batch_size"], of["learning_rate"], of["seed"]] = cap
    return losses


def mnist(args):
    for name, batches, seeds in [("grid-small", [2, 4, 8, 16, 32, 64, 128, 256], 10), ("grid-large", [512, 1024], 3)]:
        trained = grid(args, name, batches, seeds)
        rates = sorted({rate for _, _, rate, _ in trained})
        for batch in batches:
            losses, edges = {}, []
            for optimizer in RULES:
                tried = [[trained[optimizer, batch, rate, seed] for seed in range(seeds)] for rate in rates]
                best = min(range(len(tried)), key=lambda rate: statistics.fmean(tried[rate]))
                losses[optimizer] = (rates[best], tried[best])
                edges += [optimizer] if best in (0, len(rates) - 1) else []
            found = []
            for seed in range(seeds):
                config = (f'Mnist(version: 1, title: "Adam, batches of {batch}", runs: [(optimizer: Adam(), '
                          f"learning_rate: {losses['Adam'][0]}, batch_size: {batch}, steps: 400, seed: {seed}, "
                          f"log_every: 20, eval_every: 400, checkpoint_every: 400, measure_every: 20, "
                          f'data: Folder("{args.data}"), device: Cpu)])\n')
                found.append(measures(train(args.out / f"adam-{batch}-{seed}", config, args.worker), 400))
            yield batch, losses, found, edges


def gpt2(args):
    rates = {"Adam": [0.0005, 0.0015, 0.0045, 0.0135, 0.04], "Signum": [0.0001, 0.0003, 0.0009, 0.0027, 0.0081],
             "FOCUS": [0.0001, 0.0003, 0.0009, 0.0027, 0.0081]}
    hyper = {"Adam": "beta2: 0.95, weight_decay: 0.1", "Signum": "weight_decay: 0.2",
             "FOCUS": "beta2: 0.99, gamma: 0.2, weight_decay: 0.2, decay: Average"}

    def run(batch, name, rate, seed):
        config = (f'Gpt2(version: 1, title: "{name}, batches of {batch}", runs: [(shape: (layers: 2, heads: 2, '
                  f"width: 64, context: 64, vocabulary: 65, decay_embeddings: true), "
                  f"optimizer: {RULES[name].format(hyper[name])}, learning_rate: {rate}, "
                  f"schedule: (warmup: 30, min_lr: {rate / 10}), clip: 1.0, batch_size: {batch}, steps: 300, "
                  f"seed: {seed}, log_every: 20, eval_every: 300, eval_batches: {max(1, 512 // batch)}, "
                  f"checkpoint_every: 300, measure_every: 20, tokenizer: Char, "
                  f'data: Folder("{args.data}"), device: Cpu)])\n')
        found = train(args.out / f"{name}-{batch}-{rate}-{seed}", config, args.worker)
        last = [event["val_loss"] for event in found if event["event"] == "eval"][-1]
        loss = last if isinstance(last, float) and math.isfinite(last) else 100.0
        return loss, measures(found, 300)

    for batch in args.batches or [2, 8, 32, 128, 256]:
        losses, edges, found = {}, [], []
        for name in RULES:
            tuned = [run(batch, name, rate, 0)[0] for rate in rates[name]]
            best = tuned.index(min(tuned))
            edges += [name] if best in (0, len(tuned) - 1) else []
            compared = [run(batch, name, rates[name][best], seed) for seed in (1, 2, 3)]
            losses[name] = (rates[name][best], [loss for loss, _ in compared])
            if name == "Adam":
                found = [each for _, each in compared]
        yield batch, losses, found, edges


def number(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def svg(name, points):
    """The triangle with the measured trainings, in the colours of their real winners."""
    corners = [(150, 12), (290, 255), (10, 255)]

    def at(shares):
        total = sum(max(share, 0.0) for share in shares)
        return tuple(sum(max(share, 0.0) / total * corner[axis] for share, corner in zip(shares, corners)) for axis in (0, 1))

    exponents = [exponent for _, _, _, exponent in points if exponent is not None]
    _, background = triangle(statistics.fmean(exponents) if exponents else None)
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="-30 -8 480 290" font-family="sans-serif" font-size="9">',
             '<rect x="-30" y="-8" width="480" height="290" fill="white"/>',
             '<path d="M150 12 L290 255 L10 255 Z" fill="none" stroke="black" stroke-width="0.7"/>']
    for shares, winner, certainty in background:
        x, y = at(shares)
        strength = 0.1 + 0.4 * max(0.0, 2 * certainty - 1)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.6" fill="{COLORS[winner]}" fill-opacity="{strength:.2f}"/>')
    for index, (label, shares, winner, _) in enumerate(points):
        x, y = at(shares)
        row = 250 - 13 * (len(points) - index)
        parts.append(f'<path d="M{x:.1f} {y:.1f} L330 {row - 3}" stroke="#888" stroke-width="0.4"/>'
                     f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLORS[winner]}" stroke="black" stroke-width="0.8"/>'
                     f'<text x="333" y="{row}">batches of {label}: {winner}</text>')
    for text, x, y in [("signal", 150, 6), ("noise", 298, 268), ("oscillation", 6, 268)]:
        parts.append(f'<text x="{x}" y="{y}" text-anchor="middle">{text}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=["mnist", "gpt2", "triangle"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--worker", default="valleyscope-train", help="the worker [default: that on the PATH]")
    parser.add_argument("--valleyscope", default="valleyscope", help="the program [default: that on the PATH]")
    parser.add_argument("--batches", type=int, nargs="*", help="only these batches (gpt2)")
    args = parser.parse_args()
    args.data = args.data.resolve()
    if args.workload == "triangle":
        return agreement(args.out, args.data)
    workload = {"mnist": mnist, "gpt2": gpt2}[args.workload]
    print("| batch | σ̂ | B_simple | signal | noise | oscillation | b | noise, early | predicted | Adam | Signum | FOCUS "
          "| lowest | Adam or not |\n" + "| --- " * 14 + "|")
    points, right = [], [0, 0]
    for batch, losses, found, edges in workload(args):
        late, early = together([late for late, _ in found]), together([early for _, early in found])
        means = {name: statistics.fmean(values) for name, (_, values) in losses.items()}
        errors = {name: statistics.stdev(values) / math.sqrt(len(values)) for name, (_, values) in losses.items()}
        winner = min(means, key=means.get)
        # Adam against the better of the others.
        other = min((name for name in means if name != "Adam"), key=means.get)
        gap, error = means["Adam"] - means[other], math.hypot(errors["Adam"], errors[other])
        is_open = abs(gap) < 2 * error
        verdict, shares = "–", [late[share] for share in ("signal", "noise_share", "oscillation")]
        text = "not measured"
        if None not in shares:
            name, known = triangle(late["exponent"])
            guess, votes, distance = predicted(shares, known)
            text = f"{guess}, {votes} of {NEIGHBORS} ({name}, {distance:.2f} away)"
            if not is_open:
                right[0] += (guess == "Adam") == (winner == "Adam")
                right[1] += 1
            verdict = "open" if is_open else "right" if (guess == "Adam") == (winner == "Adam") else "wrong"
            points.append((str(batch), shares, winner, late["exponent"]))
        cells = [f"{means[name]:.3f} ± {errors[name]:.3f} ({losses[name][0]:.2g}{', edge' if name in edges else ''})"
                 for name in RULES]
        print(f"| {batch} | {number(late['noise'])} | {number(late['noise_scale'], 0)} | {number(late['signal'], 3)} "
              f"| {number(late['noise_share'])} | {number(late['oscillation'])} | {number(late['exponent'])} "
              f"| {number(early['noise_share'])} | {text} | {' | '.join(cells)} | {winner} | {verdict} |", flush=True)
    print(f"\nOf {right[1]} batch sizes at which Adam and the better of the others are two standard errors apart, the "
          f"triangle is right at {right[0]}.")
    (args.out / f"where-{args.workload}.svg").write_text(svg(args.workload, points))


main()
