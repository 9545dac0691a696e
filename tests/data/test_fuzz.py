"""Thousands of damaged files: each is read to valid data or refused by name, in one line and little memory.

Every file is a good one, mutated by a generator that its number seeds; a failure names the number. MINISIG_FUZZ=20 in
the environment makes twenty times as many.
"""

import ast
import gzip
import io
import os
import re
import struct
import tracemalloc
import zipfile
import zlib
from collections import Counter
from contextlib import suppress
from math import prod

import numpy as np
import pytest

from minisig.data import DataConfig, Split, load
from minisig.errors import DataError

FILES = 2000 * int(os.environ.get("MINISIG_FUZZ", "1"))  # of every kind
MOST_MEMORY = 16 * 2**20  # while one is read; none of the good files has more than a few thousand bytes

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


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


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


def npy(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def archive(members, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as zipped:
        for name, content in members.items():
            zipped.writestr(f"{name}.npy", content)
    return file.getvalue()


def array_header(shape, descr="'<f8'", length=None, version=1):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(90).encode()
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text


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


# CSV and text

CSV = "a,b,c,label\n" + "".join(f"{a},{b},{c},{y}\n" for (a, b, c), y in zip(X.tolist(), LABELS.tolist(), strict=True))


def csv_file(rng):
    text = CSV if rng.random() < 0.5 else CSV[12:]
    text = text.replace("\n", one_of(["\n", "\n", "\r\n", "\r"], rng))
    if rng.random() < 0.5:
        return mutated(text.encode(), rng, [cell.encode() for cell in CELLS])
    cells = re.split(r"([,\r\n])", text)
    for _ in range(rng.integers(1, 5)):
        cells[rng.integers(len(cells))] = one_of(CELLS, rng)
    return "".join(cells).encode()


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


# What must hold


def check_vectors(data):
    width = data.train.x.shape[1]
    for split in (data.train, data.valid, data.test):
        assert isinstance(split, Split)
        assert (split.x.dtype, split.y.dtype) == (np.float32, np.int64)
        assert split.y.ndim == 1
        assert split.x.shape == (len(split.y), width)
        assert split.x.size > 0
        assert np.isfinite(split.x).all()
        assert 0 <= split.y.min() <= split.y.max() < data.classes
    assert data.classes <= 256
    assert data.train.y.max() < data.classes
    if data.image is not None:
        height, columns = data.image
        assert height * columns == width


def check_text(data):
    for text in (data.train, data.valid, data.test):
        assert text.tokens.dtype == np.int64
        assert text.tokens.ndim == 1
        assert len(text.tokens) > 2
        assert 0 <= text.tokens.min() <= text.tokens.max() < data.classes
    assert data.classes > 2
    assert all(np.isfinite(value) and value >= 1 for value in data.baselines.values())


def fate(path):
    """What became of these data, "read" or "refused" or else what is wrong with that, and the memory it took."""
    source, check = ("ptb", check_text) if path.name == "text" else ("digits", check_vectors)
    tracemalloc.start()
    try:
        data = load(DataConfig(source=source, path=str(path)))
        outcome = "read"
    except DataError as error:
        outcome = "refused"
        message = str(error)
        if str(path) not in message or not message.isprintable() or len(message) > 700:
            outcome = f"unkind: {message!r}"
    except Exception as error:  # warnings are errors here
        outcome = f"{type(error).__name__}: {error}"
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if outcome == "read":
        try:
            check(data)
        except AssertionError as error:
            outcome = f"not valid: {error}"
    return (outcome if memory < MOST_MEMORY else f"{memory / 2**20:.0f} MB while it was {outcome}"), memory


KINDS_OF_FILES = {
    "idx": ("idx", idx_files),
    "idx.gz": ("idx", idx_gz_files),
    "npz": ("mine.npz", npz_file),
    "csv": ("mine.csv", csv_file),
    "text": ("text", text_files),
}


def write(path, content, before=None):
    """A file, or a folder with these files and no others, of which those from before are there already."""
    if isinstance(content, bytes):
        with path.open("r+b" if path.exists() else "wb") as file:  # a new file, or an emptied one, takes a millisecond
            file.write(content)
            file.truncate()
        return
    path.mkdir(exist_ok=True)
    before = before or {}
    for name in before.keys() | content.keys():
        if name not in content:
            (path / name).unlink()
        elif before.get(name) != content[name]:
            write(path / name, content[name])


@pytest.mark.parametrize("kind", KINDS_OF_FILES)
def test_a_damaged_file_is_read_to_valid_data_or_refused_by_name_and_nothing_else(tmp_path, kind):
    name, make = KINDS_OF_FILES[kind]
    fates, escaped, before = Counter(), {}, {}
    for number in range(FILES):
        content = make(np.random.default_rng([number, zlib.crc32(kind.encode())]))
        write(tmp_path / name, content, before)
        before = content
        outcome, _ = fate(tmp_path / name)
        fates[outcome] += 1
        if outcome not in ("read", "refused"):
            escaped.setdefault(outcome, number)
    assert not escaped
    # Else the mutations are too mild, or too wild, to tell anything.
    assert fates["read"] > FILES / 50
    assert fates["refused"] > FILES / 5


@pytest.mark.parametrize("name", ["x_train", "y_train", "x_test", "y_test"])
def test_an_array_of_any_type_and_shape_is_read_or_refused(tmp_path, name):
    rng = np.random.default_rng(0)
    members = {"x_train": npy(X), "y_train": npy(LABELS), "x_test": npy(X), "y_test": npy(LABELS)}
    fates = Counter()
    for shape in SHAPES:
        for dtype in DTYPES:
            write(tmp_path / "mine.npz", archive(members | {name: strange_array(shape, dtype, rng)}))
            fates[fate(tmp_path / "mine.npz")[0]] += 1
    assert fates.keys() == {"read", "refused"}


# Headers that promise too much. Every one of these files is small.


def idx_header(*lengths):
    return struct.pack(f">HBB{len(lengths)}I", 0, 8, len(lengths), *lengths) + bytes(80)


def big_member(size, method):
    """An archive in which the directory and the array's header agree that a small member has so many bytes."""
    start = array_header(f"({(size - 100) // 8}, 1)")
    assert len(start) == 100
    assert (size - 100) % 8 == 0
    member = start + bytes(300)
    return with_x(member, method).replace(struct.pack("<I", len(member)), struct.pack("<I", size))


def big_dictionary(size):
    """LZMA takes memory for its whole dictionary at once, whose size the file says."""
    content = bytearray(archive({"x_train": npy(X), "y_train": npy(LABELS)}, zipfile.ZIP_LZMA))
    start = content.index(b"\x09\x04\x05\x00\x5d") + 5
    content[start : start + 4] = struct.pack("<I", size)
    return bytes(content)


def with_x(member, method=zipfile.ZIP_STORED):
    return archive({"x_train": member, "y_train": npy(LABELS)}, method)


def directory(place, number):
    """A good archive with one number of its last record, where the directory is or how long, replaced."""
    content = bytearray(with_x(npy(X)))
    struct.pack_into("<I", content, content.rindex(b"PK\x05\x06") + place, number)
    return bytes(content)


LYING_IDX = {
    "2^31−1 bytes": idx_header(2**31 - 1),
    "2^31 bytes": idx_header(2**31),
    "2^32−1 bytes": idx_header(2**32 - 1),
    "images of 2^31−1": idx_header(1, 2**31 - 1),
    "2^31 images": idx_header(2**31, 1, 1),
    "2^128": idx_header(*[2**32 - 1] * 4),
    "0 × 2^32": idx_header(0, 2**32 - 1, 2**32 - 1),
}
LYING_NPZ = {
    **{f"shape {shape}": with_x(array_header(shape) + bytes(576)) for shape in SHAPES if "(24,3" not in shape},
    "items of 8 GB": with_x(array_header("(1,)", "[('a', '<f8', (1000000000,))]") + bytes(80)),
    "bytes of 2 GB": with_x(array_header("(24,)", "'|S2147483647'") + bytes(80)),
    "items of nothing": with_x(array_header("(1000000000000,)", "'|V0'")),
    "header of 4 GB": with_x(array_header("(24, 3)", length=2**32 - 1, version=2) + bytes(576)),
    "header of 64 MB of blanks": with_x(
        array_header("(24, 3)", length=2**26, version=2) + b" " * 2**26, zipfile.ZIP_DEFLATED
    ),
    "member of 2 GB": big_member(2**31 - 4, zipfile.ZIP_STORED),
    "member of 4 GB": big_member(2**32 - 4, zipfile.ZIP_STORED),
    "deflated member of 2 GB": big_member(2**31 - 4, zipfile.ZIP_DEFLATED),
    "dictionary of 4 GB": big_dictionary(2**32 - 1),
    "dictionary of 256 MB": big_dictionary(2**28),
    "directory of 4 GB": directory(12, 2**32 - 2),
    "directory at 4 GB": directory(16, 2**32 - 2),
}


@pytest.mark.parametrize("content", LYING_NPZ.values(), ids=LYING_NPZ)
def test_an_npz_that_promises_more_than_it_has_is_refused_before_memory_is_taken(tmp_path, content):
    assert len(content) < 10**5
    write(tmp_path / "mine.npz", content)
    assert fate(tmp_path / "mine.npz")[0] == "refused"


@pytest.mark.parametrize("name", IDX)
@pytest.mark.parametrize("content", LYING_IDX.values(), ids=LYING_IDX)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_an_idx_file_that_promises_more_than_it_has_is_refused_before_memory_is_taken(tmp_path, name, content, suffix):
    files = {f"{own}{suffix}": content if own == name else good for own, good in IDX.items()}
    if suffix:
        files = {own: gzip.compress(content) for own, content in files.items()}
    write(tmp_path / "idx", files)
    assert fate(tmp_path / "idx")[0] == "refused"


def test_no_more_of_a_gzipped_file_is_unpacked_than_its_header_promises(tmp_path):
    endless = gzip.compress(IDX["train-labels-idx1-ubyte"] + bytes(10**8))
    files = IDX | {"train-labels-idx1-ubyte.gz": endless}
    del files["train-labels-idx1-ubyte"]
    write(tmp_path / "idx", files)
    assert fate(tmp_path / "idx")[0] == "refused"


# Numbers that processors raise flags for


STRANGE = {
    "signalling NaN": ("<f8", "010000000000f07f"),
    "signalling NaN of 4 bytes": ("<f4", "0100807f"),
    "signalling NaN of 2 bytes": ("<f2", "017c"),
    "subnormal": ("<f8", "0100000000000000"),
    "largest": ("<f8", "ffffffffffffef7f"),
    "beyond float64": (np.longdouble, None),
}


@pytest.mark.parametrize("name", ["x_train", "y_train", "x_test", "y_test"])
@pytest.mark.parametrize(("dtype", "number"), STRANGE.values(), ids=STRANGE)
def test_a_strange_number_is_read_or_refused_without_a_warning(tmp_path, name, dtype, number):
    arrays = {"x_train": X, "y_train": LABELS, "x_test": X, "y_test": LABELS}
    for rows in (slice(None), slice(1), slice(5, 6)):
        values = arrays[name].astype(dtype)
        values[rows] = np.finfo(dtype).max if number is None else np.frombuffer(bytes.fromhex(number), dtype)
        np.savez(tmp_path / "mine.npz", **arrays | {name: values})
        assert fate(tmp_path / "mine.npz")[0] in ("read", "refused")
