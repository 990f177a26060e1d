"""Trains GPT-2 with PyTorch, for the test `gpt2_pytorch.rs` to compare with.

    python pytorch_gpt2.py > data/pytorch_gpt2.json         # made with PyTorch 2.11.0
    python pytorch_gpt2.py --transformers data              # made with transformers 5.18.0
    python pytorch_gpt2.py --logits FOLDER                  # what transformers makes of an exported model
    python pytorch_gpt2.py --time [THREADS]                 # how fast it is

The model is written as nanoGPT's. Start and tokens are formulas that both sides know.
"""

import json
import math
import sys
import time
from pathlib import Path

import torch
from pytorch import SignDescent, uniform
from torch import nn
from torch.nn import functional as F

STEPS = 50
BATCH = 3
MICRO_BATCHES = 2
CLIP = 0.5
RATES = {"Adam": 1e-3, "FOCUS": 2e-4}
SMALL = {"layers": 2, "heads": 2, "width": 16, "context": 12, "vocabulary": 31}


class Norm(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, width, heads, bias, factor):
        super().__init__()
        self.heads, self.factor = heads, factor
        self.c_attn = nn.Linear(width, 3 * width, bias=bias)
        self.c_proj = nn.Linear(width, width, bias=bias)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in self.c_attn(x).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.factor / math.sqrt(c // self.heads))
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))


class Block(nn.Module):
    def __init__(self, width, heads, bias, factor):
        super().__init__()
        self.ln_1 = Norm(width, bias)
        self.attn = Attention(width, heads, bias, factor)
        self.ln_2 = Norm(width, bias)
        self.c_fc = nn.Linear(width, 4 * width, bias=bias)
        self.c_proj = nn.Linear(4 * width, width, bias=bias)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.c_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, layers, heads, width, context, vocabulary, bias=False, by_layer=False):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        factors = [1 / (layer + 1) if by_layer else 1 for layer in range(layers)]
        self.h = nn.ModuleList(Block(width, heads, bias, factor) for factor in factors)
        self.ln_f = Norm(width, bias)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))

    @torch.no_grad()
    def begin(self, start):
        """All in the order of the parameters: weights within ±0.1, those of normalisations about 1."""
        counter = start * 1_000_000
        for name, p in self.named_parameters():
            values = torch.tensor([uniform(counter + at) for at in range(p.numel())], dtype=torch.float64)
            counter += p.numel()
            p.copy_((0.2 * values - 0.1 + ("ln_" in name and "weight" in name)).view(p.shape))


def tokens(step, micro, vocabulary, context):
    """A chain in which a token mostly says what comes next."""
    counter = 7_000_000 + (step * MICRO_BATCHES + micro) * BATCH * (context + 1)
    rows = []
    for row in range(BATCH):
        token, found = 0, []
        for at in range(context + 1):
            u = uniform(counter + row * (context + 1) + at)
            token = int(u * vocabulary) if u < 0.3 else (3 * token + 1) % vocabulary
            found.append(token)
        rows.append(found)
    rows = torch.tensor(rows)
    return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def optimizer(name, net, rate, **options):
    linear = [m.weight for m in net.modules() if isinstance(m, nn.Linear)]
    others = [p for p in net.parameters() if all(p is not w for w in linear)]
    groups = [{"params": linear, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    if name == "Adam":
        return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), **options)
    return SignDescent(groups, rate, gamma=0.2)


def train(name, bias, by_layer, dtype, steps):
    net = Gpt2(**SMALL, bias=bias, by_layer=by_layer).to(dtype)
    net.begin(1)
    descent = optimizer(name, net, RATES[name])
    losses, norms = [], []
    for step in range(steps):
        descent.zero_grad()
        total = 0
        for micro in range(MICRO_BATCHES):
            loss = net(*tokens(step, micro, SMALL["vocabulary"], SMALL["context"])) / MICRO_BATCHES
            loss.backward()
            total += loss.item()
        norms.append(nn.utils.clip_grad_norm_(net.parameters(), CLIP).item())
        descent.step()
        losses.append(total)
    return {"losses": losses, "norms": norms}


def golden():
    torch.set_num_threads(1)
    result = {"pytorch": torch.__version__}
    for name in RATES:
        for bias in [False, True]:
            double = train(name, bias, bias, torch.float64, STEPS)
            single = train(name, bias, bias, torch.float32, 20)
            about = {"optimizer": name, "bias": bias, "scale_attn_by_inverse_layer_idx": bias}
            result[f"{name}, {'with' if bias else 'no'} biases"] = {**about, "float64": double, "float32": single}
    return result


def of_transformers(folder):
    from transformers import GPT2Config, GPT2LMHeadModel

    for bias in [False, True]:
        config = GPT2Config(
            vocab_size=29, n_positions=8, n_embd=12, n_layer=2, n_head=3, scale_attn_by_inverse_layer_idx=bias,
            bos_token_id=None, eos_token_id=None, attn_implementation="eager",
        )  # fmt: skip
        net = GPT2LMHeadModel(config).eval()
        counter = 3_000_000
        with torch.no_grad():
            for name, p in net.named_parameters():
                if name.endswith("bias") and not bias:
                    p.zero_()
                    continue
                values = torch.tensor([uniform(counter + at) for at in range(p.numel())], dtype=torch.float64)
                counter += p.numel()
                p.copy_((0.6 * values - 0.3).view(p.shape))
        kind = Path(folder) / f"gpt2-{'biases' if bias else 'no-biases'}"
        net.save_pretrained(kind)
        for extra in ["config.json", "generation_config.json"]:
            (kind / extra).unlink(missing_ok=True)
        (kind / "logits.json").write_text(json.dumps(logits_of(net)) + "\n")


def logits_of(net):
    tokens = [[(5 * at + 3 * row) % net.config.vocab_size for at in range(net.config.n_positions)] for row in range(2)]
    with torch.no_grad():
        return net.double()(torch.tensor(tokens)).logits[:, -1].tolist()


def logits(folder):
    from transformers import GPT2LMHeadModel

    return logits_of(GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager").eval())


def time_steps(threads):
    torch.set_num_threads(threads)
    shapes = {
        "nanoGPT on a CPU": ({"layers": 4, "heads": 4, "width": 128, "context": 64, "vocabulary": 65}, 12, 64, 20, 7),
        "GPT-2 small": ({"layers": 12, "heads": 12, "width": 768, "context": 1024, "vocabulary": 50304}, 1, 256, 2, 3),
    }
    for name, (shape, batch, length, steps, rounds) in shapes.items():
        net = Gpt2(**shape)
        for p in net.parameters():
            nn.init.normal_(p, std=0.02) if p.dim() > 1 else None
        draw = torch.randint(shape["vocabulary"], (batch, length + 1))
        for kind, options in [("", {}), (", foreach", {"foreach": True}), (", fused", {"fused": True})]:
            descent = optimizer("Adam", net, 1e-4, **options)

            def step():
                loss = net(draw[:, :-1].contiguous(), draw[:, 1:].contiguous())
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                descent.step()
                descent.zero_grad(set_to_none=True)

            step()
            best = math.inf
            for _ in range(rounds):
                begun = time.perf_counter()
                for _ in range(steps):
                    step()
                best = min(best, time.perf_counter() - begun)
            speed = steps * batch * length / best
            print(f"{name}, {threads} threads, AdamW{kind}: {1e3 * best / steps:.1f} ms a step, {speed:.0f} tokens/s")


def main():
    if "--time" in sys.argv:
        threads = sys.argv[sys.argv.index("--time") + 1 :]
        time_steps(int(threads[0]) if threads else torch.get_num_threads())
    elif "--transformers" in sys.argv:
        of_transformers(sys.argv[-1])
    elif "--logits" in sys.argv:
        print(json.dumps(logits(sys.argv[-1])))
    else:
        print(json.dumps(golden(), indent=1))


if __name__ == "__main__":
    main()
