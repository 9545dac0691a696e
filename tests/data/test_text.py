"""Text: the Penn Treebank as it is, a user's folder as it should be, and every way it can be wrong."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from minisig.data import DataConfig, load
from minisig.data.folder import homes
from minisig.data.sequences import Text
from minisig.errors import DataError
from minisig.network import recurrent
from minisig.training.evaluate import evaluate

SENTENCES = "the cat sat\nthe dog sat on the cat\n\n  a  bird  \n"


@pytest.fixture
def folder(tmp_path):
    def write(train=SENTENCES, valid="the bird sat\n", test="an ox sat\n"):
        for part, text in {"train": train, "valid": valid, "test": test}.items():
            if text is not None:
                (tmp_path / f"{part}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return write


def read(folder, **settings):
    return load(DataConfig(source="ptb", path=str(folder), steps=2, **settings))


def words(data, part, vocabulary):
    return [vocabulary[token] for token in getattr(data, part).tokens]


def test_lines_end_with_eos_blank_ones_are_skipped_and_unknown_words_are_unk(folder):
    data = read(folder())
    vocabulary = ["<unk>", "<eos>", "the", "cat", "sat", "a", "bird", "dog", "on"]
    assert data.classes == len(vocabulary)
    train = "<eos> the cat sat <eos> the dog sat on the cat <eos> a bird <eos>"  # one stands before the first word
    assert " ".join(words(data, "train", vocabulary)) == train
    assert words(data, "test", vocabulary) == ["<eos>", "<unk>", "<unk>", "sat", "<eos>"]


def test_a_limited_vocabulary_keeps_the_most_frequent_words(folder):
    data = read(folder(), vocabulary=4)
    assert data.classes == 4
    vocabulary = ["<unk>", "<eos>", "the", "cat"]
    assert words(data, "train", vocabulary)[:5] == ["<eos>", "the", "cat", "<unk>", "<eos>"]


@pytest.mark.parametrize("train", ["the the the cat cat dog\n", "the <unk> <unk> the the\n<unk> cat cat\n"])
def test_the_limit_falls_on_a_special_word_and_both_are_kept(folder, train):
    data = read(folder(train=train), vocabulary=3)
    assert data.classes == 3
    assert len(set(data.train.tokens)) == 3


def test_a_text_that_brings_its_own_unk_needs_no_other(folder):
    data = read(folder(train="a <unk> b\na c\n", valid="a\n", test="z\n"))
    assert data.classes == 5  # a b c <unk> <eos>


def test_gzipped_files_and_windows_line_ends_read_the_same(folder, tmp_path):
    plain = read(folder())
    other = tmp_path / "zipped"
    other.mkdir()
    for part in ("train", "valid", "test"):
        text = (tmp_path / f"{part}.txt").read_text().replace("\n", "\r\n")
        with gzip.open(other / f"{part}.txt.gz", "wt", newline="") as file:
            file.write(text)
    zipped = read(other)
    for part in ("train", "valid", "test"):
        np.testing.assert_array_equal(getattr(zipped, part).tokens, getattr(plain, part).tokens)


def test_the_unigram_baseline_is_the_perplexity_of_word_frequencies(folder):
    data = read(folder(train="a a b\n", valid="a b\n", test="a\n"))
    # a a b <eos> with one added to every count, <unk> included: 3, 2, 2, 1 of 8
    assert data.baselines["unigram"] == pytest.approx((3 / 8 * 2 / 8 * 2 / 8) ** (-1 / 3))
    assert data.baselines["uniform"] == 4


def test_streams_are_consecutive_text_read_side_by_side():
    text = Text(np.arange(1, 24), steps=3)  # 22 tokens to predict: two streams of eleven
    batches = text.batches(2, seed=0)
    x = np.concatenate([batches.at(i).x for i in range(1, 5)])
    y = np.concatenate([batches.at(i).labels for i in range(1, 5)])
    np.testing.assert_array_equal(x.T, [np.arange(1, 12), np.arange(12, 23)])
    np.testing.assert_array_equal(y, x + 1)
    assert [len(batches.at(i).x) for i in range(1, 6)] == [3, 3, 3, 2, 3]
    assert [batches.at(i).fresh for i in range(1, 6)] == [True, False, False, False, True]
    np.testing.assert_array_equal(batches.at(5).x, batches.at(1).x)


def test_evaluation_reads_every_token_once_and_in_order():
    text = Text(np.arange(1234), steps=35)
    windows = list(text.windows())
    np.testing.assert_array_equal(np.concatenate([w.x[:, 0] for w in windows]), np.arange(1233))
    np.testing.assert_array_equal(np.concatenate([w.labels[:, 0] for w in windows]), np.arange(1, 1234))
    assert [w.fresh for w in windows] == [True, False, False]
    assert len(text.head(100).tokens) == 101


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"train": b"fine\nnot \xff\xfe text\n"}, ["train.txt", "byte 9", "UTF-8"]),
        ({"valid": ""}, ["valid.txt", "no words"]),
        ({"train": "\n \n\t\n"}, ["train.txt", "no words"]),
        ({"train": "word word\nword\n"}, ["only one distinct word"]),
        ({"test": None}, ["holds no test.txt or ptb.test.txt, gzipped or not"]),
    ],
    ids=["encoding", "empty", "blank", "one word", "missing"],
)
def test_a_bad_folder_is_refused_with_a_reason(folder, texts, words):
    with pytest.raises(DataError) as error:
        read(folder(**texts))
    assert all(word in str(error.value) for word in words)


def test_a_damaged_gzip_file_is_refused(folder, tmp_path):
    folder(train=None)
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(SENTENCES.encode())[:-12])
    with pytest.raises(DataError, match=r"train\.txt\.gz: cannot be read"):
        read(tmp_path)


def test_a_window_longer_than_the_text_is_refused_with_a_remedy(folder):
    data = read(folder())
    with pytest.raises(
        DataError, match="needs 40 tokens, the training text has 14: use more text, a smaller batch size"
    ):
        data.train.batches(20, 0)


def test_a_missing_treebank_says_where_to_put_it(tmp_path, monkeypatch):
    monkeypatch.setenv("MINISIG_DATA", str(tmp_path))
    with pytest.raises(DataError, match="MINISIG_DATA"):
        load("ptb")
    monkeypatch.delenv("MINISIG_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"cache/minisig/ptb"):
        load("ptb")


def test_whoever_has_no_home_may_still_say_where_the_data_are(tmp_path, monkeypatch):
    def unknown(uid):
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MINISIG_DATA", str(tmp_path))
    assert homes()[0] == tmp_path


needs_ptb = pytest.mark.skipif(
    not (Path(os.environ.get("MINISIG_DATA", "/nowhere")) / "ptb").is_dir(), reason="$MINISIG_DATA/ptb is not there"
)


@needs_ptb
def test_the_penn_treebank_has_its_published_counts():
    data = load("ptb")
    assert [len(getattr(data, part).tokens) - 1 for part in ("train", "valid", "test")] == [929_589, 73_760, 82_430]
    assert data.classes == 10_000
    assert data.baselines["uniform"] == 10_000
    assert 640 < data.baselines["unigram"] < 700
    batches = data.train.batches(20, 0)
    assert batches.at(1).x.shape == (35, 20)
    assert batches.per_epoch == -(-(929_589 // 20) // 35)


@needs_ptb
def test_a_uniform_models_perplexity_on_the_treebank_is_exactly_its_vocabulary():
    net = recurrent(10_000, [5], init="lecun", dtype="float64")
    net.params["dense.W"][...] = net.params["dense.b"][...] = 0
    assert evaluate(net, load("ptb").valid.head(2000)).perplexity == pytest.approx(10_000, rel=1e-12)
