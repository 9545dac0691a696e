"""What is said of runs in a sentence or two."""

import json

from minisig.report.runs import kinds, read_paths
from minisig.report.sections import section


def test_the_verdict_on_a_comparison_ranks_by_the_mean(several):
    runs, _ = read_paths([several])
    found = section(runs, [], lambda runs: [])
    means = {
        name: sum(run.summary["test_error"] for run in members) / len(members) for name, members in kinds(runs).items()
    }
    best = min(means, key=means.get)
    assert f"The lowest test error is that of {best}, {means[best]:.2f} %" in found.verdict[0]


def test_a_tie_has_no_winner(one, written, records):
    summary = json.loads((one / "summary.json").read_text())
    inits = ("random+ep", "lecun")
    runs, _ = read_paths([written(records, {"network.init": init}, {**summary, "init": init}, init) for init in inits])
    expected = f"The lowest test error is {summary['test_error']:.2f} %, with random+ep and lecun."
    assert section(runs, [], lambda runs: []).verdict[0] == expected


def test_a_vanished_gradient_is_in_the_verdict(written, records):
    lines = [record | {"gradient_norm": {"dense0": 1e-9, "dense1": 1.0}} for record in records]
    runs, _ = read_paths([written(lines, {"network.init": "lecun", "seed": seed}, name=str(seed)) for seed in (0, 1)])
    said = section(runs, [], lambda runs: []).verdict
    assert any("vanished on its way to the first layer with lecun" in sentence for sentence in said)
    assert any("2 of 2 runs are not finished" in sentence for sentence in said)
