"""What was measured, with the command that did it and the machine it ran on: results/NAME.json."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from minisig import __version__

RESULTS = Path(__file__).parent / "results"


def save(name: str, command: str, **content: Any) -> None:
    """Write results/NAME.json; its content may be about another machine if it has a "machine" of its own."""
    write(RESULTS / f"{name}.json", command, **content)
    print(f"{name}.json written; now: python -m benchmarks.readme", file=sys.stderr)


def write(path: Path, command: str, **content: Any) -> None:
    """What save writes, anywhere."""
    if threads := os.environ.get("OPENBLAS_NUM_THREADS"):
        command = f"OPENBLAS_NUM_THREADS={threads} {command}"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"command": command, "machine": machine(), **content}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def read(name: str) -> Any:
    """What is in results/NAME.json; None if there is none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def unwrapped(text: str) -> str:
    """For a command's help, whose lines click would otherwise join."""
    return "\n\n".join(f"\b\n{part}" for part in text.strip().split("\n\n"))


def table(rows: Sequence[Sequence[str]]) -> str:
    """In Markdown; the first row is the head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def machine() -> dict[str, str | int | None]:
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy")},
        "blas": _blas(),
        "minisig": __version__,
    }


def commit() -> str | None:
    """The one that is checked out, with "+" if files differ from it."""
    git = ["git", "-C", str(RESULTS.parent), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"]
    found = subprocess.run(git, capture_output=True, text=True)
    return found.stdout.strip() or None


def held(field: str) -> int:
    """Bytes that this process holds, VmRSS, or at most ever held, VmHWM. Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith(field))
    return int(kilobytes) * 1024


def _blas() -> str | None:
    """The library that makes our products, and for which kind of CPU: on another the last bits differ."""
    import scipy.linalg.blas  # noqa: F401 — to be seen it must be loaded
    from threadpoolctl import threadpool_info

    # By its folder: NumPy's own is called libscipy_openblas64_ too.
    found = [info for info in threadpool_info() if {"scipy", "scipy.libs"} & {*Path(info["filepath"]).parts}]
    return f"{found[0]['internal_api']} {found[0]['version']}, {found[0]['architecture']}" if found else None


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
