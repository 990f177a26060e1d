# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The Valleyscope authors

import torch
from torch.optim import Optimizer


class Focus(Optimizer):
    r"""FOCUS (arXiv:2501.12243).

        w = (1 − β₂) / (1 − β₂ᵗ)
        m ← β₁ m + (1 − β₁) g
        θ̂ ← θ̂ + w (θ − θ̂)
        d = sign(m) + γ sign(θ − θ̂)
        θ ← θ − η (d + ω θ̂)

    Args:
        params: parameters or parameter groups
        lr: Learning rate η
        beta1: Momentum β₁
        beta2: Average β₂
        gamma: Attraction γ
        weight_decay: Weight decay ω
    """

    def __init__(self, params, lr=0.001, beta1=0.9, beta2=0.99, gamma=0.2, weight_decay=0.01):
        for name, value in dict(lr=lr, weight_decay=weight_decay).items():
            if not value >= 0.0:
                raise ValueError(f"{name} must be at least 0, found {value}")
        for name, value in dict(beta1=beta1, beta2=beta2).items():
            if not 0.0 <= value < 1.0:
                raise ValueError(f"{name} must be in [0, 1), found {value}")
        super().__init__(params, dict(lr=lr, beta1=beta1, beta2=beta2, gamma=gamma,
                                      weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            # Parameters that have taken equally many steps are updated together.
            batches = {}
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["m"] = torch.zeros_like(p)
                    state["average"] = torch.zeros_like(p)
                state["step"] += 1
                batches.setdefault(state["step"], []).append(p)
            for step, params in batches.items():
                self._update(group, params, step)
        return loss

    def _update(self, group, params, step):
        grads = [p.grad for p in params]
        m = [self.state[p]["m"] for p in params]
        average = [self.state[p]["average"] for p in params]
        lr, beta1, beta2 = group["lr"], group["beta1"], group["beta2"]
        gamma, weight_decay = group["gamma"], group["weight_decay"]
        w = (1 - beta2) / (1 - beta2**step)
        torch._foreach_lerp_(m, grads, 1 - beta1)
        torch._foreach_lerp_(average, params, w)
        d = torch._foreach_sign(m)
        delta = torch._foreach_sub(params, average)
        torch._foreach_sign_(delta)
        torch._foreach_add_(d, delta, alpha=gamma)
        torch._foreach_add_(params, d, alpha=-lr)
        torch._foreach_add_(params, average, alpha=-lr * weight_decay)
