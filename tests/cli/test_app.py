"""The command itself: without a command, under another name, interrupted, and on terminals that know few letters."""

import os
import signal

import pytest

import minisig
from minisig.data import SOURCES
from tests.cli.command import cli, python, python_m


def test_version_is_that_of_the_package():
    result = cli("--version")
    assert result.exit_code == 0
    assert minisig.__version__ in result.stdout


def test_without_a_command_the_help_is_shown():
    result = cli()
    assert result.exit_code in (0, 2)
    assert "Commands:" in result.output


def test_a_misspelt_command_is_refused():
    result = cli("trian")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "trian" in result.stderr


def test_python_m_minisig_is_minisig():
    done = python("-m", "minisig", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["minisig,", "version", minisig.__version__]


@pytest.mark.parametrize("args", [["--help"], ["train", "--help"], ["theory"]], ids=" ".join)
def test_a_terminal_or_file_without_greek_letters_gets_the_rest(args):
    """As `minisig theory > numbers.txt` on Windows."""
    done = python_m(*args, env=os.environ | {"PYTHONIOENCODING": "cp1252"})
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_any_command_with_130(monkeypatch):
    monkeypatch.setitem(SOURCES.rows, "xor", lambda config, seed: os.kill(os.getpid(), signal.SIGINT))
    result = cli("inspect", "xor")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "Error: stopped\n")
