"""The backends by name."""

from collections.abc import Callable

from minisig.backends.base import Backend
from minisig.errors import MinisigError, require_known
from minisig.plugins import Table

DTYPES = ("float32", "float64")


def _numpy(dtype: str, memory: float | None) -> Backend:
    from minisig.backends.numpy import NumpyBackend

    return NumpyBackend(dtype)


def _cupy(dtype: str, memory: float | None) -> Backend:
    from minisig.backends.device import require_device

    require_device(memory)
    from minisig.backends.cupy import CupyBackend

    return CupyBackend(dtype)


BACKENDS: Table[Callable[[str, float | None], Backend]] = Table("backends", {"numpy": _numpy, "cupy": _cupy})


def get_backend(name: str = "numpy", dtype: str = "float32", memory: float | None = None) -> Backend:
    """The backend called `name`, computing in `dtype` ("float32" or "float64").

    `memory` is the most of the device's, in gigabytes, that cupy may take. Without a usable GPU it raises
    BackendUnavailable, which says what is missing.
    """
    require_known("backend", name, BACKENDS)
    require_known("dtype", dtype, DTYPES)
    backend = BACKENDS[name](dtype, memory)
    if not isinstance(backend, Backend):
        kind = type(backend).__name__
        raise MinisigError(f"backend '{name}': expected an instance of minisig.backends.Backend, got {kind}")
    return backend
