"""EP for PyTorch models, and weights to and fro.

ep.py           ep_(module, sample): initialize an existing model in place
weights.py      to_torch(net, module) and from_torch(module, net)
cells.py        how torch keeps its weights
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(f"minisig.bridges.torch needs PyTorch: pip install 'minisig[torch]' ({error})") from None

from minisig.bridges.torch.ep import ep_
from minisig.bridges.torch.weights import from_torch, to_torch

__all__ = ["ep_", "from_torch", "to_torch"]
