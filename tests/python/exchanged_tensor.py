"""A tensor that DLPack's C interface describes as a test says; PyTorch need not be there."""

import ctypes

CPU, CUDA, CUDA_HOST, METAL = 1, 2, 3, 8
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6


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


NAME = ctypes.create_string_buffer(b"dlpack_exchange_api")
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
kept = []


def interface(name=NAME, **fields):
    kept.append(Exchange(**{"major": 1, "from_object": describe, **fields}))
    return new_capsule(ctypes.addressof(kept[-1]), ctypes.addressof(name), None)


class Storage:
    def __init__(self, size_bytes):
        self.nbytes = lambda: size_bytes


class Tensor:
    """One that says what the test wants; its memory is never read. An answer that is an exception is raised."""

    __dlpack_c_exchange_api__ = interface()

    def __init__(
        self, sizes=(4,), strides=None, device=CPU, bits=32, lanes=1, code=FLOAT, data=4096, byte_offset=0, **answers
    ):
        strides = [1] * len(sizes) if strides is None else strides
        self.sizes, self.strides = ((ctypes.c_int64 * len(sizes))(*numbers) for numbers in (sizes, strides))
        self.described = DlTensor(
            data, device, 0, len(sizes), code, bits, lanes, ctypes.addressof(self.sizes),
            ctypes.addressof(self.strides), byte_offset,
        )  # fmt: skip
        self.answers = answers
        self.is_refused = answers.get("is_refused", False)

    def answer(self, name, usual):
        value = self.answers.get(name, usual)
        if isinstance(value, Exception):
            raise value
        return value

    requires_grad = property(lambda self: self.answer("requires_grad", False))

    def is_neg(self):
        return self.answer("is_neg", False)

    def is_conj(self):
        return self.answer("is_conj", False)

    def has_names(self):
        return self.answer("has_names", False)

    def storage_offset(self):
        return self.answer("offset", 0)

    def untyped_storage(self):
        return Storage(self.answer("storage_bytes", 1 << 20))


class Slow(Tensor):
    """One without the interface: it is asked for its attributes, and the interface would say something else."""

    __dlpack_c_exchange_api__ = None

    is_cpu = property(lambda self: self.answer("is_cpu", True))
    is_quantized = property(lambda self: self.answer("is_quantized", False))
    itemsize = property(lambda self: self.answer("itemsize", 4))
    shape = property(lambda self: self.answer("shape", (4,)))

    def data_ptr(self):
        return self.answer("data_ptr", 4096)

    def stride(self):
        return self.answer("stride", (1,))
