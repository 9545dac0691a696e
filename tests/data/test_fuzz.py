"""Thousands of damaged files: each is read to valid data or refused by name, in one line and little memory.

Every file is a good one, mutated by a generator that its number seeds; a failure names the number. MINISIG_FUZZ=20 in
the environment makes twenty times as many.
"""

import gzip
import io
import os
import re
import struct
import tracemalloc
import zipfile
import zlib
from collections import Counter

import numpy as np
import pytest

from minisig.data import DataConfig, Split, load
from minisig.errors import DataError

FILES = 1500 * int(os.environ.get("MINISIG_FUZZ", "1"))  # of every kind
MOST_MEMORY = 16 * 2**20  # while one is read; none of the good files has more than a few thousand bytes

RNG = np.random.default_rng(0)
N = 24
LABELS = np.arange(N) % 3
HUGE = [0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1]


# Mutations of bytes


def mutated(content, rng, words=(b"\0", b"\xff")):
    """The content with one to three mishaps; half of them near its beginning or end, where formats say what they are."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        size = len(content) + 1
        start = int(
            rng.choice([rng.integers(size), rng.integers(min(size, 64)), size - 1 - rng.integers(min(size, 64))])
        )
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
                word = words[rng.integers(len(words))]
                content[start : start + len(word) * int(rng.integers(2))] = word
            case 7:
                number = HUGE[rng.integers(len(HUGE))] - int(rng.integers(2))
                width = int(rng.choice([2, 4, 8]))
                packed = (number % 2 ** (8 * width)).to_bytes(width, rng.choice(["big", "little"]))
                content[start : start + width] = packed
            case 8 if rng.random() < 0.5:
                del content[start:]
    return bytes(content)


# IDX


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


IDX = {
    "train-images-idx3-ubyte": idx(RNG.integers(0, 256, (N, 4, 5))),
    "train-labels-idx1-ubyte": idx(LABELS),
    "t10k-images-idx3-ubyte": idx(RNG.integers(0, 256, (7, 4, 5))),
    "t10k-labels-idx1-ubyte": idx(LABELS[:7]),
}


def idx_files(rng):
    """One or two of the four mutated."""
    bad = rng.choice(list(IDX), size=rng.integers(1, 3), replace=False)
    return {name: mutated(content, rng) if name in bad else content for name, content in IDX.items()}


def zipped(content, rng):
    """Gzipped before or after it is mutated; the header may have a name and more."""
    good = bytearray(gzip.compress(content, mtime=0))
    good[3] |= int(rng.choice([0, 0, 0, 2, 4, 8, 16]))
    return bytes(good)


def idx_gz_files(rng):
    if rng.random() < 0.4:
        return {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in idx_files(rng).items()}
    bad = rng.choice(list(IDX))
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


X = RNG.uniform(-1, 1, (N, 3))
KINDS = [
    X,
    9 * X,
    X.astype("f4"),
    (9 * X).astype("f2"),
    X.astype(np.longdouble),
    X > 0,
    (100 * X).astype("i1"),
    RNG.integers(0, 256, (N, 2, 3), dtype="u1"),
    np.asfortranarray(X),
]
LABEL_KINDS = [LABELS, LABELS.astype("u1"), LABELS.astype("f4"), LABELS.astype("f8"), LABELS.astype(np.longdouble)]
NPZ_WORDS = [b"'descr'", b"'<f8'", b"True", b"(", b",", b"-", b"L", b"PK\x01\x02", b"PK\x05\x06", b"\x93NUMPY", b"{}"]
SHAPES = (
    "() (24,) (24,3) (3,24) (24,0) (0,3) (-24,-3) (-1,3) (True,72) (24.0,3) (10**9,4) (1000000000,4) (2**62,) "
    "(4611686018427387904,) (4611686018427387904,4) (18446744073709551617,3) (24,3,1) 24 None [24,3] (24L,3)".split()
)
DTYPES = (
    "<f2 >f2 <f4 >f4 <f8 >f8 <f16 |b1 |i1 |u1 <u2 <i4 >i8 <u8 <c8 <c16 |S8 <U2 |V8 |V0 |S0 |O <M8[s] <m8 "
    "f8,f8 <f9 (3)f8".split()
)


def header(rng, content):
    """The array with another type or shape in its header, and often as many bytes as that needs."""
    text = content[10:128].decode("latin-1")
    if rng.random() < 0.7:
        text = re.sub(r"'descr': '[^']*'", f"'descr': '{rng.choice(DTYPES)}'", text)
    if rng.random() < 0.4:
        text = re.sub(r"'shape': \([^)]*\)", f"'shape': {rng.choice(SHAPES)}", text)
    body = content[128:]
    try:
        size = int(np.prod(eval(re.search(r"'shape': (.*?), }", text)[1]))) * np.dtype(text.split("'")[3]).itemsize
    except Exception:
        size = len(body)
    if rng.random() < 0.9 and 0 <= size < 10**5:
        body = values(rng, size)
    text = text.strip().ljust(117) + "\n"
    return content[:8] + struct.pack("<H", len(text)) + text.encode("latin-1") + body


def values(rng, size):
    """Bytes that are zeros, small numbers, anything, or now and then infinite, NaN or next to it."""
    match rng.integers(4):
        case 0:
            return bytes(size)
        case 1:
            return (LABELS.astype(rng.choice(["u1", "i8", "f8", "f4"])).tobytes() * (1 + size // N))[:size]
        case 2:
            return rng.bytes(size)
        case _:
            one = rng.choice(["0000807f", "0100807f", "000000000000f07f", "010000000000f07f", "007c", "0000803f"])
            return (bytes.fromhex(one) * (1 + size))[:size]


def npz_file(rng):
    members = {"x_train": npy(KINDS[rng.integers(len(KINDS))]), "y_train": npy(LABEL_KINDS[rng.integers(5)])}
    for part in ("valid", "test"):
        if rng.random() < 0.3:
            members |= {f"x_{part}": members["x_train"], f"y_{part}": members["y_train"]}
    method = int(rng.choice([0, 0, 8, 8, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    match rng.integers(4):
        case 0:
            return mutated(archive(members, method), rng, NPZ_WORDS)
        case 1:  # a single byte of a zip header: methods, flags, sizes
            content = bytearray(archive(members, method))
            place = int(rng.choice([m.start() for m in re.finditer(rb"PK[\x01\x03\x05]", content)]))
            content[place + int(rng.integers(4, 46)) % (len(content) - place)] = int(rng.integers(256))
            return bytes(content)
    for name in rng.choice(list(members), size=rng.integers(1, 3), replace=False):
        members[name] = header(rng, members[name]) if rng.random() < 0.6 else mutated(members[name], rng, NPZ_WORDS)
    return archive(members, method)


# CSV and text

CSV = "a,b,c,label\n" + "".join(f"{a},{b},{c},{y}\n" for (a, b, c), y in zip(X.tolist(), LABELS.tolist(), strict=True))
CELLS = [
    *"nan|inf|-inf|1e999|-1e308|1e308|1e-400|0x10|1_0|+-1|-0|1e|.|1.5|3|9|2147483648|9223372036854775808|1e19".split(
        "|"
    ),
    *(
        "",
        " ",
        "\t",
        "\r",
        "\n",
        "\r\n",
        "\0",
        '"',
        "'",
        "#",
        ";",
        ",",
        ",,",
        "\ufeff",
        "\x85",
        "\u2028",
        "\x1c",
        "\x0b",
    ),
    *("٣", "１", "−1", "True", "None", "1j", "1d5", "nan(1)", "infinity", "9" * 400, "0" * 5000, "e" * 5000),
]


def csv_file(rng):
    text = CSV if rng.random() < 0.5 else CSV[12:]
    text = text.replace("\n", rng.choice(["\n", "\n", "\r\n", "\r"]))
    if rng.random() < 0.5:
        return mutated(text.encode(), rng, [cell.encode() for cell in CELLS])
    cells = re.split(r"([,\r\n])", text)
    for _ in range(rng.integers(1, 5)):
        cells[rng.integers(len(cells))] = CELLS[rng.integers(len(CELLS))]
    return "".join(cells).encode()


TEXT = "the cat sat\nthe dog <unk> sat on the cat\n\n  a  bird – ö \n".encode()
TEXT_WORDS = ["<eos>", "<unk>", "\n", "\r", "\0", "\ufeff", "\u2028", " ", "\x1c", "ö", "cat " * 50, "\x1b[31m"]


def text_files(rng):
    bad = rng.choice(["train", "valid", "test"])
    suffix = rng.choice(["", ".gz"])
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
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
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
    memory = tracemalloc.get_traced_memory()[1] - before
    if outcome == "read":
        try:
            check(data)
        except AssertionError as error:
            outcome = f"not valid: {error}"
    return (outcome if memory < MOST_MEMORY else f"{memory / 2**20:.0f} MB while it was {outcome}"), memory


@pytest.fixture
def traced():
    tracemalloc.start()
    yield
    tracemalloc.stop()


KINDS_OF_FILES = {
    "idx": ("idx", idx_files),
    "idx.gz": ("idx", idx_gz_files),
    "npz": ("mine.npz", npz_file),
    "csv": ("mine.csv", csv_file),
    "text": ("text", text_files),
}


def write(path, content):
    """A file, or a folder with these files and no others."""
    if isinstance(content, bytes):
        path.write_bytes(content)
        return
    path.mkdir(exist_ok=True)
    for old in path.iterdir():
        if old.name not in content:
            old.unlink()
    for name, own in content.items():
        (path / name).write_bytes(own)


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("kind", KINDS_OF_FILES)
def test_a_damaged_file_is_read_to_valid_data_or_refused_by_name_and_nothing_else(tmp_path, kind):
    name, make = KINDS_OF_FILES[kind]
    fates, escaped = Counter(), {}
    for number in range(FILES):
        write(tmp_path / name, make(np.random.default_rng([number, zlib.crc32(kind.encode())])))
        outcome, _ = fate(tmp_path / name)
        fates[outcome] += 1
        if outcome not in ("read", "refused"):
            escaped.setdefault(outcome, number)
    assert not escaped
    # Else the mutations are too mild, or too wild, to tell anything.
    assert fates["read"] > FILES / 50
    assert fates["refused"] > FILES / 5
