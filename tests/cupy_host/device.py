"""The device in its place: `install()` puts it there and imports CuPy; `counting()` says what was done on it."""

import atexit
import importlib
import importlib.util
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from . import build, capi
from .card import Counts, Device, NotOnHostDevice, refusal
from .cublas import Cublas

CUPY = "14.2.0"

# Functions of the two modules that need no device: they stay as they are.
AS_THEY_ARE = {"check_status", "runtimeGetVersion", "_getCUDAMajorVersion", "get_build_version"}

# Modules that hold compiled device code or call a library that is not here: using anything of them is refused.
LIBRARIES = {
    "cupy_backends.cuda.libs.curand": "cuRAND (cupy.random)",
    "cupy_backends.cuda.libs.cusolver": "cuSOLVER (cupy.linalg: qr, svd, solve, inv, …)",
    "cupy_backends.cuda.libs.cusparse": "cuSPARSE (sparse matrices)",
    "cupyx._cusolver": "cuSOLVER",
    "cupy.cuda.cufft": "cuFFT (cupy.fft)",
    "cupy.cuda.thrust": "Thrust (sort, argsort, unique, …)",
}
CUB = ("device_reduce", "device_segmented_reduce", "device_scan", "device_histogram")  # all that runs its compiled code
RANDOM = {  # compiled device code, in modules that CuPy must have imported before they can be taken away
    "cupy.random": "random numbers",
    "cupy.random._bit_generator": "random numbers",
    "cupy.random._generator_api": "random numbers",
}


class CannotInstall(RuntimeError):
    """The device cannot be put in place here."""


class Refused(ModuleType):
    """In the place of a module that is not here; whoever takes anything from it is told so."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(name)
        self.__dict__["_what"] = what

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # which the import system asks of every module
            raise AttributeError(name)
        raise NotOnHostDevice(f"{self._what}, {self.__name__}.{name}")


_device: Device | None = None
_cublas: Cublas | None = None


def install(folder: Path | None = None, *, with_cublas: bool = True) -> ModuleType:
    """Put the device in place and import CuPy, which must not have been imported yet.

    What is compiled is kept in `folder`, by default one of the user's in the temporary directory. Without ours, CuPy
    looks for NVIDIA's cuBLAS.
    """
    global _device, _cublas
    if _device is not None:
        return sys.modules["cupy"]
    _require_version()
    if loaded := sorted(name for name in sys.modules if re.match(r"cupyx?(\.|$)", name)):
        raise CannotInstall(f"the host device must be installed before {loaded[0]} is imported")
    folder = build.default_folder() if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)

    from cupy_backends.cuda.api import driver, runtime

    device = Device(folder)
    close = capi.replace(
        {runtime: _complete(runtime, device.runtime()), driver: _complete(driver, device.driver())}, folder
    )
    cublas = None
    if with_cublas:
        cublas = Cublas(folder, _file_of("cupy_backends.cuda.libs.cublas"))
        importlib.import_module("cupy_backends.cuda.libs.cublas")  # before CuPy searches for NVIDIA's own
    _refuse(LIBRARIES)  # for those who import them, and once more below for CuPy's packages, which are not there yet
    # CUB's compiled reductions are not here; CuPy's own kernels take their place.
    with _environment(CUPY_ACCELERATORS="", CUPY_CACHE_DIR=str(folder / "nvrtc")):
        cupy = importlib.import_module("cupy")
    from cupy.cuda import compiler

    compiler._compile_with_cache_cuda = device.compiling(compiler._compile_with_cache_cuda)
    _refuse(LIBRARIES | RANDOM)
    for name in CUB:
        setattr(cupy.cuda.cub, name, refusal(f"CUB's {name}"))
    cupy.cuda.set_allocator(device.poisoned(cupy.get_default_memory_pool().malloc))
    atexit.register(_leave, close)
    _device, _cublas = device, cublas
    return cupy


def current() -> Device:
    if _device is None:
        raise CannotInstall("the host device is not installed")
    return _device


@contextmanager
def counting() -> Iterator[Counts]:
    """Counts of what is done until the end of the block, all threads together; they are filled in there."""
    counts, before = Counts(), _now()
    try:
        yield counts
    finally:
        done = _now().since(before)
        counts.launches, counts.gemms, counts.copies = done.launches, done.gemms, done.copies


@contextmanager
def compiling_only() -> Iterator[None]:
    """NVRTC compiles, but nothing is launched: arrays keep whatever was in them."""
    device = current()
    device.launching = False
    try:
        yield
    finally:
        device.launching = True


def _now() -> Counts:
    counts = current().counts
    return Counts(counts.launches.copy(), _cublas.calls() if _cublas else Counter(), counts.copies.copy())


def _require_version() -> None:
    """Private names of CuPy are used, so it must be the version whose names they are."""
    spec = importlib.util.find_spec("cupy")
    if spec is None or not spec.submodule_search_locations:
        raise CannotInstall(
            f"the host device needs CuPy {CUPY}, which is not installed: pip install cupy-cuda13x=={CUPY}"
        )
    text = (Path(next(iter(spec.submodule_search_locations))) / "_version.py").read_text()
    version = re.search(r"""__version__ = ['"](.*)['"]""", text)
    if version is None or version[1] != CUPY:
        found = version[1] if version else "an unknown one"
        raise CannotInstall(f"the host device is made for CuPy {CUPY}, not {found}: pip install cupy-cuda13x=={CUPY}")


def _complete(module: ModuleType, functions: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Our functions, and a refusal for all others that would go to the driver."""
    names = capi.replaceable(module).keys() - AS_THEY_ARE
    if unknown := functions.keys() - names:
        raise CannotInstall(f"{module.__name__} has no {', '.join(sorted(unknown))}")
    return {name: functions.get(name) or refusal(name) for name in sorted(names)}


def _refuse(modules: dict[str, str]) -> None:
    for name, what in modules.items():
        package, _, last = name.rpartition(".")
        sys.modules[name] = refused = Refused(name, what)
        if package in sys.modules:
            setattr(sys.modules[package], last, refused)


def _file_of(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise CannotInstall(f"there is no module {module}")
    return Path(spec.origin)


@contextmanager
def _environment(**values: str | None) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    _set_environment(values)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _leave(close: Callable[[], None]) -> None:
    """At the end of the process, while Python still works: give memory back, then leave CuPy's last calls unanswered.

    Arrays that are still alive are destroyed after Python's modules have been emptied, our functions' globals with
    them. The C functions in front of ours stay, and from here on return without asking.
    """
    cupy = sys.modules["cupy"]
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()
    close()
