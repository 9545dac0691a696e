"""Configurations in threads, as on a Dask worker that has several."""

import subprocess
import sys

TOGETHER = """
import sys, threading
sys.setswitchinterval(1e-6)
import msgspec
from minisig.experiments import EXPERIMENTS
from minisig.training.config import Config
config = EXPERIMENTS["digits"].config
content, start, decoded = msgspec.json.encode(config), threading.Barrier(8), []

def decode():
    start.wait()
    decoded.append(msgspec.json.decode(content, type=Config))

threads = [threading.Thread(target=decode) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert decoded == [config] * 8
"""


def test_threads_that_decode_their_first_configuration_together_do_not_crash():
    """Without the preparation in config.py a process dies in about one of four tries."""
    tries = [subprocess.Popen([sys.executable, "-c", TOGETHER], stderr=subprocess.PIPE) for _ in range(6)]
    assert [(process.communicate()[1], process.returncode) for process in tries] == [(b"", 0)] * 6
