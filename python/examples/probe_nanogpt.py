"""Measures of a small GPT that learns sums such as 17+5=22, in a loop like that of nanoGPT.

    python python/examples/probe_nanogpt.py [RUNS]

It takes half a minute on one core. The line with `Probe` is all that measures: the micro-batches of gradient
accumulation give the noise of the gradient. The run is in the window, in `valleyscope runs list`, and in
`valleyscope runs show`. With `torchrun`, wrap the model in DistributedDataParallel; the Probe stays as it is.
"""

import random
import sys
import time

import torch
import torch.nn.functional as F
import valleyscope as vs
from torch import nn

CONFIG = {
    "layers": 2, "heads": 4, "width": 64, "context": 64, "micro_batch": 8, "accumulation": 4, "steps": 400,
    "learning_rate": 2e-3, "weight_decay": 0.1, "clip": 1.0, "seed": 0,
}  # fmt: skip


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = self.attention(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.project(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, characters, layers, heads, width, context):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(characters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, characters, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, x, y):
        x = self.tokens(x) + self.positions.weight[: x.shape[1]]
        return F.cross_entropy(self.head(self.norm(self.blocks(x))).flatten(0, 1), y.flatten())


def text_of(sums):
    numbers = [(random.randrange(50), random.randrange(50)) for _ in range(sums)]
    return "".join(f"{a}+{b}={a + b}\n" for a, b in numbers)


def main():
    torch.set_num_threads(1)  # Faster for so small a model.
    random.seed(CONFIG["seed"])
    torch.manual_seed(CONFIG["seed"])
    text = text_of(20_000)
    characters = sorted(set(text))
    data = torch.tensor([characters.index(character) for character in text])
    model = GPT(len(characters), *(CONFIG[name] for name in ["layers", "heads", "width", "context"]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=CONFIG["learning_rate"], weight_decay=CONFIG["weight_decay"])

    def batch():
        starts = torch.randint(len(data) - CONFIG["context"] - 1, (CONFIG["micro_batch"], 1))
        rows = data[starts + torch.arange(CONFIG["context"] + 1)]
        return rows[:, :-1], rows[:, 1:]

    begun, accumulation = time.monotonic(), CONFIG["accumulation"]
    folder = sys.argv[1] if len(sys.argv) > 1 else None
    with vs.Run("nanoGPT on sums", CONFIG, folder, steps=CONFIG["steps"]) as run:
        probe = vs.torch.Probe(run, model, optimizer, every=20, batch_size=CONFIG["micro_batch"] * accumulation)
        for step in range(1, CONFIG["steps"] + 1):
            for _ in range(accumulation):
                loss = model(*batch()) / accumulation
                loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), CONFIG["clip"])
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            if step % 10 == 0:
                run.log(step, {"train/loss": loss.item() * accumulation})
            if step % 100 == 0:
                numbers = {name: round(value, 3) for name, value in probe.last.items() if name != "tensors"}
                print(f"step {step}: loss {loss.item() * accumulation:.3f}, {numbers}")
    print(f"{time.monotonic() - begun:.0f} s, {run.folder}")


if __name__ == "__main__":
    main()
