"""Limits with a guard: the test fails at the line, before the transfer happens. With a PyTorch that needs no GPU."""

import os
import pathlib

import pytest

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]

HERE = pathlib.Path(__file__).parent
HEAD = "import faketorch as torch\ntorch.item()  # makes its memory\n"


@pytest.fixture
def guarded(run, fakes, monkeypatch):
    """pytest with the PyTorch of tests/guard, which calls the fake runtime."""
    build = fakes.parents[2]
    libraries = build / "tests/guard"
    monkeypatch.setenv("LD_PRELOAD", str(libraries / "libdevice_of_guard.so"))
    monkeypatch.setenv("TURNPIKE_GUARD_LIBRARY", str(build / "src/guard/libturnpike_guard.so"))
    monkeypatch.setenv("FAKE_TORCH", str(libraries / "libtorch_python.so"))
    monkeypatch.setenv("FAKE_CUDART", str(libraries / "libcudart_of_guard.so"))
    programs = str(HERE.parent / "guard" / "programs")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([programs, os.environ["PYTHONPATH"]]))

    def guarded(text, *arguments):
        run.write(HEAD + text)
        return run(*arguments)

    return guarded


def test_it_raises_at_the_line_and_the_transfer_does_not_happen(guarded):
    result = guarded("""
def step():
    torch.item()  # the line
    print("after the transfer")

@pytest.mark.limit_transfers(d2h=0, guard=True)
def test_step(): step()
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*torch.item()  # the line",
            "E*turnpike.TransferError: d2h of 4 B by aten::item at test_it.py:* in step(): GPU -> pageable memory*",
        ]
    )
    assert "after the transfer" not in result.stdout.str()


def test_without_the_guard_the_test_comes_to_its_end(guarded):
    result = guarded("""
@pytest.mark.limit_transfers(d2h=0)
def test_step():
    torch.item()
    print("after the transfer")
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["d2h_count: 1, and 0 allowed"])


@pytest.mark.parametrize(
    ("limits", "fails"),
    [
        ("syncs=0", True),
        ("syncs=1", False),
        ("pageable=0", True),
        ("d2h=1", False),
        ("d2h='4 B'", False),
        ("d2h='3 B'", True),
        ("d2h_bytes=3", True),
        ("h2d=0, d2d=0, p2p=0, h2h=0, blocked='1 s'", False),
        ("d2h=0, allow=['test_it.py:*']", False),
        ("d2h=0, allow='elsewhere.py:*'", True),
        ("allocs=0", False),
    ],
)
def test_each_limit_is_one_of_the_guard(guarded, limits, fails):
    result = guarded(f"""
@pytest.mark.limit_transfers({limits}, guard=True)
def test_step():
    torch.item()  # the line
    print("came to its end")
    assert False
""")
    result.assert_outcomes(failed=1)
    assert ("came to its end" not in result.stdout.str()) == fails
    assert ("TransferError" in result.stdout.str()) == fails


def test_a_number_of_allocations_needs_the_guard(guarded):
    result = guarded("""
@pytest.mark.limit_transfers(allocs=0, guard=True)
def test_allocates(): torch.allocate()
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*TransferError: alloc of 4.1* kB by cudaMalloc at test_it.py:*"])
    result = guarded("""
@pytest.mark.limit_transfers(allocs=0)
def test_allocates(): pass
""")
    result.stdout.fnmatch_lines(["*only a guard counts allocations: write allocs=..., guard=True"])
    result = guarded("""
@pytest.mark.limit_transfers(allocs="2", guard=True)
def test_allocates(): pass
""")
    result.stdout.fnmatch_lines(["*allocs='2' is no number of allocations"])


def test_of_a_number_and_a_size_the_number_is_guarded_and_the_size_compared_at_the_end(guarded):
    result = guarded("""
@pytest.mark.limit_transfers(d2h=2, d2h_bytes=6, guard=True)
def test_two():
    torch.item()
    torch.item()
    print("came to its end")
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["d2h_bytes: 8 B, and 6 B allowed"])


def test_the_calls_of_the_warm_up_are_not_guarded(guarded):
    guarded("""
calls = []
@pytest.mark.limit_transfers(d2h=0, warmup=2, guard=True)
def test_step():
    calls.append(1)
    if len(calls) < 3: torch.item()
""").assert_outcomes(passed=1)


def test_the_next_test_is_not_guarded(guarded):
    guarded("""
@pytest.mark.limit_transfers(d2h=0, guard=True)
def test_first(): torch.item()

def test_second(): torch.item()

@pytest.mark.limit_transfers(d2h=1)
def test_third(): torch.item()
""").assert_outcomes(failed=1, passed=2)


def test_an_error_of_the_test_stays_what_it_is(guarded):
    result = guarded("""
@pytest.mark.limit_transfers(d2h=0, guard=True)
def test_step(): raise KeyError("its own")
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*KeyError: 'its own'"])


def test_what_a_library_outside_pytorch_does_fails_at_the_end_of_the_test(guarded):
    result = guarded("""
@pytest.mark.limit_transfers(d2h=0, guard=True)
def test_step():
    download()
    print("came to its end")
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*a library outside PyTorch made it*", "*came to its end*"])


def test_approved_numbers_are_guarded_and_not_while_they_are_written(guarded, pytester):
    text = """
import os
@pytest.mark.limit_transfers(guard=True)
def test_step():
    for _ in range(int(os.environ["TIMES"])): torch.item()
    print("came to its end")
"""
    os.environ["TIMES"] = "2"
    try:
        guarded(text, "--turnpike-update").assert_outcomes(passed=1)
        guarded(text).assert_outcomes(passed=1)
        os.environ["TIMES"] = "3"
        result = guarded(text)
        result.assert_outcomes(failed=1)
        assert "TransferError" in result.stdout.str() and "came to its end" not in result.stdout.str()
        guarded(text, "--turnpike-update").assert_outcomes(passed=1)
    finally:
        del os.environ["TIMES"]


def test_without_pytorch_nothing_is_guarded_and_a_required_gpu_fails(run):
    run.write("""
        @pytest.mark.limit_transfers(h2d=0, guard=True)
        def test_step():
            upload()
            print("came to its end")
    """)
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["h2d_count: 1, and 0 allowed", "*came to its end*"])
    result = run("--turnpike-require-gpu")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["transfers not guarded: no PyTorch with CUDA is loaded*"])
    assert "came to its end" not in result.stdout.str()


def test_without_a_gpu_the_test_runs_and_is_not_checked(plain):
    plain.write("""
        @pytest.mark.limit_transfers(h2d=0, guard=True)
        def test_step(): pass
    """)
    result = plain("-Werror")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["limits of 0 tests checked, of 1 not checked"])


def test_a_wrong_value_is_an_error_of_its_test(plain):
    plain.write("""
        @pytest.mark.limit_transfers(h2d=0, guard="log")
        def test_step(): pass
    """)
    plain().stdout.fnmatch_lines(["*guard='log' is neither true nor false"])
