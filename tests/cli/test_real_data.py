"""minisig data with the real files, and the scripts that do the same."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from minisig.data.public import MNIST
from tests.cli.command import cli
from tests.data.mirrors import contents
from tests.data.real import FOLDERS, needs_ptb

pytestmark = pytest.mark.usefixtures("home")
SCRIPTS = Path(__file__).parents[2] / "data_scripts"
needs_scripts = pytest.mark.skipif(not SCRIPTS.is_dir(), reason="data_scripts is not there")
needs_downloads = pytest.mark.skipif(
    "mnist" not in FOLDERS or not all((FOLDERS["mnist"] / file.download).is_file() for file in MNIST.files),
    reason="mnist is not here, as it is downloaded",
)
cli = partial(cli, "data")


@needs_ptb
def test_the_real_ptb_comes_from_a_folder_and_is_verified(home):
    result = cli("fetch", "ptb", "--from", FOLDERS["ptb"])
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"ptb: 3 files as published in {home / 'ptb'}\n"
    assert cli("verify").exit_code == 0


@needs_downloads
def test_the_real_mnist_comes_from_a_mirror_and_is_verified(home, serve):
    result = cli("fetch", "mnist", "--mirror", serve(FOLDERS["mnist"]))
    assert (result.exit_code, result.stderr.strip()) == (0, MNIST.licence)
    assert contents(home) == {
        f"mnist/{file.download}": (FOLDERS["mnist"] / file.download).read_bytes() for file in MNIST.files
    }
    assert cli("verify", "mnist").exit_code == 0


def process(*command, **options):
    return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300, **options)


@needs_scripts
@pytest.mark.parametrize(
    ("command", "args", "code"),
    [
        ("verify", [], 5),
        ("verify", ["mnits"], 2),
        ("fetch", ["mnits"], 2),
        ("fetch", ["mnist", "--from", "."], 5),
        pytest.param("fetch", ["ptb", "--from", FOLDERS.get("ptb")], 0, marks=needs_ptb),
        pytest.param("verify", ["ptb", "--json"], 0, marks=needs_ptb),
    ],
)
def test_the_scripts_do_what_the_commands_do(home, command, args, code):
    if (command, code) == ("verify", 0):
        cli("fetch", "ptb", "--from", FOLDERS["ptb"])
    done = process(SCRIPTS / f"{command}.py", *args, env=os.environ | {"PYTHONIOENCODING": "utf-8"})
    result = cli(command, *args)
    assert (done.returncode, done.stdout, done.stderr) == (code, result.stdout, result.stderr)
    assert result.exit_code == code


@needs_scripts
def test_a_script_without_its_arguments_says_so(refused):
    done = process(SCRIPTS / "fetch.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == refused(2, "data", "fetch").splitlines()[-1]


@needs_downloads
def test_on_a_terminal_every_file_has_a_bar_and_stdout_stays_clean(home, serve, on_a_terminal):
    env = {"COLUMNS": "100", "NO_COLOR": "1"}
    stdout, shown = on_a_terminal("data", "fetch", "mnist", "--mirror", serve(FOLDERS["mnist"]), env=env)
    assert stdout.decode() == f"mnist: 4 files as published in {home / 'mnist'}\n"
    assert all(file.download in shown for file in MNIST.files)
