"""Seven short scripts, each teaching one idea by running it: python -m minisig.lessons.NAME."""

import ast
from importlib.util import find_spec
from pathlib import Path

LESSONS = ("neuron", "backprop", "depth", "ellipse", "through_time", "reading_a_run", "writing")


def titles() -> dict[str, str]:
    """A sentence on each lesson, the first of its script, which is not run for it."""
    found = {}
    for name in LESSONS:
        spec = find_spec(f"minisig.lessons.{name}")
        assert spec is not None
        assert spec.origin is not None
        text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))
        found[name] = (text or "").split("\n\n")[0].replace("\n", " ")
    return found
