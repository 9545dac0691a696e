"""The report in a real browser: it draws, its switches work, nothing hostile runs and nothing is requested.

Needs Debian's chromium and chromium-driver, or others of the same names in the path.
"""

import base64
import json

import pytest

from minisig.report.page import write_report

pytest.importorskip("jinja2")
pytest.importorskip("plotly")
pytest.importorskip("selenium")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from tests.report.chromium import BROWSER, DESKTOP, DRIVER, PHONE, started

pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="no chromium and chromedriver in the path")


@pytest.fixture(scope="module")
def browser():
    with started() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def report(one, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "one.html"
    write_report([one], path, lambda runs: ["minisig train"])
    return path


@pytest.fixture(scope="module")
def comparison(several, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "several.html"
    write_report([several], path, lambda runs: ["minisig compare digits"])
    return path


@pytest.fixture
def shot(browser, tmp_path):
    """A picture of the whole page; look at it with `pytest --basetemp`."""

    def take(name):
        picture = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        content = base64.b64decode(picture["data"])
        (tmp_path / f"{name}.png").write_bytes(content)
        return content

    return take


def colours(png):
    """How many different colours a picture has, and the commonest."""
    image = pytest.importorskip("PIL.Image")
    from io import BytesIO

    counts = image.open(BytesIO(png)).convert("RGB").getcolors(2**24)
    return len(counts), max(counts)[1]


def test_a_run_is_drawn_as_logged_without_a_complaint_or_a_request(browser, report, records):
    browser.open(report)
    charts = browser.js("return [...document.querySelectorAll('.chart')].map(c => [c.id, c.data.length])")
    assert charts == [["s0-loss", 2], ["s0-error", 1], ["s0-norms", 2], ["s0-activations", 1], ["s0-heat", 1]]
    assert browser.js("return document.querySelectorAll('.chart .main-svg').length") >= 5
    assert browser.complaints() == []
    assert browser.requests(report) == []
    assert browser.drawn("s0-loss", "data[0].x") == [record["iteration"] for record in records]
    assert browser.drawn("s0-loss", "data[0].y") == pytest.approx([r["train_loss"] for r in records], rel=1e-4)


def test_the_slider_moves_the_profile_and_its_table_by_keyboard(browser, report, records):
    browser.open(report)
    slider = browser.driver.find_element(By.ID, "s0-slider")
    slider.send_keys(Keys.END)
    last = records[-1]
    assert browser.js("return document.getElementById('s0-iteration').textContent") == "60"
    assert slider.get_attribute("aria-valuetext") == "iteration 60"
    norms = last["gradient_norm"]
    assert browser.drawn("s0-norms", "data[1].y") == pytest.approx([*norms.values()], rel=1e-4)
    assert browser.drawn("s0-norms", "data[0].y") == pytest.approx([*records[0]["gradient_norm"].values()], rel=1e-4)
    assert browser.table("s0-norms-table") == [
        [layer, f"{records[0]['gradient_norm'][layer]:.2e}", f"{norm:.2e}"] for layer, norm in norms.items()
    ]
    means, stds = last["activation_mean"], last["activation_std"]
    assert browser.drawn("s0-activations", "data[0].error_y.array") == pytest.approx([*stds.values()], rel=1e-4)
    assert browser.table("s0-activations-table") == [
        [name, f"{means[name]:.3f}", f"{stds[name]:.3f}"] for name in means
    ]
    slider.send_keys(Keys.ARROW_LEFT)
    assert browser.js("return document.getElementById('s0-iteration').textContent") == "55"


def test_the_scale_of_an_axis_is_switched_and_back(browser, report):
    browser.open(report)
    for axis, before, after in (("y", "log", "linear"), ("x", "linear", "log")):
        switch = f"[data-chart='s0-loss'][data-log='{axis}']"
        assert browser.drawn("s0-loss", f"_fullLayout.{axis}axis.type") == before
        browser.click(switch)
        assert browser.drawn("s0-loss", f"_fullLayout.{axis}axis.type") == after
        browser.click(switch)
        assert browser.drawn("s0-loss", f"_fullLayout.{axis}axis.type") == before


def test_an_initialization_is_hidden_in_every_chart_and_shown_again(browser, comparison):
    browser.open(comparison)

    def drawn(name):
        """How many curves, bands and rows of points of this name are on the page."""
        return browser.js(
            """return [...document.querySelectorAll('.chart')].flatMap(chart => chart._fullData)
            .filter(trace => trace.visible && trace.legendgroup === arguments[0]).length""",
            name,
        )

    def elements():
        return browser.js("return document.querySelectorAll('.chart .scatterlayer .trace').length")

    before = elements()
    assert (drawn("lecun"), drawn("random+ep")) == (8, 8)  # results, three curves, their bands, before training
    browser.driver.find_element(By.CSS_SELECTOR, "[data-group='lecun']").send_keys(Keys.SPACE)
    assert (drawn("lecun"), drawn("random+ep"), elements()) == (0, 8, before - 8)
    browser.click("[data-group='lecun']")
    assert (drawn("lecun"), drawn("random+ep"), elements()) == (8, 8, before)
    assert browser.complaints() == []


def test_another_run_of_a_comparison_can_be_chosen(browser, comparison, several):
    browser.open(comparison)
    folder = next(several.glob("lecun-seed1-*"))
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    Select(browser.driver.find_element(By.CSS_SELECTOR, "[data-runs]")).select_by_visible_text("lecun, seed 1")
    first = lines[0]["gradient_norm"]
    assert browser.drawn("s0-norms", "data[1].y") == pytest.approx([*first.values()], rel=1e-4)
    assert browser.table("s0-norms-table") == [[name, f"{norm:.2e}", f"{norm:.2e}"] for name, norm in first.items()]
    rows = browser.drawn("s0-heat", "data[0].customdata")
    assert [row[-1] for row in rows] == pytest.approx([*lines[-1]["gradient_norm"].values()], rel=1e-4)
    assert [row[-1] for row in browser.table("s0-heat-table")] == [
        f"{norm:.2e}" for norm in lines[-1]["gradient_norm"].values()
    ]


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_it_fits_the_screen_and_follows_from_light_to_dark(browser, comparison, shot, width):
    browser.open(comparison, width)
    assert browser.js("return document.documentElement.scrollWidth <= innerWidth")
    wide = browser.js("return [...document.querySelectorAll('.chart')].map(c => c.scrollWidth > c.clientWidth + 1)")
    assert len(wide) == 8
    assert not any(wide)
    for scheme, ink in (("light", "#1b1b1b"), ("dark", "#e8e8e8")):
        browser.prefer(scheme)
        browser.wait(lambda ink=ink: browser.drawn("s0-train_loss", "_fullLayout.font.color") == ink)
        count, commonest = colours(shot(f"{scheme}-{width}"))
        assert count > 50
        assert (sum(commonest) > 600) == (scheme == "light")


def test_it_is_printed_on_white_within_the_margins(browser, report):
    browser.open(report, DESKTOP, "dark")
    seen = """window.seen = []; addEventListener('beforeprint', () => seen.push(
        ...[...document.querySelectorAll('.chart')].map(c => [c._fullLayout.width, c._fullLayout.font.color])))"""
    browser.js(seen)
    paper = {"paperWidth": 8.27, "paperHeight": 11.69}
    pdf = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", paper)["data"])
    assert pdf.startswith(b"%PDF")
    drawn = browser.js("return seen")
    assert len(drawn) == 5
    assert all(width <= 680 and ink == "#1b1b1b" for width, ink in drawn)
    assert browser.drawn("s0-loss", "_fullLayout.font.color") == "#e8e8e8"


EVIL = "http://127.0.0.1:9/evil"
HOSTILE = (
    f"<a href='{EVIL}'>x</a></script><script>window.hit=1</script><img src={EVIL} onerror=window.hit=1>"
    "\"'`${window.hit=1}{{7*7}}%{x}../../etc/passwd\u2028\u202e"
)


def test_a_malicious_run_is_shown_and_does_nothing(browser, one, records, written, tmp_path):
    layers = {f"{HOSTILE}{i}": 10.0 ** (300 * (-1) ** i) for i in range(3)}
    lines = [
        {"iteration": i, "train_loss": 1e308, "valid_loss": 1e-308, "gradient_norm": layers}
        | {"activation_mean": layers, "activation_std": layers}
        for i in (1, 2, 10**9)
    ]
    summary = json.loads((one / "summary.json").read_text())
    summary |= {"experiment": HOSTILE, "init": HOSTILE, "baselines": {HOSTILE: 1.0}, "test_perplexity": 1e308}
    summary["layers"] = [{"name": HOSTILE, "gradient_norm_first": 1e308, "gradient_norm_last": 1e-308}]
    names = ("experiment", "data.path")  # the others must be known
    folders = [
        written(lines, dict.fromkeys(names, HOSTILE) | {"seed": seed, "iterations": 60 + seed % 2}, summary, str(seed))
        for seed in range(3)
    ]
    page = tmp_path / "evil.html"
    write_report(folders, page, lambda runs: [HOSTILE])
    browser.open(page)
    browser.js("document.querySelectorAll('details').forEach(d => d.open = true)")
    for box in browser.js("return [...document.querySelectorAll('input[type=checkbox]')]"):
        browser.js("arguments[0].click()", box)
    browser.driver.find_element(By.ID, "s0-slider").send_keys(Keys.END)
    assert browser.js("return window.hit === undefined")
    assert browser.js("return document.querySelectorAll('img, iframe, a, script:not([type])').length") == 2
    assert HOSTILE[:30] in browser.js("return document.querySelector('h1').textContent")
    assert HOSTILE[:30] in browser.table("s0-norms-table")[0][0]
    assert browser.complaints() == []
    assert browser.requests(page) == []


def test_the_policy_stops_what_would_get_into_the_page(browser, report):
    """Should the escaping ever fail."""
    browser.open(report)
    browser.js(
        f"""window.refused = []; addEventListener('securitypolicyviolation', e => refused.push(e.effectiveDirective));
        const script = document.createElement('script'); script.textContent = 'window.hit = 1';
        document.body.append(script); new Image().src = '{EVIL}'; fetch('{EVIL}').catch(() => 0);"""
    )
    browser.wait(lambda: {*browser.js("return refused")} == {"script-src-elem", "img-src", "connect-src"})
    assert browser.js("return window.hit === undefined")


def test_a_hundred_thousand_logged_steps_make_a_page_of_a_few_megabytes(browser, written, tmp_path):
    """How long it takes to open is measured by benchmarks/report.py."""
    steps, layers = 100_000, 9
    norms = [{f"dense{k}": 1.1 ** (i % 50) / 3.7**k for k in range(layers)} for i in range(50)]
    bodies = [
        json.dumps({"train_loss": 2 / (1 + i), "gradient_norm": norm, "activation_mean": norm, "activation_std": norm})
        for i, norm in enumerate(norms)
    ]
    lines = (f'{{"iteration": {i}, {bodies[i % 50][1:]}\n' for i in range(1, steps + 1))
    folder = written(lines, {"iterations": steps, "network.hidden": [100] * (layers - 1)})
    page = tmp_path / "long.html"
    write_report([folder], page, lambda runs: [])
    assert page.stat().st_size < 10e6
    browser.open(page)
    assert browser.drawn("s0-heat", "data[0].x.length") == 400
    assert browser.complaints() == []
