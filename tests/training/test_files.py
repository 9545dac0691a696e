"""Files of a run: what was written is what is read, by everybody, and nothing in them is ever executed."""

import ast
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minisig
from minisig.errors import DataError
from minisig.report.metrics import read_metrics
from minisig.training.files import read_tensors, write_file, write_tensors
from minisig.training.folder import FILES
from minisig.training.restore import restore
from minisig.training.run import resume, run
from tests.faults.runs import begun

PACKAGE = Path(minisig.__file__).parent
VIEWS = {
    "transposed": lambda a: a.T,
    "every other row": lambda a: a[::2],
    "some columns": lambda a: a[:, 1:3],
    "backwards": lambda a: a[::-1],
    "Fortran's": np.asfortranarray,
    "one row many times": lambda a: np.broadcast_to(a[0], a.shape),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_strided_arrays_are_saved_as_they_read(tmp_path, view, dtype):
    w = view(np.arange(12, dtype=dtype).reshape(3, 4))
    write_tensors(tmp_path / "ours.safetensors", {"w": w, "v": w.copy()}, {"position": "here"})
    tensors, metadata = read_tensors(tmp_path / "ours.safetensors")
    assert metadata == {"position": "here"}
    assert tensors["w"].dtype == dtype
    np.testing.assert_array_equal(tensors["w"], w)


def test_others_may_read_all_files_of_a_run(tmp_path, xor):
    run(xor, tmp_path)
    assert {path.stat().st_mode & 0o444 for path in tmp_path.iterdir() if path.name in FILES} == {0o444}


class Payload:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


# What reads each file of a run that has been stopped.
READERS = dict.fromkeys(FILES, resume) | {
    "best.safetensors": restore,
    "metrics.jsonl": lambda folder: read_metrics(folder / "metrics.jsonl"),
}


@pytest.mark.parametrize("name", FILES)
def test_no_file_of_a_run_is_unpickled(tmp_path, xor, name):
    folder = begun(xor, tmp_path / "run", 7)
    (folder / name).write_bytes(pickle.dumps(Payload(tmp_path / "executed")) + b"\n")
    with pytest.raises(DataError, match=re.escape(name)):
        READERS[name](folder)
    assert not (tmp_path / "executed").exists()


def test_the_package_never_imports_pickle_nor_lets_numpy_do_so():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import():
                    names = [name.name for name in node.names]
                case ast.ImportFrom():
                    names = [node.module or ""]
                case ast.Call():
                    names = [ast.unparse(node.func)]
                    assert not [k for k in node.keywords if k.arg == "allow_pickle" and ast.unparse(k.value) != "False"]
                case _:
                    continue
            for name in names:
                assert not re.search(r"pickle|\bdill\b|\bjoblib\b|\bshelve\b|\bmarshal\b", name), f"{path}: {name}"
                assert name not in ("eval", "exec", "torch.load"), f"{path}: {name}"


@pytest.mark.parametrize("dtype", ["F8_E4M3", "F8_E5M2", "F4"])
def test_numbers_of_a_type_that_numpy_lacks_are_refused(tmp_path, dtype):
    header = json.dumps({"w": {"dtype": dtype, "shape": [2], "data_offsets": [0, 1 if dtype == "F4" else 2]}}).encode()
    path = tmp_path / "best.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(1 if dtype == "F4" else 2))
    with pytest.raises(DataError, match=r"best\.safetensors"):
        read_tensors(path)


def test_two_who_write_the_same_file_do_not_meet(tmp_path):
    path = tmp_path / "report.html"
    code = "import sys; from pathlib import Path; from minisig.training.files import in_place_of as into\n"
    code += "with into(Path(sys.argv[1])) as temporary: temporary.write_bytes(b'B'); print(flush=True); input()"
    other = subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()
    write_file(path, b"A")
    assert path.read_bytes() == b"A"
    other.communicate(b"\n", timeout=300)
    assert (other.returncode, path.read_bytes()) == (0, b"B")
