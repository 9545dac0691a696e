"""--config FILE.toml: settings from a file, under options and --set, for every command that makes a network."""

import json
import sys

import pytest

from minisig.training.files import read_config
from tests.cli.command import cli

pytestmark = pytest.mark.usefixtures("here", "without_figures")


@pytest.fixture
def trained(here):
    """The configuration of a run of xor with this file and these options."""

    def train(toml, *args, experiment="xor"):
        (here / "my.toml").write_text(toml, encoding="utf-8")
        result = cli("train", experiment, "--config", "my.toml", "--out", "run", *args)
        assert result.exit_code == 0, result.output
        return read_config(here / "run")

    return train


SMALL = """
iterations = 3
[network]
hidden = [3, 2]
[optimizer]
learning_rate = 0.25
momentum = 0.5
"""


# What a file says


def test_tables_replace_the_fields_they_name_and_no_others(trained):
    config = trained(SMALL)
    assert (config.iterations, config.network.hidden) == (3, (3, 2))
    assert (config.optimizer.learning_rate, config.optimizer.momentum) == (0.25, 0.5)
    assert (config.batch_size, config.network.init, config.optimizer.name) == (200, "random+ep", "momentum")


def test_options_win_over_the_file_and_set_over_both(trained):
    options = ("--hidden", "4", "--learning-rate", 0.125, "--iterations", 2)
    config = trained(SMALL, *options, "--set", "network.hidden=[5]", "--set", "optimizer.momentum=0.75")
    assert config.network.hidden == (5,)
    assert (config.optimizer.learning_rate, config.optimizer.momentum, config.iterations) == (0.125, 0.75, 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 7),
        ("log_every", 7),
        ("threads", 1),
        pytest.param("seed", 7),
        pytest.param("dtype", "float64"),
    ],
)
def test_every_field_can_be_given_by_the_file(trained, name, value):
    assert getattr(trained(f"iterations = 2\n{name} = {json.dumps(value)}\n"), name) == value


def test_a_backend_of_the_file_is_the_one_that_is_used(here):
    (here / "my.toml").write_text('backend = "abacus"')
    result = cli("train", "xor", "--iterations", 2, "--config", "my.toml")
    assert result.exit_code == 2
    assert "abacus" in result.stderr


@pytest.mark.parametrize(
    "toml",
    [
        '[network]\ninit = "ortho"\nhidden = [4]',
        'network.init = "ortho"\nnetwork.hidden = [4]',
        'network = {init = "ortho", hidden = [4]}',
        'experiment = "xor"\n# mine\n[network] # all\ninit = "ortho"\nhidden = [4]',
    ],
)
def test_toml_has_many_ways_to_say_the_same(trained, toml):
    config = trained(toml, "--iterations", 2)
    assert (config.network.init, config.network.hidden) == ("ortho", (4,))


def test_an_empty_file_changes_nothing(trained):
    assert trained("", "--iterations", 2).network.hidden == (2,)


def test_an_empty_table_changes_nothing(trained):
    assert trained("[network]\n# hidden = [3]\n[optimizer]\n", "--iterations", 2).network.hidden == (2,)


def test_an_empty_table_switches_on_what_was_left_out(trained):
    config = trained("iterations = 2\n[network]\nhidden = [4]\n[data.augment]\n", experiment="digits")
    assert config.data.augment is not None
    assert config.data.augment.alpha == 37.0


def test_a_table_can_switch_on_and_set_at_once(trained):
    toml = "iterations = 2\n[network]\nhidden = [4]\n[data.augment]\nalpha = 5\n"
    config = trained(toml, "--set", "data.augment.sigma=2.5", experiment="digits")
    assert (config.data.augment.alpha, config.data.augment.sigma, config.data.augment.rotation) == (5.0, 2.5, 15.0)


def test_a_model_of_the_file_brings_what_belongs_to_it(trained):
    config = trained('iterations = 1\n[network]\nmodel = "lstm"\n[data]\ndelay = 3', experiment="copy-memory")
    assert (config.network.model, config.network.hidden, config.network.init) == ("lstm", (52,), "glorot")


def test_a_byte_order_mark_is_no_mistake(trained):
    assert trained("\ufeffiterations = 2\n").iterations == 2


# Every command; test_show.py has data show


def test_compare_heeds_the_file(here):
    (here / "my.toml").write_text(SMALL)
    result = cli("compare", "xor", "--config", "my.toml", "--init", "lecun", "--seeds", 2, "--json", "--out", "runs")
    assert json.loads(result.stdout)["iterations"] == 3
    configs = [json.loads(path.read_text()) for path in sorted((here / "runs").glob("*/config.json"))]
    assert [config["network"]["hidden"] for config in configs] == [[3, 2]] * 2
    assert [config["optimizer"]["momentum"] for config in configs] == [0.5] * 2


def test_compare_heeds_the_threads_of_the_file(here):
    (here / "my.toml").write_text("threads = 2")
    cli("compare", "xor", "--config", "my.toml", "--init", "lecun", "--seeds", 1, "--iterations", 1, "--out", "runs")
    (path,) = (here / "runs").glob("*/config.json")
    assert json.loads(path.read_text())["threads"] == 2


def test_a_comparison_refuses_a_file_that_names_an_initialization(here):
    (here / "my.toml").write_text('[network]\ninit = "ortho"\n')
    result = cli("compare", "xor", "--config", "my.toml", "--init", "lecun")
    assert result.exit_code == 2
    assert "network.init is what the rows of a comparison differ in" in result.stderr


# Files that cannot be

COMMANDS = {
    "train": ("train", "xor"),
    "inspect": ("inspect", "xor"),
    "compare": ("compare", "xor", "--seeds", 1),
    "data show": ("data", "show", "xor"),
}


@pytest.fixture
def refused(refused):
    """Run what must be refused as wrong usage, in a line with these words."""

    def check(command, words, name="my.toml"):
        last = refused(2, *COMMANDS[command], "--config", name).splitlines()[-1]
        assert all(word in last for word in words), last

    return check


CONTENTS = {
    "syntax": (b"iterations = = 2", ["line 1"]),
    "twice": (b"iterations = 2\niterations = 3", ["overwrite"]),
    "not UTF-8": (b"iterations = 2 # \xff\xfe", ["utf-8"]),
    "of another experiment": (b'experiment = "digits"', ["not for xor"]),
    "of no experiment": (b"experiment = 5", ["not for xor"]),
    "huge": (b"#" * (2**20 + 1), ["larger"]),
    "nested too deep": (b"a = " + b"[" * 3000 + b"]" * 3000, []),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("content", "words"), CONTENTS.values(), ids=CONTENTS)
def test_what_is_no_file_of_settings_is_refused_by_name(here, refused, command, content, words):
    (here / "my.toml").write_bytes(content)
    refused(command, ["--config", "my.toml", *words])


FIELDS = {
    "unknown": ("colour = 1", ["colour"]),
    "unknown in a group": ("[network]\nwdith = 3", ["wdith", "network"]),
    "unknown group": ("[nosuch]\na = 1", ["nosuch"]),
    "wrong type": ('iterations = "many"', ["iterations", "int"]),
    "wrong type in a group": ('[optimizer]\nlearning_rate = "fast"', ["optimizer.learning_rate", "float"]),
    "out of range": ("iterations = 0", ["iterations", "1"]),
    "not finite": ("[optimizer]\nlearning_rate = nan", ["optimizer.learning_rate", "finite"]),
    "a date": ("iterations = 1979-05-27", ["iterations", "int"]),
    "a group that is a number": ("network = 5", ["network"]),
    "a number that is a group": ("[seed]\nx = 1", ["seed"]),
    "a list of groups": ("[[network]]\nhidden = [3]", ["network"]),
    "an unknown activation": ('[network]\nactivation = "sigmod"', ["sigmod", "Did you mean 'sigmoid'?"]),
    "an unknown model": ('[network]\nmodel = "lstn"', ["lstn"]),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("toml", "words"), FIELDS.values(), ids=FIELDS)
def test_a_wrong_field_is_refused_by_name(here, refused, command, toml, words):
    (here / "my.toml").write_text(toml)
    refused(command, words)


@pytest.mark.parametrize(("toml", "words"), FIELDS.values(), ids=FIELDS)
def test_a_wrong_field_is_refused_with_its_file(here, refused, toml, words):
    (here / "my.toml").write_text(toml)
    refused("train", ["my.toml", *words])


def test_dotted_keys_without_end_are_refused(here, refused):
    (here / "my.toml").write_text("a." * 3000 + "a = 1")
    refused("train", ["my.toml"])


def test_an_empty_table_of_no_known_name_is_refused(here, refused):
    (here / "my.toml").write_text("[optimiser]\n")
    refused("train", ["my.toml", "optimiser"])


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_file_is_refused_by_name(here, refused, command):
    (here / "folder").mkdir()
    refused(command, ["--config", "nosuch.toml", "does not exist"], "nosuch.toml")
    refused(command, ["--config", "folder", "is a directory"], "folder")
    refused(command, ["--config"], "")


@pytest.mark.skipif(sys.platform == "win32", reason="no such device there")
def test_an_endless_file_is_not_read_to_its_end(refused):
    refused("train", ["/dev/zero", "larger"], "/dev/zero")
