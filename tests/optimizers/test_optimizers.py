"""Optimizers against their textbook formulas, on factored gradients."""

import numpy as np
import pytest

from minisig.backends import get_backend
from minisig.gradients import Outer, RowSum
from minisig.optimizers import OPTIMIZERS, SGD, Adam, AdamW, Momentum, RMSprop

BACKEND = get_backend("numpy", "float64")
SINGLE = get_backend("numpy", "float32")
STEPS = 40  # beyond two periods of momentum, and not at the end of one


@pytest.fixture
def problem():
    """Parameters and the factored gradients of every step."""
    rng = np.random.default_rng(0)
    params = {"dense0.W": rng.standard_normal((4, 3)), "dense0.b": rng.standard_normal(3)}
    steps = [(rng.standard_normal((6, 4)), rng.standard_normal((6, 3))) for _ in range(STEPS)]
    return params, [{"dense0.W": Outer(x, dz), "dense0.b": RowSum(dz)} for x, dz in steps]


def in_dtype_of(backend, gradients):
    W, b = gradients.values()
    return {"dense0.W": Outer(backend.asarray(W.x), backend.asarray(W.dz)), "dense0.b": RowSum(backend.asarray(b.dz))}


@pytest.mark.parametrize("backend", [BACKEND, SINGLE], ids=["float64", "float32"])
@pytest.mark.parametrize("momentum", [0.0, 0.01, 0.5, 0.7, 0.9, 0.99])
def test_momentum_is_the_textbook_formula(problem, momentum, backend):
    params, gradients = problem
    found = {name: backend.asarray(w).copy() for name, w in params.items()}
    v = {name: np.zeros_like(w) for name, w in params.items()}
    optimizer = Momentum(momentum)
    for t, step in enumerate(gradients):
        rate = 0.1 / (t + 1)
        optimizer.update(found, in_dtype_of(backend, step), backend, learning_rate=rate, scale=0.5)
        unit = momentum ** (optimizer.steps % optimizer.period)
        for name, g in step.items():
            v[name] = momentum * v[name] - rate * 0.5 * g.dense(BACKEND)
            params[name] += v[name]
            u = optimizer.slots[name]["u"]
            assert np.abs(u).max() < 1000 * np.abs(v[name]).max()  # or float32 would overflow with little momentum
            for array, right in ((u * unit, v[name]), (found[name], params[name])):
                rounding = STEPS * np.finfo(backend.dtype).eps * np.abs(right).max()
                np.testing.assert_allclose(array, right, rtol=0, atol=rounding, err_msg=f"{name} at step {t}")


@pytest.mark.parametrize(("options", "epsilon"), [({}, 1e-8), ({"epsilon": 1e-3}, 1e-3)], ids=["default", "given"])
def test_adam_is_algorithm_1_of_kingma_and_ba(problem, options, epsilon):
    params, gradients = problem
    expected = {name: w.copy() for name, w in params.items()}
    m = {name: np.zeros_like(w) for name, w in params.items()}
    v = {name: np.zeros_like(w) for name, w in params.items()}
    optimizer = Adam(**options)
    for t, step in enumerate(gradients, start=1):
        optimizer.update(params, step, BACKEND, learning_rate=0.01, scale=0.7)
        for name, gradient in step.items():
            g = 0.7 * gradient.dense(BACKEND)
            m[name] = 0.9 * m[name] + 0.1 * g
            v[name] = 0.999 * v[name] + 0.001 * g**2
            m_hat, v_hat = m[name] / (1 - 0.9**t), v[name] / (1 - 0.999**t)
            expected[name] -= 0.01 * m_hat / (np.sqrt(v_hat) + epsilon)
    for name in params:
        np.testing.assert_allclose(params[name], expected[name], rtol=1e-12)


def test_sgd_goes_down_the_gradient(problem):
    params, gradients = problem
    expected = {name: w - 0.1 * 0.7 * gradients[0][name].dense(BACKEND) for name, w in params.items()}
    SGD().update(params, gradients[0], BACKEND, learning_rate=0.1, scale=0.7)
    for name in params:
        np.testing.assert_allclose(params[name], expected[name], rtol=1e-14)


@pytest.mark.parametrize("options", [{}, {"rho": 0.5, "epsilon": 1e-3}], ids=["default", "given"])
def test_rmsprop_divides_by_the_running_root_mean_square(problem, options):
    params, gradients = problem
    expected = {name: w.copy() for name, w in params.items()}
    v = {name: np.zeros_like(w) for name, w in params.items()}
    rho, epsilon = options.get("rho", 0.99), options.get("epsilon", 1e-8)
    optimizer = RMSprop(**options)
    for step in gradients:
        optimizer.update(params, step, BACKEND, learning_rate=0.01, scale=0.7)
        for name, gradient in step.items():
            g = 0.7 * gradient.dense(BACKEND)
            v[name] = rho * v[name] + (1 - rho) * g**2
            expected[name] -= 0.01 * g / (np.sqrt(v[name]) + epsilon)
    for name in params:
        np.testing.assert_allclose(params[name], expected[name], rtol=1e-12)


def test_adamw_is_adam_on_weights_that_decay_first(problem):
    params, gradients = problem
    decaying = {name: w.copy() for name, w in params.items()}
    adam, adamw = Adam(), AdamW(weight_decay=0.3)
    for step in gradients:
        for w in params.values():
            w *= 1 - 0.01 * 0.3
        adam.update(params, step, BACKEND, learning_rate=0.01)
        adamw.update(decaying, step, BACKEND, learning_rate=0.01)
    for name in params:
        np.testing.assert_allclose(decaying[name], params[name], rtol=1e-13)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_parameter_has_the_rate_of_its_own(problem, optimizer):
    params, gradients = problem
    whole, split = ({name: w.copy() for name, w in params.items()} for _ in range(2))
    together, apart = OPTIMIZERS[optimizer](), OPTIMIZERS[optimizer]()
    for step in gradients:
        together.update(whole, step, BACKEND, learning_rate=0.02)
        apart.update(split, step, BACKEND, learning_rate=0.04, rates={"dense0.W": 0.5, "dense0.b": 0.0})
    np.testing.assert_array_equal(split["dense0.W"], whole["dense0.W"])
    np.testing.assert_array_equal(split["dense0.b"], params["dense0.b"])


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values())
def test_parameters_are_updated_in_place(problem, optimizer):
    params, gradients = problem
    before = {name: (id(w), w.copy()) for name, w in params.items()}
    optimizer().update(params, gradients[0], BACKEND, learning_rate=0.1)
    for name, w in params.items():
        assert id(w) == before[name][0]
        assert not np.array_equal(w, before[name][1])
