"""The pytest plugin with PyTorch on a GPU: the counts of a known step, and the line of each."""

import textwrap

import pytest

pytest_plugins = ["pytester"]

TESTS = """
    import pytest
    import torch

    @pytest.fixture(scope="module")
    def model():
        return torch.nn.Linear(8, 8).cuda()

    def step(model, batch):
        loss = model(batch.cuda()).sum()  # up
        loss.backward()
        return loss

    @pytest.mark.limit_transfers(h2d=1, h2d_bytes=256, d2h=0, syncs=1, warmup=1)
    def test_kept(model):
        step(model, torch.zeros(8, 8))

    @pytest.mark.limit_transfers(d2h=0)
    def test_reads_back(model):
        step(model, torch.zeros(8, 8)).item()  # down

    def test_block(model, transfers):
        for _ in range(3):
            with transfers() as t:
                step(model, torch.zeros(8, 8)).item()
        assert (t.h2d.count, t.h2d.bytes, t.d2h.count, t.d2h.bytes) == (1, 256, 1, 4)
"""


@pytest.fixture(autouse=True)
def gpu():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")


def test_limits_hold_on_a_gpu_and_name_the_line(pytester):
    text = textwrap.dedent(TESTS)
    pytester.makepyfile(test_step=text)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# down"))
    result = pytester.runpytest_subprocess("-p", "pytest_turnpike", "--turnpike-require-gpu")
    result.assert_outcomes(passed=2, failed=1)
    # makepyfile() leaves the empty first line out.
    result.stdout.fnmatch_lines(
        ["d2h_count: 1, and 0 allowed", f"    1 at test_step.py:{line - 1}: aten::item (device -> *, 4 B)"]
    )
    result.stdout.fnmatch_lines(["limits of 3 tests checked, of 0 not checked"])
