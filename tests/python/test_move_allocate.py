"""Tensors that the extension makes through PyTorch's C interface: by a library that notes what it is asked for."""

import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent

COMMON = """
import ctypes, sys, types
from turnpike import _core
from exchanged_tensor import BFLOAT, BOOL, COMPLEX, FLOAT, INT, UINT, Slow, Tensor

# torch._C._aoti.alloc_tensors_by_stealing_from_void_ptrs, as numbers in the order of what was made.
address_of = ctypes.pythonapi.PyCapsule_GetPointer
address_of.restype, address_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_void_p]
stolen = []

def steal(capsules):
    stolen.append([address_of(one, None) for one in capsules])
    return ["made"] * len(capsules)

def refuse(capsules):
    raise RuntimeError("another version")

aoti = types.SimpleNamespace(alloc_tensors_by_stealing_from_void_ptrs=steal)
sys.modules["torch"] = types.ModuleType("torch")
sys.modules["torch"]._C = types.SimpleNamespace(_aoti=aoti)

TYPES = (Tensor,)

def likes(tensors, device=-1, typed=None, types=TYPES):
    if typed is None:
        return _core.MovePlan([types[0]()] * len(tensors), types, False).empty_likes(tensors, device)
    return _core.move_empty_likes(tensors=tensors, types=types, device=device, typed=typed)
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Folders with the library, and with one that lacks a function."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: the library that stands in for PyTorch's cannot be built")
    folder = tmp_path_factory.mktemp("maker")
    for name, more in (("whole.so", []), ("lacking.so", ["-DLACKING"])):
        command = [compiler, "-shared", "-fPIC", "-Wl,-soname,libtorch_cpu.so", *more, "-o", folder / name]
        subprocess.run([*command, HERE / "tensor_maker.c"], check=True)
    return folder


@pytest.fixture
def run(libraries):
    def run(program, library="whole.so"):
        start = f"import sys\nsys.path.insert(0, {str(HERE)!r})\n" + COMMON
        if library is not None:
            start += f"""
library = ctypes.CDLL({str(libraries / library)!r})
def number(name):
    return ctypes.c_int.in_dll(library, name)
def asked():
    return ctypes.c_char.in_dll(library, "asked") and ctypes.string_at(
        ctypes.addressof(ctypes.c_char.in_dll(library, "asked"))).decode().splitlines()
"""
        done = subprocess.run([sys.executable, "-c", start + program], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr

    return run


def test_a_tensor_is_made_of_the_dtype_the_form_and_the_device(run):
    run("""
kinds = [(FLOAT, 32), (FLOAT, 64), (FLOAT, 16), (BFLOAT, 16), (INT, 64), (INT, 32), (INT, 16), (INT, 8), (UINT, 8),
         (BOOL, 8), (COMPLEX, 64), (COMPLEX, 128)]
tensors = [Tensor([2, 3 + at], [1, 2], code=code, bits=bits) for at, (code, bits) in enumerate(kinds)]
assert likes(tensors) == ["made"] * 12
assert asked() == [f"{at} on 70:-1 2/1 {3 + at}/2" for at in range(12)], asked()
assert stolen == [sorted(stolen[0])] and len(set(stolen[0])) == 12
assert (number("made").value, number("destroyed").value) == (12, 0)

assert likes([Tensor([], code=INT)], device=0) == likes([Tensor([5], code=INT)], device=3) == ["made"]
assert asked()[12:] == ["5 on 71:0", "5 on 71:3 5/1"], asked()
assert likes([Tensor(), Tensor(code=INT)], typed=Tensor([0], code=FLOAT, bits=16)) == ["made", "made"]
assert asked()[14:] == ["2 on 70:-1 4/1"] * 2, asked()
assert likes([]) == []

plan = _core.MovePlan([Tensor([0]), Tensor([7]), Tensor(), Tensor([0]), Tensor([6], code=INT)], TYPES, False)
assert plan.empty_likes(tensors=[Tensor([at + 1]) for at in range(5)], device=2) == ["made"] * 3
assert asked()[16:] == ["0 on 71:2 2/1", "0 on 71:2 3/1", "0 on 71:2 5/1"], asked()
""")


def test_what_is_not_known_is_left_to_pytorch(run):
    run("""
for odd in (Tensor(lanes=2), Tensor(bits=8), Tensor(code=UINT, bits=32), Tensor(code=9), Tensor(is_refused=True)):
    assert likes([Tensor(), odd]) is None
    assert likes([Tensor()], typed=odd) is None
assert number("made").value == 0
assert likes([Slow()], types=(Slow,)) is likes([Slow()], typed=Slow(), types=(Slow,)) is None
assert likes([Tensor()]) == ["made"]
""")


def test_what_was_made_in_vain_is_destroyed(run):
    run("""
number("fails_at").value = 3
assert likes([Tensor()] * 4) is None and stolen == []
assert (number("made").value, number("destroyed").value) == (3, 2)
aoti.alloc_tensors_by_stealing_from_void_ptrs = refuse
assert likes([Tensor()] * 4) is None
assert (number("made").value, number("destroyed").value) == (7, 6)
del aoti.alloc_tensors_by_stealing_from_void_ptrs
assert likes([Tensor()]) is None
assert (number("made").value, number("destroyed").value) == (8, 7)
""")


def test_a_pytorch_without_all_of_the_interface_is_asked_nothing(run):
    run("assert likes([Tensor()]) is None and number('made').value == 0", library="lacking.so")
    run("assert likes([Tensor()]) is None", library=None)
