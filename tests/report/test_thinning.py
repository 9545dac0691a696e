"""Fewer points: what is left is enough, and nothing that stands out is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minisig.report.thinning import spread, thin


@given(st.integers(1, 5000), st.integers(2, 300))
def test_a_spread_has_both_ends_and_no_more_than_it_may(count, most):
    kept = spread(count, most)
    assert len(kept) == min(count, most)
    assert (kept[0], kept[-1]) == (0, count - 1)
    assert (np.diff(kept) > 0).all()
    if count > most:
        assert np.diff(kept).max() - np.diff(kept).min() <= 1


@given(st.integers(0, 10_000), st.integers(10, 3000), st.integers(6, 200))
def test_a_thinned_band_keeps_its_ends_and_its_extremes(seed, count, most):
    rng = np.random.default_rng(seed)
    low = rng.standard_normal(count)
    high = low + rng.exponential(size=count)
    kept = thin(low, high, most)
    assert len(kept) <= max(most, 2)
    assert (kept[0], kept[-1]) == (0, count - 1)
    assert (low[kept].min(), high[kept].max()) == (low.min(), high.max())


@pytest.mark.parametrize("place", [1, 437, 998])
def test_a_single_peak_survives(place):
    curve = np.zeros(1000)
    curve[place] = 1
    assert place in thin(curve, curve, 20)


def test_a_short_curve_is_left_whole():
    curve = np.arange(7.0)
    assert thin(curve, curve, 7).tolist() == list(range(7))
