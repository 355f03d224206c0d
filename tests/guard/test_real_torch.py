"""The slots of the real PyTorch with CUDA, on a machine without a GPU: found, taken, called and given back."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")
if torch.version.cuda is None:
    pytest.skip("PyTorch was built without CUDA", allow_module_level=True)


@pytest.fixture
def run(build, tmp_path):
    def run(program):
        path = tmp_path / "train.py"
        path.write_text("import torch, turnpike as tp\n" + textwrap.dedent(program))
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("TURNPIKE", "CUDA"))}
        done = subprocess.run(
            [sys.executable, str(path)],
            env={**clean, "TURNPIKE_GUARD_LIBRARY": str(build / "src/guard/libturnpike_guard.so")},
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_a_wait_raises_at_its_line_through_pytorchs_own_handlers(run):
    run("""
        def step():
            with tp.guard(sync="disallow"):
                torch._C._cuda_synchronize()  # line 5
        for _ in range(100):
            try:
                step()
            except tp.TransferError as error:
                assert (error.kind, error.line, error.function, error.exact) == ("sync", 5, "step", True), vars(error)
            else:
                raise AssertionError
    """)


def test_slots_are_found_in_each_module_and_given_back(run):
    run("""
        from turnpike._guard.library import call
        count = call("take_slots")
        assert count >= 12, count
        assert call("take_slots") == count
        with tp.guard(sync="disallow"):
            call("restore_slots")
            try:
                torch._C._cuda_synchronize()
            except RuntimeError as error:
                assert "turnpike.guard" not in str(error), error  # there is no driver, or a GPU
        assert call("take_slots") == count
    """)


def test_the_state_that_pytorch_takes_along_holds_the_mark(run):
    run("""
        import threading
        key = f"turnpike.guard.{threading.get_native_id()}"
        def is_marked():
            return torch._C._is_key_in_tls(key)
        def is_marked_in_a_block(*_):
            with tp.guard(d2h="disallow"):
                found.append(is_marked())
        found = []
        y = torch.ones(1, requires_grad=True) * 2
        y.register_hook(is_marked_in_a_block)
        y.backward()  # its hooks have a state of their own
        found.append(is_marked())
        is_marked_in_a_block()
        thread = threading.Thread(target=lambda: found.append(is_marked()))
        thread.start()
        thread.join()
        assert found == [True, False, True, False], found
    """)


def test_a_thread_that_had_a_block_needs_no_gil_to_end(run):
    # Where Python has ended meanwhile, a thread that waits for the GIL in a destructor of PyTorch aborts the process.
    run("""
        import ctypes, sys, threading, time
        def work():
            with tp.guard(d2h="disallow"):
                pass
        libc = ctypes.PyDLL(None)  # keeps the GIL
        sys.setswitchinterval(60)
        for _ in range(50):  # a thread may get the GIL before the main thread does
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            task = f"/proc/self/task/{thread.native_id}".encode()
            until = time.monotonic() + 5
            while libc.access(task, 0) == 0:
                assert time.monotonic() < until, "it waits for the GIL"
    """)


def test_in_a_compiled_function_it_is_nothing_and_breaks_no_graph(run):
    run("""
        @tp.guard(d2h="disallow", skip=1)
        def decorated(x):
            return x * 2
        def blocks(x):
            with tp.guard(d2h="disallow", sync="disallow"):
                y = x * 2
            with tp.allow("d2h", reason="a test"):
                return y + 1
        for function in (blocks, lambda x: decorated(x) + 1):
            compiled = torch.compile(function, backend="eager", fullgraph=True)
            for _ in range(2):
                assert compiled(torch.ones(3)).tolist() == [3, 3, 3]
        def step():
            with tp.guard(sync="disallow"):  # around the call it guards
                compiled(torch.ones(3))
                torch._C._cuda_synchronize()
        try:
            step()
        except tp.TransferError as error:
            assert error.kind == "sync"
        else:
            raise AssertionError
    """)
