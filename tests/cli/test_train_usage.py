"""minisig train: folders and data that it takes, and how it says no."""

import os
import re
import sys
from functools import partial

import numpy as np
import pytest

from tests.cli.command import cli, python_m, strict, tree

QUICK = ("--iterations", "2")
cli = partial(cli, "train")


@pytest.fixture
def refused(refused):
    """All that `minisig train` says."""
    return lambda code, *args: refused(code, "train", *args)


# Folders


def test_runs_get_folders_of_their_own(here):
    for _ in range(3):
        assert cli("xor", *QUICK).exit_code == 0
    cli("xor", *QUICK, "--init", "lecun", "--seed", 5)
    assert {path.name for path in (here / "runs").iterdir()} == {
        "xor-random+ep-seed0",
        "xor-random+ep-seed0-2",
        "xor-random+ep-seed0-3",
        "xor-lecun-seed5",
    }


def test_a_folder_that_holds_a_run_is_left_as_it_is(here, refused):
    cli("xor", *QUICK, "--out", "run")
    assert "run" in refused(2, "xor", *QUICK, "--seed", 1, "--out", "run")


def test_a_folder_that_holds_an_unfinished_run_is_left_as_it_is(here, refused):
    (here / "run").mkdir()
    (here / "run" / "config.json").write_text("{}")
    refused(2, "xor", *QUICK, "--out", "run")


def test_an_empty_folder_may_be_used(here):
    (here / "run").mkdir()
    assert cli("xor", *QUICK, "--out", "run").exit_code == 0


@pytest.mark.parametrize("out", ["file", "file/run"])
def test_a_file_is_no_folder_to_write_to(here, out):
    (here / "file").write_text("mine")
    before = tree(here)
    result = cli("xor", *QUICK, "--out", out)
    assert result.exit_code in (1, 2)
    assert result.stdout == ""
    assert out in result.stderr.splitlines()[-1]
    assert tree(here) == before


def test_an_empty_name_is_no_folder_to_write_to(refused):
    refused(2, "xor", *QUICK, "--out", "")


def test_a_read_only_folder_is_reported(here, refused):
    (here / "fixed").mkdir()
    (here / "fixed").chmod(0o500)
    if os.access(here / "fixed", os.W_OK):
        pytest.skip("permissions do not bind this user")
    assert "fixed" in refused(1, "xor", *QUICK, "--out", "fixed/run")


def test_unicode_names_are_names(here):
    (here / "dätä 数.csv").write_text("\n".join(f"{i},{i % 2}" for i in range(30)))
    assert cli(*QUICK, "--data", "dätä 数.csv", "--hidden", 3, "--out", "läufe/α β").exit_code == 0
    assert strict((here / "läufe" / "α β" / "config.json").read_text(encoding="utf-8"))["data"]["path"] == str(
        here / "dätä 数.csv"
    )


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are text here")
def test_a_file_name_that_is_not_text_gives_no_traceback(here):
    name = b"\xff.csv"
    with open(name, "w") as file:  # noqa: PTH123
        file.write("\n".join(f"{i},{i % 2}" for i in range(30)))
    done = python_m("train", "--data", os.fsdecode(name), *QUICK)
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 2, 5)


# Wrong usage


@pytest.mark.parametrize(
    ("args", "meant"),
    [
        (["digit"], "digits"),
        (["Digits"], "digits"),
        (["xro"], "xor"),
        (["--init", "ranom+ep"], "random+ep"),
        (["--init", "RANDOM+EP"], "random+ep"),
        (["--init", "xavier-glorot"], "glorot"),
        (["--backend", "nunpy"], "numpy"),
        (["--activation", "sigmod"], "sigmoid"),
        (["--activation", "scaled_tanh"], "scaled-tanh"),
        (["--dtype", "flaot32"], "float32"),
        (["--dtype", "float46"], "float64"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(refused, args, meant):
    complaint = refused(2, *args, *QUICK)
    assert f"'{args[-1]}'" in complaint
    assert re.search(rf"did you mean '{re.escape(meant)}'", complaint, re.IGNORECASE)


@pytest.mark.parametrize("option", ["", "--init", "--backend", "--activation", "--dtype"])
def test_a_strange_name_is_answered_with_those_that_exist(refused, option):
    existing = {
        "": "digits, xor",
        "--init": "random+ep, ortho+ep",
        "--backend": "numpy",
        "--activation": "sigmoid, scaled-tanh",
        "--dtype": "float32, float64",
    }[option]
    assert existing in refused(2, *filter(None, [option]), "qqqqq", *QUICK)


@pytest.mark.parametrize(
    "args",
    [
        *(["--iterations", value] for value in ("0", "-5", "1.5", "many", "", "nan", "1e3")),
        *(["--batch-size", value] for value in ("0", "-5", "1.5", "all")),
        *(["--learning-rate", value] for value in ("0", "-0.1", "nan", "inf", "-inf", "fast", "", "1e999")),
        *(["--seed", value] for value in ("-1", "1.5", "x", "")),
        ["--seed"],
        ["--unknown"],
        ["digits", "xor"],
    ],
    ids=" ".join,
)
def test_a_wrong_value_is_refused_by_the_name_of_its_option(refused, args):
    word = args[0] if args[0].startswith("--") else args[-1]
    assert word in refused(2, *args).splitlines()[-1]


@pytest.mark.parametrize("option", ["--init", "--backend", "--activation", "--dtype", "--data", "--hidden", "--out"])
def test_an_endless_value_gives_no_traceback(here, option):
    result = cli(*QUICK, option, "a" * 5000)
    assert result.exit_code in (1, 2, 5)
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert tree(here) == {}


@pytest.mark.parametrize("seed", [2**31, 2**32, 2**63, 2**64, 10**30])
def test_a_large_seed_is_a_seed(here, seed):
    result = cli("xor", *QUICK, "--seed", seed, "--out", "run", "--json")
    assert result.exit_code == 0
    assert strict(result.stdout)["seed"] == strict((here / "run" / "config.json").read_text())["seed"] == seed


# Bad data, and training that cannot go well


@pytest.mark.parametrize(
    ("name", "content"),
    {
        "none.csv": None,
        "empty.csv": "",
        "empty.npz": "",
        "text.npz": "1,2,0\n3,4,1\n",
        "ragged.csv": "1,2,0\n1,2,1\n1,1\n",
        "short.csv": "1,2,0\n1,2,1\n",
        "table.xlsx": "1,2,0\n",
    }.items(),
)
def test_bad_data_are_refused_by_file_name(here, refused, name, content):
    if content is not None:
        (here / name).write_text(content)
    complaint = refused(5, *QUICK, "--data", name, "--out", "run")
    assert complaint.startswith(f"Error: {here / name}")
    assert len(complaint.splitlines()) == 1


def test_own_data_are_trained_on(here):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    np.savez(here / "mine.npz", x_train=rng.normal(y[:, None], 0.05, (300, 4)), y_train=y)
    result = cli("--data", "mine.npz", "--hidden", 10, "--iterations", 300, "--json")
    assert strict(result.stdout)["test_error"] < 5
    assert strict(result.stdout)["parameters"] == 4 * 10 + 10 + 10 * 3 + 3


@pytest.mark.parametrize("experiment", ["digits", "xor"])
@pytest.mark.parametrize(("rate", "iterations"), [("1e30", 100), ("1e300", 100), ("1e38", 1)])
def test_divergence_is_an_exit_code_and_a_remedy(here, experiment, rate, iterations):
    result = cli(experiment, "--learning-rate", rate, "--iterations", iterations, "--json")
    assert (result.exit_code, result.stdout) == (4, "")
    assert len(result.stderr.splitlines()) == 1
    assert re.search(r"lower (the |--)learning.rate", result.stderr)
