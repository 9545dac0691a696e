"""The command line: one file a command.

Modules here import nothing heavy at their top, so that `minisig --help` is instant.
"""

from minisig.cli.app import main

__all__ = ["main"]
