"""Loops: random numbers, accelerate, checkpoints of loaders, attributes, exceptions."""

from __future__ import annotations

import random

import numpy as np
import torch
from stage import KIB, draws, iterated, seed_all
from torch.utils.data import DataLoader, Dataset, Sampler

from catalogue import fault


class Drawing(Dataset):
    """Its items hold numbers of all three generators."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.tensor([float(index), random.random(), float(np.random.rand()), float(torch.rand(()))])


class LazySampler(Sampler):
    """Draws an index when it is asked for one."""

    def __init__(self, length, source="torch"):
        self._length = length
        self._source = source

    def __len__(self):
        return self._length

    def __iter__(self):
        for _ in range(self._length):
            if self._source == "torch":
                yield int(torch.randint(self._length, ()))
            else:
                yield random.randrange(self._length)


def _see_loop(way, log, stage, loader, label=""):
    for turn, batch in enumerate(way.prefetch(loader, stage.device)):
        log.see(f"batch{label}/{turn}", batch)
        log.see(f"drawn{label}/{turn}", draws(stage.device))
    log.see(f"drawn{label} afterwards", draws(stage.device))


@fault("12-dataset-that-draws", "random_numbers")
def drawing_dataset(way, log, stage):
    seed_all(1)
    _see_loop(way, log, stage, DataLoader(Drawing(), batch_size=2, shuffle=True))


@fault("12-generator-that-draws", "random_numbers")
def drawing_generator(way, log, stage):
    seed_all(2)
    _see_loop(way, log, stage, (torch.rand(100) for _ in range(8)))


@fault("12-lazy-sampler", "random_numbers")
def lazy_sampler(way, log, stage):
    for source in ("torch", "random"):
        seed_all(3)
        loader = DataLoader(Drawing(), batch_size=2, sampler=LazySampler(12, source))
        _see_loop(way, log, stage, loader, f" {source}")


class Numbers(Dataset):
    """Draws nothing."""

    def __init__(self, length=24):
        self._length = length

    def __len__(self):
        return self._length

    def __getitem__(self, index):
        return torch.full((64,), float(index))


@fault("12-lazy-sampler-with-workers", "random_numbers", timeout_s=180)
def lazy_sampler_workers(way, log, stage):
    for turn, source in enumerate(("torch", "random", "torch", "random")):
        seed_all(turn)
        loader = DataLoader(Numbers(), batch_size=2, num_workers=2, sampler=LazySampler(24, source))
        _see_loop(way, log, stage, loader, f" {turn} {source}")


def accelerator_of(stage, **options):
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, GradientState

    AcceleratorState._reset_state(True)
    GradientState._reset_state()
    return Accelerator(cpu=not stage.is_gpu, **options)


def both_ways(way, stage, accelerator, loader, order):
    """prefetch() around what prepare() gives, or within it. The plain loop has prepare() alone."""
    if not way.is_tp:
        return accelerator.prepare(loader)
    if order == "outside":
        return way.prefetch(accelerator.prepare(loader), stage.device)
    return accelerator.prepare(way.prefetch(loader, stage.device))


@fault("13-end-of-dataloader", "accelerate_loops", needs=("accelerate",))
def end_of_dataloader(way, log, stage):
    for order in ("outside", "inside"):
        accelerator = accelerator_of(stage)
        loader = both_ways(way, stage, accelerator, DataLoader(Numbers(11), batch_size=2), order)
        for epoch in range(2):
            flags = []
            for batch in loader:
                log.see(f"{order}/batch", batch)
                state = accelerator.gradient_state
                flags.append((state.end_of_dataloader, state.remainder, state.in_dataloader))
            log.see(f"{order}/flags/{epoch}", flags)


@fault("13-gradient-accumulation", "accelerate_loops", needs=("accelerate",))
def accumulation(way, log, stage):
    for order in ("outside", "inside"):
        accelerator = accelerator_of(stage, gradient_accumulation_steps=2)
        torch.manual_seed(0)
        model = torch.nn.Linear(64, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        model, optimizer = accelerator.prepare(model, optimizer)
        loader = both_ways(way, stage, accelerator, DataLoader(Numbers(10), batch_size=2), order)
        steps = []
        for _ in range(2):
            for batch in loader:
                with accelerator.accumulate(model):
                    accelerator.backward(model(batch / 10).mean())
                    steps.append(accelerator.sync_gradients)
                    optimizer.step()
                    optimizer.zero_grad()
        log.see(f"{order}/steps", steps)
        log.see(f"{order}/weights", [parameter.detach().clone() for parameter in model.parameters()])


@fault("13-gather-for-metrics", "accelerate_loops", needs=("accelerate",))
def gathering(way, log, stage):
    for order in ("outside", "inside"):
        accelerator = accelerator_of(stage)
        loader = both_ways(way, stage, accelerator, DataLoader(Numbers(11), batch_size=4), order)
        log.see(f"{order}/lengths", [len(accelerator.gather_for_metrics(batch)) for batch in loader])


class Resumable:
    """A loader that knows where it stands, as torchdata's StatefulDataLoader does."""

    def __init__(self, length=12):
        self._length = length
        self._next = 0

    def __len__(self):
        return self._length

    def __iter__(self):
        while self._next < self._length:
            self._next += 1
            yield torch.full((100,), float(self._next - 1))
        self._next = 0

    def state_dict(self):
        return {"next": self._next}

    def load_state_dict(self, state):
        self._next = state["next"]


@fault("14-resumable-loader", "resumable")
def resumable(way, log, stage):
    loader = way.prefetch(Resumable(), stage.device)
    states = []
    for turn, batch in enumerate(loader):  # noqa: B007, the last one is read below
        states.append(loader.state_dict())
        if turn == 4:
            break
    log.see("states", states)
    log.see("last", batch)
    again = way.prefetch(Resumable(), stage.device)
    again.load_state_dict(states[-1])
    log.see("resumed", list(again))


@fault("14-stateful-dataloader", "resumable", needs=("torchdata",))
def stateful(way, log, stage):
    from torchdata.stateful_dataloader import StatefulDataLoader

    for workers in (0, 2):
        loader = way.prefetch(StatefulDataLoader(Numbers(), batch_size=2, num_workers=workers), stage.device)
        for turn, _ in enumerate(loader):
            if turn == 4:
                state = loader.state_dict()
                break
        again = way.prefetch(StatefulDataLoader(Numbers(), batch_size=2, num_workers=workers), stage.device)
        again.load_state_dict(state)
        log.see(f"resumed/{workers}", [float(batch[0][0]) for batch in again])


@fault("15-attributes", "attributes")
def attributes(way, log, stage):
    loader = Resumable(3)
    loader.epoch = 0
    wrapped = way.prefetch(loader, stage.device)
    wrapped.epoch = 7
    wrapped._length = 2
    log.see("epoch", loader.epoch)
    log.see("batches", list(wrapped))
    log.attempt("bool", lambda: bool(way.prefetch((turn for turn in range(2)), stage.device)))


class Failing:
    """An iterator that raises for some batches and goes on."""

    def __init__(self, length=10, bad=(3, 4, 7)):
        self._length = length
        self._bad = bad
        self._next = 0

    def __iter__(self):
        self._next = 0
        return self

    def __next__(self):
        if self._next == self._length:
            raise StopIteration
        self._next += 1
        if self._next - 1 in self._bad:
            raise ValueError(f"batch {self._next - 1}")
        return torch.full((4 * KIB,), float(self._next - 1))


class Broken(Numbers):
    """A dataset with bad items."""

    def __getitem__(self, index):
        if index in (5, 11):
            raise ValueError(f"item {index}")
        return super().__getitem__(index)


@fault("15-bad-batches", "bad_batches", timeout_s=120)
def bad_batches(way, log, stage):
    log.see("an iterator", list(iterated(way.prefetch(Failing(), stage.device))))
    for workers in (0, 2):
        loader = DataLoader(Broken(), batch_size=2, num_workers=workers)
        log.see(f"a DataLoader/{workers}", list(iterated(way.prefetch(loader, stage.device))))
    log.see("a generator", list(iterated(way.prefetch((_item(turn) for turn in range(8)), stage.device))))


def _item(turn):
    if turn == 3:
        raise KeyError(turn)
    return torch.full((100,), float(turn))


@fault("15-capture-inside-next", "bad_batches")
def capture_inside(way, log, stage):
    """A batch that is asked for during a capture fails; those after it are there."""
    iterator = iter(way.prefetch(Failing(6, ()), stage.device))
    log.see("first", next(iterator))

    def inside():
        try:
            next(iterator)
        except Exception:
            return "raised"
        return "returned"

    # In PyTorch's own loop the capture would fail.
    is_refused = not (stage.is_gpu and way.is_tp) or stage.captured(inside)[1] == "raised"
    log.claim("next() is refused", is_refused, "it was not")
    rest = list(iterated(iterator))
    log.see("last", rest[-1])
