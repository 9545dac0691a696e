"""Other projects, installed beside this one."""

import os
import subprocess
import sys


def install(folder, code, entry_points, name="my-project"):
    """What pip would leave behind of a project, by hand."""
    module = name.replace("-", "_")
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"[{g}]\n" + "".join(f"{k} = {v}\n" for k, v in rows.items()) for g, rows in entry_points.items()]
    (about / "entry_points.txt").write_text("\n".join(lines))


def beside(folder):
    """The environment in which Python finds what is installed in `folder`, and this package."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}


def python(folder, *args, **variables):
    env = beside(folder) | variables
    command = [sys.executable, "-m", *map(str, args)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", timeout=300)
