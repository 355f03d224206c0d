"""Every experiment of `turnpike bench`, run from end to end on a stand-in without a GPU: no typo may cost GPU time."""

import argparse
import json
import subprocess
import sys
import types

import pytest

torch = pytest.importorskip("torch", reason="the experiments move tensors of PyTorch, which is not installed here")

from torch.utils._pytree import tree_map  # noqa: E402

import bench_stand_in  # noqa: E402
import turnpike  # noqa: E402
from turnpike._bench import EXPERIMENTS, command, figures, loader, pin, run, small, stacked, two_way  # noqa: E402
from turnpike._bench.timing import Rounds, WrongResult, take_turns  # noqa: E402

pytestmark = pytest.mark.slow


class Once(run.Options):
    """One round, beside the one that warms up."""

    least_rounds = 1


OPTIONS = Once(seconds=0.01)
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def no_processes(monkeypatch):
    """The processes that measure page-locked memory need a GPU of their own."""

    def measured(arguments, **_):
        return types.SimpleNamespace(returncode=0, stdout=json.dumps({"peak_bytes": int(arguments[4])}), stderr="")

    monkeypatch.setattr(pin, "subprocess", types.SimpleNamespace(run=measured))


@pytest.fixture(autouse=True)
def few_workers(monkeypatch):
    """Each loader of each case starts workers: one size shows what all do."""
    monkeypatch.setattr(loader, "SIZES", {"16 MiB": loader.SIZES["16 MiB"]})
    monkeypatch.setattr(stacked, "LEAST_STEP_S", 0)


@pytest.fixture(autouse=True)
def hugging_face(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", bench_stand_in.transformers())


@pytest.fixture
def machine():
    return bench_stand_in.cpu_machine()


def run_one(name, machine, options=OPTIONS):
    outcome, shown = run.Outcome(), []
    run.run_experiment(name, machine, options, outcome, shown.append, lambda text: None)
    return outcome, "\n".join(shown)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs_checks_itself_and_judges_its_targets(name, machine):
    outcome, shown = run_one(name, machine)
    assert outcome.problems() == []
    assert {row["experiment"] for row in outcome.rows} == {name}
    assert {"pytorch", "turnpike"} <= {row["role"] for row in outcome.rows}
    assert "Turnpike" in shown
    judged = [row for row in outcome.rows if row["met"] is not None]
    assert judged
    assert all(row["target"] is not None and row["target_text"] in shown for row in judged)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_calls_turnpike_as_it_is(name):
    # Where there is no GPU the calls are PyTorch's own; page-locking then leaves memory as it is, so that is played.
    played = bench_stand_in.cpu_machine().tp
    calls = {name: getattr(turnpike, name) for name in vars(played)}
    machine = bench_stand_in.cpu_machine(types.SimpleNamespace(**calls))
    machine.tp.pin_, machine.tp.unpin_ = machine.register, machine.unregister
    outcome, _ = run_one(name, machine)
    assert outcome.problems() == []


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_quick_form_is_a_part_of_the_whole(name):
    quick = [one.name for one in run.plan_of(name, run.Options(quick=True))]
    whole = [one.name for one in run.plan_of(name, run.Options(quick=False))]
    assert quick
    assert set(quick) <= set(whole)


def cases_of(name, machine):
    return [one.build(machine) for one in run.plan_of(name, OPTIONS)]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_targets_speak_of_what_is_measured(name, machine):
    for case in cases_of(name, machine):
        figures_of_case = {way.name for way in case.ways} | set(case.derived)
        assert case.baseline in figures_of_case
        assert case.bound is None or case.bound in figures_of_case
        for target in case.targets:
            assert target.kind in figures.KINDS
            assert {target.way, target.against or target.way} <= figures_of_case
            assert target.metric == "" or target.metric in case.extras
        case.close()


# What of an experiment's ways a Turnpike that does nothing must be caught in.
BROKEN = {
    "to": {"to": lambda tensor, device, **_: torch.empty_like(tensor).fill_(0)},
    "small": {"to": lambda tensors, device: [tensor.clone() + 1 for tensor in tensors]},
    "d2h": {"to": lambda tensor, device: torch.zeros_like(tensor), "copy_": lambda dst, src: bench_stand_in.Work()},
    "prefetch": {"prefetch": lambda batches, device: [batch + 1 for batch in batches]},
    "loader": {"prefetch": lambda batches, device: (tree_map(torch.neg, batch) for batch in batches)},
    "fetch": {"fetch": lambda tensor: bench_stand_in.Future(tensor * 1.01)},
    "pin": {"pin_": lambda tensor: None},
    "pipeline": {"pipeline": lambda fn, inputs, device, depth, out: out},
    "peer": {"copy_": lambda dst, src: bench_stand_in.Work()},
    "both": {"to": lambda tensor, device: torch.zeros_like(tensor)},
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_wrong_bytes_are_found(name, machine):
    for call, broken in BROKEN[name].items():
        setattr(machine.tp, call, broken)
    outcome, shown = run_one(name, machine)
    assert outcome.wrong
    assert "Turnpike" in outcome.wrong[0]
    assert "WRONG RESULT" in shown


def test_a_prefetch_that_loses_a_batch_is_found(machine):
    machine.tp.prefetch = lambda batches, device: list(batches)[1:]
    outcome, _ = run_one("prefetch", machine)
    assert any("batches arrived" in wrong for wrong in outcome.wrong)


def run_case(experiment, case, machine):
    """One case of an experiment; returns what was wrong, and the rows."""
    (planned,) = (one for one in run.plan_of(experiment, OPTIONS) if one.name == case)
    outcome = run.Outcome()
    with pytest.MonkeyPatch.context() as alone:
        alone.setattr(run, "plan_of", lambda *_: [planned])
        run.run_experiment(experiment, machine, OPTIONS, outcome, lambda text: None, lambda text: None)
    assert outcome.failed == []
    return outcome


def add_one(batch):
    return type(batch)({**batch, "labels": batch["labels"] + 1})


@pytest.mark.parametrize(("change", "said"), [(add_one, "items of the batches differ"), (dict, "arrived as dict")])
def test_a_batch_of_hugging_face_arrives_as_it_was(machine, change, said):
    name = f"{loader.ENCODINGS}, 0 workers"
    assert {row["case"] for row in run_case("loader", name, machine).rows} == {name}
    machine.tp.prefetch = lambda batches, device: map(change, batches)
    (wrong,) = run_case("loader", name, machine).wrong
    assert said in wrong


@pytest.mark.parametrize(("change", "said"), [(add_one, "other bytes than its source"), (dict, "arrived as dict")])
def test_a_batch_of_hugging_face_that_moves_alone_is_compared(machine, change, said):
    machine.tp.to = lambda batch, device: change(batch)
    (wrong,) = run_case("small", small.ENCODINGS, machine).wrong
    assert said in wrong


@pytest.mark.parametrize(
    ("experiment", "case"), [("loader", "Hugging Face batch, 2 workers"), ("small", small.ENCODINGS)]
)
def test_without_transformers_its_batches_are_not_measured_and_it_says_so(machine, monkeypatch, experiment, case):
    monkeypatch.setitem(sys.modules, "transformers", None)
    outcome = run_case(experiment, case, machine)
    assert outcome.rows == outcome.wrong == []
    assert outcome.nothing == [f"{experiment}: batches of Hugging Face need transformers, which is not installed here"]


LATE = {
    "fetch": lambda tensor: bench_stand_in.Future(torch.zeros_like(tensor)),
    "pipeline": lambda fn, inputs, device, out: [fn(batch) for batch in inputs],
    "to": lambda tensor, device: tensor - 1,
    "prefetch": lambda batches, device: (batch + 1 for batch in batches),
}


@pytest.mark.parametrize(
    ("call", "way"), [("fetch", "fetch"), ("pipeline", "pipeline"), ("to", "to"), ("prefetch", "fetch")]
)
def test_every_result_of_a_loop_in_both_directions_is_compared(machine, call, way):
    setattr(machine.tp, call, LATE[call])
    (wrong,) = run_case("both", two_way.NAME, machine).wrong
    assert wrong.startswith(f"both: WRONG RESULT: {two_way.NAME}, Turnpike prefetch and {way}: ")


def test_a_loop_in_both_directions_that_loses_a_batch_is_found(machine):
    machine.tp.prefetch = lambda batches, device: list(batches)[1:]
    (wrong,) = run_case("both", two_way.NAME, machine).wrong
    assert "19 batches arrived, not 20" in wrong


def test_peer_refuses_a_single_gpu(machine):
    machine.device_count = lambda: 1
    outcome, shown = run_one("peer", machine)
    assert outcome.rows == []
    assert "two of them" in outcome.nothing[0]
    assert "two of them" in shown


def test_too_little_shared_memory_is_said_and_the_other_cases_are_measured(machine, monkeypatch):
    monkeypatch.setattr(stacked.shutil, "disk_usage", lambda path: types.SimpleNamespace(free=0))
    outcome, shown = run_one("loader", machine)
    assert outcome.failed == outcome.wrong == []
    assert "/dev/shm" in outcome.nothing[0]
    assert "16 MiB, 0 workers" in shown


def test_peer_says_how_the_copies_go(machine):
    _, shown = run_one("peer", machine)
    assert "Turnpike copies directly" in shown
    counts = iter(range(0, 1 << 20, 4096))
    machine.tp.move_stats = lambda: types.SimpleNamespace(p2p=types.SimpleNamespace(staged_bytes=next(counts)))
    _, shown = run_one("peer", machine)
    assert "Turnpike copies through the host" in shown


def test_peer_writes_a_trace_for_each_way(machine, tmp_path):
    outcome, _ = run_one("peer", machine, Once(quick=True, seconds=0.01, trace=str(tmp_path / "peer.json")))
    assert outcome.problems() == []
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 8 + 1 + 2
    assert "peer-sender-side-receiver-side-non_blocking.json" in names


def test_one_case_that_fails_does_not_hide_the_others(machine):
    whole = machine.tp.to

    def refuses_dtypes(*arguments, dtype=None, **options):
        if dtype is not None:
            raise RuntimeError("out of memory\nand much more")
        return whole(*arguments, **options)

    machine.tp.to = refuses_dtypes
    outcome, shown = run_one("to", machine)
    assert "to, uint8 to float32: RuntimeError: out of memory" in outcome.failed
    assert "10 uploads of 400 MB" in shown


def test_a_case_is_closed_when_a_result_is_wrong(machine):
    (case,) = (one for one in run.plan_of("prefetch", OPTIONS) if one.name == "all CPU cores busy")
    built = case.build(machine)
    built.ways[0].check = lambda _: (_ for _ in ()).throw(WrongResult("broken on purpose"))
    with pytest.raises(WrongResult, match="broken on purpose"):
        take_turns(built, Rounds(0.01), machine.synchronize)
    built.close()


@pytest.mark.parametrize("as_json", [False, True])
def test_the_result_file_holds_all_rows_and_what_they_depend_on(machine, tmp_path, capsys, as_json):
    out = tmp_path / "results" / "small.json"
    arguments = ["small", "--quick", "--seconds", "0.01", "--out", str(out), *(["--json"] if as_json else [])]
    options = command.parser().parse_args(arguments)
    assert command.measure(["small"], machine, options, arguments) == 0
    document = json.loads(out.read_text())
    assert document["schema"] == 1
    assert document["name"] == "small"
    assert document["command"].startswith("turnpike bench small --quick")
    for row in document["rows"]:
        assert {"case", "metric", "unit", "value", "spread", "samples", "baseline", "ratio", "target", "met"} <= set(
            row
        )
    printed = capsys.readouterr().out
    if as_json:
        assert json.loads(printed) == document
    else:
        assert "targets met" in printed


def test_a_wrong_result_is_the_exit_code_1(machine, capsys):
    machine.tp.to = BROKEN["small"]["to"]
    arguments = ["small", "--quick", "--seconds", "0.01"]
    options = command.parser().parse_args(arguments)
    assert command.measure(["small"], machine, options, arguments) == 1
    assert "WRONG RESULT" in capsys.readouterr().err


def test_options_of_a_gpu_that_is_not_there(capsys):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert command.main(["to", "--quick"]) == 4
    said = capsys.readouterr().err
    assert said.startswith("turnpike bench to: PyTorch")
    assert "sees no GPU" in said


def test_argparse_namespaces_of_the_command_have_what_measure_reads():
    options = command.parser().parse_args(["all"])
    assert isinstance(options, argparse.Namespace)
    assert (options.quick, options.seconds, options.json, options.out, options.plot) == (False, None, False, None, None)


@pytest.mark.parametrize("mode", ["pageable", "Turnpike, in place"])
def test_resident_memory_is_that_of_the_tensor(mode):
    # In a process of its own, as the experiment does it: what is freed here would be taken again.
    code = f"from turnpike._bench import resident; print(resident.measure({mode!r}, 1 << 27, 'cpu')['peak_bytes'])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert int(shown.stdout) == pytest.approx(1 << 27, rel=0.05)
