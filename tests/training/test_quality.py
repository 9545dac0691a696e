"""What a summary says of how good the model is, against plain loops."""

import json
from base64 import b64decode
from collections import Counter

import numpy as np
import pytest

from minisig.experiments import configure, suited
from minisig.seeds import stream
from minisig.training.quality import IMPORTANCE_ROWS, SHUFFLES, importance, quality
from minisig.training.restore import restore
from minisig.training.run import run
from tests.support import shop


@pytest.fixture(scope="session")
def digits_quality(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits") / "run"
    summary = run(configure("digits", {"iterations": 300, "network.hidden": [20]}), folder)
    _, data, net = restore(folder)
    return summary["quality"], data, net


def mean_loss(net, x, y, loss):
    """The loss of every row by itself, in Python's numbers."""
    total = 0.0
    for row, target in zip(x, y, strict=True):
        z = net.forward(row[None])[0].astype(float)
        if loss == "softmax-cross-entropy":
            total += np.log(sum(np.exp(one - z.max()) for one in z)) + z.max() - z[target]
        else:
            total += sum((one - other) ** 2 for one, other in zip(z, np.atleast_1d(target), strict=True)) / len(z)
    return total / len(x)


@pytest.mark.parametrize("kind", ["fruit", "price", "prices"])
def test_importance_is_that_of_a_naive_loop(own, kind):
    it = own(kind)
    x, y = it.data.valid.x, it.data.valid.y
    before = mean_loss(it.net, x, y, it.data.loss)
    expected, start = {}, 0
    for i, column in enumerate(it.data.prepared.columns):
        losses = []
        for shuffle in range(SHUFFLES):
            order = stream(0, "importance", i * SHUFFLES + shuffle).permutation(len(x))
            shuffled = [[*row] for row in x.tolist()]
            for row in range(len(x)):
                for place in range(start, start + column.width):
                    shuffled[row][place] = x[order[row], place]
            losses.append(mean_loss(it.net, np.array(shuffled, np.float32), y, it.data.loss))
        expected[column.name] = sum(losses) / SHUFFLES - before
        start += column.width
    found = it.summary["quality"]["importance"]
    assert found.keys() == expected.keys()
    assert [*found.values()] == sorted(found.values(), reverse=True)
    for name, rise in found.items():
        assert rise == pytest.approx(expected[name], abs=2e-5), name


def test_the_column_that_decides_is_the_most_important(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 300)).tolist()
    lines = [f"{one!r},{other!r},{'np'[one > 0]}" for one, other in zip(b, a, strict=True)]
    path = tmp_path / "own.csv"
    path.write_text("\n".join(["decides,does nothing,y", *lines]) + "\n")
    rises = run(suited(str(path), {"iterations": 400})[0])["quality"]["importance"]
    assert [*rises] == ["decides", "does nothing"]
    assert rises["decides"] > 0.5
    assert rises["does nothing"] < 0.1


def test_importance_is_of_so_many_rows_and_moves_none_of_them(own):
    it = own("fruit")
    before = it.data.valid.x.copy()
    part = it.data.valid.head(IMPORTANCE_ROWS)
    assert importance(it.net, part, it.data.prepared) == it.summary["quality"]["importance"]
    np.testing.assert_array_equal(it.data.valid.x, before)


def test_guessing_is_always_the_answer_that_is_most_frequent_in_training(own):
    it = own("fruit")
    found = it.summary["quality"]
    usual, _ = Counter(it.columns["fruit"][row] for row in it.data.rows["train"]).most_common(1)[0]
    truth = [it.columns["fruit"][row] for row in it.data.rows["test"]]
    assert found["usual"] == usual
    assert found["guessing"] == pytest.approx(100 * sum(one != usual for one in truth) / len(truth))
    assert found["rows"] == len(truth)


def test_guessing_a_number_is_the_mean_of_the_training_rows(own):
    for kind in ("price", "prices"):
        it = own(kind)
        train, test = (
            np.array([[float(it.columns[name][row]) for name in it.targets] for row in it.data.rows[part]])
            for part in ("train", "test")
        )
        expected = np.sqrt(((test - train.mean(axis=0)) ** 2).mean())
        assert it.summary["quality"]["guessing"] == pytest.approx(expected, rel=1e-6)
        assert it.summary["baselines"]["guessing"] == pytest.approx(expected, rel=1e-6)


def test_residuals_are_targets_and_predictions_in_their_own_units(own):
    it = own("price")
    found = it.summary["quality"]["residuals"]
    truth = [float(it.columns["price"][row]) for row in it.data.rows["test"]]
    np.testing.assert_allclose(found["target"], truth, rtol=1e-6)
    off = np.array(found["target"]) - found["prediction"]
    assert np.sqrt((off**2).mean()) == pytest.approx(it.summary["test_rmse"], rel=1e-6)
    assert "confusion" not in it.summary["quality"]


def test_the_mistakes_are_the_wrong_answers_from_the_most_confident_on(own):
    it = own("fruit")
    found = it.summary["quality"]
    names = ["apple", "pear", "plum"]
    answers = it.logits.astype(float)
    chances = np.exp(answers) / np.exp(answers).sum(axis=1, keepdims=True)
    wrong = []
    for place, row in enumerate(it.data.rows["test"]):
        answer = names[answers[place].argmax()]
        if answer != it.columns["fruit"][row]:
            wrong.append((row + 1, it.columns["fruit"][row], answer, chances[place].max()))
    wrong.sort(key=lambda one: -one[3])
    assert 0 < len(wrong) <= 24
    assert [(one["row"], one["class"], one["answer"]) for one in found["mistakes"]] == [one[:3] for one in wrong]
    np.testing.assert_allclose([one["p"] for one in found["mistakes"]], [one[3] for one in wrong], rtol=1e-6)
    assert sum(map(sum, found["confusion"])) - np.trace(found["confusion"]) == len(wrong)


def test_a_mistaken_digit_is_kept_as_it_was(digits_quality):
    found, data, net = digits_quality
    assert found["image"] == [8, 8]
    assert 0 < len(found["mistakes"]) <= 24
    for one in found["mistakes"]:
        x = data.test.x[one["row"] - 1]
        assert data.test.y[one["row"] - 1] == one["class"] != one["answer"]
        assert net.forward(x[None])[0].argmax() == one["answer"]
        pixels = np.frombuffer(b64decode(one["image"]), np.uint8)
        np.testing.assert_allclose(pixels / 127.5 - 1, x, atol=1 / 255)
    assert [one["p"] for one in found["mistakes"]] == sorted((one["p"] for one in found["mistakes"]), reverse=True)


def test_labels_have_importance_and_no_confusion(own):
    assert own("labels").summary["quality"].keys() == {"importance"}


def test_of_very_many_classes_there_is_no_matrix(tmp_path):
    x = np.random.default_rng(0).uniform(-1, 1, (180, 3))
    np.savez(tmp_path / "own.npz", x_train=x, y_train=np.arange(180) % 60, x_test=x, y_test=np.arange(180) % 60)
    summary = run(configure("digits", {"data.path": str(tmp_path / "own.npz"), "iterations": 2, "network.hidden": [3]}))
    assert summary["quality"].keys() == {"guessing", "usual", "rows", "mistakes"}
    assert len(summary["quality"]["mistakes"]) == 24


def test_of_sequences_nothing_is_said():
    summary = run(configure("copy-memory", {"iterations": 2, "network.hidden": [5], "batch_size": 4, "data.delay": 5}))
    assert "quality" not in summary


@pytest.mark.parametrize("kind", [*shop.TARGETS])
def test_what_a_summary_says_is_what_its_file_says(own, kind):
    it = own(kind)
    written = json.loads((it.folder / "summary.json").read_text())
    assert written["quality"] == quality(it.net, it.data) == it.summary["quality"]
