"""One initialization, one colour."""

from minisig.experiments import EXPERIMENTS, PAPER_INITS
from minisig.initializers import INITIALIZERS
from minisig.report.palette import COLOURS, PALETTE, colours


def test_every_initialization_and_every_row_of_an_experiment_has_a_colour():
    assert COLOURS.keys() >= INITIALIZERS.keys()
    for experiment in EXPERIMENTS.values():
        rows = [*INITIALIZERS, *experiment.rows]
        assert len({COLOURS[row] for row in rows}) == len(rows)


def test_names_of_ones_own_take_what_the_others_leave():
    found = colours(["mine", *PAPER_INITS, "yours"])
    assert {name: found[name] for name in PAPER_INITS} == {name: COLOURS[name] for name in PAPER_INITS}
    assert len(set(found.values())) == len(found)


def test_more_names_than_colours_begin_again():
    found = colours([f"row {i}" for i in range(12)])
    assert list(found.values()) == [*PALETTE, *PALETTE[:3]]
