"""minisig data: what is listed, fetched and verified, and how it says no."""

import gzip
import json
import sys
from dataclasses import replace
from functools import partial
from hashlib import sha256

import pytest

from minisig.data.public import MNIST, PTB, PublicFile
from tests.cli.command import cli
from tests.data.mirrors import contents

pytestmark = pytest.mark.usefixtures("home")
cli = partial(cli, "data")


@pytest.fixture
def refused(refused):
    """The last line that `minisig data` says."""
    return lambda code, *args: refused(code, "data", *args).splitlines()[-1]


CONTENTS = {"mnist": {"images.gz": gzip.compress(b"images" * 99), "labels": b"labels"}, "ptb": {"words.txt": b"words"}}


@pytest.fixture
def small(tmp_path, monkeypatch, serve):
    """Two small sets in the place of the real ones; the folder that their mirrors show."""
    shown = tmp_path / "shown"
    public = {}
    for real in (MNIST, PTB):
        files = []
        (shown / real.name).mkdir(parents=True)
        for download, travels in CONTENTS[real.name].items():
            (shown / real.name / download).write_bytes(travels)
            content = gzip.decompress(travels) if download.endswith(".gz") else travels
            hashes = (sha256(data).hexdigest() for data in (content, travels))
            name = download.removesuffix(".gz")
            files.append(PublicFile(name, len(content), next(hashes), download, next(hashes), len(travels)))
        public[real.name] = replace(real, files=tuple(files), archives=())
    address = serve(shown)
    public = {name: replace(one, mirrors=(f"{address}/{name}/",)) for name, one in public.items()}
    monkeypatch.setattr("minisig.data.public.PUBLIC", public)
    monkeypatch.setattr("minisig.data.download.RETRIES", 0)
    return shown


def fetch_small():
    assert cli("fetch", "mnist", "ptb").exit_code == 0


# list


def test_the_list_says_what_is_here_and_how_to_get_the_rest(small, home):
    cli("fetch", "ptb")
    result = cli("list")
    assert (result.exit_code, result.stderr) == (0, "")
    mnist, _, ptb, about = result.stdout.splitlines()
    assert mnist.endswith("not here: minisig data fetch mnist")
    assert ptb.endswith(str(home / "ptb"))
    assert about.strip() == PTB.about


def test_a_set_with_a_file_missing_is_not_here(small, home):
    fetch_small()
    (home / "mnist" / "labels").unlink()
    assert "not here: minisig data fetch mnist" in cli("list").stdout


def test_the_list_as_json_is_one_object(small, home):
    cli("fetch", "ptb")
    result = cli("list", "--json")
    assert (result.exit_code, result.stderr, result.stdout.count("\n")) == (0, "", 1)
    mnist, ptb = json.loads(result.stdout)["data"]
    assert (mnist["name"], mnist["folder"], mnist["bytes"]) == (
        "mnist",
        None,
        sum(map(len, CONTENTS["mnist"].values())),
    )
    assert ptb == {"name": "ptb", "about": PTB.about, "bytes": 5, "folder": str(home / "ptb")}


# verify


def test_with_nothing_here_verify_says_what_to_do(refused):
    assert "run 'minisig data fetch mnist'" in refused(5, "verify")


def test_good_files_are_verified_one_by_one(small):
    fetch_small()
    result = cli("verify")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [f"mnist/{name}" for name in CONTENTS["mnist"]] + ["ptb/words.txt"]
    assert result.stdout.splitlines() == [f"{line}: as published" for line in lines]


def test_verify_looks_only_at_what_is_here_or_named(small):
    cli("fetch", "ptb")
    assert cli("verify").stdout == cli("verify", "ptb").stdout == "ptb/words.txt: as published\n"
    result = cli("verify", "mnist", "ptb")
    assert result.exit_code == 5
    assert "mnist/images: missing" in result.stdout
    assert "run 'minisig data fetch mnist'" in result.stderr


@pytest.mark.parametrize("json_", [False, True], ids=["text", "json"])
def test_a_damaged_file_is_named_and_the_others_are_not(small, home, json_):
    fetch_small()
    (home / "mnist" / "labels").write_bytes(b"lapels")
    result = cli("verify", *["--json"] * json_)
    assert result.exit_code == 5
    assert "run 'minisig data fetch mnist'" in result.stderr
    if json_:
        assert result.stdout.count("\n") == 1
        faults = {f"{row['data']}/{row['file']}": row["fault"] for row in json.loads(result.stdout)["files"]}
        assert "SHA-256" in faults.pop("mnist/labels")
        assert faults == {"mnist/images.gz": None, "ptb/words.txt": None}
    else:
        (wrong,) = (line for line in result.stdout.splitlines() if not line.endswith(": as published"))
        assert wrong.startswith("mnist/labels: its SHA-256 is")


def test_what_verify_advises_mends_what_it_found(small, home):
    fetch_small()
    (home / "mnist" / "labels").write_bytes(b"lapels")
    assert cli("verify").exit_code == 5
    assert cli("fetch", "mnist").exit_code == 0
    assert cli("verify").exit_code == 0


@pytest.mark.parametrize("command", ["verify", "fetch"])
@pytest.mark.parametrize(("name", "hint"), [("mnits", "Did you mean 'mnist'?"), ("nosuch", "Choose from: mnist, ptb")])
def test_an_unknown_set_is_answered_with_those_that_exist(home, refused, command, name, hint):
    complaint = refused(2, command, name)
    assert f"'{name}'" in complaint
    assert hint in complaint
    assert not home.exists()


# fetch


def test_fetch_says_where_the_files_are_on_stdout_and_the_licence_on_stderr(small, home):
    result = cli("fetch", "mnist", "mnist", "ptb")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"mnist: 2 files as published in {home / 'mnist'}",
        f"ptb: 1 files as published in {home / 'ptb'}",
    ]
    assert result.stderr.splitlines() == [MNIST.licence, PTB.licence]
    assert contents(home) == {
        f"{name}/{file}": data for name, files in CONTENTS.items() for file, data in files.items()
    }


def test_the_licence_comes_before_the_download(small):
    (small / "ptb" / "words.txt").unlink()
    stderr = cli("fetch", "ptb").stderr
    assert 0 <= stderr.index(PTB.licence) < stderr.index("Error: ")


def test_without_minisig_data_files_go_to_the_cache(small, home, tmp_path, monkeypatch):
    monkeypatch.delenv("MINISIG_DATA")
    fetch_small()
    assert contents(tmp_path / "cache" / "minisig").keys() == {"mnist/images.gz", "mnist/labels", "ptb/words.txt"}
    assert not home.exists()


@pytest.mark.parametrize("damage", [None, b"wrong"], ids=["missing", "wrong"])
def test_what_no_mirror_has_is_named(small, home, damage):
    path = small / "mnist" / "labels"
    path.unlink() if damage is None else path.write_bytes(damage)
    result = cli("fetch", "mnist")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "Traceback" not in result.stderr
    complaint = result.stderr[result.stderr.index("Error: ") :]
    assert complaint.startswith("Error: labels could not be fetched")
    assert "http://127.0.0.1" in complaint
    assert contents(home).keys() == {"mnist/images.gz"}


def test_a_fetch_that_brings_nothing_leaves_no_folder_to_hide_the_one_in_the_cache(small, home, tmp_path, monkeypatch):
    with monkeypatch.context() as without:
        without.delenv("MINISIG_DATA")
        fetch_small()
    (small / "ptb" / "words.txt").unlink()
    assert cli("fetch", "ptb").exit_code == 5
    assert not home.exists()
    assert str(tmp_path / "cache" / "minisig" / "ptb") in cli("list").stdout
    (home / "ptb").mkdir(parents=True)
    assert str(tmp_path / "cache" / "minisig" / "ptb") in cli("list").stdout
    assert cli("verify").exit_code == 0


def test_mirrors_that_are_given_replace_the_others_and_are_tried_in_turn(small, home, serve, tmp_path):
    (small / "mnist").rename(tmp_path / "elsewhere")
    assert cli("fetch", "mnist").exit_code == 5
    (tmp_path / "empty").mkdir()
    mirrors = [serve(tmp_path / "empty"), serve(tmp_path / "elsewhere")]
    result = cli("fetch", "mnist", "--mirror", mirrors[0], "--mirror", mirrors[1])
    assert result.exit_code == 0
    assert contents(home / "mnist") == CONTENTS["mnist"]


def test_files_come_from_a_folder_without_pooch_or_a_download(small, home, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    result = cli("fetch", "mnist", "ptb", "--from", small / "mnist")
    assert result.exit_code == 5
    assert "holds no words.txt, gzipped or not" in result.stderr
    result = cli("fetch", "mnist", "ptb", "--from", small)
    assert result.exit_code == 0
    assert contents(home) == contents(small)


def test_without_pooch_a_download_says_what_to_install(small, home, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert "pip install 'minisig[data]'" in refused(1, "fetch", "mnist")
    assert contents(home) == {}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["fetch"], "NAME"),
        (["fetch", "mnist", "--from", "nowhere"], "nowhere"),
        (["fetch", "mnist", "--mirror"], "--mirror"),
        *(
            (["fetch", "mnist", "--mirror", url], "http://")
            for url in ("", "nonsense", "ftp://x/", "http://", "file:///x/")
        ),
        (["fetch", "--json", "mnist"], "--json"),
        (["list", "mnist"], "mnist"),
        (["nosuch"], "nosuch"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_usage_is_explained(home, refused, args, words):
    assert words in refused(2, *args)
    assert not home.exists()


def test_an_empty_path_is_no_folder_to_bring_files_from(home, refused):
    assert "empty" in refused(2, "fetch", "mnist", "--from", "")
    assert not home.exists()


def test_a_place_that_cannot_be_written_to_is_named(small, home, refused):
    home.write_bytes(b"a file")
    assert str(home) in refused(1, "fetch", "mnist")


def test_a_file_that_is_no_archive_is_named(small, refused):
    assert "labels" in refused(5, "fetch", "mnist", "--from", small / "mnist" / "labels")
