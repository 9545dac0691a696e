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
from minisig.jsonable import jsonable


def write_file(path: Path, content: bytes) -> None:
    """Put the file there whole: written beside its place, flushed to the disk, and renamed."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


class RunFolder:
    """The folder at `path`; if `numbered`, the first of path, path-2, path-3, … that does not exist yet."""

    def __init__(self, path: Path, *, numbered: bool = False) -> None:
        self.path, self.numbered = path, numbered

    def claim(self, config: bytes) -> None:
        """Make the folder this run's own, which must not hold another, by writing the configuration."""
        with self._writing():
            if self.numbered:
                self._make_new()
            else:
                if self.path.exists() and not self.path.is_dir():
                    raise UsageError(f"{self.path} is a file; choose a folder for the run")
                self.path.mkdir(parents=True, exist_ok=True)
                if (self.path / "config.json").exists():
                    raise UsageError(f"{self.path} already holds a run; choose another folder")
            write_file(self.path / "config.json", config)

    def _make_new(self) -> None:
        first, number = self.path, 1
        while True:
            try:
                self.path.mkdir(parents=True)
                return
            except FileExistsError:
                if not self.path.is_dir():
                    raise
                number += 1
                self.path = first.with_name(f"{first.name}-{number}")

    def log(self, record: Mapping[str, Any]) -> None:
        """Append one line to metrics.jsonl."""
        with self._writing(), (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(jsonable(record), allow_nan=False) + "\n")

    def finish(self, params: Mapping[str, np.ndarray], summary: Mapping[str, Any]) -> None:
        """Write the selected parameters and, last of all, the summary."""
        # safetensors writes the memory of a strided view as if it were contiguous.
        contiguous = {name: np.ascontiguousarray(w) for name, w in params.items()}
        with self._writing():
            write_file(self.path / "best.safetensors", save(contiguous))
            content = json.dumps(jsonable(summary), indent=2, allow_nan=False)
            write_file(self.path / "summary.json", content.encode())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise MinisigError(f"cannot write to {self.path}: {error.strerror or error}") from None
