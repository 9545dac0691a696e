"""Files brought from archives: hostile, broken, huge, or packed in some other way."""

import gzip
import stat
import tarfile
import zipfile
from warnings import catch_warnings, simplefilter

import pytest

from minisig.data import archives
from minisig.data.fetch import bring
from minisig.errors import DataError
from tests.data.mirrors import CONTENTS, DOWNLOADS, SET, half, member, memory, put, tar, tree, within


def zip_(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, catch_warnings():
        simplefilter("ignore")  # a name may come twice
        for info, content in members:
            entry = zipfile.ZipInfo(info.name + "/" * info.isdir())
            entry.compress_type = zipfile.ZIP_DEFLATED
            if info.issym() or info.islnk():
                entry.external_attr = (stat.S_IFLNK | 0o777) << 16
                content = info.linkname.encode()
            archive.writestr(entry, content)
    return path


def hostile(outside):
    """Members that would do harm if their names or kinds were believed, and the right files among them."""
    letters, numbers = CONTENTS["letters.txt"], DOWNLOADS["numbers.gz"]
    return [
        member("../../evil", b"evil"),
        member("/etc/passwd", b"root::0:0::/:/bin/sh"),
        member(f"{outside}/absolute", b"evil"),
        member("..", type_=tarfile.DIRTYPE),
        member(".", b"evil"),
        member("letters.txt", type_=tarfile.DIRTYPE),
        member("letters.txt", type_=tarfile.SYMTYPE, link="/etc/passwd"),
        member("numbers", type_=tarfile.LNKTYPE, link="../../evil"),
        member("out", type_=tarfile.SYMTYPE, link=str(outside)),
        member("out/letters.txt", b"evil"),
        *(member("letters.txt", type_=kind) for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)),
        member("LETTERS.TXT", letters),
        member("letters.txt.", letters),
        member("letters.txt", b"twice"),
        member(f"{outside}/letters.txt", letters),
        member("letters.txt", b"thrice"),
        member("numbers", CONTENTS["numbers"][:-1]),
        member("a/b/c/../../../../../numbers.gz", numbers),
        member("a/numbers.gz", b"evil"),
    ]


PACK = {"tgz": tar, "zip": zip_, "tar": lambda path, members: tar(path, members, "w:")}


@pytest.mark.parametrize("pack", PACK)
def test_from_a_hostile_archive_only_the_right_files_come_under_our_own_names(tmp_path, folder, pack):
    archive = PACK[pack](tmp_path / f"archive.{pack}", hostile(tmp_path / "outside"))
    before = tree(tmp_path)
    bring(SET, archive, folder)
    assert tree(folder) == DOWNLOADS
    assert tree(tmp_path) == before | {"home": None, "home/small": None} | {
        f"home/small/{name}": content for name, content in DOWNLOADS.items()
    }


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("inside", [DOWNLOADS, CONTENTS], ids=["gz", "plain"])
def test_an_archive_may_hold_the_files_gzipped_or_not_in_any_folder(tmp_path, folder, pack, inside):
    members = [member(f"simple-examples/data/{name}", content) for name, content in inside.items()]
    bring(SET, PACK[pack](tmp_path / "archive", members), folder)  # its name does not matter
    assert tree(folder) == inside


@pytest.mark.parametrize("before", [None, b"damaged"], ids=["nothing before", "damaged before"])
@pytest.mark.parametrize("pack", PACK)
def test_a_wrong_file_in_an_archive_is_refused_by_its_name(tmp_path, folder, pack, before):
    put(folder, {"letters.txt": before} if before else {})
    archive = PACK[pack](tmp_path / "archive", [member("a/letters.txt", b"x" * 200_000)])
    with pytest.raises(
        DataError, match=r"archive: letters\.txt there is not the published file: its SHA-256 is"
    ) as error:
        bring(SET, archive, folder)
    assert error.value.exit_code == 5
    assert tree(folder) == ({"letters.txt": before} if before else {})


@pytest.mark.parametrize("pack", PACK)
def test_a_file_that_an_archive_does_not_hold_is_named(tmp_path, folder, pack):
    archive = PACK[pack](tmp_path / "archive", [member("letters.txt", CONTENTS["letters.txt"])])
    with pytest.raises(DataError, match=r"archive: holds no numbers, gzipped or not"):
        bring(SET, archive, folder)
    assert tree(folder) == {"letters.txt": CONTENTS["letters.txt"]}


def broken(kind, path):
    members = [member(name, content) for name, content in DOWNLOADS.items()]
    if kind == "bad crc":
        with zipfile.ZipFile(path, "w") as archive:
            for info, content in members:
                archive.writestr(info.name, content)
        bits = bytearray(path.read_bytes())
        bits[1000] ^= 1
    elif kind == "bad deflate":
        bits = bytearray(zip_(path, members).read_bytes())
        bits[1000:1100] = bytes(100)
    else:
        bits = {
            "cut tgz": lambda: half(tar(path, members).read_bytes()),
            "cut tar": lambda: half(tar(path, members, "w:").read_bytes()),
            "cut xz": lambda: half(tar(path, members, "w:xz").read_bytes()),
            "cut zip": lambda: half(zip_(path, members).read_bytes()),
            "bad tgz": lambda: (whole := tar(path, members).read_bytes())[:5000] + bytes(100) + whole[5100:],
            "empty": lambda: b"",
            "text": lambda: b"<html>404 not found</html>" * 100,
            "noise": lambda: CONTENTS["letters.txt"],
            "gz": lambda: DOWNLOADS["numbers.gz"],
        }[kind]()
    path.write_bytes(bits)
    return path


BROKEN = [
    "bad crc",
    "bad deflate",
    "cut tgz",
    "cut tar",
    "cut xz",
    "cut zip",
    "bad tgz",
    "empty",
    "text",
    "noise",
    "gz",
]


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_archive_or_none_at_all_is_refused_and_leaves_nothing_wrong(tmp_path, folder, kind):
    with pytest.raises(DataError, match=r"archive: ") as error:
        bring(SET, broken(kind, tmp_path / "archive"), folder)
    assert error.value.exit_code == 5
    assert tree(folder).items() <= DOWNLOADS.items()


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("name", ["letters.txt", "numbers.gz"])
def test_a_huge_member_is_refused_without_the_memory_for_it(tmp_path, folder, pack, name):
    huge = gzip.compress(bytes(2**20)) * 64 if name.endswith(".gz") else bytes(2**26)
    archive = PACK[pack](tmp_path / "archive", [member(name, huge)])
    del huge
    with memory(16 * 2**20), pytest.raises(DataError, match=f"{name} there is not the published file"):
        bring(SET, archive, folder)
    assert tree(folder) == {}


LONG = ["XHDTYPE", "XGLTYPE", "SOLARIS_XHDTYPE", "GNUTYPE_LONGNAME", "GNUTYPE_LONGLINK"]


@pytest.mark.parametrize("kind", LONG)
def test_a_huge_header_is_refused_without_the_memory_for_it(tmp_path, folder, kind):
    archive = tar(tmp_path / "archive", [member("letters.txt", bytes(2**25), getattr(tarfile, kind))])
    with memory(16 * 2**20), pytest.raises(DataError, match="archive: "):
        bring(SET, archive, folder)


@pytest.mark.parametrize("format_", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids=["gnu", "pax"])
def test_a_name_so_long_that_it_has_a_header_of_its_own_is_a_name(tmp_path, folder, format_):
    members = [member("folder/" * 500 + name, content) for name, content in DOWNLOADS.items()]
    bring(SET, tar(tmp_path / "archive", members, format=format_), folder)
    assert tree(folder) == DOWNLOADS


@pytest.mark.parametrize("format_", ["gnu", "pax"])
def test_a_member_of_negative_size_is_refused(tmp_path, folder, format_):
    (first, _), (info, _) = member("first"), member("letters.txt")
    if format_ == "gnu":
        info.size = -512
        header = info.tobuf(tarfile.GNU_FORMAT)
    else:
        info.pax_headers = {"size": "-1536"}
        header = info.tobuf(tarfile.PAX_FORMAT)
    (tmp_path / "archive").write_bytes(first.tobuf() + header + bytes(1024))
    with within(), pytest.raises(DataError, match="archive: "):
        bring(SET, tmp_path / "archive", folder)


def test_an_archive_with_too_much_in_it_is_given_up(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(archives, "LARGEST_CONTENT", 2**20)
    members = [member("ballast", bytes(2**19)) for _ in range(3)]
    archive = tar(tmp_path / "archive", [*members, *(member(*item) for item in DOWNLOADS.items())])
    with pytest.raises(DataError, match="more than 1,048,576 bytes"):
        bring(SET, archive, folder)
