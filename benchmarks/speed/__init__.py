"""How fast minisig is, against its peers and against the matrix products alone.

workloads.py    what is timed, a row each, with what must be reached
ours.py pytorch.py jaxlib.py sklearn.py gemms.py    the same training step by each peer; distortions.py those of images
measure.py      in turn, in short slices; ratios with their spread
worker.py       one workload in a fresh process, with one thread or all
shares.py       where the time of our step goes
memory.py startup.py tracking.py growth.py          what else it costs
writing.py      characters a second that a language model learns and writes
report.py       tables, and which targets are met
"""
