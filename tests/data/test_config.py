"""The settings under data: what they are unless told, and how far they go."""

import pytest

from minisig.data import DataConfig
from minisig.errors import UsageError
from minisig.experiments import configure

LIMITS = {  # the least and the most that is allowed, and what is beyond
    "data.delay": (1, 100_000, 0, 100_001),
    "data.steps": (1, 100_000, 0, 100_001),
    "data.vocabulary": (3, 10_000_000, 2, 10_000_001),  # <eos>, <unk> and a word
    "data.augment.alpha": (0, 1e3, -1e-9, 1e3 + 1),
    "data.augment.sigma": (1e-3, 1e3, 0.9e-3, 1e3 + 1),
    "data.augment.rotation": (0, 180, -1e-9, 180.1),
    "data.augment.narrow_rotation": (0, 180, -1e-9, 180.1),
    "data.augment.scaling": (0, 0.999, -1e-9, 1),
    "data.augment.narrow": ([], [0, 9], [-1], [1, -1]),
}


def test_the_papers_delay_and_the_customs_of_language_models_are_the_defaults():
    assert configure("copy-memory").data.delay == 100
    assert (configure("ptb").data.steps, configure("ptb").data.vocabulary) == (35, 10_000)
    config = DataConfig(source="ptb")
    assert (config.hold_out, config.path, config.augment) == (True, None, None)


@pytest.mark.parametrize("name", LIMITS)
def test_a_setting_goes_to_its_limits_and_no_further(name):
    least, most, below, beyond = LIMITS[name]
    experiment = {"data.delay": "copy-memory", "data.steps": "ptb", "data.vocabulary": "ptb"}.get(name, "digits")
    for value in (least, most):
        found = configure(experiment, {name: value})
        for step in name.split("."):
            found = getattr(found, step)
        assert found == (tuple(value) if isinstance(value, list) else value)
    for value in (below, beyond):
        with pytest.raises(UsageError, match=name):
            configure(experiment, {name: value})
