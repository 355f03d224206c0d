"""The differential tester itself: what it draws, what it compares, and that it finds what is wrong."""

import ast
import importlib.util
import pathlib
import sys

import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

FOLDER = pathlib.Path(__file__).parents[1] / "gpu" / "differential"


@pytest.fixture(scope="module", autouse=True)
def on_the_path():
    folders = [str(FOLDER), str(FOLDER.parents[2] / "bench")]
    sys.path[:0] = folders
    yield
    for folder in folders:
        sys.path.remove(folder)


@pytest.fixture(scope="module")
def runner():
    return load("worker").Runner("cpu")


def load(name):
    """A module of the tester by a name of its own: others are called run, too."""
    spec = importlib.util.spec_from_file_location(f"differential_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def operation_names():
    sys.path.insert(0, str(FOLDER))
    try:
        from operations import all_operations

        return sorted(all_operations())
    finally:
        sys.path.remove(str(FOLDER))


def test_every_known_fault_can_be_come_upon():
    from catalogue import all_faults

    assert {fault.covered_by for fault in all_faults().values()} <= set(operation_names())
    numbers = {fault.number for fault in all_faults().values()}
    assert numbers >= {*map(str, range(1, 19)), "5b", "11b"}


def test_a_seed_is_a_program():
    programs = load("programs")
    texts = [programs.make(seed, []).text for seed in range(500)]
    assert texts == [programs.make(seed, []).text for seed in range(500)]
    for text in texts:
        ast.parse(text)
    drawn = {block.operation for seed in range(3000) for block in programs.make(seed, []).blocks}
    assert drawn == set(operation_names())


# Those with processes of their own take seconds each.
@pytest.mark.parametrize("operation", sorted(set(operation_names()) - {"forks", "ends_of_processes", "workers"}))
def test_plain_programs_are_the_same_twice(runner, operation):
    if operation == "accelerate_loops":
        pytest.importorskip("accelerate", reason="accelerate is not installed")
    if operation == "containers":
        pytest.importorskip("transformers", reason="transformers is not installed")
    import observe

    programs = load("programs")
    for seed in range(3):
        text = programs.make(seed, [operation]).text
        if "num_workers=2" in text:
            continue
        first, second = (runner.run_here(text, "plain") for _ in range(2))
        assert first["seen"] and not any(label.endswith("/end") for label, _ in first["seen"]), text
        assert not [str(each) for each in observe.differences(first, second) if each.path != "duration_ms"], text


class Wrong:
    """Ways that are wrong in one thing."""

    is_tp = True

    def __init__(self, to):
        self.to = to


def neighbours(nest, device):
    """All in one storage."""
    return list(torch.cat([tensor.flatten() for tensor in nest]).split(nest[0].numel()))


@pytest.mark.parametrize(
    "to, field",
    [
        (lambda nest, device: [tensor + 1 for tensor in nest], "values"),
        (lambda nest, device: [tensor.double() for tensor in nest], "dtype"),
        (lambda nest, device: [tensor.unsqueeze(0) for tensor in nest], "length"),
        (neighbours, "storage_bytes"),
        (neighbours, "storage"),
        (neighbours, "offset"),
        (lambda nest, device: [nest[0].clone()] * len(nest), "storage"),
        (lambda nest, device: [tensor.clone().requires_grad_() for tensor in nest], "requires_grad"),
        (lambda nest, device: [tensor.clone().add_(0) for tensor in nest], "version"),
        (lambda nest, device: tuple(tensor.clone() for tensor in nest), "type"),
        (lambda nest, device: 1 // 0, "raised"),
    ],
)
def test_what_differs_is_found(runner, to, field):
    import observe

    text = "a = [torch.full((8,), k / 3) for k in range(3)]\nlog.see('op/0', way.to(a, dev))  # op/0\n"
    runner._ways["plain"] = Wrong(lambda nest, device: [tensor.clone() for tensor in nest])
    runner._ways["tp"] = Wrong(to)
    try:
        found = observe.differences(runner.run_here(text, "plain"), runner.run_here(text, "tp"))
    finally:
        runner._ways.clear()
    assert found
    if field == "raised":
        assert found[0].path == "order"
    else:
        assert f"op: {field}" in {difference.key for difference in found}


def test_slower_calls_and_kept_memory_are_found():
    import observe

    def log(ms, mib):
        return {"seen": [["op/0/MiB kept", {"at most": mib}]], "durations": [["op/0", ms]]}

    assert observe.differences(log(10, 0), log(50, 0)) == []
    assert [each.path for each in observe.differences(log(10, 0), log(70, 0))] == ["duration_ms"]
    assert [each.path for each in observe.differences(log(10, 0), log(10, 3))] == ["more"]
    assert observe.differences(log(10, 3), log(10, 0)) == []


@pytest.mark.parametrize(
    ("plain", "tp", "is_found"), [(-6, 3, False), (-6, 0, False), (-6, -11, True), (0, 3, True), (0, "hung", True)]
)
def test_to_end_well_where_plain_pytorch_aborts_is_no_fault(plain, tp, is_found):
    import observe

    logs = [{"seen": [["ends", {"status": status}]], "durations": []} for status in (plain, tp)]
    assert bool(observe.differences(*logs)) is is_found


def test_programs_are_made_smaller():
    programs = load("programs")
    text = "a = 1\nb = 100000\nc = [\n    a,\n]\nd = b\n"
    assert programs.smaller(text, lambda candidate: "b = " in candidate and "d = b" in candidate) == "b = 400\nd = b\n"


def test_cells_count_programs_by_what_differed():
    tally = load("tally").Tally(None)
    event = {
        "seed": 1, "statements": 3, "unsteady": [],
        "blocks": [["to_nest", "values", "tp.to", "to_nest/0"], ["fetch", "values", "tp.fetch", "fetch/1"]],
    }  # fmt: skip
    failure = {"key": "to_nest: storage", "label": "to_nest/0/m", "text": "..."}
    tally.done({**event, "failures": [failure]})
    assert tally.cells["values", "tp.to"] == [1, 1]
    assert tally.cells["storages", "tp.to"] == [0, 1]
    assert tally.cells["storages", "tp.fetch"] == [1, 1]
    tally.done({**event, "failures": [{"key": "program: more", "label": "program/MiB kept", "text": "..."}]})
    assert tally.cells["lifetimes", "tp.to"] == [1, 2]
    assert tally.cells["lifetimes", "tp.fetch"] == [1, 2]
    assert tally.found["to_nest: storage"].faults == ["4"]
