"""Files as bytes: found plain or gzipped, and read no further than asked."""

import gzip
from io import BytesIO

import pytest

from minisig.data.raw import PIECE, find, pieces, reading, require_file
from minisig.errors import DataError


def test_a_file_is_found_under_the_first_of_its_names_and_plain_before_gzipped(tmp_path):
    assert find(tmp_path, "a", "b") is None
    with pytest.raises(DataError, match="holds no a or b, gzipped or not"):
        require_file(tmp_path, "a", "b")
    for name in ("b", "a.gz", "a"):
        (tmp_path / name).touch()
        assert require_file(tmp_path, "a", "b") == find(tmp_path, "a", "b") == tmp_path / name


@pytest.mark.parametrize("name", ["x", "x.gz"])
def test_a_file_is_unpacked_if_its_name_says_so(tmp_path, name):
    (tmp_path / "x").write_bytes(b"content")
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"content"))
    with reading(tmp_path / name) as file:
        assert file.read() == b"content"


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"content")[:-9], None], ids=["other", "cut", "missing"])
def test_what_goes_wrong_while_reading_names_the_file(tmp_path, content):
    if content:
        (tmp_path / "x.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"x\.gz: cannot be read: \w"), reading(tmp_path / "x.gz") as file:
        file.read()


@pytest.mark.parametrize("most", [0, 5, PIECE, PIECE + 1, 3 * PIECE])
def test_no_more_is_read_than_asked_for_and_that_in_pieces(most):
    content = bytes(2 * PIECE + 7)
    found = list(pieces(BytesIO(content), most))
    assert sum(map(len, found)) == min(most, len(content))
    assert all(0 < len(piece) <= PIECE for piece in found)
