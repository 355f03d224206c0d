"""tp.prefetch with accelerate: steps, metrics and shards are those of the plain loop. Nothing crosses here."""

import os
import socket
import subprocess
import sys
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there is nothing to prefetch")
accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
from torch.utils.data import DataLoader, Dataset, IterableDataset  # noqa: E402

import turnpike as tp  # noqa: E402
from loop_stand_in import let_nothing_cross  # noqa: E402

HERE = torch.device("cpu")


@pytest.fixture(autouse=True)
def _nothing_crosses(monkeypatch):
    let_nothing_cross(monkeypatch.setattr)


class Numbers(Dataset):
    def __init__(self, count=23):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"x": torch.tensor([float(index)])}


class Streamed(IterableDataset):
    def __iter__(self):
        return ({"x": torch.tensor([float(i)])} for i in range(23))


def before(accelerator, loader):
    return tp.prefetch(accelerator.prepare(loader), HERE)


def after(accelerator, loader):
    prepared = accelerator.prepare(tp.prefetch(loader, HERE))
    assert type(prepared) is tp.Prefetch and accelerator._dataloaders[-1] is prepared
    assert accelerator.prepare(prepared) is prepared
    return prepared


def around(accelerator, loader):
    shard = accelerator.prepare(loader)

    class Around:
        def __len__(self):
            return len(shard)

        def __iter__(self):
            yield from shard

    return tp.prefetch(Around(), HERE)


def plainly(accelerator, loader):
    return accelerator.prepare(loader)


def accelerator_of(steps=4, **options):
    from accelerate.state import AcceleratorState, GradientState, PartialState

    for state in (AcceleratorState, GradientState, PartialState):
        state._reset_state()
    return accelerate.Accelerator(cpu=True, gradient_accumulation_steps=steps, **options)


def trace_of(accelerator, wrap, loader, leave_at=None, epochs=2, others=True):
    """Weights, flags and metrics of each step."""
    torch.manual_seed(1)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    model, optimizer = accelerator.prepare(model, optimizer)
    loop = wrap(accelerator, loader)
    evaluation = wrap(accelerator, DataLoader(Numbers(7), 2)) if others else []
    state = accelerator.gradient_state
    seen = []

    def flags():
        return state.end_of_dataloader, state.remainder, state.in_dataloader, len(state.dataloader_references)

    for _ in range(epochs):
        for step, batch in enumerate(loop):
            with accelerator.accumulate(model):
                loss = model(batch["x"]).square().mean()
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            weight = next(iter(model.parameters())).detach().item()
            gathered = accelerator.gather_for_metrics(batch["x"]).flatten().tolist()
            seen.append((batch["x"].tolist(), flags(), accelerator.sync_gradients, weight, gathered))
            if step == 1:
                for other in evaluation:
                    seen.append((accelerator.gather_for_metrics(other["x"]).flatten().tolist(), flags()))
            if step == leave_at:
                break
        seen.append(flags())
    return seen


@pytest.mark.parametrize("leave_at", [None, 3, 7])
@pytest.mark.parametrize("wrap", [before, after, around])
@pytest.mark.parametrize("options", [{"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": 23}])
def test_steps_and_metrics_are_those_of_the_plain_loop(wrap, options, leave_at):
    def run(wrap):
        return trace_of(accelerator_of(), wrap, DataLoader(Numbers(), shuffle=True, **options), leave_at)

    plain = run(plainly)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert run(wrap) == plain


def test_batches_are_still_taken_ahead():
    taken = []

    class Watched(Numbers):
        def __getitem__(self, index):
            taken.append(index)
            return super().__getitem__(index)

    for wrap in (before, after):
        taken.clear()
        counts = [len(taken) for _ in wrap(accelerator_of(), DataLoader(Watched(), 1))]
        assert counts[:3] == [2, 4, 6]  # accelerate itself takes one more


def test_accelerate_does_not_place_what_prefetch_does(monkeypatch):
    placed = []
    monkeypatch.setattr(accelerate.data_loader, "send_to_device", lambda batch, *_, **__: placed.append(1) or batch)
    shard = accelerator_of().prepare(DataLoader(Numbers(), 3))
    assert len(list(tp.prefetch(shard, HERE))) == 8 and placed == [] and shard.device == HERE
    assert len(list(tp.prefetch(shard, torch.device("cpu", 0)))) == 8 and len(placed) == 8


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_dispatched_is_not_taken_ahead_and_that_is_said(stream):
    options = {"dataloader_config": accelerate.DataLoaderConfiguration(dispatch_batches=True)}

    def run(wrap):
        loader = DataLoader(Streamed() if stream else Numbers(), 3)
        return trace_of(accelerator_of(**options), wrap, loader, others=False)

    plain = run(plainly)
    with pytest.warns(RuntimeWarning, match="DataLoaderDispatcher"):
        assert run(before) == plain


def test_what_is_skipped_is_that_of_the_plain_loop():
    accelerator = accelerator_of()
    shard = accelerator.prepare(DataLoader(Numbers(), 3))
    plain = [batch["x"].tolist() for batch in accelerator.skip_first_batches(shard, 2)]
    loop = tp.prefetch(shard, HERE)
    assert [batch["x"].tolist() for batch in accelerator.skip_first_batches(loop, 2)] == plain
    assert isinstance(loop, DataLoader) and isinstance(loop, type(shard))


@pytest.mark.parametrize("wrap", [before, after])
@pytest.mark.filterwarnings("ignore")
def test_a_saved_state_is_that_of_the_batch_that_the_loop_has(wrap, tmp_path):
    pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")

    def run(wrap):
        options = {"dataloader_config": accelerate.DataLoaderConfiguration(use_stateful_dataloader=True)}
        accelerator = accelerator_of(**options)
        torch.manual_seed(1)
        loop = wrap(accelerator, DataLoader(Numbers(), 3))
        states = [loop.state_dict() for _ in loop]
        for step, _ in enumerate(loop):
            if step == 3:
                accelerator.save_state(str(tmp_path))
                break
        accelerator.load_state(str(tmp_path))
        return states, [batch["x"].flatten().tolist() for batch in loop]

    assert run(wrap) == run(plainly)


def run_in_processes(kind, folder):
    """In each of two processes: what the loop has seen there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    environment |= {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "LOCAL_WORLD_SIZE": "2"}
    started = []
    for rank in range(2):
        own = environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        command = [sys.executable, __file__, kind, str(folder / f"{kind}{rank}")]
        started.append(subprocess.Popen(command, env=own, stderr=subprocess.PIPE, text=True))
    for process in started:
        _, errors = process.communicate(timeout=240)
        assert process.returncode == 0, f"{kind}: {errors}"
    return [torch.load(folder / f"{kind}{rank}", weights_only=False) for rank in range(2)]


def test_two_processes_see_what_they_do_in_the_plain_loop(tmp_path):
    plain = run_in_processes("plainly", tmp_path)
    shards = [[entry[0] for entry in rank if len(entry) == 5] for rank in plain]
    assert shards[0] != shards[1] and len(shards[0]) == len(shards[1]) == 8
    for kind in ("before", "after"):
        assert run_in_processes(kind, tmp_path) == plain


def main(kind, target):
    let_nothing_cross()
    loader = DataLoader(Numbers(), 3, shuffle=True)
    accelerator = accelerator_of(steps=3)
    assert accelerator.num_processes == 2
    torch.manual_seed(1)
    torch.save(trace_of(accelerator, globals()[kind], loader), target)
    accelerator.wait_for_everyone()
    # The process of the plain loop, too, sometimes aborts when the interpreter ends ("terminate called without an
    # active exception"). That end is PyTorch's own, and not what is compared.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
