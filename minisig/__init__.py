"""minisig: deep sigmoid networks, every backward pass written by hand, every gradient in sight.

>>> import minisig as ms, numpy as np
>>> net = ms.mlp([64, 100, 100, 10], init="random+ep", rng=0)
>>> x, labels = np.random.default_rng(0).uniform(-1, 1, (50, 64)), np.arange(50) % 10
>>> trace = net.trace(x, labels)                    # one forward and backward, everything kept
>>> sorted(trace.gradient_norms())[:2]
['dense0.W', 'dense0.b']
>>> ms.check_gradients(net, x, labels).error < 1e-10
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from minisig.backends import get_backend
    from minisig.data import load as load_data
    from minisig.diagnostics.activations import activation_statistics
    from minisig.diagnostics.bounds import vanishing_bounds
    from minisig.diagnostics.gradient_check import check_gradients
    from minisig.experiments import configure
    from minisig.initializers import initialize
    from minisig.network import Network, mlp, recurrent
    from minisig.training.run import run

# Where each public name lives. It is imported when first used: `import minisig` alone costs nothing.
_HOME = {
    "Network": "network",
    "activation_statistics": "diagnostics.activations",
    "check_gradients": "diagnostics.gradient_check",
    "configure": "experiments",
    "get_backend": "backends",
    "initialize": "initializers",
    "load_data": "data:load",
    "mlp": "network",
    "recurrent": "network",
    "run": "training.run",
    "vanishing_bounds": "diagnostics.bounds",
}

__all__ = [
    "Network",
    "activation_statistics",
    "check_gradients",
    "configure",
    "get_backend",
    "initialize",
    "load_data",
    "mlp",
    "recurrent",
    "run",
    "vanishing_bounds",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'minisig' has no attribute '{name}'")
    module, _, attribute = _HOME[name].partition(":")
    return getattr(import_module(f"minisig.{module}"), attribute or name)


def __dir__() -> list[str]:
    return __all__
