# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The Valleyscope authors

import math

import torch
from torch.optim import Optimizer


class GatedDecay(Optimizer):
    r"""Gated decay (a rule of your own).

        m ← β₁ m + (1 − β₁) g
        h ← max(h, |m|)
        agree = 1 if m g > 0, else 0
        d = agree m / (h + 1e-8) / max(mean(agree), 0.1)
        θ ← θ − η (ω θ + d exp((−t) / τ))

    Args:
        params: parameters or parameter groups
        lr: Learning rate η
        beta1: beta1 β₁
        tau: tau τ
        weight_decay: Weight decay ω
    """

    def __init__(self, params, lr=0.001, beta1=0.9, tau=10.0, weight_decay=0.01):
        for name, value in dict(lr=lr, weight_decay=weight_decay).items():
            if not value >= 0.0:
                raise ValueError(f"{name} must be at least 0, found {value}")
        if not 0.0 <= beta1 <= 1.0:
            raise ValueError(f"beta1 must be in [0, 1], found {beta1}")
        if not 1.0 <= tau <= 1000.0:
            raise ValueError(f"tau must be in [1, 1000], found {tau}")
        super().__init__(params, dict(lr=lr, beta1=beta1, tau=tau, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(group, p, self.state[p])
        return loss

    def _update(self, group, p, state):
        grad = p.grad
        if not state:
            state["step"] = 0
            state["m"] = torch.zeros_like(p)
            state["h"] = torch.zeros_like(p)
        state["step"] += 1
        step, m, h = state["step"], state["m"], state["h"]
        lr, beta1, tau = group["lr"], group["beta1"], group["tau"]
        weight_decay = group["weight_decay"]
        m.lerp_(grad, 1 - beta1)
        h.copy_(torch.maximum(h, m.abs()))
        agree = (m * grad > 0).to(grad.dtype)
        d = agree * m / (h + 1e-8) / agree.mean().clamp(min=0.1)
        p.mul_(1 - lr * weight_decay).add_(d, alpha=-lr * math.exp(-step / tau))
