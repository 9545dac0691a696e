"""Characters a second that an LSTM learns and writes, beside PyTorch, on one thread.

Learning is the workload text-lstm. To write, PyTorch goes token by token through embedding, LSTM and output layer in
inference mode, and draws from the softmax with torch.multinomial; ours is what `minisig sample` does.
"""

import json
import sys
from collections.abc import Callable
from time import process_time
from typing import Any

from benchmarks.speed.measure import interleaved, ratios, spread
from benchmarks.speed.worker import fresh
from benchmarks.speed.worker import measure as measure_steps
from benchmarks.speed.workloads import OURS, TORCH, WORKLOADS, Case, Step, build
from minisig.data.prepared import TextInputs
from minisig.diagnostics.writing import Drawing, sample

WORKLOAD = "text-lstm"
PROMPT, LENGTH = "Once upon a time", 100  # of a step

State = Any
Advance = Callable[[Any, State], tuple[Any, State]]  # (T,) tokens and the state before → logits (T, V), state after


def ours(case: Case) -> Step:
    text = text_of(case)
    return Step(lambda: "".join(sample(case.net, text, PROMPT, LENGTH, Drawing(), seed=0)), dict)


def pytorch(case: Case) -> Step:
    import torch

    text, advance = text_of(case), pytorch_model(case)
    start = torch.tensor([text.start, *text.encode(PROMPT).tolist()])

    def run() -> str:
        written: list[int] = []
        with torch.inference_mode():
            z, state = advance(start, None)
            for _ in range(LENGTH):
                token = torch.multinomial(torch.softmax(z[-1], -1), 1)
                written.append(int(token))
                z, state = advance(token, state)
        return text.decode(written)

    return Step(run, dict)


def pytorch_model(case: Case) -> Advance:
    """The same network with the same weights."""
    from benchmarks.speed.pytorch import model_of

    embedding, lstm, dense = model_of(case).values()

    def advance(tokens: Any, state: State) -> tuple[Any, State]:
        h, state = lstm(embedding(tokens), state)
        return dense(h), state

    return advance


def text_of(case: Case) -> TextInputs:
    assert isinstance(case.data.prepared, TextInputs)
    return case.data.prepared


def measure(rounds: int, seconds: float) -> dict[str, Any]:
    """Of learning and of writing: characters a second by peer, and how many times ours PyTorch takes."""
    config = WORKLOADS[WORKLOAD].config
    chosen: Any = config.data
    learned = measure_steps(WORKLOAD, 1, rounds, seconds)
    written = fresh("benchmarks.speed.writing", rounds, seconds, threads=1)
    settings = {"hidden": config.network.hidden, "batch_size": config.batch_size, "steps": chosen.steps}
    sizes = {"learning": (learned, config.batch_size * chosen.steps), "writing": (written, LENGTH)}
    return {"settings": settings} | {
        what: {
            "characters_per_second": {peer: round(1e3 * n / ms[0]) for peer, ms in found["milliseconds"].items()},
            "ratios": found["ratios"],
        }
        for what, (found, n) in sizes.items()
    }


def main(rounds: int, seconds: float) -> None:
    case = build(WORKLOADS[WORKLOAD].config)
    times = interleaved({OURS: ours(case), TORCH: pytorch(case)}, process_time, rounds, seconds)
    found = {
        "milliseconds": {peer: [1e3 * value for value in spread(values)] for peer, values in times.items()},
        "ratios": {TORCH: ratios(times[TORCH], times[OURS])},
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
