"""What the live display says of a record; test_progress.py has it on a terminal."""

import re
from io import StringIO
from threading import current_thread

import pytest
from rich.console import Console, Group

from minisig.cli.display import ASCII_LEVELS, REFRESHES, Display, gradient_bars
from tests.cli.command import wait_until

RECORD = {"train_loss": 1.0, "gradient_norm": {"dense0": 1.0}}


@pytest.mark.parametrize(
    ("metrics", "shown"),
    [
        ({"valid_loss": 0.5}, "valid loss 0.5000"),
        ({"valid_loss": 0.5, "valid_error": 7.0}, "valid error 7.00 %"),
        ({"valid_loss": 0.5, "valid_error": 7.0, "valid_recall": 25.0}, "valid recall 25.0 %"),
        ({"valid_loss": 0.5, "valid_rmse": 0.123456}, "valid rmse 0.123456"),
    ],
)
def test_the_display_shows_the_last_of_them(metrics, shown):
    display = Display()
    display.show({"iteration": 1, "train_loss": 1.0, "gradient_norm": {"dense0": 1.0}} | metrics)
    assert display.valid == shown


def test_of_a_resumed_run_what_was_done_before_counts_for_no_speed():
    display = Display()
    display.follow(10_000)
    for iteration, now in ((5000, 100.0), (5010, 101.0), (5020, 102.0)):
        display.get_time = lambda now=now: now
        display.show(RECORD | {"iteration": iteration})
    assert display.tasks[0].speed == 10.0


def test_a_comparison_shows_its_runs_and_the_gradients_of_the_present_one():
    def drawn():
        console = Console(file=StringIO(), width=80)
        console.print(Group(*display.get_renderables()))
        return console.file.getvalue().splitlines()

    display = Display()
    display.add_task("runs", total=3)
    display.follow(1500)
    for iteration in (20, 40, 60):
        display.show(RECORD | {"iteration": iteration, "valid_error": 7.0})
    runs, run, gradients = drawn()
    assert re.search(r"0/3 +-:--:-- runs", runs)
    assert re.search(r"60/1500 \S+ it/s .* loss 1\.000 valid error 7\.00 %", run)
    assert gradients.endswith(": █")
    display.follow(1500)
    _, run = drawn()
    assert "0/1500" in run
    assert not re.search("it/s|loss|valid", run)


def test_it_is_drawn_by_a_thread_of_its_own_a_few_times_a_second_however_often_it_is_told():
    with Display() as display:
        display.follow(100_000)
        drawing, draw = set(), display.get_renderables
        display.get_renderables = lambda: drawing.add(current_thread()) or draw()
        for iteration in range(10_000):
            display.show(RECORD | {"iteration": iteration})
        wait_until(lambda: drawing)
        assert current_thread() not in drawing
    assert display.live.refresh_per_second == REFRESHES


@pytest.mark.parametrize(
    ("norms", "bars"),
    [
        ([1.0, 0.11, 0.09, 0.0101, 1e-6, 1e-7, 1e-8, 1e-30, 0.0], "█" + "█▇▇▂▁▁▁·"),
        ([3e-9, 2e-9], "██"),
        ([0.0, 0.0], "··"),
    ],
)
def test_a_step_is_a_decade_below_the_largest(norms, bars):
    named = {f"dense{i}": norm for i, norm in enumerate(norms)}
    assert gradient_bars(named).plain.rsplit(" ", 1)[1] == bars
    digits = gradient_bars(named, ASCII_LEVELS).plain.rsplit(" ", 1)[1]
    assert digits == bars.translate(str.maketrans("·▁▂▃▄▅▆▇█", ASCII_LEVELS))
