"""Backends: the only files that know the array library.

A backend is an explicit object, resolved once by `get_backend` and handed down to every layer. base.py has all that it
can do, in plain array operations; the others do some of it faster.
"""

from minisig.backends.base import Array, Backend
from minisig.errors import require_known

BACKENDS = ("numpy", "cupy")
DTYPES = ("float32", "float64")


def get_backend(name: str = "numpy", dtype: str = "float32", memory: float | None = None) -> Backend:
    """The backend called `name`, computing in `dtype` ("float32" or "float64").

    `memory` is the most of the device's, in gigabytes, that cupy may take. Without a usable GPU it raises
    BackendUnavailable, which says what is missing.
    """
    require_known("backend", name, BACKENDS)
    require_known("dtype", dtype, DTYPES)
    if name == "cupy":
        from minisig.backends.device import require_device

        require_device(memory)
        from minisig.backends.cupy import CupyBackend

        return CupyBackend(dtype)
    from minisig.backends.numpy import NumpyBackend

    return NumpyBackend(dtype)


__all__ = ["BACKENDS", "DTYPES", "Array", "Backend", "get_backend"]
