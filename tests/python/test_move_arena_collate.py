"""Batches that a collate_fn of the program's own makes: whatever they are, they come as PyTorch would bring them."""

import collections
import dataclasses
import gc

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.utils.data import DataLoader, default_collate  # noqa: E402

from born_batches import BIG, assert_same, born_of, facts, is_locked, played_locks  # noqa: E402, F401
from turnpike._move import arena  # noqa: E402

pytestmark = pytest.mark.slow

ITEMS = [torch.full((BIG,), float(index)) for index in range(12)]


@dataclasses.dataclass
class Sample:
    tensor: torch.Tensor
    name: str


class Itself:
    """Moves itself, as a BatchEncoding does."""

    def __init__(self, data):
        self.data = data

    def to(self, device):
        return Itself({key: value.to(device) for key, value in self.data.items()})


def stacked(samples):
    return torch.stack(samples)


def joined(samples):
    return {"all": torch.cat(samples), "first": samples[0], "number": len(samples), "text": ["a"] * len(samples)}


def by_default(samples):
    return Sample(default_collate(samples), "default")


def strided(samples):
    whole = torch.stack(samples)
    return whole[:, ::2], whole.t(), whole[0].expand(3, BIG), whole[1, 5:9]


def shared_storage(samples):
    whole = torch.cat(samples)
    return whole[:-1], whole[1:], whole


def special(samples):
    whole = torch.stack(samples)
    return {
        "sparse": torch.eye(3).to_sparse(),
        "grad": torch.ones(3, requires_grad=True),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "quantized": torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8),
        "shared": torch.ones(5).share_memory_(),
        "empty": torch.empty(0, 7),
        "scalar": torch.tensor(3.5),
        "device": torch.device("cpu"),
        "plain": whole,
        "none": None,
    }


def arrays(samples):
    return torch.stack(samples).numpy(), "text"


def small(samples):
    return [torch.tensor([index, index + 1]) for index in range(300)]


def itself(samples):
    return Itself({"ids": torch.stack(samples)})


@pytest.mark.parametrize(
    ("collate_fn", "method"),
    [(one, "fork") for one in (stacked, joined, by_default, strided, shared_storage, small)] + [(by_default, "spawn")],
)
def test_tensors_are_the_same_and_lie_in_slots(collate_fn, method, locks):
    loader = DataLoader(ITEMS, 3, num_workers=2, collate_fn=collate_fn, multiprocessing_context=method)
    assert assert_same(loader) == 4
    assert (arena.counts.batches, arena.counts.elsewhere) == (4, 0)
    assert bool(locks) == (collate_fn is not small)


def test_special_tensors_travel_as_pytorch_sends_them(locks):
    loader = DataLoader(ITEMS, 3, num_workers=2, collate_fn=special)
    for ours, plain in zip(born_of(loader), loader, strict=True):
        assert list(ours) == list(plain)
        for name in ("grad", "parameter", "shared", "empty", "scalar", "plain"):
            assert facts(ours[name]) == facts(plain[name]), name
            assert type(ours[name]) is type(plain[name])
        assert torch.equal(ours["sparse"].to_dense(), plain["sparse"].to_dense())
        assert ours["quantized"].is_quantized and plain["quantized"].is_quantized
        assert is_locked(ours["plain"], locks)
        assert ours["shared"].is_shared()


def test_views_of_one_storage_still_share_it():
    loader = DataLoader(ITEMS, 3, num_workers=1, collate_fn=shared_storage)
    for left, right, whole in born_of(loader):
        left[1] = -7
        assert right[0] == whole[1] == -7


def test_arrays_and_objects_are_brought(locks):
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    loader = DataLoader(ITEMS, 3, num_workers=2, collate_fn=arrays)
    for (ours, text), (plain, _) in zip(born_of(loader), loader, strict=True):
        assert numpy.array_equal(ours, plain)
        assert text == "text"
        ours[0] = 1  # it may be written to, as it may plainly
    loader = DataLoader(ITEMS, 3, num_workers=2, collate_fn=itself)
    for ours, plain in zip(born_of(loader), loader, strict=True):
        assert type(ours) is Itself
        assert facts(ours.data) == facts(plain.data)
        assert is_locked(ours.data["ids"], locks)


class Keeping:
    """A collate_fn that keeps what it has made, and looks at it again."""

    def __init__(self):
        self.kept = []

    def __call__(self, samples):
        for number, batch in self.kept:
            assert (batch == number).all(), "what was kept has changed"
        made = default_collate(samples)
        self.kept.append((samples[0][0].item(), made))
        return made


def test_what_a_worker_keeps_is_not_written_over():
    loader = DataLoader(ITEMS, 1, num_workers=1, collate_fn=Keeping())
    assert [batch[0, 0].item() for batch in born_of(loader)] == list(range(12))
    assert arena.counts.batches > 0
    assert arena.counts.elsewhere > 0


class Cached:
    """A dataset that collates for itself, and keeps that."""

    def __init__(self):
        self.cache = {}

    def __len__(self):
        return 12

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = default_collate([torch.full((BIG,), float(index))] * 2)
        assert (self.cache[index] == index).all()
        return self.cache[index]


@pytest.mark.parametrize("batch_size", [None, 2])
def test_what_a_dataset_collates_for_itself_is_its_own(batch_size):
    loader = DataLoader(Cached(), batch_size, num_workers=2, persistent_workers=True)
    for _ in range(3):
        for number, batch in enumerate(born_of(loader)):
            rows = batch if batch_size is None else batch.reshape(-1, BIG)[::2]
            assert rows[0, 0] == number * (batch_size or 1)


def test_batches_that_the_dataset_yields_whole(locks):
    whole = torch.arange(float(12 * BIG)).view(12, BIG)
    loader = DataLoader([whole[index : index + 3] for index in range(0, 12, 3)], None, num_workers=2)
    for number, batch in enumerate(born_of(loader)):
        assert torch.equal(batch, whole[3 * number : 3 * number + 3])
        assert is_locked(batch, locks)
        assert batch.untyped_storage().nbytes() == batch.nbytes  # not the whole data


def test_hugging_face_batches(locks):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    encoding = transformers.BatchEncoding({"input_ids": torch.arange(BIG).view(1, -1), "mask": torch.ones(1, 4)})
    loader = DataLoader([encoding] * 4, None, num_workers=1)
    for batch in born_of(loader):
        assert type(batch) is transformers.BatchEncoding
        assert torch.equal(batch["input_ids"], encoding["input_ids"])
        assert is_locked(batch["input_ids"], locks)


def test_a_map_that_the_program_changed_is_respected(monkeypatch):
    from torch.utils.data._utils import collate

    def doubled(batch, *, collate_fn_map=None):
        return torch.stack(batch) * 2

    monkeypatch.setitem(collate.default_collate_fn_map, torch.Tensor, doubled)
    for workers in (0, 1):
        loader = DataLoader(ITEMS, 3, num_workers=workers)
        assert [batch[0, 0].item() for batch in born_of(loader)] == [0, 6, 12, 18]


def test_the_function_is_the_programs_again_in_its_own_process():
    loader = DataLoader(ITEMS, 3, num_workers=1, collate_fn=joined, persistent_workers=True)
    list(born_of(loader))
    assert loader.collate_fn is joined
    assert facts(loader._iterator._collate_fn(ITEMS[:2])) == facts(joined(ITEMS[:2]))


def test_a_batch_is_freed_without_the_garbage_collector():
    loader = DataLoader(ITEMS, 3, num_workers=1)
    gc.disable()
    try:
        assert len(collections.deque(born_of(loader), maxlen=0)) == 0
        batches = born_of(loader)
        slots = batches._collate_fn.slots
        next(batches)
        assert slots._leased == set()
    finally:
        gc.enable()
