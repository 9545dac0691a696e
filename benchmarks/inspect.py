"""What `minisig inspect mnist-deep --init all` shows of the real MNIST.

python -m benchmarks.inspect        # about a minute; needs MNIST; writes results/inspect.json
"""

import subprocess
import sys

import click

from benchmarks.record import save, unwrapped

COMMAND = ("inspect", "mnist-deep", "--init", "all")


@click.command(help=unwrapped(__doc__))
def main() -> None:
    done = subprocess.run([sys.executable, "-m", "minisig", *COMMAND], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(done.returncode)
    print(done.stdout)
    save("inspect", "python -m benchmarks.inspect", text=done.stdout.rstrip())


if __name__ == "__main__":
    main()
