"""Measures of any PyTorch training: how noisy its gradients are, and what makes Adam's steps small in it."""

from __future__ import annotations

import contextlib
import functools
import math
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed

from .run import Run

_BETA1, _BETA2, _WINDOW = 0.9, 0.99, 32  # Running averages of the gradient and of its square, over the last steps.
_DECAY = 0.9  # Averages over measured steps.
_COORDINATES, _BINS = 16384, 16  # Of the exponent.
# These add weight decay to the gradient unless a group says otherwise; AdamW is an Adam whose groups do.
_COUPLED = (torch.optim.Adadelta, torch.optim.Adagrad, torch.optim.Adam, torch.optim.Adamax, torch.optim.ASGD,
            torch.optim.NAdam, torch.optim.RAdam, torch.optim.RMSprop)


class Probe:
    """Measures the gradients and steps of a training by hooks of its optimizer, at each ``every``-th step::

        probe = vs.torch.Probe(run, model, optimizer, batch_size=480)

    The gradient's noise is measured by the parts of a step's batch. A training that accumulates gradients or has
    several processes needs no further line: each ``backward()`` of each process gives a part of equal size. Others call
    `halves` after ``backward()``.

    Args:
        run: The run in which measures are logged, at the number of steps so far; None for none.
        model: The model. Parameters that need no gradient now, or that the optimizer does not hold, are left out.
        optimizer: The optimizer, also one that Accelerate has prepared.
        every: The number of steps from one measured step to the next. The 32 steps up to a measured one take a little
            time (running averages of the gradient), the measured one more, all others none.
        batch_size: The number of samples of a step in all micro-batches and processes, needed for ``noise_scale``.
        steps: The number of steps that a resumed training has made before.

    Attributes:
        last: The measures of the last measured step by name, without those that have no finite value: ``noise``,
            ``noise_scale``, ``signal``, ``noise_share``, ``oscillation``, ``exponent``, ``effective_step``, and
            ``tensors``, where ``last["tensors"]["0.weight"]`` has noise and shares of a tensor.
        steps: The number of steps so far.

    Averages over measured steps begin anew with each `Probe`. With gradient clipping by norm and with a ``GradScaler``
    the parts are scaled as the step's gradient is. Results of PyTorch's random numbers and of the training do not
    change. A measured step without parts of equal size is left out with a warning; no training is ended by that.
    """

    def __init__(self, run: Run | None, model: torch.nn.Module, optimizer: torch.optim.Optimizer, every: int = 50, *,
                 batch_size: int | None = None, steps: int = 0) -> None:
        self._model, optimizer = _inner_model(model), getattr(optimizer, "optimizer", optimizer)
        self._names, self._params = _trained(self._model, optimizer)
        if every < 1:
            raise ValueError(f"expected every to be at least 1, found {every}")
        self.every, self.batch_size, self.run, self.steps = every, batch_size, run, steps
        self.last: dict[str, Any] = {}
        self._device = self._params[0].device
        # Apple's GPUs lack float64.
        self._sums = torch.float32 if self._device.type == "mps" else torch.float64
        sizes = [p.numel() for p in self._params]
        offsets = np.cumsum([0, *sizes])
        self._stride = -(-int(offsets[-1]) // _COORDINATES)
        self._starts = [-int(offset) % self._stride for offset in offsets[:-1]]
        self._sampled = [len(range(start, size, self._stride)) for start, size in zip(self._starts, sizes, strict=True)]
        self._averages, self._bins = np.zeros((4, len(sizes) + 1)), np.zeros((2, _BINS))
        self._warned: set[str] = set()
        self._m: list[Tensor] | None = None
        self._listeners: list[Any] = []
        self._hooks = [optimizer.register_step_pre_hook(self._before), optimizer.register_step_post_hook(self._after)]
        self._await_step()

    @property
    def is_due(self) -> bool:
        """Whether the next step of the optimizer is measured."""
        return (self.steps + 1) % self.every == 0

    def close(self) -> None:
        """End measuring, and take the hooks from the optimizer."""
        for hook in [*self._hooks, *self._listeners]:
            hook.remove()

    def halves(self, loss: Callable[..., Tensor], *batch: Any) -> None:
        """Take the halves of a batch as parts, for a step with one ``backward()`` in one process::

            loss_of(inputs, targets).backward()
            probe.halves(loss_of, inputs, targets)

        Args:
            loss: A function of the batch which returns what ``backward()`` of the training is called on.
            batch: Tensors, or tuples, lists and dicts of tensors, whose first dimension is the batch.

        Two more forward and backward passes at a measured step leave gradients, buffers such as those of batch norm,
        and states of PyTorch's, NumPy's and Python's global random numbers as they were. At other steps, or with
        several processes, nothing is done. Call it before gradients are unscaled or clipped.
        """
        if not self.is_due or _ranks() > 1:
            return
        sizes = {tensor.shape[0] for tensor in _tensors(batch)}
        if len(sizes) != 1:
            raise ValueError("expected tensors with one size of the batch as their first dimension, found "
                             f"{sorted(sizes)}; let the function that gives the loss hold what is not split")
        if all(p.grad is None for p in self._params):
            raise ValueError("expected the gradients of a step, found none; call halves() after backward()")
        size = sizes.pop()
        if size < 2:
            return
        self._stop_listening()
        with self._undisturbed(), torch.enable_grad():
            first, second = (self._gradient_of(loss, _cut(batch, at, at + size // 2)) for at in (0, size // 2))
        with torch.no_grad():
            s = self._norms([a.sub_(b) for a, b in zip(first, second, strict=True)]) ** 2 / 4
            s_each = self._sample(first) ** 2 / 4
            mean = [b.add_(a, alpha=0.5) for a, b in zip(first, second, strict=True)]
            g2, g2_each = self._norms(mean) ** 2 - s, self._sample(mean) ** 2 - s_each
            self._halves = (s, g2, s_each, g2_each), size

    @contextlib.contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Restore the model's buffers and the states of random numbers at the end."""
        buffers = [(buffer, buffer.clone()) for buffer in self._model.buffers()]
        restore = [functools.partial(random.setstate, random.getstate()),
                   functools.partial(np.random.set_state, np.random.get_state()),
                   functools.partial(torch.set_rng_state, torch.get_rng_state())]
        for device in {p.device for p in self._params}:
            if device.type == "mps":
                restore.append(functools.partial(torch.mps.set_rng_state, torch.mps.get_rng_state()))
            elif device.type != "cpu":
                module = torch.get_device_module(device)
                restore.append(functools.partial(module.set_rng_state, module.get_rng_state(device), device))
        try:
            yield
        finally:
            for put in restore:
                put()
            with torch.no_grad():
                for buffer, before in buffers:
                    buffer.copy_(before)

    def _gradient_of(self, loss: Callable[..., Tensor], batch: Any) -> list[Tensor]:
        found = torch.autograd.grad(loss(*batch), self._params, allow_unused=True)
        zeros = (torch.zeros_like(p) if g is None else g for p, g in zip(self._params, found, strict=True))
        return [g.detach().to(_wide(g), copy=True) for g in zeros]

    def _await_step(self) -> None:
        """Prepare for the gradients of the next step."""
        self._halves: Any = None
        self._theta: Any = None
        self._stop_listening()
        if self.is_due:
            self._parts: list[Tensor | None] = [None] * len(self._params)
            self._counts = [0] * len(self._params)
            takes = [functools.partial(self._add_part, index) for index in range(len(self._params))]
            self._listeners = [p.register_hook(take) for p, take in zip(self._params, takes, strict=True)]

    def _stop_listening(self) -> None:
        for listener in self._listeners:
            listener.remove()
        self._listeners = []

    @torch.no_grad()
    def _add_part(self, index: int, gradient: Tensor) -> None:
        """Add what a backward pass adds to a parameter's gradient: its squared norm, its coordinates, their squares."""
        if gradient.is_sparse:
            raise ValueError(f"expected a dense gradient, found a sparse one of {self._names[index]}; "
                             "make the embedding with sparse=False")
        coordinates = self._coordinates(index, gradient)
        square = torch.linalg.vector_norm(gradient, dtype=self._sums).square()
        part = torch.cat([square.reshape(1), coordinates, coordinates.square()])
        # Without a gradient so far, the accumulation begins: earlier backward passes were for something else.
        begins = self._params[index].grad is None or self._parts[index] is None
        self._parts[index] = part if begins else self._parts[index] + part
        self._counts[index] = 1 if begins else self._counts[index] + 1

    def _before(self, optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
        """Read gradients and parameters before a step; with a closure, after that has computed the gradients."""
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if closure is None:
            return self._read(optimizer)
        if isinstance(optimizer, torch.optim.LBFGS):
            raise ValueError("expected an optimizer that computes one gradient a step, found LBFGS; use another one")

        def reading() -> Any:
            loss = closure()
            self._read(optimizer)
            return loss

        return (args[0], reading), {name: value for name, value in kwargs.items() if name != "closure"}

    @torch.no_grad()
    def _read(self, optimizer: torch.optim.Optimizer) -> None:
        at, begin = self.steps % self.every, self.every - _WINDOW
        if at < begin:
            return
        found_inf = getattr(optimizer, "found_inf", None)
        if found_inf is not None and found_inf.item():  # A fused optimizer leaves this step out by itself.
            return
        if self._m is None or at == begin > 0:
            self._m, self._n = [torch.zeros_like(p, dtype=_wide(p)) for p in self._params], 0
            self._v = torch.zeros(len(self._params), dtype=self._sums, device=self._device)
        gradients = self._gradients(getattr(optimizer, "grad_scale", None))
        norms = self._device_norms(gradients)
        before = self._sample(self._m) if self.is_due and self._n else None
        for dtype in {m.dtype for m in self._m}:
            chosen = [(m, g) for m, g in zip(self._m, gradients, strict=True) if m.dtype == dtype]
            torch._foreach_lerp_(*map(list, zip(*chosen, strict=True)), 1 - _BETA1)
        self._v.lerp_(norms.square(), 1 - _BETA2)
        self._n += 1
        if self.is_due and (parts := self._moments(gradients, _numbers(norms))) is not None:
            if self._average(before, *parts):
                self._theta, self._rates = self._sample(self._params), self._step_sizes(optimizer)

    def _moments(self, gradients: list[Tensor], norms: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Compute S and G² of tensors and of coordinates, for parts whose mean is the gradient of the optimizer."""
        if self._halves is not None:
            s, g2, s_each, g2_each = self._halves[0]
            # Their mean is not the step's gradient where that is clipped, or a batch normalised by its own moments.
            mean, own = s + g2, norms**2
            factor = np.divide(own, mean, out=np.ones_like(own), where=mean > 0)
            of_all = own.sum() / mean.sum() if mean.sum() > 0 else 1.0
            return factor * s, factor * g2, of_all * s_each, of_all * g2_each
        count = max(self._counts)
        empty = [torch.zeros(1 + 2 * size, dtype=self._sums, device=self._device) for size in self._sampled]
        sums = [each if part is None else part.to(self._device) for part, each in zip(self._parts, empty, strict=True)]
        sums = torch.cat([*sums, torch.tensor([count, count**2], dtype=self._sums, device=self._device)])
        if (ranks := _ranks()) > 1:
            distributed.all_reduce(sums)
        *each, (parts, squared) = np.split(_numbers(sums), np.cumsum([1 + 2 * size for size in self._sampled]))
        if parts < 2:
            return self._warn(f"found {parts:.0f} backward passes; accumulate gradients, or call "
                              "probe.halves(loss_of, inputs, targets) after backward()")
        if ranks * squared != parts**2:
            return self._warn("found different numbers of backward passes in the processes")
        squares = np.array([of[0] for of in each])
        added = np.concatenate([of[1 : 1 + size] for of, size in zip(each, self._sampled, strict=True)])
        squares_each = np.concatenate([of[1 + size :] for of, size in zip(each, self._sampled, strict=True)])
        taken = self._sample(gradients)
        scale = taken @ added / max(added @ added, np.finfo(float).tiny)
        if not np.sum((taken - scale * added) ** 2) <= 0.01 * (taken @ taken):
            return self._warn("found backward passes that do not add up to the gradient of the optimizer; each has to "
                              "be for a part of the batch, and gradients may be clipped by their norm only")
        s = np.maximum(scale**2 * parts * squares - norms**2, 0) / (parts - 1)
        s_each = np.maximum(scale**2 * parts * squares_each - (scale * added) ** 2, 0) / (parts - 1)
        return s, norms**2 - s, s_each, (scale * added) ** 2 - s_each

    def _average(self, before: np.ndarray | None, s: np.ndarray, g2: np.ndarray, s_each: np.ndarray,
                 g2_each: np.ndarray) -> bool:
        """Add a measurement to the averages: S, G², |m|² and V of each tensor and of all, and S and G² in bins."""
        power = _BETA1**self._n
        self._kappa = (1 - _BETA1) / (1 + _BETA1) * (1 + power) / (1 - power)
        m2 = (self._norms(self._m) / (1 - power)) ** 2
        of_tensors = np.stack([s, g2, m2, _numbers(self._v) / (1 - _BETA2**self._n)])
        if not np.isfinite(of_tensors).all():
            self._warn("found gradients that are not finite")
            return False
        measured = np.concatenate([of_tensors, of_tensors.sum(1, keepdims=True)], axis=1)
        self._averages = _DECAY * self._averages + (1 - _DECAY) * measured
        if before is not None:
            order = np.argsort(np.abs(before), kind="stable")
            edges = [bin * len(order) // _BINS for bin in range(_BINS + 1)]
            in_bins = [[each[order[a:b]].sum() for a, b in zip(edges, edges[1:])] for each in (s_each, g2_each)]
            self._bins = _DECAY * self._bins + (1 - _DECAY) * np.array(in_bins)
        return True

    @torch.no_grad()
    def _after(self, optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict) -> None:
        self.steps += 1
        if self._theta is not None:
            size = self._halves[1] if self._halves is not None else self.batch_size
            rates, decays = self._rates
            with np.errstate(divide="ignore", invalid="ignore"):
                moved = self._sample(self._params) - self._theta + rates * decays * self._theta
                step = float(np.mean(np.abs(moved) / rates))
            self.last = self._measures(size) | ({"effective_step": step} if math.isfinite(step) else {})
            self.last["tensors"] = self.last.pop("tensors")
            if self.run is not None:
                self.run._record("measure", self.steps, self.last)
        if self.steps % self.every == 0 and self.every > _WINDOW:
            self._m = None
        self._await_step()

    def _measures(self, size: int | None) -> dict[str, Any]:
        *tensors, whole = (_ratios(of, self._kappa) for of in self._averages.T)
        if size is not None and "noise" in whole:
            whole["noise_scale"] = size * whole["noise"] ** 2
        s, g2 = self._bins
        chosen = (s > 0) & (g2 > 0)
        if chosen.sum() >= 3:
            x, y = np.log(g2[chosen]), np.log(s[chosen])
            x -= x.mean()
            if x @ x > 0:
                whole["exponent"] = float(x @ y / (x @ x))
        return whole | {"tensors": {name: of for name, of in zip(self._names, tensors, strict=True) if of}}

    def _gradients(self, scale: Tensor | None = None) -> list[Tensor]:
        """Return the gradients, at least in float32; zeros, which take no memory, for parameters without one."""
        found = []
        for p, name in zip(self._params, self._names, strict=True):
            if p.grad is not None and p.grad.is_sparse:
                raise ValueError(f"expected a dense gradient, found a sparse one of {name}; "
                                 "make the embedding with sparse=False")
            g = torch.zeros((), dtype=p.dtype, device=p.device).expand_as(p) if p.grad is None else p.grad.detach()
            found.append(g.to(_wide(p)) if scale is None else g.to(_wide(p)) / scale.to(p.device))
        return found

    def _step_sizes(self, optimizer: torch.optim.Optimizer) -> tuple[np.ndarray, np.ndarray]:
        """Return the learning rate and the decoupled weight decay of each coordinate of the sample."""
        coupled = isinstance(optimizer, _COUPLED)
        of = {}
        for group in optimizer.param_groups:
            # SGD adds it as well, which makes a difference with momentum.
            decays = group.get("decoupled_weight_decay", not coupled) and not group.get("momentum")
            both = float(group["lr"]), float(group.get("weight_decay", 0.0)) if decays else 0.0
            of.update((id(p), both) for p in group["params"])
        rates, decays = zip(*(of[id(p)] for p in self._params), strict=True)
        return np.repeat(rates, self._sampled), np.repeat(decays, self._sampled)

    def _coordinates(self, index: int, tensor: Tensor) -> Tensor:
        return tensor.detach().reshape(-1)[self._starts[index] :: self._stride].to(self._sums)

    def _sample(self, tensors: list[Tensor]) -> np.ndarray:
        """Read the coordinates of the exponent and of the effective step."""
        return _numbers(torch.cat([self._coordinates(i, each).to(self._device) for i, each in enumerate(tensors)]))

    def _device_norms(self, tensors: list[Tensor]) -> Tensor:
        return torch.stack([n.to(self._device) for n in torch._foreach_norm(tensors, 2, dtype=self._sums)])

    def _norms(self, tensors: list[Tensor]) -> np.ndarray:
        return _numbers(self._device_norms(tensors))

    def _warn(self, found: str) -> None:
        if found not in self._warned:
            self._warned.add(found)
            expected = f"step {self.steps + 1} is not measured: expected parts of its batch of equal size"
            warnings.warn(f"{expected}, {found}", RuntimeWarning, stacklevel=1)


def _inner_model(model: torch.nn.Module) -> torch.nn.Module:
    """Return the model in the wrappers of `torch.compile` and of data parallelism, which change names."""
    if not isinstance(model, torch.nn.Module):
        raise ValueError(f"expected a torch.nn.Module, found {type(model).__name__}; "
                         "hold parameters in a torch.nn.ParameterList")
    while True:
        if hasattr(model, "_orig_mod"):
            model = model._orig_mod
        elif isinstance(model, (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)):
            model = model.module
        else:
            return model


def _trained(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> tuple[list[str], list[Tensor]]:
    """Return the names and parameters that need gradients and that the optimizer holds, in the order of the model."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise ValueError(f"expected a torch.optim.Optimizer, found {type(optimizer).__name__}")
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    found = [(name, p) for name, p in model.named_parameters() if p.requires_grad and id(p) in held and p.numel()]
    if not found:
        raise ValueError("expected parameters of the model that need gradients in the optimizer, found none; make the "
                         "Probe with the model whose parameters the optimizer has, after moving and wrapping it")
    for name, p in found:
        if hasattr(p, "to_local") or not p.is_floating_point():
            raise ValueError(f"expected whole parameters of real numbers, found {name} as a {type(p).__name__} "
                             f"of {p.dtype}; trainings whose parameters are sharded, as by FSDP, cannot be measured")
    return tuple(map(list, zip(*found, strict=True)))


def _ranks() -> int:
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def _wide(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)


def _numbers(tensor: Tensor) -> np.ndarray:
    return tensor.cpu().double().numpy()


def _ratios(averages: np.ndarray, kappa: float) -> dict[str, float]:
    s, g2, m2, v = map(float, averages)
    found = {"noise": math.sqrt(s / g2)} if g2 > 0 else {}
    if s + g2 > 0 and v > 0:
        # S and S + G² are of the same steps, so that rare large gradients count in both.
        noise = s / (s + g2)
        signal = m2 / v - kappa * noise
        found |= {"signal": signal, "noise_share": noise, "oscillation": 1 - signal - noise}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _tensors(batch: Any) -> Iterator[Tensor]:
    if isinstance(batch, Tensor) and batch.dim():
        yield batch
    elif isinstance(batch, (tuple, list)):
        for each in batch:
            yield from _tensors(each)
    elif hasattr(batch, "items"):
        yield from _tensors([each for _, each in batch.items()])


def _cut(batch: Any, start: int, end: int) -> Any:
    if isinstance(batch, Tensor):
        return batch[start:end] if batch.dim() else batch
    if isinstance(batch, (tuple, list)):
        cut = [_cut(each, start, end) for each in batch]
        return type(batch)(*cut) if hasattr(batch, "_fields") else type(batch)(cut)
    if hasattr(batch, "items"):
        return {name: _cut(each, start, end) for name, each in batch.items()}
    return batch
