"""Gradient flow as assertions: a pytest plugin that installs with the package.

    def test_my_network_learns(gradient_flow):
        gradient_flow.assert_alive(net, x, y)           # no layer's gradient vanishes or explodes
        gradient_flow.assert_correct(net, x, y)         # backprop equals numerical differentiation
        gradient_flow.assert_bounds_hold(net, x, y)     # measured ≤ real product ≤ spectral ≤ Frobenius

`pytest --gradient-report` adds a summary of every network that assert_alive looked at. Nothing of minisig is imported
before the fixture is used, so the plugin costs a test session next to nothing.
"""

from itertools import pairwise
from math import isfinite
from typing import Any

import pytest

PROPERTY = "gradient_flow"  # of a test, which travels with its report from whatever process it ran in


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("minisig")
    group.addoption(
        "--gradient-report",
        action="store_true",
        help="show the gradient norms of every network that the gradient_flow fixture looked at",
    )


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    if not config.getoption("--gradient-report"):
        return
    tables = [
        f"{report.nodeid}\n{table}"
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, table in report.user_properties
        if name == PROPERTY
    ]
    if tables:
        terminalreporter.section("gradient flow")
        for table in tables:
            terminalreporter.line(table)


@pytest.fixture
def gradient_flow(request: pytest.FixtureRequest) -> "GradientFlow":
    """Assertions about the gradients of a minisig network, or of any object with such a `trace` method."""
    return GradientFlow(request.node.user_properties)


class GradientFlow:
    def __init__(self, properties: list[tuple[str, object]]) -> None:
        self._properties = properties

    def assert_alive(self, net: Any, x: Any, y: Any, *, dead: float = 1e-2, exploded: float = 1e2) -> None:
        """Every layer's gradient norm lies between `dead` and `exploded` times that of the last layer."""
        __tracebackhide__ = True
        norms = self._norms(net, x, y)
        table = self._table(norms, dead, exploded)
        self._properties.append((PROPERTY, table))
        *_, (last, reference) = norms.items()
        if not 0 < reference < float("inf"):
            pytest.fail(f"the gradient of the last layer, {last}, is {reference:g}\n{table}", pytrace=False)
        for name, norm in reversed(norms.items()):  # the way the gradient takes
            if not isfinite(norm):
                reason = f"is {norm:g} in {name}"
            elif not norm >= dead * reference:
                reason = f"vanishes in {name}: {norm / reference:.1e} of the last layer's, less than {dead:g}"
            elif not norm <= exploded * reference:
                reason = f"explodes in {name}: {norm / reference:.1e} times the last layer's, more than {exploded:g}"
            else:
                continue
            pytest.fail(f"the gradient {reason}\n{table}", pytrace=False)

    def assert_correct(self, net: Any, x: Any, y: Any, *, tolerance: float = 1e-8, **options: Any) -> None:
        """The handwritten backward equals complex-step differentiation; options are those of check_gradients."""
        __tracebackhide__ = True
        from minisig.diagnostics.gradient_check import check_gradients

        check = check_gradients(net, x, y, **options)
        if not check.error <= tolerance:
            wrong = [f"  {mismatch}" for mismatch in check.by_array.values() if not mismatch.error <= tolerance]
            listing = "\n".join(wrong)
            pytest.fail(f"backward is wrong by more than {tolerance:g} at\n{listing}", pytrace=False)

    def assert_bounds_hold(self, net: Any, x: Any, y: Any) -> None:
        """Measured gradient ≤ product with real derivatives ≤ spectral ≤ Frobenius product, all the way back."""
        __tracebackhide__ = True
        from minisig.diagnostics.bounds import vanishing_bounds

        for row in vanishing_bounds(net.trace(x, y)).rows:
            numbers = (row.measured, row.product_with_real_derivatives, row.spectral, row.frobenius)
            # Rounding of float32 gradients against products in float64.
            if not all(a <= b * (1 + 1e-5) for a, b in pairwise(numbers)):
                pytest.fail(f"from {row.from_} to {row.to} the bounds do not hold: {numbers}", pytrace=False)

    @staticmethod
    def _norms(net: Any, x: Any, y: Any) -> dict[str, float]:
        __tracebackhide__ = True
        from minisig.errors import UsageError
        from minisig.gradients import layer_norms

        trace: Any = net.trace(x, y) if hasattr(net, "trace") else None
        norms = layer_norms(trace.gradient_norms()) if hasattr(trace, "gradient_norms") else {}
        if not norms:
            raise UsageError(
                f"{type(net).__name__} has no gradients to look at: expected a minisig network with parameters, or an "
                f"object whose trace(x, y) has gradient_norms()"
            )
        return norms

    @staticmethod
    def _table(norms: dict[str, float], dead: float, exploded: float) -> str:
        *_, reference = norms.values()
        width = max(map(len, norms))
        lines = []
        for name, norm in norms.items():
            share = norm / reference if reference else float("nan")
            mark = "   vanishes" if share < dead else "   explodes" if share > exploded else ""
            lines.append(f"  {name:<{width}}  {norm:10.3e}  {share:10.1e}{mark}")
        return "\n".join([f"  {'layer':<{width}}  {'gradient':>10}  {'of last':>10}", *lines])
