"""`--backend cupy` where it cannot work, in a process of its own with whatever is missing really missing: exit 3, one
line that says what to do, and nothing written."""

import fnmatch
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from . import build

TESTS = Path(__file__).parent.parent
SITE = Path(next(path for path in sys.path if (Path(path) / "cupy_backends").is_dir()))

# A libcuda that is there and finds no card, as where the driver is installed and the card is not (or hidden).
NO_CARD = r"""
#include <cstring>
extern "C" {
int cuInit(unsigned) { return 100; }
int cuDriverGetVersion(int* version) { *version = 13000; return 0; }
static int no_device() { return 100; }
int cuGetProcAddress_v2(const char* name, void** found, int, unsigned long, int* status) {
    *found = std::strcmp(name, "cuInit") == 0 ? (void*)cuInit
           : std::strcmp(name, "cuDriverGetVersion") == 0 ? (void*)cuDriverGetVersion
           : std::strcmp(name, "cuGetProcAddress") == 0 ? (void*)cuGetProcAddress_v2 : (void*)no_device;
    if (status) *status = 0;
    return 0;
}
int cuGetProcAddress(const char* name, void** found, int version, unsigned long flags) {
    return cuGetProcAddress_v2(name, found, version, flags, nullptr);
}
}
"""

ON_HOST = "from cupy_host import device; device.install(Path(folder), with_cublas=cublas == 'ours')\n"
COMMAND = "import sys; from pathlib import Path; folder, cublas, *arguments = sys.argv[1:]\n"
RUN = "from minisig.cli import main; main(arguments)\n"


def python_without(folder, *patterns):
    """A Python with this one's packages, by links, all but those, and those of NVIDIA's files, whose names match."""
    venv.create(folder, symlinks=True, with_pip=False, clear=True)
    packages = folder / SITE.relative_to(sys.prefix)
    for path in SITE.iterdir():
        if path.name != "nvidia" and not any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns):
            (packages / path.name).symlink_to(path)
    for path in (SITE / "nvidia").rglob("*"):
        place = packages / path.relative_to(SITE)
        if path.is_file() and not any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(path)
    return folder / "bin" / "python"


@pytest.fixture
def minisig(tmp_path):
    """The command line in a new process, and in a new folder, which must stay empty."""
    here = tmp_path / "here"
    here.mkdir()

    def run(*arguments, without=(), on_host=False, cublas="ours", libraries=""):
        script = f"{COMMAND}{ON_HOST if on_host else ''}{RUN}"
        python = python_without(tmp_path / "python", *without)
        done = subprocess.run(
            [str(python), "-c", script, str(tmp_path / "built"), cublas, *arguments],
            env=os.environ | {"LD_LIBRARY_PATH": str(libraries), "PYTHONPATH": f"{TESTS.parent}:{TESTS}"},
            capture_output=True,
            text=True,
            check=False,
            cwd=here,
        )
        assert list(here.iterdir()) == []
        return done

    return run


def refused(done, *words):
    assert done.returncode == 3, done.stderr
    assert done.stdout == ""
    assert "no usable GPU, " in done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


TRAIN = ("train", "--backend", "cupy", "--iterations", "5")


def test_no_cupy(minisig):
    refused(minisig(*TRAIN, without=["cupy*"]), "CuPy is not installed", "pip install 'minisig[cuda13x]'")


def test_a_cupy_that_cannot_be_imported(minisig):
    done = minisig(*TRAIN, without=["cupy_backends"])
    refused(done, "CuPy is installed but cannot be imported", "uninstall it", "pip install")


def test_no_driver(minisig):
    refused(minisig(*TRAIN), "no NVIDIA driver", "install or update it")


def test_a_driver_without_a_card(minisig, tmp_path):
    made = build.shared_library(tmp_path, NO_CARD, name="libcuda")
    (tmp_path / "libcuda.so.1").symlink_to(made)
    refused(minisig(*TRAIN, libraries=tmp_path), "the driver sees no NVIDIA card", "CUDA_VISIBLE_DEVICES")


def test_no_nvrtc(minisig):
    done = minisig(*TRAIN, without=["libnvrtc*"], on_host=True)
    refused(done, "NVRTC, which compiles CuPy's kernels, does not work", "libnvrtc.so", "pip install")


def test_no_cublas(minisig):
    done = minisig(*TRAIN, without=["libcublas*"], on_host=True, cublas="NVIDIA's")
    refused(done, "cuBLAS does not work", "libcublas", "pip install")


@pytest.mark.parametrize("command", [("compare", "xor", "--seeds", "1"), ("inspect", "xor")])
def test_every_command_that_takes_a_backend_says_so(minisig, command):
    refused(minisig(*command, "--backend", "cupy"), "no NVIDIA driver")


def test_doctor_names_the_first_thing_that_is_missing(minisig):
    done = minisig("doctor", "--json", without=["libnvrtc*"], on_host=True)
    gpu = json.loads(done.stdout)["gpu"]
    assert list(gpu) == ["cupy", "driver", "device", "nvrtc"]
    assert gpu["nvrtc"].startswith("no: NVRTC")
    assert gpu["device"] == "host device, 2 GB"
    done = minisig("doctor", without=["cupy*"])
    assert "no: CuPy is not installed: pip install 'minisig[cuda13x]'" in done.stdout


def test_with_all_there_it_trains(minisig, tmp_path):
    """So that what is refused above is refused for what is missing."""
    done = minisig(*TRAIN, "--hidden", "8", "--json", "--out", str(tmp_path / "run"), on_host=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["backend"] == "cupy"
