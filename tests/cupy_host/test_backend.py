"""Arrays to and fro, and matrix products, of the CuPy backend against NumPy's; test_formulas.py has the rest."""

import re

import cupy
import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.backends.device import CHECKS, checks

from .arrays import close, draw, on_device

pytestmark = pytest.mark.gpu


# ----------------------------------------------------------------------------------------------------- to and fro


def test_every_check_of_the_device_passes(on_host):
    done = checks()
    assert [check.name for check in done] == list(CHECKS)
    assert all(check.found for check in done)
    assert re.fullmatch("host device, 2 GB" if on_host else r"\S.*, \d+ GB", done[2].found)


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
