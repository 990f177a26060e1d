"""The rules as PyTorch optimizers, and ``Probe``, which measures any training.

    vs.torch.Focus(model.parameters(), lr=1e-3, gamma=-0.3)    # a class for each built-in rule
    vs.torch.rule(text)(model.parameters(), lr=1e-3)           # the class of one as text
    vs.torch.Probe(run, model, optimizer)

Each class is the code that ``valleyscope optimizers show NAME --as pytorch`` prints: parameter groups, ``state_dict``,
``torch._foreach_*`` for rules of single numbers.
"""

import linecache
import sys
import types

import torch as _torch

from . import _native
from .probe import Probe as Probe


def rule(text, name="rule"):
    """The class of a rule in the program's language."""
    return _made(_native.rule_code(text, name), name)


def _made(code, name):
    # With the lines in the cache, tracebacks show them; what compiles functions looks for their module.
    module = types.ModuleType(f"{__name__}_{name}")
    module.__file__ = f"<valleyscope rule {name}>"
    linecache.cache[module.__file__] = (len(code), None, code.splitlines(keepends=True), module.__file__)
    sys.modules[module.__name__] = module
    exec(compile(code, module.__file__, "exec"), module.__dict__)
    made = [of for of in vars(module).values() if isinstance(of, type) and issubclass(of, _torch.optim.Optimizer)]
    return made[-1]


_KEYS = [key for key, _ in _native.rules()]


def __getattr__(name):
    if name not in _KEYS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__dir__())}")
    made = globals()[name] = _made(_native.rule_code(name, None), name)
    # Pickles name the class as users do.
    made.__module__ = __name__
    return made


def __dir__():
    return [*_KEYS, "Probe", "rule"]
