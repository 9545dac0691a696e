"""The neuron's figure: densities that are densities, and H_B with its ridge and its summit."""

from math import pi, sqrt

import numpy as np
import pytest

from minisig import theory
from minisig.lessons.neuron import draw
from minisig.report.figures import neuron_figure

pytest.importorskip("matplotlib")


def parts(*args):
    of_sigma, of_mu, surface, _ = neuron_figure(*args).axes
    return of_sigma, of_mu, surface


@pytest.mark.parametrize(("mu", "sigma"), [(0.0, None), (1.5, 3.0), (0.0, 0.01)])
def test_every_density_is_the_theorys_and_has_mass_one(mu, sigma):
    of_sigma, of_mu, _ = parts(mu, sigma)
    own = theory.best_sigma(mu) if sigma is None else sigma
    for axes, pairs in (
        (of_sigma, [(mu, s) for s in sorted({0.5, 1.0, 2.0, 4.0, own})]),
        (of_mu, [(mu + shift, own) for shift in (-2, -1, 0, 1, 2)]),
    ):
        assert len(axes.lines) == len(pairs)
        for line, pair in zip(axes.lines, pairs, strict=True):
            y, p = line.get_data()
            np.testing.assert_array_equal(p, theory.density(y, *pair))
            assert np.trapezoid(p, y) == pytest.approx(1, abs=0.01)
            assert line.get_linewidth() == (2.5 if pair == (mu, own) else 1.5)


def test_the_legend_tells_the_lines_apart():
    of_sigma, of_mu, _ = parts()
    for axes, names in (
        (of_sigma, ["σ = 0.5", "σ = 1", "σ = 1.253", "σ = 2", "σ = 4"]),
        (of_mu, ["μ = −2", "μ = −1", "μ = 0", "μ = 1", "μ = 2"]),
    ):
        assert [text.get_text() for text in axes.get_legend().get_texts()] == names
        assert len({line.get_color() for line in axes.lines}) == len(names)
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("y", "p(y)")


def lesson():
    return draw(np.random.default_rng(0).standard_normal(1000), np.ones(1), np.zeros(1))


@pytest.mark.parametrize("figure", [neuron_figure, lesson])
def test_no_legend_covers_a_line(figure):
    drawn = figure()
    drawn.draw_without_rendering()
    for axes in drawn.axes[:2]:
        covered = axes.get_legend().get_window_extent()
        for line in axes.lines:
            assert not covered.count_contains(axes.transData.transform(np.transpose(line.get_data())))


def test_on_the_ridge_the_slope_by_sigma_is_zero_and_the_summit_is_the_papers():
    surface = parts()[2]
    ridge, summit = surface.lines
    slopes = theory.surrogate_gradient(*ridge.get_data())[1]
    np.testing.assert_allclose(slopes, 0, atol=1e-12)
    np.testing.assert_allclose(np.ravel(summit.get_data()), (0, sqrt(pi / 2)))
    assert (surface.get_xlabel(), surface.get_ylabel()) == (
        "mean of the logit, μ",
        "standard deviation of the logit, σ",
    )


def test_the_map_reaches_from_its_lowest_point_to_the_summit():
    figure = neuron_figure()
    (heights,) = figure.axes[2].collections
    assert heights.levels[-1] == pytest.approx(theory.surrogate(0, theory.best_sigma(0)), abs=1e-3)
    assert heights.levels[0] == pytest.approx(theory.surrogate(4, 0.1))
    assert figure.axes[3].get_ylabel() == "$H_B$, nats"


def test_a_neuron_of_ones_own_is_marked_on_the_map_however_far_out():
    surface = parts(-30.0, 70.0)[2]
    np.testing.assert_array_equal(np.ravel(surface.lines[2].get_data()), (-30, 70))
    assert surface.get_xlim()[0] < -30
    assert surface.get_ylim()[1] > 70
