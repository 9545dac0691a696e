"""The host device itself: what CuPy computes on it, and that whatever goes wrong is raised."""

import warnings

import cupy
import cupyx
import cupyx.scipy.ndimage
import cupyx.scipy.special
import numpy as np
import pytest
import scipy.ndimage
import scipy.special
from cupy import cublas
from cupy.cuda.compiler import CompileException
from cupy.cuda.memory import OutOfMemoryError
from cupy_backends.cuda.libs.cublas import CUBLASError

from . import device
from .build import BuildFailed
from .card import TOTAL_MEMORY, NotOnHostDevice
from .execute import LaunchFailed
from .memory import WrongAddress


def draw(*shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def special(xp):
    return scipy.special if xp is np else cupyx.scipy.special


def ndimage(xp):
    return scipy.ndimage if xp is np else cupyx.scipy.ndimage


def index(xp, *numbers):
    return xp.asarray(np.array(numbers))


def added_at(xp, a):
    into = xp.zeros((4, a.shape[1]), dtype=a.dtype)
    xp.add.at(into, index(xp, 0, 1, 1, 3, 1), a)
    return into


def put(xp, a):
    a = a.copy()
    a[index(xp, 0, 2), index(xp, 1, 1)] = 7.0
    a[a < 0] = -1.0
    a[:, -1] += a[:, 0]
    return a


# Every one is run twice, on NumPy's arrays and on the device's: a (5, 7), b (7, 4), t (3, 5, 7), u (3, 7, 2).
OPERATIONS = {
    "matmul": lambda xp, a, b, t, u: a @ b,
    "matmul of transposed views": lambda xp, a, b, t, u: b.T @ a.T,
    "matmul out": lambda xp, a, b, t, u: xp.matmul(a, b, out=xp.empty((5, 4), dtype=a.dtype)),
    "matmul of strided views": lambda xp, a, b, t, u: a[:, ::2] @ b[::2],
    "matmul of a stack": lambda xp, a, b, t, u: t @ u,
    "matrix times vector": lambda xp, a, b, t, u: a @ b[:, 0],
    "vector times vector": lambda xp, a, b, t, u: a[0] @ a[1],
    "einsum": lambda xp, a, b, t, u: xp.einsum("bij,bjk->bik", t, u),
    "tensordot": lambda xp, a, b, t, u: xp.tensordot(a, b, 1),
    "outer": lambda xp, a, b, t, u: xp.outer(a[0], a[1]),
    "arithmetic": lambda xp, a, b, t, u: (2 * a - 1) / (a * a + 1) - a**3,
    "broadcasting": lambda xp, a, b, t, u: a + a[0] * a[:, :1],
    "in place": lambda xp, a, b, t, u: xp.multiply(a, 2, out=a.copy()),
    "exp log sqrt": lambda xp, a, b, t, u: xp.exp(a) + xp.log(xp.abs(a)) + xp.sqrt(xp.abs(a)),
    "tanh sin cos": lambda xp, a, b, t, u: xp.tanh(a) + xp.sin(a) * xp.cos(a),
    "floor rint sign": lambda xp, a, b, t, u: xp.floor(a) + xp.rint(a) + xp.sign(a),
    "maximum minimum clip": lambda xp, a, b, t, u: xp.maximum(a, 0) + xp.minimum(a, 0.5) + a.clip(-1, 1),
    "where": lambda xp, a, b, t, u: xp.where(a > 0, a, 0.1 * a),
    "comparisons": lambda xp, a, b, t, u: (a > 0) & ~(a > 1) | (a == 0),
    "integers": lambda xp, a, b, t, u: (100 * a).astype("int64") // 7 % 5,
    "half precision": lambda xp, a, b, t, u: (a.astype("float16") * 2).astype("float32"),
    "double precision": lambda xp, a, b, t, u: xp.tanh(a.astype("float64")),
    "sum": lambda xp, a, b, t, u: a.sum(),
    "sum of rows": lambda xp, a, b, t, u: a.sum(axis=0),
    "sum of two axes": lambda xp, a, b, t, u: t.sum(axis=(0, 2)),
    "sum in double precision": lambda xp, a, b, t, u: a.sum(dtype="float64"),
    "mean var std": lambda xp, a, b, t, u: xp.stack([a.mean(axis=1), a.var(axis=1), a.std(axis=1)]),
    "max min prod": lambda xp, a, b, t, u: xp.stack([a.max(axis=0), a.min(axis=0), a.prod(axis=0)]),
    "argmax argmin": lambda xp, a, b, t, u: xp.stack([a.argmax(axis=1), a.argmin(axis=1)]),
    "any all": lambda xp, a, b, t, u: xp.stack([(a > 1).any(axis=1), (a > -1).all(axis=1)]),
    "isfinite": lambda xp, a, b, t, u: xp.isfinite(a / (a > 0)),
    "norm": lambda xp, a, b, t, u: xp.linalg.norm(a),
    "cumsum": lambda xp, a, b, t, u: a.cumsum(axis=1),
    "long cumsum": lambda xp, a, b, t, u: xp.tile(a.ravel(), 40).cumsum(),
    "long sum": lambda xp, a, b, t, u: xp.tile(a.ravel(), 300).sum(dtype="float64"),
    "softmax": lambda xp, a, b, t, u: (
        xp.exp(a - a.max(1, keepdims=True)) / xp.exp(a - a.max(1)[:, None]).sum(1)[:, None]
    ),
    "take": lambda xp, a, b, t, u: xp.take(a, index(xp, 4, 0, 4), axis=0),
    "rows by number": lambda xp, a, b, t, u: a[index(xp, 4, 0, 4)],
    "entries by number": lambda xp, a, b, t, u: a[index(xp, 0, 2), index(xp, 1, 1)],
    "entries by mask": lambda xp, a, b, t, u: a[a > 0],
    "nonzero": lambda xp, a, b, t, u: xp.nonzero(a > 0)[1],
    "assignments": lambda xp, a, b, t, u: put(xp, a),
    "add.at": lambda xp, a, b, t, u: added_at(xp, a),
    "concatenate stack": lambda xp, a, b, t, u: xp.concatenate([xp.stack([a, 2 * a]), t], axis=0),
    "pad roll flip": lambda xp, a, b, t, u: xp.roll(xp.pad(a, 1), 2, axis=1)[::-1],
    "transpose reshape": lambda xp, a, b, t, u: t.transpose(2, 0, 1).reshape(7, -1).copy(),
    "arange linspace eye": lambda xp, a, b, t, u: xp.arange(5.0) + xp.linspace(0, 1, 5) + xp.eye(5),
    "erf expit": lambda xp, a, b, t, u: special(xp).erf(a) + special(xp).expit(a),
    "gaussian_filter": lambda xp, a, b, t, u: ndimage(xp).gaussian_filter(a, 1.0),
    "map_coordinates": lambda xp, a, b, t, u: ndimage(xp).map_coordinates(a, xp.abs(b[:2]), order=1),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_give_what_numpy_gives(name):
    arrays = draw(5, 7), draw(7, 4, seed=1), draw(3, 5, 7, seed=2), draw(3, 7, 2, seed=3)
    with np.errstate(divide="ignore"):
        expected = np.asarray(OPERATIONS[name](np, *arrays))
    found = OPERATIONS[name](cupy, *map(cupy.asarray, arrays))
    assert isinstance(found, cupy.ndarray)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found.get(), expected, rtol=1e-5, atol=1e-5)


def test_large_products_are_right_and_go_to_blas():
    a, b = draw(300, 500, dtype="float64"), draw(500, 200, seed=1, dtype="float64")
    np.testing.assert_allclose((cupy.asarray(a) @ cupy.asarray(b)).get(), a @ b, atol=1e-11)


def test_numpys_arrays_are_refused_as_on_a_real_device():
    a = cupy.ones(3)
    for attempt in (lambda: a + np.ones(3), lambda: np.add(np.ones(3), a), lambda: np.asarray(a)):
        with pytest.raises(TypeError):
            attempt()
    with pytest.raises(ValueError, match="cannot be used for fill"):
        a[:] = np.ones(3)


# ------------------------------------------------------------------------------------------------------------ kernels

ROW_SUMS = r"""
extern "C" __global__ void row_sums(const float* x, float* y, int columns) {
    extern __shared__ float sums[];
    float sum = 0;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) sum += x[blockIdx.x * columns + j];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}
"""

# One warp works on while the others already wait at the barrier, which must hold them until it comes.
ONE_WARP_SUMS = r"""
extern "C" __global__ void one_warp_sums(const float* x, float* y) {
    __shared__ float total;
    if (threadIdx.x < 32) {
        float sum = x[threadIdx.x];
        for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffff, sum, half);
        if (threadIdx.x == 0) total = sum;
    }
    __syncthreads();
    y[threadIdx.x] = total;
}
"""

WARP = r"""
extern "C" __global__ void warp(int* out) {
    const int i = threadIdx.x;
    const unsigned all = 0xffffffff;
    out[i] = __shfl_sync(all, i, 3);
    out[32 + i] = __shfl_up_sync(all, i, 2);
    out[64 + i] = __shfl_down_sync(all, i, 2, 8);
    out[96 + i] = __shfl_xor_sync(all, i, 5);
    out[128 + i] = (int)__ballot_sync(all, i % 2);
    out[160 + i] = 2 * __any_sync(all, i == 40) + __all_sync(all, i < 32);
}
"""

TEMPLATE = r"""
template <typename T> __global__ void doubled(const T* x, T* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""


def test_threads_of_a_block_meet_at_barriers_and_share_memory():
    x = draw(5, 70)
    y = cupy.empty(5, dtype="float32")
    kernel = cupy.RawKernel(ROW_SUMS, "row_sums")
    kernel((5,), (32,), (cupy.asarray(x), y, np.int32(70)), shared_mem=128)
    np.testing.assert_allclose(y.get(), x.sum(axis=1), rtol=1e-5)


def test_a_warp_may_be_ahead_of_the_others():
    x, y = cupy.arange(32, dtype="float32"), cupy.empty(1024, dtype="float32")
    cupy.RawKernel(ONE_WARP_SUMS, "one_warp_sums")((1,), (1024,), (x, y))
    np.testing.assert_array_equal(y.get(), 31 * 32 / 2)


def test_warp_operations_are_cudas():
    out = cupy.empty((6, 32), dtype="int32")
    cupy.RawKernel(WARP, "warp")((1,), (32,), (out,))
    i = np.arange(32)
    expected = [np.full(32, 3), np.where(i < 2, i, i - 2), np.where(i % 8 < 6, i + 2, i), i ^ 5]
    expected += [np.full(32, 0xAAAAAAAA).astype("uint32").view("int32")[::2][:1].repeat(32), np.full(32, 1)]
    np.testing.assert_array_equal(out.get(), expected)


def test_templates_and_grids_of_several_axes():
    x = draw(100, dtype="float64")
    y = cupy.empty(100)
    module = cupy.RawModule(code=TEMPLATE, name_expressions=["doubled<float>", "doubled<double>"])
    module.get_function("doubled<double>")((4,), (32,), (cupy.asarray(x), y, np.int32(100)))
    np.testing.assert_array_equal(y.get(), 2 * x)
    where = r"""extern "C" __global__ void where(int* out) {
        const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        out[block * blockDim.x * blockDim.y * blockDim.z + thread] = 100 * block + thread;
    }"""
    out = cupy.empty((24, 30), dtype="int32")
    cupy.RawKernel(where, "where")((2, 3, 4), (5, 3, 2), (out,))
    np.testing.assert_array_equal(out.get(), 100 * np.arange(24)[:, None] + np.arange(30))


def test_fused_and_reduction_kernels():
    a = draw(5, 7)

    @cupy.fuse()
    def fused(x, y):
        return cupy.tanh(x) * y + 1

    np.testing.assert_allclose(fused(cupy.asarray(a), cupy.asarray(a)).get(), np.tanh(a) * a + 1, rtol=1e-6)
    squares = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "squares")
    np.testing.assert_allclose(squares(cupy.asarray(a), axis=1).get(), (a * a).sum(axis=1), rtol=1e-5)


# -------------------------------------------------------------------------------------------------------- what is wrong


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


@pytest.mark.parametrize("barrier", ["", "__syncthreads();"])
@pytest.mark.parametrize("access", ["x[1 << 28] = 1;", "x[0] = x[-(1 << 28)];", "*(int*)0 = 1;"])
def test_memory_that_is_not_there_is_raised(barrier, access):
    with pytest.raises(LaunchFailed, match=r"broken: no memory at .*, block \(0, 0, 0\), thread \(5, 0, 0\)"):
        raw(f"{barrier} if (threadIdx.x == 5) {{ {access} }} {barrier}")((2,), (64,), (cupy.zeros(1, dtype="float32"),))
    assert still_works()


def test_the_end_of_a_piece_of_memory_is_its_end():
    block = cupy.cuda.Memory(1024)
    x = cupy.ndarray(256, dtype="float32", memptr=cupy.cuda.MemoryPointer(block, 0))
    raw("x[255] = 1;")((1,), (1,), (x,))
    with pytest.raises(LaunchFailed, match="no memory at"):
        raw("x[256] = 1;")((1,), (1,), (x,))


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


# --------------------------------------------------------------------------------------------------- cuBLAS, counting


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("where", ["host", "alpha on the device", "both on the device"])
def test_gemm_takes_its_factors_from_either_side(dtype, where):
    a, b, c = draw(4, 6, dtype=dtype), draw(6, 3, seed=1, dtype=dtype), draw(4, 3, seed=2, dtype=dtype)
    expected = -0.3 * (a @ b) + 0.9 * c
    alpha = -0.3 if where == "host" else cupy.array(-0.3, dtype=dtype)
    beta = cupy.array(0.9, dtype=dtype) if where == "both on the device" else 0.9
    out = cupy.asarray(c)
    cublas.gemm("N", "N", cupy.asarray(a), cupy.asarray(b), out=out, alpha=alpha, beta=beta)
    np.testing.assert_allclose(out.get(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gemm_with_beta_zero_does_not_read_the_output(dtype):
    a = cupy.asarray(draw(4, 4, dtype=dtype))
    out = cupy.full((4, 4), np.nan, dtype=dtype)
    cublas.gemm("N", "T", a, a, out=out, beta=0.0)
    np.testing.assert_allclose(out.get(), a.get() @ a.get().T, rtol=1e-5)


def test_launches_products_and_copies_are_counted():
    a = cupy.ones((4, 4), dtype="float32")
    kernel = cupy.ElementwiseKernel("T x", "T y", "y = 3 * x", "tripled")
    with device.counting() as counts:
        kernel(kernel(a))
        (a + a).get()
        cublas.gemm("N", "N", a, a)
        cupy.asarray(np.ones(3))
        a.data.copy_from_device(a.data + 32, 16)
    assert counts.launches == {"tripled": 2, "cupy_add__float32_float32_float32": 1}
    assert counts.gemms == {"cublasSgemm_v2": 1}
    assert counts.copies == {"D2H": 1, "H2D": 1, "D2D": 1}
    with device.counting() as inner:
        pass
    assert not inner.launches
    assert not inner.gemms
    assert not inner.copies


def test_waiting_for_the_device_can_be_forbidden():
    a = cupy.ones((3, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CuPy's own, that some waits go unnoticed
        with cupyx.allow_synchronize(False):
            b = a @ a + a.sum()
            for wait in (lambda: float(b[0, 0]), b.get, lambda: bool(b[0, 0] > 0), lambda: cupy.asnumpy(b)):
                with pytest.raises(cupyx.DeviceSynchronized):
                    wait()
    assert float(b[0, 0]) == 12


def test_streams_events_and_threads():
    from concurrent.futures import ThreadPoolExecutor

    with cupy.cuda.Stream() as stream:
        start, end = stream.record(), None
        a = cupy.ones(10) * 2
        end = stream.record()
        end.synchronize()
    assert cupy.cuda.get_elapsed_time(start, end) >= 0
    with ThreadPoolExecutor(4) as pool:  # kernels with fibers, products and copies from several threads at once
        x = draw(64, 64)
        done = pool.map(lambda i: float((cupy.asarray(x) @ cupy.asarray(x).T * i).sum(dtype="float64")), range(12))
        np.testing.assert_allclose(list(done), (x @ x.T).sum(dtype="float64") * np.arange(12), rtol=1e-4)
    assert float(a.sum()) == 20
