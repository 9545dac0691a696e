"""The public names are a decision."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minisig

# The CuPy backend needs CuPy and a device; tests/cupy_host has them.
MODULES = [
    module.name
    for module in pkgutil.walk_packages(minisig.__path__, "minisig.")
    if module.name not in ("minisig.__main__", "minisig.backends.cupy")
]


def test_the_public_names_are_these():
    assert minisig.__all__ == [
        "EXPERIMENTS",
        "INITIALIZERS",
        "LSTM",
        "MODELS",
        "RNN",
        "SOURCES",
        "Config",
        "DataConfig",
        "DataError",
        "Dataset",
        "Dense",
        "Diverged",
        "Dropout",
        "Embedding",
        "Evaluated",
        "Experiment",
        "Inputs",
        "Layer",
        "MinisigError",
        "Network",
        "NetworkConfig",
        "OptimizerConfig",
        "Outer",
        "RowSum",
        "Rows",
        "ScaledTanh",
        "Sigmoid",
        "Split",
        "Target",
        "Training",
        "UsageError",
        "activation_statistics",
        "check_gradients",
        "configure",
        "evaluate",
        "get_backend",
        "initialize",
        "inspect_network",
        "load_data",
        "mlp",
        "recurrent",
        "restore",
        "resume",
        "run",
        "vanishing_bounds",
    ]
    for name in minisig.__all__:
        assert getattr(minisig, name) is not None
    assert dir(minisig) == sorted(minisig.__all__)
    with pytest.raises(AttributeError, match="no attribute 'torch'"):
        minisig.torch  # noqa: B018


@pytest.mark.parametrize("module", ["minisig", *MODULES])
def test_examples_in_docstrings_are_true(module):
    if module.startswith("minisig.bridges."):
        needed = {"sklearn": "sklearn", "torch": "torch", "tensorboard": "tensorboardX"}[module.split(".")[2]]
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    results = doctest.testmod(importlib.import_module(module))
    assert results.failed == 0


def test_every_public_name_is_in_an_example():
    """Of its own docstring or of the package's; a test above runs them all."""
    finder, parser = doctest.DocTestFinder(), doctest.DocTestParser()
    tour = "".join(example.source for example in parser.get_examples(minisig.__doc__))
    missing = set()
    for name in minisig.__all__:
        own = [example for test in finder.find(getattr(minisig, name), name) for example in test.examples]
        if not own and not re.search(rf"\bms\.{name}\b", tour):
            missing.add(name)
    assert missing == set()


def test_the_package_declares_its_types():
    assert (Path(minisig.__file__).parent / "py.typed").exists()


def test_importing_minisig_imports_nothing_heavy():
    code = "import sys, minisig; print([m for m in ('numpy', 'scipy', 'rich', 'click', 'msgspec') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


UPWARD = {
    "backends": set(),
    "theory": set(),
    "initializers": {"theory"},
    "layers": {"backends", "gradients"},
    "gradients": {"backends"},
    "losses": {"backends", "gradients"},
    "optimizers": {"backends", "gradients"},
}


@pytest.mark.parametrize("room", UPWARD)
def test_imports_point_upward(room):
    """The foundations use nothing that stands on them."""
    code = f"import sys, minisig.{room}; print(*{{m.split('.')[1] for m in sys.modules if m.startswith('minisig.')}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= UPWARD[room] | {room, "errors", "plugins"}
