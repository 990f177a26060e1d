"""Measures of a small GPT-2 of Hugging Face, which its Trainer trains on sums such as 17+5=22.

    pip install transformers accelerate
    python python/examples/probe_huggingface.py [RUNS]

It takes half a minute on one core and downloads nothing. `ProbeCallback` can be copied to any Trainer: it logs the
metrics of the Trainer and the measures into one run. Gradients have to be accumulated or computed by several processes:
a batch of 32 as 16 with `gradient_accumulation_steps=2` trains alike and is measured.
"""

import random
import sys
import tempfile
import time

import torch
import valleyscope as vs
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

CHARACTERS = "0123456789+=\n"


class ProbeCallback(TrainerCallback):
    """Logs the metrics of a Trainer and the measures of its training."""

    def __init__(self, run, every=100):
        self.run, self.every = run, every

    def on_train_begin(self, args, state, control, model, optimizer, **kwargs):
        batch = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        settings = {"batch_size": batch, "steps": state.global_step}
        self.probe = vs.torch.Probe(self.run, model, optimizer, self.every, **settings)

    def on_log(self, args, state, control, logs, **kwargs):
        known = {f"train/{name}": logs[name] for name in ("loss", "grad_norm", "learning_rate") if name in logs}
        self.run.log(state.global_step, known)

    def on_train_end(self, args, state, control, **kwargs):
        self.probe.close()


def examples(number, length=64):
    for _ in range(number):
        sums = ((random.randrange(50), random.randrange(50)) for _ in range(length // 6))
        text = "".join(f"{a}+{b}={a + b}\n" for a, b in sums).ljust(length, "\n")[:length]
        yield {"input_ids": (ids := [CHARACTERS.index(character) for character in text]), "labels": ids}


def main():
    torch.set_num_threads(1)  # Faster for so small a model.
    random.seed(0)
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=len(CHARACTERS), n_positions=64, n_embd=64, n_layer=2, n_head=4, bos_token_id=12, eos_token_id=12,
    ))  # fmt: skip
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            folder, max_steps=200, per_device_train_batch_size=8, gradient_accumulation_steps=4, learning_rate=2e-3,
            logging_steps=10, save_strategy="no", report_to="none", disable_tqdm=True, seed=0,
        )  # fmt: skip
        settings = {"optimizer": "AdamW", "learning_rate": args.learning_rate, "batch_size": 32}
        with vs.Run("GPT-2 of Hugging Face on sums", settings, *sys.argv[1:], steps=args.max_steps) as run:
            callback = ProbeCallback(run, every=20)
            Trainer(model, args, train_dataset=list(examples(8000)), callbacks=[callback]).train()
    print({name: value for name, value in callback.probe.last.items() if name != "tensors"})
    print(f"{time.monotonic() - begun:.0f} s, {run.folder}")


if __name__ == "__main__":
    main()
