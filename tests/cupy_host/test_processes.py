"""The host device in processes of its own: how they begin, how they end, and what is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent


def start(script, *arguments, path=()):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (*path, TESTS, TESTS.parent)))}
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


INSTALL = "from cupy_host import device; cupy = device.install(); import numpy as np, sys, threading\n"

ENDS = {
    "arrays in globals": "a = cupy.ones((50, 50)); b = a @ a; c = a[::2]; print(float(b.sum()))",
    "arrays in a cycle": "class A: pass\nx = A(); x.me, x.a = x, cupy.ones(5); sys.kept = x",
    "arrays in a thread": "t = threading.local(); t.a = cupy.ones(5); sys.kept = t",
    "streams and events": "s = cupy.cuda.Stream(); e = s.record(); s.use(); a = cupy.ones(5)",
    "kernels": "k = cupy.RawKernel('extern \"C\" __global__ void f(float* x) { x[0] = 1; }', 'f'); k.compile()",
    "a failed launch": "try: cupy.ones(3, dtype='complex64')\nexcept Exception as e: kept = e",
    "an exit": "a = cupy.ones(5) * 2; sys.exit(0)",
    "nothing": "",
}


@pytest.mark.parametrize("name", ENDS)
def test_the_interpreter_ends_cleanly(name):
    code, _, err = finish(start(INSTALL + ENDS[name]))
    assert (code, err) == (0, "")


def test_an_exception_ends_the_interpreter_as_always():
    code, _, err = finish(start(INSTALL + "a = cupy.ones(5); 1 / 0"))
    assert code == 1
    assert err.strip().endswith("ZeroDivisionError: division by zero")
    assert "Exception ignored" not in err


def test_another_cupy_is_refused(tmp_path):
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy" / "__init__.py").touch()
    (tmp_path / "cupy" / "_version.py").write_text("__version__ = '14.1.0'\n")
    code, _, err = finish(start("from cupy_host import device; device.install()", path=[tmp_path]))
    assert code == 1
    assert "CannotInstall: the host device is made for CuPy 14.2.0, not 14.1.0" in err


def test_it_comes_too_late_once_cupy_is_there():
    code, _, err = finish(start("import cupy; from cupy_host import device; device.install()"))
    assert code == 1
    assert "must be installed before cupy is imported" in err


def test_two_processes_may_compile_at_once_and_the_next_finds_it_done(tmp_path):
    script = (
        "from pathlib import Path; import sys; from cupy_host import device; cupy = device.install(Path(sys.argv[1]));"
        "a = cupy.ones((4, 4)); print(float((a @ a + 1).sum()))"
    )
    both = [start(script, tmp_path) for _ in range(2)]
    assert [finish(process) for process in both] == [(0, "80.0\n", "")] * 2
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert {path.suffix for path in files} == {".so", ".map", ""}
    assert [path.name for path in files if not path.suffix] == ["nvrtc"]
    assert finish(start(script, tmp_path)) == (0, "80.0\n", "")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.so")}.items() <= files.items()


def test_without_being_asked_nothing_here_runs():
    environment = {name: value for name, value in os.environ.items() if name != "MINISIG_CUPY_HOST"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", str(Path(__file__).parent)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=TESTS.parent,
    )
    assert done.returncode in (0, 5), done.stdout + done.stderr
    assert "tests marked gpu: not run: no GPU" in done.stdout
    assert "passed" not in done.stdout
