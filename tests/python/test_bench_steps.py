"""How long a step of the loops of `turnpike bench` is, where all times are given."""

import pytest

torch = pytest.importorskip("torch", reason="the experiments move tensors of PyTorch, which is not installed here")

import bench_stand_in  # noqa: E402
from turnpike._bench import prefetch, stacked  # noqa: E402
from turnpike._bench.work import Work  # noqa: E402


@pytest.fixture
def machine():
    return bench_stand_in.cpu_machine()


@pytest.mark.parametrize(
    ("wanted_s", "times"),
    [
        (1.0, 7),  # what comparing the batch leaves of it
        (0.3, 1),
        (0.0, 1),
    ],
)
def test_a_step_compares_and_then_multiplies_for_the_rest_of_its_time(monkeypatch, machine, wanted_s, times):
    monkeypatch.setattr(Work, "_measure", lambda self: 0.1)
    monkeypatch.setattr(prefetch, "seconds_of", lambda m, run: 0.3)
    assert prefetch.Loop(machine, [torch.zeros(4)], wanted_s).times == times


@pytest.mark.parametrize(("workers", "wanted_s"), [(0, 3.0), (1, 3.0), (2, 1.5), (8, 0.375), (1000, 0.0042)])
def test_a_step_lasts_as_long_as_the_workers_take_to_stack_a_batch_and_half_of_it(
    monkeypatch, machine, workers, wanted_s
):
    steps = []
    monkeypatch.setattr(machine, "workers", lambda count: count)
    monkeypatch.setattr(stacked, "seconds_of", lambda m, run: 2.0)
    monkeypatch.setattr(stacked, "_need_shared_memory", lambda workers, batch_bytes: None)
    monkeypatch.setattr(stacked, "Loop", lambda m, references, seconds_a_step: steps.append(seconds_a_step))
    stacked.Stacked(machine, item_bytes=4096, workers=workers, steps=4)
    assert steps == [pytest.approx(wanted_s)]


def test_steps_are_counted_by_the_second(monkeypatch):
    done, seconds = [3], iter([10.0, 12.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(seconds))

    def run():
        done[0] += 5
        return "result"

    counted, metrics = prefetch._counted(run, done, "steps/s")
    assert counted() == "result"
    monkeypatch.undo()
    assert metrics(None) == {"steps/s": 2.5}
