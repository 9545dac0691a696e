"""Experiments: what is trained, and how its variants compare.

table.py        the experiments as data, configure.py any of their settings replaced
compare.py      every initialization over several seeds, finished runs never repeated
results.py      the runs of a comparison and what they brought, in memory and on disk
identity.py     what a run is known by
executors.py    where the runs are made: here, in processes, on a cluster
"""

from minisig.experiments.configure import (
    base,
    compared,
    configure,
    is_own,
    known,
    own_settings,
    paper_figure,
    settings,
    source_of,
    suited,
    with_init,
)
from minisig.experiments.table import EXPERIMENTS, PAPER_INITS, Experiment, inits_of

__all__ = [
    "EXPERIMENTS",
    "PAPER_INITS",
    "Experiment",
    "base",
    "compared",
    "configure",
    "inits_of",
    "is_own",
    "known",
    "own_settings",
    "paper_figure",
    "settings",
    "source_of",
    "suited",
    "with_init",
]
