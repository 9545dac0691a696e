"""The host device itself: what CuPy computes on it. What goes wrong is in test_refusals.py."""

import cupy
import cupyx
import cupyx.scipy.ndimage
import cupyx.scipy.special
import numpy as np
import pytest
import scipy.ndimage
import scipy.special


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
