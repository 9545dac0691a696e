"""minisig inspect: what it prints, and settings from a file."""

import json

from tests.cli.command import cli


def test_inspect_json_has_the_promised_keys():
    found = json.loads(cli("inspect", "--hidden", "3x10", "--json").stdout)
    promised = {
        "name",
        "shape",
        "logit_mean",
        "logit_std",
        "entropy",
        "saturated",
        "weight_frobenius",
        "weight_spectral",
    }
    assert all(promised | {"gradient_norm"} <= row.keys() for row in found["layers"])
    for row in found["bounds"]:
        assert list(row) == ["from", "to", "measured", "product_with_real_derivatives", "spectral", "frobenius"]
        numbers = list(row.values())[2:]
        assert numbers == sorted(numbers)


def test_inspect_heeds_the_file(here):
    (here / "my.toml").write_text('[network]\nhidden = [3, 2]\ninit = "ortho"\n')
    found = json.loads(cli("inspect", "xor", "--config", "my.toml", "--json").stdout)
    assert found["init"] == "ortho"
    assert [layer["shape"] for layer in found["layers"]] == [[2, 3], [3, 2], [2, 2]]


def test_a_finished_run_is_inspected_without_a_file(here):
    assert cli("train", "xor", "--iterations", 2, "--out", "run").exit_code == 0
    (here / "my.toml").write_text("iterations = 3\n")
    result = cli("inspect", "run", "--config", "my.toml")
    assert result.exit_code == 2
    assert "leave out --config" in result.stderr
