"""Whatever goes wrong on the host device is raised, and what it does not have is refused."""

import cupy
import numpy as np
import pytest
from cupy import cublas
from cupy.cuda.compiler import CompileException
from cupy.cuda.memory import OutOfMemoryError
from cupy_backends.cuda.libs.cublas import CUBLASError

from .build import BuildFailed
from .card import TOTAL_MEMORY, NotOnHostDevice
from .execute import LaunchFailed
from .memory import WrongAddress


def raw(body, name="broken"):
    return cupy.RawKernel(f'extern "C" __global__ void {name}(float* x) {{ {body} }}', name)


def still_works():
    return float(cupy.arange(600.0).sum()) == 600 * 599 / 2


def test_wrong_cuda_is_refused_by_nvrtc():
    with pytest.raises(CompileException, match='identifier "y" is undefined'):
        raw("x[0] = y;")((1,), (1,), (cupy.zeros(1, dtype="float32"),))
    with pytest.raises(CompileException):
        cupy.ElementwiseKernel("T x", "T y", "y = no_such_function(x)", "broken_elementwise")(cupy.zeros(1))


def test_what_the_host_cannot_compile_is_raised():
    kernel = raw('unsigned lane; asm("mov.u32 %0, %laneid;" : "=r"(lane)); x[0] = lane;', "assembly")
    with pytest.raises(BuildFailed, match="the host compiler refuses assembly"):
        kernel((1,), (1,), (cupy.zeros(1, dtype="float32"),))
    with pytest.raises(BuildFailed, match="complex<float>"):
        cupy.ones(3, dtype="complex64")
    assert still_works()


@pytest.mark.parametrize("barrier", ["", "__syncthreads();"])
def test_a_kernel_that_fails_is_raised_and_the_next_one_runs(barrier):
    kernel = raw(f"{barrier} assert(threadIdx.x != 3); {barrier} x[threadIdx.x] = 1;")
    with pytest.raises(LaunchFailed, match=r"broken: assertion failed: threadIdx\.x != 3.*thread \(3, 0, 0\)"):
        kernel((1,), (8,), (cupy.zeros(8, dtype="float32"),))
    assert still_works()
    raw(f"{barrier} x[threadIdx.x] = 1;")((1,), (8,), (cupy.zeros(8, dtype="float32"),))


def test_threads_that_wait_for_each_other_for_ever_are_raised():
    with pytest.raises(LaunchFailed, match="deadlock"):
        raw("if (threadIdx.x) __syncwarp(); else __syncthreads();")((1,), (32,), (cupy.zeros(1, dtype="float32"),))
    assert still_works()


def own_piece(floats=256):
    """Numbers that fill a piece of memory: not from the pool, where the neighbours of an array may be another's."""
    return cupy.ndarray(floats, "float32", cupy.cuda.MemoryPointer(cupy.cuda.Memory(4 * floats), 0))


@pytest.mark.parametrize("barrier", ["", "__syncthreads();"])
@pytest.mark.parametrize("access", ["x[256] = 1;", "x[0] = x[256];", "*(int*)0 = 1;"])
def test_memory_that_is_not_there_is_raised(barrier, access):
    with pytest.raises(LaunchFailed, match=r"broken: no memory at .*, block \(0, 0, 0\), thread \(5, 0, 0\)"):
        raw(f"{barrier} if (threadIdx.x == 5) {{ {access} }} {barrier}")((2,), (64,), (own_piece(),))
    assert still_works()


def test_the_end_of_a_piece_of_memory_can_be_touched():
    x = own_piece()
    raw("x[255] = 1;")((1,), (1,), (x,))
    assert float(x[255]) == 1


def test_a_stack_that_overflows_is_raised():
    source = r"""
    __device__ int deep(int n) { volatile int here[256]; here[0] = n; return n ? deep(n - 1) + here[0] : 0; }
    extern "C" __global__ void deeper(float* x) { __syncthreads(); x[0] = deep(100000); }"""
    with pytest.raises(LaunchFailed, match="deeper: no memory at"):
        cupy.RawKernel(source, "deeper")((1,), (2,), (cupy.zeros(1, dtype="float32"),))
    assert still_works()


@pytest.mark.parametrize(("grid", "block"), [((1,), (1025,)), ((1, 70000), (1,)), ((1,), (8, 8, 128))])
def test_launches_that_no_device_takes_are_raised(grid, block):
    with pytest.raises(LaunchFailed, match="no device has"):
        raw("x[0] = 0;")(grid, block, (cupy.zeros(1, dtype="float32"),))


def test_too_much_memory_is_cupys_own_error():
    with pytest.raises(OutOfMemoryError):
        cupy.empty(TOTAL_MEMORY, dtype="float64")
    assert still_works()


def test_errors_of_other_calls_are_raised_too():
    """One for each type that the C functions return: a pointer above, here a number, a real number and an object."""
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="invalid argument"):
        cupy.cuda.runtime.deviceGetAttribute(9999, 0)
    assert cupy.cuda.Device(0).attributes["MaxThreadsPerBlock"] == 1024  # CuPy asks for all and leaves errors out
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="invalid resource handle"):
        cupy.cuda.get_elapsed_time(cupy.cuda.Event(), cupy.cuda.Event())
    with pytest.raises(NotOnHostDevice):
        cupy.cuda.runtime.mallocManaged(8)


def not_the_devices(size=64):
    """An array that says it is on the device."""
    host = np.zeros(size)
    memory = cupy.cuda.UnownedMemory(host.ctypes.data, host.nbytes, host, device_id=0)
    return cupy.ndarray(size, memptr=cupy.cuda.MemoryPointer(memory, 0))


def test_copies_from_and_to_memory_that_is_not_the_devices_are_raised():
    wrong = not_the_devices()
    with pytest.raises(WrongAddress, match="source of a copy D2H"):
        wrong.get()
    with pytest.raises(WrongAddress, match="destination of a copy H2D"):
        wrong.set(np.ones(64))
    with pytest.raises(WrongAddress, match="source of a copy D2D"):
        cupy.cuda.runtime.memcpy(cupy.empty(1).data.ptr, wrong.data.ptr, 8, 3)
    with pytest.raises(WrongAddress, match="memset"):
        wrong.data.memset(0, 8)


def test_copies_beyond_the_end_and_from_freed_memory_are_raised():
    block = cupy.cuda.Memory(1024)  # not from the pool
    into = np.empty(2048, dtype="uint8")
    pointer = cupy.cuda.MemoryPointer(block, 0)
    pointer.copy_to_host(into.ctypes.data, 1024)
    with pytest.raises(WrongAddress, match="1025 bytes"):
        pointer.copy_to_host(into.ctypes.data, 1025)
    with pytest.raises(WrongAddress, match="destination of a copy D2H"):
        pointer.copy_to_host(pointer.ptr, 8)
    address = block.ptr
    del block, pointer
    with pytest.raises(WrongAddress):
        cupy.cuda.runtime.memcpy(into.ctypes.data, address, 8, 2)
    with pytest.raises(WrongAddress, match="free"):
        cupy.cuda.runtime.free(address)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_memory_that_was_not_written_reads_as_nan(dtype):
    for _ in range(3):  # also where the pool hands out the same memory again
        a = cupy.empty(1000, dtype=dtype)
        assert bool(cupy.isnan(a).all())
        a[...] = 1.0
    assert int(cupy.empty(1, dtype="int64")[0]) == -1


REFUSED = {
    "random numbers": lambda: cupy.random.default_rng(0),
    "random numbers of old": lambda: cupy.random.RandomState(0).normal(size=3),
    "random numbers of the module": lambda: cupy.random.standard_normal(3),
    "random bits": lambda: __import__("cupy.random._bit_generator", fromlist=["XORWOW"]).XORWOW(0),
    "sort": lambda: cupy.sort(cupy.arange(3)),
    "sort in place": lambda: cupy.arange(3).sort(),
    "argsort": lambda: cupy.argsort(cupy.arange(3)),
    "unique": lambda: cupy.unique(cupy.arange(3)),
    "median": lambda: cupy.median(cupy.arange(3.0)),
    "qr": lambda: cupy.linalg.qr(cupy.eye(3)),
    "svd": lambda: cupy.linalg.svd(cupy.eye(3)),
    "solve": lambda: cupy.linalg.solve(cupy.eye(3), cupy.ones(3)),
    "inv": lambda: cupy.linalg.inv(cupy.eye(3)),
    "eigh": lambda: cupy.linalg.eigh(cupy.eye(3)),
    "spectral norm": lambda: cupy.linalg.norm(cupy.eye(3), 2),
    "fft": lambda: cupy.fft.fft(cupy.ones(4)),
    "rfft2": lambda: cupy.fft.rfft2(cupy.ones((4, 4))),
    "graphs": lambda: cupy.cuda.Stream(non_blocking=True).begin_capture(),
    "textures": lambda: cupy.cuda.runtime.mallocArray(0, 4, 4),
    "managed memory": lambda: cupy.cuda.malloc_managed(8),
    "a cubin of one's own": lambda: cupy.cuda.driver.moduleLoadData(b"\x7fELF"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_here_is_refused(name):
    with pytest.raises(NotOnHostDevice, match="not on the host device"):
        REFUSED[name]()


def test_cubs_compiled_reductions_are_refused():
    accelerators = cupy._core.get_routine_accelerators()
    cupy._core.set_routine_accelerators(["cub"])
    try:
        for attempt in (lambda a: a.sum(), lambda a: a.max(axis=1), lambda a: a.ravel().cumsum()):
            with pytest.raises(NotOnHostDevice, match="CUB's device_"):
                attempt(cupy.ones((20, 30)))
    finally:
        cupy._core.set_routine_accelerators(accelerators)


def test_sparse_products_are_refused():
    import cupyx.scipy.sparse

    with pytest.raises(NotOnHostDevice, match="not on the host device"):
        cupyx.scipy.sparse.csr_matrix(cupy.eye(3)) @ cupy.ones(3)


def test_other_functions_of_cublas_are_refused(capfd):
    with pytest.raises(CUBLASError, match="NOT_SUPPORTED"):
        cublas.axpy(2.0, cupy.ones(3), cupy.ones(3))
    assert "cublasDaxpy_v2 is not on the host device" in capfd.readouterr().err
    with pytest.raises(CUBLASError, match="NOT_SUPPORTED"):
        cupy.ones((2, 2), dtype="float16") @ cupy.ones((2, 2), dtype="float16")
