"""Norms, activations, loss and updates of the CuPy backend against NumPy's, which tests/backends checks on its own."""

import cupy
import numpy as np
import pytest

from minisig.backends import get_backend

from .arrays import close, draw, on_device, scalar

pytestmark = pytest.mark.gpu

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


@pytest.mark.parametrize(("B", "H"), [(3, 5), (1, 1), (1, 7), (6, 1), (40, 33)])
def test_gru_gates_there_and_back(gpu, cpu, dtype, B, H):
    z, a = draw(dtype, B, 3 * H, scale=3), draw(dtype, B, 3 * H, seed=1)
    c, h_prev = draw(dtype, H, seed=2), draw(dtype, B, H, seed=3)
    expected = [np.empty((B, width), dtype) for width in (3 * H, H, H)]
    found, z_device = [cupy.empty((B, width), dtype) for width in (3 * H, H, H)], on_device(z)
    gpu.gru_gates(z_device, *on_device(a, c, h_prev), *found)
    cpu.gru_gates(z, a, c, h_prev, *expected)
    for mine, right in zip([z_device, *found], [z, *expected], strict=True):
        close(mine, right, dtype, terms=4, scale=2)

    gates, q, _ = expected
    dh, dh_prev = draw(dtype, B, H, seed=4), draw(dtype, B, H, seed=5)
    dz, slopes = cpu.gru_slopes(gates, q, h_prev), gpu.gru_slopes(*on_device(gates, q, h_prev))
    close(slopes, dz, dtype, terms=4)
    da, da_device, dh_prev_device = np.empty((B, 3 * H), dtype), cupy.empty((B, 3 * H), dtype), on_device(dh_prev)
    gpu.gru_gates_backward(*on_device(dh, gates), slopes, da_device, dh_prev_device)
    cpu.gru_gates_backward(dh, gates, dz, da, dh_prev)
    for mine, right in ((slopes, dz), (da_device, da), (dh_prev_device, dh_prev)):
        close(mine, right, dtype, terms=4, scale=2)


def test_gru_gates_survive_enormous_logits(gpu, cpu, dtype):
    z, a = np.array([[1e4, -1e4, 1e4, -1e4, 1e4, -1e4]], dtype), np.ones((1, 6), dtype)
    c, h_prev = np.ones(2, dtype), np.ones((1, 2), dtype)
    expected = [np.empty((1, width), dtype) for width in (6, 2, 2)]
    found = [cupy.empty((1, width), dtype) for width in (6, 2, 2)]
    gpu.gru_gates(*on_device(z, a, c, h_prev), *found)
    cpu.gru_gates(z, a, c, h_prev, *expected)
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


@pytest.mark.parametrize("loss", ["sigmoid_cross_entropy", "squared_error"])
@pytest.mark.parametrize("rows", [1, 2, 37])
@pytest.mark.parametrize("outputs", [1, 3, 127, 128, 129, 1000])
def test_losses_of_outputs_with_targets(gpu, cpu, dtype, loss, rows, outputs, counting):
    z, targets = draw(dtype, rows, outputs, scale=4), np.abs(np.tanh(draw(dtype, rows, outputs, seed=1)))
    given = on_device(z, targets)
    with counting() as counts:
        losses, dz = getattr(gpu, loss)(*given)
    right_losses, right_dz = getattr(cpu, loss)(z, targets)
    assert losses.shape == (rows,)
    close(losses, right_losses, dtype, terms=outputs, scale=10)
    close(dz, right_dz, dtype, scale=1 / rows)
    assert sum(counts.launches.values()) == 1


def test_sigmoid_cross_entropy_of_enormous_logits(gpu, dtype):
    z, targets = gpu.asarray([[1e4, -1e4], [1e4, -1e4]]), gpu.asarray([[1, 0], [0, 1]])
    losses, dz = gpu.sigmoid_cross_entropy(z, targets)
    close(losses, [0.0, 2e4], dtype)
    close(dz, [[0.0, 0.0], [0.5, -0.5]], dtype)


@pytest.mark.parametrize("loss", ["sigmoid_cross_entropy", "squared_error"])
def test_a_loss_of_nan_is_nan(gpu, loss):
    losses, dz = getattr(gpu, loss)(gpu.asarray([[0.0, np.nan], [0.0, 1.0]]), gpu.asarray(np.zeros((2, 2))))
    assert cupy.isnan(losses).get().tolist() == [True, False]
    assert cupy.isnan(dz).any(axis=1).get().tolist() == [True, False]


@pytest.mark.parametrize("loss", ["sigmoid_cross_entropy", "squared_error"])
def test_losses_of_outputs_take_views(gpu, cpu, dtype, loss):
    z, targets = draw(dtype, 6, 8), np.abs(np.tanh(draw(dtype, 4, 6, seed=1)))
    losses, dz = getattr(gpu, loss)(on_device(z)[:, ::2], on_device(targets).T)
    right_losses, right_dz = getattr(cpu, loss)(z[:, ::2], targets.T)
    close(losses, right_losses, dtype, terms=4)
    close(dz, right_dz, dtype)


# -------------------------------------------------------------------------------------------------------- the others


@pytest.mark.parametrize("decay", [0.1, 0.0])
def test_adam_with_decay(gpu, cpu, dtype, decay, counting):
    W, m, g = (draw(dtype, 5, 4, seed=seed) for seed in range(3))
    v = np.square(draw(dtype, 5, 4, seed=3))
    found, gradient = on_device(W, m, v), on_device(g)
    with counting() as counts:
        gpu.adam(*found, gradient, 0.01, 0.9, 0.999, 1e-8, 0.3, decay)
    cpu.adam(W, m, v, g, 0.01, 0.9, 0.999, 1e-8, 0.3, decay)
    for mine, right in zip(found, (W, m, v), strict=True):
        close(mine, right, dtype, terms=4)
    assert counts.launches == {"minisig_adam_with_decay" if decay else "minisig_adam": 1}


@pytest.mark.parametrize("scale", [1.0, 0.3, "on the device"])
def test_rmsprop(gpu, cpu, dtype, scale):
    W, g, v = draw(dtype, 5, 4), draw(dtype, 5, 4, seed=1), np.square(draw(dtype, 5, 4, seed=2))
    factor = cupy.array(0.3, dtype) if scale == "on the device" else scale
    found = on_device(W, v)
    for step in (0.01, 0.02):
        gpu.rmsprop(*found, on_device(g), step, 0.9, 1e-3, factor)
        cpu.rmsprop(W, v, g.copy(), step, 0.9, 1e-3, 0.3 if scale == "on the device" else scale)
    for mine, right in zip(found, (W, v), strict=True):
        close(mine, right, dtype, terms=4)


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
