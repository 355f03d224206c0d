"""A loop over tp.prefetch on a GPU is the plain loop: batches, random numbers, exceptions, modes, containers."""

import random
import time
import types
import warnings

import pytest

import turnpike as tp

pytestmark = pytest.mark.usefixtures("no_memory_kept")


class Numbers:
    """A dataset that may draw random numbers, and some of whose items may be broken."""

    def __init__(self, draw=None, broken=()):
        self.draw, self.broken = draw, broken

    def __len__(self):
        return 24

    def __getitem__(self, index):
        import torch

        if index in self.broken:
            raise ValueError(f"{index} is broken")
        return torch.full((1000,), float(index)) + (self.draw() if self.draw else 0)


def plainly(torch, batches, gpu):
    for batch in batches:
        yield batch.to(gpu)


def trace_of(torch, gpu, loader, loop, body):
    """Batches, what the body has drawn, and the generators' states in every step of two epochs."""
    random.seed(1)
    torch.manual_seed(2)
    seen = []
    for _ in range(2):
        for batch in loop(loader):
            drawn = body()
            seen.append((batch.sum().item(), drawn, random.random(), torch.get_rng_state().tolist()))
            seen.append(torch.cuda.get_rng_state(gpu).tolist())
    return seen


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["none", "Python", "CPU", "GPU"])
@pytest.mark.filterwarnings("ignore:This process")
def test_random_numbers_are_those_of_the_plain_loop(torch, gpu, kind, workers):
    if kind == "GPU" and workers:
        pytest.skip("workers have no GPU")
    draw = {
        "none": None,
        "Python": random.random,
        "CPU": lambda: torch.rand(()).item(),
        "GPU": lambda: torch.rand((), device=gpu).item(),
    }[kind]
    for body in (lambda: None, lambda: (torch.rand(()).item(), torch.rand((), device=gpu).item())):
        loader = torch.utils.data.DataLoader(
            Numbers(draw), 3, shuffle=True, num_workers=workers, multiprocessing_context="fork" if workers else None
        )
        plain = trace_of(torch, gpu, loader, lambda loader: plainly(torch, loader, gpu), body)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert trace_of(torch, gpu, loader, lambda loader: tp.prefetch(loader, gpu), body) == plain


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loop_that_goes_on_after_an_exception_gets_the_rest(torch, gpu, workers):
    loader = torch.utils.data.DataLoader(
        Numbers(broken=(0, 5, 6, 23)), 1, num_workers=workers, multiprocessing_context="fork" if workers else None
    )
    seen, batches = [], iter(tp.prefetch(loader, gpu, depth=3))
    while True:
        try:
            seen.append(next(batches)[0, 0].item())
        except ValueError as error:
            seen.append(str(error).splitlines()[-1].removeprefix("ValueError: "))
        except StopIteration:
            break
    assert seen == [f"{i} is broken" if i in (0, 5, 6, 23) else i for i in range(24)]


def test_one_that_cannot_be_sent_off_ahead_crosses_when_it_is_asked_for(torch, gpu, monkeypatch):
    from turnpike._move import crossing

    made = crossing.Crossing

    def without_memory(engine, batch, *rest):
        if batch[0] in (1, 2):
            raise torch.cuda.OutOfMemoryError("there is room for one batch only")
        return made(engine, batch, *rest)

    monkeypatch.setattr(crossing, "Crossing", without_memory)
    batches = [torch.full((1 << 20,), float(i)) for i in range(5)]
    assert [batch.mean().item() for batch in tp.prefetch(batches, gpu)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("mode", ["thread_local", "relaxed"])
def test_a_capture_takes_no_batch_and_spoils_none(torch, gpu, mode):
    x = torch.zeros(8, device=gpu)
    batches = iter(tp.prefetch([torch.full((1 << 20,), float(i)) for i in range(6)], gpu))
    seen = [next(batches).mean().item()]
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        x.add_(1)
        with pytest.raises(tp.Error, match="capture"):
            next(batches)
    graph.replay()
    seen += [batch.mean().item() for batch in batches]
    assert seen == [0, 1, 2, 3, 4, 5] and x[0].item() == 1
    del batches, graph


@pytest.mark.parametrize("first", [True, False])
def test_batches_can_be_trained_on_where_they_could_in_the_plain_loop(torch, gpu, first):
    def source():
        for step in range(6):
            yield {"x": torch.full((4, 8), float(step)), "large": torch.full((1 << 20,), float(step))}

    weight = torch.ones(8, device=gpu, requires_grad=True)
    batches = iter(tp.prefetch(source(), gpu))
    for step in range(6):
        is_on = (step < 3) == first
        with torch.inference_mode(is_on):
            batch = next(batches)
            assert batch["x"].is_inference() == batch["large"].is_inference() == is_on
        assert batch["large"].mean().item() == batch["x"].mean().item() == step
        if not is_on:
            (batch["x"] * weight).sum().backward()
            batch["x"].add_(1)
    del batch, batches


def packed(torch, step):
    return torch.nn.utils.rnn.pack_sequence([torch.full((400_000,), float(step)), torch.full((300_000,), float(step))])


class Own:
    """Moves itself, into parts that nobody knows of."""

    def __init__(self, x):
        self._hidden = {"x": x}

    def to(self, device):
        return Own(self._hidden["x"].to(device) * 1)

    def total(self):
        return self._hidden["x"]


def objects_that_move_themselves(torch, kind, step):
    data = torch.full((1 << 19,), float(step))
    if kind == "packed":
        return packed(torch, step), lambda batch: batch.data
    if kind == "own":
        return Own(data), Own.total
    if kind == "subclass":
        return data.as_subclass(type("Image", (torch.Tensor,), {})), lambda batch: batch.as_subclass(torch.Tensor)
    if kind == "sparse":
        return data.to_sparse(), lambda batch: batch.coalesce().values()
    if kind == "tensordict":
        made = pytest.importorskip("tensordict").TensorDict({"x": data, "y": {"z": data + 1}}, [])
        return made, lambda batch: batch["x"] + batch["y", "z"] - batch["x"] - 1
    geometric = pytest.importorskip("torch_geometric.data", reason="PyTorch Geometric is not installed")
    return geometric.Data(x=data, edge_index=torch.zeros(2, 4, dtype=torch.int64)), lambda batch: batch.x


@pytest.mark.parametrize("kind", ["packed", "own", "subclass", "sparse", "tensordict", "geometric"])
def test_objects_that_move_themselves_do_so_beside_the_loop(torch, gpu, kind):
    made = [objects_that_move_themselves(torch, kind, step + 1) for step in range(12)]
    value_of = made[0][1]
    list(tp.prefetch([one for one, _ in made[:2]], gpu))  # streams, kernels and pools are there
    torch.cuda.synchronize()
    totals = []
    start = time.perf_counter()
    for batch in tp.prefetch([{"one": one} for one, _ in made], gpu):
        torch.cuda._sleep(100_000_000)  # some 50 ms
        value = value_of(batch["one"])
        totals.append(value.double().mean())
        del batch, value  # their memory is free for the next one only when the loop's stream has used it
    took = time.perf_counter() - start
    is_busy = not torch.cuda.current_stream().query()
    torch.cuda.synchronize()
    assert [round(total.item()) for total in totals] == list(range(1, 13))
    if kind != "sparse":  # to coalesce waits
        assert is_busy, f"the host came to the end of the loop after {took:.3f} s, and the GPU had nothing left to do"


def test_objects_with_parts_on_the_gpu_see_what_the_loop_wrote(torch, gpu, busy):
    x = torch.zeros(1 << 18, device=gpu)

    def source():
        for step in range(6):
            busy(10_000_000)
            x.fill_(step)
            yield Own(x)

    # Each is moved, and so copied, when it is taken: `* 1` of the value at that time.
    assert [batch.total().mean().item() for batch in tp.prefetch(source(), gpu)] == [0, 1, 2, 3, 4, 5]


def test_containers_of_all_kinds(torch, gpu):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")

    class Attributes(dict):
        def __init__(self, *arguments, **items):
            super().__init__(*arguments, **items)
            self.__dict__ = self

    def make(step):
        x = torch.full((1 << 18,), float(step))
        return [
            transformers.BatchEncoding({"input_ids": x, "n": step}),
            transformers.BatchFeature({"pixels": x}),
            Attributes(x=x),
            types.SimpleNamespace(x=x, n=step),
            __import__("collections").deque([x], maxlen=3),
        ]

    before = tp.move_stats()
    for dtype in (None, torch.float16):
        for step, batch in enumerate(tp.prefetch((make(step) for step in range(5)), gpu, dtype=dtype, strict=True)):
            encoding, feature, attributes, namespace, queue = batch
            found = encoding["input_ids"], feature.pixels, attributes.x, attributes["x"], namespace.x, queue[0]
            assert all(one is found[0] for one in found) and found[0].is_cuda
            assert found[0].mean().item() == step and found[0].dtype == (dtype or torch.float32)
            assert encoding["n"] == namespace.n == step and queue.maxlen == 3
    del batch, encoding, feature, attributes, namespace, queue, found
    assert str(tp.move_stats()) != str(before)
    with pytest.raises(tp.Error, match=r"\[1\] \(set\)"):
        list(tp.prefetch([[torch.ones(1), {torch.ones(1)}]], gpu, strict=True))


def test_a_loader_of_accelerate_keeps_its_steps_and_its_metrics(torch, gpu):
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")

    class Scaled(torch.nn.Module):  # a matrix product would keep memory of the GPU
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1000))

        def forward(self, x):
            return x * self.weight

    def run(wrap):
        accelerator = accelerate.Accelerator(gradient_accumulation_steps=4)
        torch.manual_seed(1)
        loop = wrap(accelerator, torch.utils.data.DataLoader(Numbers(), 5, shuffle=True))
        model = Scaled()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
        model, optimizer = accelerator.prepare(model, optimizer)
        seen = []
        for _ in range(2):
            for batch in loop:
                assert batch.device == gpu
                with accelerator.accumulate(model):
                    accelerator.backward(model(batch).mean())
                    optimizer.step()
                    optimizer.zero_grad()
                state = accelerator.gradient_state
                gathered = accelerator.gather_for_metrics(batch[:, 0]).tolist()
                seen.append((accelerator.sync_gradients, state.end_of_dataloader, state.remainder, gathered))
        weights = [parameter.detach().cpu() for parameter in model.parameters()]
        accelerator.free_memory()
        return seen, weights

    plain, weights = run(lambda accelerator, loader: accelerator.prepare(loader))
    for wrap in (
        lambda accelerator, loader: tp.prefetch(accelerator.prepare(loader), gpu),
        lambda accelerator, loader: accelerator.prepare(tp.prefetch(loader, gpu)),
    ):
        seen, ours = run(wrap)
        assert seen == plain
        assert all(torch.allclose(a, b) for a, b in zip(ours, weights, strict=True))
