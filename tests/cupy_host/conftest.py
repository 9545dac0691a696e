"""Tests on a CUDA device: on a card, or in a session of their own (`pytest tests/cupy_host --cupy-host`) on the host.

The host device needs CuPy and a C++ compiler and changes CuPy for the whole process, so it is there only when asked
for, by the option or by MINISIG_CUPY_HOST=1. The option is known only if this folder is named on the command line.
Without it the tests marked `gpu` run where there is a usable NVIDIA card, and elsewhere nothing here is even imported.
"""

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minisig.backends import Backend, get_backend

OPTION = "--cupy-host"
HOST_ONLY = {
    *("test_counting", "test_device", "test_kernels", "test_launches", "test_processes", "test_refusals"),
    "test_without_gpu",
}
NO_GPU = f"not run: no GPU; `pytest tests/cupy_host {OPTION}` runs them on the CPU"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, action="store_true", help="run the tests on a CUDA device that the CPU plays")


def asked(config: pytest.Config) -> bool:
    return bool(config.getoption(OPTION, default=False)) or os.environ.get("MINISIG_CUPY_HOST") == "1"


def usable_gpu() -> bool:
    if importlib.util.find_spec("cupy") is None:
        return False
    from minisig.backends.device import checks

    return checks()[-1].found is not None


class NotRun(pytest.Module):
    """A test file that is not looked into."""

    reason = NO_GPU

    def collect(self) -> Any:
        pytest.skip(self.reason, allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if asked(parent.config):
        from . import device

        try:
            device.install()
        except (device.CannotInstall, device.build.BuildFailed) as error:
            raise pytest.UsageError(str(error)) from None
        return None  # pytest's own way
    usable = usable_gpu()
    if usable and module_path.stem not in HOST_ONLY:
        return None
    module = NotRun.from_parent(parent, path=module_path)
    if usable:
        module.reason = f"about the host device: ask with {OPTION}"
    return module


@pytest.fixture
def on_host(request: pytest.FixtureRequest) -> bool:
    """Whether the device is the host's, on which sums have one order and nobody else's name stands."""
    return asked(request.config)


@pytest.fixture
def counting(request: pytest.FixtureRequest) -> Callable[[], Any]:
    """device.counting, where there is something that counts."""
    if not asked(request.config):
        pytest.skip("a card counts nothing")
    from . import device

    return device.counting


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def gpu(dtype: str) -> Backend:
    return get_backend("cupy", dtype)


@pytest.fixture
def cpu(dtype: str) -> Backend:
    return get_backend("numpy", dtype)


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder of text with a little grammar: every word is followed by one of two."""
    folder = tmp_path_factory.mktemp("text")
    rng = np.random.default_rng(0)
    for part, count in (("train", 600), ("valid", 200), ("test", 200)):
        words = [0]
        for step in rng.integers(1, 3, count):
            words.append((2 * words[-1] + step) % 11)
        lines = [" ".join(f"w{word}" for word in words[i : i + 12]) for i in range(0, count, 12)]
        (folder / f"{part}.txt").write_text("\n".join(lines))
    return str(folder)
