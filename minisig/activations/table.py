"""The activations by name, and one of them from a name or from whoever made it."""

from collections.abc import Callable

from minisig.activations.base import Activation
from minisig.activations.erf import Erf
from minisig.activations.relu import ReLU
from minisig.activations.scaled_tanh import ScaledTanh
from minisig.activations.sigmoid import Sigmoid
from minisig.activations.softplus import Softplus
from minisig.activations.tanh import Tanh
from minisig.errors import UsageError, require_known
from minisig.plugins import Table

ACTIVATIONS: Table[Callable[[], Activation]] = Table(
    "activations",
    {
        "sigmoid": Sigmoid,
        "scaled-tanh": ScaledTanh,
        "tanh": Tanh,
        "relu": ReLU,
        "softplus": Softplus,
        "erf": Erf,
    },
)


def get_activation(activation: str | Activation) -> Activation:
    """The one of this name, or the one that is given."""
    if isinstance(activation, str):
        require_known("activation", activation, ACTIVATIONS)
        return require_activation(ACTIVATIONS[activation](), f"activation '{activation}'")
    return require_activation(activation)


def require_activation(found: object, what: str = "activation") -> Activation:
    """What anybody may have given or made."""
    if not isinstance(found, Activation):
        kind = f"the class {found.__name__}" if isinstance(found, type) else type(found).__name__
        raise UsageError(f"{what}: expected an Activation, such as ReLU(), got {kind}")
    return found
