"""What the extension makes of a tensor that DLPack's C interface describes: by an interface of the test's own.

So a tensor can be on a GPU, and PyTorch need not be there.
"""

import ctypes

import pytest

from turnpike import _core

CPU, CUDA, CUDA_HOST, METAL = 1, 2, 3, 8
FLOAT, COMPLEX = 2, 5


class DlTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


FromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DlTensor))


@FromObject
def describe(tensor, out):
    if tensor.is_refused:
        return -1
    out[0] = tensor.described
    return 0


class Exchange(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("before", ctypes.c_void_p * 4),
        ("from_object", FromObject),
        ("current_stream", ctypes.c_void_p),
    ]


EXCHANGE = Exchange(major=1, from_object=describe)
NAME = ctypes.create_string_buffer(b"dlpack_exchange_api")
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3


class Storage:
    def __init__(self, size_bytes):
        self.nbytes = lambda: size_bytes


class Tensor:
    """One that says what the test wants; its memory is never read."""

    __dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(EXCHANGE), ctypes.addressof(NAME), None)

    requires_grad = False

    def __init__(self, sizes=(4,), strides=None, device=CPU, bits=32, lanes=1, code=FLOAT, data=4096, **answers):
        strides = strides or [1] * len(sizes)
        self.sizes, self.strides = ((ctypes.c_int64 * len(sizes))(*numbers) for numbers in (sizes, strides))
        self.described = DlTensor(
            data, device, 0, len(sizes), code, bits, lanes, ctypes.addressof(self.sizes),
            ctypes.addressof(self.strides), 0,
        )  # fmt: skip
        self.is_refused = answers.get("is_refused", False)
        self.is_neg = lambda: answers.get("is_neg", False)
        self.is_conj = lambda: answers.get("is_conj", False)
        self.has_names = lambda: False
        self.storage_offset = lambda: answers.get("offset", 0)
        self.untyped_storage = lambda: Storage(answers.get("storage_bytes", 1 << 20))


def is_packed(tensor):
    plan = _core.MovePlan([tensor], (Tensor,), True)
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


def test_another_type_is_left_to_pytorch():
    class Sub(Tensor):
        pass

    assert not is_packed(Sub())
    assert dense_bytes(Sub()) is None


def test_the_address_of_a_target_is_the_interfaces():
    plan, pieces = _core.MovePlan([Tensor()], (Tensor,), True), _core.MovePieces()
    plan.add_to(pieces, [Tensor(data=8192)])  # which has no data_ptr()
    assert len(pieces) == 1
