"""What python -m benchmarks.fast records, without the training."""

from benchmarks import fast


def test_the_load_is_that_of_the_machine_before_the_first_run(monkeypatch):
    loads = [0.25]

    def run(config):
        loads.append(2.0)
        return {"test_error": float(config.seed)}

    monkeypatch.setattr(fast, "run", run)
    monkeypatch.setattr("os.getloadavg", lambda: (loads[-1], 0.0, 0.0))
    row = fast.measure("mnist-deep-fast", seeds=2)
    assert row["machine"]["load"] == 0.25
    assert row["test_error"] == [0, 1]
