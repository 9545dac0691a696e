"""python -m benchmarks.writing: the same text for everybody, chosen by validation, and PyTorch on the same network."""

import numpy as np
import pytest

from benchmarks import writing, writing_settings
from benchmarks.speed import writing as speed
from benchmarks.speed.workloads import BARE, build
from minisig.data import load
from minisig.experiments import configure

TINY = {"network.hidden": (8,), "iterations": 4, "validate_every": 2, "optimizer.warmup": 0, "threads": 1}


@pytest.fixture(scope="module")
def counted():
    return {row["model"]: row for row in writing.counted(load(configure("text").data))}


def test_longer_contexts_tell_more_and_the_best_is_best_by_validation(counted):
    bits = [row["runs"][0]["valid_bits"] for row in counted.values()]
    assert bits == sorted(bits, reverse=True)
    *_, best = counted.values()
    assert min(best["tried"], key=lambda tried: tried["valid_bits"]) == {
        **best["settings"],
        "valid_bits": bits[-1],
    }


def test_unigrams_come_near_the_baseline_of_the_data(counted):
    data = load(configure("text").data)
    (run,) = counted["unigrams"]["runs"]
    assert run["valid_bits"] == pytest.approx(np.log2(data.baselines["unigram"]), abs=0.001)


def test_what_is_written_goes_on_for_so_many_characters(counted):
    assert {len(row["sample"]) for row in counted.values()} == {writing.LENGTH}


@pytest.mark.parametrize("model", writing.NETWORKS)
def test_a_row_has_the_figures_of_every_seed(model):
    row = writing.trained(model, 2, TINY)
    assert [run["iterations"] for run in row["runs"]] == [4, 4]
    assert row["runs"][0]["test_bits"] != row["runs"][1]["test_bits"]
    assert len(row["sample"]) == writing.LENGTH
    head, line = writing.result_rows([row])
    assert len(head) == len(line)


def test_no_reported_seed_takes_part_in_the_search(monkeypatch):
    assert writing_settings.SEED not in range(writing.SEEDS)
    seen = []
    monkeypatch.setattr(
        writing_settings, "run", lambda config: seen.append(config) or {"valid_bits": 2.0, "train_loss": 1.0}
    )
    lines = writing_settings.compare().splitlines()
    assert {config.seed for config in seen} == {writing_settings.SEED}
    assert len(lines) == 1 + len(writing_settings.CANDIDATES)


@pytest.fixture
def case():
    network = {"network.model": "lstm", "network.hidden": (9,), "network.dropout": 0.0}
    return build(configure("text", {**BARE, **network, "data.steps": 6, "batch_size": 4, "dtype": "float64"}))


def test_pytorch_goes_on_from_token_to_token_to_the_same_logits(case):
    torch = pytest.importorskip("torch", reason="needs the extra bench")
    advance, tokens = speed.pytorch_model(case), case.data.train.tokens[:20]
    states, state = {}, None
    for token in tokens:
        ours, states = case.net.advance(np.array([[token]]), states)
        with torch.inference_mode():
            theirs, state = advance(torch.tensor([token]), state)
        np.testing.assert_allclose(theirs.numpy()[-1], ours[-1, 0], rtol=0, atol=1e-12)


def test_both_write_so_many_characters(case):
    pytest.importorskip("torch", reason="needs the extra bench")
    assert {len(step(case).run()) for step in (speed.ours, speed.pytorch)} == {speed.LENGTH}
