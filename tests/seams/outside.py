"""A project outside the package that adds one part of every kind, as its users would, in one file.

test_outside.py installs it with entry points and trains with each part from the command line.
"""

from typing import Annotated, NamedTuple

import msgspec
import numpy as np

import minisig as ms


class Nesterov(ms.Optimizer):
    """v ← μ v − η g,  w ← w + μ v − η g."""

    slot_names = ("v",)
    needs_matrices = True

    class Settings(ms.Settings):
        lookahead: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.9

    def __init__(self, lookahead):
        super().__init__()
        self.lookahead = lookahead

    def apply(self, w, g, slots, numbers, backend):
        step, v = numbers * g.dense(backend), slots["v"]
        v *= self.lookahead
        v += step
        w += self.lookahead * v + step


class Exponential(ms.Schedule):
    class Settings(ms.Settings):
        half_life: Annotated[int, msgspec.Meta(gt=0)] = 100

    def __init__(self, half_life):
        super().__init__()
        self.half_life = half_life

    def factor(self, iteration, iterations):
        return 0.5 ** (iteration / self.half_life)


class Hinge(ms.Loss):
    """Σ_c max(0, margin + z_c − z_label)² over the wrong classes c."""

    class Settings(ms.Settings):
        margin: float = 1.0

    metric_names = ("error", "misses")

    def __init__(self, margin=1.0):
        self.margin = margin

    def checked(self, z, targets, backend):
        return ms.SoftmaxCrossEntropy().checked(z, targets, backend)

    def rows(self, z, targets, backend):
        xp, at = backend.xp, backend.xp.arange(len(z))
        d = z - z[at, targets][:, None] + self.margin
        d = xp.where(d.real > 0, d, 0.0)
        d[at, targets] = 0.0
        dz = 2 * d / len(z)
        dz[at, targets] -= dz.sum(axis=1)
        return (d * d).sum(axis=1), dz

    def sums(self, z, targets, backend, recall):
        return {"wrong": int((z.argmax(axis=-1) != targets).sum())}

    def metrics(self, sums):
        return {"error": 100 * sums["wrong"] / sums["count"], "misses": sums["wrong"]}


class Arctan(ms.Activation):
    """y = sharpness⁻¹ arctan(sharpness · z)."""

    steepest = 1.0

    class Settings(ms.Settings):
        sharpness: Annotated[float, msgspec.Meta(gt=0)] = 1.0

    def __init__(self, sharpness=1.0):
        super().__init__()
        self.sharpness = sharpness

    def value(self, z, xp=np):
        return xp.arctan(self.sharpness * z) / self.sharpness

    def derivative(self, z, xp=np):
        return 1 / (1 + (self.sharpness * z) ** 2)


class Leaky(ms.Recurrent):
    """h_t = leak · h_{t−1} + tanh(z_t),  z_t = x_t Wx + h_{t−1} Wh + b: a leaky integrator."""

    leak = 0.5

    class Settings(ms.Settings):
        start: float = 0.0

    class Unrolled(NamedTuple):
        x: np.ndarray
        z: np.ndarray
        h: np.ndarray

    takes_lookups = False

    @classmethod
    def completed(cls, params, start=0.0):
        return super().completed(params) | {"b": np.full(params["Wx"].shape[1], start)}

    def forward(self, x, backend, state=None):
        Wx, Wh, b = self.params.values()
        z = x @ Wx + b
        h = backend.xp.zeros((len(z) + 1, *z.shape[1:]), dtype=z.dtype)
        h[0] = 0.0 if state is None else state
        for t in range(len(z)):
            z[t] += h[t] @ Wh
            h[t + 1] = self.leak * h[t] + backend.xp.tanh(z[t])
        return h[1:], self.Unrolled(x, z, h)

    def backward(self, dy, cache, backend):
        Wx, Wh, _ = self.params.values()
        x, z, h = cache
        dz, dh = backend.xp.empty_like(z), dy.copy()
        for t in reversed(range(len(z))):
            dz[t] = dh[t] * (1 - backend.xp.tanh(z[t]) ** 2)
            if t > 0:
                dh[t - 1] += self.leak * dh[t] + dz[t] @ Wh.T
        rows = dz.reshape(-1, dz.shape[-1])
        gradients = {
            "Wx": ms.Outer(x.reshape(-1, x.shape[-1]), rows),
            "Wh": ms.Outer(h[:-1].reshape(-1, h.shape[-1]), rows),
            "b": ms.RowSum(rows),
        }
        return dz @ Wx.T, gradients

    def last_state(self, cache):
        return cache.h[-1]


class Gaussian:
    """W ~ N(0, gain²/n), for dense layers and for every cell."""

    class Settings(ms.Settings):
        gain: Annotated[float, msgspec.Meta(gt=0)] = 1.0

    CellSettings = Settings

    def __call__(self, sizes, rngs, inputs, activation, gain=1.0):
        shapes = zip(sizes[:-1], sizes[1:], rngs, strict=True)
        weights = [(gain * rng.standard_normal((n, m)) / np.sqrt(n), np.zeros(m)) for n, m, rng in shapes]
        return weights, ms.Target()

    def cell(self, cell, inputs, H, rngs, gain=1.0):
        n, m = len(inputs.mean), cell.gates * H
        Wx, Wh = (gain * rng.standard_normal((k, m)) / np.sqrt(k) for k, rng in zip((n, H), rngs, strict=True))
        return ms.Started({"Wx": Wx, "Wh": Wh})


gaussian = Gaussian()


def rings(config, seed):
    """Points on rings, numbered from the middle."""
    rng = np.random.default_rng(seed)

    def part(n):
        y = rng.integers(0, config.rings, n)
        angle, radius = rng.uniform(0, 2 * np.pi, n), (y + rng.uniform(0.3, 0.7, n)) / config.rings
        x = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return ms.Split(x.astype(np.float32), y)

    return ms.Dataset("rings", part(400), part(200), part(200), classes=config.rings)


class RingSettings(ms.Settings):
    rings: Annotated[int, msgspec.Meta(ge=2, le=10)] = 2


rings.Settings = RingSettings


class PlainNumPy(ms.Backend):
    """Every primitive as plain array operations."""

    xp = np


class Slopes(ms.Observer):
    """How much the training loss falls from record to record."""

    def __init__(self):
        self.seen, self.summary = [], None

    def log(self, record):
        self.seen.append((record["iteration"], record["train_loss"]))

    def finish(self, summary):
        self.summary = summary
