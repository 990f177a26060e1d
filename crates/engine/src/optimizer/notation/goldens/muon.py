# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The Valleyscope authors

import torch
from torch.optim import Optimizer


def orthogonalize(v):
    """sqrt(max(1, r/c)) v with its singular values brought near 1, by Newton-Schulz steps."""
    x = v.flatten(1)
    rows, columns = x.shape
    if rows > columns:
        x = x.T
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        k = x @ x.T
        x = 3.4445 * x + (-4.775 * k + 2.0315 * k @ k) @ x
    if rows > columns:
        x = x.T
    return max(1, rows / columns) ** 0.5 * x.reshape(v.shape)


class Muon(Optimizer):
    r"""Muon (https://kellerjordan.github.io/posts/muon).

        Matrices:
        m ← μ m + (1 − μ) g
        v = μ m + (1 − μ) g
        d = √max(1, r/c) NewtonSchulz(v)
        θ ← θ − η (d + ω θ)
        Other parameters:
        m ← β₁ m + (1 − β₁) g
        s ← β₂ s + (1 − β₂) g²
        m̂ = m / (1 − β₁ᵗ)
        ŝ = s / (1 − β₂ᵗ)
        d = η′ (m̂ / (√ŝ + ε))
        θ ← θ − η (d + ω η′ ω′ θ)

    Args:
        params: parameters or parameter groups
        lr: Learning rate η
        momentum: Momentum μ
        weight_decay: Weight decay ω
        beta1: Momentum β₁
        beta2: Squares β₂
        eps: ε of vectors
        vector_rate: η of vectors
        vector_decay: ω of vectors
        matrices: False takes the step of vectors for all tensors, as embeddings need it
    """

    def __init__(self, params, lr=0.001, momentum=0.95, weight_decay=0.01, beta1=0.9, beta2=0.95,
                 eps=1e-10, vector_rate=0.015, vector_decay=1.0, matrices=True):
        for name, value in dict(lr=lr, weight_decay=weight_decay, eps=eps, vector_rate=vector_rate,
                                vector_decay=vector_decay).items():
            if not value >= 0.0:
                raise ValueError(f"{name} must be at least 0, found {value}")
        for name, value in dict(momentum=momentum, beta1=beta1, beta2=beta2).items():
            if not 0.0 <= value < 1.0:
                raise ValueError(f"{name} must be in [0, 1), found {value}")
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay,
                                      beta1=beta1, beta2=beta2, eps=eps, vector_rate=vector_rate,
                                      vector_decay=vector_decay, matrices=matrices))

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
        is_matrix = group["matrices"] and grad.ndim > 1 and grad.numel() > 0
        if not state:
            state["step"] = 0
            state["m"] = torch.zeros_like(p)
            if not is_matrix:
                state["s"] = torch.zeros_like(p)
        state["step"] += 1
        step, m = state["step"], state["m"]
        lr, momentum, weight_decay = group["lr"], group["momentum"], group["weight_decay"]
        beta1, beta2, eps = group["beta1"], group["beta2"], group["eps"]
        vector_rate, vector_decay = group["vector_rate"], group["vector_decay"]
        if is_matrix:
            m.lerp_(grad, 1 - momentum)
            v = momentum * m + (1 - momentum) * grad
            d = orthogonalize(v)
            p.mul_(1 - lr * weight_decay).add_(d, alpha=-lr)
        else:
            s = state["s"]
            bias_correction1 = 1 - beta1**step
            bias_correction2 = 1 - beta2**step
            m.lerp_(grad, 1 - beta1)
            s.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            d = vector_rate * m / bias_correction1 / ((s / bias_correction2).sqrt() + eps)
            p.mul_(1 - lr * weight_decay * vector_rate * vector_decay).add_(d, alpha=-lr)
