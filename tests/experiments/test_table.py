"""Experiments are data, and every field can be overridden by its name in config.json."""

import msgspec
import pytest

from minisig.errors import UsageError
from minisig.experiments import EXPERIMENTS, configure
from minisig.training.config import Config


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_survives_its_own_config_json(name):
    assert msgspec.json.decode(msgspec.json.encode(EXPERIMENTS[name]), type=Config) == EXPERIMENTS[name]


def test_overrides_replace_just_the_fields_they_name():
    config = configure("digits", {"network.hidden": [3, 2], "seed": 5})
    assert config.network.hidden == (3, 2)
    assert config.seed == 5
    assert (
        configure("digits", {"network.hidden": EXPERIMENTS["digits"].network.hidden, "seed": 0})
        == EXPERIMENTS["digits"]
    )


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"iterations": 0}, r"\$\.iterations"),
        ({"iterations": "many"}, r"\$\.iterations"),
        ({"optimizer.learning_rate": -1.0}, r"\$\.optimizer\.learning_rate"),
        ({"optimizer.name": "sgd"}, r"\$\.optimizer\.name"),
        ({"network.hidden": [10, 0]}, r"\$\.network\.hidden"),
        ({"optimizer.rate": 0.1}, "unknown field `rate`"),
        ({"optimiser.rate": 0.1}, "unknown setting 'optimiser.rate'"),
        ({"seed.x": 1}, "unknown setting 'seed.x'"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(overrides, message):
    with pytest.raises(UsageError, match=message):
        configure("digits", overrides)
