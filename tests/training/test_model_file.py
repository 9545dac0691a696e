"""best.safetensors: all that makes a model, the same bits every time, and nothing that is believed unseen."""

import json
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import minisig as ms
from minisig import __version__
from minisig.errors import DataError
from minisig.training.files import FORMAT
from minisig.training.model_file import KEY, read_model
from minisig.training.run import run
from tests.faults.runs import kind
from tests.support import shop


def said(path):
    with safe_open(path, framework="np") as file:
        return json.loads(file.metadata()[KEY])


@pytest.fixture
def rewritten(own, tmp_path):
    """The file of a model, in which these fields say something else."""

    def write(kind, change, arrays=None):
        it = own(kind)
        info = said(it.model)
        change(info)
        path = tmp_path / "best.safetensors"
        save_file(load_file(it.model) | (arrays or {}), path, {KEY: json.dumps(info)})
        return path

    return write


def test_a_file_tells_its_format_and_the_version_that_made_it(own):
    info = said(own("fruit").model)
    assert (info["format"], info["version"]) == (FORMAT, __version__)
    assert info["content"] == own("fruit").data.content != ""
    assert info["name"] == "shop.csv"


@pytest.mark.parametrize("name", [*shop.TARGETS])
def test_what_is_written_is_read(own, name):
    it = own(name)
    info, params = read_model(it.model)
    assert info.prepared == it.data.prepared
    assert (info.inputs, info.outputs, info.loss) == (it.data.train.x.shape[1], it.data.classes, it.data.loss)
    assert {name: w.tobytes() for name, w in params.items()} == {n: w.tobytes() for n, w in it.net.params.items()}
    assert info.summary["test_loss"] == it.summary["test_loss"]


def test_the_folders_on_the_way_to_the_data_are_nobodys_business(own):
    it = own("fruit")
    assert said(it.model)["config"]["data"]["path"] == "shop.csv"
    assert str(it.table.parent).encode() not in it.model.read_bytes()


def test_the_same_run_writes_the_same_file(own, tmp_path):
    it = own("fruit")
    again = shop.trained("fruit", tmp_path)
    assert again.model.read_bytes() == it.model.read_bytes()


@pytest.mark.parametrize(
    "settings",
    [
        {"network.init": "glorot", "network.activation": "relu"},
        {"network.init": "ortho+ep", "network.hidden": [6, 5]},
        {"network.init": "lsuv"},
        {"network.init": "lecun", "network.activation": "scaled-tanh", "network.dropout": 0.3},
        {"network.hidden": []},
        {"optimizer.name": "sgd", "optimizer.schedule": "plateau", "optimizer.patience": 2},
    ],
    ids=lambda settings: next(iter(settings.values())),
)
def test_networks_of_every_kind_are_loaded_as_they_were(tmp_path, settings):
    it = shop.trained("fruit", tmp_path, **settings)
    model = ms.load(it.model)
    assert model.logits(model.inputs(it.test)).tobytes() == it.logits.tobytes()
    assert str(model.net) == str(it.net)


# Files that lie


def set_(*path, to):
    def change(info):
        *way, last = path
        for step in way:
            info = info[step]
        info[last] = to

    return change


LIES = {
    "a format to come": (set_("format", to=99), "format 99, this minisig reads up to"),
    "no format": (set_("format", to=0), "format"),
    "an unknown field": (set_("more", to=1), "more"),
    "huge inputs": (set_("inputs", to=10**7), "its arrays are not those of a network 10000000 → 8 → 3"),
    "inputs beyond bounds": (set_("inputs", to=10**12), "inputs"),
    "no outputs": (set_("outputs", to=0), "outputs"),
    "huge outputs": (set_("outputs", to=10**7), "its arrays are not those"),
    "a huge layer": (set_("config", "network", "hidden", to=[10**9]), "its arrays are not those"),
    "many layers": (set_("config", "network", "hidden", to=[8] * 10_000), "its arrays are not those"),
    "another layer": (set_("config", "network", "hidden", to=[7]), "shape"),
    "another dtype": (set_("config", "dtype", to="float46"), "unknown dtype"),
    "an unknown model": (set_("config", "network", "model", to="rm -rf"), "unknown"),
    "an unknown loss": (set_("loss", to="mine"), "unknown loss 'mine'"),
    "sequences": (set_("sequences", to=True), "best"),
    "units of another size": (set_("units", to=[1.0]), "does not fit together"),
    "classes of another number": (set_("prepared", "target", "classes", to=["apple"]), "does not fit together"),
    "no columns": (set_("prepared", "columns", to=[]), "does not fit together"),
    "the same column twice": (lambda info: info["prepared"]["columns"].append(info["prepared"]["columns"][1]), "fit"),
    "a scale of zero": (set_("prepared", "columns", 1, "scale", to=0.0), "scale"),
    "a scale that is none": (set_("prepared", "columns", 1, "scale", to=None), "scale"),
    "a centre of infinity": (set_("prepared", "columns", 1, "centre", to=1e301), "centre"),
    "another preparation": (set_("prepared", to={"type": "vectors", "inputs": 5}), "does not fit together"),
    "words": (
        set_("prepared", to={"type": "text", "tokens": "words", "vocabulary": ["a", "a"]}),
        "does not fit together",
    ),
    "an image of another size": (set_("prepared", to={"type": "vectors", "inputs": 9, "image": [2, 2]}), "fit"),
    "code": (set_("prepared", to={"type": "pickle"}), "Invalid value 'pickle'"),
    "no object": (set_("config", to=[]), "config"),
    "a negative seed": (set_("config", "seed", to=-1), "seed"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_file_that_lies_is_refused_by_name_and_takes_no_memory(rewritten, name):
    change, complaint = LIES[name]
    path = rewritten("fruit", change)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=complaint) as caught:
            ms.load(path)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "change",
    [set_("prepared", "target", "scale", to=[]), set_("prepared", "target", "centre", to=[1.0, 2.0])],
    ids=["scale", "centre"],
)
def test_a_target_without_its_units_is_refused(rewritten, change):
    with pytest.raises(DataError, match="does not fit together"):
        ms.load(rewritten("price", change))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"format": 3}', '"\\ud800"'])
def test_metadata_that_are_no_model_are_refused(own, tmp_path, text):
    path = tmp_path / "best.safetensors"
    save_file(load_file(own("fruit").model), path, {KEY: text})
    with pytest.raises(DataError, match=r"best\.safetensors"):
        ms.load(path)


def test_parameters_that_are_not_finite_are_refused(rewritten, own):
    arrays = load_file(own("fruit").model)
    arrays["dense1.b"][0] = np.nan
    with pytest.raises(DataError, match=r"dense1\.b has entries that are not finite"):
        ms.load(rewritten("fruit", lambda info: None, arrays))


def test_a_file_as_it_should_be_passes_the_same_way(rewritten, own):
    assert ms.load(rewritten("fruit", lambda info: None)).classes == ms.load(own("fruit").model).classes


@pytest.fixture
def of_text(tmp_path):
    run(kind("text", tmp_path / "words"), tmp_path / "run")
    return tmp_path / "run" / "best.safetensors"


def test_words_are_kept_with_a_model_of_text(of_text):
    info, _ = read_model(of_text)
    words = Counter((of_text.parent.parent / "words" / "train.txt").read_text().split())
    assert info.sequences
    assert {*words, "<eos>", "<unk>"} == {*info.prepared.vocabulary}
    assert len(info.prepared.vocabulary) == info.outputs == info.inputs
    assert ms.load(of_text).task == "sequences"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (set_("config", "batch_size", to=10**9), None),
        (set_("config", "data", "steps", to=10**5), None),
        (set_("inputs", to=10**7), "its arrays are not those"),
        (set_("prepared", "vocabulary", to=["w1"] * 14), "does not fit together"),
    ],
    ids=["batch", "steps", "inputs", "words"],
)
def test_a_model_of_text_takes_no_more_memory_than_it_has(of_text, change, complaint):
    info = said(of_text)
    change(info)
    save_file(load_file(of_text), of_text, {KEY: json.dumps(info)})
    tracemalloc.start()
    try:
        if complaint:
            with pytest.raises(DataError, match=complaint):
                ms.load(of_text)
        else:
            assert ms.load(of_text).task == "sequences"
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
