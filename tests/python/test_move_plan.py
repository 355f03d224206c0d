"""The planner: which tensors are packed, which cross directly, and which are left to PyTorch. None needs a GPU."""

import random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: what moves its tensors cannot be tried")

from turnpike import _core  # noqa: E402
from turnpike._move import plan  # noqa: E402
from turnpike._move.plan import Facts, Way  # noqa: E402
from turnpike._move.to import convert  # noqa: E402

DTYPES = [torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64, torch.float64]


def planned(tensors):
    return _core.MovePlan(tensors, plan.plain_types(), torch.is_grad_enabled())


def random_tensor(rng):
    dtype = rng.choice(DTYPES)
    sizes = [rng.randrange(1, 7) for _ in range(rng.randrange(5))]
    tensor = torch.randint(0, 2, sizes).to(dtype)
    if sizes and rng.random() < 0.3:
        tensor = tensor.transpose(0, -1)
    return tensor


def test_only_small_plain_dense_tensors_of_the_host_are_packed():
    plain = torch.ones(8)
    complex_ones = torch.ones(4, dtype=torch.complex64)
    others = [
        torch.ones(1 << 18),  # 1 MiB
        torch.ones(0),
        torch.ones(8, 8)[:, ::2],
        torch.ones(1).expand(8),
        torch.ones(4, 4).to_sparse(),
        torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8),
        torch.ones(4, device="meta"),
        complex_ones.conj(),
        complex_ones.conj().imag,
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        torch.ones(4, requires_grad=True),
        torch.nn.UninitializedParameter(),
        torch._efficientzerotensor(4),
        freed(torch.ones(8)),
        freed(torch.ones(8)[3:]),
        freed(torch.ones(1 << 20)[1 << 19 :][:8]),
    ]
    packing = planned([plain, *others, plain.clone()])
    assert packing.others == list(range(1, len(others) + 1))
    assert packing.small == [0, len(others) + 1]
    with torch.no_grad():
        parameter = torch.nn.Parameter(torch.ones(4))
        assert planned([plain, parameter]).others == []


def freed(tensor):
    """Its storage is gone, as FSDP and offloaders leave it."""
    tensor.untyped_storage().resize_(0)
    return tensor


def test_a_part_of_a_storage_is_packed():
    whole = torch.ones(64)
    assert planned([whole[8:16], whole[:4]]).small == [0, 1]


def test_each_small_tensor_has_a_target():
    tensors = [torch.ones(3, dtype=torch.uint8), torch.ones(5)]
    packing = planned(tensors)
    pieces = _core.MovePieces()
    packing.add_to(pieces, [torch.empty_like(tensor) for tensor in tensors])
    assert len(pieces) == 2 and not pieces.has_pinned
    with pytest.raises(ValueError, match="one target for each small tensor"):
        packing.add_to(pieces, [])


def test_attributes_say_the_same_as_the_fast_interface(monkeypatch):
    class Slow:
        """Stands for the type of a PyTorch that has no C interface."""

    tensors = [random_tensor(random.Random(seed)) for seed in range(40)]
    fast = planned(tensors)
    slow = _core.MovePlan(tensors, (Slow, *plan.plain_types()), True)
    assert slow.others == fast.others and slow.small == fast.small


@pytest.mark.parametrize(
    "facts, way",
    [
        (Facts(is_plain=False, size_bytes=1 << 30, is_gapless=True, is_expanded=False), Way.TORCH),
        (Facts(is_plain=True, size_bytes=0, is_gapless=True, is_expanded=False), Way.TORCH),
        (Facts(is_plain=True, size_bytes=4096, is_gapless=True, is_expanded=False), Way.TORCH),
        (Facts(is_plain=True, size_bytes=4096, is_gapless=False, is_expanded=False), Way.TORCH),
        (Facts(is_plain=True, size_bytes=1 << 20, is_gapless=True, is_expanded=False), Way.DENSE),
        (Facts(is_plain=True, size_bytes=1 << 20, is_gapless=True, is_expanded=False, is_pinned=True), Way.PINNED),
        (Facts(is_plain=True, size_bytes=1 << 20, is_gapless=False, is_expanded=False), Way.STRIDED),
        (Facts(is_plain=True, size_bytes=1 << 20, is_gapless=False, is_expanded=True), Way.EXPANDED),
    ],
)
def test_ways_up(facts, way):
    assert plan.way_up(facts, is_alone=True) is way


def test_what_is_small_goes_with_the_others():
    small = Facts(is_plain=True, size_bytes=4096, is_gapless=True, is_expanded=False)
    assert plan.way_up(small, is_alone=False) is Way.DENSE
    assert plan.way_up(small._replace(is_gapless=False), is_alone=False) is Way.STRIDED
    assert plan.way_up(small._replace(size_bytes=0), is_alone=False) is Way.TORCH
    assert plan.way_up(small._replace(is_gapless=False, is_expanded=True), is_alone=False) is Way.STRIDED


def test_ways_down():
    dense = Facts(is_plain=True, size_bytes=4096, is_gapless=True, is_expanded=False)
    assert plan.way_down(dense, is_alone=True) is Way.TORCH
    assert plan.way_down(dense, is_alone=False) is Way.DENSE
    large = Facts(is_plain=True, size_bytes=1 << 20, is_gapless=False, is_expanded=False)
    assert plan.way_down(large, is_alone=True) is Way.STRIDED


def test_facts_of_tensors():
    image = torch.ones(2, 3, 4, 4)
    assert plan.facts_of(image).is_gapless
    assert plan.facts_of(image.to(memory_format=torch.channels_last)).is_gapless
    assert plan.facts_of(image.permute(2, 0, 3, 1)).is_gapless
    assert not plan.facts_of(image[:, :2]).is_gapless
    expanded = plan.facts_of(torch.ones(1).expand(100))
    assert expanded.is_expanded and expanded.size_bytes == 400
    assert not plan.facts_of(torch.ones(3, device="meta")).is_plain
    assert not plan.facts_of(freed(torch.ones(3))).is_plain
    assert not plan.facts_of(freed(torch.ones(9)[4:])).is_plain
    assert not plan.facts_of(torch._efficientzerotensor(3)).is_plain
    shrunk = torch.ones(8)
    shrunk.untyped_storage().resize_(16)
    assert not plan.facts_of(shrunk).is_plain and plan.facts_of(shrunk[:4]).is_plain


def test_facts_of_dense_tensors_are_those_of_the_slower_way(monkeypatch):
    base = torch.arange(48.0).reshape(4, 12)
    complexes = torch.ones(4, dtype=torch.complex64)
    tensors = [
        base, base.t(), base[1:3], base[:, 2:4], base[:1, 3:9], torch.ones(()), torch.ones(0), torch.ones(3, 0),
        torch.ones(5, dtype=torch.bool), torch.ones(3, dtype=torch.bfloat16), torch.ones(2, requires_grad=True),
        complexes, complexes.conj(), complexes.conj().imag, torch.nn.Parameter(torch.ones(4)), torch.ones(9)[4:],
        torch.ones(2, names=("N",)), torch.ones(1).expand(7), torch.eye(2).to_sparse(), freed(torch.ones(3)),
        torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.quint8), torch._efficientzerotensor(3),
    ]  # fmt: skip
    fast = [plan.facts_of(tensor) for tensor in tensors]
    answers = [_core.move_dense_bytes(tensor, plan.plain_types()) for tensor in tensors]
    monkeypatch.setattr(_core, "move_dense_bytes", lambda tensor, types: None)
    assert fast == [plan.facts_of(tensor) for tensor in tensors]
    if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        assert answers[:5] == [192, 192, 96, None, 24]
        assert answers[13] is None and answers[14:16] == [16, 20]


def test_gapless_agrees_with_pytorch():
    for seed in range(200):
        rng = random.Random(seed)
        tensor = torch.ones([rng.randrange(1, 4) for _ in range(rng.randrange(1, 4))])
        tensor = tensor.permute(*rng.sample(range(tensor.dim()), tensor.dim()))
        if rng.random() < 0.5:
            tensor = tensor[..., :: rng.randrange(1, 3)]
        expected = torch.ops.aten.is_non_overlapping_and_dense.default(tensor)
        assert plan.is_gapless(tensor.shape, tensor.stride()) == expected, seed


def need_interface():
    interfaces = (
        (torch.Tensor, "__dlpack_c_exchange_api__"),
        (torch._C._aoti, "alloc_tensors_by_stealing_from_void_ptrs"),
    )
    if not all(hasattr(*interface) for interface in interfaces):
        pytest.skip(f"PyTorch {torch.__version__} lacks the interface; torch.empty_like() is used")


def test_tensors_are_allocated_as_empty_like_does():
    tensors = [random_tensor(random.Random(seed)) for seed in range(60)]
    tensors += [torch.ones(()), torch.ones(12).as_strided((3, 1, 4), (4, 999, 1)), torch.nn.Parameter(torch.ones(3))]
    with torch.no_grad():
        packing = planned(tensors)
    assert packing.small == list(range(len(tensors)))
    need_interface()
    made = packing.empty_likes(tensors, -1)
    for new, tensor in zip(made, tensors, strict=True):
        expected = torch.empty_like(tensor)
        assert type(new) is torch.Tensor and not new.requires_grad and new.is_leaf and new._version == 0
        for name in ("dtype", "device", "shape", "is_contiguous", "storage_offset", "stride", "is_inference"):
            ours, theirs = getattr(new, name), getattr(expected, name)
            assert (ours() if callable(ours) else ours) == (theirs() if callable(theirs) else theirs), name
        assert new.untyped_storage().nbytes() == expected.untyped_storage().nbytes()
    assert len({new.data_ptr() for new in made}) == len(made)
    with torch.inference_mode():
        assert all(new.is_inference() for new in packing.empty_likes(tensors, -1))


def test_tensors_of_another_dtype_are_allocated_as_empty_like_does():
    need_interface()
    tensors = [torch.ones(3, 5), torch.ones(4, 6).t(), torch.ones(()), torch.ones(2, 3, 4).permute(2, 0, 1)]
    for dtype in (torch.bfloat16, torch.int64, torch.bool):
        made = _core.move_empty_likes(tensors, plan.plain_types(), -1, torch.empty(0, dtype=dtype))
        for new, tensor in zip(made, tensors, strict=True):
            expected = torch.empty_like(tensor, dtype=dtype)
            assert new.dtype is dtype and new.shape == expected.shape and new.stride() == expected.stride()
            assert new.untyped_storage().nbytes() == expected.untyped_storage().nbytes()
    assert _core.move_empty_likes(tensors, plan.plain_types(), -1, torch.empty(0, dtype=torch.float8_e5m2)) is None
    assert _core.move_empty_likes([], plan.plain_types(), -1, torch.empty(0)) == []


@pytest.mark.parametrize("is_known", [True, False])
def test_small_tensors_are_converted_as_to_does(monkeypatch, is_known):
    if not is_known:
        monkeypatch.setattr(_core, "move_empty_likes", lambda *_: None)
    sources = [torch.randn(n % 5 + 1, n % 7 + 1).t() for n in range(40)]
    sources += [torch.ones(2, 3, names=("N", "C")), torch.ones(5, dtype=torch.float16), torch.ones(1 << 17)]
    made = list(sources)
    convert(made, torch.float16, range(len(made) - 1))
    for new, source in zip(made, sources, strict=True):
        expected = source.to(torch.float16)
        assert new.dtype is torch.float16 and new.names == source.names and new.stride() == expected.stride()
        assert torch.equal(new.rename(None), expected.rename(None)) and new._version == 0
    assert made[-2] is sources[-2]


def test_dtypes_that_are_not_known_are_left_to_empty_like():
    tensors = [torch.ones(4), torch.ones(4).to(torch.float8_e5m2)]
    packing = planned(tensors)
    assert packing.small == [0, 1] and packing.empty_likes(tensors, -1) is None
