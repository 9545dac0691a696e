"""Thousands of damaged files: each is read to valid data or refused by name, in one line and little memory.

Every file is a good one, mutated by a generator that its number seeds; a failure names the number. MINISIG_FUZZ=20 in
the environment makes twenty times as many.
"""

import gzip
import os
import signal
import struct
import tracemalloc
import zipfile
import zlib
from collections import Counter

import numpy as np
import pytest

from minisig.data import DataConfig, Split, load, source_for
from minisig.data.frame import is_table
from minisig.errors import DataError, UsageError
from tests.data.formats import archive, array_header, npy
from tests.data.mutations import DTYPES, IDX, KINDS_OF_FILES, LABELS, SHAPES, X, strange_array

FILES = 2000 * int(os.environ.get("MINISIG_FUZZ", "1"))  # of every kind
MAX_SECONDS = 20  # patience with one that is read in milliseconds
MAX_MEMORY = 16 * 2**20  # while one is read; none of the good files has more than a few thousand bytes


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


def check_table(data):
    target = data.prepared.target
    rows = np.concatenate([data.rows[part] for part in ("train", "valid", "test")])
    assert len(np.unique(rows)) == len(rows) <= rows.max() + 1
    for part in ("train", "valid", "test"):
        split = getattr(data, part)
        assert split.x.dtype == np.float32
        assert split.x.shape == (len(data.rows[part]), data.prepared.inputs)
        assert split.x.size > 0
        assert np.isfinite(split.x).all()
        assert np.isfinite(split.y).all()
        if target.task == "classification":
            assert (split.y.dtype, split.y.shape) == (np.int64, (len(split.x),))
            assert 0 <= split.y.min() <= split.y.max() < data.classes == len(target.classes)
        else:
            assert (split.y.dtype, split.y.shape) == (np.float32, (len(split.x), data.classes))
    assert not {*data.prepared.names} & {*data.prepared.left_out, *target.names}
    assert all(np.isfinite(value) and value >= 0 for value in data.baselines.values())
    assert all(line.isprintable() and len(line) < 1000 for line in data.about)


def check_text(data):
    for text in (data.train, data.valid, data.test):
        assert text.tokens.dtype == np.int64
        assert text.tokens.ndim == 1
        assert len(text.tokens) > 2
        assert 0 <= text.tokens.min() <= text.tokens.max() < data.classes
    assert data.classes > 2
    assert all(np.isfinite(value) and value >= 1 for value in data.baselines.values())


class Hang(BaseException):
    pass


def give_up(number, frame):
    raise Hang(f"more than {MAX_SECONDS} s")


def fate(path):
    """What became of these data, "read" or "refused" or else what is wrong with that, and the memory it took."""
    source, check = ("ptb", check_text) if path.name == "text" else ("digits", check_vectors)
    if is_table(path):
        check = check_table
    tracemalloc.start()
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(MAX_SECONDS)
    try:
        data = load(DataConfig(source=source_for(str(path), source), path=str(path)))
        outcome = "read"
    except (DataError, UsageError) as error:
        outcome = "refused"
        message = str(error)
        if str(path) not in message or not message.isprintable() or len(message) > 700:
            outcome = f"unkind: {message!r}"
    except (Exception, Hang) as error:  # warnings are errors here
        outcome = f"{type(error).__name__}: {error}"
    signal.alarm(0)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if outcome == "read":
        try:
            check(data)
        except AssertionError as error:
            outcome = f"not valid: {error}"
    return (outcome if memory < MAX_MEMORY else f"{memory / 2**20:.0f} MB while it was {outcome}"), memory


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
