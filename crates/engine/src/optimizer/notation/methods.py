@torch.no_grad()
def train(self, mode=True):
    """Moves the parameters to where gradients are taken; `eval` moves them to the average."""
    for group in self.param_groups:
        if group["training"] != mode:
            part = (1 if mode else -1) * (1 - group["beta1"])
            for p in group["params"]:
                if self.state[p]:
                    p.add_(self.state[p]["STATE"], alpha=part)
            group["training"] = mode


def eval(self):
    """Moves the parameters to the average, for evaluations and checkpoints of the model."""
    self.train(False)


def _gradients_before(self, closure):
    """The gradients at the parameters before the last step; none before the first step."""
    now = {p: p.clone() for group in self.param_groups for p in group["params"] if self.state[p]}
    if not now:
        return {}
    for p in now:
        p.copy_(self.state[p]["STATE"])
    with torch.enable_grad():
        closure()
    gradients = {p: p.grad.clone() for p in now if p.grad is not None}
    for p, theta in now.items():
        p.copy_(theta)
    return gradients
