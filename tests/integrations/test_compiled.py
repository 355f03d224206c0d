"""Code that torch.compile made: what it transfers leads to the function of the program that was compiled."""

import pytest

# A library with an operator that copies. In compiled code it stays a call, and so does its backward pass.
LIBRARY = """
import ctypes, os
import torch

cudart = ctypes.CDLL(os.environ["FAKES"] + "/libcudart.so.13")
device, host = ctypes.c_void_p(), (ctypes.c_char * 65536)()
assert cudart.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(65536)) == 0

@torch.library.custom_op("test::copies", mutates_args=())
def copies(x: torch.Tensor, size: int) -> torch.Tensor:
    assert cudart.cudaMemcpy(device, host, ctypes.c_size_t(size), 1) == 0
    return x.clone()

@copies.register_fake
def _(x, size):
    return torch.empty_like(x)

def backward(ctx, gradient):
    return torch.ops.test.copies(gradient, 303), None

copies.register_autograd(backward, setup_context=lambda ctx, inputs, output: None)
"""

MODEL = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):  # line forward
        y = self.linear(x)
        y = y.relu()
        y = inner(y)
        z = torch.ops.test.copies(y, 201)
        return z.sin().sum()


def inner(y):
    return torch.ops.test.copies(y, 202) + 1
"""

PROGRAM = """
import turnpike as tp

sys.path.append("site-packages")
import copying_operator
import model
made = model.Model()
compiled = torch.compile(made, backend=BACKEND)
x = torch.ones(3, 4)

def train():
    for _ in range(STEPS):
        compiled(x).backward()

def places(report):
    import pyarrow
    return sorted(
        [t["bytes"], t["site"]] for t in pyarrow.table(report.table("transfers")).select(["bytes", "site"]).to_pylist()
    )
"""


def lines(text):
    return {
        line.rsplit("# line ")[1]: f"model.py:{number}"
        for number, line in enumerate(text.splitlines(), 1)
        if "# line " in line
    }


@pytest.fixture
def compiled(program, tmp_path):
    """Runs MODEL compiled by a backend, and returns where its transfers are said to come from, by their size."""

    def run(backend, text, steps=2, **variables):
        (tmp_path / "model.py").write_text(MODEL)
        (tmp_path / "site-packages").mkdir(exist_ok=True)
        (tmp_path / "site-packages" / "copying_operator.py").write_text(LIBRARY)
        variables.setdefault("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "kernels"))
        head = PROGRAM.replace("BACKEND", repr(backend)).replace("STEPS", str(steps))
        return program(head + text, PYTHONDONTWRITEBYTECODE="1", **variables)[1]

    return run


RECORDED = """
with tp.record("run.tpk"):
    train()
print(json.dumps(places(tp.report("run.tpk"))))
"""


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_code_leads_to_the_function_that_was_compiled(compiled, backend):
    found = compiled(backend, RECORDED)
    function = lines(MODEL)["forward"]
    assert {site for size, site in found if size in (201, 202)} == {function}
    # The backward pass is called by PyTorch: the line that called backward().
    assert {site.split(":")[0] for size, site in found if size == 303} == {"program.py"}
    assert len(found) == 2 * 4


def test_what_the_program_does_stays_the_same(compiled):
    """Python's own state: no module is imported, no graph kept alive, no local variable of a frame materialised."""
    same = """
import gc, hashlib, weakref
torch.manual_seed(0)
made = model.Model()
compiled = torch.compile(made, backend="aot_eager")
with tp.record("run.tpk") if RECORDS else __import__("contextlib").nullcontext():
    compiled(x).backward()
    before = set(sys.modules)
    compiled(x).backward()
modules = len(set(sys.modules) - before - {m for m in sys.modules if m.startswith("turnpike")})
kept = [weakref.ref(o) for o in gc.get_objects() if type(o).__name__ == "GraphModule"]
assert kept
del compiled, made
torch._dynamo.reset()
gc.collect()
print(json.dumps([modules, float(torch.rand(1)), sum(ref() is not None for ref in kept)]))
"""
    assert compiled("eager", same.replace("RECORDS", "True")) == compiled("eager", same.replace("RECORDS", "False"))


def test_python_is_asked_nothing(compiled):
    """Lines of graphs could be had by a walk over the heap, in the program's time and amid its lines."""
    watched = """
import gc, time
asked = []
gc.get_referrers = gc.get_objects = lambda *_: asked.append(True)
with tp.record("run.tpk"):
    compiled(x)
    time.sleep(0.5)
print(json.dumps(asked))
"""
    assert compiled("eager", watched) == []
