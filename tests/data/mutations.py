"""Damaged files of every kind that holds data: good ones, mutated by a generator."""

import ast
import csv
import gzip
import io
import re
import zipfile
from contextlib import suppress
from importlib.util import find_spec
from math import prod

import numpy as np

from tests.data.formats import archive, array_header, idx, npy

RNG = np.random.default_rng(0)
N = 24
LABELS = np.arange(N) % 3
HUGE = [0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1]


# Mutations of bytes


def one_of(options, rng):
    return options[int(rng.random() * len(options))]  # rng.choice takes ten times as long


def mutated(content, rng, words=(b"\0", b"\xff")):
    """The content with one to three mishaps; half of them near an end, where formats say what they are."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        size = len(content) + 1
        first, last = (int(rng.random() * min(size, 64)) for _ in range(2))
        start = one_of([int(rng.random() * size), int(rng.random() * size), first, size - 1 - last], rng)
        length = int(2 ** rng.uniform(0, 8))
        end = min(start + length, len(content))
        match rng.integers(9):
            case 0 if start < len(content):
                content[start] ^= 1 << int(rng.integers(8))
            case 1:
                content[start:end] = rng.bytes(end - start)
            case 2:
                del content[start:end]
            case 3:
                content[start:start] = content[start:end] * int(rng.integers(1, 4))
            case 4:
                content[start:start] = rng.bytes(min(length, 16))
            case 5 | 6:
                word = one_of(words, rng)
                content[start : start + len(word) * int(rng.integers(2))] = word
            case 7:
                width = one_of([2, 4, 8], rng)
                number = (one_of(HUGE, rng) - int(rng.integers(2))) % 2 ** (8 * width)
                content[start : start + width] = number.to_bytes(width, one_of(["big", "little"], rng))
            case 8 if rng.random() < 0.5:
                del content[start:]
    return bytes(content)


# IDX


NAMES = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]
IMAGES = RNG.integers(0, 256, (N, 4, 5))


def idx_arrays(train=N, test=7, shape=(4, 5), test_shape=(4, 5)):
    rows = IMAGES.reshape(N, 20)
    images = (rows[:n, : prod(s)].reshape(n, *s) for n, s in ((train, shape), (test, test_shape)))
    arrays = next(images), LABELS[:train], next(images), LABELS[:test]
    return dict(zip(NAMES, map(idx, arrays), strict=True))


IDX = idx_arrays()


def idx_files(rng):
    """One or two of the four mutated, or good files that do not fit together."""
    if rng.random() < 0.15:
        shapes = [(4, 5), (5, 4), (20,), (20, 1), (2, 2, 5)]
        sizes = one_of([0, 1, 5, 6, 7, N], rng), one_of([0, 1, 7], rng)
        return idx_arrays(*sizes, one_of(shapes, rng), one_of([*shapes, (4, 4)], rng))
    bad = [one_of(NAMES, rng) for _ in range(rng.integers(1, 3))]
    if rng.random() < 0.15:
        array = one_of([IMAGES[:7], LABELS.reshape(N, 1), IMAGES.reshape(N, -1), IMAGES.ravel(), LABELS[:12]], rng)
        return IDX | {bad[0]: idx(array)}
    return {name: mutated(content, rng) if name in bad else content for name, content in IDX.items()}


def zipped(content, rng):
    """Gzipped, with flags in its header that may promise a name and more."""
    good = bytearray(gzip.compress(content, mtime=0))
    good[3] |= one_of([0, 0, 0, 2, 4, 8, 16], rng)
    return bytes(good)


def idx_gz_files(rng):
    if rng.random() < 0.4:
        return {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in idx_files(rng).items()}
    bad = one_of(NAMES, rng)
    whole = {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in IDX.items()}
    return whole | {f"{bad}.gz": mutated(zipped(IDX[bad], rng), rng)}


# NPZ


X = RNG.uniform(-1, 1, (N, 3))
KINDS = [
    X,
    9 * X,
    X.astype("f4"),
    (9 * X).astype("f2"),
    X.astype(np.longdouble),
    X > 0,
    X[:, :2],
    (100 * X).astype("i1"),
    RNG.integers(0, 256, (N, 2, 3), dtype="u1"),
    np.asfortranarray(X),
]
KINDS = [npy(x) for x in KINDS]
LABEL_KINDS = [npy(LABELS.astype(dtype)) for dtype in ("i8", "u1", "f4", "f8", np.longdouble)]
NPZ_WORDS = [b"'descr'", b"'<f8'", b"True", b"(", b",", b"-", b"L", b"PK\x01\x02", b"PK\x05\x06", b"\x93NUMPY", b"{}"]
# fmt: off
SHAPES = [
    "()", "(24,)", "(24,3)", "(3,24)", "(24,0)", "(0,3)", "(-24,-3)", "(-1,3)", "(True,72)", "(24.0,3)", "(10**9,4)",
    "(1000000000,4)", "(4611686018427387904,)", "(18446744073709551617,3)", "(24,3,1)", "24", "None", "[24,3]", "2L",
]
DTYPES = [
    "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<f16", "|b1", "|i1", "|u1", "<u2", "<i4", ">i8", "<u8", "<c8", "<c16",
    "|S8", "<U2", "|V8", "|V0", "|S0", "|O", "<M8[s]", "<m8", "f8,f8", "<f9", "(3)f8",
]
CELLS = [
    "nan", "inf", "-inf", "1e999", "-1e308", "1e308", "1e-400", "0x10", "1_0", "+-1", "-0", "1e", ".", "1.5", "3", "9",
    "2147483648", "9223372036854775808", "1e19", "", " ", "\t", "\r", "\n", "\r\n", "\0", '"', "'", "#", ";", ",", ",,",
    "\ufeff", "\x85", "\u2028", "\x1c", "\x0b", "٣", "１", "−1", "True", "None", "1j", "1d5", "nan(1)", "infinity",
    "9" * 400, "0" * 5000, "e" * 5000,
]
# fmt: on


def strange_array(shape, dtype, rng):
    """An .npy file with these in its header, and as many bytes as they need, if that is not too much."""
    size, labels = 576, LABELS.tobytes()
    with suppress(Exception):  # of headers that mean nothing
        labels = LABELS.astype(dtype).tobytes()
        size = int(prod(ast.literal_eval(shape)) * np.dtype(dtype).itemsize)
    return array_header(shape, f"'{dtype}'") + values(labels, size if 0 <= size < 10**5 else 576, rng)


def values(labels, size, rng):
    """So many bytes: zeros, labels, anything, or numbers that are infinite, NaN or next to it."""
    special = ["0000807f", "0100807f", "000000000000f07f", "010000000000f07f", "007c", "0000803f"]
    pattern = one_of([b"\0", labels or b"\0", rng.bytes(size + 1), bytes.fromhex(one_of(special, rng))], rng)
    return (pattern * (1 + size // len(pattern)))[:size]


def npz_file(rng):
    members = {"x_train": one_of(KINDS, rng), "y_train": one_of(LABEL_KINDS, rng)}
    for part in ("valid", "test"):
        if rng.random() < 0.3:
            x = members["x_train"] if rng.random() < 0.8 else one_of(KINDS, rng)
            members |= {f"x_{part}": x, f"y_{part}": members["y_train"]}
    method = one_of([0, 0, 0, 0, 8, 8, 8, 8, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], rng)
    match rng.integers(4):
        case 0:
            return mutated(archive(members, method), rng, NPZ_WORDS)
        case 1:  # a single byte of a zip header: methods, flags, sizes
            content = bytearray(archive(members, method))
            place = one_of([m.start() for m in re.finditer(rb"PK[\x01\x03\x05]", content)], rng)
            content[place + int(rng.integers(4, 46)) % (len(content) - place)] = int(rng.integers(256))
            return bytes(content)
    for name in {one_of(list(members), rng): None for _ in range(rng.integers(1, 3))}:
        if rng.random() < 0.6:
            usual = "(24,3)" if name[0] == "x" else "(24,)"
            shape = usual if rng.random() < 0.7 else one_of(SHAPES, rng)
            members[name] = strange_array(shape, one_of(DTYPES, rng), rng)
        else:
            members[name] = mutated(members[name], rng, NPZ_WORDS)
    return archive(members, method)


# Tables and text

DATES = [f"2020-0{i % 9 + 1}-{i + 1:02}" for i in range(N)]
TABLE = {
    "": range(N),
    "a": X[:, 0].tolist(),
    "b, in mm": (9 * X[:, 1]).round(3).tolist(),
    "colour": ["red", "light blue", 'say "x"', ""] * 6,
    "day": DATES,
    "c": ["" if i % 7 == 3 else i * 5 % 11 for i in range(N)],
    "note": [f"what there is to say, of {i}" for i in range(N)],
    "label": LABELS.tolist(),
}
TARGETS = {
    "label": LABELS.tolist(),
    "kind": ["setosa", "virginica"] * (N // 2),
    "price": (1e4 * X[:, 2]).round(2).tolist(),
    "paid": ["TRUE", "FALSE", "FALSE"] * (N // 3),
}
TABLE_WORDS = [cell.encode() for cell in CELLS] + [
    b'"',
    b'""',
    b'","',
    b";",
    b"|",
    b"# ",
    b"a,",
    b"1,5",
    b"\xe4",
    b"\xff\xfe",
]


def columns_of_table(rng):
    """Some columns, two at least, and a target."""
    chosen = [name for name in TABLE if name != "label" and rng.random() < 0.5] or ["a"]
    target = one_of(list(TARGETS), rng)
    return {name: list(TABLE[name]) for name in chosen} | {target: TARGETS[target]}


def as_text(columns, rng):
    """As one of many programs writes it."""
    file = io.StringIO()
    delimiter = one_of([",", ",", ";", "\t", "|"], rng)
    quoting = one_of([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC], rng)
    writer = csv.writer(
        file, delimiter=delimiter, quoting=quoting, lineterminator=one_of(["\n", "\n", "\r\n", "\r"], rng)
    )
    decimal = one_of([".", ".", ","], rng)
    if rng.random() < 0.8:
        writer.writerow(list(columns)[int(rng.random() < 0.1) :])  # as R does without a name for those of the rows
    for row in zip(*columns.values(), strict=True):
        writer.writerow([repr(cell).replace(".", decimal) if isinstance(cell, float) else cell for cell in row])
    above = one_of(["", "", "", "# by me\n", "Measured in May\n\n"], rng)
    below = one_of(["", "", "", "\nSource: me\n", "\n\n"], rng)
    return above + file.getvalue() + below


def csv_file(rng):
    text = as_text(columns_of_table(rng), rng)
    encoding = one_of(["utf-8", "utf-8", "utf-8-sig", "cp1252", "utf-16"], rng)
    if rng.random() < 0.5:
        return mutated(text.encode(encoding), rng, TABLE_WORDS)
    cells = re.split(r"([,;\t|\r\n])", text)
    for _ in range(rng.integers(1, 5)):
        cells[rng.integers(len(cells))] = one_of(CELLS, rng)
    return "".join(cells).encode("utf-8" if encoding == "cp1252" else encoding)


def csv_gz_file(rng):
    if rng.random() < 0.3:
        return gzip.compress(csv_file(rng), mtime=0)
    return mutated(zipped(as_text(columns_of_table(rng), rng).encode(), rng), rng)


def parquet_file(rng):
    """Columns of many types, or a damaged file of them."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    columns = {}
    for name, cells in columns_of_table(rng).items():
        cells = [None if cell == "" else cell for cell in cells]
        array = pa.array(cells)
        kinds = [pa.float32(), pa.float64(), pa.int64(), pa.string(), pa.large_string(), pa.binary(), pa.date32()]
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            array = array.cast(one_of([array.type, *kinds], rng))
        columns[name] = array.dictionary_encode() if rng.random() < 0.2 else array
    if rng.random() < 0.3:
        name = one_of(list(columns), rng)
        strange = [
            [np.nan],
            [1e300],
            [None],
            [2**63 - 1],
            [[1, 2]],
            [{"x": 1}],
            ["\0"],
            ["x" * 20_000],
            [b"\xff"],
            [True],
        ]
        columns[name] = pa.array(one_of(strange, rng) * N)
    file = io.BytesIO()
    packing = one_of(["NONE", "SNAPPY", "GZIP", "ZSTD"], rng)
    write_table(pa.table(columns), file, compression=packing, row_group_size=one_of([5, 100], rng))
    return file.getvalue() if rng.random() < 0.3 else mutated(file.getvalue(), rng, [b"PAR1"])


TEXT = "the cat sat\nthe dog <unk> sat on the cat\n\n  a  bird – ö \n".encode()
TEXT_WORDS = ["<eos>", "<unk>", "\n", "\r", "\0", "\ufeff", "\u2028", " ", "\x1c", "ö", "cat " * 50, "\x1b[31m"]


def text_files(rng):
    bad, suffix = one_of(["train", "valid", "test"], rng), one_of(["", ".gz"], rng)
    files = {f"{part}.txt{suffix}": TEXT for part in ("train", "valid", "test")}
    spoil = [word.encode() for word in TEXT_WORDS]
    if not suffix:
        return files | {f"{bad}.txt": mutated(TEXT, rng, spoil)}
    files = {name: gzip.compress(content, mtime=0) for name, content in files.items()}
    if rng.random() < 0.5:
        return files | {f"{bad}.txt.gz": gzip.compress(mutated(TEXT, rng, spoil), mtime=0)}
    return files | {f"{bad}.txt.gz": mutated(zipped(TEXT, rng), rng, spoil)}


KINDS_OF_FILES = {
    "idx": ("idx", idx_files),
    "idx.gz": ("idx", idx_gz_files),
    "npz": ("mine.npz", npz_file),
    "csv": ("mine.csv", csv_file),
    "csv.gz": ("mine.csv.gz", csv_gz_file),
    **({"parquet": ("mine.parquet", parquet_file)} if find_spec("pyarrow") else {}),
    "text": ("text", text_files),
}
