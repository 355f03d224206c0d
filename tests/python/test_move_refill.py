"""A loader that fills the same memory for every batch: prefetch has read it before it asks for the next.

The engine is a stand-in that reads host memory late: when it has been asked three times in vain, or the loop gets the
batch; page-locked memory not even then.
"""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there are no batches of tensors")
numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
from torch.utils.data import DataLoader, TensorDataset, default_collate  # noqa: E402

from loop_stand_in import let_nothing_cross  # noqa: E402
from turnpike._move import ahead, refill, tree  # noqa: E402

HERE = torch.device("cpu", 0)
BATCHES = 30
LATE = 3  # so often it is asked in vain


class Late:
    """A transfer that reads its sources when it has been asked often enough."""

    def __init__(self, copies):
        self.copies, self.asked = copies, 0

    def is_staged(self):
        self.asked += 1
        if self.asked > LATE:
            self.read()
        return self.copies is None

    is_done = is_staged

    def read(self):
        for target, source in self.copies or ():
            target.copy_(source)
        self.copies = None


class Engine:
    """Has the transfers of page-locked memory, with what keeps that, from when the loop has got them."""

    def __init__(self):
        self.running = []

    def reap(self):
        for transfer, _ in self.running:
            transfer.is_done()
        self.running = [(transfer, owner) for transfer, owner in self.running if transfer.copies]


class Sent:
    """A batch under way."""

    is_pinned = False

    def __init__(self, engine, batch, device, dtype, aside, keeps_memory=False):
        tensors = tree.tensors_of(batch)
        copies = {id(source): torch.empty_like(source) for source in tensors}
        self.batch = tree.replaced(batch, copies, lambda foreign: foreign)
        self.reading = refill.Reading(memory=refill.Memory(tensors) if keeps_memory else None)
        self.transfer = self.reading.transfer = Late([(copies[id(source)], source) for source in tensors])
        if self.is_pinned:
            engine.running.append((self.transfer, self.reading.owner()))

    def let_go(self):
        pass

    def hand_over(self):
        if not self.is_pinned:
            self.transfer.read()
        self.reading.transfer = None
        return self.batch


class SentPinned(Sent):
    is_pinned = True


class SentLate:
    """A batch that crosses when the loop asks for it."""

    def __init__(self, engine, batch, device, dtype, aside, keeps_memory=False):
        self.batch = batch
        memory = refill.Memory(tree.tensors_of(batch)) if keeps_memory else None
        self.reading = refill.Reading(is_late=True, memory=memory)

    def let_go(self):
        pass

    def hand_over(self):
        return {name: tensor.clone() for name, tensor in self.batch.items()}


@pytest.fixture
def loop(monkeypatch):
    """loop(source, sent): the first item of each batch, read when the GPU has come so far."""
    let_nothing_cross(monkeypatch.setattr)

    def run(source, sent=Sent, depth=2):
        engine = Engine()
        monkeypatch.setattr(ahead, "send_off", sent)
        batches = list(ahead.Ahead(engine, source, HERE, depth, None))
        while engine.running:
            engine.reap()
        return [[tensor.flatten()[0].item() for tensor in tree.tensors_of(batch)] for batch in batches]

    return run


def one_buffer():
    buffer = {"x": torch.zeros(1000), "small": torch.zeros(2)}
    for step in range(BATCHES):
        buffer["x"].fill_(step)
        buffer["small"].fill_(step)
        yield dict(buffer)


def ring(count):
    buffers = [torch.zeros(1000) for _ in range(count)]
    for step in range(BATCHES):
        yield {"x": buffers[step % count].fill_(step)}


def of_numpy():
    array = numpy.zeros(1000, dtype=numpy.float32)
    for step in range(BATCHES):
        array[:] = step
        yield {"x": torch.from_numpy(array)}


def rows_of(chunk, count):
    """A chunk that is filled as a whole, and given out row by row."""
    for step in range(BATCHES):
        if step % count == 0:
            chunk[:] = torch.arange(step, step + count)[:, None] if isinstance(chunk, torch.Tensor) else (
                numpy.arange(step, step + count)[:, None]
            )  # fmt: skip
        row = chunk[step % count]
        yield {"x": row if isinstance(row, torch.Tensor) else torch.from_numpy(row)}


def begins_late():
    """Only one of two tensors is always the same."""
    same = torch.zeros(1000)
    for step in range(BATCHES):
        yield [torch.full((1000,), float(step)), same.fill_(step)]


LOADERS = {
    "one buffer": one_buffer,
    "two in turn": lambda: ring(2),
    "four in turn": lambda: ring(4),
    "five in turn": lambda: ring(5),
    "six in turn": lambda: ring(6),
    "seven in turn": lambda: ring(7),
    "NumPy": of_numpy,
    "rows": lambda: rows_of(torch.zeros(10, 1000), 10),
    "rows of NumPy": lambda: rows_of(numpy.zeros((10, 1000), dtype=numpy.float32), 10),
    "beside others": begins_late,
    "a loader that collates into one buffer": lambda: DataLoader(
        TensorDataset(torch.arange(float(BATCHES))), 1, collate_fn=Into(torch.zeros(1000))
    ),
}


class Into:
    def __init__(self, buffer):
        self.buffer = buffer

    def __call__(self, items):
        return {"x": self.buffer.fill_(items[0][0])}


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("sent", [Sent, SentPinned])
@pytest.mark.parametrize("name", sorted(LOADERS))
def test_what_fills_the_same_memory_again_gives_the_plain_batches(loop, name, sent, depth):
    expected = [[float(step)] * len(batch) for step, batch in enumerate(LOADERS[name]())]
    assert loop(LOADERS[name](), sent, depth) == expected


def test_without_the_care_it_would_not(loop, monkeypatch):
    monkeypatch.setattr(refill.Refills, "wait", lambda refills: None)
    for name in ("one buffer", "two in turn", "NumPy"):
        assert [batch[0] for batch in loop(LOADERS[name]())] != list(range(BATCHES))
    assert [batch[0] for batch in loop(ring(7), SentPinned)] != list(range(BATCHES))


def test_a_batch_that_crosses_late_has_none_ahead_of_it(loop):
    assert loop(one_buffer(), SentLate) == [[float(step)] * 2 for step in range(BATCHES)]


def refills(source, depth=2):
    return refill.Refills(None, source, depth)


def test_a_trial_is_as_long_as_a_ring_can_hide():
    care = refills(iter([]))
    for _ in range(4):
        care.taken(refill.Reading(memory=refill.Memory([torch.ones(9)])))
        assert care.is_careful and care.is_trial
    care.taken(refill.Reading(memory=refill.Memory([torch.ones(9)])))
    assert not care.is_careful and not care.is_trial


def test_memory_is_kept_during_the_trial_alone():
    care, storages = refills(iter([])), []
    for _ in range(5):
        tensor = torch.ones(9)
        storages.append(torch.multiprocessing.reductions.StorageWeakRef(tensor.untyped_storage()))
        assert not any(storage.expired() for storage in storages)
        care.taken(refill.Reading(memory=refill.Memory([tensor])))
        del tensor
    assert all(storage.expired() for storage in storages)


@pytest.mark.parametrize(
    "batch", [[torch.ones(3).to_sparse()], [torch.from_numpy(numpy.ones(3))]], ids=["sparse", "NumPy"]
)
def test_memory_of_unknown_extent_keeps_the_care(batch):
    care = refills(iter([]))
    for _ in range(9):
        care.taken(refill.Reading(memory=refill.Memory(batch)))
    assert care.is_careful and not care.is_trial


def test_objects_that_move_themselves_keep_the_care():
    care = refills(iter([]))
    for _ in range(9):
        reading = refill.Reading(memory=refill.Memory([torch.ones(3)]))
        reading.has_foreign = True
        care.taken(reading)
    assert care.is_careful and not care.is_trial


def test_what_the_link_reads_of_a_late_batch_is_waited_for_too():
    class Link:
        asked = 0

        def reap(self):
            self.asked += 1
            if self.asked > LATE:
                self.owner = None

    link = Link()
    care = refill.Refills(link, iter([]), 2)
    reading = refill.Reading(is_late=True)
    link.owner = reading.owner()
    care.taken(reading)
    care.wait()
    assert link.owner is None


class SentThrough(SentLate):
    """A batch that is where the loop wants it."""

    def __init__(self, engine, batch, device, dtype, aside, keeps_memory=False):
        self.batch = batch
        self.reading = refill.Reading(memory=refill.Memory(batch) if keeps_memory else None)

    def hand_over(self):
        return self.batch


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_what_writes_to_a_tensor_on_the_gpu_again_is_taken_when_it_is_asked_for(monkeypatch, count):
    let_nothing_cross(monkeypatch.setattr)
    monkeypatch.setattr(ahead, "send_off", SentThrough)
    buffers, taken = [torch.zeros(9, device="meta") for _ in range(count)], []

    def source():
        for step in range(BATCHES):
            taken.append(step)
            yield [buffers[step % count].fill_(step)]

    with pytest.warns(RuntimeWarning, match="writes again to a tensor on the GPU"):
        for step, _ in enumerate(ahead.Ahead(Engine(), source(), HERE, 2, None)):
            # It comes back to the buffer of a batch that the loop has had.
            assert len(taken) <= step + count
    assert len(taken) == BATCHES


def test_a_tensor_on_the_gpu_that_stays_as_it_is_does_not_matter(monkeypatch):
    let_nothing_cross(monkeypatch.setattr)
    monkeypatch.setattr(ahead, "send_off", SentThrough)
    mask, taken = torch.zeros(9, device="meta"), []
    batches = iter(ahead.Ahead(Engine(), ([mask, taken.append(step)][:1] for step in range(BATCHES)), HERE, 2, None))
    for _ in range(9):
        next(batches)
    assert len(taken) == 11


def loader(kind=DataLoader, **options):
    return kind(TensorDataset(torch.zeros(4)), **options)


class Own(DataLoader):
    def __iter__(self):
        return super().__iter__()


@pytest.mark.parametrize(
    "iterable, is_known",
    [
        ([torch.ones(1)], True),
        ((), True),
        (iter([]), False),
        (type("List", (list,), {})(), False),
        (loader(), True),
        (loader(num_workers=2), True),
        (loader(num_workers=2, collate_fn=lambda items: items), True),
        (loader(collate_fn=lambda items: items), False),
        (loader(collate_fn=default_collate), True),
        (loader(batch_size=None), False),
        (loader(Own), False),
        (loader(Own, num_workers=2), False),
    ],
)
def test_loaders_that_make_new_memory_are_known(iterable, is_known):
    assert refill.makes_new_memory(iterable) is is_known


def test_a_program_may_teach_default_collate_to_fill_a_buffer(monkeypatch):
    functions = torch.utils.data._utils.collate.default_collate_fn_map
    monkeypatch.setitem(functions, torch.Tensor, lambda batch, *, collate_fn_map=None: batch[0])
    assert not refill.makes_new_memory(loader())


def test_an_end_lets_the_memory_go(loop, monkeypatch):
    made = []

    class Watched(refill.Refills):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(refill, "Refills", Watched)
    for batches in (2, BATCHES):
        assert len(loop([float(step)] for step in range(batches))) == batches
    assert [care.is_trial for care in made] == [False, False]
