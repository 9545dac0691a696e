"""Runs that are killed, disks that fail and files that are damaged: a few of each for test_faults.py, thousands for
benchmarks/faults.py.

runs.py         runs of every kind, how they are gone on with, and what must be the same when they end
disk.py         a disk that fails at a call that writes, and one with little room
kills.py        runs and workers that are killed
writes.py       writes that fail: every one in turn, on small disks and in short files
strange.py      JSON, tensors and lines with something wrong in them
damage.py       damaged files of runs and of data, each met by what reads it
trained.py      damaged model files, tables and texts, each met by what uses them

Every trial is drawn by a generator that its number seeds. A part of the campaign gives its figures, and its misses in
a line each. Some fork: a process that has threads must not take these parts.
"""
