"""The move calls without a GPU: what plain PyTorch does, clear errors, and nothing imported before it is needed."""

import ast
import inspect
import pathlib
import subprocess
import sys

import pytest

import turnpike as tp
from turnpike import _core

PACKAGE = pathlib.Path(tp.__file__).parent


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed: what moves its tensors cannot be tried")


@pytest.fixture
def no_gpu(torch):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")


def test_importing_imports_neither_pytorch_nor_numpy():
    done = run("import sys, turnpike; sys.exit(any(name in sys.modules for name in ('torch', 'numpy')))")
    assert done.returncode == 0, done.stderr


def test_without_pytorch_the_calls_say_so():
    program = "import sys; sys.modules['torch'] = None\nimport turnpike as tp\n"
    for call in ("tp.to(1, 'cuda')", "tp.fetch(1)", "list(tp.prefetch([1], 'cuda'))", "tp.calibrate()"):
        done = run(program + call)
        assert "pip install torch" in done.stderr and "ImportError" in done.stderr, done.stderr


def test_stub_names_what_the_move_classes_have():
    stub = ast.parse((PACKAGE / "_core.pyi").read_text())
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Move"):
            named = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            named -= {"__init__", "__len__", "__call__"}
            assert named == {name for name in dir(getattr(_core, node.name)) if not name.startswith("_")}, node.name


def test_every_call_is_documented_and_annotated():
    calls = [tp.to, tp.prefetch, tp.fetch, tp.copy_, tp.pin_, tp.unpin_, tp.pinned, tp.pipeline, tp.calibrate,
             tp.move_stats, tp.configure_move, tp.release_pinned, tp.Scalars.add]  # fmt: skip
    for call in calls:
        assert call.__doc__
        signature = inspect.signature(call)
        assert signature.return_annotation is not inspect.Signature.empty, call
        for parameter in signature.parameters.values():
            assert parameter.name == "self" or parameter.annotation is not inspect.Parameter.empty, call


def test_pieces_refuse_layouts_that_are_none():
    pieces = _core.MovePieces()
    with pytest.raises(ValueError, match="one stride for each size"):
        pieces.add_strided(1, 2, 4, [2, 3], [4])
    with pytest.raises(ValueError, match="negative"):
        pieces.add_strided(1, 2, 4, [-1], [4])
    pieces.add_strided(1, 2, 4, [2, 3], [12, 4])
    pieces.add(1, 2, 4)
    assert len(pieces) == 2


def test_to_the_host_is_what_pytorch_does(torch):
    x = torch.ones(3, requires_grad=True)
    assert tp.to(x, "cpu") is x
    assert tp.to({"x": x}, "cpu")["x"] is x
    half = tp.to({"x": [x]}, "cpu", dtype=torch.float16)["x"][0]
    assert half.dtype == torch.float16 and half.grad_fn is not None
    assert tp.to(torch.ones(2), "meta").device.type == "meta"
    assert tp.to([1, "x", None], "cpu") == [1, "x", None]
    for special in (torch.ones(3).to_sparse(), torch.nested.nested_tensor([x]), torch.ones(0)):
        assert tp.to(special, "cpu").layout == special.layout


def test_to_a_gpu_that_is_not_there_raises_what_pytorch_raises(torch, no_gpu):
    for nest in (torch.ones(1), [torch.ones(1 << 20)]):
        with pytest.raises((RuntimeError, AssertionError)):
            tp.to(nest, "cuda")


def test_to_inside_a_compiled_function_is_the_plain_operation(torch):
    def work(nest):
        return tp.to(nest, "cpu", dtype=torch.float64)["x"] * 2

    compiled = torch.compile(work, backend="eager", fullgraph=True)
    assert compiled({"x": torch.ones(3)}).dtype == torch.float64


def test_to_under_a_transform_and_a_mode_is_that_of_pytorch(torch):
    assert torch.func.grad(lambda x: tp.to(x, "cpu").sum())(torch.ones(3)).tolist() == [1, 1, 1]
    with torch._subclasses.FakeTensorMode():
        assert type(tp.to(torch.ones(3), "cpu")).__name__ == "FakeTensor"


def test_prefetch_is_a_plain_loop(torch):
    class Loader:
        batch_size = 7

        def __len__(self):
            return 3

        def __iter__(self):
            return iter([{"x": torch.full((2,), float(i))} for i in range(3)])

    wrapped = tp.prefetch(Loader(), "cpu", dtype=torch.float16)
    assert len(wrapped) == 3 and wrapped.batch_size == 7
    for _ in range(2):
        assert [batch["x"].tolist() for batch in wrapped] == [[0, 0], [1, 1], [2, 2]]
    assert "depth=2" in repr(wrapped)
    with pytest.raises(AttributeError):
        wrapped.nonsense  # noqa: B018
    with pytest.raises(TypeError):
        len(tp.prefetch(iter([]), "cpu"))
    with pytest.raises(ValueError, match="depth is 0"):
        tp.prefetch([], "cpu", depth=0)


def test_prefetch_can_be_pickled_and_copied(torch):
    import copy
    import pickle

    wrapped = tp.prefetch([torch.ones(2)], "cpu", 3)
    for other in (copy.deepcopy(wrapped), pickle.loads(pickle.dumps(wrapped))):
        assert next(iter(other)).tolist() == [1, 1]


def test_prefetch_raises_at_the_batch_where_it_belongs(torch):
    def source():
        yield torch.ones(1)
        raise KeyError("broken")

    batches = iter(tp.prefetch(source(), "cpu"))
    assert next(batches).item() == 1
    with pytest.raises(KeyError):
        next(batches)


def test_fetch_is_ready_at_once_and_keeps_what_was(torch):
    x = torch.tensor([3.0])
    fetched = tp.fetch(x)
    x.zero_()
    assert fetched.ready() and fetched.item() == 3 and fetched.result().tolist() == [3]
    with pytest.raises(tp.Error, match=r"the tensor \(shape \(2,\), torch.float32\) requires one: fetch tensor.detach"):
        tp.fetch(torch.ones(2, requires_grad=True))
    with torch.no_grad():
        assert tp.fetch(torch.ones(1, requires_grad=True)).item() == 1


def test_copy_is_that_of_pytorch(torch):
    dst = torch.zeros(2, 3, dtype=torch.float64)
    work = tp.copy_(dst, torch.tensor([1, 2, 3]))
    work.wait()
    work.synchronize()
    assert work.done() and dst.tolist() == [[1, 2, 3]] * 2
    with pytest.raises(tp.Error, match="dst, the tensor .* requires one"):
        tp.copy_(torch.zeros(2, requires_grad=True), torch.ones(2))


def test_pinning_has_nothing_to_lock_without_a_gpu(torch, no_gpu):
    x = torch.ones(5)
    with tp.pinned(x) as same:
        assert same is x
    assert tp.unpin_(tp.pin_(x)) is x
    with pytest.raises(ValueError, match=r"host memory; the tensor \(shape \(2,\), torch.float32\) is on meta"):
        tp.pin_(torch.ones(2, device="meta"))
    with pytest.raises(ValueError, match="sparse"):
        tp.pin_(torch.ones(2).to_sparse())


def test_pipeline_is_a_plain_loop(torch):
    inputs = [torch.full((2,), float(i)) for i in range(4)]
    assert [result.tolist() for result in tp.pipeline(lambda x: x * 2, inputs, "cpu")] == [
        [2 * i] * 2 for i in range(4)
    ]
    out = [torch.empty(2, dtype=torch.float16) for _ in inputs]
    results = list(tp.pipeline(lambda x: x + 1, inputs, "cpu", out=out))
    assert all(result is place for result, place in zip(results, out, strict=True))
    assert [place.tolist() for place in out] == [[i + 1] * 2 for i in range(4)]
    with pytest.raises(tp.Error, match="out has 1 places"):
        list(tp.pipeline(lambda x: x, inputs, "cpu", out=out[:1]))
    with pytest.raises(tp.Error, match=r"returned shape \(2,\) for the tensor"):
        list(tp.pipeline(lambda x: x, inputs, "cpu", out=[torch.empty(3)] * 4))
    with pytest.raises(tp.Error, match="what fn returned"):
        list(tp.pipeline(lambda x: x * torch.ones(2, requires_grad=True), inputs, "cpu"))
    with pytest.raises(ValueError, match="depth is 0"):
        tp.pipeline(lambda x: x, inputs, "cpu", depth=0)


def test_settings_are_kept_for_the_engine_to_come():
    program = """
import turnpike as tp
first = tp.move_stats()
tp.configure_move(threads=3)
stats = tp.move_stats()
assert (stats.threads, stats.chunk_bytes) == (3, first.chunk_bytes), stats
assert stats.h2d.gbps is None and stats.pending == 0 and tp.release_pinned() == 0
assert "host to GPU" in repr(stats) and "<pre>" in stats._repr_html_()
"""
    pytest.importorskip("torch", reason="PyTorch is not installed: what moves its tensors cannot be tried")
    done = run(program)
    assert done.returncode == 0, done.stderr


def test_calibrating_needs_a_gpu(no_gpu):
    with pytest.raises(tp.Error, match="PyTorch sees none"):
        tp.calibrate()


FORK = """
import os, torch, turnpike as tp
tp.to([torch.ones(3)], "cpu")
child = os.fork()
torch.set_num_threads(1)
assert tp.to([torch.ones(3)], "cpu")[0].sum() == 3
assert [x.item() for x in tp.prefetch([torch.ones(1)], "cpu")] == [1]
assert tp.fetch(torch.ones(1)).item() == 1
if child:
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_goes_on(torch):
    done = run(FORK)
    assert done.returncode == 0, done.stderr
