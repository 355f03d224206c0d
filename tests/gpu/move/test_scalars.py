"""tp.Scalars on a GPU."""

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
    with pytest.raises(tp.Error, match="sum of step 10 was written to"):
        scalars.finish()
    del running, scalars


def test_scalars_refuse_a_capture(torch, gpu):
    scalars = tp.Scalars(every=4)
    value = torch.ones((), device=gpu)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), pytest.raises(tp.Error, match="while a CUDA graph is being captured"):
        scalars.add(loss=value)
    assert scalars.finish() == []
    del value, graph
