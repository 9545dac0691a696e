"""A CUDA device made of the host's own memory and processor, so that real CuPy runs without a GPU.

    from cupy_host import device
    device.install()                    # before anybody imports cupy
    import cupy
    cupy.arange(3.0) @ cupy.ones(3)     # runs here, on the CPU

The tests here run on it, in a session of their own: `pytest tests/cupy_host --cupy-host`.

CuPy's arrays, kernels, memory pool, type rules and refusals are all its own. Only what lies below is replaced:

capi.py         CuPy's compiled modules call CUDA through two others, cupy_backends.cuda.api.runtime and .driver, and
                take their functions from a table when they are imported. Before that, every entry of the table is
                replaced by a C function that calls one of ours, in Python, and hands its exceptions on.
memory.py       device memory is ordinary memory, full of NaN when it is new; copies must lie within it.
execute.py      NVRTC compiles every kernel for sm_80, so that errors in CUDA source are real. Then g++ compiles the
                same source against include/cudahost.h, and a launch calls it for every thread of the grid.
engine.cpp      runs the grid: the threads of a block are fibers, which change over at __syncthreads and shuffles.
cublas.cpp      a libcublas that knows products of matrices and vectors, computed by SciPy's BLAS.
build.py        compiles all that, once, into a folder of its own.
device.py       puts it together, refuses what is not here (random numbers, sorting, cuSOLVER, cuFFT, cuSPARSE …) and
                counts launches, products and copies.

What it cannot show: anything about time, streams and races (whatever is launched has run when the launch returns),
fused multiply-adds and flushed subnormal numbers, and reductions by CUB, which CuPy prefers on a real device and which
is switched off here. It relies on private names of CuPy and therefore takes one version of it alone, device.CUPY.
"""
