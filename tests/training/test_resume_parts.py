"""A run with any optimizer, schedule or choice of the best goes on from its checkpoint to the same bits."""

import json

import pytest

from minisig.experiments import configure
from minisig.optimizers import OPTIMIZERS
from minisig.schedules import SCHEDULES
from minisig.training.checkpoint import CHECKPOINT
from minisig.training.files import read_tensors
from minisig.training.loop import Training
from minisig.training.run import resume, run
from tests.faults.runs import begun, difference, outcome, standing

SMALL = {"network.hidden": [5], "batch_size": 20, "iterations": 60, "validate_every": 4, "log_every": 3, "seed": 1}
PLAIN = {"optimizer.schedule": "constant", "optimizer.warmup": 0, "optimizer.clip": None, "dtype": "float64"}
STOP = 29  # neither logged nor validated, within a period of momentum

OWN = {
    "adamw": {"optimizer.weight_decay": 0.1},
    "step": {"optimizer.decay": 0.5, "optimizer.decay_every": 11},
    "plateau": {"optimizer.decay": 0.6, "optimizer.patience": 1, "optimizer.learning_rate": 2.0},
}
RUNS = {
    **{f"optimizer {name}": {"optimizer.name": name, **OWN.get(name, {})} for name in OPTIMIZERS.rows},
    **{f"schedule {name}": {"optimizer.schedule": name, **OWN.get(name, {})} for name in SCHEDULES.rows},
    "adam on a plateau": {"optimizer.name": "adam", "optimizer.schedule": "plateau", **OWN["plateau"]},
    "rates": {"optimizer.rates": {"dense0.*": 0.5, "*.b": 0.0}},
    "rates of adam": {"optimizer.name": "adam", "optimizer.rates": {"dense1.*": 2.0}},
    "select by error": {"select_by": "error", "optimizer.learning_rate": 2.0, "seed": 0},
    "warm-up and clipping": {"optimizer.warmup": 45, "optimizer.clip": 0.1},
}


def configured(name):
    return configure("digits", SMALL | PLAIN | {"optimizer.learning_rate": 0.02} | RUNS[name])


def position(folder):
    return json.loads(read_tensors(folder / CHECKPOINT)[1]["position"])


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("stop", [STOP, 32], ids=["between validations", "on a validation"])
def test_a_stopped_run_ends_with_the_bits_of_one_that_was_not(tmp_path, name, stop):
    config = configured(name)
    run(config, tmp_path / "straight")
    begun(config, tmp_path / "stopped", stop)
    assert standing(config, tmp_path / "stopped") == stop
    resume(tmp_path / "stopped")
    assert difference(tmp_path / "stopped", outcome(tmp_path / "straight")) == ""


@pytest.mark.parametrize("name", ["schedule plateau", "adam on a plateau"])
def test_the_rate_on_a_plateau_has_fallen_before_the_stop_and_falls_after_it(tmp_path, name):
    """Or the runs above would prove nothing of what the schedule remembers."""
    config = configured(name)
    before = position(begun(config, tmp_path / "run", STOP))["schedule"]
    resume(tmp_path / "run")
    assert before["factor"] < 1
    assert position(tmp_path / "run")["schedule"]["factor"] < before["factor"]


class Forgetful:
    """A training to whose load_state this happens in the end."""

    def __init__(self, monkeypatch, forget):
        real = Training.load_state

        def load_state(training, arrays, numbers):
            real(training, arrays, numbers)
            forget(training)

        monkeypatch.setattr(Training, "load_state", load_state)


def no_schedule(training):
    training.schedule.state = {}


def no_slots(training):
    training.optimizer.slots = {}


def no_steps(training):
    training.optimizer.steps = 0


def no_best(training):
    training.best_score = type(training.best_score)()


@pytest.mark.parametrize(
    ("name", "forget"),
    [
        ("schedule plateau", no_schedule),
        *((f"optimizer {name}", no_slots) for name in OPTIMIZERS.rows if OPTIMIZERS[name].slot_names),
        *((f"optimizer {name}", no_steps) for name in ("momentum", "adam", "adamw")),
        ("select by error", no_best),
    ],
)
def test_a_run_that_goes_on_without_what_it_remembered_is_another_one(tmp_path, monkeypatch, name, forget):
    config = configured(name)
    run(config, tmp_path / "straight")
    begun(config, tmp_path / "stopped", STOP)
    Forgetful(monkeypatch, forget)
    resume(tmp_path / "stopped")
    assert difference(tmp_path / "stopped", outcome(tmp_path / "straight")) != ""


@pytest.mark.parametrize("name", [name for name in RUNS if name not in ("schedule linear", "schedule cosine")])
def test_a_finished_run_made_longer_is_the_longer_one_from_the_start(tmp_path, name):
    """The shorter one ends on a validation that the longer one has too."""
    config = configured(name)
    run(config, tmp_path / "straight")
    shorter = configure("digits", SMALL | PLAIN | {"optimizer.learning_rate": 0.02} | RUNS[name] | {"iterations": 36})
    run(shorter, tmp_path / "extended")
    resume(tmp_path / "extended", 60)
    assert difference(tmp_path / "extended", outcome(tmp_path / "straight")) == ""
