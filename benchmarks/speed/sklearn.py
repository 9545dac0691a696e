"""scikit-learn's MLPClassifier, a partial_fit on every batch."""

from itertools import cycle
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier

from benchmarks.speed.workloads import Case, Step
from minisig.experiments import settings


def step_of(case: Case) -> Step:
    config, dtype = case.config, case.net.backend.dtype
    assert config.optimizer.name == "momentum"
    momentum = settings(config)["optimizer.momentum"]
    assert config.optimizer.clip is None, "it cannot clip"
    model: Any = MLPClassifier(
        config.network.hidden,
        activation="logistic",
        solver="sgd",
        alpha=0.0,
        batch_size=config.batch_size,
        learning_rate_init=config.optimizer.learning_rate,
        momentum=momentum,
        nesterovs_momentum=False,
        shuffle=False,
    )
    batches = cycle([(batch.x.astype(dtype), batch.labels) for batch in case.batches])
    classes = np.arange(case.data.classes)
    model.partial_fit(np.zeros_like(case.batches[0].x, dtype), case.batches[0].labels, classes=classes)
    params = case.net.params
    model.coefs_[:] = [w.copy() for name, w in params.items() if name.endswith(".W")]
    model.intercepts_[:] = [w.copy() for name, w in params.items() if name.endswith(".b")]
    del model._optimizer  # and with it the velocities of that step, which was there to build the network
    return Step(lambda: model.partial_fit(*next(batches)), lambda: _params(model))


def _params(model: Any) -> dict[str, Any]:
    weights = zip(model.coefs_, model.intercepts_, strict=True)
    return {f"dense{i}.{key}": w for i, pair in enumerate(weights) for key, w in zip("Wb", pair, strict=True)}
