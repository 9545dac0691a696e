"""What the numbers were measured on."""

import os
import platform
from importlib.metadata import version
from pathlib import Path


def machine() -> dict[str, str | int | None]:
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "minisig")},
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
