"""What CuPy finds when it asks CUDA for a device: memory, modules, kernels, streams and events."""

import ctypes
import inspect
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

from .execute import Engine, Kernel, Program
from .memory import POISON, Memory

NAME = b"host device"
COMPUTE_CAPABILITY = (8, 0)
TOTAL_MEMORY = 2 * 10**9

INVALID_VALUE, OUT_OF_MEMORY, INVALID_HANDLE = 1, 2, 400  # cudaErrorInvalidValue, …MemoryAllocation, …ResourceHandle

# cudaDeviceAttr: those that CuPy asks for; of all others the device says that they are not known.
ATTRIBUTES = {
    1: 1024,  # threads of a block, at most
    2: 1024,  # … along x, y and z
    3: 1024,
    4: 64,
    5: 2**31 - 1,  # blocks of a grid along x, y and z
    6: 65535,
    7: 65535,
    8: 49152,  # shared memory of a block
    10: 32,  # threads of a warp
    12: 65536,  # registers of a block
    13: 1_410_000,  # kHz
    16: 108,  # multiprocessors
    39: 2048,  # threads of a multiprocessor
    75: COMPUTE_CAPABILITY[0],
    76: COMPUTE_CAPABILITY[1],
    81: 167936,  # shared memory of a multiprocessor
    97: 166912,  # shared memory that a block may ask for
    106: 32,  # blocks of a multiprocessor
    115: 0,  # memory pools
}

PROPERTIES = {
    "name": NAME,
    "totalGlobalMem": TOTAL_MEMORY,
    "major": COMPUTE_CAPABILITY[0],
    "minor": COMPUTE_CAPABILITY[1],
    "multiProcessorCount": ATTRIBUTES[16],
    "warpSize": ATTRIBUTES[10],
    "maxThreadsPerBlock": ATTRIBUTES[1],
    "maxThreadsPerMultiProcessor": ATTRIBUTES[39],
    "sharedMemPerBlock": ATTRIBUTES[8],
    "sharedMemPerMultiprocessor": ATTRIBUTES[81],
    "regsPerBlock": ATTRIBUTES[12],
}


class NotOnHostDevice(NotImplementedError):
    """Something that a real device has."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: not on the host device")


@dataclass
class Counts:
    """What was done on the device."""

    launches: Counter[str] = field(default_factory=Counter)  # by the kernel's name
    gemms: Counter[str] = field(default_factory=Counter)  # by the name of the function of cuBLAS
    copies: Counter[str] = field(default_factory=Counter)  # by their direction: "H2D", "D2H", "D2D", "H2H"

    def since(self, before: "Counts") -> "Counts":
        pairs = ((getattr(self, name), getattr(before, name)) for name in ("launches", "gemms", "copies"))
        return Counts(*(now - then for now, then in pairs))


def refusal(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> None:
        raise NotOnHostDevice(name)

    return refuse


def cuda_error(status: int) -> Exception:
    """CuPy's own for this status."""
    from cupy_backends.cuda.api.runtime import CUDARuntimeError

    error: Exception = CUDARuntimeError(status)
    return error


class Device:
    """Memory, modules, streams and events; the methods of `runtime` and `driver` are what CuPy calls."""

    def __init__(self, folder: Path) -> None:
        self.memory, self.pinned = Memory("device", TOTAL_MEMORY), Memory("pinned host", TOTAL_MEMORY)
        self.engine = Engine(folder)
        self.programs: list[Program] = []  # all that NVRTC has compiled
        self.launching = True  # or only counting launches
        self.counts = Counts()
        self._handles = count(1000)  # of streams, events, modules and kernels
        self._modules: dict[int, Program] = {}
        self._kernels: dict[int, Kernel] = {}
        self._recorded: dict[int, float] = {}  # when events were
        self._compiling = threading.local()

    # ---------------------------------------------------------------------------------------------------- memory

    def malloc(self, size: int, *_: Any) -> int:
        if address := self.memory.allocate(size):
            return address
        raise cuda_error(OUT_OF_MEMORY)

    def free(self, address: int, *_: Any) -> None:
        self.memory.free(address)

    def host_alloc(self, size: int, *_: Any) -> int:
        if address := self.pinned.allocate(size):
            return address
        raise MemoryError(f"{size} bytes of pinned memory")

    def memcpy(self, to: int, from_: int, size: int, kind: int, *_: Any) -> None:
        if not size:
            return
        if kind == 4:  # cudaMemcpyDefault: whatever the addresses say
            kind = 2 * self.memory.touches(from_) + self.memory.touches(to)
        direction = {1: "H2D", 2: "D2H", 3: "D2D"}.get(kind, "H2H")
        for what, address, place in (("source", from_, direction[0]), ("destination", to, direction[2])):
            require = self.memory.require if place == "D" else self.memory.require_elsewhere
            require(f"{what} of a copy {direction}", address, size)
        self.counts.copies[direction] += 1
        ctypes.memmove(to, from_, size)

    def memset(self, address: int, value: int, size: int, *_: Any) -> None:
        if size:
            self.memory.require("memset", address, size)
            ctypes.memset(address, value, size)

    def memory_type(self, address: int) -> int:
        return 2 if self.memory.holds(address) else 1 if self.pinned.holds(address) else 0

    def pointer_attributes(self, address: int) -> Any:
        from cupy_backends.cuda.api.runtime import PointerAttributes

        kind = self.memory_type(address)
        return PointerAttributes(0 if kind else -2, address if kind else 0, address if kind != 2 else 0, kind)

    def poisoned(self, allocate: Callable[[int], Any]) -> Callable[[int], Any]:
        """An allocator of CuPy's whose memory looks unused even where its pool hands out the same for a second time."""

        @wraps(allocate)
        def poisoning(size: int) -> Any:
            pointer = allocate(size)
            if size:
                ctypes.memset(pointer.ptr, POISON, pointer.mem.size)
            return pointer

        return poisoning

    # ----------------------------------------------------------------------------------- device, streams and events

    def attribute(self, which: int, _device: int) -> int:
        if which in ATTRIBUTES:
            return ATTRIBUTES[which]
        raise cuda_error(INVALID_VALUE)

    def handle(self, *_: Any) -> int:
        return next(self._handles)

    def event_record(self, event: int, _stream: int) -> None:
        self._recorded[event] = perf_counter()

    def event_elapsed(self, start: int, end: int) -> float:
        if {start, end} <= self._recorded.keys():
            return 1e3 * (self._recorded[end] - self._recorded[start])
        raise cuda_error(INVALID_HANDLE)

    def event_destroy(self, event: int) -> None:
        self._recorded.pop(event, None)

    # --------------------------------------------------------------------------------------------------- kernels

    def compiling(self, compile_with_cache: Callable[..., Any]) -> Callable[..., Any]:
        """CuPy's compile function (or its cache on disk), around which the source of the module it loads is known."""
        signature = inspect.signature(compile_with_cache)

        @wraps(compile_with_cache)
        def compiling(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            if given.arguments["backend"] != "nvrtc" or given.arguments["to_ltoir"] or given.arguments["jitify"]:
                raise NotOnHostDevice("a kernel that NVRTC alone does not compile")
            program = Program(self.engine, given.arguments["source"], tuple(given.arguments["options"]))
            outer = getattr(self._compiling, "program", None)
            self._compiling.program = program
            try:
                module = compile_with_cache(*args, **kwargs)
            finally:
                self._compiling.program = outer
            program.expressions = {mangled: written for written, mangled in (module.mapping or {}).items()}
            return module

        return compiling

    def module_load(self, _image: bytes) -> int:
        program = getattr(self._compiling, "program", None)
        if program is None:
            raise NotOnHostDevice("a module whose source is not known")
        self.programs.append(program)
        handle = self.handle()
        self._modules[handle] = program
        return handle

    def module_unload(self, module: int) -> None:
        self._modules.pop(module, None)

    def module_function(self, module: int, name: str) -> int:
        handle = self.handle()
        self._kernels[handle] = self._modules[module].kernel(name)
        return handle

    def launch(self, function: int, *sizes_and_more: int) -> None:
        gx, gy, gz, bx, by, bz, shared, _stream, arguments, _extra = sizes_and_more
        kernel = self._kernels[function]
        self.counts.launches[kernel.name] += 1
        if self.launching:
            kernel.launch((gx, gy, gz), (bx, by, bz), shared, arguments)

    # ------------------------------------------------------------------------------------------------- the tables

    def runtime(self) -> dict[str, Callable[..., Any]]:
        nothing: Callable[..., None] = lambda *_: None  # noqa: E731
        return {
            "_ensure_context": nothing,
            "driverGetVersion": lambda: 13000,
            "getDeviceCount": lambda: 1,
            "getDevice": lambda: 0,
            "setDevice": nothing,
            "deviceGetAttribute": self.attribute,
            "getDeviceProperties": lambda _device: dict(PROPERTIES),
            "deviceSynchronize": nothing,
            "deviceCanAccessPeer": lambda _a, _b: 0,
            "malloc": self.malloc,
            "mallocAsync": self.malloc,
            "free": self.free,
            "freeAsync": self.free,
            "hostAlloc": self.host_alloc,
            "freeHost": self.pinned.free,
            "memGetInfo": lambda: (self.memory.total - self.memory.used, self.memory.total),
            "memcpy": self.memcpy,
            "memcpyAsync": self.memcpy,
            "memset": self.memset,
            "memsetAsync": self.memset,
            "pointerGetMemoryType": self.memory_type,
            "pointerGetAttributes": self.pointer_attributes,
            "streamCreate": self.handle,
            "streamCreateWithFlags": self.handle,
            "streamCreateWithPriority": self.handle,
            "streamDestroy": nothing,
            "streamSynchronize": nothing,
            "streamQuery": nothing,
            "streamWaitEvent": nothing,
            "streamIsCapturing": lambda _stream: 0,
            "eventCreate": self.handle,
            "eventCreateWithFlags": self.handle,
            "eventDestroy": self.event_destroy,
            "eventRecord": self.event_record,
            "eventQuery": nothing,
            "eventSynchronize": nothing,
            "eventElapsedTime": self.event_elapsed,
            "profilerStart": nothing,
            "profilerStop": nothing,
        }

    def driver(self) -> dict[str, Callable[..., Any]]:
        nothing: Callable[..., None] = lambda *_: None  # noqa: E731
        return {
            "ctxGetCurrent": lambda: 1,
            "ctxSetCurrent": nothing,
            "ctxGetDevice": lambda: 0,
            "streamGetCtx": lambda _stream: 1,
            "devicePrimaryCtxRelease": nothing,
            "moduleLoadData": self.module_load,
            "moduleUnload": self.module_unload,
            "moduleGetFunction": self.module_function,
            "launchKernel": self.launch,
            "funcGetAttribute": lambda which, _function: 1024 if which == 0 else 0,  # 0: threads of a block, at most
            "funcSetAttribute": nothing,
            "occupancyMaxActiveBlocksPerMultiprocessor": lambda _function, _threads, _shared: 2,
        }
