#!/usr/bin/env python3
"""Runs the commands of docs/howto/in_production.md against programs that train and serve, and counts what they record.

    tests/gpu/production.py [--fake FOLDER]

Needs a GPU and PyTorch, and `turnpike` on the PATH. With --fake, the programs copy by the fake libcudart of that folder
(tests/fake/lib of a build): for a machine without a GPU, where steps and their slow ones are left out. Exits with 1 at
the first thing that is not as the page says.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/howto/in_production.md"

# cross() uploads once and downloads once.
_GPU = """\
import os, time, torch
torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
net = torch.nn.Linear(1000, 10).cuda()
step = torch.cuda.nvtx.range
def cross(batch):
    with torch.no_grad():
        return net(batch.cuda()).cpu()
def batches():
    data = torch.rand(64000, 1000)
    while True:
        yield from torch.utils.data.DataLoader(data, batch_size=64, num_workers=2)
def request():
    return torch.rand(64, 1000)
"""
_FAKE = """\
import contextlib, ctypes, itertools, os, time
cuda = ctypes.CDLL("libcudart.so.13")
cuda.cudaMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
cuda.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
device, host = ctypes.c_void_p(), ctypes.create_string_buffer(4096)
assert cuda.cudaMalloc(ctypes.byref(device), 4096) == 0
step = contextlib.nullcontext
def cross(batch):
    assert cuda.cudaMemcpy(device, host, 1024, 1) == 0 and cuda.cudaMemcpy(host, device, 1024, 2) == 0
def batches():
    return itertools.repeat(None)
def request():
    return None
"""
# Each writes down when it begins a round.
_SERVE = """
log = open(f"rounds-{os.getpid()}.txt", "w", buffering=1)
while True:
    log.write(f"{time.time()}\\n")
    cross(request())
    time.sleep(0.005)
"""
_TRAIN = """
log = open(f"rounds-{os.getpid()}.txt", "w", buffering=1)
until = time.monotonic() + float(os.environ.get("SECONDS_OF_TRAINING", 60))
for number, batch in enumerate(batches()):
    if time.monotonic() > until:
        break
    log.write(f"{time.time()}\\n")
    with step("step"):
        cross(batch)
        time.sleep(0.3 if number == 200 else 0.005)
"""

# As in an activated environment, of the interpreter that runs this.
_TORCHRUN = 'exec {} -m torch.distributed.run "$@"'
_TWO_RANKS = 'LOCAL_RANK=0 {0} "${{@: -1}}" & LOCAL_RANK=1 {0} "${{@: -1}}" & wait'


def on_page() -> set[str]:
    """The lines of the page's blocks."""
    return {
        line for block in re.findall(r"```\w*\n(.*?)```", PAGE.read_text(), re.DOTALL) for line in block.split("\n")
    }


class Place:
    """A folder with serve.py and train.py, and what is done in it."""

    def __init__(self, folder: pathlib.Path, fake: str | None) -> None:
        self.folder, self.is_fake, self.known = folder, fake is not None, on_page()
        self.environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
        # Python's own libraries stay as they are: the fakes are for the programs alone.
        self.of_programs = dict(self.environment)
        if fake:
            self.of_programs |= {"LD_LIBRARY_PATH": fake, "TURNPIKE_CUPTI": f"{fake}/libfakecupti.so"}
        (folder / "bin").mkdir()
        for name, does in (("python", 'exec {} "$@"'), ("torchrun", _TWO_RANKS if fake else _TORCHRUN)):
            (folder / "bin" / name).write_text("#!/bin/bash\n" + does.format(sys.executable) + "\n")
            (folder / "bin" / name).chmod(0o755)
        given = _FAKE if fake else _GPU
        (folder / "serve.py").write_text(given + _SERVE)
        (folder / "train.py").write_text(given + _TRAIN)

    def say(self, command: str, **more: str) -> str:
        """Runs a line of the page to its end. What it says on standard error, and prints."""
        assert command in self.known, f"the page does not say: {command}"
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment | more,
                              capture_output=True, text=True, timeout=90)  # fmt: skip
        assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stderr + done.stdout

    @contextlib.contextmanager
    def program(self, *lines: str, waiting: int = 0, **more: str) -> Iterator[subprocess.Popen[bytes]]:
        """Lines of the page that start a program, until that many processes of it wait. It is ended afterwards."""
        for line in lines:
            assert line in self.known, f"the page does not say: {line}"
        before = len(waiting_processes())
        script = "\n".join([*lines, "wait"])
        shell = subprocess.Popen(["bash", "-c", script], cwd=self.folder, env=self.of_programs | more,
                                 start_new_session=True)  # fmt: skip
        try:
            until(lambda: len(waiting_processes()) >= before + waiting and len(self.rounds()) >= max(waiting, 1), shell)
            yield shell
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
            for log in self.rounds():
                log.unlink()

    def rounds(self) -> list[pathlib.Path]:
        return [log for log in self.folder.glob("rounds-*.txt") if log.stat().st_size > 0]

    def rounds_between(self, start: float, end: float) -> int:
        """Of the processes that run, together."""
        times = [float(line) for log in self.rounds() for line in log.read_text().splitlines()[:-1]]
        return sum(start <= moment <= end for moment in times)

    def report(self, run: str) -> dict[str, Any]:
        done = subprocess.run(["turnpike", "report", run, "--json"], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=90)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def attached(
        self, command: str, run: str, seconds: float, processes: int = 1, losses: dict[str, int] | None = None
    ) -> None:
        """Attaches by a line of the page, and compares the run with what the programs wrote down."""
        start = time.time()
        self.say(command)
        end = time.time()
        read = self.report(run)
        uploads, downloads = (read["totals"][way]["count"] for way in ("h2d", "d2h"))
        most = self.rounds_between(start - 0.1, end)
        print(
            f"{command}: {uploads} up, {downloads} down, {most} rounds meanwhile, losses {read['losses']}", flush=True
        )
        assert len(programs_of(read)) == processes, read["source"]
        assert read["losses"] == (losses or {}), read["losses"]
        assert abs(uploads - downloads) <= processes
        # Rounds also go by while CUPTI is loaded and unloaded.
        assert 0.5 * most * seconds / (end - start) <= uploads <= most + processes


def programs_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The processes that train or serve: torchrun asks CUDA for its GPUs, and is recorded with its ranks."""
    found = report["source"]["identities"]
    return [one for one in found if one["rank"] is not None] or found


def waiting_processes() -> list[str]:
    text = pathlib.Path("/proc/net/unix").read_text()
    return re.findall(rf" 00010000 .* @turnpike\.{os.geteuid()}\.(\d+)$", text, re.MULTILINE)


def until(condition: Callable[[], bool], shell: subprocess.Popen[bytes], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert shell.poll() is None, "the program has ended"
        assert time.monotonic() < end, f"it did not happen within {seconds} s"
        time.sleep(0.02)


def a_server(place: Place) -> None:
    start = ("turnpike record --dormant -- python serve.py &", "echo $! > serve.pid")
    with place.program(*start, waiting=1) as shell:
        place.attached("turnpike attach $(cat serve.pid) --duration 3 -o slow.tpk", "slow.tpk", 3)
        place.attached("turnpike attach $(cat serve.pid)", "serve.tpk", 10)
        assert "slow.tpk" in place.say("turnpike report slow.tpk") or (place.folder / "slow.tpk").is_dir()
        before = place.rounds_between(0, time.time())
        until(lambda: place.rounds_between(0, time.time()) > before + 20, shell)


def a_plain_server(place: Place) -> None:
    """Its Python is asked to load the recorder while it serves."""
    if sys.version_info < (3, 14):
        print("a_plain_server: this Python cannot be asked, which needs 3.14", flush=True)
        return
    with place.program("python serve.py &", "echo $! > serve.pid") as shell:
        for _ in range(2):
            place.attached("turnpike attach $(cat serve.pid)", "serve.tpk", 10, losses={"nvtx_not_heard": 1})
            shutil.rmtree(place.folder / "serve.tpk")
        before = place.rounds_between(0, time.time())
        until(lambda: place.rounds_between(0, time.time()) > before + 20, shell)


def ranks(place: Place) -> None:
    """Each with a DataLoader of two workers."""
    with place.program("turnpike record --dormant -- torchrun --nproc-per-node 2 train.py &", waiting=2):
        place.attached("turnpike attach --all --duration 3 -o ranks.tpk", "ranks.tpk", 3, processes=2)
        place.say("turnpike attach --all --at /10s --duration 3 -o $HOSTNAME.tpk", HOSTNAME="node1")
        assert len(programs_of(place.report("node1.tpk"))) == 2


def the_last_minute(place: Place) -> None:
    command = 'turnpike record --last 60 --trigger "step > 1.5 x median" -- python train.py'
    with place.program(command, SECONDS_OF_TRAINING="6") as shell:
        until(lambda: place.rounds_between(0, time.time()) > 300, shell)
        if not place.is_fake:
            until(lambda: (place.folder / "train-1.tpk").is_dir(), shell)
        (log,) = place.rounds()
        process = int(log.stem.removeprefix("rounds-"))
        os.kill(process, signal.SIGUSR2)
        name = "train-1.tpk" if place.is_fake else "train-2.tpk"
        until(lambda: (place.folder / name).is_dir(), shell)
        assert shell.wait(60) == 0
    for run in ("train.tpk", name, *(() if place.is_fake else ("train-1.tpk",))):
        read = place.report(run)
        print(f"{run}: {read['totals']['h2d']['count']} up, losses {read['losses']}", flush=True)
        assert read["totals"]["h2d"]["count"] > 100 and "not_closed" not in read["losses"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fake", metavar="FOLDER", help="of the libraries that stand for CUDA")
    fake = parser.parse_args().fake
    for part in (a_server, a_plain_server, the_last_minute, ranks):
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            part(Place(pathlib.Path(folder), fake and os.path.abspath(fake)))
            print(f"{part.__name__}: as the page says, {time.monotonic() - started:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
