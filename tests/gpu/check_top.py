#!/usr/bin/env python3
"""What `turnpike top` shows of a program whose copies are known: counts exactly, rates within a tolerance.

tests/gpu/check_top.py     with `turnpike` in the PATH and PyTorch; about 15 seconds

Exits 1 when a check failed.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any

PAGEABLE_BYTES, PINNED_BYTES, DOWN_BYTES = 4 << 20, 8 << 20, 2 << 20
# Prints, each second, how many rounds it has done: one upload from pageable memory, one from pinned, one download.
PROGRAM = f"""
import time, torch
pageable = torch.ones({PAGEABLE_BYTES}, dtype=torch.uint8)
pinned = torch.empty({PINNED_BYTES}, dtype=torch.uint8, pin_memory=True)
back = torch.empty({DOWN_BYTES}, dtype=torch.uint8, pin_memory=True)
a = torch.empty({PAGEABLE_BYTES}, dtype=torch.uint8, device="cuda")
b = torch.empty({PINNED_BYTES}, dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
rounds, start = 0, time.monotonic()
while time.monotonic() < start + 12:
    a.copy_(pageable)
    b.copy_(pinned, non_blocking=True)
    back.copy_(b[:{DOWN_BYTES}], non_blocking=True)
    torch.cuda.synchronize()
    rounds += 1
    time.sleep(0.02)
    if rounds % 50 == 0:
        print("rate", rounds / (time.monotonic() - start), flush=True)
"""
TOLERANCE = 0.1

problems: list[str] = []


def check(is_fine: bool, what: str) -> None:
    print(("fine    " if is_fine else "PROBLEM ") + what)
    if not is_fine:
        problems.append(what)


def look(run: pathlib.Path) -> dict[str, Any] | None:
    shown = subprocess.run(
        ["turnpike", "top", str(run), "--once", "--json"], capture_output=True, text=True, check=False
    )
    if shown.returncode != 0:
        return None
    processes = json.loads(shown.stdout)["processes"]
    return processes[0] if processes else None


def check_counts(seen: dict[str, Any]) -> None:
    up, down = seen["totals"]["h2d"], seen["totals"]["d2h"]
    pageable, pinned = up["pageable_count"], up["pinned_count"]
    check(abs(pageable - pinned) <= 1, f"one pageable upload ({pageable}) for each pinned one ({pinned})")
    check(up["pageable_bytes"] == pageable * PAGEABLE_BYTES, f"pageable bytes: {up['pageable_bytes']}")
    check(up["pinned_bytes"] == pinned * PINNED_BYTES, f"pinned bytes: {up['pinned_bytes']}")
    check(abs(down["count"] - pinned) <= 1, f"a download ({down['count']}) for each round")
    check(down["bytes"] == down["count"] * DOWN_BYTES, f"bytes down: {down['bytes']}")
    check(seen["losses"] == 0, f"losses: {seen['losses']}")
    spent = seen["page_update_ns"] / (seen["seconds"] * 1e9)
    check(spent < 0.01, f"the recorder's thread spends {spent:.4%} of the time on the page")


def check_rates(first: dict[str, Any], second: dict[str, Any], rate: float) -> None:
    rounds = second["totals"]["h2d"]["pinned_count"] - first["totals"]["h2d"]["pinned_count"]
    seconds = second["seconds"] - first["seconds"]  # both since the recording began
    check(rounds > 0 and seconds > 0, f"it goes on: {rounds} rounds in {seconds:.2f} s")
    seen = rounds / seconds
    check(abs(seen / rate - 1) < TOLERANCE, f"{seen:.1f} rounds/s, and the program says {rate:.1f}")
    places = [site["site"] for site in second["sites"]]
    check(any(place.startswith("program.py:") for place in places), f"lines of the program: {places[:5]}")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder, "run.tpk")
        program = pathlib.Path(folder, "program.py")
        program.write_text(PROGRAM)
        command = ["turnpike", "record", "--quiet", "-o", str(run), "--", sys.executable, str(program)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline()]
            first = look(run)
            for _ in range(3):
                lines.append(process.stdout.readline())
            time.sleep(0.3)  # longer than the page is old
            second = look(run)
            rest, _ = process.communicate()
        lines += rest.splitlines()
        check(process.returncode == 0, f"the program ended with {process.returncode}")
        if first is None or second is None or not lines[-1].startswith("rate "):
            check(False, f"turnpike top shows the process; it printed {lines}")
            return 1
        print(json.dumps({key: second[key] for key in second if key != "sites"}, indent=1))
        check_counts(second)
        check_rates(first, second, float(lines[-1].split()[1]))
        check(look(run) is None, "a process that has ended is not shown")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
