"""The training loop: shuffled minibatches, one trace and one update a step, validation at intervals.

Training is an iterator of records. Who wants to watch iterates; how much is recorded changes no number.
"""

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from math import inf, isfinite
from typing import Any

import numpy as np

from minisig.activations import Activation
from minisig.backends import Array
from minisig.data import Batches, Dataset
from minisig.data.ahead import Ahead
from minisig.data.augment import Distorted, Distortion
from minisig.data.prepared import TextInputs
from minisig.diagnostics.activations import activation_statistics
from minisig.diagnostics.finite import first_not_finite
from minisig.diagnostics.writing import written
from minisig.errors import DataError, Diverged, UsageError, require_known
from minisig.gradients import SMALL, evaluated, global_norm, layer_norms
from minisig.losses import Score, metric
from minisig.network import Network, States
from minisig.optimizers import OPTIMIZERS, Optimizer
from minisig.schedules import SCHEDULES
from minisig.seeds import stream
from minisig.settings import brought
from minisig.trace import Trace
from minisig.training.config import Config
from minisig.training.evaluate import evaluate
from minisig.training.records import Record

DIVERGED = 1e6  # a loss above this, or none at all, ends the run


class Training:
    """A network being trained on data, `iteration` updates so far; `best` holds the parameters that validated best.

    Where nothing is held out to select on, they are the last ones.
    """

    def __init__(self, net: Network, data: Dataset, config: Config, optimizer: Optimizer | None = None) -> None:
        self.net, self.data, self.config = net, data.on(net.backend.xp), config
        chosen = config.optimizer
        self.optimizer = optimizer or make_optimizer(config)
        self.schedule = SCHEDULES[chosen.schedule](**brought(SCHEDULES[chosen.schedule], chosen))
        self.rates = parameter_rates(chosen.rates, net)
        self.batches = self._batches()
        self.draws = any(getattr(layer, "draws", False) for layer in net.layers.values())  # a dropout, or the like
        self.iteration = 0
        self.states: States = {}  # of recurrent layers, carried from batch to batch where the data go on
        self.best = {name: w.copy() for name, w in net.params.items()}
        self.best_iteration = 0
        self.best_score = Score()  # none until it is validated

    def _batches(self) -> Batches:
        batches: Batches = self.data.train.batches(self.config.batch_size, self.config.seed)
        augment = self.config.data.augment
        if augment is None:
            return batches
        if self.data.image is None:
            raise UsageError(f"the data of {self.data.name} are not images: leave out data.augment")
        distort = Distortion(augment, self.data.image, self.data.background, self.net.backend)
        return Ahead(Distorted(batches, distort, self.config.seed))

    def __iter__(self) -> Iterator[Record]:
        """Train to the end; a record of iteration 1, of every log_every-th and validated one, and of the last."""
        while not self.done:
            if record := self.advance():
                yield record

    @property
    def done(self) -> bool:
        return self.iteration >= self.config.iterations or self.stopped

    @property
    def stopped(self) -> bool:
        """Whether nothing has become better for longer than the configuration is patient."""
        return self._end is not None and self.iteration >= self._end

    @property
    def _end(self) -> int | None:
        """The iteration at which patience ends, once it has begun; there is a validation before it at least."""
        patience, best = self.config.patience, self.best_iteration
        return best + max(patience, self.config.validate_every) if patience is not None and best else None

    def advance(self) -> Record | None:
        """The next iteration, and its record if it is one of those that have one.

        A record's training loss, gradient norms, activations and statistics are those its update was made from, the
        norms before clipping unless they say otherwise; its validation figures are those after the update.
        """
        config, iteration = self.config, self.iteration + 1
        validating = iteration % config.validate_every == 0 or iteration == config.iterations
        measuring = config.statistics_every is not None and (iteration % config.statistics_every == 0 or iteration == 1)
        logging = iteration % config.log_every == 0 or iteration in (1, self._end) or validating or measuring
        with np.errstate(over="ignore", invalid="ignore"):  # what they warn of is reported by _observe
            trace, norms = self.step(iteration)
        self.iteration = iteration
        if not logging:
            return None
        record = self._observe(iteration, trace, norms)
        if measuring:
            record["statistics"] = [asdict(row) for row in activation_statistics(trace)]
        if validating:
            record |= self._validate(iteration)
        return record

    def step(self, iteration: int) -> tuple[Trace, dict[str, Array]]:
        """One update; its trace and, if clipping needed them, the norms before clipping, still on the device."""
        config, clip = self.config, self.config.optimizer.clip
        batch = self.batches.at(iteration)
        rng = stream(config.seed, "dropout", iteration) if self.draws else None
        trace = self.net.trace(batch.x, batch.labels, rng, {} if batch.fresh else self.states)
        self.states = trace.states
        gradients, params, backend = trace.gradients, self.net.params, self.net.backend
        if clip:  # what is made once for the norms and for the update
            gradients = evaluated(gradients, params, inf if self.optimizer.needs_matrices else SMALL, backend)
        norms = {name: g.norm(backend) for name, g in gradients.items()} if clip else {}
        self.optimizer.update(
            params,
            gradients,
            backend,
            learning_rate=self.learning_rate(iteration),
            scale=backend.clip_factor(list(norms.values()), clip) if clip else 1.0,
            rates=self.rates,
        )
        return trace, norms

    def learning_rate(self, iteration: int) -> float:
        """η of this iteration, from 1: the schedule's, times a share that rises from 0 to 1 over the warm-up."""
        config = self.config.optimizer
        rate = config.learning_rate
        if iteration < config.warmup:
            rate *= iteration / config.warmup
        return rate * self.schedule.factor(iteration, self.config.iterations)

    def _observe(self, iteration: int, trace: Trace, on_device: dict[str, Array]) -> Record:
        backend = self.net.backend
        norms = on_device or {name: g.norm(backend) for name, g in trace.gradients.items()}
        clip = self.config.optimizer.clip
        activations = {
            name: trace.outputs[name]
            for name, layer in self.net.layers.items()
            if isinstance(layer, Activation) or getattr(layer, "carries", False)
        }
        means, deviations = [y.mean() for y in activations.values()], [y.std() for y in activations.values()]
        fetched = iter(backend.floats([trace.loss, *norms.values(), *means, *deviations]))  # in one transfer
        loss, norms = next(fetched), {name: next(fetched) for name in norms}
        total = global_norm(norms)
        self._require_sane(iteration, loss, total, trace)
        return {
            "iteration": iteration,
            "train_loss": loss,
            "gradient_norm": layer_norms(norms),
            "gradient_norm_total": total,
            "gradient_norm_clipped": total if clip is None else min(total, clip),
            "activation_mean": {name: next(fetched) for name in activations},
            "activation_std": {name: next(fetched) for name in activations},
        }

    def _require_sane(
        self, iteration: int, loss: float, gradient_norm: float = 0.0, trace: Trace | None = None
    ) -> None:
        if loss < DIVERGED and isfinite(gradient_norm):
            return
        where = first_not_finite(self.net, trace)
        rate = self.config.optimizer.learning_rate
        updated = iteration > 1 or trace is None
        advice = f"lower the learning rate, now {rate:g}" if updated else "look at the data and the initialization"
        raise Diverged(
            f"diverged at iteration {iteration}: loss {loss:g}, gradient norm {gradient_norm:g}"
            f"{f', first seen in {where}' if where else ''}; {advice}"
        )

    def require_finite(self) -> None:
        """Raise Diverged if anything that the next iteration starts from is NaN or infinite."""
        slots = [values for slots in self.optimizer.slots.values() for values in slots.values()]
        states = [part for state in self.states.values() for part in (state if isinstance(state, tuple) else (state,))]
        if not all(bool(self.net.backend.xp.isfinite(w).all()) for w in [*self.net.params.values(), *slots, *states]):
            self._require_sane(self.iteration, float("nan"))

    def _validate(self, iteration: int) -> Record:
        with np.errstate(over="ignore", invalid="ignore"):
            score = evaluate(self.net, self.data.valid)
        self._require_sane(iteration, score.loss)
        self.schedule.validated(score["loss"])
        if not self.config.data.hold_out or self._better(score):
            self.best_iteration, self.best_score = iteration, score
            for name, w in self.net.params.items():
                self.best[name][...] = w
        record: Record = {f"valid_{name}": value for name, value in score.items()}
        if isinstance(self.data.prepared, TextInputs) and "tokens" in vars(self.data.valid):
            record["sample"] = written(self.net, self.data.prepared)
        return record

    def _better(self, score: Score) -> bool:
        by, best = self.config.select_by, self.best_score
        require_known("metric to select_by", by, score)  # the data may ask for none, as for recall
        if not best:
            return True
        return score[by] > best[by] if metric(by).rising else score[by] < best[by]

    def state(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """All that decides how training goes on: arrays by name, as in a checkpoint, and plain numbers."""
        arrays = {f"param.{name}": w for name, w in self.net.params.items()}
        arrays |= {f"best.{name}": w for name, w in self.best.items()}
        for name, slots in self.optimizer.slots.items():
            arrays |= {f"slot.{name}.{slot}": values for slot, values in slots.items()}
        for layer, state in self.states.items():
            parts = state if isinstance(state, tuple) else (state,)
            arrays |= {f"state.{layer}.{i}": part for i, part in enumerate(parts)}
        best = {"best_iteration": self.best_iteration, "best_score": dict(self.best_score) or None}
        return arrays, {"iteration": self.iteration, "schedule": dict(self.schedule.state)} | best

    def load_state(self, arrays: Mapping[str, np.ndarray], numbers: Mapping[str, Any]) -> None:
        """Bring a training that has not begun to where another stood; what does not fit it is refused."""
        iteration, best_iteration = numbers["iteration"], numbers["best_iteration"]
        score = {name: value for name, value in (numbers["best_score"] or {}).items() if value is not None}
        selected = {"loss", self.config.select_by} <= score.keys() if best_iteration else not score
        if not (selected and 0 <= best_iteration <= iteration <= self.config.iterations):
            raise DataError(
                f"iteration {iteration} of {self.config.iterations}, the best one {best_iteration} with {score}: that "
                f"makes no sense"
            )
        xp = self.net.backend.xp
        self.optimizer.slots = {
            name: {slot: xp.zeros_like(w) for slot in self.optimizer.slot_names} for name, w in self.net.params.items()
        }
        if any(getattr(layer, "carries", False) for layer in self.net.layers.values()):  # states of the right shape
            self.states = self.net.advance(self.batches.at(1).x)[1]
        wanted, _ = self.state()
        for name in sorted({*wanted, *arrays}):
            have, need = arrays.get(name), wanted.get(name)
            if have is None or need is None or have.shape != need.shape or have.dtype != need.dtype:
                raise DataError(f"{name} does not fit the configured network")
            if not np.isfinite(have).all():
                raise DataError(f"{name} has entries that are not finite")
        for name, values in wanted.items():
            values[...] = xp.asarray(arrays[name])
        self.iteration = self.optimizer.steps = iteration
        self.schedule.state = dict(numbers["schedule"])
        self.best_iteration, self.best_score = best_iteration, Score(score)


def make_optimizer(config: Config) -> Optimizer:
    """The optimizer that a configuration asks for, at its start."""
    row = OPTIMIZERS[config.optimizer.name]
    return row(**brought(row, config.optimizer))


def parameter_rates(patterns: Mapping[str, float], net: Network) -> dict[str, float]:
    """What the learning rate of each parameter is multiplied with, where it is not 1; the last pattern that fits wins.

    >>> from minisig.network import mlp
    >>> parameter_rates({"dense*": 0.5, "dense0.W": 0.1}, mlp([2, 2]))
    {'dense0.W': 0.1, 'dense0.b': 0.5}
    """
    rates: dict[str, float] = {}
    for pattern, rate in patterns.items():
        fitting = fnmatch.filter(net.params, pattern)
        if not fitting:
            raise UsageError(f"optimizer.rates: no parameter is called {pattern}; there are {', '.join(net.params)}")
        rates |= dict.fromkeys(fitting, rate)
    return {name: rates[name] for name in net.params if name in rates}
