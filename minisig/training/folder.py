"""A run's folder on disk.

    config.json         what was asked for
    metrics.jsonl       one line for every logged iteration
    best.safetensors    the parameters of least validation loss
    summary.json        what came out

Every file but the growing metrics.jsonl appears whole or not at all.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from minisig.errors import MinisigError, UsageError


class RunFolder:
    def __init__(self, path: Path, config: bytes) -> None:
        """Claim the folder, which must not hold a run yet, by writing its configuration."""
        self.path = path
        with self._writing():
            path.mkdir(parents=True, exist_ok=True)
            if any(path.glob("*.json*")):
                raise UsageError(f"{path} already holds a run; choose another --out or remove it")
            self._replace("config.json", config)

    def log(self, record: Mapping[str, Any]) -> None:
        """Append one line to metrics.jsonl."""
        with self._writing(), (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def finish(self, params: Mapping[str, np.ndarray], summary: Mapping[str, Any]) -> None:
        """Write the selected parameters and, last of all, the summary."""
        # safetensors writes the memory of a strided view as if it were contiguous.
        contiguous = {name: np.ascontiguousarray(w) for name, w in params.items()}
        with self._writing():
            self._replace("best.safetensors", save(contiguous))
            self._replace("summary.json", json.dumps(summary, indent=2).encode())

    def _replace(self, name: str, content: bytes) -> None:
        temporary = self.path / f".{name}.tmp"
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path / name)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise MinisigError(f"cannot write to {self.path}: {error.strerror or error}") from None


def unused(path: Path) -> Path:
    """This path, or the first of path-2, path-3, … that does not exist."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate
