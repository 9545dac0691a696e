"""Running text for language modelling: the embedded tales, the Penn Treebank, or a text of the user's own.

A file is read whole; of a folder train.txt, valid.txt and test.txt (or ptb.train.txt and so on), or whatever .txt files
there are, one after the other. Where there is no validation and test text they are the last twentieths. All may be
gzipped, UTF-8.

    words           what white space separates; every line that has some ends with <eos>. The vocabulary is that of the
                    training text, the most frequent words first, at most so many; all others are <unk>, as in
                    Mikolov's files, which bring theirs already
    characters      those of the training text; others are U+FFFD
    bytes           as they are, 256 of them
"""

from collections import Counter
from collections.abc import Sequence
from importlib.resources import as_file, files
from math import exp
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import msgspec
import numpy as np

from minisig.data.dataset import PARTS, Dataset
from minisig.data.folder import data_folder
from minisig.data.hashes import content_hash
from minisig.data.prepared import EOS, UNK, UNKNOWN_CHARACTER, TextInputs, Tokens, words_of
from minisig.data.public import PTB
from minisig.data.raw import find, pieces, reading
from minisig.data.sequences import Text
from minisig.errors import DataError
from minisig.settings import Settings

MAX_BYTES = 2**28  # of a text after unpacking
HELD_OUT = 0.05  # of a text without a validation and a test text, for each
OF_WORDS = 5 * 10**6  # characters; of more the tokens are words, unless it is said otherwise
TALES = "tales.txt.gz"

Steps = Annotated[int, msgspec.Meta(gt=0, le=100_000)]
Vocabulary = Annotated[int, msgspec.Meta(gt=2, le=10_000_000)]
Kind = Literal["words", "characters", "bytes"]


class PTBSettings(Settings, frozen=True):
    steps: Steps = 35  # of a training window
    vocabulary: Vocabulary = 10_000  # words with a number of their own, at most


class TextSettings(PTBSettings, frozen=True):
    more: tuple[str, ...] = ()  # files that are read after the one at data.path
    tokens: Kind | None = None  # by default words of a folder with train.txt, else what suits the size


def is_text(path: Path | str) -> bool:
    """Whether it is a text by its name, or a folder that holds some and no run."""
    path = Path(path)
    try:
        if path.is_dir():
            return not (path / "config.json").exists() and any(path.glob("*.txt*"))
    except OSError:  # a name too long, or a folder that may not be looked into
        return False
    return str(path).lower().endswith((".txt", ".txt.gz", ".md"))


def own_name(path: Path) -> str:
    """The name of a file or folder, of "." and ".." as well."""
    return (path if path.name.strip(".") else path.resolve()).name or "data"


def load_ptb(steps: int, vocabulary: int) -> Dataset:
    """Mikolov's Penn Treebank from $MINISIG_DATA/ptb or the user's cache."""
    return load_text(data_folder(PTB), PTBSettings(steps=steps, vocabulary=vocabulary))


def load_text(path: Path | None, wanted: Any, prepared: TextInputs | None = None) -> Dataset:
    """The text in a file or folder, the embedded one if none is named, with the tokens of `prepared` or its own."""
    tokens = prepared.tokens if prepared else getattr(wanted, "tokens", "words")
    if path is None:
        with as_file(files("minisig.data").joinpath(TALES)) as tales:
            texts = {"": read_text(tales, str(tales))}
    elif more := [Path(name) for name in getattr(wanted, "more", ())]:
        texts = {"": _in_one([path, *more], in_utf8=tokens != "bytes")}
    else:
        texts = _texts(path, in_utf8=tokens != "bytes")
    if tokens is None:
        size = sum(map(len, texts.values()))
        tokens = "words" if "train" in texts or size > OF_WORDS else "characters"
    split = texts if "train" in texts else _held_out(texts[""])
    where = str(path or "the embedded text")
    by_part = {part: text if tokens == "bytes" else text.decode() for part, text in split.items()}
    if not prepared:
        prepared = _found(by_part["train"], tokens, wanted.vocabulary, where)
    encoded = {part: prepared.encode(text) for part, text in by_part.items()}
    if short := [part for part, found in encoded.items() if not len(found)]:
        raise DataError(f"{where}: no text to {'train' if short[0] == 'train' else 'hold out'}; use a longer one")
    train, valid, test = (np.concatenate([[prepared.start], encoded[part]]) for part in PARTS)
    baselines = {"uniform": float(prepared.size), "unigram": _unigram(train[1:], valid[1:], prepared.size)}
    sizes = ", ".join(f"{len(found):,}" for found in encoded.values())
    return Dataset(
        own_name(path) if path else "tales",
        Text(train, wanted.steps),
        Text(valid, wanted.steps),
        Text(test, wanted.steps),
        classes=prepared.size,
        baselines=baselines,
        of_loss=prepared.of_loss,
        prepared=prepared,
        content=content_hash(str(path), *getattr(wanted, "more", ())) if path else "",
        about=[f"{Path(where).name}: {tokens}, {prepared.size:,} different; {sizes} to train, to validate, to test"],
    )


def _texts(path: Path, in_utf8: bool) -> dict[str, bytes]:
    """The texts of the three parts, or one under ""."""
    if path.is_file():
        return {"": _in_one([path], in_utf8)}
    if not path.is_dir():
        raise DataError(f"{path}: no such file or folder")
    found = {part: find(path, f"{part}.txt", f"ptb.{part}.txt") for part in PARTS}
    if all(found.values()):
        return {part: _in_one([own], in_utf8) for part, own in found.items() if own}
    if any(found.values()):
        missing = next(part for part, own in found.items() if not own)
        raise DataError(f"{path}: holds no {missing}.txt or ptb.{missing}.txt, gzipped or not")
    several = sorted([*path.glob("*.txt"), *path.glob("*.txt.gz")])
    if not several:
        raise DataError(f"{path}: holds no .txt files; expected train.txt, valid.txt and test.txt, or any others")
    return {"": _in_one(several, in_utf8)}


def _in_one(paths: Sequence[Path], in_utf8: bool) -> bytes:
    """The texts of these files, one after the other."""
    texts = []
    for path in paths:
        texts.append(read_text(path, str(path)))
        if in_utf8:
            decoded(texts[-1], str(path))  # here, where the file and the line are known
        if sum(map(len, texts)) > MAX_BYTES:
            raise DataError(f"{path}: more than {MAX_BYTES:,} bytes of text up to here; use a part of it")
    return texts[0] if len(texts) == 1 else b"".join(text.removesuffix(b"\n") + b"\n" for text in texts)


def read_text(source: Path | IO[bytes], where: str) -> bytes:
    """The bytes of a file, unpacked if it is gzipped, or of an open one; its line ends as \\n."""
    if isinstance(source, Path):
        if not source.is_file():
            raise DataError(f"{source}: {'not a file' if source.exists() else 'no such file'}")
        with reading(source) as file:
            content = b"".join(pieces(file, MAX_BYTES + 1))
    else:
        content = b"".join(pieces(source, MAX_BYTES + 1))
    if len(content) > MAX_BYTES:
        raise DataError(f"{where}: more than {MAX_BYTES:,} bytes of text; use a part of it")
    if b"\0" in content:
        raise DataError(f"{where}: not a text in UTF-8, it holds bytes of zero; save it as UTF-8")
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    if not content.strip():
        raise DataError(f"{where}: the file holds no words")
    return content


def decoded(text: bytes, where: str) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{where}: line {line:,} is not UTF-8 text, it has the byte 0x{text[error.start]:02x}; save the file as "
            f"UTF-8, or train with --set data.tokens=bytes"
        ) from None


def _held_out(text: bytes) -> dict[str, bytes]:
    """The last twentieths are held out, cut between lines or else between words."""
    places = [0, *(_cut(text, 1 - share * HELD_OUT) for share in (2, 1)), len(text)]
    return {part: text[start:end] for part, start, end in zip(PARTS, places, places[1:], strict=False)}


def _cut(text: bytes, share: float) -> int:
    place = int(share * len(text))
    for mark in (b"\n", b" "):
        found = text.find(mark, place, place + len(text) // 50)
        if found >= 0:
            return found + 1
    while place < len(text) and text[place] & 0xC0 == 0x80:  # not within a character
        place += 1
    return place


def _found(text: Any, tokens: str, most: int, where: str) -> TextInputs:
    """The tokens of a training text."""
    if tokens == "bytes":
        return TextInputs("bytes")
    counts = Counter(words_of(text) if tokens == "words" else text)
    if len(counts) < 3 and tokens == "words":  # <eos> and a single word
        raise DataError(f"{where}: the training text has only one distinct word; there is nothing to predict")
    if len(counts) < 2:
        raise DataError(f"{where}: the training text has only one distinct character; there is nothing to predict")
    special = (EOS, UNK) if tokens == "words" else ("\n", UNKNOWN_CHARACTER)
    return TextInputs(tokens, _vocabulary(counts, most, special))  # type: ignore[arg-type]


def _vocabulary(counts: Counter[str], most: int, special: tuple[str, str]) -> list[str]:
    """The tokens with a number of their own, the special ones first where they are rare."""
    ranked = sorted(counts, key=lambda token: (-counts[token], token))
    rare = [token for token in special if token not in ranked[:most]]
    kept = {*special, *[token for token in ranked if token not in special][: most - 2]}
    return rare + [token for token in ranked if token in kept and token not in rare]


def _unigram(train: Tokens, valid: Tokens, vocabulary: int) -> float:
    """Perplexity on the validation text of the training text's frequencies, one added to every count."""
    counts = np.bincount(train, minlength=vocabulary) + 1.0
    return exp(-np.log(counts / counts.sum())[valid].mean())
