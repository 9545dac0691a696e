"""Device memory: ordinary memory, of which every piece is known.

New memory is filled with 0xFF bytes, which read as NaN or −1, so that what was never written shows. Every piece ends at
a page that cannot be touched, and one that is given back is gone: a kernel that goes beyond either faults, which the
engine reports. Copies must lie within the pieces they name.
"""

import ctypes
import mmap
from bisect import bisect_right, insort

POISON = 0xFF
ALIGNMENT = 512

FAILED = ctypes.c_void_p(-1).value  # MAP_FAILED

_libc = ctypes.CDLL(None)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class WrongAddress(RuntimeError):
    """A copy from or to memory that is not where it was said to be."""


class Memory:
    """Pieces of memory of one kind, up to a total."""

    def __init__(self, kind: str, total: int) -> None:
        self.kind, self.total, self.used = kind, total, 0
        self._sizes: dict[int, int] = {}
        self._starts: list[int] = []

    def allocate(self, size: int) -> int | None:
        """The address of a new piece; None if there is no room for it."""
        room = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        if self.used + room > self.total:
            return None
        address = _map(room)
        if address is not None:
            self._sizes[address] = room
            insort(self._starts, address)
            self.used += room
        return address

    def free(self, address: int) -> None:
        if address == 0:
            return
        if address not in self._sizes:
            raise WrongAddress(f"free: {address:#x} is not the start of a piece of {self.kind} memory")
        room = self._sizes.pop(address)
        self._starts.remove(address)
        self.used -= room
        _unmap(address, room)

    def holds(self, address: int, size: int = 1) -> bool:
        """Whether these bytes lie in one piece."""
        before = bisect_right(self._starts, address)
        if not before:
            return False
        start = self._starts[before - 1]
        return address + size <= start + self._sizes[start]

    def touches(self, address: int, size: int = 1) -> bool:
        """Whether any of these bytes lie in a piece."""
        before = bisect_right(self._starts, address + size - 1)
        if not before:
            return False
        start = self._starts[before - 1]
        return address < start + self._sizes[start]

    def require(self, what: str, address: int, size: int) -> None:
        if not self.holds(address, size):
            raise WrongAddress(f"{what}: {size} bytes at {address:#x} are not {self.kind} memory")

    def require_elsewhere(self, what: str, address: int, size: int) -> None:
        if self.touches(address, size):
            raise WrongAddress(f"{what}: {size} bytes at {address:#x} are {self.kind} memory")


def _pages(room: int) -> int:
    return -(-room // mmap.PAGESIZE) * mmap.PAGESIZE


def _map(room: int) -> int | None:
    """So many bytes up to the end of a page, the next of which is forbidden."""
    pages = _pages(room)
    start = _libc.mmap(
        None, pages + mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0
    )
    if start in (None, FAILED):
        return None
    _libc.mprotect(start + pages, mmap.PAGESIZE, 0)
    ctypes.memset(start, POISON, pages)
    return int(start + pages - room)


def _unmap(address: int, room: int) -> None:
    pages = _pages(room)
    _libc.munmap(address + room - pages, pages + mmap.PAGESIZE)
