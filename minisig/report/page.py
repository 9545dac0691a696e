"""The HTML report: one file that needs nothing else and can reach nothing else.

page.html, page.css and page.js are its parts; plotly.js is embedded. Its content security policy lets exactly these two
scripts run, by their hashes, and forbids every request.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from minisig import __version__
from minisig.errors import MinisigError, printable, writing
from minisig.jsonable import jsonable
from minisig.report.charts import View
from minisig.report.palette import PALETTE
from minisig.report.runs import Run, Tell, read_paths
from minisig.report.sections import Section, section
from minisig.training.files import write_file

HERE = Path(__file__).parent
ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
Repeat = Callable[[Sequence[Run]], Sequence[str]]


def can_report() -> bool:
    """Whether what a report needs is installed."""
    return bool(find_spec("plotly") and find_spec("jinja2"))


def write_report(paths: Sequence[Path], out: Path, repeat: Repeat, tell: Tell = lambda line: None) -> int:
    """Report on the runs in these folders, which are runs, comparisons or hold them; how many there were.

    `tell` is told of every run that was left out.
    """
    runs, failures = read_paths(paths, tell)
    if not can_report():
        raise MinisigError("a report needs plotly and Jinja2: pip install 'minisig[viz]'")
    sections = [
        section(
            [run for run in runs if run.task == task],
            [failure for failure in failures if failure.task == task],
            repeat,
        )
        for task in dict.fromkeys(run.task for run in runs)
    ]
    content = render(sections).encode("utf-8", errors="replace")
    with writing(out):
        write_file(out, content)
    return len(runs)


def render(sections: Sequence[Section]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,  # but not what is known to be safe
        trim_blocks=True,
        lstrip_blocks=True,
    )
    scripts = [get_plotlyjs(), (HERE / "page.js").read_text(encoding="utf-8")]
    return environment.get_template("page.html").render(
        sections=sections,
        colours=PALETTE,
        style=(HERE / "page.css").read_text(encoding="utf-8"),
        scripts=scripts,
        policy=policy(scripts),
        data=embedded(_data(sections)),
        version=__version__,
    )


def policy(scripts: Sequence[str]) -> str:
    """Nothing may be fetched from anywhere, and no script may run but these."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "  # data: heat maps
        f"base-uri 'none'; form-action 'none'"
    )


def embedded(value: Any) -> str:
    """JSON that can stand in a script element: no character of it can end the element, or a line of JavaScript."""
    text = json.dumps(jsonable(value), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.translate(ESCAPES)


def _views(part: Section) -> Sequence[View]:
    return [*part.views, *(part.quality.views if part.quality else ())]


def _data(sections: Sequence[Section]) -> dict[str, Any]:
    return {
        "colours": PALETTE,
        "charts": {f"s{i}-{view.name}": view.chart for i, part in enumerate(sections) for view in _views(part)},
        "profiles": {f"s{i}": part.profiles for i, part in enumerate(sections)},
    }
