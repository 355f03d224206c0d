"""What `turnpike bench` measures, and with which calls: bench_cases.txt tells it, and a change of it is seen there.

`python tests/python/test_bench_cases.py` writes that file anew.
"""

import collections
import contextlib
import json
import pathlib
import sys
import types

import pytest

torch = pytest.importorskip("torch", reason="the experiments move tensors of PyTorch, which is not installed here")

import bench_stand_in  # noqa: E402
from turnpike._bench import EXPERIMENTS, numa, pin, run, stacked, work  # noqa: E402

pytestmark = pytest.mark.slow

TOLD = pathlib.Path(__file__).with_name("bench_cases.txt")
ASKED = ("sized", "side", "steps", "workers")
COUNTED = (
    "synchronize new_stream current_stream use new_event keep_for pin empty_pinned register unregister "
    "release_device_memory release_pinned_memory reset_peak peak_bytes poison_pinned keep_busy same on_device"
).split()


class Stream:
    """Stands for streams and events, and counts what is done with them."""

    def __init__(self, kind, calls):
        self.kind, self.calls = kind, calls

    def __getattr__(self, name):
        def call(*_):
            self.calls[f"{self.kind}.{name}"] += 1

        return call


def machine_of(asked, calls):
    """The stand-in, which writes down what sizes it is asked for and counts its calls and those of Turnpike."""
    machine = bench_stand_in.cpu_machine()
    machine.new_stream = lambda device=None: Stream("stream", calls)
    machine.current_stream = lambda device=None: Stream("current", calls)
    machine.new_event = lambda: Stream("event", calls)

    def noted(name, call):
        def noting(value):
            asked.append(f"{name} {value}")
            return call(value)

        return noting

    def counted(name, call):
        def counting(*arguments, **options):
            calls[name] += 1
            return call(*arguments, **options)

        return counting

    for name in ASKED:
        setattr(machine, name, noted(name, getattr(machine, name)))
    for name in COUNTED:
        setattr(machine, name, counted(name, getattr(machine, name)))
    poison, pattern = machine.poison, machine.pattern

    def poisoned(size_bytes, *streams):
        calls[f"poison {size_bytes} for {1 + len(streams)} streams"] += 1
        poison(size_bytes, *streams)

    def made(size_bytes, seed=0):
        calls[f"bytes of pattern {size_bytes}"] += 1
        calls["sum of seeds"] += seed
        return pattern(size_bytes, seed)

    machine.poison, machine.pattern = poisoned, made
    for name, call in list(vars(machine.tp).items()):
        given = call

        def told(*arguments, name=name, given=given, **options):
            shown = "".join(f" {key}={value}" for key, value in options.items() if isinstance(value, (int, type(None))))
            calls[f"turnpike.{name}{shown}"] += 1
            return given(*arguments, **options)

        setattr(machine.tp, name, told)
    return machine


def counts(calls):
    told = ", ".join(f"{name} x{count}" if count > 1 else name for name, count in sorted(calls.items()))
    calls.clear()
    return told or "nothing"


def in_order(words):
    """Each once, with how often."""
    return counts(collections.Counter(words))


def told_of(experiment, planned, is_quick):
    asked, calls = [], collections.Counter()
    case = planned.build(machine_of(asked, calls))
    lines = [
        f"{experiment}: {case.name}",
        f"  in the quick form: {is_quick}; weight {planned.weight:.6g}",
        f"  asks for {in_order(asked)}",
        f"  is built with {counts(calls)}",
        f"  {case.unit} of {case.quantity}; baseline {case.baseline}; bound {case.bound}",
        f"  rounds: {case.most_rounds} at most, {case.warm_rounds} to warm up",
    ]
    if case.series is not None or case.size_bytes is not None:
        lines.append(f"  curve {case.series} at {case.size_bytes}")
    lines += [f"  note: {note}" for note in case.notes if "threads of PyTorch" not in note]
    lines += [f"  also {metric} in {unit}" for metric, unit in case.extras.items()]
    for way in case.ways:
        way.prepare()
        before = counts(calls)
        result = way.run()
        ran = counts(calls)
        way.check(result)
        checked = counts(calls)
        way.finish(result)
        told = {"prepares": before, "runs": ran, "checks": checked, "finishes": counts(calls)}
        lines.append(f"  way {way.name} ({way.role})")
        lines += [f"    {what}: {done}" for what, done in told.items() if done != "nothing"]
    if case.returns_figure:
        lines.append("  each way measures itself")
    values = {way.name: float(number**2 + 2) for number, way in enumerate(case.ways)}
    for name, derive in case.derived.items():
        values[name] = derive(values)
        lines.append(f"  of the ways at 2, 3, 6, 11, ... {name} is {values[name]:.6g}")
    for metric, ways in case.derived_extras.items():
        lines += [f"  and {metric} of {name} is {derive(values):.6g}" for name, derive in ways.items()]
    for target in case.targets:
        against = f" against {target.against}" if target.against else ""
        metric = f" ({target.metric})" if target.metric else ""
        lines.append(f"  target {target.way}{metric} {target.kind} {target.limit:.6g}{against}: {target.text}")
    case.afterwards()
    case.close()
    lines.append(f"  afterwards: {counts(calls)}")
    return "\n".join(lines)


@contextlib.contextmanager
def known_surroundings():
    """One NUMA node of two, much shared memory, no processes, and no measuring of how long work takes."""
    given = pytest.MonkeyPatch()
    measured = types.SimpleNamespace(returncode=0, stdout=json.dumps({"peak_bytes": 1 << 30}), stderr="")
    given.setattr(numa, "nodes", lambda: [0])
    given.setattr(stacked.shutil, "disk_usage", lambda path: types.SimpleNamespace(free=1 << 60))
    given.setattr(pin, "subprocess", types.SimpleNamespace(run=lambda *_, **__: measured))
    given.setattr(stacked, "LEAST_STEP_S", 0)
    given.setitem(sys.modules, "transformers", bench_stand_in.transformers())
    given.setattr(work.Work, "_measure", lambda self: 1.0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        given.undo()


def all_told(experiment):
    quick = [(one.name, one.weight) for one in run.plan_of(experiment, run.Options(quick=True))]
    whole = run.plan_of(experiment, run.Options())
    with known_surroundings():
        return [told_of(experiment, one, (one.name, one.weight) in quick) for one in whole]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_each_experiment_is_what_is_told_of_it(experiment):
    told = [block for block in TOLD.read_text().strip().split("\n\n") if block.startswith(f"{experiment}: ")]
    assert all_told(experiment) == told


if __name__ == "__main__":
    TOLD.write_text("\n\n".join(block for name in EXPERIMENTS for block in all_told(name)) + "\n")
