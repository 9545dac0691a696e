"""An activation of one's own: every part knows it."""

import json
import textwrap

import numpy as np
import pytest

import minisig as ms
from minisig.activations import ACTIVATIONS
from minisig.errors import UsageError
from minisig.initializers import Inputs, initialize
from minisig.models import build_network
from minisig.network import Network
from tests.support.projects import install, python


class Swish(ms.Activation):
    """y = z g(z), which falls before it rises."""

    steepest = 1.09984

    def value(self, z, xp=np):
        return z / (1 + xp.exp(-z))

    def derivative(self, z, xp=np):
        g = 1 / (1 + xp.exp(-z))
        return g + z * g * (1 - g)


@pytest.fixture
def swish(monkeypatch):
    monkeypatch.setitem(ACTIVATIONS.rows, "swish", Swish)


def test_it_trains_and_is_in_every_record(swish, digits):
    settings = {"network.hidden": [30, 30], "network.init": "lsuv", "network.activation": "swish", "iterations": 300}
    config = ms.configure("digits", settings | {"optimizer.learning_rate": 0.02, "statistics_every": 100})
    training = ms.Training(build_network(config, digits), digits, config)
    records = list(training)
    assert set(records[0]["activation_mean"]) == {"swish0", "swish1"}
    assert [row["name"] for row in records[0]["statistics"]] == ["dense0", "dense1"]
    assert ms.evaluate(training.net, digits.test).error < 15


def test_its_backward_and_its_bounds_are_right(batch):
    x, labels = batch
    net = ms.mlp([64, 12, 11, 10, 10], init="lsuv", x=x, activation=Swish(), dtype="float64")
    assert [*net.layers][1] == "swish0"
    assert ms.check_gradients(net, x[:5], labels[:5], entries=20).error < 1e-10
    trace = net.trace(x, labels)
    bounds = ms.vanishing_bounds(trace)
    assert [row.to for row in bounds.rows] == ["swish2", "swish1", "swish0"]
    # What follows the gradient back is what the layers' own backward found.
    assert bounds.rows[-1].measured == pytest.approx(np.linalg.norm(trace.deltas["swish0"][:10]), rel=1e-10)
    for row in bounds.rows:
        assert row.measured <= row.product_with_real_derivatives <= row.spectral <= row.frobenius
    assert bounds.rows[1].spectral == pytest.approx(
        bounds.rows[0].measured * np.linalg.norm(net.params["dense2.W"], 2) * Swish.steepest
    )


@pytest.mark.parametrize("activation", [Swish(), "relu", "softplus", "erf"])
def test_its_statistics_are_those_of_the_arrays(batch, activation):
    net = ms.mlp([64, 30, 20, 10], init="lsuv", x=batch[0], activation=activation, dtype="float64")
    trace = net.trace(*batch)
    _, row = ms.activation_statistics(trace)
    z, y, f = trace.outputs["dense1"], [*trace.outputs.values()][3], [*net.layers.values()][3]
    assert (row.mean, row.std) == pytest.approx((y.mean(), y.std()))
    slopes = np.abs(f.derivative(z))
    assert row.saturated == (slopes < 0.19 * f.steepest).mean()
    assert np.isnan(row.theory_entropy)
    if activation == "relu":
        assert row.entropy == -np.inf  # all that is negative becomes one number
    else:
        assert np.isfinite(row.entropy)


def test_the_entropy_of_any_activation_is_that_of_a_known_density():
    """erf(z) of z ~ N(0, ½) is uniform in (−1, 1): H(y) = ln 2. Vasicek's estimate is off by 0.02 at most."""
    net = ms.mlp([50, 100, 3], init="glorot", activation="erf", dtype="float64")
    W = net.params["dense0.W"]
    W *= np.sqrt(0.5) / np.linalg.norm(W, axis=0)
    x = np.random.default_rng(1).standard_normal((200, 50))
    (row,) = ms.activation_statistics(net.trace(x, np.zeros(200, dtype=int)))
    assert row.entropy == pytest.approx(np.log(2), abs=0.03)


def test_inspect_leaves_open_what_a_rectifier_has_not(batch):
    net = ms.mlp([64, 20, 20, 10], init="lsuv", x=batch[0], activation="relu")
    inspection = ms.inspect_network(net, *batch)
    assert inspection.layers[1]["theory_entropy"] is None
    found = json.loads(json.dumps(inspection.as_json(), allow_nan=False))
    row = found["layers"][1]
    assert (row["entropy"], row["theory_entropy"]) == (None, None)
    assert 0.2 < row["saturated"] < 0.8
    assert found["verdict"] == "alive"


@pytest.mark.parametrize("init", ["random+ep", "ortho+ep", "random+exact", "ortho+exact"])
@pytest.mark.parametrize(("activation", "name"), [("relu", "relu"), ("erf", "erf"), (Swish(), "swish")])
def test_ep_refuses_what_is_no_logistic(init, activation, name):
    words = rf"{init} puts logits where a logistic sigmoid .*, and {name} is none: choose lsuv, ortho, glorot or lecun"
    with pytest.raises(UsageError, match=words.replace("+", r"\+")):
        ms.mlp([3, 4, 2], init=init, activation=activation)


def test_initializers_want_an_activation():
    with pytest.raises(UsageError, match=r"expected an Activation, such as ReLU\(\), got str"):
        initialize("glorot", [3, 4, 2], 0, Inputs.standard(3), "relu")


def test_what_is_no_activation_is_no_chain_for_bounds(batch):
    class Plain:
        def __init__(self):
            self.params = {}

        def forward(self, z, backend):
            return np.tanh(z), z

        def backward(self, dy, z, backend):
            return dy * (1 - np.tanh(z) ** 2), {}

    net = ms.mlp([64, 9, 10])
    net = Network({**net.layers, "sigmoid0": Plain()}, net.backend)
    with pytest.raises(UsageError, match=r"bounds need a hidden layer of activations.* from minisig\.Activation"):
        ms.vanishing_bounds(net.trace(*batch))
    assert ms.inspect_network(net, *batch).bounds is None


# ------------------------------------------------------------------------------------------------------- from outside


PROJECT = """
import numpy as np
import minisig as ms

class Swish(ms.Activation):
    steepest = 1.09984

    def value(self, z, xp=np):
        return z / (1 + xp.exp(-z))

    def derivative(self, z, xp=np):
        g = 1 / (1 + xp.exp(-z))
        return g + z * g * (1 - g)

class Wrong(Swish):
    def derivative(self, z, xp=np):
        return 1 / (1 + xp.exp(-z))

number = 5
"""
ENTRIES = {"minisig.activations": {"swish": "outside:Swish", "number": "outside:number"}}


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    install(folder, PROJECT, ENTRIES, name="outside")
    return folder


def test_an_installed_projects_activation_trains_from_the_command_line(outside):
    options = ("--activation", "swish", "--init", "lsuv", "--hidden", "20,20", "--iterations", "20", "--json")
    done = python(outside, "minisig", "train", "digits", *options, "--out", "run")
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads((outside / "run" / "metrics.jsonl").read_text().splitlines()[0])
    assert set(record["activation_mean"]) == {"swish0", "swish1"}
    done = python(outside, "minisig", "inspect", "run", "--json")
    assert [row["to"] for row in json.loads(done.stdout)["bounds"]] == ["swish1", "swish0"]
    done = python(outside, "minisig", "train", "--activation", "swish")
    assert (done.returncode, done.stdout) == (2, "")
    assert "and swish is none: choose lsuv" in done.stderr
    done = python(outside, "minisig", "train", "--activation", "number", "--init", "lecun")
    assert done.returncode == 1
    assert "outside:number is int, expected Callable" in done.stderr


def test_the_pytest_plugin_knows_it(outside):
    (outside / "test_it.py").write_text(
        textwrap.dedent("""
            import minisig as ms
            from outside import Swish, Wrong

            data = ms.load_data("digits")
            x, y = data.train.x[:30], data.train.y[:30]

            def network(f):
                return ms.mlp([64, 20, 20, 10], init="lsuv", x=data.train.x, activation=f)

            def test_right(gradient_flow):
                gradient_flow.assert_alive(network(Swish()), x, y)
                gradient_flow.assert_correct(network(Swish()), x[:4], y[:4], entries=10)
                gradient_flow.assert_bounds_hold(network(Swish()), x, y)

            def test_wrong(gradient_flow):
                gradient_flow.assert_correct(network(Wrong()), x[:4], y[:4], entries=10)
        """)
    )
    done = python(outside, "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", outside, "test_it.py")
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "backward is wrong" in done.stdout
