"""All kernels of the CuPy backend, compiled by NVRTC for one architecture after the other; that needs no GPU."""

import ctypes
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cupy
import numpy as np
import pytest
from cuda import pathfinder
from cupy.cuda import compiler

from minisig.backends import cupy_kernels

from . import device

WANTED = (75, 80, 90, 120)  # Turing, which is the least that CUDA 13 knows, Ampere, Hopper, Blackwell
DTYPES = ("float32", "float64")


def architectures():
    """Those of them that this NVRTC knows, and its newest."""
    nvrtc = ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path)
    count = ctypes.c_int()
    assert nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)) == 0
    known = (ctypes.c_int * count.value)()
    assert nvrtc.nvrtcGetSupportedArchs(known) == 0
    found = [arch for arch in WANTED if arch in known]
    return found if len(found) == len(WANTED) else [*found, max(known)]


def arguments(kernel, dtype):
    """Of a kernel, as its parameters want them; their values do not matter."""
    for parameter in (*kernel.in_params, *kernel.out_params):
        if parameter.dtype is None:
            yield cupy.empty(4, dtype)
        elif np.dtype(parameter.dtype).kind == "f":
            yield cupy.empty(4, parameter.dtype)
        else:
            yield 4


def raw_kernels():
    """Wherever they are kept: in the module, or in dictionaries there."""
    kept = list(vars(cupy_kernels).values())
    kept += [inner for value in kept if isinstance(value, dict) for inner in value.values()]
    return [kernel for kernel in kept if isinstance(kernel, cupy.RawKernel)]


KERNELS = {
    kernel.name: kernel
    for kernel in vars(cupy_kernels).values()
    if isinstance(kernel, cupy.ElementwiseKernel | cupy.ReductionKernel)
}


def compile_all():
    for dtype in DTYPES:
        for kernel in KERNELS.values():
            given = list(arguments(kernel, dtype))
            # A reduction makes its output itself.
            kernel(*given[: len(kernel.in_params)] if isinstance(kernel, cupy.ReductionKernel) else given)
    for kernel in raw_kernels():
        kernel.compile()


def ours(programs):
    """Sources by the name of their kernel and its type, whatever the number of axes."""
    found = {}
    for program in programs:
        for name in program.kernels:
            if name.startswith("minisig_"):
                kind = "double" if re.search(r"typedef double T|softmax_double", program.source) else "float"
                found[f"{name} {kind}"] = program
    return found


@pytest.fixture(scope="module")
def programs():
    with device.compiling_only():
        compile_all()
    return ours(device.current().programs)


def test_no_kernel_is_forgotten(programs):
    written = set(re.findall(r"minisig_\w+", Path(cupy_kernels.__file__).read_text()))
    compiled = {name.split()[0] for name in programs}
    assert {name for name in written if not any(other.startswith(name) for other in compiled)} == set()
    assert len(KERNELS) >= 11
    for name in ("minisig_sigmoid", "minisig_lstm", "minisig_gru", "minisig_adam", "minisig_norm", "minisig_bilinear"):
        assert {f"{name} float", f"{name} double"} <= programs.keys()
    for name in ("minisig_softmax", "minisig_sigmoid_losses", "minisig_squared_losses"):
        assert {f"{name}_float float", f"{name}_double double"} <= programs.keys()


@pytest.mark.parametrize("arch", architectures())
def test_all_kernels_compile(programs, arch):
    def binary(program):
        return compiler.compile_using_nvrtc(program.source, (*program.options, "-ftz=true"), arch=str(arch))[0]

    with ThreadPoolExecutor(2) as pool:
        for name, made in zip(programs, pool.map(binary, programs.values()), strict=True):
            assert made.startswith(b"\x7fELF"), name


def test_a_broken_kernel_does_not(programs):
    program = programs["minisig_lstm float"]
    for right, wrong in (("tanh(", "tahn("), ("forget * c_prev", "forgot * c_prev"), ("h = out", "h = out->")):
        assert right in program.source
        with pytest.raises(compiler.CompileException):
            compiler.compile_using_nvrtc(program.source.replace(right, wrong), program.options, arch="80")


def test_reductions_compile_with_cub_as_on_a_real_device():
    """Where CuPy prefers kernels of its own that are made with CUB, which the host could not run."""
    device_programs = device.current().programs
    before = len(device_programs)
    accelerators = cupy._core.get_reduction_accelerators()
    cupy._core.set_reduction_accelerators(["cub"])
    try:
        with device.compiling_only():
            for kernel in KERNELS.values():
                if isinstance(kernel, cupy.ReductionKernel):
                    kernel(*[cupy.empty((40, 50), argument.dtype) for argument in arguments(kernel, "float32")][:-1])
    finally:
        cupy._core.set_reduction_accelerators(accelerators)
    made = [program for program in device_programs[before:] if "cub::" in program.source]
    assert len(made) >= sum(isinstance(kernel, cupy.ReductionKernel) for kernel in KERNELS.values())
