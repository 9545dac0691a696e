"""Sources of data: their settings, and which of them reads what."""

import pytest

from minisig.data import load, source_for
from minisig.errors import UsageError


@pytest.mark.parametrize(
    ("source", "setting", "owner"),
    [("digits", "delay", "copy-memory"), ("copy-memory", "steps", "ptb"), ("xor", "vocabulary", "ptb")],
)
def test_a_setting_of_another_source_is_refused_by_ours(source, setting, owner):
    with pytest.raises(UsageError, match=rf"data\.{setting} is a setting of {owner}; leave it out for {source}"):
        load({"source": source, setting: 7})


def test_a_path_is_read_as_what_it_stands_in_place_of_and_as_what_it_is(tmp_path):
    assert source_for(str(tmp_path), "digits") == "images"
    assert source_for(str(tmp_path / "mine.csv"), "digits") == "table"
    assert source_for(str(tmp_path / "mine.npz"), "digits") == "file"
    assert source_for(str(tmp_path), "ptb") == source_for(str(tmp_path), "copy-memory") == "text"
