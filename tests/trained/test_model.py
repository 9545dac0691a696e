"""A model in use: the answers of the network that was trained, to rows in the training data's words and units."""

import shutil
import sys
import warnings

import numpy as np
import pytest
from msgspec.structs import replace
from safetensors.numpy import save_file
from scipy.special import expit, softmax

import minisig as ms
from minisig.data import Dataset, Split, load
from minisig.errors import BackendUnavailable, DataError, UsageError
from minisig.trained.model import Unseen
from minisig.training.model_file import read_model, write_model
from minisig.training.run import run
from tests.support import shop

KINDS = [*shop.TARGETS]


@pytest.fixture(scope="session")
def digits_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits") / "run"
    run(ms.configure("digits", {"iterations": 60, "network.hidden": [12]}), folder)
    return folder


@pytest.fixture(scope="session")
def own_data(tmp_path_factory):
    """A model of vectors under this loss, with two outputs, and its data."""
    known = {}

    def of(loss):
        if loss not in known:
            x = np.random.default_rng(0).uniform(-1, 1, (90, 3)).astype(np.float32)
            y = x[:, :2] if loss == "mean-squared-error" else (x[:, :2] > 0).astype(np.float32)
            parts = [Split(x[rows], y[rows]) for rows in (slice(50), slice(50, 70), slice(70, 90))]
            data = Dataset("mine", *parts, classes=2, loss=loss)
            folder = tmp_path_factory.mktemp("mine") / "run"
            run(ms.configure("digits", {"iterations": 20, "network.hidden": [5]}), folder, data=data)
            known[loss] = ms.load(folder), data
        return known[loss]

    return of


# Answers


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_the_process_that_trained_it(own, kind):
    it = own(kind)
    model = ms.load(it.folder)
    found = model.logits(model.inputs(shop.without(it.test, *it.targets)))
    assert found.dtype == (np.float64 if kind == "double" else np.float32)
    assert found.tobytes() == it.logits.tobytes()


@pytest.mark.parametrize("kind", ["fruit", "grade", "double"])
def test_a_class_is_the_largest_logit_and_its_probability_the_softmax(own, kind):
    it = own(kind)
    model = ms.load(it.model)
    names = {"grade": [1, 2, 3]}.get(kind, ["apple", "pear", "plum"])
    assert model.classes == names
    answers = model.predict(it.test)
    assert answers.tolist() == [names[place] for place in it.logits.argmax(axis=1)]
    assert isinstance(answers.tolist()[0], type(names[0]))
    np.testing.assert_array_equal(model.predict_proba(it.test), softmax(it.logits.astype(np.float64), axis=1))


def test_a_number_is_in_the_units_of_its_column(own):
    it = own("price")
    model = ms.load(it.folder)
    train = np.array([float(it.columns["price"][row]) for row in it.data.rows["train"]])
    expected = train.mean() + train.std() * it.logits[:, 0].astype(np.float64)
    np.testing.assert_allclose(model.predict(it.test), expected, rtol=1e-12)
    assert model.classes is None
    with pytest.raises(UsageError, match=r"predicts numbers \(price\): there are no probabilities"):
        model.predict_proba(it.test)


def test_several_numbers_have_a_column_each(own):
    it = own("prices")
    model = ms.load(it.folder)
    found = model.predict(it.test)
    assert found.shape == (len(it.logits), 2)
    for i, name in enumerate(("price", "tax")):
        train = np.array([float(it.columns[name][row]) for row in it.data.rows["train"]])
        np.testing.assert_allclose(found[:, i], train.mean() + train.std() * it.logits[:, i], rtol=1e-6)


def test_labels_are_answered_one_by_one_in_their_own_words(own):
    it = own("labels")
    model = ms.load(it.folder)
    assert model.classes == ["no", "yes", 0, 1]
    assert model.predict(it.test).tolist() == [
        [("no", "yes")[int(ripe > 0)], int(sold > 0)] for ripe, sold in it.logits.tolist()
    ]
    np.testing.assert_array_equal(model.predict_proba(it.test), expit(it.logits.astype(np.float64)))


@pytest.mark.parametrize("form", ["dicts", "lists", "array", "numbers", "pandas", "polars"])
def test_rows_in_any_form_are_answered_alike(own, form):
    it = own("fruit")
    model = ms.load(it.folder)
    columns = shop.without(it.test, *it.targets)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    match form:
        case "dicts":
            given = [dict(reversed(row.items())) for row in rows]
        case "lists":
            given = [[row[name] for name in model.columns] for row in rows]
        case "array":
            given = np.array([[row[name] for name in model.columns] for row in rows])
        case "numbers":
            given = shop.typed(columns)
        case _:
            given = pytest.importorskip(form).DataFrame(shop.typed(columns))
    assert model.logits(model.inputs(given)).tobytes() == it.logits.tobytes()


def test_a_part_of_the_rows_is_answered_as_in_the_whole(own):
    it = own("fruit")
    model = ms.load(it.folder)
    whole = model.predict_proba(it.test)
    for row in (0, 7, len(whole) - 1):
        np.testing.assert_allclose(model.predict_proba(shop.rows_of(it.test, [row])), whole[[row]], rtol=1e-5)


def test_no_rows_have_no_answers(own):
    for kind, shape in (("fruit", (0,)), ("price", (0,)), ("prices", (0, 2)), ("labels", (0, 2))):
        assert ms.load(own(kind).folder).predict([]).shape == shape


def test_many_rows_are_answered_in_pieces(own):
    it = own("fruit")
    model = ms.load(it.folder)
    many = {name: values * 80 for name, values in it.test.items()}
    np.testing.assert_allclose(model.predict_proba(many), np.tile(model.predict_proba(it.test), (80, 1)), rtol=1e-5)


# What the training data did not have


def test_what_is_unknown_is_told_and_survived(own):
    model = ms.load(own("fruit").folder)
    row = {"colour": "mauve", "weight": "heavy", "year": None, "discount": "10%"}
    said = r"weight: 'heavy' \(1 cells\) taken as missing, .*; colour: 'mauve' \(1 cells\) not among"
    with pytest.warns(Unseen, match=said) as told:
        answers = model.predict([row])
    assert told[0].filename == __file__
    assert answers[0] in model.classes


def test_a_missing_number_is_the_median_of_the_training_rows(own):
    it = own("fruit")
    model = ms.load(it.folder)
    known = [it.columns["weight"][row] for row in it.data.rows["train"]]
    median = np.median([float(cell) for cell in known if cell != "NA"])
    given, filled = ({"colour": "red", "weight": cell, "year": 2000, "discount": "10%"} for cell in ("", median))
    assert model.predict_proba([given]).tobytes() == model.predict_proba([filled]).tobytes()


def test_missing_cells_alone_are_no_reason_to_warn(own):
    it = own("fruit")
    assert "" in it.test["colour"] or "NA" in it.test["weight"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ms.load(it.folder).predict(it.test)


def test_a_column_that_is_not_there_is_named(own):
    it = own("fruit")
    with pytest.raises(
        DataError, match=r"no column 'weight', 'discount', which the model needs; there are 'colour', 'year'$"
    ):
        ms.load(it.folder).predict(shop.without(it.test, "weight", "discount", "fruit"))


def test_categories_that_look_like_numbers_are_found_by_their_value(tmp_path):
    columns = shop.cells() | {"discount": np.random.default_rng(0).choice(["1", "2"], shop.N).tolist()}
    model = ms.load(shop.trained("fruit", tmp_path, columns, **{"data.categorical": ["discount"]}).folder)
    rows = [[{"colour": "red", "weight": 90, "year": 2000, "discount": cell}] for cell in ("2", 2, 2.0, "2.0", "02")]
    assert len({model.logits(model.inputs(row)).tobytes() for row in rows}) == 1


# Vectors


def test_digits_are_answered_from_their_pixels(digits_run, digits):
    model, raw = ms.load(digits_run), (digits.test.x + 1) * 8
    assert model.logits(model.inputs(raw)).tobytes() == model.net.forward(digits.test.x).tobytes()
    assert model.test(raw, digits.test.y)["test_error"] == model.summary["test_error"]


def test_vectors_are_found_by_their_names_in_any_order_or_by_their_order(digits_run, digits):
    model, raw = ms.load(digits_run), (digits.test.x[:50] + 1) * 8
    wanted, named = model.predict_proba(raw), {f"x{i}": raw[:, i] for i in range(64)}
    shuffled = {"id": np.arange(50)} | dict(reversed(named.items()))
    numbered = {f"pixel {i}": raw[:, i] for i in range(64)}
    for rows in (named, shuffled, numbered, numbered | {"digit": digits.test.y[:50]}):
        np.testing.assert_array_equal(model.predict_proba(rows), wanted)
    with pytest.raises(DataError, match=r"expected 64 columns of numbers, .* or named x0 to x63, got 63"):
        model.predict({name: cells for name, cells in numbered.items() if name != "pixel 5"})


def test_a_pixel_is_never_taken_for_the_answer(digits_run, digits):
    model, raw = ms.load(digits_run), (digits.test.x + 1) * 8
    named = {f"pixel {i}": raw[:, i] for i in range(64)}
    with pytest.raises(DataError, match="no column 'label', the answers to test by"):
        model.test(named)
    assert model.test(named | {"digit": digits.test.y})["test_error"] == model.summary["test_error"]
    assert model.test({"label": digits.test.y} | named)["test_error"] == model.summary["test_error"]


@pytest.mark.parametrize("bad", ["", "x", float("inf")])
def test_a_vector_needs_all_its_numbers(digits_run, bad):
    with pytest.raises(DataError, match=r"expected (a number|numbers)"):
        ms.load(digits_run).predict([[bad] + [0] * 63])


@pytest.mark.parametrize("loss", ["mean-squared-error", "sigmoid-cross-entropy"])
def test_vectors_with_several_targets_are_predicted_and_tested(own_data, loss):
    model, data = own_data(loss)
    z = model.net.forward(data.test.x)
    if loss == "mean-squared-error":
        np.testing.assert_array_equal(model.predict(data.test.x), z.astype(np.float64))
        assert model.classes is None
    else:
        assert model.predict(data.test.x).tolist() == (z > 0).astype(int).tolist()
        assert model.classes == [0, 1, 0, 1]
    tested = model.test(data.test.x, data.test.y)
    wanted = {name: value for name, value in model.summary.items() if name.startswith("test_")}
    assert {name: tested[name] for name in wanted} == wanted


def test_labels_of_an_npz_file_keep_their_names(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (80, 2))
    np.savez(tmp_path / "mine.npz", x_train=x, y_train=np.array([1, 2, 3])[np.digitize(x[:, 0], [-1, 1])])
    run(ms.configure("digits", {"data.path": str(tmp_path / "mine.npz"), "iterations": 3}), tmp_path / "run")
    model = ms.load(tmp_path / "run")
    assert model.classes == [1, 2, 3]
    assert set(model.predict(x).tolist()) <= {1, 2, 3}
    assert model.predict_proba(x).shape == (80, 3)


# Tested on other rows


@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_that_it_was_tested_on_give_the_metrics_of_the_summary(own, kind):
    it = own(kind)
    model = ms.load(it.model)
    wanted = {name: value for name, value in it.summary.items() if name.startswith("test_")}
    assert len(wanted) >= 2
    tested = model.test(it.test)
    assert {name: value for name, value in tested.items() if name.startswith("test_")} == wanted
    assert tested["rows"] == len(it.data.rows["test"])


def test_the_metrics_of_a_classification_are_those_of_scikit_learn(own):
    metrics = pytest.importorskip("sklearn.metrics")
    it = own("fruit")
    model = ms.load(it.folder)
    truth, answers = it.columns["fruit"], model.predict(it.columns)
    tested = model.test(it.columns)
    assert tested["test_error"] == pytest.approx(100 * (1 - metrics.accuracy_score(truth, answers)))
    assert tested["test_loss"] == pytest.approx(metrics.log_loss(truth, model.predict_proba(it.columns)), rel=1e-5)
    assert tested["confusion"] == metrics.confusion_matrix(truth, answers, labels=model.classes).tolist()
    precision, recall, _, rows = metrics.precision_recall_fscore_support(
        truth, answers, labels=model.classes, zero_division=np.nan
    )
    for i, one in enumerate(tested["per_class"]):
        assert (one["class"], one["rows"]) == (model.classes[i], rows[i])
        assert one["recall"] == pytest.approx(recall[i])
        assert one["precision"] == (None if np.isnan(precision[i]) else pytest.approx(precision[i]))
    assert tested["guessing"] == pytest.approx(100 * (1 - max(rows) / len(truth)))


@pytest.mark.parametrize("kind", ["price", "prices"])
def test_the_metrics_of_a_regression_are_those_of_scikit_learn(own, kind):
    metrics = pytest.importorskip("sklearn.metrics")
    it = own(kind)
    model = ms.load(it.folder)
    truth = np.array([[float(cell) for cell in it.columns[name]] for name in it.targets]).T
    answers = model.predict(it.columns).reshape(truth.shape)
    tested = model.test(it.columns)
    assert tested["test_rmse"] == pytest.approx(np.sqrt(metrics.mean_squared_error(truth, answers)), rel=1e-5)
    assert tested["test_mae"] == pytest.approx(metrics.mean_absolute_error(truth, answers), rel=1e-5)
    assert tested["test_r2"] == pytest.approx(metrics.r2_score(truth, answers), rel=1e-4)


def test_answers_may_be_given_beside_the_rows(own):
    for kind in ("fruit", "grade", "price", "prices", "labels"):
        it = own(kind)
        model = ms.load(it.folder)
        truth = shop.typed(it.test)
        given = np.array([truth[name] for name in it.targets], dtype=object).T
        rows = shop.without(it.test, *it.targets)
        assert model.test(rows, given[:, 0] if len(it.targets) == 1 else given) == model.test(it.test)


def test_rows_of_unknown_classes_and_without_an_answer_are_left_out_and_told(own):
    it = own("fruit")
    model = ms.load(it.folder)
    spoilt = it.test | {"fruit": ["durian", "", "quince", *it.test["fruit"][3:]]}
    found = model.tested([spoilt])
    assert found["notes"][-2:] == [
        "2 rows of classes that the model does not know ('durian', 'quince') are left out",
        "1 rows without a fruit are left out",
    ]
    rest = shop.rows_of(it.test, range(3, len(it.test["fruit"])))
    assert {**model.test(spoilt)} == {**model.test(rest)}


def test_what_was_noticed_in_any_piece_of_a_file_is_told(own):
    it = own("fruit")
    pieces = [shop.rows_of(it.columns | {"colour": [colour] * shop.N}, [1, 2]) for colour in ("teal", "red", "mauve")]
    notes = ms.load(it.folder).tested(pieces)["notes"]
    assert notes == ["colour: 'teal', 'mauve' (4 cells) not among the training data's categories"]


def test_a_row_with_two_unknown_labels_is_one_row(own):
    it = own("labels")
    size = len(it.test["ripe"])
    spoilt = it.test | {"ripe": ["maybe", *it.test["ripe"][1:]], "sold": ["2", *it.test["sold"][1:]]}
    spoilt["ripe"][1] = ""
    found = ms.load(it.folder).tested([spoilt])
    assert found["rows"] == size - 2
    assert found["notes"][-2:] == [
        "1 rows of classes that the model does not know ('maybe', '2') are left out",
        "1 rows without a ripe, sold are left out",
    ]


@pytest.mark.parametrize("cell", ["", "NA", float("inf")])
def test_a_target_that_is_no_number_is_left_out(own, cell):
    it = own("price")
    prices = [cell, *map(float, it.test["price"][1:])]
    found = ms.load(it.folder).tested([it.test | {"price": [*map(str, prices)] if cell == "NA" else prices}])
    assert found["rows"] == len(prices) - 1
    assert np.isfinite(found["test_rmse"])


def test_numbers_that_are_classes_may_be_spelt_otherwise(own):
    it = own("grade")
    model = ms.load(it.folder)
    for spelt in ([f"{cell}.0" for cell in it.test["grade"]], [*map(float, it.test["grade"])]):
        assert model.test(it.test | {"grade": spelt}) == model.test(it.test)


def test_with_nothing_known_there_is_nothing_to_test_on(own):
    it = own("fruit")
    model = ms.load(it.folder)
    with pytest.raises(DataError, match="no row has a known fruit: there is nothing to test on"):
        model.test(it.test | {"fruit": ["durian"] * len(it.test["fruit"])})
    with pytest.raises(DataError, match="no column 'fruit', the answers to test by"):
        model.test(shop.without(it.test, "fruit"))
    with pytest.raises(DataError, match="column 'price': expected numbers, got 'dear'"):
        ms.load(own("price").folder).test(own("price").test | {"price": ["dear"] * len(own("price").test["price"])})


# Where it comes from


def test_the_file_alone_is_the_model(own, tmp_path):
    it = own("fruit")
    lone = ms.load(shutil.copy(it.model, tmp_path / "mine.safetensors"))
    assert lone.logits(lone.inputs(it.test)).tobytes() == it.logits.tobytes()
    assert lone.columns == ["colour", "weight", "year", "discount"]
    assert lone.targets == ["fruit"]
    assert lone.summary["test_error"] == it.summary["test_error"]
    assert str(lone).startswith("shop.csv: classification\nlayer ")


@pytest.mark.parametrize("kind", KINDS)
def test_its_task_is_known(own, kind):
    known = {"price": "regression", "prices": "regression", "labels": "labels"}
    assert ms.load(own(kind).folder).task == known.get(kind, "classification")


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("rnn", {"network.ep_mode": "joint", "network.radius": 1.2}),
        ("lstm", {"network.model": "lstm", "network.forget_bias": 0.5}),
    ],
)
def test_a_model_of_sequences_is_loaded_but_answers_no_rows(tmp_path, model, settings):
    small = {"iterations": 2, "network.hidden": [5], "batch_size": 4, "data.delay": 5}
    run(ms.configure("copy-memory", small | settings), tmp_path / "run")
    loaded = ms.load(tmp_path / "run")
    assert loaded.task == "sequences"
    assert f"{model}0" in str(loaded)
    for asked in (lambda: loaded.predict([[1]]), lambda: loaded.test([[1, 2]])):
        with pytest.raises(UsageError, match="copy-memory is a model of sequences"):
            asked()


def test_a_backend_that_cannot_be_used_is_no_fault_of_the_file(own, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(BackendUnavailable):
        ms.load(own("fruit").folder, backend="cupy")
    with pytest.raises(UsageError, match=r"unknown backend 'cuppy'\. Did you mean 'cupy'"):
        ms.load(own("fruit").folder, backend="cuppy")


def test_a_model_of_a_gpu_says_how_to_use_it_without(own, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    it = own("fruit")
    info, params = read_model(it.model)
    path = tmp_path / "best.safetensors"
    write_model(path, params, replace(info, config=info.config | {"backend": "cupy"}))
    with pytest.raises(BackendUnavailable, match="or use the model on another backend, as with --backend numpy"):
        ms.load(path)
    assert ms.load(path, backend="numpy").predict(it.test).tolist() == ms.load(it.model).predict(it.test).tolist()


def test_what_is_no_model_is_refused(own, tmp_path):
    it = own("fruit")
    with pytest.raises(DataError, match=r"nosuch: no such file; expected a run's folder or its best\.safetensors"):
        ms.load(tmp_path / "nosuch")
    with pytest.raises(DataError, match="is not finished"):
        ms.load(tmp_path)
    with pytest.raises(UsageError, match=r"expected a run's folder or its best\.safetensors, a \.safetensors file"):
        ms.load(it.table)
    _, params = read_model(it.model)
    save_file(params, tmp_path / "old.safetensors")
    with pytest.raises(DataError, match=r"parameters alone, as minisig before 0\.2 wrote them.*ms\.restore"):
        ms.load(tmp_path / "old.safetensors")


def test_a_model_without_a_preparation_takes_its_inputs_as_they_are(own_data, tmp_path):
    model, data = own_data("mean-squared-error")
    write_model(tmp_path / "again.safetensors", model.net.params, model.info)
    again = ms.load(tmp_path / "again.safetensors")
    assert again.info.prepared is None
    assert again.inputs(data.test.x).tobytes() == data.test.x.tobytes()


def test_the_public_digits_are_prepared_by_their_file(digits_run):
    assert load("digits").prepared == ms.load(digits_run).prepared
