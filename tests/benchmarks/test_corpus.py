"""What python -m benchmarks.corpus takes, calls a table and counts; nothing is downloaded."""

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile

import pytest
from click.testing import CliRunner

from benchmarks import corpus
from benchmarks.eligible import judge

ROWS = [f"{i % 7},{i * i % 11},{'abc'[i % 3]}" for i in range(90)]


def _judged(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return judge(path)


@pytest.mark.parametrize("head", ["", "a,b,c\n", "# a comment\na,b,c\n", "Title\n\na,b,c\n"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
def test_a_table_is_eligible_however_it_is_written(tmp_path, head, separator):
    judged = _judged(tmp_path, (head + "\n".join(ROWS)).replace(",", separator))
    assert judged.eligible
    assert (judged.rows, judged.numeric, judged.text, judged.separator) == (90, 2, 1, separator)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_encodings_and_gzip(tmp_path, encoding):
    content = ("größe,b,c\n" + "\n".join(ROWS)).encode(encoding)
    assert _judged(tmp_path, content).eligible
    assert _judged(tmp_path, gzip.compress(content)).eligible


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "empty"),
        (["a,b", *ROWS[:59]], "fewer than 60 rows"),
        (["a,b,c", *ROWS * 70], "more than 6,000 rows"),
        ([row[0] for row in ROWS], "one column"),
        ([row + "," * (i % 3) for i, row in enumerate(ROWS)], "ragged"),
        (["id,b,day", *(f"{i},1,2020-01-{i % 28 + 1:02}" for i in range(90))], "fewer than two usable columns"),
        (["\0\1\2\3" * 40], "not text"),
    ],
)
def test_why_a_file_is_not_eligible(tmp_path, lines, why):
    assert _judged(tmp_path, "\n".join(lines)).why == why


def test_decimal_commas_and_headers_of_r(tmp_path):
    judged = _judged(tmp_path, "x;y\n" + "\n".join(f'"{i}";{i % 9},5;{i % 4}' for i in range(1, 91)))
    assert (judged.rows, judged.columns, judged.numeric, judged.usable) == (90, 3, 3, 2)


def test_tables_in_archives_are_found_and_no_name_is_a_path(tmp_path):
    table = ("a,b,c\n" + "\n".join(ROWS)).encode()
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as zipped:
        zipped.writestr("deep/one.csv", table + b"\n1,1,a")
    files = {
        "../../evil.csv": table,
        "/abs/copy.csv": table,
        "data.zip": inner.getvalue(),
        "broken.zip": b"PK",
        "notes.txt": b"Nothing, really.\n",
        "orange.tab": table + b"\n2,2,b",
    }
    archive = tmp_path / "package.tar.gz"
    with tarfile.open(archive, "w:gz") as tarred:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tarred.addfile(member, io.BytesIO(content))
    folder = tmp_path / "corpus"
    entries = corpus._extract("orange3==1.0", archive, folder, set())
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")}
    assert written == {"orange3/evil.csv", "orange3/one.csv", "other/orange3/orange.tab"}
    assert {entry["path"]: entry["eligible"] for entry in entries} == {
        "orange3/evil.csv": True,
        "orange3/one.csv": True,
        "other/orange3/orange.tab": False,
    }


@pytest.mark.parametrize("variable", ["_PYPROJECT_HOOKS_BUILD_BACKEND", "PEP517_BUILD_BACKEND"])
def test_a_source_is_asked_for_its_name_and_none_of_its_code_is_run(tmp_path, variable):
    (tmp_path / "sitecustomize.py").write_text(corpus._BACKEND)
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: some-data\nVersion: 1.2\n\nText")
    code = "import importlib as i; print(i.import_module('a.b').__legacy__.prepare_metadata_for_build_wheel('out'))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), variable: "a.b:__legacy__"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "some_data-1.2.dist-info"
    assert "Name: some-data\nVersion: 1.2" in (tmp_path / "out" / "some_data-1.2.dist-info" / "METADATA").read_text()


def test_files_of_one_name_are_in_one_split():
    assert corpus.split_of("iris.csv") == corpus.split_of("Iris.csv.gz")
    splits = [corpus.split_of(f"{i}.csv") for i in range(1000)]
    assert 650 < splits.count("dev") < 750


@pytest.mark.parametrize(
    ("code", "printed", "said", "outcome"),
    [
        (0, "{}", "", ("trained", "")),
        (0, "done", "", ("traceback", "no JSON on stdout")),
        (1, "", "Error: x.csv: column 'a' has\n12 gaps", ("refused", "x.csv: column 'a' has 12 gaps")),
        (1, "", "Traceback (most recent call last):\n  …\nValueError: 3", ("traceback", "ValueError: 3")),
        (-9, "", "", ("traceback", "exit code -9: ")),
    ],
)
def test_what_became_of_a_file(code, printed, said, outcome):
    assert corpus._outcome(code, printed, said) == outcome


def test_a_summary_holds_nothing_of_a_file(tmp_path, monkeypatch):
    entries = [
        {"package": "p", "path": f"p/{i}.csv", "sha256": str(i), "kind": "csv", "split": corpus.SPLITS[i % 2]}
        | {"eligible": i < 3, "why": "" if i < 3 else "ragged", "rows": 90, "columns": 3, "separator": ","}
        for i in range(4)
    ]
    (tmp_path / "index.json").write_text(json.dumps(entries))

    def train(folder, entry, timeout):
        message = f"{folder}/{entry['path']}: column 'secret' has 12.5 gaps" if entry["path"] == "p/1.csv" else ""
        outcome = "refused" if message else "timeout" if entry["path"] == "p/2.csv" else "trained"
        return {**entry, "outcome": outcome, "message": message, "warned": False, "seconds": 1.0}

    monkeypatch.setattr(corpus, "train", train)
    monkeypatch.setattr("benchmarks.record._blas", lambda: None)
    out = tmp_path / "out.json"
    result = CliRunner().invoke(corpus.main, ["run", "--folder", str(tmp_path), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "both: of 3 eligible files 1 train (33.3%), of 1 others 1" in result.output
    found = json.loads(out.read_text())
    assert found["refused"] == {"FILE: column '…' has N gaps": 1}
    assert [failure["path"] for failure in found["failures"]] == ["p/2.csv"]
    assert found["dev"]["eligible"] == 2
    assert "secret" not in out.read_text()
