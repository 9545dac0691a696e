"""A model from its file: what comes in raw goes out as answers, in the words and units of the training data."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from minisig.backends import BACKENDS
from minisig.data.cells import is_missing, shown
from minisig.data.dataset import CHUNK
from minisig.data.prepared import (
    MAX_NOTICED,
    Categorical,
    Class,
    Noticed,
    TableInputs,
    TextInputs,
    VectorInputs,
    as_number,
    as_word,
)
from minisig.diagnostics.confusion import confused, per_class
from minisig.diagnostics.writing import Drawing, sample, step
from minisig.errors import BackendUnavailable, DataError, UsageError, printable, require_known
from minisig.network import Network, States
from minisig.trained import writing
from minisig.trained.rows import as_columns
from minisig.training.config import Config
from minisig.training.model_file import BEST, ModelInfo, model_config, network_of, read_model

NOT_FINITE = "{}: its answers are not finite: numbers in it are too large"


class Unseen(UserWarning):
    """Rows hold what the training data did not: other categories, or text for numbers."""


class Model:
    """A trained network with the preparation of its inputs and the meaning of its outputs.

    >>> import minisig as ms
    >>> from pathlib import Path; from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder) / "fruit.csv"
    ...     lines = [f"{'red' if i % 2 else 'green'},{i},{'apple' if i % 2 else 'pear'}\\n" for i in range(60)]
    ...     _ = table.write_text("colour,weight,fruit\\n" + "".join(lines))
    ...     summary = ms.run(ms.configure(str(table)), Path(folder) / "run")
    ...     model = ms.load(Path(folder) / "run")
    >>> model.columns, model.classes
    (['colour', 'weight'], ['apple', 'pear'])
    >>> list(model.predict([{"weight": 7, "colour": "red"}, {"weight": 8, "colour": "green"}]))
    ['apple', 'pear']
    >>> model.predict_proba([["red", 7]]).shape
    (1, 2)
    """

    def __init__(self, net: Network, info: ModelInfo, config: Config) -> None:
        self.net, self.info, self.config = net, info, config
        self.prepared = info.prepared
        self.summary: Mapping[str, Any] = info.summary

    def __str__(self) -> str:
        return f"{printable(self.info.name)}: {self.task}\n{self.net}"

    @property
    def task(self) -> str:
        """What it does: classification, labels (yes or no for each of several), regression, or sequences."""
        if self.info.sequences:
            return "sequences"
        if isinstance(self.prepared, TableInputs):
            return self.prepared.target.task
        return {"softmax-cross-entropy": "classification", "sigmoid-cross-entropy": "labels"}.get(
            self.info.loss, "regression"
        )

    @property
    def columns(self) -> list[str]:
        """The columns that it needs, by their names in the training data."""
        if isinstance(self.prepared, TableInputs):
            return self.prepared.names
        return [f"x{i}" for i in range(self.info.inputs)]

    @property
    def classes(self) -> list[Class] | None:
        """The classes in the order of predict_proba's columns, of labels no and yes for each; None of a regression."""
        if self.task not in ("classification", "labels"):
            return None
        if isinstance(self.prepared, TableInputs):
            return self.prepared.target.classes
        if self.task == "labels":
            return [0, 1] * self.info.outputs
        own = self.prepared.classes if isinstance(self.prepared, VectorInputs) else []
        return [*own] or [*range(self.info.outputs)]

    @property
    def targets(self) -> list[str]:
        """The columns that it predicts."""
        if isinstance(self.prepared, TableInputs):
            return self.prepared.target.names
        one = self.task == "classification" or self.info.outputs == 1
        return ["label"] if one else [f"y{i}" for i in range(self.info.outputs)]

    @property
    def words(self) -> list[str]:
        """The columns that are text for it even where all that a file has in them looks like numbers, such as 10 %."""
        if not isinstance(self.prepared, TableInputs):
            return []
        of_words = [
            column.name
            for column in self.prepared.columns
            if isinstance(column, Categorical) and any(as_number(value) is None for value in column.values)
        ]
        return of_words + self.targets * any(isinstance(label, str) for label in self.prepared.target.classes)

    def predict(self, rows: Any) -> NDArray[Any]:
        """The answer for every row: a class (N,), numbers in the target's own units, (N,) or (N, C) of several targets.

        `rows` are a frame of pandas or polars, a dict of columns, a list of dicts, or an array or a list of lists with
        the columns of `columns` in that order; in raw units, with names of categories.
        """
        found: NDArray[Any] = self.answers(self.logits(self.inputs(rows)))
        return found

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """The probability of every class (N, C), in the order of `classes`; of labels that of the second of a pair."""
        return self.probabilities(self.logits(self.inputs(rows)))

    def inputs(self, rows: Any, noticed: Noticed | None = None) -> NDArray[np.float32]:
        """The network's inputs x (N, n) for rows as `predict` takes them."""
        self.require_rows()
        told = noticed or Noticed()
        x = self.encode(as_columns(rows, self.columns), told)
        if noticed is None and (told.odd or told.unknown):
            warn(printable("; ".join(told.lines())), Unseen, stacklevel=3)
        return x

    def encode(self, columns: Mapping[str, Any], noticed: Noticed) -> NDArray[np.float32]:
        """The same for cells by their columns' names."""
        self.require_rows()
        if isinstance(self.prepared, TableInputs):
            self._require_columns(columns)
            x: NDArray[np.float32] = self.prepared.encode(columns, noticed)
            return x
        return self._vectors(columns)

    def logits(self, x: NDArray[np.float32]) -> NDArray[Any]:
        """(N, outputs), some rows at a time."""
        backend = self.net.backend
        parts = [backend.to_host(self._forward(x[start : start + CHUNK])) for start in range(0, len(x), CHUNK)]
        return np.concatenate(parts) if parts else np.empty((0, self.info.outputs))

    def _forward(self, x: NDArray[np.float32]) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            z = self.net.forward(x)
        if not self.net.backend.xp.isfinite(z).all():
            raise DataError(NOT_FINITE.format(shown(self.info.name)))
        return z

    def answers(self, z: NDArray[Any]) -> Any:
        """What logits z (N, outputs) say."""
        classes = self.classes
        if self.task == "classification":
            return _array(classes or [])[z.argmax(axis=1)]
        if self.task == "labels":
            pairs = [_array(list(classes or [])[2 * i : 2 * i + 2]) for i in range(z.shape[1])]
            return np.stack([pair[(z[:, i] > 0).astype(int)] for i, pair in enumerate(pairs)], axis=1)
        values = z.astype(np.float64)
        if isinstance(self.prepared, TableInputs):
            with np.errstate(over="ignore"):
                values = np.array(self.prepared.target.centre) + np.array(self.prepared.target.scale) * values
            if not np.isfinite(values).all():
                raise DataError(NOT_FINITE.format(shown(self.info.name)))
        return values[:, 0] if values.shape[1] == 1 else values

    def probabilities(self, z: NDArray[Any]) -> NDArray[np.float64]:
        if self.task == "regression":
            raise UsageError(
                f"the model predicts numbers ({', '.join(map(shown, self.targets[:5]))}): there are no probabilities"
            )
        z = z.astype(np.float64)
        found: NDArray[np.float64] = softmax(z, axis=1) if self.task == "classification" else expit(z)
        return found

    def test(self, rows: Any, truth: Any = None) -> dict[str, Any]:
        """How good it is on rows with known answers: in the rows' own target column, or in `truth` (N,) or (N, C).

        The metrics by the names of summary.json; of a classification the confusion matrix, [true class][answer], and
        precision and recall of every class as well.
        """
        self.require_rows()
        columns = dict(as_columns(rows, self.columns if truth is not None else [*self.columns, *self.targets]))
        if truth is not None:
            for name, cells in zip(self.targets, np.asarray(truth).reshape(len(truth), -1).T, strict=True):
                columns[name] = cells.tolist()
        tested = self.tested([columns])
        tested.pop("notes")
        return tested

    def tested(self, pieces: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """The same for a file in pieces; what was noticed in it stands under "notes"."""
        self.require_rows()
        sums: dict[str, Any] = {}
        counts = np.zeros((self.info.outputs, self.info.outputs), np.int64)
        noticed, unanswered, unknown, strange, rows = Noticed(), 0, dict[str, None](), 0, 0
        for columns in pieces:
            known, odd, y = self._truth(columns, unknown)
            unanswered, strange = unanswered + int((~known & ~odd).sum()), strange + int(odd.sum())
            if not known.any():
                continue
            keep = np.flatnonzero(known)
            x = self.encode({name: _taken(cells, keep) for name, cells in columns.items()}, noticed)
            for start in range(0, len(x), CHUNK):
                part = slice(start, start + CHUNK)
                z, targets = self._forward(x[part]), y[part]
                with np.errstate(over="ignore", invalid="ignore"):  # told below
                    for name, value in self.net.loss.tally(z, targets, self.net.backend).items():
                        sums[name] = sums.get(name, 0) + value
                if self.task == "classification":
                    counts += confused(targets, self.net.backend.to_host(z).argmax(axis=1), len(counts))
            rows += len(x)
        if not rows:
            raise DataError(
                f"no row has a known {', '.join(map(shown, self.targets[:5]))}: there is nothing to test on"
            )
        notes = noticed.lines()
        if unknown:
            some = ", ".join(repr(word[:40]) for word in list(unknown)[:3])
            notes.append(f"{strange:,} rows of classes that the model does not know ({some}) are left out")
        if unanswered:
            named = ", ".join(map(shown, self.targets[:5]))
            notes.append(f"{unanswered:,} rows without a {named} are left out")
        with np.errstate(over="ignore", invalid="ignore"):
            found: dict[str, Any] = {f"test_{name}": value for name, value in self.net.loss.score(sums).items()}
        if not np.isfinite([*found.values()]).all():
            raise DataError(f"{', '.join(map(shown, self.targets[:5]))}: values too large to test on")
        found["rows"] = rows
        if self.task == "classification":
            found["guessing"] = 100 * (1 - float(counts.sum(axis=1).max()) / rows)
            found["classes"] = self.classes
            found["confusion"] = counts.tolist()
            found["per_class"] = per_class(counts, self.classes or [])
        return found | {"notes": notes}

    def export(self, path: Path | str) -> dict[str, Any]:
        """Write it to a file .onnx, raw rows in and answers out, see trained/onnx.py; its inputs and outputs."""
        from minisig.trained.onnx import export

        return export(self, Path(path))

    def sample(
        self,
        prompt: str = "",
        length: int = 400,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
    ) -> str:
        """What a language model writes after the prompt, so many tokens of it; the same seed writes the same."""
        drawing = Drawing(temperature, top_k, top_p)
        return "".join(sample(self.net, self.text, prompt, length, drawing, seed))

    def score(self, content: str | bytes) -> dict[str, Any]:
        """Perplexity of a text and its number of tokens, of characters the bits for each, too."""
        return writing.score(self.net, self.text, content)

    def step(self, tokens: Any, states: States | None = None) -> tuple[NDArray[np.float64], States]:
        """The probability of every token to come next (V,), and the states after these tokens; to build on.

        Tokens are numbers, or a text. The states go into the next call; without any the text begins here.
        """
        own = [self.text.start] if states is None else []
        read = self.text.begin(tokens).tolist() if isinstance(tokens, str | bytes) else [int(one) for one in tokens]
        if not own + read:
            raise UsageError("expected at least one token to go on from, got none")
        z, states = step(self.net, own + read, states or {})
        return softmax(z.astype(np.float64)), states

    @property
    def text(self) -> TextInputs:
        """The tokens of a language model."""
        if not isinstance(self.prepared, TextInputs):
            raise UsageError(f"{self.info.name} is no model of a text: it can neither sample nor score one")
        return self.prepared

    def require_rows(self) -> None:
        if self.task == "sequences":
            raise UsageError(
                f"{self.info.name} is a model of sequences, which does not predict from rows: see minisig sample, score"
            )

    def _require_columns(self, columns: Mapping[str, Any]) -> None:
        missing = [name for name in self.columns if name not in columns]
        if missing:
            named = ", ".join(map(_quoted, missing[:5])) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            have = ", ".join(map(_quoted, list(columns)[:12])) + (" …" if len(columns) > 12 else "")
            raise DataError(f"no column {named}, which the model needs; there are {have or 'none'}")

    def _vectors(self, columns: Mapping[str, Any]) -> NDArray[np.float32]:
        n = self.info.inputs
        names = self.columns
        if not all(name in columns for name in names):
            names = [name for name in columns if name not in self.targets]
            if len(names) == n + len(self.targets):
                names = names[:n]
            if len(names) != n:
                raise DataError(
                    f"expected {n} columns of numbers, in the order of the training data or named x0 to x{n - 1}, got "
                    f"{len(columns)}"
                )
        x = np.stack([_numbers(columns[name], name) for name in names], axis=1)
        if not np.isfinite(x).all():
            row, column = np.argwhere(~np.isfinite(x))[0]
            raise DataError(f"row {row + 1:,}, column {column + 1:,}: expected a number, there is none")
        with np.errstate(over="ignore"):
            found = self.prepared(x) if isinstance(self.prepared, VectorInputs) else x.astype(np.float32)
        if not np.isfinite(found).all():
            row, column = np.argwhere(~np.isfinite(found))[0]
            raise DataError(f"row {row + 1:,}, column {column + 1:,}: too large for float32 beside the training data")
        return found

    def _truth(
        self, columns: Mapping[str, Any], unknown: dict[str, None]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[Any]]:
        """Which rows have a known answer, which are of an unknown class, and the known as the loss takes them."""
        found = []
        odd = np.zeros(len(next(iter(columns.values()))), np.bool_)
        for i, name in enumerate(self._answered(columns)):
            if self.task == "regression":
                values = _numbers(columns[name], name)
                values = np.where(np.isfinite(values), values, np.nan)
                if isinstance(self.prepared, TableInputs):
                    with np.errstate(over="ignore"):
                        values = (values - self.prepared.target.centre[i]) / self.prepared.target.scale[i]
                found.append(values)
                continue
            classes = list(self.classes or [])[2 * i : 2 * i + 2] if self.task == "labels" else self.classes or []
            number = {as_word(label): place for place, label in enumerate(classes)}
            words = [as_word(cell) if not isinstance(cell, str) else cell.strip() for cell in columns[name]]
            words = [word if word in number else _plain(word) for word in words]
            strange = [row for row, word in enumerate(words) if word not in number and not is_missing(word)]
            if len(unknown) < MAX_NOTICED:
                unknown.update(dict.fromkeys(words[row] for row in strange[:MAX_NOTICED]))
            odd[strange] = True
            found.append(np.array([number.get(word, np.nan) for word in words], np.float64))
        y = np.stack(found, axis=1)
        known: NDArray[np.bool_] = np.asarray(~np.isnan(y).any(axis=1), np.bool_)
        return known, odd, y[known, 0].astype(np.int64) if self.task == "classification" else y[known]

    def _answered(self, columns: Mapping[str, Any]) -> list[str]:
        """The columns with the answers: by their names, or behind inputs that are known by their order."""
        absent = [name for name in self.targets if name not in columns]
        if not absent:
            return self.targets
        if not isinstance(self.prepared, TableInputs) and len(columns) == self.info.inputs + len(self.targets):
            return list(columns)[self.info.inputs :]
        raise DataError(f"no column {absent[0]!r}, the answers to test by; `minisig predict` needs none")


def _plain(word: str) -> str:
    """A number without the zeros behind its point."""
    try:
        return as_word(float(word))
    except ValueError:
        return word


def _quoted(name: str) -> str:
    return repr(shown(name))


def _array(classes: list[Class]) -> NDArray[Any]:
    """Classes as numbers if all of them are, else as they are."""
    kinds = {type(label) for label in classes}
    return np.array(classes, dtype=None if kinds <= {int, float} else object)


def _numbers(cells: Any, name: str) -> NDArray[np.float64]:
    if isinstance(cells, np.ndarray):
        return cells.astype(np.float64)
    from minisig.data.cells import numbers

    words = [as_word(cell) if not isinstance(cell, str) else cell for cell in cells]
    read = numbers(words)
    if read.odd:
        raise DataError(f"column {_quoted(name)}: expected numbers, got {next(iter(read.odd))[:40]!r}")
    return read.values


def _taken(cells: Any, rows: NDArray[np.int64]) -> Any:
    return cells[rows] if isinstance(cells, np.ndarray) else [cells[row] for row in rows.tolist()]


def load(path: Path | str, backend: str | None = None) -> Model:
    """The model in a run's folder or in its best.safetensors, which is all that is needed of it."""
    path = Path(path)
    if backend:
        require_known("backend", backend, BACKENDS)
    file = path / BEST if path.is_dir() else path
    if not file.exists():
        where = "is not finished, or part of a comparison, which keeps no models" if path.is_dir() else "no such file"
        raise DataError(f"no model in {path}: {where}; expected a run's folder or its {BEST}")
    if file.suffix != ".safetensors":
        raise UsageError(f"{path}: expected a run's folder or its {BEST}, a .safetensors file")
    info, params = read_model(file)
    if info is None:
        raise DataError(
            f"{file}: holds parameters alone, as minisig before 0.2 wrote them, and not how its inputs are made: train "
            f"it again, or see ms.restore"
        )
    try:
        net = network_of(info, params, file, backend)
    except BackendUnavailable as error:
        if backend:
            raise
        raise BackendUnavailable(f"{error}; or use the model on another backend, as with --backend numpy") from None
    return Model(net, info, model_config(info, file))
