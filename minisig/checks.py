"""What a network is given, refused in words that name the layer where it does not fit: layers, inputs, gradients.

So the layers themselves stay formulas.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from minisig.backends import Array, Backend
from minisig.errors import UsageError, one_line
from minisig.gradients import Evaluated, Gradient
from minisig.layers import Dense, Embedding, Layer
from minisig.layers.recurrent import Recurrent


def checked_layers(layers: Mapping[str, Layer] | Iterable[tuple[str, Layer]]) -> dict[str, Layer]:
    """Layers by their names, our own with parameters that fit together."""
    pairs: list[Any] = list(layers.items() if isinstance(layers, Mapping) else layers)
    if not pairs:
        raise UsageError("a network needs at least one layer, got none")
    try:
        named: dict[str, Layer] = dict(pairs)
    except (TypeError, ValueError):
        raise UsageError(f"expected (name, layer) pairs, got {[type(pair).__name__ for pair in pairs]}") from None
    if len(named) < len(pairs):
        raise UsageError(f"layer names must differ, got {[name for name, _ in pairs]}")
    for name, layer in named.items():
        if isinstance(layer, Dense | Recurrent | Embedding):
            _require_numbers(name, layer)
        if isinstance(layer, Dense | Recurrent):
            _require_whole(name, layer)
    return named


def _require_numbers(name: str, layer: Layer) -> None:
    for key, w in layer.params.items():
        dtype = getattr(w, "dtype", None)
        if dtype is None or dtype.char not in "fdD" or not dtype.isnative:  # those that BLAS has
            found = type(w).__name__ if dtype is None else dtype
            raise UsageError(f"{name}.{key}: expected an array of float32 or float64, got {found}")


def _require_whole(name: str, layer: Dense | Recurrent) -> None:
    """Weights (n, m) and biases (m,) that fit together; of a recurrent layer of H units m is H for every gate."""
    shapes = {key: w.shape for key, w in layer.params.items()}
    m = layer.params["b"].size
    wanted = {key: (*shape[:1], m) for key, shape in shapes.items()} | {"b": (m,)}
    if isinstance(layer, Recurrent):
        wanted |= layer.shapes(shapes["Wx"][0], m // layer.gates)
    if shapes != wanted:
        raise UsageError(f"{name}: weights and biases do not fit together: {shapes}")


def checked_inputs(name: str, first: Layer, x: Any, backend: Backend) -> Array:
    """x as the first layer takes it: tokens (T, B) as they are, anything else in the dtype of the backend."""
    takes_tokens = getattr(first, "takes_tokens", False)
    try:
        x = backend.xp.asarray(x) if takes_tokens else backend.asarray(x)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name}: expected rows of numbers, all of one length: {one_line(error)}") from None
    if takes_tokens and (x.ndim != 2 or x.dtype.kind not in "iu"):
        raise UsageError(f"{name}: expected integer tokens (T, B), got {x.dtype} of shape {x.shape}")
    if not x.size:
        raise UsageError(f"{name}: expected at least one example, got none, in shape {x.shape}")
    V = getattr(first, "vocabulary", None)
    if takes_tokens and V is not None and not backend.within(x, V):
        raise UsageError(f"{name}: expected tokens from 0 to {V - 1}, got {x.min()} to {x.max()}")
    return x


def require_fit(name: str, layer: Layer, x: Array, state: Any) -> None:
    """Inputs, and the state carried over, of the shapes that the layer says it takes."""
    shape, n, H = x.shape, getattr(layer, "input_size", None), getattr(layer, "state_size", None)
    if H is None:
        if n is not None and (len(shape) < 2 or shape[-1] != n):
            raise UsageError(f"{name}: expected rows of {n} inputs, got shape {shape}")
        return
    if len(shape) != 3 or n not in (None, shape[-1]):
        raise UsageError(f"{name}: expected inputs (T, B, {n or 'n'}), got shape {shape}")
    wanted = (shape[1], H)
    for part in state if isinstance(state, tuple) else (state,):
        if part is not None and part.shape != wanted:
            raise UsageError(f"{name}: expected a state (B, H) = {wanted} as for the inputs, got shape {part.shape}")


def require_gradients(name: str, layer: Layer, gradients: Mapping[str, Gradient]) -> None:
    """What a backward gave, which anybody may have written: something for every parameter, and of its shape."""
    if gradients.keys() != layer.params.keys():
        raise UsageError(f"{name}: backward gave gradients for {[*gradients]}, expected {[*layer.params]}")
    for key, g in gradients.items():
        if not hasattr(g, "accumulate"):
            raise UsageError(f"{name}.{key}: expected a Gradient, such as Evaluated(array), got {type(g).__name__}")
        if isinstance(g, Evaluated) and g.array.shape != layer.params[key].shape:
            raise UsageError(f"{name}.{key} has shape {layer.params[key].shape}, its gradient {g.array.shape}")
