"""Every command, every option, every argument with what it cannot use: one message, an exit code, and nothing written.

The commands are walked over, not listed: a new one, or a new option, is tried with the rest.
"""

import os

import click
import pytest

from minisig.cli.values import Hidden
from tests.cli.command import cli, commands, python_m

LONG, UNICODE, NOT_TEXT = "a" * 5000, "ünï 数 🙈", "\udcff"  # the last is what a byte that is not UTF-8 becomes
WORDS = ["", "nosuch", "-", "..", LONG, UNICODE, NOT_TEXT, "\x1b[31mred", "a\nb", "'", "%s", "{}", "nan", "0"]

# Arguments with which a command is quick and right.
GOOD = {
    "train": ["xor", "--iterations", "2"],
    "compare": ["xor", "--init", "lecun", "--seeds", "1", "--iterations", "2"],
    "inspect": ["xor"],
    "report": ["nosuch"],
    "data fetch": ["mnist"],
    "data verify": ["mnist"],
    "data show": ["digits", "--set", "data.augment={}"],
}

# Of options whose type alone does not tell what is wrong.
PATHS = ["nosuch", "nosuch.csv", "nosuch.npz", "no/such", LONG, UNICODE, NOT_TEXT, "/dev/null"]
WRONG = {
    "--set": [
        "", "=", "=5", "x", UNICODE, LONG, ".=1", "..=1", "é=1", f"{NOT_TEXT}=1", f"{LONG}=1", "a.b.c=1", "seed.x=1",
        "seed=-1", "seed=true", "seed=x", "seed=1.5", "seed=1e999", f"seed={'9' * 5000}", "iterations=0",
        "iterations=10000000000", "iterations=null", "iterations=[2]", "threads=0", "log_every=0", "validate_every=-1",
        "checkpoint_every=0", "statistics_every=0", "select_by=x", "backend=[]", "backend=nosuch", "dtype=float16",
        "dtype=null", "experiment=xor", "data=5", "data=null", "data.source=nosuch", "data.source=null", "data.path=5",
        'data.path="a\\u0000b.csv"', 'data.path="a\\u0000b"', "data.augment=5", "data.augment.alpha=nan",
        "data.augment.alpha=-1", "data.steps=0", "data.delay=0", "data.delay=1e300", "data.nosuch=1",
        "network.hidden=[1e9]", "network.hidden=[[1]]", "network.hidden=[0]", "network.hidden=8x100",
        f"network.hidden={'[' * 100_000}", "network.dropout=1", "network.dropout=NaN", "network.dropout=-0.1",
        "network.init=nosuch", "network.init=[]", "network.model=[]", "network.model=nosuch", "network.activation=5",
        "network.radius=1e300", "optimizer={}", "optimizer.learning_rate=0", "optimizer.learning_rate=Infinity",
        "optimizer.learning_rate=1e-400", "optimizer.name=nosuch", "optimizer.momentum=1", "optimizer.clip=0",
        "optimizer.warmup=-1", "optimizer.schedule=none",
    ],
    "--config": [*PATHS[:-1], "", "."],
    "--data": [*PATHS, "", "."],
    "--resume": [*PATHS, "", "."],
    "--from": [*PATHS, "", "."],
    "--out": ["", LONG],
    "--scheduler": [""],
    "--mirror": ["", "nonsense", "ftp://x/", "http://", "file:///x/"],
}  # fmt: skip
INTEGERS = ["", "x", "-1", "1.5", "1e3", "nan", "inf", "0x10", "9" * 5000, UNICODE, NOT_TEXT, "٣.", "1,000", "--seed"]
FLOATS = ["", "x", "nan", "inf", "-inf", "1e999", "1,5", "0x1p3", UNICODE, NOT_TEXT]
SIZES = ["", "x", "0", "8x", "x8", "1.5", "-1", "8x0", LONG, UNICODE, NOT_TEXT, "9" * 5000]
COMMANDS = {name: command for name, command in commands() if not isinstance(command, click.Group)}


def cases():
    """(command, option) and what it must not be given."""
    for name, command in COMMANDS.items():
        for parameter in command.params:
            option = "" if isinstance(parameter, click.Argument) else parameter.opts[0]
            if getattr(parameter, "is_flag", False):
                continue
            if option in WRONG:
                values = WRONG[option]
            elif isinstance(parameter.type, click.IntRange):
                values = INTEGERS
            elif isinstance(parameter.type, click.FloatRange | click.types.FloatParamType):
                values = FLOATS
            elif isinstance(parameter.type, Hidden):
                values = SIZES
            else:
                values = WORDS
            yield pytest.param(name, option, values, id=f"{name} {option or parameter.name}")


@pytest.fixture(autouse=True)
def alone(here, tmp_path, monkeypatch):
    """No data, and no way to the network."""
    monkeypatch.setenv("MINISIG_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")


def refuse(here, *args, codes=(2, 3, 5)):
    """Run what must be refused; its complaint."""
    said = [str(arg)[:60] for arg in args]
    try:
        result = cli(*args)
    except Exception as error:
        raise AssertionError(f"{said}: {error!r}") from error
    assert result.exit_code in codes, f"{said}: exit code {result.exit_code}, {result.output[-300:]}"
    assert result.stdout == "", said
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, f"{said}: {result.stderr[-300:]}"
    assert len(errors[0]) > 15, said
    assert "Traceback" not in result.stderr, said
    assert not list(here.iterdir()), said
    return errors[0]


@pytest.mark.parametrize(("name", "option", "values"), list(cases()))
def test_what_an_option_or_argument_cannot_use_is_refused_in_one_message(here, name, option, values):
    for value in values:
        # A name that is too long for the system may also be a failure.
        codes = (1, 2, 5) if value == LONG and option in ("", "--out", "--from", "--data") else (2, 3, 5)
        if option:
            refuse(here, *name.split(), *GOOD.get(name, []), option, value, codes=codes)
        elif value != "-":
            refuse(here, *name.split(), value, codes=codes)


@pytest.mark.parametrize("name", COMMANDS)
def test_unknown_options_and_missing_values_are_refused(here, name):
    good = [*name.split(), *GOOD.get(name, [])]
    for option in ("--nosuch", "-x", "--", "---", f"--{LONG}", f"--{UNICODE}", f"--{NOT_TEXT}", "--nosuch=1"):
        refuse(here, *good, option, *(["a", "b"] if option == "--" else []))
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            wrong = f"{parameter.opts[0]}=1" if parameter.is_flag else parameter.opts[0]
            assert parameter.opts[0] in refuse(here, *good, wrong)
    if not any(parameter.nargs < 0 for parameter in COMMANDS[name].params):
        refuse(here, *good, "a", "b")


@pytest.mark.parametrize("word", [word for word in WORDS if word != "-"], ids=lambda word: ascii(word[:20]))
def test_an_unknown_command_is_refused(here, word):
    refuse(here, word)
    refuse(here, "data", word)


def test_what_excludes_each_other_is_refused(here):
    refuse(here, "compare", *GOOD["compare"], "--workers", "2", "--scheduler", "tcp://127.0.0.1:1")
    refuse(here, "train", "copy-memory", "--iterations", "2", "--model", "mlp")
    refuse(here, "train", "xor", "--iterations", "2", "--model", "rnn")
    refuse(here, "compare", "xor", "--init", "lecun", "--set", "network.init=glorot")


SETTINGS = {
    "empty name": '"" = 1',
    "not TOML": "iterations: 2",
    "not text": b"\xff\xfe",
    "NUL": b"iterations = 2\0",
    "a word": 'batch_size = "many"',
    "a date": "batch_size = 1979-05-27",
    "NaN": "optimizer.learning_rate = nan",
    "unknown": "nosuch = 1",
    "unknown inside": "[optimizer]\nrate = 1",
    "a table for a number": "[seed]\nx = 1",
    "a number for a table": "network = 5",
    "another experiment": 'experiment = "digits"',
    "an experiment of no name": "experiment = 5",
    "deep": "x = " + "[" * 5000,
    "deep names": "a" + ".a" * 3000 + " = 1",
    "large": "# " + "x" * 2**21,
}


@pytest.mark.parametrize("content", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("name", ["train", "compare", "inspect"])
def test_a_file_of_settings_that_cannot_be_used_is_refused(here, tmp_path, name, content):
    path = tmp_path / "settings.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    refuse(here, name, *GOOD[name], "--config", str(path))


@pytest.mark.parametrize("name", ["train", "inspect"])
def test_a_configuration_with_control_characters_does_not_reach_the_terminal(here, tmp_path, name):
    (tmp_path / "config.json").write_text('{"experiment": "xor", "\\u001b[31mred\\u0007": 1}')
    option = ["--resume"] if name == "train" else []
    assert refuse(here, name, *option, str(tmp_path)).isprintable()


@pytest.mark.parametrize(
    ("command", "arg"),
    [
        ("train", b"\xff"),
        ("train", "ünï 数".encode()),
        ("train", LONG.encode()),
        ("inspect", b"\xff"),
        ("data", b"\xff"),
    ],
    ids=["train bytes", "train unicode", "train long", "inspect bytes", "data bytes"],
)
def test_as_a_process_in_a_bare_environment_a_mistake_is_one_message(here, command, arg):
    """Where the terminal knows ASCII only."""
    bare = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    if "PYTHONPATH" in os.environ:
        bare["PYTHONPATH"] = os.environ["PYTHONPATH"]
    done = python_m(command, os.fsdecode(arg), env=bare)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.count(b"Error: ") == 1
    assert b"Traceback" not in done.stderr
    assert not list(here.iterdir())
