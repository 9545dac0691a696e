"""How the benchmarks count, on clocks and machines that are made up."""

import resource
from contextlib import contextmanager

import pytest

from benchmarks.speed import measure
from benchmarks.speed.growth import exponent
from benchmarks.speed.measure import interleaved, ratios, spread
from benchmarks.speed.report import targets
from benchmarks.speed.startup import cpu_time
from benchmarks.speed.workloads import Step


class Machine:
    """A clock that steps move on, by what they cost times how busy the machine is just then."""

    def __init__(self):
        self.now, self.busy, self.log = 0.0, 1.0, []

    def step(self, name, cost):
        def run():
            self.log.append(name)
            self.now += cost * self.busy

        return Step(run, dict)


def test_peers_take_turns_with_slices_of_about_the_same_length():
    machine = Machine()
    steps = {"fast": machine.step("fast", 0.01), "slow": machine.step("slow", 0.05)}
    times = interleaved(steps, lambda: machine.now, rounds=3, seconds=0.1)
    assert times == {"fast": pytest.approx([0.01] * 3), "slow": pytest.approx([0.05] * 3)}
    assert "".join(name[0] for name in machine.log[-36:]) == ("f" * 10 + "s" * 2) * 3


def test_a_machine_that_slows_down_for_whole_rounds_leaves_the_ratio_alone():
    machine = Machine()

    def slower():
        machine.busy *= 2
        return machine.step("a", 0.1).run()

    steps = {"a": Step(slower, dict), "b": machine.step("b", 0.3)}
    times = interleaved(steps, lambda: machine.now, rounds=5, seconds=0.0)
    assert times["a"][-1] > 10 * times["a"][0]
    assert ratios(times["b"], times["a"]) == pytest.approx((3, 3, 3))


def test_a_pool_that_spins_after_its_last_step_is_let_fall_asleep_before_the_next_peer_is_timed(monkeypatch):
    machine, spinning = Machine(), set()

    def peer(name):
        def run():
            machine.now += 0.5 if spinning - {name} else 0.1
            spinning.add(name)

        return Step(run, dict)

    monkeypatch.setattr(measure, "sleep", lambda seconds: spinning.clear())
    steps = {"ours": peer("ours"), "theirs": peer("theirs")}
    at_once = interleaved(steps, lambda: machine.now, rounds=3, seconds=0.1)
    rested = interleaved(steps, lambda: machine.now, rounds=3, seconds=0.1, rest=1.0)
    assert at_once == {name: pytest.approx([0.5] * 3) for name in steps}
    assert rested == {name: pytest.approx([0.1] * 3) for name in steps}


def test_the_step_after_a_rest_is_not_counted():
    machine, asleep = Machine(), [True]

    def run():
        machine.now += 1.0 if asleep[0] else 0.1
        asleep[0] = not asleep[0]  # a slice is one step, and so is what comes before it

    times = interleaved({"a": Step(run, dict)}, lambda: machine.now, rounds=3, seconds=0.0, rest=1e-6)
    assert times["a"] == pytest.approx([0.1] * 3)


def test_work_that_is_still_under_way_is_waited_for_within_the_slice():
    machine = Machine()
    pending = []

    def wait():
        machine.now += sum(pending)
        pending.clear()

    times = interleaved({"lazy": Step(lambda: pending.append(0.5), dict, wait)}, lambda: machine.now, 2, 1.0)
    assert times["lazy"] == [0.5, 0.5]


def test_every_slice_runs_inside_its_context():
    machine, inside = Machine(), []

    @contextmanager
    def around():
        inside.append(True)
        yield
        inside.append(False)

    def run():
        assert inside[-1]
        machine.now += 1

    interleaved({"a": Step(run, dict, around=around)}, lambda: machine.now, 2, 1.0)
    assert inside[-1] is False


def test_the_spread_holds_eight_of_ten():
    assert spread([float(i) for i in range(11)]) == (5, 1, 9)


def test_a_power_law_gives_its_exponent():
    sizes = (10, 20, 40, 80)
    assert exponent(sizes, [3 * n**1.5 for n in sizes]) == pytest.approx(1.5)


def test_targets_are_judged_by_what_was_measured():
    run = {"ratios": {"PyTorch": [1.2, 1.1, 1.3], "GEMMs alone": [0.5, 0.4, 0.6]}}
    everywhere = {"ratios": {"PyTorch": [0.9, 0.8, 0.95], "minisig, one thread": [0.99, 0.9, 1.1]}}
    found = {t.what: t.met for t in targets({"workloads": {"mlp-deep": {"1": run, "all": everywhere}}})}
    assert found == {
        "mlp-deep, times PyTorch": True,
        "mlp-deep, times GEMMs alone": False,
        "mlp-deep, all cores, times PyTorch": False,
        "mlp-deep, all cores, times minisig, one thread": True,
    }


def charged():
    """Seconds of a processor that the children of this process have been charged for so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_the_cpu_time_of_a_command_is_what_the_system_charges_for_it_and_all_it_waits_for():
    before = charged()
    found = cpu_time(["/bin/sh", "-c", "sleep 0.1; sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'; true"])
    assert found == pytest.approx(charged() - before, abs=1e-5)  # each of them is told in microseconds
    assert found > 0


def test_a_command_that_fails_is_not_a_quick_one():
    with pytest.raises(SystemExit, match="exit 3 failed"):
        cpu_time(["/bin/sh", "-c", "exit 3"])
