"""minisig doctor: what this machine can do, and what to install for the rest."""

import json
from typing import Any

import click

from minisig import __version__
from minisig.cli.options import as_json

EXTRAS = {
    "viz": ("matplotlib", "plotly", "jinja2"),
    "data": ("pooch", "urllib3"),
    "cluster": ("distributed",),
    "parquet": ("pyarrow",),
    "onnx": ("onnx",),
    "sklearn": ("sklearn",),
    "torch": ("torch",),
    "tensorboard": ("tensorboardX",),
}


@click.command(short_help="What this machine can do, and what to install.")
@as_json
def doctor(json_: bool) -> None:
    """What is installed, which BLAS and how many threads, which data are here, and whether a GPU can be used.

    \b
    minisig doctor
    minisig doctor --json
    """
    found = _examine()
    if json_:
        click.echo(json.dumps(found))
        return
    for part, lines in found.items():
        click.echo(part)
        for name, value in lines.items():
            click.echo(f"  {name:<14}{value}")


def _examine() -> dict[str, dict[str, Any]]:
    import os
    import platform
    from importlib.metadata import version
    from importlib.util import find_spec

    import scipy.linalg.blas  # noqa: F401 — its BLAS is the one that is used, and must be loaded to be seen
    from threadpoolctl import threadpool_info

    from minisig.backends.device import checks
    from minisig.data.folder import complete_folder, homes
    from minisig.data.public import PUBLIC

    packages = ("numpy", "scipy", "click", "rich", "msgspec", "safetensors", "threadpoolctl", "filelock")
    blas = [library for library in threadpool_info() if library["user_api"] == "blas"]
    forced = os.environ.get("OPENBLAS_CORETYPE")
    missing = {extra: [name for name in names if find_spec(name) is None] for extra, names in EXTRAS.items()}
    return {
        "packages": {
            "python": platform.python_version(),
            "minisig": __version__,
            **{name: version(name) for name in packages},
        },
        "extras": {
            extra: f"pip install 'minisig[{extra}]'" if names else "installed" for extra, names in missing.items()
        },
        "cpu": {"cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()}
        | {f"blas {i}": _library(library) for i, library in enumerate(blas)}
        | ({"core type": f"{forced}, by OPENBLAS_CORETYPE; products may be faster without it"} if forced else {}),
        "data": {
            name: str(complete_folder(public) or f"not here: minisig data fetch {name}")
            for name, public in PUBLIC.items()
        }
        | {"kept in": str(homes()[0])},
        "gpu": {check.name: check.found or f"no: {check.advice}" for check in checks()},
    }


def _library(found: dict[str, Any]) -> str:
    kind = f" for {found['architecture']}" if found.get("architecture") else ""
    return f"{found['internal_api']} {found['version']}{kind}, {found['num_threads']} threads"
