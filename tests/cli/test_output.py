"""What is printed does not command the terminal."""

import pytest

from tests.cli.command import cli


@pytest.mark.parametrize("command", [("train", "--resume"), ("inspect",)], ids=["train", "inspect"])
def test_a_finished_run_with_control_characters_in_its_name_does_not_command_the_terminal(here, command):
    assert cli("train", "xor", "--iterations", 5, "--out", "run").exit_code == 0
    config = here / "run" / "config.json"
    config.write_text(config.read_text().replace('"xor"', '"xor\\u001b]0;title\\u0007"', 1))
    result = cli(*command, "run")
    assert result.exit_code == 0
    assert result.stdout.startswith("xor\\x1b]0;title\\x07 · random+ep")
