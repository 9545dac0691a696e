"""The runs of a comparison before they are made: which, with which settings, and which cannot be."""

import dataclasses

import msgspec
import pytest

from minisig.errors import UsageError
from minisig.experiments import EXPERIMENTS
from minisig.experiments.compare import compare, every_row, plan
from minisig.experiments.executors import Here
from minisig.training.run import resume


def test_a_plan_has_every_row_with_every_seed_in_order():
    jobs = plan("xor", ["ortho", "lecun", "ortho"], 2, {"iterations": 5})
    assert [(job.row, job.config.network.init, job.config.seed, job.config.iterations) for job in jobs] == [
        *[("ortho", "ortho", 0, 5), ("ortho", "ortho", 1, 5)],
        *[("lecun", "lecun", 0, 5), ("lecun", "lecun", 1, 5)],
    ]


def test_own_rows_of_an_experiment_have_their_own_settings():
    (lstm,) = plan("copy-memory", ["lstm"], 1, {})
    assert (lstm.config.network.model, lstm.config.network.hidden, lstm.config.network.init) == (
        "lstm",
        (52,),
        "glorot",
    )
    (tanh,) = plan("mnist-shallow", ["scaled-tanh"], 1, {})
    assert (tanh.config.network.activation, tanh.config.network.init) == ("scaled-tanh", "lecun")


def test_own_rows_of_an_experiment_heed_the_settings_given():
    (lstm,) = plan("ptb", ["lstm"], 1, {"network.hidden": [30], "network.init": "ortho", "iterations": 5})
    assert (lstm.config.network.hidden, lstm.config.network.init, lstm.config.iterations) == ((30,), "ortho", 5)


def test_rows_take_the_settings_that_their_model_has():
    given = {"network.radius": 2.0, "network.dropout": 0.5}
    rnn, plain, lstm = plan("copy-memory", ["ortho+ep", "ortho", "lstm"], 1, given)
    assert (rnn.config.network.radius, rnn.config.network.dropout) == (2.0, 0.5)
    for other in (plain, lstm):
        assert (hasattr(other.config.network, "radius"), other.config.network.dropout) == (False, 0.5)


def test_a_setting_that_no_row_has_is_refused():
    with pytest.raises(UsageError, match=r"network\.radius is a setting of random\+ep; leave it out for ortho"):
        plan("copy-memory", ["ortho", "lstm"], 1, {"network.radius": 2.0})


@pytest.mark.parametrize(
    ("experiment", "rows", "settings", "message"),
    [
        ("xro", ["lecun"], {}, "experiment 'xro'. Did you mean 'xor'?"),
        ("xor", ["lecum"], {}, "init 'lecum'. Did you mean 'lecun'?"),
        ("xor", [""], {}, "init ''"),
        ("xor", ["lstm"], {}, "init 'lstm'"),
        ("copy-memory", ["lstn"], {}, "Did you mean 'lstm'?"),
        ("xor", ["lecun"], {"network.init": "ortho"}, "network.init is what the rows"),
        ("copy-memory", ["lstm"], {"network.model": "rnn"}, "network.model is what the rows"),
        ("mnist-deep", ["scaled-tanh"], {"network.activation": "sigmoid"}, "network.activation is what the rows"),
        ("xor", ["lecun"], {"iterations": 0}, "iterations"),
        ("xor", ["lecun"], {"seed": 5}, "seed"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(experiment, rows, settings, message):
    with pytest.raises(UsageError) as raised:
        plan(experiment, rows, 1, settings)
    assert message in str(raised.value)


def test_a_run_of_a_comparison_is_not_gone_on_with_for_it_would_be_lost(tmp_path):
    (job,) = plan("xor", ["lecun"], 1, {"iterations": 2, "threads": 1})
    compare([job], tmp_path, Here)
    with pytest.raises(UsageError, match="no checkpoint to go on from"):
        resume(tmp_path / job.folder, iterations=4)
    assert compare([job], tmp_path, Here).rows[0].results


def test_a_comparison_by_what_the_data_do_not_give_is_a_failure_with_a_reason(tmp_path):
    settings = {"iterations": 1, "data.source": "digits", "network.model": "mlp", "network.hidden": [3], "threads": 1}
    jobs = plan("copy-memory", ["lecun"], 1, settings)
    (failure,) = compare(jobs, tmp_path, Here).failures
    assert str(failure) == "copy-memory compares test_perplexity, which digits does not give"


def test_all_rows_of_an_lstm_are_those_it_can_have(monkeypatch):
    lstm = EXPERIMENTS["copy-memory"]
    config = msgspec.structs.replace(lstm.config, network=msgspec.structs.replace(lstm.config.network, model="lstm"))
    monkeypatch.setitem(EXPERIMENTS, "other", dataclasses.replace(lstm, config=config, rows={}))
    assert every_row("other", None) == ["ortho", "glorot", "lecun"]
