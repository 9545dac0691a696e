"""Experiments are data: the paper's settings and numbers, and the rows of every comparison."""

import msgspec
import pytest

from minisig.errors import UsageError
from minisig.experiments import EXPERIMENTS, PAPER_INITS, configure, settings
from minisig.experiments.compare import every_row, plan
from minisig.initializers import INITIALIZERS
from minisig.training.config import decode_config

SIX = ["random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_survives_its_own_config_json(name):
    config = configure(name)
    assert decode_config(msgspec.json.encode(config)) == config
    assert config.experiment == name


# What the paper found, typed from it: lecun, glorot, ortho, lsuv, ortho+EP, random+EP, and the reference.

MNIST_SHALLOW = "1.91±.03 1.86±.04 1.86±.02 1.87±.01 1.89±.02 1.78±.06"
PAPER = {
    "mnist-shallow": MNIST_SHALLOW,
    "mnist-shallow-dropout": "1.65±.03 1.63±.02 1.62±.04 1.61±.03 1.61±.03 1.59±.03 1.60",
    "mnist-deep": "3.11±.14 2.94±.08 3.32±.11 2.07±.07 1.85±.07 1.92±.08",
    "mnist-deep-augmented": "0.80 0.82 0.80 0.79 0.81 0.68 0.62",
    "ptb": "143.1±.8 155.1±.9 156.1±.5 135.9±.1 135.5±.3 164.0±.5 128.3±.5",
    "ptb-dropout": "147.8±.6 159.2±.4 161.2±.3 139.8±.4 139.3±.3 130.1±.4 128.7±.4",
}


# What it trained, and how, typed from it as well. It leaves clipping open, and all batches but MNIST's: 5 and 20 are
# the custom for the treebank, 1 and 20 were chosen for copy memory, and for XOR all points at once.

COLUMNS = (
    *("data.source", "network.model", "network.hidden", "network.dropout", "optimizer.name", "optimizer.learning_rate"),
    *("optimizer.clip", "batch_size"),
)
DEEP = (2500, 2000, 1500, 1000, 500)
SETTINGS = {
    "xor": ("xor", "mlp", (2,), 0.0, "momentum", 0.05, None, 200),
    "mnist-shallow": ("mnist", "mlp", (800,), 0.0, "momentum", 0.001, None, 50),
    "mnist-shallow-dropout": ("mnist", "mlp", (800,), 0.5, "momentum", 0.001, None, 50),
    "mnist-deep": ("mnist", "mlp", DEEP, 0.0, "momentum", 0.001, None, 50),
    "mnist-deep-augmented": ("mnist", "mlp", DEEP, 0.0, "momentum", 0.001, None, 50),
    "copy-memory": ("copy-memory", "rnn", (100,), 0.0, "adam", 0.001, 1.0, 20),
    "ptb": ("ptb", "rnn", (200,), 0.0, "adam", 0.0001, 5.0, 20),
    "ptb-dropout": ("ptb", "rnn", (200,), 0.5, "adam", 0.0001, 5.0, 20),
}
ITERATIONS = {"mnist": 900_000, "ptb": 500_000}  # of XOR the paper gives none, of copy memory more than it takes


@pytest.mark.parametrize("name", SETTINGS)
def test_the_papers_settings_are_the_papers(name):
    config = configure(name)
    found = settings(config)
    assert tuple(found[column] for column in COLUMNS) == SETTINGS[name]
    assert (config.optimizer.schedule, config.data.path) == ("constant", None)
    assert found.get("optimizer.momentum", 0.9) == 0.9
    own = {"copy-memory": {"data.delay": 100}, "ptb": {"data.steps": 35, "data.vocabulary": 10_000}}
    assert own.get(config.data.source, {}).items() <= found.items()
    assert (config.data.augment is not None) == (name == "mnist-deep-augmented")
    assert config.iterations == ITERATIONS.get(config.data.source, config.iterations)


@pytest.mark.parametrize(("name", "hidden"), [("copy-memory", 52), ("ptb", 190), ("ptb-dropout", 190)])
def test_the_lstms_of_the_paper_have_its_sizes(name, hidden):
    (job,) = plan(name, ["lstm"], 1, {})
    assert (job.config.network.model, job.config.network.hidden) == ("lstm", (hidden,))


def figures(experiment):
    experiment = experiment.removesuffix("-fast")
    reference = "lstm" if experiment.startswith("ptb") else "scaled-tanh"
    names = ["lecun", "glorot", "ortho", "lsuv", "ortho+ep", "random+ep", reference]
    parts = [figure.split("±") for figure in PAPER[experiment].split()]
    return {name: (float(m), float(*std) if std else None) for name, (m, *std) in zip(names, parts, strict=False)}


FAST = {f"{name}-fast" for name in PAPER if name.startswith("mnist")}


@pytest.mark.parametrize("name", [*PAPER, *sorted(FAST)])
def test_the_papers_numbers_are_the_papers(name):
    assert EXPERIMENTS[name].paper == figures(name)


def test_of_xor_the_paper_gives_one_number_and_of_the_others_none():
    assert EXPERIMENTS["xor"].paper == {"ortho": (25.0, None)}
    assert {name for name, experiment in EXPERIMENTS.items() if experiment.paper} == {*PAPER, *FAST, "xor"}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_number_of_the_paper_belongs_to_a_row(name):
    experiment = EXPERIMENTS[name]
    assert experiment.paper.keys() <= {*INITIALIZERS, *experiment.rows}
    assert not experiment.rows.keys() & INITIALIZERS.keys()
    assert experiment.metric == ("test_error" if experiment.config.network.model == "mlp" else "test_perplexity")
    assert experiment.seeds == (10 if name == "xor" else 4)


@pytest.mark.parametrize("name", sorted(FAST))
def test_a_fast_sister_differs_in_nothing_but_its_pace_and_trains_on_all_there_is(name):
    own, usual = (settings(EXPERIMENTS[n].config) for n in (name, name.removesuffix("-fast")))
    pace = {"iterations", "optimizer.learning_rate", "optimizer.schedule"}
    assert {key for key in own if own[key] != usual[key]} - {"optimizer.warmup", "batch_size"} == {
        "experiment",
        "data.hold_out",
        *pace,
    }


# What `--init all` means


@pytest.mark.parametrize(
    ("name", "model", "rows"),
    [
        ("digits", None, SIX),
        ("xor", None, SIX),
        *((name, None, [*SIX, "scaled-tanh"]) for name in EXPERIMENTS if name.startswith("mnist")),
        *((name, None, [*SIX, "lstm"]) for name in ("copy-memory", "ptb", "ptb-dropout")),
        *((name, "lstm", ["ortho", "glorot", "lecun"]) for name in ("copy-memory", "ptb", "ptb-dropout")),
    ],
)
def test_all_rows_of_an_experiment_can_be_planned(name, model, rows):
    assert list(PAPER_INITS) == SIX
    assert every_row(name, model) == rows
    given = {} if model is None else {"network.model": model}
    jobs = plan(name, rows, EXPERIMENTS[name].seeds, given)
    assert [job.row for job in jobs] == [row for row in rows for _ in range(EXPERIMENTS[name].seeds)]
    assert len({job.folder for job in jobs}) == len(jobs)
    for job in jobs:
        network, usual = job.config.network, EXPERIMENTS[name].config.network
        assert network.model == ("lstm" if "lstm" in (model, job.row) else usual.model)
        assert network.init == {"lstm": "glorot", "scaled-tanh": "lecun"}.get(job.row, job.row)
        if network.model == "mlp":
            assert network.activation == ("scaled-tanh" if job.row == "scaled-tanh" else "sigmoid")


@pytest.mark.parametrize(("name", "vocabulary"), [("copy-memory", 10), ("ptb", 10_000), ("ptb-dropout", 10_000)])
def test_an_lstm_has_as_many_parameters_as_the_rnn(name, vocabulary):
    rnn, lstm = (job.config.network.hidden[0] for job in plan(name, ["lecun", "lstm"], 1, {}))

    def parameters(H, gates):
        return 2 * vocabulary * H + vocabulary + gates * (2 * H * H + H)

    assert parameters(lstm, 4) == pytest.approx(parameters(rnn, 1), rel=0.05)
    gru = configure(name, {"network.model": "gru"}).network.hidden[0]
    assert parameters(gru, 3) + gru == pytest.approx(parameters(rnn, 1), rel=0.05)


def test_an_unknown_experiment_has_no_rows():
    with pytest.raises(UsageError, match="Did you mean 'xor'"):
        every_row("xro", None)
