"""minisig data show: what is drawn, and how it says no."""

import sys
from functools import partial
from pathlib import Path

import pytest

from tests.cli.command import cli, tree
from tests.data.real import FOLDERS, needs_mnist

pytestmark = pytest.mark.usefixtures("home")
PNG = b"\x89PNG\r\n\x1a\n"
AUGMENTED = ("--set", "data.augment={}")  # eleven columns
cli = partial(cli, "data", "show")


@pytest.fixture
def needs_matplotlib():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield
    pyplot.close("all")


@pytest.mark.usefixtures("needs_matplotlib")
def test_show_draws_a_picture_of_what_is_trained_on():
    result = cli(*AUGMENTED, "--out", "digits.png")
    assert (result.exit_code, result.stdout) == (0, "saved as digits.png\n")
    assert Path("digits.png").read_bytes().startswith(PNG)
    assert Path("digits.png").stat().st_size > 5000


@pytest.mark.usefixtures("needs_matplotlib")
def test_show_names_its_picture_after_the_experiment():
    assert cli("digits", *AUGMENTED).stdout == "saved as digits-images.png\n"
    assert Path("digits-images.png").read_bytes().startswith(PNG)


@pytest.mark.usefixtures("needs_matplotlib")
@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("a.PDF", b"%PDF")])
def test_show_draws_in_other_formats(name, start):
    assert cli(*AUGMENTED, "--out", name).exit_code == 0
    assert Path(name).read_bytes().startswith(start)


@pytest.mark.usefixtures("needs_matplotlib")
def test_show_draws_images_that_are_not_distorted():
    assert cli("digits", "--out", "digits.png").exit_code == 0


@pytest.mark.usefixtures("needs_matplotlib")
def test_show_heeds_a_file_of_settings():
    Path("my.toml").write_text("[data.augment]\nalpha = 80\n")
    for name, settings in {
        "file": ["--config", "my.toml"],
        "set": ["--set", "data.augment.alpha=80"],
        "neither": AUGMENTED,
    }.items():
        assert cli(*settings, "--out", f"{name}.png").exit_code == 0
    file, same, other = (Path(f"{name}.png").read_bytes() for name in ("file", "set", "neither"))
    assert file == same != other


@needs_mnist
@pytest.mark.usefixtures("needs_matplotlib")
def test_show_draws_distorted_digits_of_mnist(monkeypatch):
    monkeypatch.setenv("MINISIG_DATA", str(FOLDERS["mnist"].parent))
    assert cli("mnist-deep-augmented", "--out", "digits.png").exit_code == 0
    assert Path("digits.png").read_bytes().startswith(PNG)


@pytest.mark.usefixtures("needs_matplotlib")
@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["xor"], 2, "not images"),
        (["copy-memory"], 2, "not images"),
        (["nosuch"], 2, "nosuch"),
        ([*AUGMENTED, "--out", "digits.jpg"], 2, "must end in .png, .svg, .pdf"),
        ([*AUGMENTED, "--out", "digits"], 2, "must end in"),
        ([*AUGMENTED, "--out", ""], 2, "it is empty"),
        ([*AUGMENTED, "--out", "nowhere/digits.png"], 2, "there is no folder nowhere; make it first"),
        (["mnist-deep"], 5, "minisig data fetch mnist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_shown_leaves_no_picture(refused, args, code, words):
    assert words in refused(code, "data", "show", *args)
    assert tree(Path()) == {}


def test_without_matplotlib_show_says_what_to_install(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'minisig[viz]'" in refused(1, "data", "show", *AUGMENTED)
