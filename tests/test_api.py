"""The public names are a decision."""

import ast
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
    if module.name not in ("minisig.__main__", "minisig.backends.cupy", "minisig.backends.cupy_kernels")
]


def test_the_public_names_are_these():
    assert minisig.__all__ == [
        "ACTIVATIONS",
        "Activation",
        "Adam",
        "AdamW",
        "BACKENDS",
        "Backend",
        "CELLS",
        "Config",
        "DataConfig",
        "DataError",
        "Dataset",
        "Dense",
        "Diverged",
        "Dropout",
        "EXPERIMENTS",
        "Embedding",
        "Erf",
        "Evaluated",
        "Experiment",
        "GRU",
        "INITIALIZERS",
        "Inputs",
        "LOSSES",
        "LSTM",
        "Layer",
        "Loss",
        "MODELS",
        "MeanSquaredError",
        "MinisigError",
        "Model",
        "Momentum",
        "Network",
        "NetworkConfig",
        "OPTIMIZERS",
        "Observer",
        "Optimizer",
        "OptimizerConfig",
        "Outer",
        "RMSprop",
        "RNN",
        "ReLU",
        "Recurrent",
        "RowSum",
        "Rows",
        "SCHEDULES",
        "SGD",
        "SOURCES",
        "ScaledTanh",
        "Schedule",
        "Score",
        "Settings",
        "Sigmoid",
        "SigmoidCrossEntropy",
        "SoftmaxCrossEntropy",
        "Softplus",
        "Split",
        "Started",
        "Tanh",
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
        "load",
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


# The way of the data; what stands later may use what stands before.
ROOMS = (
    *("errors", "jsonable", "seeds", "plugins", "settings", "backends", "theory", "gradients", "activations", "layers"),
    *("initializers", "losses", "optimizers", "schedules", "checks", "trace", "network", "data", "models"),
    *("diagnostics", "training", "trained", "experiments", "report", "bridges", "lessons", "cli", "pytest_plugin"),
)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_follow_the_way_of_the_data(room):
    package = Path(minisig.__file__).parent
    files = [*package.glob(f"{room}.py"), *package.glob(f"{room}/**/*.py")]
    assert files
    before = {"__version__", *ROOMS[: ROOMS.index(room) + 1]}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                names = [start + alias.name for alias in node.names]  # of `from minisig import cli` too
                used = {name.split(".")[1] for name in names if name.startswith("minisig.")}
                assert used - before == set(), path


def test_every_room_has_its_place_on_the_way():
    package = Path(minisig.__file__).parent
    rooms = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - {"__init__", "__main__"} == set(ROOMS)
