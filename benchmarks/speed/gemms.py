"""The limit: nothing but the matrix products of a training step, into arrays that lie ready.

Through our backend, and by PyTorch: how far their BLAS libraries lie apart is not ours to change.

dense       z = x W,  dx = dz Wᵀ (not in the first layer),  dW = xᵀ dz
recurrent   the same for its inputs, and at every step h Wh,  dz Whᵀ (not in the first),  at the end dWh = hᵀ dz
"""

from typing import Any

import numpy as np

from benchmarks.speed.workloads import Case, Step
from minisig.layers import LSTM, RNN, Dense, Embedding

Product = tuple[Any, Any, Any]  # a, b and where a b goes


def step_of(case: Case) -> Step:
    todo = products(case)
    gemm = case.net.backend.gemm

    def run() -> None:
        for a, b, out in todo:
            gemm(1.0, a, b, 0.0, out)

    return Step(run, lambda: _made(todo))


def pytorch_step_of(case: Case) -> Step:
    import torch

    todo = products(case)
    tensors = [[torch.from_numpy(matrix) for matrix in product] for product in todo]

    def run() -> None:
        for a, b, out in tensors:
            torch.mm(a, b, out=out)

    return Step(run, lambda: _made(todo))


def _made(todo: list[Product]) -> dict[str, Any]:
    return {f"product {i}": out for i, (_, _, out) in enumerate(todo)}


def products(case: Case) -> list[Product]:
    x = case.batches[0].x
    T = len(x) if isinstance(next(iter(case.net.layers.values())), Embedding) else 1
    rows = x.size if T > 1 else len(x)
    rng = np.random.default_rng(0)
    backend = case.net.backend

    def matrix(*shape: int) -> Any:
        return rng.uniform(-1, 1, shape).astype(backend.dtype)

    forward: list[Product] = []
    backward: list[Product] = []
    first = True
    for layer in case.net.layers.values():
        if isinstance(layer, Embedding):
            first = False  # its output has a gradient
        if isinstance(layer, RNN | LSTM):
            Wh = layer.params["Wh"]
            H, width = Wh.shape
            h, dz = matrix(T, rows // T, H), matrix(T, rows // T, width)
            z, dh = np.empty_like(dz), np.empty_like(h)
            forward += [(h[t], Wh, z[t]) for t in range(T)]
            backward += [(dz[t], Wh.T, dh[t]) for t in range(1, T)]
            backward.append((h.reshape(rows, H).T, dz.reshape(rows, width), np.empty_like(Wh)))
        if isinstance(layer, Dense | RNN | LSTM):
            W = layer.params["W" if isinstance(layer, Dense) else "Wx"]
            n, m = W.shape
            x, dz = matrix(rows, n), matrix(rows, m)
            forward.append((x, W, backend.matmul(x, W)))  # stored as the backend does
            backward.append((x.T, dz, np.empty_like(W)))
            if not first:
                backward.append((dz, W.T, backend.matmul(dz, W.T)))
            first = False
    return forward + backward[::-1]
