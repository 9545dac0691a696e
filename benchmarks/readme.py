"""Put the measured numbers into README.md, between its <!-- name --> … <!-- /name --> marks.

python -m benchmarks.readme                 # write
python -m benchmarks.readme --check         # fail if README.md and benchmarks/results differ
"""

import json
import re
import sys
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.paper import BUDGET
from benchmarks.speed.report import markdown
from minisig.lessons import titles

MACHINE = "Measured on {cpu}, {threads} of {cores} cores; Python {python}, NumPy {numpy}, SciPy {scipy}."
TRACKING = (
    "On mnist-deep with batches of 50 the norms of all gradients cost {share:.1%} of a step of {step_ms:.0f} ms "
    "({share_10:.1%} to {share_90:.1%} in eight of ten steps; one thread, CPU time)."
)
AUGMENTED = (
    "An image takes {microseconds:.0f} µs, {ratio:.1f} times less than image by image with scipy.ndimage "
    "({ratio_10:.1f} to {ratio_90:.1f} times in eight of ten trials; one thread, CPU time). A thread beside training "
    "makes the next batch while the network works on this one: of {steps} steps of the deep network {ready} found "
    "theirs ready."
)
FAULTS = (
    "`python -m benchmarks.faults` has killed {killed} runs with SIGKILL, at any moment or in the middle of a write, "
    "and resumed them, and has let {writes:,} writes fail or tear: every run ended with the bits of the undisturbed "
    "one. Of {damaged:,} damaged files each was refused in one line or read to something valid. A comparison of {runs} "
    "runs whose workers were killed {deaths} times came to the same table."
)
REPORT = (
    "The report of a run with {steps:,} logged steps has {megabytes:.1f} MB, and a browser that has just been started "
    "opens it in {median_open_seconds:.1f} s (`python -m benchmarks.report`)."
)
RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parent.parent / "README.md"


def blocks() -> dict[str, str]:
    """Every generated part of the README, by its name."""
    quickstart, inspected, recurrent = _read("quickstart"), _read("inspect"), _read("recurrent")
    return {
        "output": _indented(quickstart["output"]),
        "digits": _errors(quickstart["digits"]),
        "deep": _errors(quickstart["deep"]),
        "xor": _xor(quickstart["xor"]),
        "inspect": _indented(inspected["text"]),
        "tracking": TRACKING.format(**inspected["tracking"]),
        "mnist": _mnist(_read("mnist")["rows"]),
        "augment": AUGMENTED.format(**_read("augment")),
        "paper": _paper(),
        "copy": _copy(recurrent["copy"]["rows"]),
        "delays": _copy(recurrent["delays"]["rows"]),
        "ptb": _ptb(recurrent["ptb"]["rows"]),
        "sklearn": _sklearn(_read("sklearn")["rows"]),
        "lessons": _lessons(),
        "machine": MACHINE.format(**quickstart["machine"]),
        "faults": _faults(_read("faults")["parts"]),
        "report": REPORT.format(**_read("report")),
        **markdown(_read("speed")),
    }


def _read(name: str) -> Any:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise SystemExit(f"{path} is not there; make it with python -m benchmarks.{name}")
    return json.loads(path.read_text(encoding="utf-8"))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def _errors(rows: list[dict[str, Any]]) -> str:
    lines = ["| init | test error %, each seed | mean | seconds a run |", "| --- | --- | --- | --- |"]
    for row in rows:
        each = ", ".join(f"{error:.2f}" for error in row["test_errors"])
        lines.append(f"| {row['init']} | {each} | {mean(row['test_errors']):.2f} | {row['seconds']:.1f} |")
    return "\n".join(lines)


def _mnist(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| experiment | init | iterations | validation error % | test error % | seconds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        lines.append(
            f"| {row['experiment']} | {row['init']} | {row['iterations']:,} | {row['valid_error']:.2f} "
            f"| {row['test_error']:.2f} | {row['seconds']:.0f} |"
        )
    return "\n".join(lines)


def _paper() -> str:
    """The reduced comparisons that have been made, a line with our numbers and one with the paper's."""
    names = ["random+ep", "ortho+ep", "lsuv", "ortho", "glorot", "lecun"]
    lines = [
        "| experiment | seeds × iterations |  | " + " | ".join(names) + " | other |",
        "| --- | --- | --- |" + " --- |" * (len(names) + 1),
    ]
    for name in BUDGET:
        if not (RESULTS / "paper" / f"{name}.json").exists():
            continue
        found = _read(f"paper/{name}")
        rows = {row["init"]: row for row in found["rows"]}
        others = [row for row in found["rows"] if row["init"] not in names]
        digits = 2 if found["metric"] == "test_error" else 1 if rows["random+ep"]["mean"] > 10 else 3

        def ours(row: dict[str, Any], digits: int = digits) -> str:
            return f"{row['mean']:.{digits}f}" + (f" ± {row['std']:.{digits}f}" if row["std"] else "")

        def theirs(row: dict[str, Any], digits: int = digits) -> str:
            if row["paper"] is None:
                return "–"
            std = row["paper_std"]
            return f"{row['paper']:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")

        unit = "test error %" if found["metric"] == "test_error" else "test perplexity"
        for who, cell in (("here", ours), ("paper", theirs)):
            if who == "paper" and not any(row["paper"] for row in found["rows"]):
                continue
            head = f"| {name}, {unit} | {found['seeds']} × {found['iterations']:,} |" if who == "here" else "|  |  |"
            cells = [cell(rows[init]) for init in names]
            cells.append(", ".join(f"{row['init']} {cell(row)}" for row in others) or "–")
            lines.append(f"{head} {who} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _sklearn(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| classifier | hidden layers | test error %, each seed | mean | CPU seconds a fit |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        each = ", ".join(f"{error:.2f}" for error in row["test_errors"])
        hidden = f"{len(row['hidden'])} × {row['hidden'][0]}"
        lines.append(
            f"| {row['classifier']} | {hidden} | {each} | {mean(row['test_errors']):.2f} | {row['seconds']:.0f} |"
        )
    return "\n".join(lines)


def _faults(parts: dict[str, dict[str, int]]) -> str:
    if misses := sum(part["misses"] for part in parts.values()):
        raise SystemExit(f"the fault campaign has {misses} misses: nothing to be proud of")
    damaged = [parts[name] for name in ("damaged-files", "damaged-data")]
    return FAULTS.format(
        killed=parts["kills"]["runs killed"],
        writes=parts["failing-writes"]["failed"] + parts["failing-writes"]["torn"],
        damaged=sum(count for part in damaged for what, count in part.items() if what not in ("misses", "seconds")),
        runs=parts["dying-workers"]["runs"],
        deaths=parts["dying-workers"]["workers killed"],
    )


def _xor(rows: list[dict[str, Any]]) -> str:
    lines = ["| init | mean test error % | median | seeds above 10 % |", "| --- | --- | --- | --- |"]
    for row in rows:
        errors = row["test_errors"]
        stuck = sum(error > 10 for error in errors)
        lines.append(f"| {row['init']} | {mean(errors):.1f} | {median(errors):.1f} | {stuck} of {len(errors)} |")
    return "\n".join(lines)


def _copy(rows: list[dict[str, Any]]) -> str:
    lines = ["|  | recall %, each seed | perplexity | memoryless | seconds a run |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        runs = row["runs"]
        recall = ", ".join(f"{run['test_recall']:.1f}" for run in runs)
        perplexity = mean(run["test_perplexity"] for run in runs)
        seconds = mean(run["seconds"] for run in runs)
        memoryless = runs[0]["baselines"]["memoryless"]
        lines.append(f"| {row['variant']} | {recall} | {perplexity:.4f} | {memoryless:.4f} | {seconds:.0f} |")
    return "\n".join(lines)


def _ptb(rows: list[dict[str, Any]]) -> str:
    baselines = rows[0]["runs"][0]["baselines"]
    lines = ["|  | iterations | validation perplexity | test perplexity | seconds |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        (run,) = row["runs"]
        lines.append(
            f"| {row['variant']} | {run['iterations']:,} | {run['valid_perplexity']:.1f} "
            f"| {run['test_perplexity']:.1f} | {run['seconds']:.0f} |"
        )
    lines.append(f"| word frequencies alone | – | {baselines['unigram']:.1f} | – | – |")
    return "\n".join(lines)


def _lessons() -> str:
    rows = [f"| `python -m minisig.lessons.{name}` | {title} |" for name, title in titles().items()]
    return "\n".join(["| lesson |  |", "| --- | --- |", *rows])


def rendered(text: str) -> str:
    """The README with every generated part made anew."""
    for name, content in blocks().items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise SystemExit(f"README.md must hold <!-- {name} --> … <!-- /{name} --> once")
        text = pattern.sub(lambda match, content=content: match[1] + content + "\n" + match[2], text)  # type: ignore[misc]
    return text


def main() -> None:
    text = README.read_text(encoding="utf-8")
    fresh = rendered(text)
    if "--check" not in sys.argv:
        README.write_text(fresh, encoding="utf-8")
    elif fresh != text:
        raise SystemExit("README.md differs from benchmarks/results; run: python -m benchmarks.readme")


if __name__ == "__main__":
    main()
