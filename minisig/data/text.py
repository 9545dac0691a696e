"""Running text for language modelling: the Penn Treebank, or a folder of the user's own.

A folder holds train.txt, valid.txt and test.txt (or ptb.train.txt and so on), gzipped or not, UTF-8. Words are what
white space separates; every line that has some ends with <eos>. The vocabulary is that of the training text, the most
frequent words first, at most so many; all other words are <unk>, as in Mikolov's files, which bring theirs already.
"""

from collections import Counter
from math import exp
from pathlib import Path

import numpy as np

from minisig.data.dataset import PARTS, Dataset
from minisig.data.folder import data_folder
from minisig.data.hashes import content_hash
from minisig.data.prepared import WordInputs
from minisig.data.public import PTB
from minisig.data.raw import pieces, reading, require_file
from minisig.data.sequences import Text, Tokens
from minisig.errors import DataError

EOS, UNK = "<eos>", "<unk>"
MAX_BYTES = 2**30  # of a text after unpacking


def load_ptb(steps: int, vocabulary: int) -> Dataset:
    """Mikolov's Penn Treebank from $MINISIG_DATA/ptb or the user's cache."""
    return load_text(data_folder(PTB), steps, vocabulary)


def load_text(folder: Path, steps: int, vocabulary: int, prepared: WordInputs | None = None) -> Dataset:
    """The texts of a folder, to be read in windows of so many steps, with at most so many different words.

    The words with a number of their own are those of `prepared`, or else those of the training text.
    """
    words = {part: _words(require_file(folder, f"{part}.txt", f"ptb.{part}.txt")) for part in PARTS}
    counts = Counter(words["train"])
    if len(counts) < 3:  # <eos> and a single word
        raise DataError(f"{folder}: the training text has only one distinct word; there is nothing to predict")
    ids = {word: i for i, word in enumerate(prepared.vocabulary)} if prepared else _vocabulary(counts, vocabulary)
    train, valid, test = (_tokens(words[part], ids) for part in PARTS)
    baselines = {"uniform": float(len(ids)), "unigram": _unigram(train[1:], valid[1:], len(ids))}
    return Dataset(
        folder.name,
        Text(train, steps),
        Text(valid, steps),
        Text(test, steps),
        classes=len(ids),
        baselines=baselines,
        prepared=WordInputs(list(ids)),
        content=content_hash(str(folder)),
    )


def _words(path: Path) -> list[str]:
    """The words of a file, an <eos> after every line that is not blank."""
    with reading(path) as file:
        content = b"".join(pieces(file, MAX_BYTES + 1))
    if len(content) > MAX_BYTES:
        raise DataError(f"{path}: more than {MAX_BYTES:,} bytes of text; use a part of it")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8 text; save the file as UTF-8") from None
    words: list[str] = []
    for line in text.split("\n"):
        if found := line.split():
            words += found
            words.append(EOS)
    if not words:
        raise DataError(f"{path}: the file holds no words")
    return words


def _vocabulary(counts: Counter[str], most: int) -> dict[str, int]:
    """The number of every word that has one of its own."""
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    rare = [word for word in (EOS, UNK) if word not in ranked[:most]]  # which come first
    kept = {EOS, UNK, *[word for word in ranked if word not in (EOS, UNK)][: most - 2]}
    numbered = rare + [word for word in ranked if word in kept and word not in rare]
    return {word: number for number, word in enumerate(numbered)}


def _tokens(words: list[str], ids: dict[str, int]) -> Tokens:
    return np.array([ids[EOS], *(ids.get(word, ids[UNK]) for word in words)], dtype=np.int64)


def _unigram(train: Tokens, valid: Tokens, vocabulary: int) -> float:
    """Perplexity on the validation text of the training text's word frequencies, one added to every count."""
    counts = np.bincount(train, minlength=vocabulary) + 1.0
    return exp(-np.log(counts / counts.sum())[valid].mean())
