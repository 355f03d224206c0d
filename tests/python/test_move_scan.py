"""What the extension makes of a tensor that DLPack's C interface describes: by an interface of the test's own.

So a tensor can be on a GPU, and PyTorch need not be there.
"""

import pathlib
import sys

import pytest

from turnpike import _core

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from exchanged_tensor import (  # noqa: E402
    COMPLEX,
    CUDA,
    CUDA_HOST,
    METAL,
    FromObject,
    Slow,
    Tensor,
    ctypes,
    interface,
)


def is_packed(tensor, has_grad=True):
    plan = _core.MovePlan([tensor], (type(tensor),), has_grad)
    assert plan.small + plan.others == [0]
    return plan.small == [0]


def dense_bytes(tensor):
    return _core.move_dense_bytes(tensor, (Tensor,))


@pytest.mark.parametrize(
    ("tensor", "of_host", "size_bytes"),
    [
        (Tensor(), True, 16),
        (Tensor([1], bits=8), True, 1),
        (Tensor([2, 3], [3, 1], bits=16), True, 12),
        (Tensor(lanes=2), True, 32),
        (Tensor(device=CUDA), False, 16),
        (Tensor(device=CUDA_HOST), False, None),
        (Tensor(device=METAL), False, None),
        (Tensor(bits=4), False, None),
        (Tensor([0]), False, None),
        (Tensor([2, 2], [1, 4]), False, None),
        (Tensor(is_refused=True), False, None),
        (Tensor(is_neg=True), False, None),
        (Tensor(is_conj=True), True, 16),  # nobody asks that of real numbers
        (Tensor(code=COMPLEX, bits=64, is_conj=True), False, None),
        (Tensor(data=None), False, None),
        (Tensor([], bits=64), True, 8),
        (Tensor([2, 1, 3], [3, 9, 1]), True, 24),  # the stride of one item is nobody's
        (Tensor([3, 2], [1, 3]), True, 24),
        (Tensor([2, 2], [2, 2]), False, None),
        (Tensor(has_names=True), False, 16),
        (Tensor(has_names=AttributeError("none")), False, 16),
        (Tensor(is_neg=AttributeError("none")), False, None),
        (Tensor(offset=AttributeError("none")), False, None),
        (Tensor([1], bits=8, storage_bytes=AttributeError("none")), True, None),
        (Tensor([1], bits=8, storage_bytes="no number"), True, None),
        (Tensor(storage_bytes=0), True, None),
        (Tensor(offset=1, storage_bytes=0), False, None),
    ],
)
def test_where_a_tensor_is_and_how_it_lies(tensor, of_host, size_bytes):
    assert is_packed(tensor) is of_host
    assert dense_bytes(tensor) == size_bytes


@pytest.mark.parametrize(
    ("offset", "storage_bytes", "size_bytes"),
    [(0, 16, 16), (0, 15, None), (4, 32, 16), (4, 31, None), (4, 16, None), (4, 0, None)],
)
def test_a_storage_may_have_been_made_smaller(offset, storage_bytes, size_bytes):
    assert dense_bytes(Tensor(offset=offset, storage_bytes=storage_bytes)) == size_bytes


@pytest.mark.parametrize(("storage_bytes", "is_there"), [(17, True), (16, False), (0, False)])
def test_what_begins_behind_its_storage_is_not_packed(storage_bytes, is_there):
    assert is_packed(Tensor(offset=4, storage_bytes=storage_bytes)) is is_there


class Sub(Tensor):
    pass


class Other(Tensor):
    pass


def test_another_type_is_left_to_pytorch():
    assert not is_packed_as(Sub(), Tensor)
    assert dense_bytes(Sub()) is None
    assert is_packed_as(Sub(), Tensor, Sub)
    assert is_packed_as(Tensor(), Tensor, Sub)
    assert not is_packed_as(Other(), Tensor, Sub)


def is_packed_as(tensor, *types):
    return _core.MovePlan([tensor], types, True).small == [0]


def test_the_two_lists_have_the_places_of_the_tensors():
    plan = _core.MovePlan([Tensor([0]), Tensor(), Tensor([0]), Tensor(), 7], (Tensor,), True)
    assert (plan.small, plan.others) == ([1, 3], [0, 2, 4])


@pytest.mark.parametrize(
    ("sizes", "strides", "is_small"),
    [
        ([1 << 18], [1], True),
        ([(1 << 18) + 1], [1], False),
        ([1 << 17, 2], [2, 1], True),
        ([1 << 17, 3], [3, 1], False),
        ([3, 1 << 17, 0], [1 << 17, 1, 1], False),
        ([-1, -1], [1, 1], False),
    ],
)
def test_small_are_256_kib_and_less(sizes, strides, is_small):
    assert is_packed(Tensor(sizes, strides, bits=8)) is is_small


@pytest.mark.parametrize("kind", [Tensor, Slow])
def test_a_gradient_matters_only_where_there_are_some(kind):
    leaf = kind(requires_grad=True)
    assert is_packed(leaf, has_grad=False)
    assert not is_packed(leaf, has_grad=True)
    assert not is_packed(kind(requires_grad=AttributeError("none")), has_grad=True)


@pytest.mark.parametrize(
    ("answers", "is_there"),
    [
        ({}, True),
        ({"shape": (2, 3), "stride": (3, 1)}, True),
        ({"shape": (2, 3), "stride": (4, 1)}, False),
        ({"shape": (1 << 16,)}, True),
        ({"shape": (1 << 16,), "itemsize": 5}, False),
        ({"is_cpu": False}, False),
        ({"is_cpu": AttributeError("none")}, False),
        ({"is_quantized": True}, False),
        ({"itemsize": AttributeError("none")}, False),
        ({"data_ptr": RuntimeError("it has no storage")}, False),
        ({"data_ptr": 0}, False),
        ({"shape": AttributeError("none")}, False),
        ({"shape": [4]}, False),
        ({"shape": ("four",)}, False),
        ({"stride": AttributeError("none")}, False),
        ({"stride": [1]}, False),
        ({"stride": ("one",)}, False),
        ({"is_conj": True}, False),  # its dtype is not known
    ],
)
def test_without_the_interface_the_attributes_are_asked(answers, is_there):
    assert is_packed(Slow(is_refused=True, **answers)) is is_there
    assert _core.move_dense_bytes(Slow(**answers), (Slow,)) is None


def class_with(capsule):
    return type("Odd", (Slow,), {"__dlpack_c_exchange_api__": capsule})


@pytest.mark.parametrize(
    ("capsule", "is_known"),
    [
        (interface(), True),
        (interface(minor=9), True),
        (interface(major=2), False),
        (interface(major=0), False),
        (interface(from_object=FromObject()), False),
        (interface(ctypes.create_string_buffer(b"another")), False),
        ("no capsule", False),
    ],
)
def test_an_interface_that_is_not_understood_is_none(capsule, is_known):
    by_interface, by_attributes = {"is_cpu": False}, {"is_refused": True}
    kind = class_with(capsule)
    assert is_packed(kind(**by_interface)) is is_known
    assert is_packed(kind(**by_attributes)) is not is_known


def test_a_target_that_has_no_address_raises():
    plan, pieces = _core.MovePlan([Tensor()], (Tensor,), True), _core.MovePieces()
    with pytest.raises(AttributeError, match="data_ptr"):
        plan.add_to(pieces, [Tensor(is_refused=True)])
    slow = _core.MovePlan([Slow()], (Slow,), True)
    with pytest.raises(RuntimeError, match="no storage"):
        slow.add_to(pieces, [Slow(data_ptr=RuntimeError("no storage"))])
    assert len(pieces) == 0


def test_the_address_of_a_target_is_the_interfaces():
    plan, pieces = _core.MovePlan([Tensor()], (Tensor,), True), _core.MovePieces()
    plan.add_to(pieces, [Tensor(data=8192)])  # which has no data_ptr()
    assert len(pieces) == 1
