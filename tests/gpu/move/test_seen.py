"""A recording of a program shows the copies of the engine at the lines that they are for."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import sys, contextlib, torch, turnpike as tp
run = sys.argv[1] if len(sys.argv) > 1 else None
batches = [{"x": torch.full((4 << 20,), float(i)), "y": torch.arange(64)} for i in range(8)]
with tp.record(run) if run else contextlib.nullcontext():
    total = torch.zeros((), device="cuda")
    for batch in tp.prefetch(batches, "cuda"):
        total += batch["x"].mean() + batch["y"].sum()
        value = tp.fetch(total)
    pair = tp.to([torch.ones(1 << 20), torch.ones(1 << 20)], "cuda")
    print(value.item(), [tensor.sum().item() for tensor in pair])
"""
PRINTED = "16156.0 [1048576.0, 1048576.0]"


def run_in(folder, *command):
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def line_of(text):
    (line,) = [number for number, line in enumerate(PROGRAM.splitlines(), start=1) if text in line]
    return line


@pytest.mark.parametrize("is_from_inside", [False, True], ids=["turnpike record", "tp.record"])
def test_copies_are_at_the_lines_of_the_program(tmp_path, is_from_inside):
    (tmp_path / "train.py").write_text(PROGRAM)
    program = ["train.py", "run.tpk"] if is_from_inside else ["train.py"]
    record = [] if is_from_inside else ["-m", "turnpike", "record", "--quiet", "-o", "run.tpk", "--", sys.executable]
    assert run_in(tmp_path, *record, *program).strip() == PRINTED
    report = json.loads(run_in(tmp_path, "-m", "turnpike", "report", "--json", "run.tpk"))
    found = [(site["site"], site["op"], site["direction"], site["bytes"]) for site in report["sites"]]
    assert not [site for site in found if "_core" in site[0]], found
    assert max(found, key=lambda site: site[3])[:3] == (f"train.py:{line_of('for batch')}", "tp.prefetch", "h2d"), found
    for text, call, direction, size in [
        ("for batch", "tp.prefetch", "h2d", 8 * ((16 << 20) + 512)),
        ("tp.fetch", "tp.fetch", "d2h", 8 * 4),
        ("tp.to", "tp.to", "h2d", 2 * (4 << 20)),
    ]:
        assert (f"train.py:{line_of(text)}", call, direction, size) in found, found
