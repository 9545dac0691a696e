"""What a run is known by: what it asks for beside the defaults, so that a new setting orphans no finished run."""

import json

import msgspec
import pytest
from msgspec.structs import replace

from minisig.data.hashes import content_hash
from minisig.experiments import EXPERIMENTS, configure
from minisig.experiments.compare import plan
from minisig.experiments.identity import identity
from minisig.experiments.results import Job


class Inner(msgspec.Struct, frozen=True):
    size: int
    rate: float = 0.5
    names: list[str] = msgspec.field(default_factory=list)


class Outer(msgspec.Struct, frozen=True):
    inner: Inner
    other: Inner | None = None
    seed: int = 0


def test_it_is_what_differs_from_the_defaults_at_every_depth():
    assert identity(Outer(Inner(3))) == b'{"inner":{"size":3}}'
    assert identity(Outer(Inner(3, 0.5, []), None, 0)) == identity(Outer(Inner(3)))
    assert identity(Outer(Inner(3, names=["b", "a"]), seed=2)) == b'{"inner":{"names":["b","a"],"size":3},"seed":2}'
    assert identity(Outer(Inner(3), other=Inner(4, 0.25))) == b'{"inner":{"size":3},"other":{"rate":0.25,"size":4}}'


def test_a_group_that_is_switched_on_differs_though_all_in_it_is_a_default():
    usual = configure("digits")
    assert identity(configure("digits", {"data.augment": {}})) != identity(usual)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_settings_that_a_later_version_brings_change_nothing(experiment):
    config = configure(experiment)
    grown = type(config.network).__name__
    network = msgspec.defstruct(
        grown, [("skip", int, 0), ("gains", dict[str, float], msgspec.field(default_factory=dict))],
        bases=(type(config.network),), frozen=True, kw_only=True,
    )  # fmt: skip
    later = network(**msgspec.structs.asdict(config.network))
    assert identity(replace(config, network=later)) == identity(config)
    assert identity(replace(config, network=replace(later, skip=1))) != identity(config)
    assert Job("lecun", replace(config, network=later)).folder == Job("lecun", config).folder


def test_it_is_json_with_sorted_keys():
    text = identity(configure("copy-memory", {"seed": 3, "network.hidden": [7]}))
    found = json.loads(text)
    assert (found["seed"], found["network"]) == (3, {"hidden": [7], "model": "rnn"})
    assert text == json.dumps(found, sort_keys=True, separators=(",", ":")).encode()


def test_data_of_other_content_are_other_data(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("1,2\n")
    before = content_hash(str(path))
    path.write_text("1,3\n")
    assert content_hash(str(path)) != before
    assert content_hash(None) == content_hash(str(tmp_path / "nosuch.csv")) == ""


# Comparisons


def shared(settings, rows=("lecun",), experiment="copy-memory", seeds=1):
    (found,) = {job.shared for job in plan(experiment, rows, seeds, settings)}
    return found


def test_a_comparison_is_the_same_with_more_rows_and_more_seeds():
    assert shared({"iterations": 5}) == shared({"iterations": 5}, ["ortho", "lstm"], seeds=3)


def test_what_the_experiment_has_by_itself_is_no_other_comparison():
    assert shared({"network.hidden": [100], "batch_size": 20}) == shared({})
    assert shared({"network": {"hidden": (100,)}}) == shared({"network.hidden": [100]})


@pytest.mark.parametrize(
    "setting", [{"iterations": 5}, {"network.hidden": [7]}, {"data.delay": 3}, {"dtype": "float64"}]
)
def test_another_network_or_other_data_are_another_comparison(setting):
    assert shared(setting) != shared({})
    assert shared(setting) != shared(setting, experiment="ptb") if "data.delay" not in setting else True
