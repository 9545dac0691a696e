"""Optimizers, losses and schedules against PyTorch's own, in float64."""

import numpy as np
import pytest

import minisig as ms
from minisig.backends import get_backend
from minisig.losses import LOSSES
from minisig.optimizers import OPTIMIZERS
from minisig.schedules import SCHEDULES

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'minisig[torch]'")
from torch import optim  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.optim import lr_scheduler  # noqa: E402

STEPS = 40  # more than two periods of our momentum
F64 = get_backend("numpy", "float64")

# By our name: our settings, theirs, and their class.
OPTIMIZER_PAIRS = {
    "sgd": [({}, {}, optim.SGD)],
    "momentum": [({"momentum": mu}, {"momentum": mu}, optim.SGD) for mu in (0.0, 0.5, 0.9, 0.99)],
    "adam": [
        ({}, {}, optim.Adam),
        ({"beta1": 0.7, "beta2": 0.9, "epsilon": 1e-3}, {"betas": (0.7, 0.9), "eps": 1e-3}, optim.Adam),
    ],
    "adamw": [
        ({}, {}, optim.AdamW),
        ({"weight_decay": 0.3, "beta1": 0.8}, {"weight_decay": 0.3, "betas": (0.8, 0.999)}, optim.AdamW),
    ],
    "rmsprop": [({}, {}, optim.RMSprop), ({"rho": 0.8, "epsilon": 1e-3}, {"alpha": 0.8, "eps": 1e-3}, optim.RMSprop)],
}
CASES = [(name, *pair) for name, pairs in OPTIMIZER_PAIRS.items() for pair in pairs]


def both_trained(name, ours, theirs, kind, rate=0.05):
    """After every step, our parameters and those that torch makes of the same start and the same gradients."""
    rng = np.random.default_rng(0)
    net = ms.mlp([6, 9, 8, 4], dtype="float64")
    optimizer = OPTIMIZERS[name](**ours)
    params = {key: torch.tensor(w, requires_grad=True) for key, w in net.params.items()}
    peer = kind(params.values(), lr=rate, **theirs)
    for _ in range(STEPS):
        gradients = net.trace(rng.normal(size=(11, 6)), rng.integers(0, 4, 11)).gradients
        for key, g in gradients.items():
            params[key].grad = torch.tensor(g.dense(F64))
        peer.step()
        optimizer.update(net.params, gradients, net.backend, learning_rate=rate)
        yield net.params, {key: w.detach().numpy() for key, w in params.items()}


@pytest.mark.parametrize(("name", "ours", "theirs", "kind"), CASES)
def test_an_optimizer_makes_the_steps_of_torchs(name, ours, theirs, kind):
    first = last = None
    for found, expected in both_trained(name, ours, theirs, kind):
        for key, w in expected.items():
            np.testing.assert_allclose(found[key], w, rtol=1e-11, atol=1e-13, err_msg=key)
        first = first or {key: w.copy() for key, w in found.items()}
        last = found
    assert all(np.abs(last[key] - w).max() > 1e-3 for key, w in first.items())  # they do move


def test_every_optimizer_is_compared_with_torchs():
    assert set(OPTIMIZER_PAIRS) == set(OPTIMIZERS.rows)


@pytest.mark.parametrize("wrong", [{"momentum": 0.9 + 1e-6}, {"momentum": 0.9, "nesterov": True}])
def test_the_comparison_tells_a_slightly_other_optimizer(wrong):
    *_, (found, expected) = both_trained("momentum", {"momentum": 0.9}, wrong, optim.SGD)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(found["dense0.W"], expected["dense0.W"], rtol=1e-11, atol=1e-13)


# Losses: ours in terms of theirs


def summed_over_outputs(z, t):
    return functional.binary_cross_entropy_with_logits(z, t, reduction="none").sum(dim=-1).mean()


def of_classes(z, labels):
    return functional.cross_entropy(z.reshape(-1, z.shape[-1]), labels.reshape(-1))


LOSS_PAIRS = {
    "mean-squared-error": (functional.mse_loss, lambda rng, shape: rng.normal(size=shape)),
    "sigmoid-cross-entropy": (summed_over_outputs, lambda rng, shape: rng.integers(0, 2, shape).astype(float)),
    "softmax-cross-entropy": (of_classes, lambda rng, shape: rng.integers(0, shape[-1], shape[:-1])),
}


@pytest.mark.parametrize("name", LOSS_PAIRS)
@pytest.mark.parametrize("shape", [(13, 5), (1, 5), (7, 1), (4, 3, 5)], ids=str)
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0, 900.0])
def test_a_loss_and_its_gradient_are_those_of_torch(name, shape, size):
    theirs, draw = LOSS_PAIRS[name]
    rng = np.random.default_rng(1)
    z, targets = size * rng.normal(size=shape), draw(rng, shape)
    peer = torch.tensor(z, requires_grad=True)
    expected = theirs(peer, torch.as_tensor(targets))
    expected.backward()
    loss, dz = LOSSES[name]()(z, targets, F64)
    np.testing.assert_allclose(float(loss), expected.item(), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(dz, peer.grad, rtol=1e-12, atol=1e-15 * max(1.0, np.abs(dz).max()))


def test_targets_between_yes_and_no_are_those_of_torch():
    rng = np.random.default_rng(2)
    z, t = rng.normal(size=(9, 3)), rng.uniform(size=(9, 3))
    peer = torch.tensor(z, requires_grad=True)
    expected = summed_over_outputs(peer, torch.as_tensor(t))
    expected.backward()
    loss, dz = LOSSES["sigmoid-cross-entropy"]()(z, t, F64)
    np.testing.assert_allclose(float(loss), expected.item(), rtol=1e-13)
    np.testing.assert_allclose(dz, peer.grad, rtol=1e-12, atol=1e-16)


def test_every_loss_is_compared_with_torchs():
    assert set(LOSS_PAIRS) == set(LOSSES.rows)


# Schedules

SCHEDULE_PAIRS = {
    "constant": ({}, lambda peer, n: lr_scheduler.ConstantLR(peer, factor=1.0)),
    "linear": ({}, lambda peer, n: lr_scheduler.LinearLR(peer, 1.0, 0.0, total_iters=n)),
    "cosine": ({}, lambda peer, n: lr_scheduler.CosineAnnealingLR(peer, T_max=n)),
    "step": ({"decay": 0.3, "decay_every": 7}, lambda peer, n: lr_scheduler.StepLR(peer, 7, gamma=0.3)),
}


def idle(rate):
    return optim.SGD([torch.zeros(1, requires_grad=True)], lr=rate)


@pytest.mark.parametrize("name", SCHEDULE_PAIRS)
@pytest.mark.parametrize("iterations", [1, 2, 50])
def test_a_schedule_is_that_of_torch(name, iterations):
    own, theirs = SCHEDULE_PAIRS[name]
    schedule, peer = SCHEDULES[name](**own), idle(0.25)
    scheduler = theirs(peer, iterations)
    for iteration in range(1, iterations + 1):
        (expected,) = scheduler.get_last_lr()
        assert 0.25 * schedule.factor(iteration, iterations) == pytest.approx(expected, rel=1e-9, abs=1e-15)
        peer.step()
        scheduler.step()


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_a_plateau_is_that_of_torch(patience):
    """Torch's patience is that of the validations it lets pass, one less than ours."""
    losses = np.random.default_rng(3).choice([3.0, 2.0, 1.5, 1.2, 1.0], 60) + np.linspace(0.5, 0, 60).round(1)
    schedule, peer = SCHEDULES["plateau"](decay=0.7, patience=patience), idle(0.25)
    scheduler = lr_scheduler.ReduceLROnPlateau(peer, factor=0.7, patience=patience - 1, threshold=0.0, eps=0.0)
    for loss in losses:
        schedule.validated(float(loss))
        peer.step()
        scheduler.step(float(loss))
        assert 0.25 * schedule.factor(1, 60) == pytest.approx(peer.param_groups[0]["lr"], rel=1e-12)
    assert schedule.factor(1, 60) < 0.7**3


def test_every_schedule_is_compared_with_torchs():
    assert {*SCHEDULE_PAIRS, "plateau"} == set(SCHEDULES.rows)
