"""The public names are a decision."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

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
        "Network",
        "activation_statistics",
        "check_gradients",
        "configure",
        "get_backend",
        "initialize",
        "load_data",
        "mlp",
        "recurrent",
        "run",
        "vanishing_bounds",
    ]
    for name in minisig.__all__:
        assert getattr(minisig, name) is not None
    assert dir(minisig) == minisig.__all__
    with pytest.raises(AttributeError, match="no attribute 'torch'"):
        minisig.torch  # noqa: B018


@pytest.mark.parametrize("module", ["minisig", *MODULES])
def test_examples_in_docstrings_are_true(module):
    results = doctest.testmod(importlib.import_module(module))
    assert results.failed == 0


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
    assert set(done.stdout.split()) <= UPWARD[room] | {room, "errors"}
