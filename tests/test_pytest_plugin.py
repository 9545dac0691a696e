"""The plugin in a real pytest of its own."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

NETWORKS = """
import numpy as np
import minisig as ms

data = ms.load_data("digits")
x, y = data.train.x[:50], data.train.y[:50]

def network(init):
    return ms.mlp([64, *[100] * 8, 10], init=init, rng=0, x=data.train.x)
"""


@pytest.fixture
def session(tmp_path):
    """Runs the tests in this text in a pytest process of its own; exit code and output."""

    def run(tests, *args):
        (tmp_path / "test_it.py").write_text(NETWORKS + textwrap.dedent(tests))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            tmp_path,
            *args,
            tmp_path,
        ]
        done = subprocess.run(
            [str(part) for part in command], cwd=tmp_path, capture_output=True, text=True, env=os.environ, timeout=300
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_ep_is_alive_correct_and_within_its_bounds(session):
    code, output = session("""
        def test_ep(gradient_flow):
            net = network("random+ep")
            gradient_flow.assert_alive(net, x, y)
            gradient_flow.assert_correct(net, x[:3], y[:3], entries=5)
            gradient_flow.assert_bounds_hold(net, x, y)
    """)
    assert code == 0, output


def test_a_vanishing_network_fails_by_name_with_the_table(session):
    code, output = session("""
        def test_lecun(gradient_flow):
            gradient_flow.assert_alive(network("lecun"), x, y)
    """)
    assert code == 1
    assert "the gradient vanishes in dense5" in output  # the first layer on the gradient's way where it is below 1 %
    assert "dense0" in output
    assert re.search(r"dense0 +\S+ +\d\.\de-0[67]   vanishes", output)
    assert "Traceback" not in output


def test_thresholds_are_adjustable_and_explosions_are_seen(session):
    code, output = session("""
        import pytest

        def test_lenient(gradient_flow):
            gradient_flow.assert_alive(network("lecun"), x, y, dead=1e-9)

        def test_strict(gradient_flow):
            with pytest.raises(pytest.fail.Exception, match="explodes in dense"):
                gradient_flow.assert_alive(network("random+ep"), x, y, exploded=1.01)
    """)
    assert code == 0, output


def test_a_dead_last_layer_is_a_failure_of_its_own(session):
    code, output = session("""
        def test_dead(gradient_flow):
            net = network("random+ep")
            for w in net.params.values():
                w[...] = np.nan
            gradient_flow.assert_alive(net, x, y)
    """)
    assert code == 1
    assert "the gradient of the last layer, dense8, is nan" in output


def test_a_layer_without_a_number_is_named_as_that(session):
    code, output = session("""
        class Broken:
            def trace(self, x, y):
                return self

            def gradient_norms(self):
                return {"first.W": float("nan"), "last.W": 1.0}

        def test_broken(gradient_flow):
            gradient_flow.assert_alive(Broken(), x, y)
    """)
    assert code == 1
    assert "the gradient is nan in first" in output
    assert "explodes" not in output


def test_what_has_no_gradients_is_refused_in_words(session):
    code, output = session("""
        import pytest
        from minisig.network import Network

        class Linear:
            pass

        class Matrix:
            def trace(self, x, y):
                return 0.0

        bare = Network([("sigmoid0", ms.Sigmoid())], network("random+ep").backend)

        @pytest.mark.parametrize("net", [Linear(), Matrix(), bare], ids=lambda net: type(net).__name__)
        def test_it(gradient_flow, net):
            words = rf"{type(net).__name__} has no gradients .* expected a minisig network with parameters, or an obj"
            with pytest.raises(ValueError, match=words):
                gradient_flow.assert_alive(net, x, y)
    """)
    assert code == 0, output


def test_a_users_own_layer_is_checked_and_a_wrong_backward_named(session):
    code, output = session("""
        from minisig.network import Network

        class Softplus:
            params = {}

            def forward(self, z, backend):
                return backend.xp.log1p(backend.xp.exp(z)), z

            def backward(self, dy, z, backend):
                return dy * backend.sigmoid(z), {}

        class Wrong(Softplus):
            def backward(self, dy, z, backend):
                return dy, {}

        def mine(layer):
            inner = ms.mlp([64, 12, 10], rng=0, x=data.train.x)
            layers = dict(inner.layers) | {"sigmoid0": layer}
            return Network(list(layers.items()), inner.backend)

        def test_right(gradient_flow):
            gradient_flow.assert_correct(mine(Softplus()), x[:4], y[:4])
            gradient_flow.assert_alive(mine(Softplus()), x, y)

        def test_wrong(gradient_flow):
            gradient_flow.assert_correct(mine(Wrong()), x[:4], y[:4])
    """)
    assert code == 1
    assert "1 failed, 1 passed" in output
    assert "backward is wrong by more than 1e-08" in output
    assert "dense0.W[" in output


def test_the_report_shows_every_network_that_was_looked_at(session, tmp_path):
    tests = """
        def test_ep(gradient_flow):
            gradient_flow.assert_alive(network("random+ep"), x, y)
    """
    code, output = session(tests, "--gradient-report")
    assert code == 0
    assert "gradient flow" in output
    assert "test_it.py::test_ep" in output
    assert "dense8" in output
    assert "dense8" not in session(tests)[1]
    (tmp_path / "test_other.py").write_text("import pytest\npytest.skip('not here', allow_module_level=True)\n")
    code, output = session(tests, "--gradient-report", "-n", "1")  # from another process, beside what is skipped
    assert code == 0
    assert "test_it.py::test_ep" in output
    assert "dense8" in output


def test_the_plugin_imports_nothing_of_the_package():
    code = (
        "import sys, minisig.pytest_plugin; print([m for m in sys.modules if m.startswith('minisig.') or m == 'numpy'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['minisig.pytest_plugin']"
