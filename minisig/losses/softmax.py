"""Softmax cross-entropy: one class out of C.

loss   L = −(1/N) Σ_i ln p_i[label_i],   p = softmax(z)         z (…, C), labels (…) of 0 … C − 1
dz       = (p − onehot(labels)) / N
"""

from math import exp, log
from typing import Any

from minisig.backends import Array, Backend
from minisig.errors import UsageError
from minisig.losses.base import Loss, Sums

HIGHEST = 700.0  # of a loss whose exponential is a float


class SoftmaxCrossEntropy(Loss):
    """−ln p of the right class, p = softmax(z)."""

    metric_names = ("perplexity", "bits", "error", "recall")

    def __init__(self, bits: bool = False) -> None:
        self.bits = bits  # of characters and bytes that is what people compare

    def checked(self, z: Array, targets: Any, backend: Backend) -> Array:
        labels = backend.xp.asarray(targets)
        if labels.shape != z.shape[:-1]:
            raise UsageError(f"expected labels of shape {z.shape[:-1]}, one for each prediction, got {labels.shape}")
        if labels.dtype.kind not in "iu" or not backend.within(labels, z.shape[-1]):
            reach = f" from {labels.min()} to {labels.max()}" if labels.dtype.kind in "iuf" else ""
            raise UsageError(
                f"expected labels that are integers from 0 to {z.shape[-1] - 1}, got {labels.dtype}{reach}"
            )
        return labels

    def rows(self, z: Array, targets: Array, backend: Backend) -> tuple[Array, Array]:
        return backend.softmax_cross_entropy(z, targets)

    def sums(self, z: Array, targets: Array, backend: Backend, recall: slice | None) -> dict[str, Any]:
        right = z.argmax(axis=-1) == targets
        found: dict[str, Any] = {"wrong": int((~right).sum())}
        if targets.ndim == 2:
            found["tokens"] = right.size
        if recall is not None:
            found |= {"recalled": int(right[recall].sum()), "asked": right[recall].size}
        return found

    def metrics(self, sums: Sums) -> dict[str, float]:
        """Of tokens e^loss, of characters loss / ln 2, too; the percentage of wrong predictions; that of right ones
        among tokens to remember."""
        perplexity = exp(min(sums["loss"] / sums["count"], HIGHEST))
        found = {"perplexity": perplexity} if "tokens" in sums else {}
        if self.bits:
            found["bits"] = sums["loss"] / sums["count"] / log(2)
        found["error"] = 100 * sums["wrong"] / sums["count"]
        if sums.get("asked"):
            found["recall"] = 100 * sums["recalled"] / sums["asked"]
        return found
