"""Interrupts, threads and processes that end in the middle of the calls, on a GPU."""

import subprocess
import sys

import pytest

import turnpike as tp  # noqa: F401  # skipped where it cannot be imported


def run(program, timeout=300):
    command = [sys.executable, "-c", COMMON + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done


COMMON = """
import os, random, signal, sys, threading, time
import torch, turnpike as tp

ITEMS = 1 << 20

def up():
    host = torch.arange(ITEMS, dtype=torch.float32)
    assert torch.equal(tp.to(host, "cuda").cpu(), host)

def many_up():
    hosts = [torch.full((1000,), float(i)) for i in range(100)]
    assert all(map(torch.equal, (moved.cpu() for moved in tp.to(hosts, "cuda")), hosts))

def down():
    there = torch.arange(ITEMS, device="cuda")
    assert torch.equal(tp.to(there, "cpu"), torch.arange(ITEMS))

def prefetched():
    for i, batch in enumerate(tp.prefetch([torch.full((ITEMS,), float(i)) for i in range(4)], "cuda")):
        assert batch.eq(i).all().item()

def fetched():
    for items in (1, 100, ITEMS):
        there = torch.full((items,), 3.0, device="cuda")
        one = tp.fetch(there)
        there.fill_(4)
        assert one.result().eq(3).all()

def scalars():
    found = tp.Scalars()
    for i in range(5):
        found.add(loss=torch.full((), float(i), device="cuda"), n=i)
    assert [values["loss"] for _, values in found.finish()] == [0, 1, 2, 3, 4]

def copied():
    src, dst = torch.full((ITEMS,), 3.0, device="cuda"), torch.zeros(ITEMS)
    tp.copy_(dst, src)
    assert dst.eq(3).all()

def pinned():
    host = torch.full((4 * ITEMS,), 3.0)
    with tp.pinned(host):
        there = host.to("cuda", non_blocking=True)
    assert there.eq(3).all().item()
    del host
    assert torch.full((4 * ITEMS,), 5.0, device="cuda").cpu().eq(5).all()

def piped():
    out = torch.zeros(ITEMS, device="cuda")
    inputs = [torch.full((ITEMS,), float(i)) for i in range(4)]
    for i, result in enumerate(tp.pipeline(lambda x: torch.mul(x, 2, out=out), inputs, "cuda")):
        assert result.eq(2 * i).all()
"""

CALLS = ["up", "many_up", "down", "prefetched", "fetched", "scalars", "copied", "pinned", "piped"]


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_at_any_time_leaves_everything_usable(torch, call):
    run(f"""
def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
{call}()
start = time.monotonic()
{call}()
length = time.monotonic() - start
rng = random.Random(7)
kept = tp.to([torch.full((1000,), float(i)) for i in range(20)] + [torch.ones(ITEMS)], "cuda")
interrupted = 0
for _ in range(50):
    try:
        signal.setitimer(signal.ITIMER_REAL, max(1e-5, rng.uniform(0, length)))
        for _ in range(3):
            {call}()
    except KeyboardInterrupt:
        interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    torch.cuda.set_stream(torch.cuda.default_stream())  # what was current when PyTorch was interrupted
    {call}()
    assert [int(one.cpu()[-1]) for one in kept] == [*range(20), 1]
assert interrupted > 5, interrupted  # the rest came too late
torch.cuda.synchronize()
assert tp.move_stats().pending == 0
""")


@pytest.mark.parametrize("call", ["up", "down", "prefetched", "fetched", "copied"])
def test_daemon_threads_in_calls_at_the_end(torch, call):
    """PyTorch's own operations abort there up to Python 3.13. The calls leave them no time to."""
    program = f"""
host, there = torch.ones(64 << 20, dtype=torch.uint8), torch.ones(64 << 20, dtype=torch.uint8, device="cuda")
calls = {{
    "up": lambda: tp.to(host, "cuda"),
    "down": lambda: tp.to(there, "cpu"),
    "prefetched": lambda: list(tp.prefetch([host] * 4, "cuda")),
    "fetched": lambda: tp.fetch(there).result(),
    "copied": lambda: tp.copy_(there, host).synchronize(),
}}
calls["{call}"]()

def work():
    while True:
        calls["{call}"]()

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(random.uniform(0.05, 0.3))
"""
    for _ in range(5):
        run(program)


def test_sixty_epochs_with_workers_end_cleanly(torch):
    done = run("""
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    data = TensorDataset(torch.arange(64 * 8, dtype=torch.float32).view(64, 8))
    for persistent in (False, True):
        loader = DataLoader(data, batch_size=8, num_workers=2, persistent_workers=persistent)
        for _ in range(30):
            total = sum(batch.sum() for [batch] in tp.prefetch(loader, "cuda"))
            assert total.item() == sum(range(64 * 8))
    print(threading.active_count(), "threads")
""")
    assert "Traceback" not in done.stderr and "leaked" not in done.stderr, done.stderr


def test_a_child_forked_before_cuda_moves_by_the_engine(torch):
    run("""
tp.configure_move(threads=3)
tp.move_stats()
child = os.fork()
if child == 0:
    code = 1
    try:
        up(), many_up(), fetched(), prefetched()
        stats = tp.move_stats()
        assert stats.threads == 3 and stats.h2d.bytes > 0 and stats.d2h.bytes > 0
        code = 0
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
up()
""")


def test_a_child_forked_after_cuda_raises_what_pytorch_raises(torch):
    run("""
torch.set_num_threads(1)  # OpenMP's threads do not outlive a fork, and a child that needs them waits for ever

def error_of(move):
    try:
        move()
    except RuntimeError as error:
        return str(error)
    return None

for uses in (lambda: torch.ones(1, device="cuda"), up):
    uses()
    work = tp.copy_(torch.zeros(ITEMS), torch.ones(ITEMS, device="cuda"))
    pending = tp.fetch(torch.ones(ITEMS, device="cuda"))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            plain = error_of(lambda: torch.ones(1).to("cuda"))
            assert plain is not None and "forked subprocess" in plain
            assert error_of(lambda: tp.to(torch.ones(ITEMS), "cuda")) == plain
            assert error_of(lambda: tp.to([torch.ones(1)] * 3, "cuda")) == plain
            assert "before the process was forked" in error_of(pending.result)
            assert "before the process was forked" in error_of(work.wait)
            assert tp.to([torch.ones(3)], "cpu")[0].sum() == 3
            del work, pending
            code = 0
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pending.result().eq(1).all()
""")
