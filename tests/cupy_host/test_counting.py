"""The host device's cuBLAS, and that it counts launches, products and copies, notices waits and bears threads."""

import warnings

import cupy
import cupyx
import numpy as np
import pytest
from cupy import cublas

from . import device
from .test_device import draw


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
