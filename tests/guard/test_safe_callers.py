"""An error is thrown only into callers that are known to let it pass; everywhere else it is raised later.

Throwing it at once would end or damage each of these programs.
"""

import shutil

import pytest

# caught(): whether it raised where it happened (True), later (False), or not at all (None).
CAUGHT = """
def caught(function, *arguments, **rules):
    try:
        with tp.guard(**rules):
            function(*arguments)
            print("went on", flush=True)
    except tp.TransferError as error:
        return error.exact
"""


def of(variable):
    """Functions of another library, called inside of PyTorch."""
    return f"""
library = torch.library("{variable}")
def inside(name):
    return torch.address(getattr(library, name))
"""


@pytest.fixture
def program(run):
    def program(variable, text):
        return run("\n" + CAUGHT + of(variable) + text)

    return program


def test_the_caching_allocator_keeps_its_events(program):
    program(
        "FAKE_ALLOCATOR",
        """
for _ in range(2):
    torch.call(inside("use_block"))
assert caught(torch.call, inside("synchronize_and_free_events"), sync="disallow") is False
torch.call(inside("process_events"))  # of an event that is none, it dies
assert caught(torch.call_in_operator, inside("wait_for_a_stream"), sync="disallow") is False
assert caught(torch.call_in_operator, inside("synchronize_for_somebody"), sync="disallow") is False
""",
    )


def test_allocations_are_raised_later(program):
    program(
        "FAKE_ALLOCATOR",
        """
assert caught(torch.call, inside("grow"), alloc="disallow") is False
assert caught(torch.call_in_operator, inside("grow"), alloc="disallow") is False
assert caught(torch.allocate, alloc="disallow") is False
""",
    )


def test_what_others_call_in_the_allocators_library_raises_at_once(program):
    program(
        "FAKE_ALLOCATOR",
        """
synchronize = inside("_ZN3c104cuda18device_synchronizeEv")
assert caught(torch.call, synchronize, sync="disallow") is True
assert caught(torch.call_in_operator, synchronize, sync="disallow") is True
assert caught(torch.call_in_operator, inside("copy_between_gpus"), p2p="disallow") is True
""",
    )


@pytest.fixture(params=["FAKE_EXTENSION", "CLANG_EXTENSION"])
def extension(request, environment):
    if request.param == "CLANG_EXTENSION" and not (shutil.which("clang++-14") or shutil.which("clang++")):
        pytest.skip("there is no clang++")
    return request.param


@pytest.mark.parametrize(
    "function", ["wait_raw", "wait_noexcept", "wait_noexcept_with_a_handler", "wait_in_a_destructor"]
)
def test_an_extension_is_not_left(program, extension, function):
    done = program(extension, f'assert caught(torch.call, inside("{function}"), sync="disallow") is False\n')
    assert done.stdout == "went on\n"


def test_an_operator_below_an_extension_is_not_left(program, extension):
    done = program(
        extension,
        """
operate = torch.address(torch.LIBRARY.operate)
assert caught(torch.call, inside("operate_noexcept"), operate, d2h="disallow") is False
""",
    )
    assert done.stdout == "went on\n"


def test_pythons_frames_are_not_left(program):
    """Of an extension without a handler, below Python that C++ called: the next handler is on the other side."""
    program(
        "FAKE_EXTENSION",
        """
def hook():
    library.wait_raw(None)
    return "came back"
def call():
    assert torch.call_python(hook) == "came back"
for _ in range(3):
    assert caught(call, sync="disallow") is False
""",
    )


def test_other_operators_and_ddp_raise_later(run):
    run(
        CAUGHT
        + """
assert caught(torch.decompose, d2h="disallow") is False
assert caught(torch.reduce, d2h="disallow") is False
assert caught(torch.item, d2h="disallow") is True
"""
    )


def test_a_wait_of_an_operator_is_over_when_it_raises(run):
    """Its copy is under way, into memory that the exception releases."""
    run(
        CAUGHT
        + """
assert caught(torch.item, sync="disallow") is True
assert torch.calls() == 2
assert caught(torch.synchronize, sync="disallow") is True
assert torch.calls() == 2
"""
    )


def test_what_is_raised_later_has_its_own_line(run):
    run("""
        try:
            with tp.guard(alloc="disallow", d2h="allow"):
                torch.allocate()  # line 5
                torch.upload(8, 1)
                raise AssertionError
        except tp.TransferError as error:
            assert (error.line, error.exact) == (5, False), vars(error)
    """)
