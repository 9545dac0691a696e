"""Observers see a run whole and in order, and change nothing of it."""

import pytest

from minisig.errors import Diverged, Interrupted, UsageError
from minisig.training.checkpoint import CHECKPOINT
from minisig.training.observers import Observer
from minisig.training.run import resume, run
from tests.faults.runs import contents, difference, outcome, stop_at


class Diary(Observer):
    """Notes what comes, and at which iteration."""

    def __init__(self, folder=None):
        self.notes, self.folder = [], folder

    def begin(self, training):
        self.notes.append(("begin", training.iteration))

    def log(self, record):
        self.notes.append(("log", record["iteration"]))

    def save(self, training):
        self.notes.append(("save", training.iteration))
        self.before = (self.folder / CHECKPOINT).exists()

    def finish(self, summary):
        self.notes.append(("finish", summary["iterations"]))
        self.left = {path.name for path in self.folder.iterdir()} if self.folder else set()

    def close(self):
        self.notes.append(("close", None))


LOGGED = [("log", i) for i in (1, 4, 6, 8, 12, 16, 18, 20)]


def test_a_run_without_a_folder_begins_logs_finishes_and_is_closed(xor):
    diary = Diary()
    run(xor, observers=[diary])
    assert diary.notes == [("begin", 0), *LOGGED, ("finish", 20), ("close", None)]


def test_before_every_checkpoint_they_can_bring_what_they_have_to_the_disk(tmp_path, xor):
    diary = Diary(tmp_path)
    with pytest.raises(Interrupted):
        run(xor, tmp_path, observers=[diary], stop=stop_at(2))
    assert diary.notes == [("begin", 0), ("log", 1), ("save", 2), ("close", None)]
    assert diary.before is False


def test_of_a_resumed_run_they_see_what_is_made_now(tmp_path, xor):
    with pytest.raises(Interrupted):
        run(xor, tmp_path, stop=stop_at(13))
    diary = Diary(tmp_path)
    resume(tmp_path, observers=[diary])
    assert diary.notes == [
        *(("begin", 13), ("save", 15), ("log", 16), ("log", 18), ("save", 18), ("log", 20), ("save", 20)),
        *(("finish", 20), ("close", None)),
    ]
    assert diary.left >= {"best.safetensors", "summary.json"}


def test_a_plain_function_is_shown_every_record_and_several_are_told_in_order(xor):
    seen = []
    run(xor, observers=[lambda record: seen.append(("a", record["iteration"])), lambda record: seen.append("b")])
    assert seen[:4] == [("a", 1), "b", ("a", 4), "b"]
    assert len(seen) == 2 * len(LOGGED)


def test_however_a_run_ends_all_are_closed(xor, poison):
    poison(5, lambda training: training.net.params["dense0.W"].fill(float("nan")))
    diaries = [Diary(), Diary()]
    with pytest.raises(Diverged):
        run(xor, observers=diaries)
    assert [diary.notes[-1] for diary in diaries] == [("close", None)] * 2


def test_one_that_fails_ends_the_run_and_the_others_are_closed_too(xor):
    class Failing(Observer):
        def log(self, record):
            raise ZeroDivisionError

        def close(self):
            raise ZeroDivisionError

    diary = Diary()
    with pytest.raises(ZeroDivisionError):
        run(xor, observers=[Failing(), diary])
    assert diary.notes == [("begin", 0), ("close", None)]


def test_what_cannot_observe_is_refused_before_anything_is_done(tmp_path, xor):
    with pytest.raises(UsageError, match="expected an Observer or a function of a record, got 'tensorboard'"):
        run(xor, tmp_path / "run", observers=["tensorboard"])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["dropout", "text"])
def test_with_observers_a_run_comes_to_the_same_bits(tmp_path, straight, name):
    config, reference = straight(name)
    run(config, tmp_path / "run", observers=[Diary(tmp_path / "run"), print])
    assert difference(tmp_path / "run", reference) == ""


def test_a_finished_run_has_nothing_to_observe(tmp_path, xor):
    run(xor, tmp_path)
    before, diary = contents(tmp_path), Diary()
    resume(tmp_path, observers=[diary])
    assert (diary.notes, contents(tmp_path)) == ([], before)
    assert outcome(tmp_path)
