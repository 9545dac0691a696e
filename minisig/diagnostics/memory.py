"""What a recurrent network remembers, trained or not, measured on the copy-memory task.

    recall          a ridge regression reads the three symbols from the state before the first has to be said
    sensitivity     ‖∂h_T/∂h_1‖₂, the largest amplification of a change of the first state until the last

The first says how much is still there, the second how far a gradient can reach back.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minisig.data import Dataset
from minisig.data.copy_memory import REMEMBERED, SYMBOLS
from minisig.data.dataset import PARTS
from minisig.layers import state_activation
from minisig.network import Network

# The one that does best on the validation part is taken. The least of them is as if the states, which lie in (0, 1),
# had noise of 3e-5: without it the decoder reads symbols from the last bits of states that have long been forgotten.
RIDGES = 10.0 ** np.arange(-9, 1)
WATCHED = 10  # sequences whose Jacobians are multiplied out


@dataclass(frozen=True)
class Memory:
    recall: float  # percent of symbols decoded on the test part; guessing gives 12.5
    sensitivity: float | None  # median over some sequences; None for an LSTM


def remembered(net: Network, data: Dataset) -> Memory:
    """The memory of the recurrent network `net` for the copy-memory task `data`."""
    features, targets = {}, {}
    for part in PARTS:
        sequences = getattr(data, part)
        features[part] = states_before_recall(net, sequences)
        targets[part] = sequences.y[:, sequences.recall]
    decoders = [_decoder(features["train"], targets["train"], ridge) for ridge in RIDGES]
    best = max(decoders, key=lambda decoder: _accuracy(decoder, features["valid"], targets["valid"]))
    recall = 100 * _accuracy(best, features["test"], targets["test"])
    return Memory(recall, sensitivity(net, data.test[:WATCHED].x))


def sensitivity(net: Network, tokens: Any) -> float | None:
    """Median over the sequences of ‖∂h_T/∂h_1‖₂ in the last layer of states h_t = f(z_t), None if there is none."""
    found = [(n, layer) for n, layer in net.layers.items() if state_activation(layer) and "Wh" in layer.params]
    if not found:
        return None
    last: Any
    last_name, last = found[-1]
    z = next(last.logits(y, cache) for name, y, cache in net.steps(tokens) if name == last_name)
    slope = last.activation.derivative(net.backend.to_host(z).astype(np.float64))  # (T, B, H)
    Wh = net.backend.to_host(last.params["Wh"]).astype(np.float64)
    J = np.broadcast_to(np.eye(len(Wh)), (slope.shape[1], *Wh.shape))
    for step in slope[1:]:
        J = (J @ Wh) * step[:, None, :]  # ∂h_t/∂h_1, a matrix for each sequence
    return float(np.median(np.linalg.norm(J, ord=2, axis=(1, 2))))


def states_before_recall(net: Network, sequences: Any) -> Any:
    """(N, H + 1): state of the last recurrent layer when the trigger has been read, and a constant."""
    states = []
    for batch in sequences.windows():
        _, after = net.advance(batch.x[: batch.recall.start])
        state = next(reversed(after.values()))
        state = state[0] if isinstance(state, tuple) else state
        states.append(net.backend.to_host(state).astype(np.float64))
    h = np.concatenate(states)
    return np.concatenate([h, np.ones((len(h), 1))], axis=1)


def _decoder(h: Any, symbols: Any, ridge: float) -> Any:
    """(H + 1, 24): weights of least squared error on one-hot symbols, the constant's not penalized."""
    targets = np.eye(SYMBOLS)[symbols].reshape(len(h), -1)
    penalty = np.full(h.shape[1], ridge * len(h))
    penalty[-1] = 0.0
    return np.linalg.solve(h.T @ h + np.diag(penalty), h.T @ targets)


def _accuracy(weights: Any, h: Any, symbols: Any) -> float:
    said = (h @ weights).reshape(len(h), REMEMBERED, SYMBOLS).argmax(axis=2)
    return float((said == symbols).mean())
