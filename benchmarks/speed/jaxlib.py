"""JAX: the whole step is one compiled function that overwrites its own parameters; recurrent layers are scans."""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.speed.workloads import Case, Step
from minisig.layers import LSTM, RNN, Dense, Embedding, Sigmoid
from minisig.optimizers import Adam


def step_of(case: Case) -> Step:
    layers, wanted = case.net.layers, cast(Any, case.config.optimizer)
    adam = Adam()

    def loss_of(params: Any, states: Any, x: Any, labels: Any) -> tuple[Any, Any]:
        after = {}
        for name, layer in layers.items():
            p = {key: params[f"{name}.{key}"] for key in layer.params}
            if isinstance(layer, Embedding):
                x = p["E"][x]
            elif isinstance(layer, Dense):
                x = x @ p["W"] + p["b"]
            elif isinstance(layer, RNN | LSTM):
                x, after[name] = _scan(_rnn if isinstance(layer, RNN) else _lstm, p, x, states[name])
            else:
                x = jax.nn.sigmoid(x)
        log_p = jax.nn.log_softmax(x)
        return -jnp.take_along_axis(log_p, labels[..., None], axis=-1).mean(), after

    def update(params: Any, slots: Any, states: Any, x: Any, labels: Any) -> Any:
        (loss, states), g = jax.value_and_grad(loss_of, has_aux=True)(params, states, x, labels)
        if wanted.clip:
            norm = jnp.sqrt(sum(jnp.vdot(part, part) for part in g.values()))
            factor = jnp.minimum(1.0, wanted.clip / norm)
            g = {name: factor * part for name, part in g.items()}
        if wanted.name == "momentum":
            v = {name: wanted.momentum * slots["v"][name] - wanted.learning_rate * part for name, part in g.items()}
            return {name: w + v[name] for name, w in params.items()}, {"v": v}, states, loss
        t = slots["t"] + 1
        m = {name: adam.beta1 * slots["m"][name] + (1 - adam.beta1) * part for name, part in g.items()}
        v = {name: adam.beta2 * slots["v"][name] + (1 - adam.beta2) * part**2 for name, part in g.items()}
        root = jnp.sqrt(1 - adam.beta2**t)
        rate = wanted.learning_rate * root / (1 - adam.beta1**t)
        params = {name: w - rate * m[name] / (jnp.sqrt(v[name]) + adam.epsilon * root) for name, w in params.items()}
        return params, {"t": t, "m": m, "v": v}, states, loss

    step = jax.jit(update, donate_argnums=(0, 1))
    params = {name: jnp.array(w) for name, w in case.net.params.items()}
    dtype = case.net.backend.dtype
    slots: Any = {key: {name: jnp.zeros_like(w) for name, w in params.items()} for key in "mv"}
    slots = {"v": slots["v"]} if wanted.name == "momentum" else {"t": jnp.zeros((), dtype), **slots}
    batches = [
        (jnp.asarray(batch.x if batch.x.dtype.kind == "i" else batch.x.astype(dtype)), jnp.asarray(batch.labels))
        for batch in case.batches
    ]
    start = {
        name: _start(layer, case.batches[0].x.shape[1], dtype) for name, layer in layers.items() if "Wh" in layer.params
    }
    states, turn = start, 0

    def run() -> Any:
        nonlocal params, slots, states, turn
        fresh = case.batches[turn].fresh
        params, slots, states, loss = step(params, slots, start if fresh else states, *batches[turn])
        turn = (turn + 1) % len(batches)
        return loss

    return Step(run, lambda: {name: np.array(w) for name, w in params.items()}, lambda: jax.block_until_ready(params))


def _scan(cell: Any, p: dict[str, Any], x: Any, state: Any) -> tuple[Any, Any]:
    """The cell over all steps; what depends on the inputs alone is one product."""
    z = x @ p["Wx"] + p["b"]
    state, h = jax.lax.scan(lambda state, z_t: cell(p["Wh"], state, z_t), state, z)
    return h, state


def _rnn(Wh: Any, h: Any, z: Any) -> tuple[Any, Any]:
    h = jax.nn.sigmoid(z + h @ Wh)
    return h, h


def _lstm(Wh: Any, state: Any, z: Any) -> tuple[Any, Any]:
    h, c = state
    i, f, g, o = jnp.split(z + h @ Wh, 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def _start(layer: Any, B: int, dtype: Any) -> Any:
    shape = B, len(layer.params["Wh"])
    return jnp.full(shape, Sigmoid.logistic.centre, dtype) if isinstance(layer, RNN) else (jnp.zeros(shape, dtype),) * 2
