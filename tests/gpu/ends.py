"""What the GPU had completed 20 ms before a process ends is recorded, however it ends. Run on a machine with a GPU:

    python -m pytest tests/gpu/ends.py

Each program uploads and downloads, waits 20 ms and ends by one of the ways that skip exit handlers.
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

TURNPIKE = shutil.which(os.environ.get("TURNPIKE", "turnpike"))
TIMEOUT_S = 120
ROUNDS = 5

COPIES = f"""
    import os, signal, sys, time
    import torch

    def copies():
        x = torch.ones(100_000)
        for _ in range({ROUNDS}):
            y = x.to("cuda")
            z = y.cpu()
        torch.cuda.synchronize()
        time.sleep(0.02)
"""

WAYS = {
    "fork": """
        import multiprocessing
        process = multiprocessing.get_context("fork").Process(target=copies)
        process.start()
        process.join()
    """,
    "forkserver": """
        import multiprocessing
        if __name__ == "__main__":
            process = multiprocessing.get_context("forkserver").Process(target=copies)
            process.start()
            process.join()
    """,
    "os._exit": """
        copies()
        os._exit(0)
    """,
    "SIGTERM": """
        copies()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    """,
    "exec": """
        copies()
        os.execv(sys.executable, [sys.executable, "-c", "pass"])
    """,
    # The image after the exec is recorded as well, and both have all that they copied.
    "exec, and the image after it": """
        copies()
        if "again" in sys.argv:
            os._exit(0)
        os.execv(sys.executable, [sys.executable, __file__, "again"])
    """,
}


@pytest.mark.parametrize("way", WAYS)
def test_all_that_was_done_20_ms_before_the_end_is_recorded(tmp_path, way):
    assert TURNPIKE, "no command turnpike on PATH: install Turnpike or set TURNPIKE"
    program, trace = tmp_path / "program.py", tmp_path / "run.tpk"
    program.write_text(textwrap.dedent(COPIES) + textwrap.dedent(WAYS[way]))
    command = [TURNPIKE, "record", "--quiet", "--no-link", "-o", trace, "--", sys.executable, program]
    subprocess.run(command, timeout=TIMEOUT_S, check=False)
    done = subprocess.run([TURNPIKE, "report", "--json", trace], capture_output=True, text=True, timeout=TIMEOUT_S)
    report = json.loads(done.stdout)
    images = 2 if way.endswith("after it") else 1
    counts = {direction: report["totals"][direction]["count"] for direction in ("h2d", "d2h")}
    print(way, counts, report["losses"])
    assert counts == {"h2d": images * ROUNDS, "d2h": images * ROUNDS}, report["losses"]
