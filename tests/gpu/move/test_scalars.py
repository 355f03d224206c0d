"""tp.Scalars on a GPU."""

import threading
import time

import pytest

import turnpike as tp

pytestmark = pytest.mark.usefixtures("no_memory_kept")


def test_scalars_arrive_in_order_without_a_wait(torch, gpu, busy):
    scalars = tp.Scalars()
    counts = torch.arange(50, device=gpu)
    losses = counts.double().requires_grad_() * 1
    torch.cuda.synchronize()
    busy(200_000_000)
    for step in range(50):
        scalars.add(loss=losses[step], count=counts[step], lr=0.1)
    assert scalars.ready() == []
    torch.cuda.synchronize()
    rows = scalars.finish()
    assert [step for step, _ in rows] == list(range(50))
    assert all(values == {"loss": float(step), "count": float(step), "lr": 0.1} for step, values in rows)
    assert scalars.finish() == []
    with pytest.raises(tp.Error, match="2 items"):
        scalars.add(x=torch.ones(2, device=gpu))
    del losses, counts, scalars


def test_scalars_of_several_steps_cross_in_the_order_of_their_streams(torch, gpu, busy):
    scalars = tp.Scalars(every=4)
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    copies = tp.move_stats().d2h.bytes
    for step in range(10):
        stream = side if step % 3 == 0 else torch.cuda.current_stream()
        with torch.cuda.stream(stream):
            busy(2_000_000)
            scalars.add(
                loss=torch.full((1,), float(step), device=gpu) * 2, half=torch.full((), step, device=gpu).half()
            )
    rows = scalars.finish()
    assert rows == [(step, {"loss": 2.0 * step, "half": float(step)}) for step in range(10)]
    assert tp.move_stats().d2h.bytes - copies == 10 * (4 + 2)
    running = torch.zeros((), device=gpu)
    scalars.add(sum=running)
    running += 1
    assert scalars.finish() == [(10, {"sum": 0.0})]
    del running, scalars


def test_scalars_refuse_a_capture(torch, gpu):
    scalars = tp.Scalars(every=4)
    value = torch.ones((), device=gpu)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), pytest.raises(tp.Error, match="while a CUDA graph is being captured"):
        scalars.add(loss=value)
    assert scalars.finish() == []
    del value, graph


@pytest.mark.parametrize("every", [None, 1, 3])
def test_values_are_those_of_item_at_the_call(torch, gpu, busy, every):
    values = [
        torch.tensor(2**53 + 1), torch.tensor([True]), torch.tensor(0.1), torch.tensor(0.1).bfloat16(),
        torch.tensor(0.1, dtype=torch.float64), torch.tensor(1 + 2j).conj(), torch.tensor([[7]], dtype=torch.uint8),
    ]  # fmt: skip
    values = [value.to(gpu) for value in values]
    expected = [value.item() for value in values]
    scalars = tp.Scalars(every)
    for _ in range(7):
        busy(1_000_000)
        scalars.add(**{f"v{index}": value for index, value in enumerate(values)})
    for value in values:
        value.zero_()
    for _, got in scalars.finish():
        assert list(got.values()) == expected and list(map(type, got.values())) == list(map(type, expected))
    del values, value, scalars


def test_what_is_under_way_arrives_during_a_capture(torch, gpu, busy):
    """And the capture, in PyTorch's default mode, is none the worse for it."""
    scalars, value, static = tp.Scalars(every=2), torch.ones((), device=gpu), torch.ones(1000, device=gpu)
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    busy()
    for step in range(5):
        scalars.add(loss=value * step)
    fetched, large = tp.fetch(value * 3), tp.fetch(torch.full((1 << 20,), 5.0, device=gpu))
    with torch.cuda.stream(side):
        graph.capture_begin()
        doubled = static * 2
        fetched.ready(), large.ready()
        rows = scalars.ready()
        with pytest.raises(tp.Error, match="being captured"):
            scalars.add(loss=value)
        with pytest.raises(tp.Error, match="being captured"):
            tp.fetch(value)
        assert fetched.item() == 3 and large.result().eq(5).all()
        rows += scalars.ready()
        with pytest.raises(tp.Error, match="being captured"):
            scalars.finish()
        doubled.add_(1)
        graph.capture_end()
    rows += scalars.finish()
    assert rows == [(step, {"loss": float(step)}) for step in range(5)]
    graph.replay()
    assert doubled.eq(3).all().item()
    del graph, doubled, static, value, scalars


def test_values_arrive_while_another_thread_captures(torch, gpu, busy):
    static = torch.ones(1000, device=gpu)
    graph, stop, failed = None, threading.Event(), []
    fetched_before = tp.fetch(static)  # the engine, and its memory, are there
    fetched_before.result()

    def log():
        scalars, step = tp.Scalars(), 0
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                value = torch.ones((), device=gpu)
                while not stop.is_set():
                    scalars.add(loss=value)
                    tp.fetch(value).ready()
                    step += 1
                    scalars.ready()
                assert all(values == {"loss": 1.0} for _, values in scalars.finish())
        except Exception as error:
            failed.append(error)

    torch.cuda.synchronize()
    other = threading.Thread(target=log)
    other.start()
    time.sleep(0.2)  # what PyTorch itself allocates is there, too
    try:
        for _ in range(20):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.stream(torch.cuda.Stream()):
                graph.capture_begin()
                doubled = static * 2
                time.sleep(0.005)
                graph.capture_end()
            graph.replay()
            assert doubled.eq(2).all().item()
            del graph, doubled
    finally:
        stop.set()
        other.join()
    assert failed == []
    del static, fetched_before
