"""How rows, images or words become what a network takes, and its outputs answers: kept with the model, it stands alone.

    TableInputs     columns by name: numbers standardised, categories as one input for each
    VectorInputs    plain numbers in a row, scaled
    TextInputs      words, characters or bytes with a number each

All of it was found out from the training part, and is applied unchanged to whatever comes later.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from minisig.data.cells import MISSING, PLAIN, Numbers, numbers, shown
from minisig.data.scaling import Scaling, scaled_pixels
from minisig.errors import DataError

EOS, UNK, UNKNOWN_CHARACTER = "<eos>", "<unk>", "\ufffd"
MAX_POINT = 0x10FFFF  # of Unicode
WORD = re.compile(r"\n|\S+")
ROWS = 8192  # encoded at a time, to stay in the cache
MAX_INPUTS = 200_000
NOT_FINITE = "expected finite numbers"
MAX_NOTICED, OTHERS = 1000, "others"  # cells that are counted each by itself

Finite = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
Scale = Annotated[float, msgspec.Meta(gt=0, le=1e300)]
Name = Annotated[str, msgspec.Meta(max_length=100_000)]
Class = int | float | str
Tokens = NDArray[np.int64]
Task = Annotated[str, msgspec.Meta(pattern=r"^(classification|labels|regression)\Z")]
Label = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Noticed:
    """What was not as in the training data, to be told once for a whole file."""

    def __init__(self) -> None:
        self.missing: dict[str, int] = {}
        self.odd: dict[str, dict[str, int]] = {}  # cells of a column of numbers that are none
        self.unknown: dict[str, dict[str, int]] = {}  # categories
        self.unread: dict[str, dict[str, int]] = {}  # words or characters of a text

    def count(self, where: dict[str, dict[str, int]], name: str, cells: Mapping[str, int]) -> None:
        found = where.setdefault(name, {})
        for cell, n in cells.items():
            known = cell if cell in found or len(found) < MAX_NOTICED - 1 else OTHERS
            found[known] = found.get(known, 0) + n

    def lines(self) -> list[str]:
        """A sentence for every column."""
        said = []
        for name, cells in self.odd.items():
            said.append(f"{shown(name)}: {_some(cells)} taken as missing, expected numbers")
        for name, cells in self.unknown.items():
            said.append(f"{shown(name)}: {_some(cells)} not among the training data's categories")
        for kind, found in self.unread.items():
            said.append(f"{_some(found, kind)} not in the training text, taken as unknown")
        for name, n in self.missing.items():
            said.append(f"{shown(name)}: {n:,} missing, filled as while training")
        return said


def _some(cells: Mapping[str, int], kind: str = "cells") -> str:
    named = ", ".join(repr(cell[:40]) for cell in list(cells)[:3])
    more = f" and {len(cells) - 3} others" if len(cells) > 3 else ""
    return f"{named}{more} ({sum(cells.values()):,} {kind})"


class Numeric(msgspec.Struct, frozen=True, tag="numeric", tag_field="kind", forbid_unknown_fields=True):
    """v ↦ (v − centre) / scale; a missing one is `fill`."""

    name: Name
    fill: Finite
    centre: Finite
    scale: Scale

    width = 1

    @classmethod
    def of(cls, name: str, values: Numbers) -> "Numeric":
        """What the training part's values say; at least one of them is there."""
        known = values[~np.isnan(values)]
        with np.errstate(over="ignore", invalid="ignore"):
            fill = float(np.median(known))
            filled = np.where(np.isnan(values), fill, values)
            centre, scale = float(filled.mean()), float(filled.std())
        if not np.isfinite([fill, centre, scale]).all():
            raise DataError(
                f"column {shown(name)}: values up to {abs(known).max():.3g} are too large; leave it out or scale it"
            )
        return cls(name, fill, centre, scale if scale > 1e-12 * abs(centre) else max(abs(centre), 1.0))

    def encode(self, cells: Any, decimal: str, noticed: Noticed) -> NDArray[np.float64]:
        values = cells
        if not isinstance(cells, np.ndarray):
            read = numbers(cells, decimal)
            values = read.values
            if read.odd:
                noticed.count(noticed.odd, self.name, read.odd)
        gone = ~np.isfinite(values)
        if gone.any():
            noticed.missing[self.name] = noticed.missing.get(self.name, 0) + int(gone.sum())
            values = np.where(gone, self.fill, values)
        with np.errstate(over="ignore"):  # told by TableInputs.filled
            standardised: NDArray[np.float64] = (values - self.centre) / self.scale
        return standardised


class Categorical(msgspec.Struct, frozen=True, tag="categorical", tag_field="kind", forbid_unknown_fields=True):
    """An input of 0 or 1 for every category, for the rare ones together, and for a missing cell if there were any."""

    name: Name
    values: list[str]
    other: bool = False
    missing: bool = False

    @property
    def width(self) -> int:
        return len(self.values) + self.other + self.missing

    @property
    def labels(self) -> list[str]:
        return [*self.values, *["(other)"] * self.other, *["(missing)"] * self.missing]

    def places(self, cells: Sequence[str], noticed: Noticed) -> NDArray[np.int64]:
        """Which of its inputs is 1 for each cell; −1 for none."""
        known = {value: i for i, value in enumerate(self.values)}
        spelt = {as_number(value): i for i, value in enumerate(self.values)}  # 1, 1.0 and 01 are one
        other = len(self.values) if self.other else -1
        missing = len(self.values) + self.other if self.missing else -1
        counts: dict[str, int] = {}
        for cell in cells:
            counts[cell] = counts.get(cell, 0) + 1
        places: dict[str, int] = {}
        unknown: dict[str, int] = {}
        gone = 0
        for cell, n in counts.items():
            word = cell.strip()
            if word in known:
                places[cell] = known[word]
            elif word.lower() in MISSING:
                places[cell] = missing
                gone += n
            elif (value := as_number(word)) is not None and value in spelt:
                places[cell] = spelt[value]
            else:
                places[cell] = other
                if not self.other:
                    unknown[word] = unknown.get(word, 0) + n
        if unknown:
            noticed.count(noticed.unknown, self.name, unknown)
        if gone:
            noticed.missing[self.name] = noticed.missing.get(self.name, 0) + gone
        return np.fromiter(map(places.__getitem__, cells), np.int64, len(cells))


Column = Numeric | Categorical


class TargetColumns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is predicted: a class, yes or no for each of several columns, or numbers v = centre + scale · z."""

    names: list[Name]
    task: Task
    classes: list[Label | Finite | Name] = []  # of labels two for each column, no and yes
    centre: list[Finite] = []
    scale: list[Scale] = []

    @property
    def outputs(self) -> int:
        return len(self.classes) if self.task == "classification" else len(self.names)


class TableInputs(msgspec.Struct, frozen=True, tag="table", forbid_unknown_fields=True):
    """Rows of named columns."""

    columns: list[Column]
    target: TargetColumns
    left_out: dict[str, str] = {}  # why
    decimal: str = "."

    @property
    def inputs(self) -> int:
        return sum(column.width for column in self.columns)

    @property
    def names(self) -> list[str]:
        """The columns that are needed."""
        return [column.name for column in self.columns]

    @property
    def spans(self) -> dict[str, slice]:
        """The inputs that each column has."""
        found, start = {}, 0
        for column in self.columns:
            found[column.name] = slice(start, start + column.width)
            start += column.width
        return found

    @property
    def input_names(self) -> list[str]:
        found = []
        for column in self.columns:
            found += [column.name] if isinstance(column, Numeric) else [f"{column.name}={x}" for x in column.labels]
        return found

    def encode(self, cells: Mapping[str, Any], noticed: Noticed | None = None) -> NDArray[np.float32]:
        """x (N, inputs) of the columns by their names."""
        noticed = noticed or Noticed()
        coded = [
            column.encode(cells[column.name], self.decimal, noticed)
            if isinstance(column, Numeric)
            else column.places(_words(cells[column.name]), noticed)
            for column in self.columns
        ]
        return self.filled(coded)

    def filled(self, coded: Sequence[Any]) -> NDArray[np.float32]:
        """x from each column's numbers, or places of ones."""
        N = len(coded[0]) if coded else 0
        x = np.zeros((N, self.inputs), np.float32)
        spans = list(self.spans.values())
        for start in range(0, N, ROWS):
            rows = slice(start, start + ROWS)
            block = x[rows]
            for column, span, values in zip(self.columns, spans, coded, strict=True):
                if isinstance(column, Numeric):
                    with np.errstate(over="ignore"):
                        block[:, span.start] = values[rows]
                else:
                    places = values[rows]
                    known = np.flatnonzero(places >= 0)
                    block[known, span.start + places[known]] = 1
        if not np.isfinite(x).all():
            row, place = np.argwhere(~np.isfinite(x))[0]
            raise DataError(
                f"{shown(self.input_names[place])}, row {row + 1:,}: too large for float32 beside the training data"
            )
        return x


def _words(cells: Any) -> Sequence[str]:
    """Cells of a column of categories as text, numbers as a person writes them."""
    if isinstance(cells, np.ndarray):
        return [as_word(value) for value in cells.tolist()]
    words: Sequence[str] = cells
    return words


def as_number(word: str) -> float | None:
    """What a name that is a number says, however it is spelt."""
    return float(word) if PLAIN.fullmatch(word) else None


def as_word(value: Any) -> str:
    """
    >>> as_word(3.0), as_word(2.5), as_word(float("nan")), as_word(True), as_word(None)
    ('3', '2.5', '', 'True', '')
    """
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).strip()


class VectorInputs(msgspec.Struct, frozen=True, tag="vectors", forbid_unknown_fields=True):
    """Numbers in a row, in their order: as they are, bytes of pixels, or (v − centre) / half."""

    inputs: Annotated[int, msgspec.Meta(ge=1, le=MAX_INPUTS)]
    pixels: bool = False
    centre: list[Finite] = []
    half: list[Scale] = []
    image: tuple[int, int] | None = None
    classes: list[Label] = []

    @classmethod
    def of(cls, x: Any, image: tuple[int, int] | None = None) -> "VectorInputs":
        """What x (N, n) needs, as it is in the file."""
        if x.dtype == np.uint8:
            return cls(x.shape[1], pixels=True, image=image)
        scaling = Scaling.of(x)
        if scaling is None:
            return cls(x.shape[1], image=image)
        return cls(x.shape[1], False, scaling.centre.tolist(), scaling.half.tolist(), image)

    def __call__(self, x: Any) -> NDArray[np.float32]:
        """The network's inputs for x (N, n)."""
        if self.pixels:
            scaled: NDArray[np.float32] = scaled_pixels(x)
            return scaled
        if not self.centre:
            return np.asarray(x, np.float32)
        return np.asarray(Scaling(np.array(self.centre), np.array(self.half))(x), np.float32)


class TextInputs(msgspec.Struct, frozen=True, tag="text", forbid_unknown_fields=True):
    """A text as tokens, words or characters by their place in the vocabulary, or bytes as they are."""

    tokens: Literal["words", "characters", "bytes"]
    vocabulary: list[str] = []  # of bytes there is none

    @property
    def size(self) -> int:
        return 256 if self.tokens == "bytes" else len(self.vocabulary)

    @property
    def of_loss(self) -> dict[str, Any]:
        """What the loss has to know of them: of characters and bytes people compare the bits."""
        return {} if self.tokens == "words" else {"bits": True}

    @property
    def start(self) -> int:
        """The token that stands before a text's first."""
        if self.tokens == "bytes":
            return 10
        return self._numbers[EOS if self.tokens == "words" else "\n"]

    @property
    def _numbers(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.vocabulary)}

    def encode(self, text: str | bytes, noticed: Noticed | None = None) -> Tokens:
        """The tokens of a text (N,), without the one before it; unknown ones are <unk>, and noticed."""
        if self.tokens == "bytes":
            return np.frombuffer(text if isinstance(text, bytes) else text.encode(), np.uint8).astype(np.int64)
        numbers, unknown = self._numbers, dict[str, int]()
        other = numbers[UNK if self.tokens == "words" else UNKNOWN_CHARACTER]
        text = _in_utf8(text)
        if self.tokens == "characters":
            points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
            table = np.full(MAX_POINT + 1, -1, np.int64)
            table[list(map(ord, numbers))] = list(numbers.values())
            found: Tokens = table[points]
            odd, counts = np.unique(points[found < 0], return_counts=True)
            unknown = dict(zip(map(chr, odd.tolist()), counts.tolist(), strict=True))
            found[found < 0] = other
        else:

            def known(word: str) -> int:
                number = numbers.get(word)
                if number is None:
                    if word in unknown or len(unknown) < 1000:
                        unknown[word] = unknown.get(word, 0) + 1
                    return other
                return number

            found = np.fromiter(map(known, words_of(text)), np.int64)
        if noticed and unknown:
            noticed.count(noticed.unread, self.tokens, unknown)
        return found

    def begin(self, text: str | bytes, noticed: Noticed | None = None) -> Tokens:
        """The tokens of a text that is to go on: of words the last line has no <eos> yet."""
        if self.tokens != "words":
            return self.encode(text, noticed)
        text = _in_utf8(text)
        tokens = self.encode(text, noticed)
        return tokens[:-1] if text.rpartition("\n")[2].strip() else tokens

    def decode(self, tokens: Sequence[int]) -> str:
        """The text that tokens stand for."""
        if self.tokens == "bytes":
            return bytes(map(int, tokens)).decode("utf-8", "replace")
        if self.tokens == "characters":
            return "".join(self.vocabulary[token] for token in tokens)
        words = ["\n" if (word := self.vocabulary[token]) == EOS else word for token in tokens]
        return " ".join(words).replace(" \n", "\n").replace("\n ", "\n")


def _in_utf8(text: str | bytes) -> str:
    try:
        return text if isinstance(text, str) else text.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"expected text in UTF-8, got the byte 0x{error.object[error.start]:02x}") from None


def words_of(text: str) -> Iterator[str]:
    """What white space separates, and an <eos> after every line that is not blank."""
    line = False
    for match in WORD.finditer(text):
        if (word := match[0]) != "\n":
            line = True
            yield word
        elif line:
            line = False
            yield EOS
    if line:
        yield EOS


Prepared = TableInputs | VectorInputs | TextInputs
