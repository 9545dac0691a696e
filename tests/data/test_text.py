"""Text: the Penn Treebank as it is, a user's folder as it should be, and every way it can be wrong."""

import gzip
from collections import Counter
from math import exp, log
from statistics import fmean

import numpy as np
import pytest

from minisig.data import load
from minisig.errors import DataError
from minisig.network import recurrent
from minisig.training.evaluate import evaluate
from tests.data.real import needs_ptb

SENTENCES = "the cat sat\nthe dog sat on the cat\n\n  a  bird  \n"


@pytest.fixture
def texts(tmp_path):
    """A folder of texts; None leaves one out."""

    def write(train=SENTENCES, valid="the bird sat\n", test="an ox sat\n"):
        for part, text in {"train": train, "valid": valid, "test": test}.items():
            if text is not None:
                (tmp_path / f"{part}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return write


def read(folder, **settings):
    return load({"source": "text", "path": str(folder), "steps": 2, **settings})


def words(data, part, vocabulary):
    return [vocabulary[token] for token in getattr(data, part).tokens]


def test_lines_end_with_eos_blank_ones_are_skipped_and_unknown_words_are_unk(texts):
    data = read(texts())
    vocabulary = ["<unk>", "<eos>", "the", "cat", "sat", "a", "bird", "dog", "on"]
    assert data.classes == len(vocabulary)
    train = "<eos> the cat sat <eos> the dog sat on the cat <eos> a bird <eos>"  # one stands before the first word
    assert " ".join(words(data, "train", vocabulary)) == train
    assert words(data, "test", vocabulary) == ["<eos>", "<unk>", "<unk>", "sat", "<eos>"]


def test_a_limited_vocabulary_keeps_the_most_frequent_words(texts):
    data = read(texts(), vocabulary=4)
    assert data.classes == 4
    vocabulary = ["<unk>", "<eos>", "the", "cat"]
    assert words(data, "train", vocabulary)[:5] == ["<eos>", "the", "cat", "<unk>", "<eos>"]


@pytest.mark.parametrize("train", ["the the the cat cat dog\n", "the <unk> <unk> the the\n<unk> cat cat\n"])
def test_the_limit_falls_on_a_special_word_and_both_are_kept(texts, train):
    data = read(texts(train=train), vocabulary=3)
    assert data.classes == 3
    assert len(set(data.train.tokens)) == 3


def test_a_text_that_brings_its_own_unk_needs_no_other(texts):
    data = read(texts(train="a <unk> b\na c\n", valid="a\n", test="z\n"))
    assert data.classes == 5  # a b c <unk> <eos>


def test_gzipped_files_and_windows_line_ends_read_the_same(texts, tmp_path):
    plain = read(texts())
    other = tmp_path / "zipped"
    other.mkdir()
    for part in ("train", "valid", "test"):
        text = (tmp_path / f"{part}.txt").read_text().replace("\n", "\r\n")
        with gzip.open(other / f"{part}.txt.gz", "wt", newline="") as file:
            file.write(text)
    zipped = read(other)
    for part in ("train", "valid", "test"):
        np.testing.assert_array_equal(getattr(zipped, part).tokens, getattr(plain, part).tokens)


def test_the_unigram_baseline_is_the_perplexity_of_word_frequencies(texts):
    data = read(texts(train="a a b\n", valid="a b\n", test="a\n"))
    # a a b <eos> with one added to every count, <unk> included: 3, 2, 2, 1 of 8
    assert data.baselines["unigram"] == pytest.approx((3 / 8 * 2 / 8 * 2 / 8) ** (-1 / 3))
    assert data.baselines["uniform"] == 4


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"train": b"fine\nnot \xff\xfe text\n"}, ["train.txt: line 2", "byte 0xff", "UTF-8"]),
        ({"valid": ""}, ["valid.txt", "no words"]),
        ({"train": "\n \n\t\n"}, ["train.txt", "no words"]),
        ({"train": "word word\nword\n"}, ["only one distinct word"]),
        ({"test": None}, ["holds no test.txt or ptb.test.txt, gzipped or not"]),
    ],
    ids=["encoding", "empty", "blank", "one word", "missing"],
)
def test_a_bad_folder_is_refused_with_a_reason(texts, given, words):
    with pytest.raises(DataError) as error:
        read(texts(**given))
    assert all(word in str(error.value) for word in words)


def test_a_damaged_gzip_file_is_refused(texts, tmp_path):
    texts(train=None)
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(SENTENCES.encode())[:-12])
    with pytest.raises(DataError, match=r"train\.txt\.gz: cannot be read"):
        read(tmp_path)


def test_a_text_that_is_saved_with_a_byte_order_mark_has_no_other_words(texts):
    plain = read(texts())
    marked = read(texts(train="\ufeff" + SENTENCES))
    assert marked.classes == plain.classes
    np.testing.assert_array_equal(marked.train.tokens, plain.train.tokens)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_a_text_of_more_bytes_than_fit_is_refused_and_one_that_just_fits_is_not(texts, monkeypatch, packed):
    size = len(SENTENCES.encode())
    folder = texts(train=None if packed else SENTENCES)
    if packed:
        (folder / "train.txt.gz").write_bytes(gzip.compress(SENTENCES.encode()))
    monkeypatch.setattr("minisig.data.text.MAX_BYTES", size)
    assert read(folder).classes == 9
    monkeypatch.setattr("minisig.data.text.MAX_BYTES", size - 1)
    with pytest.raises(DataError, match=rf"train\.txt(\.gz)?: more than {size - 1} bytes of text; use a part of it"):
        read(folder)


@needs_ptb
def test_the_penn_treebank_has_its_published_counts():
    data = load("ptb")
    assert [len(getattr(data, part).tokens) - 1 for part in ("train", "valid", "test")] == [929_589, 73_760, 82_430]
    assert data.classes == 10_000
    assert data.baselines["uniform"] == 10_000
    counts = Counter(data.train.tokens[1:].tolist())
    surprise = (log((929_589 + 10_000) / (counts[token] + 1)) for token in data.valid.tokens[1:].tolist())
    assert data.baselines["unigram"] == pytest.approx(exp(fmean(surprise)))
    batches = data.train.batches(20, 0)
    assert batches.at(1).x.shape == (35, 20)
    assert batches.per_epoch == -(-(929_589 // 20) // 35)


@needs_ptb
def test_a_uniform_models_perplexity_on_the_treebank_is_exactly_its_vocabulary():
    net = recurrent(10_000, [5], init="lecun", dtype="float64")
    net.params["dense.W"][...] = net.params["dense.b"][...] = 0
    assert evaluate(net, load("ptb").valid.head(2000)).perplexity == pytest.approx(10_000, rel=1e-12)
