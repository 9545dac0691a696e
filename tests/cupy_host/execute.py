"""Kernels on the host: compiled by g++ from the source that NVRTC has accepted, launched by the engine."""

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from .build import HERE, shared_library

INCLUDE = HERE / "include"
FLAGS = ("-O1", "-w", f"-I{INCLUDE}")
MAX_THREADS = 1024
MAX_BLOCKS = (2**31 - 1, 65535, 65535)

BARRIER = re.compile(r"\b__(sync(threads|warp)|shfl_|ballot_sync|any_sync|all_sync)")
DYNAMIC_SHARED = re.compile(r"extern\s+__shared__\s+([\w\s]+?)\s+(\w+)\s*\[\s*\]\s*;")


class LaunchFailed(RuntimeError):
    """A kernel could not be launched, or failed while it ran."""


class Engine:
    """engine.cpp, whose symbols the kernels refer to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = shared_library(folder, (HERE / "engine.cpp").read_text(), name="engine", flags=("-O2",))
        # PyDLL: the GIL is held while a kernel runs, so that there is one kernel at a time.
        self.library = ctypes.PyDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        self.launch = self.library.host_launch
        self.launch.restype = ctypes.c_char_p
        self.launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]


@dataclass(eq=False)
class Program:
    """One source as CuPy gave it to NVRTC, with the options; it may hold several kernels."""

    engine: Engine
    source: str
    options: tuple[str, ...]
    expressions: dict[str, str] = field(default_factory=dict)  # of kernels that are templates, by their mangled names
    kernels: dict[str, "Kernel"] = field(default_factory=dict)

    def kernel(self, name: str) -> "Kernel":
        if name not in self.kernels:
            self.kernels[name] = Kernel(self, name)
        return self.kernels[name]


@dataclass(eq=False)
class Kernel:
    program: Program
    name: str  # as the driver knows it, mangled if it is a template

    @cached_property
    def barriers(self) -> bool:
        return BARRIER.search(self.program.source) is not None

    @cached_property
    def library(self) -> ctypes.CDLL:
        program = self.program
        expression = program.expressions.get(self.name, self.name)
        source = (
            f"#include <cudahost.h>\n{for_the_host(program.source)}\n"
            f'extern "C" void host_entry(void** arguments) {{ host_call(&{expression}, arguments); }}\n'
        )
        flags = (*FLAGS, *(o for o in program.options if o.startswith(("-I", "-D", "-U"))))
        return ctypes.CDLL(
            str(shared_library(program.engine.folder, source, name=self.name, flags=flags, extra=_headers()))
        )

    @cached_property
    def entry(self) -> ctypes.c_void_p:
        return ctypes.cast(self.library.host_entry, ctypes.c_void_p)

    def launch(self, grid: Sequence[int], block: Sequence[int], shared: int, arguments: int) -> None:
        """Run all of it; `arguments` points to pointers to the arguments."""
        if not all(0 < n <= most for n, most in zip(grid, MAX_BLOCKS, strict=True)):
            raise LaunchFailed(f"{self.name}: no device has a grid of {tuple(grid)} blocks")
        if not 0 < block[0] * block[1] * block[2] <= MAX_THREADS or block[2] > 64:
            raise LaunchFailed(f"{self.name}: no device has a block of {tuple(block)} threads")
        sizes = (ctypes.c_uint * 6)(*grid, *block)
        failure = self.program.engine.launch(self.entry, arguments, sizes, shared, self.barriers)
        if failure:
            raise LaunchFailed(f"{self.name}: {failure.decode(errors='replace')}")


def for_the_host(source: str) -> str:
    """CUDA's one construct that no macro can express: `extern __shared__ T name[]`, memory sized by the launch."""
    return DYNAMIC_SHARED.sub(r"\1* \2 = reinterpret_cast<\1*>(host_dynamic_shared);", source)


@cache
def _headers() -> str:
    return "\0".join(path.read_text() for path in sorted(INCLUDE.rglob("*.*")))
