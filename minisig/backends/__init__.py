"""Backends: the only files that know the array library.

A backend is an explicit object, resolved once by `get_backend` and handed down to every layer. base.py has all that it
can do, in plain array operations; the others do some of it faster. A row of BACKENDS makes one, from the dtype and the
gigabytes of the device that it may take; a class that has nothing but its array module is such a row.
"""

from minisig.backends.base import Array, Backend
from minisig.backends.table import BACKENDS, DTYPES, get_backend

__all__ = ["BACKENDS", "DTYPES", "Array", "Backend", "get_backend"]
