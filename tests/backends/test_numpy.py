"""Every primitive against a naive second implementation."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from minisig.backends import get_backend
from minisig.backends.numpy import NumpyBackend
from minisig.errors import UsageError

DTYPES = ["float32", "float64"]


@pytest.fixture(params=DTYPES)
def backend(request):
    return get_backend("numpy", request.param)


def draw(rng, shape, dtype):
    return rng.standard_normal(shape).astype(dtype)


def tolerance(backend, terms):
    """Rounding of a sum of so many products of order one."""
    return 4 * np.sqrt(terms) * np.finfo(backend.dtype).eps


@pytest.mark.parametrize("layout", ["rows", "columns", "strided"])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (-0.1, 0.9), (2.0, 1.0)])
def test_gemm_accumulates_whatever_the_layout(backend, layout, alpha, beta):
    rng = np.random.default_rng(0)
    arrange = {
        "rows": np.ascontiguousarray,
        "columns": np.asfortranarray,
        "strided": lambda m: np.repeat(m, 2, axis=1)[:, ::2],
    }[layout]
    a, b = arrange(draw(rng, (7, 5), backend.dtype)), arrange(draw(rng, (5, 3), backend.dtype))
    c = draw(rng, (7, 3), backend.dtype)
    expected = alpha * np.einsum("ik,kj->ij", a, b) + beta * c
    backend.gemm(alpha, a, b, beta, c)
    assert c.dtype == backend.dtype
    np.testing.assert_allclose(c, expected, atol=5 * tolerance(backend, 5))


def test_gemm_of_transposed_views_is_the_weight_gradient(backend):
    rng = np.random.default_rng(1)
    x, dz = draw(rng, (50, 4), backend.dtype), draw(rng, (50, 6), backend.dtype)
    naive = sum(np.outer(row, delta) for row, delta in zip(x, dz, strict=True))
    np.testing.assert_allclose(backend.matmul(x.T, dz), naive, atol=8 * tolerance(backend, 50))


def test_gemm_refuses_an_array_into_which_blas_could_not_write(backend):
    c = np.zeros((4, 6), dtype=backend.dtype)
    with pytest.raises(ValueError, match="contiguous"):
        backend.gemm(1.0, np.ones((4, 2), backend.dtype), np.ones((2, 3), backend.dtype), 0.0, c[:, ::2])


@pytest.mark.parametrize("orders", list(product("CF", repeat=3)), ids="".join)
def test_gemm_reads_and_writes_rows_and_columns(backend, orders):
    rng = np.random.default_rng(4)
    a, b, c = (
        np.array(draw(rng, shape, backend.dtype), order=order)
        for shape, order in zip([(3, 5), (5, 4), (3, 4)], orders, strict=True)
    )
    expected = 2 * np.einsum("ik,kj->ij", a, b) + 0.5 * c
    backend.gemm(2.0, a, b, 0.5, c)
    np.testing.assert_allclose(c, expected, atol=5 * tolerance(backend, 5))


def test_a_product_stored_by_columns_is_the_same_to_all_that_follows(backend):
    rng = np.random.default_rng(5)
    x, W, b = (draw(rng, shape, backend.dtype) for shape in [(3, 1100), (1100, 1000), (1000,)])
    z = backend.affine(x, W, b)
    assert z.flags.f_contiguous
    np.testing.assert_allclose(z, x.astype("float64") @ W + b, atol=8 * tolerance(backend, 1100))
    rows = np.ascontiguousarray(z)
    assert backend.norm(z) == pytest.approx(backend.norm(rows), rel=tolerance(backend, 3000))
    np.testing.assert_allclose(
        backend.row_sum(z), rows.sum(axis=0), rtol=tolerance(backend, 50), atol=tolerance(backend, 50)
    )
    y = backend.sigmoid(z)
    np.testing.assert_array_equal(y, backend.sigmoid(rows))
    np.testing.assert_array_equal(
        backend.sigmoid_backward(rows, y), backend.sigmoid_backward(rows, backend.sigmoid(rows))
    )


def test_matmul_of_single_rows_columns_and_entries(backend):
    rng = np.random.default_rng(2)
    for n, k, m in [(1, 5, 3), (5, 1, 3), (5, 3, 1), (1, 1, 1)]:
        a, b = draw(rng, (n, k), backend.dtype), draw(rng, (k, m), backend.dtype)
        np.testing.assert_allclose(backend.matmul(a, b), np.einsum("ik,kj->ij", a, b), rtol=tolerance(backend, 50))


def test_affine_adds_the_bias_to_every_row(backend):
    rng = np.random.default_rng(3)
    x, W, b = draw(rng, (4, 3), backend.dtype), draw(rng, (3, 2), backend.dtype), draw(rng, 2, backend.dtype)
    expected = [[sum(x[i, k] * W[k, j] for k in range(3)) + b[j] for j in range(2)] for i in range(4)]
    np.testing.assert_allclose(backend.affine(x, W, b), expected, atol=4 * tolerance(backend, 4))


def test_norm_neither_underflows_nor_needs_contiguous_memory(backend):
    a = backend.asarray(np.arange(12).reshape(3, 4))[:, ::2]
    assert backend.norm(a) == pytest.approx(np.sqrt((a.astype(float) ** 2).sum()), rel=1e-6)
    assert backend.norm(backend.asarray([3e-30, 4e-30])) == pytest.approx(5e-30, rel=1e-6)
    assert backend.norm(backend.asarray([])) == 0


@pytest.mark.parametrize(("norms", "factor"), [([0.9, 1.2], 2 / 3), ([0.6, 0.8], 1), ([0.3, 0.4], 1), ([30, 40], 0.02)])
def test_clipping_brings_norms_down_to_what_is_allowed_and_never_up(backend, norms, factor):
    assert backend.clip_factor([5 * norm for norm in norms], 5.0) == pytest.approx(factor, rel=1e-15)


def test_sigmoid_is_the_logistic_and_saturates_without_overflow(backend):
    z = np.concatenate([np.linspace(-30, 30, 601), [-1e4, 1e4]]).astype(backend.dtype)
    y = backend.sigmoid(z)
    assert y.dtype == backend.dtype
    # y is a difference of numbers of order one, so its error is absolute.
    np.testing.assert_allclose(y, expit(z.astype(float)), rtol=0, atol=4 * np.finfo(backend.dtype).eps)


def test_sigmoid_backward_multiplies_by_the_derivative(backend):
    rng = np.random.default_rng(4)
    z, dy = draw(rng, (5, 6), backend.dtype), draw(rng, (5, 6), backend.dtype)
    y = backend.sigmoid(z)
    expected = dy * expit(z) * expit(-z)
    np.testing.assert_allclose(backend.sigmoid_backward(dy, y), expected, rtol=40 * np.finfo(backend.dtype).eps)


def test_softmax_cross_entropy_and_its_gradient(backend):
    rng = np.random.default_rng(5)
    z = (10 * draw(rng, (6, 4), backend.dtype)).astype(backend.dtype)
    labels = np.array([0, 1, 2, 3, 0, 2])
    losses, dz = backend.softmax_cross_entropy(z, labels)
    exact = z.astype(float)
    np.testing.assert_allclose(losses, -log_softmax(exact, axis=1)[range(6), labels], atol=tolerance(backend, 1000))
    np.testing.assert_allclose(dz, (softmax(exact, axis=1) - np.eye(4)[labels]) / 6, atol=tolerance(backend, 100))
    assert z.dtype == dz.dtype == backend.dtype


def test_softmax_cross_entropy_survives_enormous_logits(backend):
    losses, dz = backend.softmax_cross_entropy(backend.asarray([[1e4, 0.0], [1e4, 0.0]]), np.array([0, 1]))
    np.testing.assert_array_equal(losses, [0.0, 1e4])
    np.testing.assert_array_equal(dz, [[0.0, 0.0], [0.5, -0.5]])


def test_sigmoid_cross_entropy_and_its_gradient(backend):
    rng = np.random.default_rng(5)
    z, t = 4 * draw(rng, (6, 3), backend.dtype), rng.uniform(0, 1, (6, 3)).astype(backend.dtype)
    t[0], t[1] = 0, 1
    losses, dz = backend.sigmoid_cross_entropy(z, t)
    g, one_minus_g = expit(z.astype(float)), expit(-z.astype(float))
    naive = -(t * np.log(g) + (1 - t) * np.log(one_minus_g)).sum(axis=1)
    np.testing.assert_allclose(losses, naive, atol=tolerance(backend, 100))
    np.testing.assert_allclose(dz, (g - t) / 6, atol=tolerance(backend, 4))
    assert losses.dtype == dz.dtype == backend.dtype


def test_sigmoid_cross_entropy_survives_enormous_logits(backend):
    z, t = backend.asarray([[1e4, -1e4], [1e4, -1e4]]), backend.asarray([[1, 0], [0, 1]])
    losses, dz = backend.sigmoid_cross_entropy(z, t)
    np.testing.assert_array_equal(losses, [0, 2e4])
    np.testing.assert_array_equal(dz, [[0, 0], [0.5, -0.5]])


def test_squared_error_and_its_gradient(backend):
    rng = np.random.default_rng(6)
    z, t = draw(rng, (6, 3), backend.dtype), draw(rng, (6, 3), backend.dtype)
    losses, dz = backend.squared_error(z, t)
    naive = [sum((z[i, j] - t[i, j]) ** 2 for j in range(3)) / 3 for i in range(6)]
    np.testing.assert_allclose(losses, naive, rtol=tolerance(backend, 10))
    np.testing.assert_allclose(dz, 2 * (z - t) / 18, rtol=tolerance(backend, 4))
    assert losses.dtype == dz.dtype == backend.dtype


@pytest.mark.parametrize("loss", ["sigmoid_cross_entropy", "squared_error"])
@pytest.mark.parametrize("z", [-800.0, -3.0, -1e-3, 0.0, 0.7, 40.0, 800.0])
def test_a_losss_gradient_is_that_of_the_complex_step(loss, z):
    """Of the mean over the rows, on either side of the branch that max(z, 0) is."""
    z, t = np.array([[z, 0.3], [0.1, -z]]), np.array([[0.25, 1.0], [0.0, 0.6]])
    right = getattr(NumpyBackend("float64"), loss)(z, t)[1]
    for i, j in np.ndindex(2, 2):
        stepped = z.astype(complex)
        stepped[i, j] += 1e-30j
        losses, _ = getattr(NumpyBackend("complex128"), loss)(stepped, t)
        # At z = 0 the branches meet, and the loss is their common continuation.
        assert losses.mean().imag / 1e-30 == pytest.approx(right[i, j], rel=1e-12, abs=1e-15)


def test_scatter_add_counts_repeated_rows_every_time(backend):
    into = backend.asarray(np.zeros((4, 2)))
    backend.scatter_add(into, np.array([1, 3, 1]), backend.asarray([[1, 2], [3, 4], [5, 6]]))
    np.testing.assert_array_equal(into, [[0, 0], [6, 8], [0, 0], [3, 4]])


def test_asarray_gives_contiguous_arrays_of_the_dtype(backend):
    a = backend.asarray(np.arange(6).reshape(2, 3).T)
    assert a.flags.c_contiguous
    assert a.dtype == backend.dtype
    np.testing.assert_array_equal(backend.to_host(a), [[0, 3], [1, 4], [2, 5]])


def test_unknown_backends_and_dtypes_are_refused_with_a_suggestion():
    with pytest.raises(UsageError, match="Did you mean 'numpy'"):
        get_backend("nunpy")
    with pytest.raises(UsageError, match="float32, float64"):
        get_backend("numpy", "float16")


def test_the_complex_backend_exists_for_differentiation_only():
    z = NumpyBackend("complex128").sigmoid(np.array([0.3 + 1e-30j]))
    assert z.imag[0] / 1e-30 == pytest.approx(expit(0.3) * expit(-0.3), rel=1e-15)


def test_an_update_refuses_an_array_into_which_it_could_not_write(backend):
    w, g = np.zeros((3, 4), dtype=backend.dtype), np.ones((4, 3), dtype=backend.dtype)
    m, v = np.zeros_like(g), np.zeros_like(g)
    with pytest.raises(ValueError, match="C-contiguous"):
        backend.add(1.0, g, w.T)
    with pytest.raises(ValueError, match="C-contiguous"):
        backend.adam(w.T, m, v, g, 0.1, 0.9, 0.999, 1e-8, 1.0)


def test_an_update_refuses_an_array_that_may_not_be_written_into(backend):
    w = np.zeros((3, 4), dtype=backend.dtype)
    w.flags.writeable = False
    with pytest.raises(UsageError, match="read-only"):
        backend.add(1.0, np.ones_like(w), w)
    assert not w.any()


# Arrays that are gone through in several pieces


def test_softmax_of_more_than_one_piece(backend):
    rng = np.random.default_rng(6)
    z, labels = draw(rng, (300, 500), backend.dtype), rng.integers(0, 500, 300)
    losses, dz = backend.softmax_cross_entropy(z, labels)
    np.testing.assert_allclose(losses, -log_softmax(z, axis=1)[range(300), labels], rtol=tolerance(backend, 500))
    expected = softmax(z.astype("float64"), axis=1)
    expected[range(300), labels] -= 1
    np.testing.assert_allclose(dz, expected / 300, rtol=tolerance(backend, 500), atol=1e-9)


def test_adam_of_more_than_one_piece(backend):
    rng = np.random.default_rng(7)
    W, m, g = (draw(rng, 70_000, backend.dtype) for _ in range(3))
    v = draw(rng, 70_000, backend.dtype) ** 2
    m1, v1 = 0.9 * m + 0.5 * g, 0.99 * v + (0.5 * g) ** 2
    expected = W - 0.1 * m1 / (np.sqrt(v1) + 1e-3)
    backend.adam(W, m, v, g, 0.1, 0.9, 0.99, 1e-3, 0.5)
    for found, right in ((W, expected), (m, m1), (v, v1)):
        np.testing.assert_allclose(found, right, rtol=tolerance(backend, 50), atol=tolerance(backend, 50))


def test_adam_takes_off_a_share_of_the_weights_before_its_step(backend):
    rng = np.random.default_rng(7)
    W, m, v, g = (np.abs(draw(rng, 70_000, backend.dtype)) for _ in range(4))
    decayed, plain = (backend.dtype.type(0.75) * W, m.copy(), v.copy()), (W, m, v)
    backend.adam(*plain, g.copy(), 0.1, 0.9, 0.99, 1e-3, 0.5, 0.25)
    backend.adam(*decayed, g.copy(), 0.1, 0.9, 0.99, 1e-3, 0.5)
    for found, right in zip(plain, decayed, strict=True):
        np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_rmsprop_of_more_than_one_piece(backend, scale):
    rng = np.random.default_rng(7)
    W, g = (draw(rng, 70_000, backend.dtype) for _ in range(2))
    v = draw(rng, 70_000, backend.dtype) ** 2
    v1 = 0.9 * v + 0.1 * (scale * g) ** 2
    expected = W - 0.01 * scale * g / (np.sqrt(v1) + 1e-3)
    backend.rmsprop(W, v, g, 0.01, 0.9, 1e-3, scale)
    for found, right in ((W, expected), (v, v1)):
        np.testing.assert_allclose(found, right, rtol=tolerance(backend, 50), atol=tolerance(backend, 50))


def test_scatter_add_into_a_large_table(backend):
    rng = np.random.default_rng(8)
    rows, values = rng.integers(0, 200, 1000), draw(rng, (1000, 3), backend.dtype)
    table = draw(rng, (200, 3), backend.dtype)
    expected = table.astype("float64")
    np.add.at(expected, rows, values)
    backend.scatter_add(table, rows, values)
    np.testing.assert_allclose(table, expected, atol=8 * tolerance(backend, 20))
