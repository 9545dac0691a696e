"""minisig score: the perplexity of a text under a trained model."""

import os
import subprocess
from functools import partial
from math import log

import pytest

import minisig as ms
from tests.cli.command import cli, python_m, strict

score = partial(cli, "score")
LINES = [f"the {'cat' if i % 3 else 'dog'} sat {i % 4} é\n" for i in range(300)]
KINDS = ["words", "characters", "bytes"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    (folder / "text").mkdir()
    for part, lines in {"train": LINES, "valid": LINES[:50], "test": LINES[70:130]}.items():
        (folder / "text" / f"{part}.txt").write_text("".join(lines), encoding="utf-8")
    for kind in KINDS:
        options = ("--iterations", 5, "--hidden", 8, "--set", f"data.tokens={kind}", "--out", folder / kind)
        assert cli("train", folder / "text", *options).exit_code == 0
    assert cli("train", "xor", "--iterations", 2, "--out", folder / "table").exit_code == 0
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_the_test_text_has_the_perplexity_of_the_summary(runs, kind):
    result = score(runs / kind, runs / "text" / "test.txt", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found, summary = strict(result.stdout), strict((runs / kind / "summary.json").read_text())
    assert found.keys() == {"perplexity", "loss", "tokens"} | ({"bits"} if kind != "words" else set())
    assert found["perplexity"] == summary["test_perplexity"]
    assert found["loss"] == summary["test_loss"]
    text = "".join(LINES[70:130])
    assert found["tokens"] == {"words": 60 * 6, "characters": len(text), "bytes": len(text.encode())}[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_lines_are_those_of_the_file_and_combine_to_the_whole(runs, kind):
    path = runs / "text" / "test.txt"
    found = strict(score(runs / kind, path, "--lines", "--json").stdout)
    assert [line["text"] for line in found["lines"]] == path.read_text(encoding="utf-8").splitlines()
    assert sum(line["tokens"] for line in found["lines"]) == found["tokens"]
    sum_ = sum(line["tokens"] * log(line["perplexity"]) for line in found["lines"])
    assert sum_ / found["tokens"] == pytest.approx(found["loss"], rel=1e-6)
    printed = [line.split("\t") for line in score(runs / kind, path, "--lines").stdout.splitlines()]
    assert printed == [[f"{one['perplexity']:.6g}", str(one["tokens"]), one["text"]] for one in found["lines"]]


@pytest.mark.parametrize(("kind", "unit"), [("words", None), ("characters", "character"), ("bytes", "byte")])
def test_it_is_told_in_one_line(runs, kind, unit):
    path = runs / "text" / "test.txt"
    found = ms.load(runs / kind).score(path.read_bytes())
    bits = f", {found['bits']:.4f} bits per {unit}" if unit else ""
    expected = f"perplexity {found['perplexity']:.6g}{bits}, {found['tokens']:,} tokens\n"
    assert score(runs / kind, path).stdout == expected


@pytest.mark.parametrize("kind", KINDS)
def test_standard_input_and_other_line_ends_score_the_same(runs, here, kind):
    plain = (runs / "text" / "test.txt").read_bytes()
    marked = b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")
    (here / "marked.txt").write_bytes(marked)
    done = python_m("score", runs / kind, "-", "--json", input=marked)
    assert (done.returncode, done.stderr) == (0, b"")
    expected = score(runs / kind, runs / "text" / "test.txt", "--json").stdout
    assert done.stdout.decode() == score(runs / kind, "marked.txt", "--json").stdout == expected


def test_unknown_words_are_told(runs, here):
    (here / "a.txt").write_text("the zebra sat\nox\n")
    result = score(runs / "words", "a.txt", "--lines")
    assert result.stderr == "'zebra', 'ox' (2 words) not in the training text, taken as unknown\n"
    assert [line.split("\t")[1:] for line in result.stdout.splitlines()] == [["4", "the <unk> sat"], ["2", "<unk>"]]


def test_control_characters_of_a_text_do_not_reach_the_terminal(runs, here):
    (here / "a.txt").write_text("the \x1b[31m\x07cat\n")
    for args in (["--lines"], []):
        result = score(runs / "bytes", "a.txt", *args)
        assert result.exit_code == 0
        assert (result.stdout + result.stderr).replace("\n", "").replace("\t", "").isprintable()
    result = score(runs / "characters", "a.txt")
    assert "\\x1b" in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "a.txt: the file holds no words"),
        (b" \n\n", "a.txt: the file holds no words"),
        (b"fine\n\xff\n", "a.txt: line 2 is not UTF-8 text, it has the byte 0xff; save the file as UTF-8"),
        (b"a\0b", "a.txt: not a text in UTF-8, it holds bytes of zero"),
        (None, "a.txt: no such file"),
    ],
)
def test_what_is_no_text_is_refused(refused, runs, here, content, complaint):
    if content is not None:
        (here / "a.txt").write_bytes(content)
    assert complaint in refused(5, "score", runs / "characters", "a.txt")
    if content:
        done = python_m("score", runs / "characters", "-", input=content)
        assert done.returncode == 5
        assert done.stderr.decode().startswith(f"Error: {complaint.replace('a.txt', 'standard input')}")


def test_bytes_need_no_utf8(runs, here):
    (here / "a.txt").write_bytes(b"fine\n\xff\xfe\n")
    assert strict(score(runs / "bytes", "a.txt", "--json").stdout)["tokens"] == 8


def test_what_is_no_model_of_a_text_is_refused(refused, runs, here):
    (here / "a.txt").write_text("a b\n")
    assert "is no model of a text" in refused(2, "score", runs / "table", "a.txt")
    assert "no such file" in refused(5, "score", "nosuch", "a.txt")
    assert "not a file" in refused(5, "score", runs / "words", here)
    assert "FILE" in refused(2, "score", runs / "words")


@pytest.mark.parametrize("args", [[], ["--json"], ["--lines"]], ids=str)
def test_a_full_disk_is_told_in_one_line(runs, args):
    if not os.path.exists("/dev/full"):  # noqa: PTH110
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        path = runs / "text" / "test.txt"
        done = python_m("score", runs / "words", path, *args, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 1
    assert done.stderr.decode() == "Error: output: No space left on device\n"
