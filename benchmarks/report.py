"""How large the report of a run with 100,000 logged steps is, and how long a browser takes to open it.

python -m benchmarks.report         # half a minute; needs chromium and chromedriver; writes results/report.json
"""

import json
import shutil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any

import click
from selenium import webdriver

from benchmarks.record import save, unwrapped
from minisig.experiments import configure
from minisig.report.page import write_report
from minisig.training.run import run

STEPS, TRIALS = 100_000, 5


@click.command(help=unwrapped(__doc__))
def main() -> None:
    with TemporaryDirectory() as scratch:
        folder, page = Path(scratch) / "run", Path(scratch) / "report.html"
        run(configure("digits", {"iterations": 100, "log_every": 1}), folder)
        _prolong(folder)
        started = perf_counter()
        write_report([folder], page, lambda runs: [])
        written = perf_counter() - started
        opened = [round(_seconds_to_open(page), 2) for _ in range(TRIALS)]
        print(opened)
        save(
            "report",
            "python -m benchmarks.report",
            steps=STEPS,
            write_seconds=round(written, 2),
            megabytes=round(page.stat().st_size / 1e6, 2),
            open_seconds=opened,
            median_open_seconds=median(opened),
        )


def _prolong(folder: Path) -> None:
    """The run again and again, as if it had gone on to step 100,000."""
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    with (folder / "metrics.jsonl").open("w", encoding="utf-8") as file:
        for step in range(1, STEPS + 1):
            file.write(json.dumps(json.loads(lines[step % len(lines)]) | {"iteration": step}) + "\n")
    for name in ("config.json", "summary.json"):
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps(content | {"iterations": STEPS}), encoding="utf-8")


def _seconds_to_open(page: Path) -> float:
    """Until every chart is drawn, in a browser that has just been started."""
    options: Any = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        driver.get("about:blank")
        started = perf_counter()
        driver.get(page.as_uri())
        while driver.execute_script("return document.documentElement.dataset.drawn") != "all":
            sleep(0.01)
        return perf_counter() - started
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
