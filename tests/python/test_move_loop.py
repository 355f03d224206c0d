"""A loop over tp.prefetch is the plain loop: batches, random numbers, exceptions, attributes, states to resume from.

Nothing crosses here: what is taken ahead, and what the loop sees meanwhile, needs no GPU.
"""

import copy
import itertools
import pickle
import random
import time
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there are no loops over batches of tensors")
numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
pytest.importorskip("numpy.random")
from torch.utils.data import (  # noqa: E402
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    WeightedRandomSampler,
)

import turnpike as tp  # noqa: E402
from loop_stand_in import let_nothing_cross  # noqa: E402
from turnpike._move import ahead, prefetch, receive  # noqa: E402
from turnpike._move import engine as move_engine  # noqa: E402

HERE = torch.device("cpu", 0)


@pytest.fixture(autouse=True)
def _nothing_crosses(monkeypatch):
    let_nothing_cross(monkeypatch.setattr)


def wrapped(iterable, depth=2):
    return tp.prefetch(iterable, HERE, depth)


# Random numbers.


def drawn():
    return random.random(), numpy.random.rand(), torch.rand(()).item()


class Plain(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        return torch.tensor([float(index)])


class Augmented(Plain):
    def __init__(self, draw):
        self.draw = draw

    def __getitem__(self, index):
        return torch.tensor([float(index), self.draw()])


class Streamed(IterableDataset):
    def __init__(self, draw):
        self.draw = draw

    def __iter__(self):
        for index in range(24):
            yield torch.tensor([float(index), self.draw()])


class Lazy(Sampler):
    """Draws when it is asked for the next index."""

    def __iter__(self):
        for _ in range(24):
            yield int(torch.randint(24, ()).item())

    def __len__(self):
        return 24


class LazyBatches(Sampler):
    def __iter__(self):
        for _ in range(8):
            yield [random.randrange(24) for _ in range(3)]

    def __len__(self):
        return 8


def own_generator():
    return torch.Generator().manual_seed(3)


def gauss():
    return float(numpy.random.randn())


def loader_of_augmented(collate, **options):
    def noisy(items):
        return torch.stack(items) + random.random()

    return DataLoader(Plain(), 3, collate_fn=noisy if collate else None, **options)


def cycling(**options):
    loader = DataLoader(Plain(), 8, shuffle=True, **options)
    while True:
        yield from loader


LOADERS = {
    "plain": lambda: DataLoader(Plain(), 3),
    "shuffled": lambda: DataLoader(Plain(), 3, shuffle=True),
    "shuffled by its own generator": lambda: DataLoader(Plain(), 3, shuffle=True, generator=own_generator()),
    "replacing": lambda: DataLoader(Plain(), 3, sampler=RandomSampler(Plain(), replacement=True, num_samples=90)),
    "replacing by its own generator": lambda: DataLoader(
        Plain(), 3, sampler=RandomSampler(Plain(), replacement=True, num_samples=90, generator=own_generator())
    ),
    "weighted": lambda: DataLoader(Plain(), 3, sampler=WeightedRandomSampler([1.0, 2.0] * 12, 24)),
    "Python draws": lambda: DataLoader(Augmented(random.random), 3, shuffle=True),
    "Python draws pairs": lambda: DataLoader(Augmented(lambda: random.gauss(0, 1)), 1),
    "NumPy draws": lambda: DataLoader(Augmented(numpy.random.rand), 3, shuffle=True),
    "NumPy draws pairs": lambda: DataLoader(Augmented(gauss), 1),
    "PyTorch draws": lambda: DataLoader(Augmented(lambda: torch.randn(()).item()), 3),
    "collate draws": lambda: loader_of_augmented(True),
    "streamed": lambda: DataLoader(Streamed(random.random), 3),
    "lazy": lambda: DataLoader(Plain(), 3, sampler=Lazy()),
    "lazy batches": lambda: DataLoader(Plain(), batch_sampler=LazyBatches()),
    "generator": lambda: (torch.rand(2) for _ in range(9)),
    "list": lambda: [torch.full((2,), float(i)) for i in range(9)],
    "workers": lambda: DataLoader(Plain(), 3, shuffle=True, num_workers=2, multiprocessing_context="fork"),
    "workers draw": lambda: DataLoader(
        Augmented(lambda: torch.rand(()).item()), 3, shuffle=True, num_workers=2, multiprocessing_context="fork"
    ),
    "persistent workers": lambda: DataLoader(
        Plain(), 3, shuffle=True, num_workers=2, multiprocessing_context="fork", persistent_workers=True
    ),
    "workers and a generator": lambda: DataLoader(
        Plain(), 3, shuffle=True, num_workers=2, multiprocessing_context="fork", generator=own_generator()
    ),
    "workers and a lazy sampler": lambda: DataLoader(
        Plain(), 3, sampler=Lazy(), num_workers=2, multiprocessing_context="fork"
    ),
    "workers and lazy batches": lambda: DataLoader(
        Plain(), batch_sampler=LazyBatches(), num_workers=2, multiprocessing_context="fork"
    ),
    "workers that stream": lambda: DataLoader(
        Streamed(lambda: torch.rand(()).item()), 3, num_workers=2, multiprocessing_context="fork"
    ),
}


def states():
    return random.getstate(), torch.get_rng_state().tolist(), [str(x) for x in numpy.random.get_state()]


def trace_of(make, wrap, body, epochs=2):
    """All that a program can see of two epochs."""
    random.seed(1)
    numpy.random.seed(2)
    torch.manual_seed(3)
    seen = []
    loader = wrap(make())
    for _ in range(epochs):
        for step, batch in enumerate(loader):
            seen.append((batch.tolist(), body(step), states()))
    return [*seen, states()]


def quietly(loader):
    warnings.simplefilter("ignore", RuntimeWarning)
    return wrapped(loader)


@pytest.mark.parametrize("body", [lambda step: None, lambda step: drawn(), lambda step: step == 3 and drawn()])
@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.filterwarnings("ignore")
def test_random_numbers_are_those_of_the_plain_loop(name, body):
    plain = trace_of(LOADERS[name], lambda loader: loader, body)
    assert len(plain) > 5
    assert trace_of(LOADERS[name], quietly, body) == plain


@pytest.mark.parametrize("depth", [1, 4])
def test_a_second_epoch_within_a_generator_draws_as_in_the_plain_loop(depth):
    def take(wrap):
        torch.manual_seed(3)
        seen = []
        for batch in itertools.islice(wrap(cycling()), 11):
            seen.append((batch.tolist(), random.random(), torch.get_rng_state().tolist()))
        return seen

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        random.seed(1)
        plain = take(lambda loader: loader)
        random.seed(1)
        assert take(lambda loader: wrapped(loader, depth)) == plain


def test_what_cannot_be_as_in_the_plain_loop_is_said():
    torch.manual_seed(3)
    with pytest.warns(RuntimeWarning, match="both draw random numbers from torch.default_generator"):
        for _ in itertools.islice(wrapped(cycling()), 11):
            torch.rand(())


def test_a_source_that_draws_is_not_read_ahead_and_that_is_said_once():
    dataset = Augmented(random.random)
    taken = []
    dataset.draw = lambda: taken.append(1) or random.random()
    loop = wrapped(DataLoader(dataset, 1))
    with pytest.warns(RuntimeWarning, match=r"draws random numbers in this process \(Python's random\)") as found:
        counts = [len(taken) for _ in loop]
        assert [len(taken) for _ in loop] == [24 + count for count in counts]
    assert counts == list(range(1, 25))
    assert len(found) == 1 and found[0].filename == __file__


def test_one_that_does_not_draw_is_read_ahead():
    taken = []

    class Watched(Plain):
        def __getitem__(self, index):
            taken.append(index)
            return super().__getitem__(index)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = [len(taken) for _ in wrapped(DataLoader(Watched(), 1, shuffle=True))]
    assert counts[:4] == [1, 3, 5, 6] and counts[-1] == 24


@pytest.mark.alone
def test_the_states_are_read_quickly():
    loop = wrapped([torch.ones(1)])
    generators = iter(loop)._generators
    rounds = [0.0] * 20
    for index in range(len(rounds)):
        start = time.perf_counter()
        for _ in range(50):
            for generator in generators:
                generator.read()
        rounds[index] = (time.perf_counter() - start) / 50
    assert min(rounds) < 20e-6


@pytest.mark.parametrize("which", range(3))
def test_states_are_told_apart_and_put_back(which):
    from turnpike._move import draws

    generator = draws.shared(HERE, None)[which]
    for draw in (
        [random.random, lambda: random.gauss(0, 1), lambda: random.gauss(0, 1), lambda: random.seed(4)],
        [numpy.random.rand, gauss, gauss, lambda: numpy.random.seed(4), lambda: numpy.random.bytes(2500)],
        [lambda: torch.rand(()), lambda: torch.randn(()), lambda: torch.randperm(5000), lambda: torch.manual_seed(4)],
    )[which]:
        before, full = generator.read(), states()
        assert generator.read() == before
        draw()
        after = generator.read()
        assert after != before and generator.read() == after
        generator.write(before)
        assert generator.read() == before and states() == full
        generator.write(after)
        assert generator.read() == after


def test_states_are_compared_where_memory_looks_otherwise(monkeypatch):
    from turnpike._move import draws

    monkeypatch.setattr(draws, "_address_in_python", lambda: None)
    monkeypatch.setattr(draws, "_address_in_numpy", lambda: None)
    for which in (0, 1):
        test_states_are_told_apart_and_put_back(which)


DRAWS = [
    None,
    random.random,
    lambda: random.gauss(0, 1),
    lambda: numpy.random.rand(),
    gauss,
    lambda: torch.rand(()).item(),
    lambda: torch.randn(()).item(),
]


@pytest.mark.parametrize("seed", range(150))
def test_a_random_program_sees_what_it_does_in_the_plain_loop(seed):
    """Draws of random kinds at random steps, in the source and in the loop, which may be left and begun again."""
    choose = random.Random(seed)
    length, depth = choose.randrange(1, 12), choose.randrange(1, 5)
    rare = choose.choice([0.1, 0.5, 1.0]), choose.choice([0.0, 0.1, 0.5, 1.0])
    plans = [[choose.choice(DRAWS) if choose.random() < often else None for _ in range(length + 1)] for often in rare]
    if choose.random() < 0.5:  # from the generators of one of the two only
        plans[1] = [None] * len(plans[1])
    leave_at, breaks = choose.randrange(length), {i for i in range(length) if choose.random() < 0.1}

    class Source:
        def __iter__(self):
            self.step = -1
            return self

        def __next__(self):
            self.step += 1
            if self.step > length:
                raise StopIteration
            value = plans[0][self.step] and plans[0][self.step]()
            if self.step == length:
                raise StopIteration
            if self.step in breaks:
                raise ValueError(self.step)
            return torch.tensor([float(self.step), value or 0.0])

    def run(loop):
        random.seed(seed)
        numpy.random.seed(seed)
        torch.manual_seed(seed)
        seen = []
        for epoch in range(2):
            batches = iter(loop)
            for step in range(length + 2):
                try:
                    seen.append(next(batches).tolist())
                except (StopIteration, ValueError) as error:
                    seen.append(repr(error))
                draw = plans[1][min(step, length)]
                seen.append((draw and draw(), states()))
                if epoch == 0 and step == leave_at:
                    break
        return seen

    plain = run(Source())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ours = run(wrapped(Source(), depth))
    if any("both draw" in str(one.message) for one in said):
        assert any(plans[0]) and any(plans[1])
    else:
        assert ours == plain


# Exceptions and the end.


class Broken(Plain):
    rest = 3

    def __getitem__(self, index):
        if index % 5 == self.rest:
            raise ValueError(f"{index} is broken")
        return super().__getitem__(index)


def skipping(loop):
    seen, batches = [], iter(loop)
    while True:
        try:
            seen.append(next(batches).tolist())
        except StopIteration:
            break
        except ValueError as error:
            seen.append(str(error).splitlines()[-1])
    with pytest.raises(StopIteration):
        next(batches)
    return seen


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("rest", [0, 3])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loop_that_goes_on_after_an_exception_gets_the_rest(depth, rest, workers, monkeypatch):
    monkeypatch.setattr(Broken, "rest", rest)
    loader = DataLoader(Broken(), 1, num_workers=workers, multiprocessing_context="fork" if workers else None)
    plain = skipping(loader)
    assert len(plain) == 24 and f"{rest} is broken" in plain[rest]
    assert skipping(wrapped(loader, depth)) == plain


def test_a_loop_without_a_gpu_goes_on_too(monkeypatch):
    monkeypatch.setattr(prefetch, "_engine_for", lambda device: None)
    assert skipping(wrapped(DataLoader(Broken(), 1))) == skipping(DataLoader(Broken(), 1))


def test_an_exception_is_not_passed_by_what_is_taken_ahead():
    taken = []

    class Watched(Broken):
        def __getitem__(self, index):
            taken.append(index)
            return super().__getitem__(index)

    batches = iter(wrapped(DataLoader(Watched(), 1), depth=5))
    for _ in range(3):
        next(batches)
    assert taken == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="3 is broken"):
        next(batches)
    assert taken == [0, 1, 2, 3]
    assert next(batches).item() == 4


def test_what_sending_off_raises_comes_when_the_batch_is_asked_for(monkeypatch):
    from turnpike._move import crossing

    def broken(engine, batch, *rest):
        raise RuntimeError("no memory")

    monkeypatch.setattr(crossing, "Crossing", broken)
    monkeypatch.setattr(ahead, "send_off", crossing.send_off)
    monkeypatch.setattr(crossing, "to", lambda batch, device, dtype: batch + 100)
    assert [batch.item() for batch in wrapped([torch.tensor(1), torch.tensor(2)])] == [101, 102]


def test_a_capture_takes_no_batch(monkeypatch):
    capturing = []

    def refuse(call):
        if capturing:
            raise tp.Error(f"{call} while capturing")

    monkeypatch.setattr(move_engine, "refuse_capture", refuse)
    batches = iter(wrapped([torch.tensor(i) for i in range(5)]))
    seen = [next(batches).item()]
    capturing.append(1)
    with pytest.raises(tp.Error, match="while capturing"):
        next(batches)
    capturing.clear()
    assert seen + [batch.item() for batch in batches] == [0, 1, 2, 3, 4]


def test_ctrl_c_in_a_batch_taken_ahead_loses_none_before_it():
    def source():
        yield from (torch.tensor(i) for i in range(3))
        raise KeyboardInterrupt

    batches = iter(wrapped(source(), depth=4))
    assert [next(batches).item() for _ in range(2)] == [0, 1]
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    assert [batch.item() for batch in batches] == [2]


def test_closing_ends_it_and_releases_the_source():
    closed = []

    def source():
        try:
            yield from (torch.tensor(i) for i in range(9))
        finally:
            closed.append(1)

    class Loader:
        def __iter__(self):
            return source()

    batches = iter(wrapped(Loader()))
    next(batches)
    batches.close()
    assert closed == [1] and list(batches) == []
    for _ in wrapped(Loader()):
        break
    del _
    assert closed == [1, 1]


@pytest.mark.parametrize(
    "make",
    [lambda: (torch.tensor(i) for i in range(9)), lambda: iter(DataLoader(Plain(), 3)), lambda: iter([*range(9)])],
)
def test_a_second_loop_over_an_iterator_continues_where_the_first_was_left(make):
    def loops(source):
        seen = []
        for _ in range(2):
            for batch in source:
                seen.append(torch.as_tensor(batch).tolist())
                if len(seen) == 3:
                    break
        return seen

    assert loops(wrapped(make())) == loops(make())


def test_iterating_begins_when_the_plain_loop_would():
    begun = []

    class Loader:
        def __iter__(self):
            begun.append(1)
            return iter([1])

    batches = iter(wrapped(Loader()))
    assert begun == [1]
    assert list(batches) == [1]


# Attributes.


def test_attributes_are_those_of_the_loader():
    class Loader(DataLoader):
        epoch = 0

    loader = Loader(Plain(), 3)
    loop = wrapped(loader)
    loop.epoch = 3
    loop.worker_init_fn = print
    assert loader.epoch == 3 and loader.worker_init_fn is print and loop.epoch == 3
    del loop.epoch
    assert loader.epoch == 0 and not hasattr(loop, "nonsense") and "dataset" in dir(loop)
    with pytest.raises(ValueError, match="batch_size attribute should not be set"):
        loop.batch_size = 7
    assert isinstance(loop, Loader) and isinstance(loop, DataLoader) and isinstance(loop, tp.Prefetch)
    assert not isinstance(wrapped([]), DataLoader)
    assert len(loop) == 8 and bool(loop) and not wrapped([]) and wrapped(x for x in ()) and 2 in wrapped([1, 2])
    with pytest.raises(TypeError, match="has no len"):
        len(wrapped(x for x in ()))


def test_it_can_be_pickled_and_copied():
    loader = DataLoader(Plain(), 3)
    loop = wrapped(loader, depth=1)
    for other in (pickle.loads(pickle.dumps(loop)), copy.copy(loop), copy.deepcopy(loop)):
        assert type(other) is tp.Prefetch and repr(other).endswith("'cpu:0', depth=1)")
        assert other._turnpike.iterable is not loader and len(other) == 8
        other.worker_init_fn = print
        assert loader.worker_init_fn is None
        assert [batch.tolist() for batch in other] == [batch.tolist() for batch in loader]
    assert copy.copy(loop).dataset is loader.dataset and copy.deepcopy(loop).dataset is not loader.dataset


# Inference mode: see test_move_crossing.py. States to resume from.


class Resumable:
    def __init__(self):
        self.next = 0

    def __iter__(self):
        while self.next < 10:
            self.next += 1
            yield torch.tensor(self.next - 1)
        self.next = 0

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.next = state["next"]


@pytest.mark.parametrize("depth", [1, 4])
def test_a_checkpoint_goes_on_with_the_next_batch(depth):
    loop = wrapped(Resumable(), depth)
    for batch in loop:
        assert loop.state_dict() == {"next": batch.item() + 1}
    assert loop.state_dict() == {"next": 0}
    loop.load_state_dict({"next": 4})
    assert loop.state_dict() == {"next": 4}
    for batch in loop:
        if batch == 5:
            break
    assert loop.state_dict() == {"next": 6}
    other = wrapped(Resumable(), depth)
    other.load_state_dict(loop.state_dict())
    assert [batch.item() for batch in other] == [6, 7, 8, 9]
    assert not hasattr(wrapped([]), "state_dict") and not hasattr(wrapped(DataLoader(Plain())), "load_state_dict")


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.filterwarnings("ignore")
def test_stateful_loaders_resume_with_the_next_batch(workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")

    def make():
        return stateful.StatefulDataLoader(
            Plain(), 2, num_workers=workers, multiprocessing_context="fork" if workers else None
        )

    def states(loop):
        torch.manual_seed(3)
        found = [loop.state_dict() for _ in loop]
        return [*found, loop.state_dict()]

    plain = states(make())
    assert len(plain) == 13
    assert states(wrapped(make(), depth=3)) == plain
    loop = wrapped(make())
    loop.load_state_dict(plain[4])
    assert [batch.flatten().tolist() for batch in loop][0] == [10.0, 11.0]


# Where batches come from.


def test_only_what_has_drawn_all_at_the_beginning_is_received_in_a_thread():
    def goes_by_thread(**options):
        return receive._comes_from_workers(DataLoader(Plain(), **{"num_workers": 1, **options}))

    assert goes_by_thread() and goes_by_thread(shuffle=True) and goes_by_thread(batch_size=None)
    assert goes_by_thread(sampler=WeightedRandomSampler([1.0] * 24, 5)) and goes_by_thread(sampler=range(5))
    assert goes_by_thread(batch_sampler=BatchSampler(RandomSampler(Plain()), 2, False))
    assert receive._comes_from_workers(DataLoader(Streamed(None), num_workers=1))
    assert not goes_by_thread(num_workers=0)
    assert not goes_by_thread(sampler=Lazy()) and not goes_by_thread(batch_sampler=LazyBatches())
    assert not goes_by_thread(shuffle=True, generator=own_generator())
    assert not goes_by_thread(pin_memory=True)


# strict=True.


def test_strict_names_what_is_left_behind():
    class Unknown:
        def __init__(self):
            self.x = torch.ones(1)

    batches = iter(tp.prefetch([{"a": torch.ones(1)}, {"b": [Unknown()]}, {"a": torch.ones(2)}], HERE, strict=True))
    next(batches)
    with pytest.raises(tp.Error, match=r"\['b'\]\[0\] \(.*Unknown\)"):
        next(batches)
    assert next(batches)["a"].shape == (2,)
