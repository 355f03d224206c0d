"""The planners: which tensors are packed, which cross directly, and which are left to PyTorch. None needs a GPU."""

import random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: what moves its tensors cannot be tried")

from turnpike import _core  # noqa: E402
from turnpike._move import packed, plan  # noqa: E402
from turnpike._move.plan import Facts, Way  # noqa: E402

DTYPES = [torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64, torch.float64]


def planned(tensors, **options):
    return _core.MovePlan(tensors, plan.plain_types(), torch.is_grad_enabled(), **options)


def unpacked(tensors, **options):
    """What the packed tensors are when every byte goes where the plan says, tried in host memory."""
    packing = planned(tensors, **options)
    buffers = packed.buffers_for(packing, torch.device("cpu"))
    views = [None] * len(tensors)
    packed.views_of(packing, buffers, tensors, views)
    for view in views:
        if view is not None:
            view.zero_()
    for tensor, view in zip(tensors, views, strict=True):
        if view is not None:
            view.copy_(tensor)
    return packing, buffers, views


def random_tensor(rng):
    dtype = rng.choice(DTYPES)
    sizes = [rng.randrange(1, 7) for _ in range(rng.randrange(5))]
    tensor = torch.randint(0, 2, sizes).to(dtype)
    if sizes and rng.random() < 0.3:
        tensor = tensor.transpose(0, -1)
    return tensor


def test_views_are_the_tensors_whatever_their_shapes_and_dtypes():
    for seed in range(60):
        rng = random.Random(seed)
        kinds = [random_tensor(rng) for _ in range(rng.randrange(1, 6))]
        tensors = [rng.choice(kinds).clone() for _ in range(rng.randrange(2, 60))]
        packing, _, views = unpacked(tensors)
        assert packing.others == [], seed
        for tensor, view in zip(tensors, views, strict=True):
            assert torch.equal(tensor, view), seed
            assert view.dtype == tensor.dtype and view.shape == tensor.shape and view.stride() == tensor.stride()
            assert view.data_ptr() % 16 == 0, seed


def test_strides_of_single_items_are_kept():
    odd = torch.ones(12).as_strided((3, 1, 4), (4, 999, 1))
    for tensors in ([odd, torch.ones(3)], [odd] * 5):
        _, _, views = unpacked(tensors)
        assert views[0].stride() == (4, 999, 1) and torch.equal(views[0], odd)
    whole = torch.arange(128.0).as_strided((1, 128), (999, 1))  # nothing lies between one and the next
    _, _, views = unpacked([whole] * 5)
    assert all(view.stride() == (999, 1) and torch.equal(view, whole) for view in views)


def test_tensors_that_fill_their_slots_are_cut_apart():
    for sizes in ([128], [2, 64], [4, 8, 4], [128, 1]):
        tensors = [torch.randn(sizes) for _ in range(9)]
        _, _, views = unpacked(tensors)
        for tensor, view in zip(tensors, views, strict=True):
            assert torch.equal(tensor, view) and view.stride() == tensor.stride()


def test_views_share_no_byte():
    tensors = [torch.ones(random.Random(seed).randrange(1, 50), dtype=torch.uint8) for seed in range(80)]
    _, _, views = unpacked(tensors)
    spans = sorted((view.data_ptr(), view.data_ptr() + view.nbytes) for view in views)
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:], strict=False))


def test_views_are_tensors_of_their_own_to_autograd():
    _, _, views = unpacked([torch.ones(4) for _ in range(8)] + [torch.ones(2, 2), torch.ones(3)])
    for view in views:
        assert not view._is_view() and not view.requires_grad and view.is_leaf
    before = views[1]._version
    views[0].add_(1)
    assert views[1]._version == before
    # A view that several share may not be changed in place under autograd; these may.
    weight = torch.ones(4, requires_grad=True)
    (views[0] * 1).sum()
    views[0].mul_(weight).sum().backward()
    assert weight.grad.tolist() == [2, 2, 2, 2]


def test_buffers_stay_below_their_limit():
    tensors = [torch.ones(60_000, dtype=torch.uint8) for _ in range(40)]
    packing, _, views = unpacked(tensors, buffer_bytes=1 << 18)
    assert len(packing.buffers) == 10
    assert all(size <= 1 << 18 for size in packing.buffers)
    assert all(torch.equal(view, tensor) for view, tensor in zip(views, tensors, strict=True))
    with pytest.raises(ValueError, match="less than one packed tensor"):
        planned(tensors, buffer_bytes=1000)


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
    ]
    packing = planned([plain, *others, plain.clone()])
    assert packing.others == list(range(1, len(others) + 1))
    assert [sorted(run[4]) for run in packing.runs] == [[0, len(others) + 1]]
    with torch.no_grad():
        parameter = torch.nn.Parameter(torch.ones(4))
        assert planned([plain, parameter]).others == []


def test_one_small_tensor_alone_is_not_packed():
    packing = planned([torch.ones(1 << 20), torch.ones(4), torch.ones(1 << 20)])
    assert packing.others == [0, 1, 2] and packing.buffers == []


def test_pieces_lie_where_the_plan_says():
    tensors = [torch.ones(3, dtype=torch.uint8), torch.ones(5)]
    packing = planned(tensors)
    pieces = _core.MovePieces()
    packing.add_to(pieces, [1 << 20])
    assert len(pieces) == 4  # each with padding behind it
    with pytest.raises(ValueError, match="one address for each buffer"):
        packing.add_to(pieces, [])


def test_attributes_say_the_same_as_the_fast_interface(monkeypatch):
    class Slow:
        """Stands for the type of a PyTorch that has no C interface."""

    tensors = [random_tensor(random.Random(seed)) for seed in range(40)]
    fast = planned(tensors)
    slow = _core.MovePlan(tensors, (Slow, *plan.plain_types()), True)
    assert slow.others == fast.others and slow.buffers == fast.buffers
    # The order of dtypes may differ: compare what each run holds.
    assert sorted(run[2:4] for run in slow.runs) == sorted(run[2:4] for run in fast.runs)


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
    assert plan.way_up(small._replace(is_expanded=True), is_alone=False) is Way.TORCH


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


def test_gapless_agrees_with_pytorch():
    for seed in range(200):
        rng = random.Random(seed)
        tensor = torch.ones([rng.randrange(1, 4) for _ in range(rng.randrange(1, 4))])
        tensor = tensor.permute(*rng.sample(range(tensor.dim()), tensor.dim()))
        if rng.random() < 0.5:
            tensor = tensor[..., :: rng.randrange(1, 3)]
        expected = torch.ops.aten.is_non_overlapping_and_dense.default(tensor)
        assert plan.is_gapless(tensor.shape, tensor.stride()) == expected, seed
