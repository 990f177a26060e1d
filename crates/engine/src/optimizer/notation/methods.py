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


@torch.no_grad()
def step(self, closure=None):
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    for group in self.param_groups:
        GROUP
    return loss


@torch.no_grad()
def step_with_curvature(self, curvature, closure=None):
    """Takes a step. `curvature(p)` estimates the diagonal of the Hessian for a parameter; it is
    called in the steps k + 1, 2k + 1, …"""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    for group in self.param_groups:
        GROUP
    return loss


@torch.no_grad()
def step_with_two_gradients(self, closure):
    """Takes a step. `closure` computes the loss of a batch and its gradients: twice, as the
    gradient of the same batch at the parameters before the last step is needed, too."""
    previous = self._gradients_before(closure)
    with torch.enable_grad():
        loss = closure()
    for group in self.param_groups:
        GROUP
    return loss


def update_each(self, group):
    for p in group["params"]:
        if p.grad is not None:
            self._update(group, p, self.state[p], INPUTS)


def update_all(self, group):
    params = [p for p in group["params"] if p.grad is not None]
    FIRST
    if params:
        self._update(group, params, INPUTS)


def update_batches(self, group):
    # Parameters that have taken equally many steps are updated together.
    batches = {}
    for p in group["params"]:
        if p.grad is None:
            continue
        state = self.state[p]
        FIRST
        batches.setdefault(KEY, []).append(p)
    for KEYS, params in batches.items():
        self._update(group, params, INPUTS)
