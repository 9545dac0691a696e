"""The mutants: each is another program, and the tests are really asked about it."""

import ast
from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray", reason="needs the extra dev")

from benchmarks import mutants
from benchmarks.mutants import ROOT, copied, drawn, noticed, passes

LAYER = Path("minisig/activations/scaled_tanh.py")


def computed(code):
    """The program without its type annotations."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if hasattr(node, field):
                setattr(node, field, None)
    return ast.dump(tree)


def test_every_mutant_computes_something_else():
    found = [mutant for changes in mutants.mutants(LAYER).values() for mutant in changes]
    codes = [mutant.code() for mutant in found]
    assert len(set(codes)) == len(codes) > 50
    original = computed((ROOT / LAYER).read_text(encoding="utf-8"))
    assert all(computed(code) != original for code in codes)


def test_a_seed_draws_the_same_mutants_each_of_another_place():
    (first, places), (again, _), (other, _) = drawn(50, 0), drawn(50, 0), drawn(50, 1)
    assert first == again != other
    assert len(first) == 50 < places
    assert len({(mutant.path, mutant.operator, mutant.occurrence) for mutant in first}) == 50


def test_a_broken_backward_is_noticed_and_the_copy_mended_again(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "TESTS", ("layers/test_layers.py",))
    project = copied(tmp_path)
    wrong = [
        mutant for changes in mutants.mutants(LAYER).values() for mutant in changes if "dz *= B * A" in mutant.code()
    ]
    assert noticed(wrong[0], project, patience=600)
    assert passes(project)
