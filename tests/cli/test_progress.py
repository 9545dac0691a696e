"""The live display, on a real terminal: what a person sees while a network trains."""

import re

import pytest

from tests.cli.command import cli

pytest.importorskip("pty")

QUICK = ("--iterations", "60", "--set", "validate_every=30")


class Terminal:
    """The few commands to a screen that are used: what stands on it after each of them."""

    def __init__(self, shown):
        self.lines, self.row, self.frames = [""], 0, []
        for command, text in re.findall(r"(\x1b\[[0-9?;]*[a-zA-Z]|\r|\n)|([^\x1b\r\n]+)", shown):
            if text:
                self.lines[self.row] += text
                self.frames.append([line for line in self.lines if line])
            elif command == "\n":
                self.row += 1
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif command == "\x1b[2K":
                self.lines[self.row] = ""
            elif command.endswith("A"):
                self.row -= int(command[2:-1])


def last(text):
    """The last picture before everything is wiped away."""
    return Terminal(text).frames[-1]


@pytest.fixture(scope="module")
def dying(tmp_path_factory, on_a_terminal):
    """What a vanishing network shows."""
    return on_a_terminal("train", "--init", "lecun", *QUICK, "--out", tmp_path_factory.mktemp("dying") / "run")[1]


def test_count_speed_time_losses_and_gradients_stand_in_two_lines_of_eighty_columns(dying):
    first, second = last(dying)
    assert re.fullmatch(r"\S+ 60/60 [\d.e+]+ it/s +\d:\d\d:\d\d loss \d\.\d{3} valid error \d+\.\d\d %", first.rstrip())
    assert re.search(r"^gradients \de-\d\d … \de[-+]\d\d, input first, .*: \S{9}$", second)
    assert max(len(line) for frame in Terminal(dying).frames for line in frame) <= 80


def test_a_vanishing_gradient_is_a_staircase_and_its_lower_end_is_red(dying):
    bars = last(dying)[1].rsplit(" ", 1)[1]
    assert bars[0] in "▁▂"
    assert bars[-1] == "█"
    assert list(bars) == sorted(bars)
    red, green = re.findall(r"\x1b\[31m(\S+?)\x1b\[0m\x1b\[32m(\S+?)\x1b\[0m", dying)[-1]
    assert red + green == bars
    assert set(green) <= set("▇█")


def test_everything_is_wiped_away_in_the_end(dying):
    assert not any(Terminal(dying).lines)


def test_a_gradient_that_is_alive_is_level_and_who_watches_changes_no_number(tmp_path, on_a_terminal):
    text = on_a_terminal("train", *QUICK, "--out", tmp_path / "seen")[1]
    assert set(last(text)[1].rsplit(" ", 1)[1]) <= set("▇█")
    assert "\x1b[31m" not in text
    result = cli("train", *QUICK, "--out", tmp_path / "unseen")
    assert (result.exit_code, result.stderr) == (0, "")
    for file in ("metrics.jsonl", "best.safetensors"):
        assert (tmp_path / "seen" / file).read_bytes() == (tmp_path / "unseen" / file).read_bytes()


def test_a_hundred_layers_stay_on_one_screen(tmp_path, on_a_terminal):
    text = on_a_terminal("train", "--hidden", "100x5", "--iterations", 2, "--out", tmp_path / "run")[1]
    frames = Terminal(text).frames
    assert max(map(len, frames)) <= 4
    assert max(len(line) for frame in frames for line in frame) <= 80
    assert len("".join(frames[-1][2:])) == 101


def test_without_colours_and_such_letters_digits_say_it_all(tmp_path, on_a_terminal):
    env = {"NO_COLOR": "1", "PYTHONIOENCODING": "ascii"}
    text = on_a_terminal("train", "--init", "lecun", *QUICK, "--out", tmp_path / "run", env=env)[1]
    assert not re.search(r"\x1b\[(3|4|9|10)\d", text)
    assert re.search(r": [1-8]{8}8$", last(text)[1])
