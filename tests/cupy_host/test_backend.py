"""Every primitive of the CuPy backend against NumPy's, which tests/backends checks on its own."""

import cupy
import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.backends.device import CHECKS, checks

pytestmark = pytest.mark.gpu


@pytest.fixture
def gpu(dtype):
    return get_backend("cupy", dtype)


@pytest.fixture
def cpu(dtype):
    return get_backend("numpy", dtype)


def draw(dtype, *shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def on_device(*arrays):
    """Copies, which may be overwritten."""
    copies = tuple(cupy.asarray(a) for a in arrays)
    return copies if len(copies) > 1 else copies[0]


def close(found, expected, dtype, terms=1, scale=1.0):
    """Up to the rounding of sums of so many terms of this size, in different orders."""
    assert isinstance(found, cupy.ndarray)
    assert found.dtype == dtype
    atol = 8 * np.sqrt(terms) * np.finfo(dtype).eps * scale
    np.testing.assert_allclose(cupy.asnumpy(found), expected, rtol=20 * np.finfo(dtype).eps, atol=atol)


def scalar(found, expected, dtype, terms=1, least=0.0):
    assert isinstance(found, cupy.ndarray)
    assert found.shape == ()
    assert float(found) == pytest.approx(float(expected), rel=8 * np.sqrt(terms) * np.finfo(dtype).eps, abs=least)


# ----------------------------------------------------------------------------------------------------- to and fro


def test_every_check_of_the_device_passes():
    done = checks()
    assert [check.name for check in done] == list(CHECKS)
    assert all(check.found for check in done)
    assert done[2].found == "host device, 2 GB"


def test_the_memory_that_may_be_taken_is_limited():
    pool = cupy.get_default_memory_pool()
    try:
        get_backend("cupy", memory=0.25)
        assert pool.get_limit() == 250_000_000
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
            cupy.empty(300_000_000, dtype="uint8")
    finally:
        pool.set_limit(size=0)


@pytest.mark.parametrize(
    "values",
    [[[1, 2], [3, 4]], np.arange(6).reshape(2, 3).T, np.arange(12.0).reshape(3, 4)[:, ::2], 3.0, np.zeros((0, 3))],
)
def test_asarray_and_to_host(gpu, cpu, values):
    a, expected = gpu.asarray(values), cpu.asarray(values)
    assert a.flags.c_contiguous
    assert (a.dtype, a.shape) == (expected.dtype, expected.shape)
    back = gpu.to_host(a)
    assert type(back) is np.ndarray
    np.testing.assert_array_equal(back, expected)


@pytest.mark.parametrize("other", ["float32", "float64", "int64"])
def test_asarray_of_an_array_on_the_device_stays_there(gpu, other, counting):
    a = cupy.arange(6).reshape(2, 3).T.astype(other)
    with counting() as counts:
        b = gpu.asarray(a)
    assert not counts.copies
    assert b.flags.c_contiguous
    assert b.dtype == gpu.dtype
    np.testing.assert_array_equal(b.get(), [[0, 3], [1, 4], [2, 5]])


def test_asarray_of_what_is_right_already_does_nothing(gpu, counting):
    a = gpu.asarray([[1.0, 2.0]])
    with counting() as counts:
        assert gpu.asarray(a) is a or gpu.asarray(a).data.ptr == a.data.ptr
    assert not counts.launches


def test_floats_come_in_one_transfer(gpu, counting):
    scalars = [gpu.norm(gpu.asarray([3.0, 4.0])), gpu.norm(gpu.asarray([1.0]))]
    with counting() as counts:
        assert gpu.floats(scalars) == [5.0, 1.0]
    assert counts.copies == {"D2H": 1}


def test_no_floats_are_none(gpu, cpu):
    assert gpu.floats([]) == cpu.floats([]) == []


# ------------------------------------------------------------------------------------------------------- products

LAYOUTS = {
    "rows": lambda a: a,
    "columns": lambda a: a.T.copy().T,
    "strided": lambda a: a.repeat(2, axis=1)[:, ::2],
}


@pytest.mark.parametrize("layout_b", LAYOUTS)
@pytest.mark.parametrize("layout_a", LAYOUTS)
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (-0.1, 0.9), (2.0, 1.0)])
def test_gemm(gpu, dtype, layout_a, layout_b, alpha, beta):
    a, b, c = draw(dtype, 7, 5), draw(dtype, 5, 3, seed=1), draw(dtype, 7, 3, seed=2)
    into = on_device(c)
    gpu.gemm(alpha, LAYOUTS[layout_a](on_device(a)), LAYOUTS[layout_b](on_device(b)), beta, into)
    close(into, alpha * (a @ b) + beta * c, dtype, terms=5)


@pytest.mark.parametrize("beta", [0.0, 0.9, 1.0])
def test_gemm_takes_alpha_from_the_device(gpu, cpu, dtype, beta):
    x, dz, v = draw(dtype, 50, 4), draw(dtype, 50, 6, seed=1), draw(dtype, 4, 6, seed=2)
    alpha = -0.01 * gpu.clip_factor([cupy.array(4.0)], 1.0)
    assert alpha.dtype == dtype
    into = on_device(v)
    gpu.gemm(alpha, on_device(x).T, on_device(dz), beta, into)
    cpu.gemm(-0.01 * 0.25, x.T, dz, beta, v)
    close(into, v, dtype, terms=50)


def test_gemm_with_alpha_on_the_device_takes_nothing_from_the_host(gpu, dtype, counting):
    """β has to be there as well; once is enough."""
    a, c, alpha = cupy.ones((3, 3), dtype), cupy.ones((3, 3), dtype), cupy.array(0.5, dtype)
    gpu.gemm(alpha, a, a, 0.9, c)
    with counting() as counts:
        gpu.gemm(alpha, a, a, 0.9, c)
    assert sum(counts.gemms.values()) == 1
    assert not counts.copies
    assert not counts.launches


def test_gemm_does_not_read_what_it_overwrites(gpu, dtype):
    a = draw(dtype, 4, 4)
    into = cupy.full((4, 4), np.nan, dtype)
    gpu.gemm(1.0, on_device(a), on_device(a), 0.0, into)
    close(into, a @ a, dtype, terms=4)


def test_gemm_refuses_an_array_that_is_not_contiguous(gpu, dtype):
    with pytest.raises(ValueError, match="C-contiguous"):
        gpu.gemm(1.0, cupy.ones((4, 2), dtype), cupy.ones((2, 3), dtype), 0.0, cupy.zeros((3, 4), dtype).T)


@pytest.mark.parametrize(("n", "k", "m"), [(7, 5, 3), (1, 5, 3), (5, 1, 3), (5, 3, 1), (1, 1, 1), (60, 300, 40)])
def test_matmul_in_one_call(gpu, dtype, n, k, m, counting):
    a, b = draw(dtype, n, k), draw(dtype, k, m, seed=1)
    x, y = on_device(a, b)
    with counting() as counts:
        found = gpu.matmul(x, y)
    close(found, a @ b, dtype, terms=k, scale=3)
    close(gpu.matmul(y.T, x.T), (a @ b).T, dtype, terms=k, scale=3)
    assert sum(counts.gemms.values()) == 1
    assert not counts.launches
    assert not counts.copies


def test_affine(gpu, cpu, dtype):
    x, W, b = draw(dtype, 6, 4), draw(dtype, 4, 3, seed=1), draw(dtype, 3, seed=2)
    close(gpu.affine(*on_device(x, W, b)), cpu.affine(x, W, b), dtype, terms=5)


@pytest.mark.parametrize("rows", [1, 2, 50])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (-0.1, 0.9)])
@pytest.mark.parametrize("where", ["host", "device"])
def test_add_row_sum(gpu, cpu, dtype, rows, alpha, beta, where):
    dz, into = draw(dtype, rows, 6), draw(dtype, 6, seed=1)
    found = on_device(into)
    gpu.add_row_sum(cupy.array(alpha, dtype) if where == "device" else alpha, on_device(dz), beta, found)
    cpu.add_row_sum(alpha, dz, beta, into)
    close(found, into, dtype, terms=rows)


def test_add_row_sum_keeps_to_the_dtype_it_is_given():
    """As the others do: a backend is not for arrays of its own dtype alone."""
    gpu = get_backend("cupy", "float32")
    for dtype in ("float32", "float64"):
        dz, into = draw(dtype, 5, 3), np.zeros(3, dtype)
        found = on_device(into)
        gpu.add_row_sum(1.0, on_device(dz), 0.0, found)
        close(found, dz.sum(axis=0), dtype, terms=5)


# ----------------------------------------------------------------------------------------------------------- norms


@pytest.mark.parametrize("shape", [(7,), (30, 40), (2, 3, 4), (1,), (0,), (), (5000,)])
def test_norm(gpu, cpu, dtype, shape):
    a = draw(dtype, *shape)
    scalar(gpu.norm(cupy.asarray(a)), cpu.norm(np.asarray(a)), dtype, terms=a.size + 1)


def test_norm_of_views(gpu, dtype):
    a = draw(dtype, 6, 8)
    for view in (on_device(a)[:, ::2], on_device(a).T, on_device(a)[2:4]):
        scalar(gpu.norm(view), np.linalg.norm(view.get().astype("float64")), dtype, terms=48)


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_norm_neither_overflows_nor_underflows(gpu, dtype, size):
    scalar(gpu.norm(gpu.asarray([3 * size, -4 * size])), 5 * size, dtype)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_norm_in_double_precision_neither_overflows_nor_underflows(size):
    gpu = get_backend("cupy", "float64")
    scalar(gpu.norm(gpu.asarray([3 * size, -4 * size])), 5 * size, "float64")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_norm_of_what_is_not_finite_is_not_finite(gpu, value):
    assert not np.isfinite(float(gpu.norm(gpu.asarray([1.0, value, 2.0]))))


@pytest.mark.parametrize("scale", [1.0, 1e-18, 1e15])
def test_gram_norm(gpu, cpu, dtype, scale):
    x, dz = draw(dtype, 5, 40, scale=scale), draw(dtype, 5, 30, seed=1, scale=scale)
    found = gpu.gram_norm(*on_device(x, dz))
    scalar(found, cpu.gram_norm(x, dz), dtype, terms=100)
    scalar(found, np.linalg.norm(x.astype("float64").T @ dz.astype("float64")), dtype, terms=100)


def test_gram_norm_of_zeros_is_zero(gpu, dtype):
    x = on_device(draw(dtype, 5, 4))
    assert float(gpu.gram_norm(x, cupy.zeros((5, 3), dtype))) == 0
    assert float(gpu.gram_norm(cupy.zeros((5, 3), dtype), x)) == 0


def test_gram_norm_of_rows_that_cancel(gpu, dtype):
    """x has equal rows, dz opposite ones: xᵀ dz = 0, and no square root of a rounding error below zero."""
    x = cupy.full((2, 3), 0.1, dtype)
    assert float(gpu.gram_norm(x, gpu.asarray([[0.3], [-0.3]]))) <= 0.1 * np.sqrt(np.finfo(dtype).eps)


def test_rows_norm(gpu, cpu, dtype):
    rows = np.array([3, 1, 3, 3, 0])
    values = draw(dtype, 5, 6)
    scalar(gpu.rows_norm(*on_device(rows, values), 9), cpu.rows_norm(rows, values, 9), dtype, terms=30)


@pytest.mark.parametrize("norms", [[3.0, 4.0], [0.1, 0.2], [0.0], [np.inf, 1.0], [np.nan], [1e200, 1.0]])
def test_clip_factor(gpu, cpu, dtype, norms):
    factor = gpu.clip_factor([cupy.array(norm) for norm in norms], 1.0)
    assert factor.dtype == dtype
    scalar(factor, cpu.clip_factor(norms, 1.0), dtype, least=1e-150)


# ------------------------------------------------------------------------------------------------------ activations

LOGITS = np.concatenate([np.linspace(-30, 30, 601), [-1e4, 1e4, -np.inf, np.inf, 0.0]])


def test_sigmoid(gpu, cpu, dtype):
    z = LOGITS.astype(dtype)
    close(gpu.sigmoid(on_device(z)), cpu.sigmoid(z), dtype)
    out = cupy.empty(len(z), dtype)
    assert gpu.sigmoid(on_device(z), out=out) is out
    close(out, cpu.sigmoid(z), dtype)
    both = on_device(z)
    close(gpu.sigmoid(both, out=both), cpu.sigmoid(z), dtype)


def test_sigmoid_of_one_step_of_many(gpu, cpu, dtype):
    z, h = draw(dtype, 3, 4, 5), cupy.zeros((4, 4, 5), dtype)
    gpu.sigmoid(on_device(z)[1], out=h[2])
    close(h[2], cpu.sigmoid(z[1]), dtype)
    assert not h[[0, 1, 3]].any()


def test_sigmoid_backward(gpu, cpu, dtype):
    dy, y = draw(dtype, 5, 6), cpu.sigmoid(draw(dtype, 5, 6, seed=1))
    expected = cpu.sigmoid_backward(dy, y)
    close(gpu.sigmoid_backward(*on_device(dy, y)), expected, dtype)
    out = cupy.empty((5, 6), dtype)
    assert gpu.sigmoid_backward(*on_device(dy, y), out=out) is out
    close(out, expected, dtype)


@pytest.mark.parametrize(("B", "H"), [(3, 5), (1, 1), (1, 7), (6, 1), (40, 33)])
def test_lstm_gates_there_and_back(gpu, cpu, dtype, B, H):
    z, c_prev = draw(dtype, B, 4 * H, scale=3), draw(dtype, B, H, seed=1)
    expected = [np.empty((B, width), dtype) for width in (4 * H, H, H, H)]
    found = [cupy.empty((B, width), dtype) for width in (4 * H, H, H, H)]
    cpu.lstm_gates(z, c_prev, *expected)
    gpu.lstm_gates(*on_device(z, c_prev), *found)
    for mine, right in zip(found, expected, strict=True):
        close(mine, right, dtype, terms=4)

    gates, _, tanh_c, _ = expected
    dh, dc = draw(dtype, B, H, seed=2), draw(dtype, B, H, seed=3)
    f = gates[:, H : 2 * H]
    dz, reach = cpu.lstm_slopes(gates, c_prev, tanh_c)
    slopes, reaches = gpu.lstm_slopes(*on_device(gates, c_prev, tanh_c))
    close(slopes, dz, dtype, terms=4)
    close(reaches, reach, dtype, terms=4)
    dc_device = on_device(dc)
    gpu.lstm_gates_backward(on_device(dh), dc_device, reaches, on_device(f), slopes)
    cpu.lstm_gates_backward(dh, dc, reach, f, dz)
    close(dc_device, dc, dtype, terms=4, scale=2)
    close(slopes, dz, dtype, terms=4, scale=2)


def test_lstm_gates_survive_enormous_logits(gpu, cpu, dtype):
    z = np.array([[1e4, -1e4, 1e4, -1e4] * 2], dtype)
    c_prev = np.ones((1, 2), dtype)
    expected = [np.empty((1, width), dtype) for width in (8, 2, 2, 2)]
    found = [cupy.empty((1, width), dtype) for width in (8, 2, 2, 2)]
    cpu.lstm_gates(z, c_prev, *expected)
    gpu.lstm_gates(*on_device(z, c_prev), *found)
    for mine, right in zip(found, expected, strict=True):
        close(mine, right, dtype)


# ------------------------------------------------------------------------------------------------------------- loss


@pytest.mark.parametrize("rows", [1, 2, 37])
@pytest.mark.parametrize("classes", [2, 10, 127, 128, 129, 1000])
def test_softmax_cross_entropy(gpu, cpu, dtype, rows, classes):
    z = draw(dtype, rows, classes, scale=4)
    labels = np.random.default_rng(1).integers(0, classes, rows)
    losses, dz = gpu.softmax_cross_entropy(*on_device(z, labels))
    right_losses, right_dz = cpu.softmax_cross_entropy(z, labels)
    assert losses.shape == (rows,)
    close(losses, right_losses, dtype, terms=classes)
    close(dz, right_dz, dtype, terms=classes, scale=1 / rows)


def test_softmax_cross_entropy_of_enormous_logits(gpu, dtype):
    z = gpu.asarray([[1e4, 0.0, -1e4], [1e4, 0.0, -1e4]])
    losses, dz = gpu.softmax_cross_entropy(z, cupy.array([0, 1]))
    close(losses, [0.0, 1e4], dtype)
    close(dz, [[0.0, 0.0, 0.0], [0.5, -0.5, 0.0]], dtype)


def test_softmax_cross_entropy_of_one_class(gpu, dtype):
    losses, dz = gpu.softmax_cross_entropy(gpu.asarray([[3.0], [5.0]]), cupy.array([0, 0]))
    close(losses, [0.0, 0.0], dtype)
    close(dz, [[0.0], [0.0]], dtype)


def test_softmax_cross_entropy_of_nan_is_nan(gpu):
    losses, dz = gpu.softmax_cross_entropy(gpu.asarray([[0.0, np.nan], [0.0, 1.0]]), cupy.array([0, 1]))
    assert cupy.isnan(losses).get().tolist() == [True, False]
    assert cupy.isnan(dz).any(axis=1).get().tolist() == [True, False]


def test_softmax_cross_entropy_of_a_label_that_is_no_class_is_nan(gpu):
    losses, dz = gpu.softmax_cross_entropy(gpu.asarray([[0.0, 1.0]] * 3), cupy.array([-1, 0, 2]))
    assert cupy.isnan(losses).get().tolist() == [True, False, True]
    assert cupy.isfinite(dz).all()


@pytest.mark.parametrize("kind", ["int32", "uint8", "int64"])
def test_softmax_cross_entropy_takes_labels_of_any_integer_type(gpu, cpu, dtype, kind):
    z, labels = draw(dtype, 6, 4), np.array([0, 1, 2, 3, 0, 2])
    losses, _ = gpu.softmax_cross_entropy(on_device(z), cupy.asarray(labels.astype(kind)))
    close(losses, cpu.softmax_cross_entropy(z, labels)[0], dtype, terms=4)


def test_softmax_cross_entropy_takes_views(gpu, cpu, dtype):
    z, labels = draw(dtype, 6, 8), np.array([0, 1, 2, 3, 0, 2])
    losses, dz = gpu.softmax_cross_entropy(on_device(z)[:, ::2], on_device(np.repeat(labels, 2))[::2])
    right_losses, right_dz = cpu.softmax_cross_entropy(np.ascontiguousarray(z[:, ::2]), labels)
    close(losses, right_losses, dtype, terms=4)
    close(dz, right_dz, dtype, terms=4)


# -------------------------------------------------------------------------------------------------------- the others


@pytest.mark.parametrize("scale", [1.0, 0.3, "on the device"])
def test_adam(gpu, cpu, dtype, scale):
    W, m, g = (draw(dtype, 5, 4, seed=seed) for seed in range(3))
    v = np.square(draw(dtype, 5, 4, seed=3))
    factor = cupy.array(0.3, dtype) if scale == "on the device" else scale
    found = on_device(W, m, v)
    for step in (0.01, 0.02):
        gpu.adam(*found, on_device(g), step, 0.9, 0.999, 1e-8, factor)
        cpu.adam(W, m, v, g.copy(), step, 0.9, 0.999, 1e-8, 0.3 if scale == "on the device" else scale)
    for mine, right in zip(found, (W, m, v), strict=True):
        close(mine, right, dtype, terms=4)


@pytest.mark.parametrize("shape", [(8, 8), (5, 9), (9, 5), (1, 7), (7, 1), (1, 1)])
@pytest.mark.parametrize("beyond", [3.0, 1e3, 1e30])
def test_bilinear(gpu, cpu, dtype, shape, beyond):
    rng = np.random.default_rng(0)
    images = rng.uniform(-1, 1, (3, *shape)).astype(dtype)
    at = np.stack([rng.uniform(-beyond, n - 1 + beyond, (6, 3, 4)) for n in shape]).astype(dtype)
    at[:, 0] = np.round(rng.uniform(-2, 9, (2, 3, 4)))  # whole positions too
    found = gpu.bilinear(*on_device(images, at), -1.0)
    assert found.shape == (3, 6, 4)
    close(found, cpu.bilinear(images, at, -1.0), dtype, terms=4)


def test_bilinear_at_infinity_shows_the_background(gpu, dtype):
    at = gpu.asarray([[[[np.inf, -np.inf, 0.5]]], [[[0.5, 0.5, np.inf]]]])
    close(gpu.bilinear(on_device(draw(dtype, 1, 4, 4)), at, 0.3), np.full((1, 1, 3), 0.3, dtype), dtype)


def test_scatter_add_counts_repeated_rows_every_time(gpu, cpu, dtype):
    into, values = draw(dtype, 4, 3), draw(dtype, 300, 3, seed=1)
    rows = np.random.default_rng(2).integers(0, 4, 300)
    rows[rows == 2] = 3  # one that is left alone
    found = on_device(into)
    gpu.scatter_add(found, *on_device(rows, values))
    cpu.scatter_add(into, rows, values)
    close(found, into, dtype, terms=300)
    np.testing.assert_array_equal(found[2].get(), into[2])
