"""Code that torch.compile made: what it transfers leads to the lines of the program that it was compiled from."""

import json
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "src/record/stacks/compiled_lines.inc"

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

    def forward(self, x):
        y = self.linear(x)
        y = y.relu()
        y = inner(y)
        z = torch.ops.test.copies(y, 201)  # line 201
        return z.sin().sum()


def inner(y):
    return torch.ops.test.copies(y, 202) + 1  # line 202
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


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_graphs_lead_to_the_lines_that_they_were_traced_at(compiled, backend):
    found = compiled(backend, RECORDED)
    of = lines(MODEL)
    assert {site for size, site in found if size == 201} == {of["201"] + " (compiled)"}
    assert {site for size, site in found if size == 202} == {of["202"] + " (compiled)"}
    # Without AOTAutograd the backward pass is not compiled: the operator's own line.
    backward = {site for size, site in found if size == 303}
    if backend == "aot_eager":
        assert backward == {of["201"] + " (compiled)", of["202"] + " (compiled)"}
    else:
        assert all(site.startswith("program.py:") for site in backward)
    assert len(found) == 2 * 4


def test_inductors_files_lead_to_the_lines_of_the_nodes_that_they_name(compiled):
    found = compiled("inductor", RECORDED)
    of = lines(MODEL)
    assert {site for size, site in found if size == 201} == {of["201"] + " (compiled)"}
    assert {site for size, site in found if size == 202} == {of["202"] + " (compiled)"}
    # Its code of the backward pass names nodes of another graph: the line that called backward().
    assert {site.split(":")[0] for size, site in found if size == 303} == {"program.py"}


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


def test_an_exception_of_a_signal_handler_reaches_the_program(compiled):
    """The lines are looked up in the program's thread, and its signals may arrive meanwhile."""
    interrupted = """
import gc, signal, time

class Late(Exception): pass
def late(number, frame):
    raise Late
signal.signal(signal.SIGALRM, late)
compiled(x).backward()
real = gc.get_referrers
heard = []
def slow(*objects):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    for _ in range(200): time.sleep(0.005)
gc.get_referrers = slow
try:
    with tp.record("run.tpk"):
        try:
            compiled(x)
            time.sleep(1)
        except Late:
            heard.append("Late")
finally:
    gc.get_referrers = real
print(json.dumps(heard))
"""
    assert compiled("eager", interrupted) == ["Late"]


# What Inductor wrote for `copying` below on an H100 (PyTorch 2.11), without what sets it up.
COPIES_OF_INDUCTOR = """# AOT ID: ['0_inference']
    def call(self, args):
        arg0_1, = args
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            buf0 = empty_strided_cuda((1000, ), (1, ), torch.float32)
            buf0.copy_(arg0_1, False)
            del arg0_1
            buf1 = buf0; del buf0  # reuse
            # Topologically Sorted Source Nodes: [mul, scaled, cpu], Original ATen: [aten.mul, aten.add, aten._to_copy]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_add_mul_0.run(buf1, 1000, stream=stream0)
        buf2 = empty_strided_cpu((1000, ), (1, ), torch.float32)
        buf2.copy_(buf1, False)
        return (buf2, )
"""
COPYING = """
import json, sys
import torch

def copying(x):
    up = x.to("cuda")  # line up
    scaled = up * 2 + 1
    return scaled.cpu()  # line down

def copies_two(x):
    up = x.to("cuda")
    other = (x + 1).to("cuda")
    scaled = up * 2 + other
    return scaled.cpu()  # line down

script = open(sys.argv[1]).read()
names = {}
exec(compile(script[script.index("import gc"):script.rindex(")PYTHON")], "<turnpike>", "exec"), names)
kept = []

def traced(graph, inputs):
    kept.append(graph)
    return lambda *inputs: [torch.ones(1)]

torch.compile(globals()[sys.argv[2]], backend=traced, fullgraph=True)(torch.ones(1000))
names["find_graphs"](sys.modules["torch.fx.graph_module"])
found = names["lines_of_inductor"](sys.stdin.read())
print(json.dumps({number: [int(line) for _, _, line in stack] for number, stack in found}))
"""


@pytest.mark.parametrize("function", ["copying", "copies_two"])
def test_inductors_copies_between_devices_lead_to_the_lines_of_the_nodes_that_copy(tmp_path, function):
    """Without the recorder: a graph that copies to a GPU is traced here, but Inductor does not compile it."""
    program = tmp_path / "program.py"
    program.write_text(COPYING)
    done = subprocess.run(
        [sys.executable, program, SCRIPT, function],
        input=COPIES_OF_INDUCTOR, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    up, down = (
        next(number for number, line in enumerate(COPYING.splitlines(), 1) if line.endswith(f"# line {name}"))
        for name in ("up", "down")
    )
    down += 6 if function == "copies_two" else 0
    # The kernel, and the copies. Which of two copies to the GPU is in the file, nobody knows.
    assert found == {"12": [down], "14": [down], **({"7": [up]} if function == "copying" else {})}
