"""Put the measured numbers into README.md, between its <!-- name --> … <!-- /name --> marks.

python -m benchmarks.readme                 # write
python -m benchmarks.readme --check         # fail if README.md and benchmarks/results differ
"""

import re
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from textwrap import fill
from typing import Any

import click

from benchmarks.paper import BUDGET
from benchmarks.record import read, table, unwrapped
from benchmarks.speed.report import markdown
from benchmarks.speed.workloads import OURS
from benchmarks.table_report import result_rows
from benchmarks.writing import result_rows as writing_rows
from benchmarks.writing import speed_rows
from minisig.experiments import PAPER_INITS
from minisig.lessons import titles
from minisig.report.labels import label

MACHINE = (
    "The quick start and XOR were measured on {cpu}, {threads} of {cores} cores; Python {python}, NumPy {numpy}, "
    "SciPy {scipy}."
)
TRACKING = (
    "On mnist-deep with batches of 50 the norms of all gradients cost {share:.1%} of a step of {step_ms:.0f} ms "
    "({share_10:.1%} to {share_90:.1%} in eight of ten steps; one thread, CPU time)."
)
AUGMENTED = (
    "A thread beside training makes the next batch while the network works on this one: over {steps} steps of "
    "{step_ms:.0f} ms the deep network waited {waiting:.1%} of its time for batches. What one costs is under "
    "[Speed](#speed)."
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
MUTANTS = (
    "How much the tests notice is measured: of {mutants} small mistakes, each another operator, number or decorator at "
    "one of {places} places in `layers/`, `gradients.py`, `initializers/` and `theory/`, they notice {noticed} "
    "({share:.0%}). The others are listed in `benchmarks/results/mutants.json`."
)
SECONDS = {"mnist-shallow": 2000, "mnist-deep": 7300, "mnist-deep-augmented": 35_400}  # of training, in the paper
README = Path(__file__).parent.parent / "README.md"


def blocks() -> dict[str, str]:
    """Every generated part of the README, by its name."""
    quickstart, speed = _read("quickstart"), _read("speed")
    return {
        "output": _indented(quickstart["output"]),
        "digits": _errors(quickstart["digits"]),
        "deep": _errors(quickstart["deep"]),
        "xor": _xor(quickstart["xor"]),
        "inspect": _indented(_read("inspect")["text"]),
        "tracking": TRACKING.format(**speed["tracking"][OURS]),
        "fast": _fast(_read("fast")["rows"]),
        "mnist": _mnist(_read("mnist")["rows"]),
        "augment": AUGMENTED.format(**_read("augment")),
        "paper": _paper(),
        "copy": _copy(_read("recurrent-copy")["rows"]),
        "delays": _copy(_read("recurrent-delays")["rows"]),
        "ptb": _ptb(_read("recurrent-ptb")["rows"]),
        "tables": _tables(_read("tables")["rows"]),
        "writing": _once_measured("writing", "", lambda found: writing_rows(found["rows"])),
        "writing-speed": _once_measured("writing-speed", " speed", speed_rows),
        "sklearn": _sklearn(_read("sklearn")["rows"]),
        "lessons": _lessons(),
        "machine": MACHINE.format(**quickstart["machine"]),
        "faults": _faults(_read("faults")["parts"]),
        "report": REPORT.format(**_read("report")),
        "mutants": _mutants(_read("mutants")),
        **markdown(speed),
    }


def _read(name: str) -> Any:
    if (found := read(name)) is None:
        raise SystemExit(f"results/{name}.json is not there; README.md lists the commands that make them")
    return found


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def _errors(rows: list[dict[str, Any]]) -> str:
    lines = [["init", "test error %, each seed", "mean", "seconds per run"]]
    lines += [[row["init"], *_over_seeds(row["test_errors"]), f"{row['seconds']:.1f}"] for row in rows]
    return table(lines)


def _over_seeds(errors: list[float]) -> list[str]:
    return [", ".join(f"{error:.2f}" for error in errors), f"{mean(errors):.2f}"]


def _mnist(rows: list[dict[str, Any]]) -> str:
    lines = [["experiment", "init", "iterations", "validation error %", "test error %", "seconds"]]
    for row in rows:
        errors = f"{row['valid_error']:.2f}", f"{row['test_error']:.2f}"
        lines.append([row["experiment"], row["init"], f"{row['iterations']:,}", *errors, f"{row['seconds']:.0f}"])
    return table(lines)


def _fast(rows: list[dict[str, Any]]) -> str:
    head = ["experiment", "learning rate", "batch × iterations", "test error %, each seed", "mean", "paper"]
    lines = [[*head, "seconds of the longest run", "the paper's, on a TITAN X"]]
    for row in rows:
        settings = f"{row['learning_rate']:g} → 0", f"{row['batch_size']} × {row['iterations']:,}"
        theirs = SECONDS.get(row["experiment"].removesuffix("-fast"))
        figures = [*_over_seeds(row["test_error"]), f"{row['paper']:.2f}", f"{max(row['seconds']):,.0f}"]
        lines.append([row["experiment"], *settings, *figures, f"{theirs:,}" if theirs else "–"])
    return table(lines)


def _paper() -> str:
    """The reduced comparisons, a line with our numbers and one with the paper's."""
    names = list(PAPER_INITS)
    lines = [["experiment", "seeds × iterations", "", *names, "other"]]
    for name in BUDGET:
        found = _read(f"paper/{name}")
        rows = {row["init"]: row for row in found["rows"]}
        others = [row for row in found["rows"] if row["init"] not in names]
        digits = 2 if found["metric"] == "test_error" else 1 if rows["random+ep"]["mean"] > 10 else 3
        what = [f"{name}, {label(found['metric'])}", f"{found['seeds']} × {found['iterations']:,}"]
        for who, figure, spread in (("here", "mean", "std"), ("paper", "paper", "paper_std")):
            if any(row[figure] for row in found["rows"]):
                cells = {row["init"]: _figure(row[figure], row[spread], digits) for row in found["rows"]}
                other = ", ".join(f"{row['init']} {cells[row['init']]}" for row in others) or "–"
                lines.append([*(what if who == "here" else ["", ""]), who, *(cells[init] for init in names), other])
    return table(lines)


def _figure(mean: float | None, std: float | None, digits: int) -> str:
    """Mean ± standard deviation, where there is one: a single seed has none."""
    return "–" if mean is None else f"{mean:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")


def _sklearn(rows: list[dict[str, Any]]) -> str:
    lines = [["classifier", "hidden layers", "test error %, each seed", "mean", "CPU seconds a fit"]]
    for row in rows:
        hidden = f"{len(row['hidden'])} × {row['hidden'][0]}"
        lines.append([row["classifier"], hidden, *_over_seeds(row["test_errors"]), f"{row['seconds']:.0f}"])
    return table(lines)


def _tables(rows: list[dict[str, Any]]) -> str:
    return table(result_rows(rows))


def _once_measured(name: str, part: str, rows: Callable[[Any], list[list[str]]]) -> str:
    found = read(name)
    return table(rows(found)) if found else f"Not measured yet: `python -m benchmarks.writing{part}` does."


def _faults(parts: dict[str, dict[str, int]]) -> str:
    if misses := sum(part["misses"] for part in parts.values()):
        raise SystemExit(f"the fault campaign has {misses} misses: nothing to be proud of")
    damaged = [part for name, part in parts.items() if name.startswith("damaged-")]
    return FAULTS.format(
        killed=parts["kills"]["runs killed"],
        writes=parts["failing-writes"]["failed"] + parts["failing-writes"]["torn"],
        damaged=sum(count for part in damaged for what, count in part.items() if what not in ("misses", "seconds")),
        runs=parts["dying-workers"]["runs"],
        deaths=parts["dying-workers"]["workers killed"],
    )


def _mutants(found: dict[str, Any]) -> str:
    noticed = found["mutants"] - len(found["alive"])
    return MUTANTS.format(**found, noticed=noticed, share=noticed / found["mutants"])


def _xor(rows: list[dict[str, Any]]) -> str:
    lines = [["init", "mean test error %", "median", "seeds above 10 %"]]
    for row in rows:
        errors = row["test_errors"]
        stuck = sum(error > 10 for error in errors)
        lines.append([row["init"], f"{mean(errors):.1f}", f"{median(errors):.1f}", f"{stuck} of {len(errors)}"])
    return table(lines)


def _copy(rows: list[dict[str, Any]]) -> str:
    lines = [["", "recall %, each seed", "perplexity", "memoryless", "seconds per run"]]
    for row in rows:
        runs = row["runs"]
        recall = ", ".join(f"{run['test_recall']:.1f}" for run in runs)
        perplexity, seconds = (mean(run[key] for run in runs) for key in ("test_perplexity", "seconds"))
        memoryless = runs[0]["baselines"]["memoryless"]
        lines.append([row["variant"], recall, f"{perplexity:.4f}", f"{memoryless:.4f}", f"{seconds:.0f}"])
    return table(lines)


def _ptb(rows: list[dict[str, Any]]) -> str:
    lines = [["", "iterations", "validation perplexity", "test perplexity", "seconds"]]
    for row in rows:
        (run,) = row["runs"]
        perplexities = f"{run['valid_perplexity']:.1f}", f"{run['test_perplexity']:.1f}"
        lines.append([row["variant"], f"{run['iterations']:,}", *perplexities, f"{run['seconds']:.0f}"])
    unigram = rows[0]["runs"][0]["baselines"]["unigram"]
    return table([*lines, ["word frequencies alone", "–", f"{unigram:.1f}", "–", "–"]])


def _lessons() -> str:
    rows = [[f"`python -m minisig.lessons.{name}`", title] for name, title in titles().items()]
    return table([["lesson", ""], *rows])


def _wrapped(content: str) -> str:
    """Sentences in lines of the page's width; tables and what is quoted as they are."""
    return content if content.startswith(("|", "    ")) else fill(content, 118, break_on_hyphens=False)


def rendered(text: str) -> str:
    """The README with every generated part made anew."""
    for name, content in blocks().items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise SystemExit(f"README.md must hold <!-- {name} --> … <!-- /{name} --> once")
        text = pattern.sub(lambda match, content=content: match[1] + _wrapped(content) + "\n" + match[2], text)  # type: ignore[misc]
    return text


@click.command(help=unwrapped(__doc__))
@click.option("--check", is_flag=True)
def main(check: bool) -> None:
    text = README.read_text(encoding="utf-8")
    fresh = rendered(text)
    if not check:
        README.write_text(fresh, encoding="utf-8")
    elif fresh != text:
        raise SystemExit("README.md differs from benchmarks/results; run: python -m benchmarks.readme")


if __name__ == "__main__":
    main()
