"""When the guard asks whether a copy's memory is pageable: before the call only where the answer may stop it.

It asks the driver, and the runtime only in a process without one.
"""

import pytest

QUESTIONS = """
def asked(function):
    torch.CUDART.fake_forget_questions()
    function()
    return torch.CUDART.fake_questions_before(), torch.CUDART.fake_questions_behind()
pageable, pinned = lambda: torch.upload(100, 0), lambda: torch.upload(100, 1)
"""


def test_a_rule_that_only_logs_is_asked_about_behind_the_call(run):
    run(
        QUESTIONS
        + """
with tp.guard(pageable="log"):
    for _ in range(3):
        assert asked(pageable) == (0, 1)
        assert asked(pinned) == (0, 1)
with tp.guard(pageable="disallow"):
    assert asked(pinned) == (1, 0)
with tp.guard(h2d="log"):
    found = [asked(pageable) for _ in range(3)]
    assert found[1:] == [(0, 0)] * 2, found  # the first time, for the line's text
"""
    )


def test_what_is_pinned_is_not_counted_and_each_line_keeps_its_order(run):
    done = run(
        """
        def train(is_pinned):
            torch.upload(1000, is_pinned)
        with tp.guard(h2d="log", pageable="log"):
            for number in range(12):
                train(number % 3 == 0)
        """
    )
    first, second = done.stderr.splitlines()[:2]
    assert first.startswith("h2d of 1.00 kB by aten::to at train.py:4 in train(): pinned memory -> GPU"), done.stderr
    assert "(12 times, 12000 bytes in all)" in first
    assert "at train.py:4 in train(): pageable memory -> GPU. Use pinned memory" in second
    assert "(8 times, 8000 bytes in all)" in second


def test_a_limit_stops_the_call_that_reaches_it_however_far_it_was(run):
    run("""
        def passed(most):
            count = 0
            try:
                with tp.guard(pageable=most):
                    while True:
                        torch.upload(10, 1)
                        torch.upload(10, 0)
                        count += 1
            except tp.TransferError as error:
                assert error.kind == "pageable"
            return count
        for most in (0, 1, 3, 65536, 65537, 65540):
            before = torch.calls()
            assert passed(most) == most
            assert torch.calls() - before == 2 * most + 1, most
        assert passed("95 B") == 9
        with tp.guard(pageable=2):
            torch.upload(10, 0)
            with tp.allow("pageable", reason="here"):
                torch.upload(10, 0)
            torch.upload(10, 0)
    """)


def test_a_copy_that_fails_is_not_noted(run):
    done = run("""
        with tp.guard(pageable="log"):
            torch.CUDART.fake_fail(1)
            torch.upload(1000, 0)
            torch.CUDART.fake_fail(0)
    """)
    assert "turnpike" not in done.stderr and "pageable" not in done.stderr, done.stderr


@pytest.mark.parametrize("has_driver", [True, False])
def test_the_driver_is_asked_and_not_its_runtime(run, has_driver):
    run(
        QUESTIONS
        + f"""
for rule in ("log", "disallow", 10**9):
    with tp.guard(pageable=rule):
        assert sum(asked(pinned)) == 1
        assert torch.CUDART.fake_runtime_questions() == {int(not has_driver)}
with tp.guard(d2d="disallow"):
    torch.CUDART.fake_forget_questions()
    torch.copy_between(1)  # to another GPU
    assert torch.CUDART.fake_questions_before() == 2
    try:
        torch.copy_between(0)
    except RuntimeError as error:
        assert "d2d of 64 B" in str(error)
    else:
        raise AssertionError
""",
        **({} if has_driver else {"FAKE_DRIVER": ""}),
    )
