"""What `--backend cupy` needs: the package, a driver, a device, NVRTC and cuBLAS, checked in this order.

Each check is really tried; the first that fails says what to do. `minisig doctor` shows all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minisig.errors import BackendUnavailable, one_line

INSTALL = "pip install 'minisig[cuda13x]', or 'minisig[cuda12x]' with a driver older than 580"
NO_DRIVER, NO_DEVICE = 35, 100  # CUDA's names: cudaErrorInsufficientDriver, cudaErrorNoDevice


@dataclass(frozen=True)
class Check:
    name: str
    found: str | None  # what is there; None if it fails
    advice: str = ""  # and then, what is wrong and what to do


def checks() -> list[Check]:
    """One after the other, up to the first that fails."""
    done: list[Check] = []
    for name, check in CHECKS.items():
        try:
            done.append(Check(name, check()))
        except Exception as error:  # CuPy's own, the loader's, or whatever a half-installed package raises
            done.append(Check(name, None, _advice(name, error)))
            break
    return done


def require_device(memory: float | None = None) -> None:
    """Raise BackendUnavailable unless all checks pass; limit the memory that CuPy may take, in gigabytes."""
    failed = checks()[-1]
    if failed.found is None:
        raise BackendUnavailable(f"no usable GPU, {failed.advice}")
    if memory is not None:
        import cupy

        cupy.get_default_memory_pool().set_limit(size=int(memory * 1e9))


def _cupy() -> str:
    import cupy

    return f"CuPy {cupy.__version__}"


def _driver() -> str:
    from cupy.cuda import runtime

    version = runtime.driverGetVersion()
    if version == 0:
        raise runtime.CUDARuntimeError(NO_DRIVER)
    return f"for CUDA {version // 1000}.{version % 1000 // 10}"


def _device() -> str:
    from cupy.cuda import runtime

    runtime.getDeviceCount()
    found: dict[str, Any] = runtime.getDeviceProperties(0)
    return f"{found['name'].decode(errors='replace')}, {found['totalGlobalMem'] / 1e9:.0f} GB"


def _nvrtc() -> str:
    import cupy
    from cupy.cuda import nvrtc

    cupy.ElementwiseKernel("float32 x", "float32 y", "y = x", "minisig_check")(cupy.zeros(1, dtype="float32"))
    return "version {}.{}".format(*nvrtc.getVersion())


def _cublas() -> str:
    import cupy

    a = cupy.ones((2, 2), dtype="float32")
    if float((a @ a)[0, 0]) != 2.0:
        raise RuntimeError("a product of two matrices came out wrong")
    return "works"


CHECKS: dict[str, Callable[[], str]] = {
    "cupy": _cupy,
    "driver": _driver,
    "device": _device,
    "nvrtc": _nvrtc,
    "cublas": _cublas,
}


def _advice(name: str, error: Exception) -> str:
    status = getattr(error, "status", None)
    if isinstance(error, ModuleNotFoundError) and error.name == "cupy":
        return f"CuPy is not installed: {INSTALL}"
    if status == NO_DRIVER:
        return "no NVIDIA driver, or one too old for this CuPy: install or update it (nvidia-smi tells its version)"
    if status == NO_DEVICE:
        return "the driver sees no NVIDIA card: check nvidia-smi and CUDA_VISIBLE_DEVICES"
    reason = one_line(error)
    if name == "cupy":
        return f"CuPy is installed but cannot be imported ({reason}): uninstall it, then {INSTALL}"
    if name == "nvrtc":
        return f"NVRTC, which compiles CuPy's kernels, does not work ({reason}): {INSTALL}"
    if name == "cublas":
        return f"cuBLAS does not work ({reason}): {INSTALL}"
    return f"{name}: {reason}"
