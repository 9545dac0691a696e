"""Is the model good? What a summary says of that beside its metrics, from rows held out.

guessing        the error, or rmse, of an answer that is always the same
confusion       how often each class (row) was given each answer (column); precision and recall of every class
mistakes        rows that were answered wrongly with the greatest confidence
residuals       some targets beside what was predicted, in their own units
looked          of a text: the gradient of the last guess's loss with respect to every token before it, its norm
importance      how much worse the validation loss becomes when a column's cells are shuffled among the rows
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from minisig.data import Dataset, Split, Text
from minisig.data.prepared import TableInputs, TextInputs, VectorInputs
from minisig.diagnostics.confusion import confused, per_class
from minisig.diagnostics.writing import looked_at
from minisig.network import Network
from minisig.seeds import stream
from minisig.training.evaluate import evaluate

MAX_CLASSES = 50  # of a confusion matrix
MISTAKES = 24
LOOKED = 48  # tokens before the guess
MAX_PIXELS = 4096  # of an image that is kept with its mistake
RESIDUALS = 500
IMPORTANCE_ROWS, IMPORTANCE_COLUMNS, SHUFFLES = 1000, 100, 3


def quality(net: Network, data: Dataset) -> dict[str, Any]:
    """What the summary holds under that name; nothing for sequences."""
    if isinstance(data.prepared, TextInputs) and isinstance(data.valid, Text):
        tokens = data.valid.tokens[: LOOKED + 1]
        words = [data.prepared.decode([token]) for token in net.backend.to_host(tokens)[:-1].tolist()]
        return {"looked": {"tokens": words, "gradient": looked_at(net, tokens).tolist()}}
    if not isinstance(data.test, Split):
        return {}
    logits = np.concatenate([net.backend.to_host(net.forward(batch.x)) for batch in data.test.windows()])
    truth = np.asarray(net.backend.to_host(data.test.y))
    found: dict[str, Any] = {}
    if data.loss == "softmax-cross-entropy":
        found = _of_classes(logits, truth, data, net.backend.to_host)
    elif data.loss == "mean-squared-error" and isinstance(data.prepared, TableInputs):
        found = _of_numbers(logits, truth.reshape(logits.shape), data.prepared)
    if isinstance(data.prepared, TableInputs) and len(data.prepared.columns) <= IMPORTANCE_COLUMNS:
        found["importance"] = importance(net, data.valid.head(IMPORTANCE_ROWS), data.prepared)
    return found


def class_names(data: Dataset) -> Sequence[Any]:
    match data.prepared:
        case TableInputs() as table if table.target.task == "classification":
            return table.target.classes
        case VectorInputs(classes=classes) if classes:
            return classes
    return range(data.classes)


def _of_classes(z: NDArray[Any], truth: NDArray[Any], data: Dataset, to_host: Callable[[Any], Any]) -> dict[str, Any]:
    names, answers = class_names(data), z.argmax(axis=1)
    usual = int(np.bincount(to_host(data.train.y), minlength=data.classes).argmax())
    found: dict[str, Any] = {
        "guessing": 100 * float((truth != usual).mean()),
        "usual": names[usual],
        "rows": len(truth),
    }
    if data.classes <= MAX_CLASSES:
        counts = confused(truth, answers, data.classes)
        found |= {"classes": [*names], "confusion": counts.tolist(), "per_class": per_class(counts, names)}
    wrong = np.flatnonzero(answers != truth)
    chances = softmax(z[wrong].astype(np.float64), axis=1).max(axis=1)
    rows = data.rows.get("test")
    if data.image and data.image[0] * data.image[1] <= MAX_PIXELS:
        found["image"] = [*data.image]
    found["mistakes"] = [
        {
            "row": int(rows[wrong[i]] if rows is not None else wrong[i]) + 1,
            "class": names[int(truth[wrong[i]])],
            "answer": names[int(answers[wrong[i]])],
            "p": float(chances[i]),
            **({"image": _pixels(to_host(data.test.x[int(wrong[i])]))} if "image" in found else {}),
        }
        for i in np.argsort(-chances, kind="stable")[:MISTAKES].tolist()
    ]
    return found


def _pixels(x: NDArray[Any]) -> str:
    """An image of numbers in [−1, 1], a byte for every pixel, in base64."""
    return b64encode(((np.clip(x, -1, 1) + 1) * 127.5).round().astype(np.uint8).tobytes()).decode()


def _of_numbers(z: NDArray[Any], truth: NDArray[Any], table: TableInputs) -> dict[str, Any]:
    centre, scale = np.array(table.target.centre), np.array(table.target.scale)
    some = np.unique(np.linspace(0, len(z) - 1, min(RESIDUALS, len(z))).astype(int))
    in_units = [(centre + scale * part[some].astype(np.float64)) for part in (truth, z)]
    guess = float(np.sqrt(((truth.astype(np.float64) * scale) ** 2).mean()))  # the training mean is 0
    told, predicted = (values[:, 0].tolist() for values in in_units)
    return {"guessing": guess, "rows": len(z), "residuals": {"target": told, "prediction": predicted}}


def importance(net: Network, part: Split, table: TableInputs) -> dict[str, float]:
    """The rise of the loss by each column, the mean of a few shuffles; the most important first."""
    before, rises = evaluate(net, part).loss, {}
    xp, x = part.xp, part.x
    for i, (name, span) in enumerate(table.spans.items()):
        losses = []
        for shuffle in range(SHUFFLES):
            shuffled = x.copy()
            order = stream(0, "importance", i * SHUFFLES + shuffle).permutation(len(x))
            shuffled[:, span] = x[:, span][xp.asarray(order)]
            losses.append(evaluate(net, Split(shuffled, part.y, xp)).loss)
        rises[name] = float(np.mean(losses)) - before
    finite = {name: rise for name, rise in rises.items() if np.isfinite(rise)}
    return dict(sorted(finite.items(), key=lambda item: -item[1]))
