#!/usr/bin/env python3
"""Recording real PyTorch while other threads do what has crashed or stopped programs: run on a machine with a GPU.

    tests/gpu/stress.py [--seconds N] [--copies N] [--jobs N] [--only NAME...] [--out FILE]

Each program runs under `turnpike record` for `--seconds` (default 60), in `--copies` processes (default 1), `--jobs`
processes at a time (default: all). More processes than cores find races that need a thread to be put aside. Each must
end by itself with status 0, and the report must count as many uploads as the program made, unless it counts a loss.
Needs PyTorch, a C compiler and `turnpike` on the PATH. Exits with 1 if a program failed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import result_file  # noqa: E402

# Every program gets `seconds`, and the folder of the small libraries; it prints the uploads that it made.
PRELUDE = """
    import ctypes, os, sys, threading, time
    seconds, folder = float(sys.argv[1]), sys.argv[2]
    import torch
    end = time.monotonic() + seconds
    lock, uploads = threading.Lock(), 0
    # Called without the GIL, so that other threads copy while a library is loaded.
    libc = ctypes.CDLL(None)
    libc.dlopen.restype, libc.dlopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]
    libc.dlclose.argtypes = [ctypes.c_void_p]

    def load(name):
        return libc.dlopen(f"{folder}/{name}".encode(), os.RTLD_NOW)

    def upload(count=1):
        global uploads
        x = torch.ones(5000)
        for _ in range(count):
            x.to("cuda")
        torch.cuda.synchronize()
        with lock:
            uploads += count

    def uploading():
        while time.monotonic() < end:
            upload(20)

    def together(*targets):
        threads = [threading.Thread(target=target) for target in targets]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
"""
EPILOGUE = """
    print("uploads", uploads, flush=True)
"""

PROGRAMS = {
    "libraries that load, fail to load and unload": """
        def loading():
            while time.monotonic() < end:
                libc.dlclose(load("libfine.so"))
                if load("libfails.so"): os._exit(8)
        together(uploading, uploading, loading, loading)
    """,
    # The constructor returns once another thread has copied, which must not need the loader. CUDA's start and the first
    # copy of a thread need it, also in a program that is not recorded.
    "a library whose constructor waits for copies": """
        upload()
        WAITS = ctypes.CFUNCTYPE(None)
        @WAITS
        def wait():
            before = uploads
            limit = time.monotonic() + 30
            while uploads == before:
                if time.monotonic() > limit: os._exit(9)
                time.sleep(0.001)
        keep = ctypes.CDLL(folder + "/libhook.so", mode=ctypes.RTLD_GLOBAL)
        keep.set_hook(wait)
        has_begun = threading.Barrier(3)
        def uploading_from_the_start():
            upload()
            has_begun.wait()
            uploading()
        def loading():
            has_begun.wait()
            while time.monotonic() < end - 1:
                libc.dlclose(load("libwaits.so"))
        together(uploading_from_the_start, uploading_from_the_start, loading)
    """,
    "forks": """
        def forking():
            while time.monotonic() < end:
                child = os.fork()
                if child == 0: os._exit(0)
                limit = time.monotonic() + 20
                while os.waitpid(child, os.WNOHANG)[0] == 0:
                    if time.monotonic() > limit: os._exit(9)
                    time.sleep(0.001)
        together(uploading, forking, forking)
    """,
    "NVTX ranges in short threads": """
        def ranges():
            number = 0
            while time.monotonic() < end:
                number += 1
                def one():
                    with torch.cuda.nvtx.range(f"request {number}"): upload()
                together(*[one] * 8)
        together(ranges)
    """,
    "torch.profiler beside it": """
        def profiling():
            kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
            while time.monotonic() < end:
                with torch.profiler.profile(activities=kinds): upload(50)
                upload(50)
        together(profiling)
    """,
    "autograd, allocations and events": """
        def training():
            model = torch.nn.Linear(256, 256).cuda()
            while time.monotonic() < end:
                stream = torch.cuda.Stream()
                with torch.cuda.stream(stream):
                    model(torch.randn(64, 256, device="cuda")).sum().backward()
                stream.synchronize()
                torch.cuda.empty_cache()
        model_uploads = 2  # of the weights
        together(training, uploading)
        uploads += model_uploads
    """,
}
# This one starts and stops recordings itself, so it runs without `turnpike record`.
SESSIONS = """
    import shutil
    import turnpike, warnings
    warnings.simplefilter("ignore")
    number = 0
    def recording():
        global number
        while time.monotonic() < end:
            number += 1
            file = f"{folder}/{number}.tpk"
            try:
                turnpike.start(file, detail="full" if number % 2 else "transfers")
                time.sleep(number % 3 * 0.02)
                turnpike.stop()
            except turnpike.Error: pass  # the other one has stopped it
            if os.path.exists(file):
                turnpike.report(file)
                shutil.rmtree(file)
    # Between the other's recordings; while one is there, it is refused with a warning.
    def competing():
        for attempt in range(10**9):
            if time.monotonic() > end: break
            try:
                turnpike.start(f"{folder}/rival{attempt}.tpk")
                turnpike.stop()
            except turnpike.Error: pass
            shutil.rmtree(f"{folder}/rival{attempt}.tpk", ignore_errors=True)
            time.sleep(0.01)
    together(uploading, uploading, uploading, uploading, recording, competing)
    print("recordings", number)
"""


def build_libraries(folder: pathlib.Path) -> None:
    sources = {
        "libfine.so": "int fine(void) { return 1; }",
        "libfails.so": "extern int is_nowhere(void); int (*called)(void) = is_nowhere;",
        "libhook.so": "static void (*hook)(void); void set_hook(void (*f)(void)) { hook = f; } "
        "void call_hook(void) { if (hook) hook(); }",
        "libwaits.so": "extern void call_hook(void); "
        "__attribute__((constructor)) static void begin(void) { call_hook(); }",
    }
    for name, text in sources.items():
        command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(folder / name)]
        subprocess.run(command, input=text, text=True, check=True)


def run_program(name: str, text: str, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        build_libraries(folder)
        program, trace = folder / "program.py", folder / "run.tpk"
        program.write_text("".join(textwrap.dedent(part) for part in (PRELUDE, text, EPILOGUE)))
        command = [sys.executable, str(program), str(seconds), made]
        if text is not SESSIONS:
            command = ["turnpike", "record", "--quiet", "--no-link", "-o", str(trace), "--", *command]
        began = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 120)
        except subprocess.TimeoutExpired:
            return {"name": name, "ok": False, "why": f"did not end within {seconds + 120:.0f} s"}
        row: dict[str, Any] = {"name": name, "status": done.returncode, "seconds": round(time.monotonic() - began, 1)}
        if done.returncode != 0:
            return row | {"ok": False, "why": done.stderr[-800:]}
        if text is SESSIONS:
            return row | {"ok": True, "printed": done.stdout.split("\n")[0]}
        return row | counted(done.stdout, trace)


def counted(printed: str, trace: pathlib.Path) -> dict[str, Any]:
    """The uploads that the program made and those that the report has."""
    made = int(printed.split("uploads ")[1])
    report = json.loads(subprocess.run(["turnpike", "report", "--json", trace], capture_output=True, text=True).stdout)
    seen, losses = report["totals"]["h2d"]["count"], report["losses"]
    return {"made": made, "recorded": seen, "losses": losses, "ok": seen == made or bool(losses)}


def of_all_copies(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """One row for the processes of a program: the first that failed, else the first; and how many ended well."""
    worst = min(rows, key=lambda row: row["ok"])
    return {**worst, "name": name, "processes": len(rows), "ended_well": sum(row["ok"] for row in rows)}


def row_of_file(row: dict[str, Any], seconds: float) -> dict[str, Any]:
    more = {key: value for key, value in row.items() if key not in ("name", "ok")}
    return result_file.row(
        row["name"], f"ended well after {seconds:g} s", "", int(row["ok"]), target=1, met=row["ok"], **more
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    programs = {**PROGRAMS, "recordings that start and stop": SESSIONS}
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--only", nargs="*", choices=sorted(programs), default=sorted(programs))
    parser.add_argument("--out", type=pathlib.Path)
    given = parser.parse_args()
    names = given.only * given.copies
    with concurrent.futures.ThreadPoolExecutor(given.jobs or len(names)) as pool:
        runs = list(pool.map(lambda name: run_program(name, programs[name], given.seconds), names))
    rows = [of_all_copies(name, [run for run in runs if run["name"] == name]) for name in given.only]
    for row in rows:
        print("ok  " if row["ok"] else "FAIL", json.dumps(row))
    if given.out:
        result_file.write(str(given.out), "stress", [row_of_file(row, given.seconds) for row in rows])
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
