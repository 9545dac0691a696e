"""What the shell offers to complete."""

import pytest

from minisig.initializers import INITIALIZERS
from tests.cli.command import python


def completions(line):
    words = line.split(" ")
    done = python(
        *("-m", "minisig"), _MINISIG_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1)
    )
    assert (done.returncode, done.stderr) == (0, "")
    return {item.split(",", 1)[1] for item in done.stdout.split()}


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("minisig train --init ran", {"random+ep", "random+exact"}),
        ("minisig train --init ", {*INITIALIZERS}),
        ("minisig train x", {"xor"}),
        ("minisig the", {"theory"}),
        ("minisig theory --s", {"--sigma"}),
    ],
)
def test_the_shell_completes(line, offered):
    assert completions(line) == offered
