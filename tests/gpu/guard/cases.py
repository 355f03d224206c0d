"""The guard with the real PyTorch on a GPU: what the programs of ../crossings do not do.

python -m pytest tests/gpu/guard/cases.py
"""

import asyncio
import contextlib
import threading

import pytest
import torch

import turnpike as tp

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.fixture(autouse=True)
def warm():
    """CUDA is up, and its libraries are loaded: what comes first is not what is tested."""
    (torch.ones(8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")).sum().item()
    torch.cuda.synchronize()


def raised(call, **rules):
    """The TransferError of a call; None: it went through."""
    try:
        with tp.guard(**rules):
            call()
    except tp.TransferError as error:
        torch.cuda.synchronize()  # PyTorch and CUDA go on
        return error
    return None


GPU = {"device": "cuda"}


@pytest.mark.parametrize(
    ("call", "rules", "direction"),
    [
        (lambda: torch.ones(4).to("cuda"), {"h2d": "disallow"}, "h2d"),
        (lambda: torch.ones(4).to("cuda"), {"pageable": "disallow"}, "h2d"),
        (lambda: torch.ones(4, 4)[:, ::2].to("cuda"), {"h2d": "disallow"}, "h2d"),
        (lambda: torch.ones(4, 4).pin_memory()[:, ::2].to("cuda", non_blocking=True), {"pageable": "disallow"}, "h2d"),
        (lambda: torch.ones(1 << 20).to("cuda", non_blocking=True), {"pageable": "disallow"}, "h2d"),
        (lambda: torch.tensor([1, 2], device="cuda"), {"h2d": "disallow"}, "h2d"),
        (lambda: torch.ones(4, **GPU).cpu(), {"d2h": "disallow"}, "d2h"),
        (lambda: torch.ones((), **GPU).item(), {"d2h": "disallow"}, "d2h"),
        (lambda: torch.ones((), **GPU).item(), {"sync": "disallow"}, "sync"),
        (lambda: bool(torch.ones((), **GPU) > 0), {"d2h": "disallow"}, "d2h"),
        (lambda: torch.ones(4, **GPU)[torch.ones(4, **GPU) > 0], {"d2h": "disallow"}, "d2h"),
        (lambda: torch.nonzero(torch.ones(4, **GPU)), {"d2h": "disallow"}, "d2h"),
        (lambda: torch.masked_select(torch.ones(4, **GPU), torch.ones(4, **GPU) > 0), {"sync": "disallow"}, "sync"),
        (lambda: torch.unique(torch.ones(4, **GPU)), {"d2h": "disallow"}, "d2h"),
        (lambda: torch.ones(4, **GPU).tolist(), {"d2h": "disallow"}, "d2h"),
        (lambda: str(torch.ones(4, **GPU)), {"d2h": "disallow"}, "d2h"),
        (lambda: torch.ones(4, **GPU).clone(), {"d2d": "disallow"}, "d2d"),
        (lambda: torch.ones(4).pin_memory().to("cuda", non_blocking=True), {"h2d": "disallow"}, "h2d"),
        (lambda: torch.cuda.synchronize(), {"sync": "disallow"}, "sync"),
        (lambda: torch.cuda.current_stream().synchronize(), {"sync": "disallow"}, "sync"),
        (lambda: torch.cuda.current_stream().record_event().synchronize(), {"sync": "disallow"}, "sync"),
    ],
)
def test_a_transfer_raises_at_its_line(call, rules, direction):
    error = raised(call, **rules)
    assert error is not None and error.direction == direction
    assert error.exact and error.file == __file__ and error.line == call.__code__.co_firstlineno


@pytest.mark.parametrize(
    ("call", "rules"),
    [
        (lambda: torch.empty(1 << 28, **GPU), {"alloc": "disallow"}),
        (lambda: torch.empty(1 << 24, pin_memory=True), {"alloc": "disallow"}),
        (lambda: torch.accelerator.synchronize(), {"sync": "disallow"}),
    ],
)
def test_what_is_not_known_to_be_safe_is_raised_later(call, rules):
    torch.cuda.empty_cache()
    error = raised(call, **rules)
    assert error is not None and not error.exact
    assert error.file == __file__ and error.line == call.__code__.co_firstlineno


def test_the_caching_allocator_keeps_its_events():
    """An exception in the middle of empty_cache() would leave one that is none, and the next look at it would crash."""
    side = torch.cuda.Stream()
    for _ in range(3):
        block = torch.empty(1 << 26, **GPU)
        with torch.cuda.stream(side):
            torch.cuda._sleep(100_000_000)
        block.record_stream(side)
        del block
        error = raised(torch.cuda.empty_cache, sync="disallow")
        assert error is not None and not error.exact
        torch.empty(1 << 26, **GPU)
    torch.cuda.empty_cache()


def test_a_wait_of_item_is_over_when_it_raises():
    """Its copy goes into pinned memory that the next one reuses."""
    x = torch.full((), 3.0, **GPU)
    for _ in range(100):
        torch.cuda._sleep(1_000_000)
        error = raised(x.item, sync="disallow")
        assert error is not None and error.exact and error.kind == "sync"
        assert torch.full((), 4.0, **GPU).item() == 4.0


def test_pinned_copies_are_not_pageable():
    pinned = torch.ones(1 << 20).pin_memory()
    assert raised(lambda: pinned.to("cuda", non_blocking=True), pageable="disallow", sync="disallow") is None


def test_what_is_wrong_in_backward_comes_out_of_backward():
    x = torch.ones(1000, requires_grad=True)
    loss = (x.to("cuda") * 2).sum()
    error = raised(loss.backward, d2h="disallow")
    assert error is not None and error.kind == "d2h" and error.bytes == 4000
    assert error.file == __file__ and error.function == "raised"  # which calls backward()


def test_a_hook_raises_at_its_line():
    x = torch.ones(8, requires_grad=True, **GPU)
    y = x * 2
    y.register_hook(lambda gradient: gradient.sum().item() and None)
    error = raised(y.sum().backward, d2h="disallow")
    assert error is not None and error.file == __file__ and error.function.endswith("<lambda>")


def test_the_backward_of_another_thread_is_its_own():
    def backward():
        try:
            x = torch.ones(1000, requires_grad=True)
            (x.to("cuda") * 2).sum().backward()
        except BaseException as error:
            failed.append(error)

    failed = []
    with tp.guard(d2h="disallow", h2d="disallow"):
        thread = threading.Thread(target=backward)
        thread.start()
        thread.join()
    assert not failed


def test_a_captured_copy_raises_at_the_capture():
    source = torch.ones(100).pin_memory()
    target = torch.zeros(100, **GPU)
    graph = torch.cuda.CUDAGraph()
    error = None
    with contextlib.suppress(RuntimeError), torch.cuda.graph(graph):
        error = raised_in_capture(lambda: target.copy_(source, non_blocking=True))
    assert error is not None and "captured into a graph" in str(error)


def raised_in_capture(call):
    try:
        with tp.guard(h2d="disallow"):
            call()
    except tp.TransferError as error:
        return error
    return None


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_a_compiled_step_raises_only_for_what_it_does_itself(mode):
    pytest.importorskip("triton")

    def step(x):
        return (x * 2 + 1).relu().sum()

    compiled = torch.compile(step, fullgraph=True, mode=mode)
    x = torch.ones(64, 64, **GPU)
    with tp.guard(d2h="disallow", h2d="disallow", sync="disallow"):
        for _ in range(4):
            result = compiled(x)
    assert result.item() == 64 * 64 * 3
    error = raised(lambda: compiled(x).item(), d2h="disallow")
    assert error is not None and error.file == __file__


def test_it_works_beside_a_recording(tmp_path):
    # Before torch.profiler, which keeps CUPTI for the rest of the process.
    with tp.record(tmp_path / "run.tpk"):
        assert raised(lambda: torch.ones(4).to("cuda"), h2d="disallow") is not None
        torch.ones(4).to("cuda")
    assert tp.report(tmp_path / "run.tpk").totals["h2d"].count == 1


def test_it_works_beside_torch_profiler():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        assert raised(lambda: torch.ones((), **GPU).item(), d2h="disallow") is not None
        torch.ones(64, 64, **GPU) @ torch.ones(64, 64, **GPU)
        torch.cuda.synchronize()
    assert any(event.device_type == torch.autograd.DeviceType.CUDA for event in profile.events())


def test_two_tasks_only_one_guarded():
    async def strict():
        with tp.guard(d2h="disallow"):
            await asyncio.sleep(0.01)
            with contextlib.suppress(RuntimeError):
                torch.ones((), **GPU).item()
                return "passed"
        return "raised"

    async def free():
        for _ in range(20):
            torch.ones((), **GPU).item()
            await asyncio.sleep(0.001)

    async def main():
        return (await asyncio.gather(strict(), free()))[0]

    assert asyncio.run(main()) == "raised"


def test_ten_thousand_raises_leave_nothing_behind():
    x = torch.ones((), **GPU)
    for _ in range(1000):
        raised(x.item, d2h="disallow")
    before = resident(), torch.cuda.memory_allocated()
    for _ in range(10_000):
        assert raised(x.item, d2h="disallow") is not None
    assert resident() - before[0] < 4 << 20
    assert torch.cuda.memory_allocated() == before[1]


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_the_results_are_those_without_a_guard():
    torch.manual_seed(0)
    x = torch.randn(64, 64)
    plain = (x.to("cuda") @ x.to("cuda")).cpu()
    with tp.guard(h2d="log", d2h="log", sync="log", pageable="log", alloc="log"):
        guarded = (x.to("cuda") @ x.to("cuda")).cpu()
    assert torch.equal(plain, guarded)
