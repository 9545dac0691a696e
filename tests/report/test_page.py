"""The page as text: what it says, what it lets run, and what it makes of names that would be more than names."""

import json
import os
import re
from base64 import b64decode
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from minisig.errors import MinisigError
from minisig.report import page as module
from minisig.report.page import embedded, write_report
from minisig.report.runs import read_paths
from tests.faults.disk import TOO_LARGE, little_room

pytest.importorskip("jinja2")
pytest.importorskip("plotly")

COMMAND = "minisig train digits --seed 0 && echo <done>"


class Page(HTMLParser):
    """Elements by name, texts of tables, and the scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.tables, self.stack = [], [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.stack.append(tag)
        if tag == "script":
            self.scripts.append("")
        if tag == "table":
            self.rows = []
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.stack and self.stack[-1] == "script":
            self.scripts[-1] += data
        elif {"td", "th"} & {*self.stack}:
            self.rows[-1][-1] += data
        elif self.stack and self.stack[-1] == "caption":
            self.tables[data] = self.rows

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop() != tag:  # void elements have no end
            pass

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def page(tmp_path):
    def write(*paths):
        out = tmp_path / "report.html"
        assert write_report(paths, out, lambda runs: [COMMAND]) == len(read_paths(paths)[0])
        return Page(out.read_text(encoding="utf-8"))

    return write


def test_a_run_is_told_in_words_and_tables(one, page):
    found = page(one)
    summary = json.loads((one / "summary.json").read_text())
    result = dict(found.tables["Result"])
    assert result["test error %"] == f"{summary['test_error']:.4g}"
    assert result["parameters"] == f"{summary['parameters']:,}"
    assert dict(found.tables["Settings"])["network.hidden"] == "12, 8, 8"


def test_the_tables_behind_the_charts_hold_what_was_logged(one, records, page):
    tables = page(one).tables
    validated = [record for record in records if "valid_loss" in record]
    assert tables["Loss"] == [
        ["iteration", "training", "validation"],
        *([str(r["iteration"]), f"{r['train_loss']:.3g}", f"{r['valid_loss']:.3g}"] for r in validated),
    ]
    first = records[0]
    assert tables["Gradient norm"][1:] == [
        [layer, f"{norm:.2e}", f"{norm:.2e}"] for layer, norm in first["gradient_norm"].items()
    ]
    assert tables["Activations"][1:] == [
        [name, f"{mean:.3f}", f"{first['activation_std'][name]:.3f}"] for name, mean in first["activation_mean"].items()
    ]
    head, *rows = tables["Gradient norm over the iterations"]
    by_iteration = {f"{record['iteration']:,}": record["gradient_norm"] for record in records}
    assert (head[1], head[-1]) == ("1", "60")
    for layer, *cells in rows:
        assert cells == [f"{by_iteration[iteration][layer]:.2e}" for iteration in head[1:]]


def test_a_comparison_names_the_best_and_lists_every_run(several, page):
    found = page(several)
    assert [row[0] for row in found.tables["Result"]] == ["network", "random+ep", "lecun"]
    assert len(found.tables["Every run"]) == 1 + 4
    names = [attributes["data-group"] for attributes in found.all("input") if "data-group" in attributes]
    assert names == ["random+ep", "lecun"]


def test_results_on_other_data_have_a_section_of_their_own(several, written, records, tmp_path, monkeypatch):
    sections = []
    monkeypatch.setattr(module, "render", lambda found: sections.extend(found) or "")
    changed = {"b": {"data.path": "/tmp/mine.npz"}, "c": {"data.source": "xor"}, "d": {"data.hold_out": False}}
    folders = [written(records, settings, name=name) for name, settings in changed.items()]
    write_report([several, *folders], tmp_path / "report.html", lambda runs: [])
    assert [one.heading for one in sections] == [
        "digits: 3 kinds of network, 5 runs",
        "digits on mine.npz, random+ep, seed 0",
        "digits, data.source xor, random+ep, seed 0",
    ]
    assert not any("mine" in sentence for sentence in sections[0].verdict)


def test_several_experiments_have_a_section_each(one, written, records, page):
    found = page(one, written(records, {"experiment": "mine"}))
    assert [attributes.get("id") for attributes in found.all("section")] == ["s0", "s1"]
    assert len(found.all("h1")) == 1


def test_the_policy_lets_exactly_the_pages_own_scripts_run(one, page):
    found = page(one)
    (policy,) = (m["content"] for m in found.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    hashes = {b64decode(value) for value in re.findall(r"'sha256-([^']+)'", policy)}
    data, *scripts = found.scripts
    assert hashes == {sha256(script.encode()).digest() for script in scripts}
    assert len(scripts) == 2
    assert json.loads(data).keys() == {"colours", "charts", "profiles"}
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert not re.search(r"https?:|\*", policy)


def test_the_page_asks_for_nothing(one, page):
    found = page(one)
    addresses = [
        value for _, attributes in found.elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert all(address.startswith("data:image/png;base64,") for address in addresses)
    assert {tag for tag, _ in found.elements}.isdisjoint({"link", "iframe", "object", "embed", "base", "form"})


def test_the_page_is_made_for_people_who_do_not_see_it(one, page):
    found = page(one)
    assert found.all("html") == [{"lang": "en"}]
    charts = [attributes for attributes in found.all("div") if attributes.get("class") == "chart"]
    assert len(charts) == 5
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)
    assert all(attributes.get("scope") in ("row", "col") for attributes in found.all("th"))


def test_every_class_is_one_that_style_or_script_knows(one, several, page):
    text = "".join((module.HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    known = {*re.findall(r"\.([a-z][\w-]*)", text), "solid"}  # the dash that a line has by itself
    for found in (page(one), page(several)):
        used = {name for _, attributes in found.elements for name in (attributes.get("class") or "").split()}
        assert used <= known


def test_headings_follow_each_other(one, written, records, page):
    for found in (page(one), page(one, written(records, {"experiment": "mine"}))):
        headings = [int(tag[1]) for tag, _ in found.elements if re.fullmatch(r"h\d", tag)]
        assert headings[0] == 1
        assert headings.count(1) == 1
        assert all(below <= above + 1 for above, below in pairwise(headings))


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)</script>", "<!--<script>", "&amp;", "\u2028\u2029", "'\"\\"]
)
def test_data_cannot_leave_their_element(text):
    shown = embedded({text: [text]})
    assert not re.search("[<>&\u2028\u2029]", shown)
    assert json.loads(shown) == {text: [text]}


def test_numbers_that_json_does_not_know_are_null():
    assert embedded([float("nan"), float("inf"), 1.5]) == "[null,null,1.5]"


def test_settings_without_end_do_not_swell_the_page(written, records, page, tmp_path):
    hidden, name = list(range(1, 100_000)), "x" * 10**6
    page(*(written(records, {"network.hidden": hidden, "experiment": name, "seed": i}, name=str(i)) for i in range(2)))
    assert (tmp_path / "report.html").stat().st_size < 6e6


def test_where_it_cannot_be_written_is_named(one, tmp_path):
    with pytest.raises(MinisigError, match="cannot write"):
        write_report([one], tmp_path / "nosuch" / "report.html", lambda runs: [])


@pytest.mark.skipif(os.name == "nt", reason="no limits on files there")
def test_an_interrupted_write_leaves_the_old_report(one, tmp_path):
    out = tmp_path / "report.html"
    out.write_text("old")
    with little_room(10_000), pytest.raises(MinisigError, match=TOO_LARGE):
        write_report([one], out, lambda runs: [])
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert out.read_text() == "old"
