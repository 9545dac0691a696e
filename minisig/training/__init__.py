"""Training: from a configuration to a run on disk.

config.py       what can be set, checked by its types
loop.py         Training: one trace and one update a step
evaluate.py     how well a network does on a whole part of the data
run.py          run and resume: data, network and training, from beginning to end
observers.py    who looks on
records.py      what a record and a summary are, for writing and for reading
folder.py       a run's folder; files.py writes and reads its files, checkpoint.py is where a run stands
restore.py      a finished run, brought back
"""
