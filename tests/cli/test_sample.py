"""minisig sample: from a text to new text, with the model's file alone."""

import json
import os
import shutil
import subprocess
from functools import partial

import numpy as np
import pytest

import minisig as ms
from minisig.data.prepared import EOS, UNK, TextInputs
from minisig.training.model_file import read_model, write_model
from tests.cli.command import PYTHON_M, cli, python_m, strict

sample = partial(cli, "sample")
TEXT = "".join(f"the {'cat' if i % 3 else 'dog'} sat {i % 4}\n" for i in range(300))
QUICK = ("--iterations", 5, "--hidden", 8)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs on the same text as words, as characters and as bytes, and one on a table; the text is deleted."""
    folder = tmp_path_factory.mktemp("runs")
    text = folder / "mine.txt"
    text.write_text(TEXT)
    for kind in ("words", "characters", "bytes"):
        result = cli("train", text, *QUICK, "--set", f"data.tokens={kind}", "--out", folder / kind)
        assert result.exit_code == 0, result.output
    text.unlink()
    assert cli("train", "xor", "--iterations", 2, "--out", folder / "table").exit_code == 0
    return folder


@pytest.mark.parametrize("name", ["mine.txt", "mine.txt.gz", "My mine.TXT", "mine.md", "folder"])
def test_a_run_on_a_text_is_named_after_its_file(here, name):
    path = here / name
    if name == "folder":
        path.mkdir()
        (path / "a.txt").write_text(TEXT)
    elif name.endswith(".gz"):
        import gzip

        path.write_bytes(gzip.compress(TEXT.encode()))
    else:
        path.write_text(TEXT)
    result = cli("train", name, *QUICK)
    assert result.exit_code == 0, result.output
    stem = {"My mine.TXT": "My_mine", "folder": "folder"}.get(name, "mine")
    assert [run.name for run in (here / "runs").iterdir()] == [f"{stem}-ortho+ep-seed0"]
    summary = strict((here / "runs" / f"{stem}-ortho+ep-seed0" / "summary.json").read_text())
    assert summary["experiment"] == stem
    assert summary.keys() >= {"test_perplexity", "test_bits"}
    assert "characters" in result.stderr.splitlines()[0]


def test_the_tales_are_trained_on_and_sampled_in_an_empty_folder_without_a_network(here):
    offline = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    env = os.environ | offline | {"MINISIG_DATA": str(here / "none"), "XDG_CACHE_HOME": str(here / "none")}
    assert python_m("train", "text", *QUICK, env=env).returncode == 0
    (run,) = (here / "runs").iterdir()
    assert run.name == "text-ortho+ep-seed0"
    done = python_m("sample", "runs/text-ortho+ep-seed0", "--length", 30, env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.decode()) >= 31


@pytest.mark.parametrize("kind", ["words", "characters", "bytes"])
def test_the_models_file_alone_writes_the_same(runs, here, kind):
    shutil.copy(runs / kind / "best.safetensors", here / "alone.safetensors")
    found = [sample(model, "--json", "--length", 60, "--seed", 3) for model in (runs / kind, "alone.safetensors")]
    assert found[0].stdout == found[1].stdout
    assert found[0].stderr == found[1].stderr == ""
    answer = strict(found[0].stdout)
    assert answer.keys() == {"text", "tokens"}
    assert answer["tokens"] == 60
    assert answer["text"] == ms.load(here / "alone.safetensors").sample(length=60, temperature=0.8, seed=3)
    assert [path.name for path in here.iterdir()] == ["alone.safetensors"]


def test_it_prints_the_prompt_and_what_follows(runs):
    result = sample(runs / "characters", "--prompt", "the cat", "--length", 40, "--seed", 2)
    text = ms.load(runs / "characters").sample("the cat", 40, temperature=0.8, seed=2)
    assert result.stdout == f"the cat{text}\n"


def test_several_texts_have_seeds_that_follow(runs):
    result = sample(runs / "characters", "--count", 3, "--seed", 7, "--length", 30, "--json")
    answer = strict(result.stdout)
    alone = [strict(sample(runs / "characters", "--seed", n, "--length", 30, "--json").stdout) for n in (7, 8, 9)]
    assert answer == {"text": alone[0]["text"], "tokens": 30, "texts": [one["text"] for one in alone]}
    printed = sample(runs / "characters", "--count", 3, "--seed", 7, "--length", 30).stdout
    assert printed == "\n----\n\n".join(f"{one['text']}\n" for one in alone)


def test_the_options_of_drawing_reach_it(runs):
    model = ms.load(runs / "characters")
    options = {"temperature": 0.3, "top_k": 3, "top_p": 0.5}
    for name, value in options.items():
        given = {"temperature": 0.8, **{name: value}}
        result = sample(runs / "characters", f"--{name.replace('_', '-')}", value, "--json", "--length", 50)
        assert strict(result.stdout)["text"] == model.sample(length=50, **given)
    greedy = [sample(runs / "characters", "--temperature", 0, "--seed", seed).stdout for seed in (1, 2)]
    assert greedy[0] == greedy[1]


def test_unknown_words_in_the_prompt_are_told_once(runs):
    result = sample(runs / "words", "--prompt", "the zebra cat", "--length", 3, "--count", 2)
    assert result.exit_code == 0
    assert result.stderr == "'zebra' (1 words) not in the training text, taken as unknown\n"
    assert result.stdout.startswith("the zebra cat")


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--length", 0], "'--length'"),
        (["--temperature", -1], "'--temperature'"),
        (["--temperature", "nan"], "nan is not a finite number"),
        (["--temperature", "inf"], "inf is not a finite number"),
        (["--top-k", 0], "'--top-k'"),
        (["--top-p", 0], "'--top-p'"),
        (["--top-p", 1.5], "'--top-p'"),
        (["--seed", -1], "'--seed'"),
        (["--count", 0], "'--count'"),
        (["--backend", "nosuch"], "nosuch"),
        (["--nosuch"], "--nosuch"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(refused, runs, args, complaint):
    assert complaint in refused(2, "sample", runs / "characters", *args)


def test_what_is_no_model_of_a_text_is_refused(refused, runs, here):
    assert "is no model of a text" in refused(2, "sample", runs / "table")
    assert "no such file" in refused(5, "sample", "nosuch")
    (here / "a.txt").write_text("a")
    assert "expected a run's folder" in refused(2, "sample", "a.txt")


def test_a_model_of_a_text_predicts_nothing_from_rows(refused, runs, here):
    (here / "a.csv").write_text("a,b\n1,2\n")
    assert "see minisig sample, score" in refused(2, "predict", runs / "words", "a.csv")


def test_a_model_of_a_text_is_tested_on_a_text_as_it_is_scored(runs, here):
    (here / "more.txt").write_text("a b a\nb a b\n")
    tested, scored = (json.loads(cli(name, runs / "words", "more.txt", "--json").stdout) for name in ("test", "score"))
    assert tested["test_perplexity"] == scored["perplexity"]
    assert tested["tokens"] == scored["tokens"] == 8
    assert "test perplexity" in cli("test", runs / "words", "more.txt").stdout


def test_terminal_escapes_in_a_vocabulary_are_printed_harmlessly(runs, here):
    info, params = read_model(runs / "words" / "best.safetensors")
    words = [word if word in (EOS, UNK) else f"\x1b]0;{word}\x07\x9b31m" for word in info.prepared.vocabulary]
    from msgspec.structs import replace

    own = replace(info, prepared=TextInputs("words", words))
    write_model(here / "evil.safetensors", {name: np.asarray(w) for name, w in params.items()}, own)
    result = sample("evil.safetensors", "--prompt", "a\x1b[31m", "--length", 30)
    assert result.exit_code == 0
    assert result.stdout.replace("\n", "").isprintable()
    assert "\\x1b]0;" in result.stdout
    assert result.stderr.replace("\n", "").isprintable()
    answer = sample("evil.safetensors", "--length", 30, "--json").stdout
    assert answer.strip().isprintable()
    assert "\x1b]0;" in json.loads(answer)["text"]


@pytest.mark.parametrize("change", ["an entry of two", "no end of line", "twice", "fewer"])
def test_a_vocabulary_that_does_not_fit_is_refused(refused, runs, here, change):
    from msgspec.structs import replace

    info, params = read_model(runs / "characters" / "best.safetensors")
    own = list(info.prepared.vocabulary)
    place = next(i for i, c in enumerate(own) if c.isalpha())
    match change:
        case "an entry of two":
            own[place] = "ab"
        case "no end of line":
            own[own.index("\n")] = "X"
        case "twice":
            own[place] = own[next(i for i, c in enumerate(own) if c.isalpha() and i != place)]
        case "fewer":
            own.pop(place)
    wrong = replace(info, prepared=TextInputs("characters", own))
    write_model(here / "wrong.safetensors", {name: np.asarray(w) for name, w in params.items()}, wrong)
    assert "it is damaged" in refused(5, "sample", "wrong.safetensors")


def test_a_reader_that_has_gone_is_no_error_to_talk_about(runs):
    command = [*PYTHON_M, "sample", str(runs / "characters"), "--length", "20000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 1


@pytest.mark.parametrize("args", [[], ["--json"]], ids=["text", "json"])
def test_a_full_disk_is_told_in_one_line(runs, args):
    if not os.path.exists("/dev/full"):  # noqa: PTH110
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = python_m("sample", runs / "characters", *args, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 1
    assert done.stderr.decode() == "Error: output: No space left on device\n"


def test_data_alone_names_a_text_too(here):
    (here / "mine.txt").write_text(TEXT)
    assert cli("train", "--data", "mine.txt", *QUICK).exit_code == 0
    assert (here / "runs" / "mine-ortho+ep-seed0").is_dir()


def test_settings_from_a_file_reach_a_text(here):
    (here / "mine.txt").write_text(TEXT)
    (here / "own.toml").write_text('[data]\ntokens = "words"\n')
    assert cli("train", "mine.txt", "--config", "own.toml", *QUICK).exit_code == 0
    config = strict((here / "runs" / "mine-ortho+ep-seed0" / "config.json").read_text())
    assert config["data"]["tokens"] == "words"


@pytest.mark.parametrize("model", ["lstm", "gru"])
def test_gated_cells_write_as_well(here, model):
    (here / "mine.txt").write_text(TEXT)
    assert cli("train", "mine.txt", *QUICK, "--model", model).exit_code == 0
    result = sample(here / "runs" / "mine-glorot-seed0", "--json", "--length", 20)
    assert len(strict(result.stdout)["text"]) == 20


def test_how_a_text_is_read_can_be_seen(here):
    (here / "mine.txt").write_text(TEXT)
    result = cli("data", "show", "mine.txt", "--set", "data.tokens=words")
    assert result.exit_code == 0
    assert result.stdout.startswith("mine.txt: words, 10 different; ")
    answer = strict(cli("data", "show", "mine.txt", "--json").stdout)
    assert answer["tokens"] == "characters"
    assert sum(answer["sizes"].values()) == len(TEXT)


def test_tabs_are_written_as_tabs(here):
    (here / "mine.txt").write_text("a\tb\n" * 300)
    assert cli("train", "mine.txt", "--iterations", 60, "--hidden", 8).exit_code == 0
    result = sample(here / "runs" / "mine-ortho+ep-seed0", "--prompt", "a\tb", "--length", 50)
    assert result.stdout.startswith("a\tb")
    assert result.stdout.count("\t") > 5
    assert "\\t" not in result.stdout


def test_a_text_with_a_table_of_settings_of_another_source_is_refused(refused, here):
    (here / "mine.txt").write_text(TEXT)
    assert "data.target is a setting of table" in refused(2, "train", "mine.txt", "--target", "x")
    assert "the model must be rnn or lstm or gru" in refused(2, "train", "mine.txt", "--model", "mlp")
    assert "data.tokens" in refused(2, "train", "mine.txt", "--set", "data.tokens=letters")
    assert "no such file or folder" in refused(5, "train", "nosuch.txt")


@pytest.mark.parametrize("kind", ["words", "characters", "bytes"])
def test_a_prompt_that_is_not_text_and_an_empty_one(runs, kind):
    done = python_m("sample", runs / kind, "--prompt", b"a\xff".decode("utf-8", "surrogateescape"), "--length", 5)
    assert done.returncode == (2 if kind == "bytes" else 0), done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stderr.decode().count("\n") == 1
    assert sample(runs / kind, "--prompt", "", "--length", 5).stdout == sample(runs / kind, "--length", 5).stdout


def test_several_texts_are_read_one_after_the_other(here, refused):
    for name, text in {"one.txt": TEXT, "two.txt": TEXT.upper()}.items():
        (here / name).write_text(text)
    assert cli("train", "one.txt", "two.txt", *QUICK, "--out", "run").exit_code == 0
    model = ms.load("run")
    assert {"t", "T"} <= {*model.text.vocabulary}
    assert "only texts are read one after the other" in refused(2, "train", "digits", "two.txt")
    config = strict((here / "run" / "config.json").read_text())
    assert config["data"]["more"] == [str(here / "two.txt")]
    (here / "two.txt").write_text(TEXT.title())
    with pytest.warns(UserWarning, match="changed"):
        ms.restore("run")
