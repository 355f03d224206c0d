"""In the way: streams that wait for each other, calls that wait, captures, signals, forks."""

from __future__ import annotations

import os
import threading
import time

import torch
from stage import KIB, MIB, captured_threads, in_fork, in_thread, interrupted, open_contexts

from catalogue import fault


@fault("6-busy-stream-stops-others", "busy_streams", is_alone=True)
def busy_stream(way, log, stage):
    large, small = stage.filled(1, 64 * MIB), stage.filled(2, 8 * MIB)
    for warm in (large, small):
        way.to(warm, stage.device)
    stage.settle()
    is_started = threading.Event()

    def behind():
        with stage.on(1):
            stage.busy(1000)
            is_started.set()
            moved = way.to(large, stage.device)
            return float(moved[0])

    join = in_thread(behind)
    is_started.wait()
    time.sleep(0.05)
    with stage.on(2):
        with log.timed("8 MiB on an idle stream"):
            moved = way.to(small, stage.device)
            if stage.is_gpu:
                torch.cuda.current_stream().synchronize()
        log.see("moved", moved)
    log.see("behind", join())


@fault("7-alone-on-a-busy-stream", "busy_streams", is_alone=True)
def alone(way, log, stage):
    for name, size_bytes in {
        "4 KiB": 4 * KIB,
        "64 KiB": 64 * KIB,
        "1.9 MiB": 19 * MIB // 10 // 4 * 4,
        "4 MiB": 4 * MIB,
        "32 MiB": 32 * MIB,
        "256 MiB": 256 * MIB,
    }.items():
        source = stage.filled(1, size_bytes)
        way.to(source, stage.device)
        stage.settle()
        stage.busy(400)
        started = time.perf_counter()
        moved = way.to(source, stage.device)
        ms = (time.perf_counter() - started) * 1e3
        if size_bytes <= 32 * MIB:
            log.claim(f"does not wait/{name}", ms < 200, f"{ms:.0f} ms of a stream that is busy for 400")
        else:  # more than the page-locked memory holds waits for the stream, as PyTorch's copy does
            log.durations.append([f"waits no longer/{name}", ms])
        log.see(f"moved/{name}", moved)


def _capture(log, stage, label, **options):
    static = torch.ones(1000, device=stage.device)

    def capture():
        replay, result = stage.captured(lambda: static * 3, **options)
        replay()
        return result

    log.attempt(label, capture)


@fault("8-capture-in-a-prefetch-loop", "capture")
def capture_prefetch(way, log, stage):
    batches = [stage.filled(turn, 32 * MIB) for turn in range(8)]
    _capture(log, stage, "warm")
    for turn, batch in enumerate(way.prefetch(batches, stage.device)):
        stage.busy(5)
        _capture(log, stage, f"capture/{turn}", waits=turn % 2 == 0)
        log.see(f"batch/{turn}", batch)


@fault("8-capture-behind-to", "capture")
def capture_to(way, log, stage):
    source = [stage.filled(turn, 4 * MIB) for turn in range(16)]
    _capture(log, stage, "warm")
    for turn in range(6):
        stage.busy(20)
        moved = way.to(source, stage.device)
        _capture(log, stage, f"capture/{turn}", waits=turn % 2 == 0)
        log.see(f"moved/{turn}", moved)


@fault("8-capture-with-a-fetch-under-way", "capture")
def capture_fetch(way, log, stage):
    _capture(log, stage, "warm")
    for turn, size_bytes in enumerate((4 * KIB, 32 * MIB) * 3):
        source = stage.filled(turn, size_bytes, "gpu")
        stage.busy(20)
        fetched = [way.fetch(source) for _ in range(4)]
        _capture(log, stage, f"capture/{turn}", waits=turn < 3)
        log.attempt(f"result/{turn}", lambda all_of: [each.result() for each in all_of], fetched)


def _is_captured(stage, work):
    stage.captured(work, waits=False)
    return True


@fault("8-capture-asks-while-it-captures", "capture")
def capture_asks(way, log, stage):
    """Asks what is under way from inside a capture: of plain values that needs no driver."""
    source = stage.filled(1, 8 * MIB, "gpu")
    scalars = way.scalars()
    for turn in range(4):
        stage.busy(20)
        fetched = way.fetch(source)
        scalars.add(turn=source[0])

        def work(fetched=fetched):
            fetched.ready()
            scalars.ready()
            return source * 2

        log.attempt(f"capture/{turn}", _is_captured, stage, work)
        log.attempt(f"result/{turn}", fetched.result)


@fault("8-capture-with-scalars-under-way", "capture")
def capture_scalars(way, log, stage):
    _capture(log, stage, "warm")
    scalars = way.scalars()
    rows = []
    for turn in range(8):
        stage.busy(20)
        scalars.add(loss=torch.full((), float(turn), device=stage.device))
        _capture(log, stage, f"capture/{turn}", waits=False)
        rows += scalars.ready()
    log.attempt("all rows", lambda: rows + scalars.finish())


@fault("8-capture-in-another-thread", "capture")
def capture_thread(way, log, stage):
    sources = [stage.filled(turn, 8 * MIB) for turn in range(4)]
    memory = [way.to(sources, stage.device) for _ in range(2)]  # what one turn brings dies when the next is there
    stage.settle()
    del memory
    stop = threading.Event()
    join = in_thread(lambda: captured_threads(stage, stop))
    moved, refused = sources, []
    for _ in range(40):
        # PyTorch's own copies may fail meanwhile, and so may reading what they brought: it is read afterwards. Not all
        # of it: that would need more memory, and PyTorch cannot allocate any during a capture.
        try:
            moved = way.to(sources, stage.device, non_blocking=True)
        except RuntimeError as error:
            refused.append(error)
    stop.set()
    log.attempt("captures", join)
    log.claim("to", not refused, refused[:1])
    log.claim("its values", all(torch.equal(a.cpu(), b) for a, b in zip(moved, sources, strict=True)))


@fault("10-interrupts", "interrupts", timeout_s=120)
def interrupts(way, log, stage):
    kept = way.to([stage.filled(turn, 4 * MIB) for turn in range(4)], stage.device)
    source = [stage.filled(turn, 8 * MIB) for turn in range(8)] + [stage.filled(turn, 4 * KIB) for turn in range(64)]
    for turn in range(40):
        interrupted(turn / 4, lambda: way.to(source, stage.device))
        interrupted(turn / 4, lambda: list(way.prefetch(source[:8], stage.device)))
        log.attempt(f"read/{turn}", lambda: [tensor.cpu() for tensor in kept])
    log.attempt("afterwards", lambda: way.to(source, stage.device))


@fault("10-daemon-thread-at-the-end", "ends_of_processes", timeout_s=60)
def daemon_thread(way, log, stage):
    sources = [stage.filled(turn, 8 * MIB) for turn in range(4)]

    def forever():
        while True:
            way.to(sources, stage.device)

    for _ in range(3):
        in_thread(forever, is_daemon=True)
    time.sleep(0.5)
    # How the process ends is part of what is compared.
    log.see("running", True)


class _Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        return torch.full((1000,), float(index))


@fault("10-sixty-epochs-with-workers", "ends_of_processes", timeout_s=240)
def sixty_epochs(way, log, stage):
    loader = torch.utils.data.DataLoader(_Numbers(), batch_size=4, num_workers=2)
    for epoch in range(60):
        total = sum(float(batch.sum()) for batch in way.prefetch(loader, stage.device))
        log.see(f"sum/{epoch}", total)


@fault("11-forked-before-cuda", "forks")
def forked_before(way, log, stage):
    def child():
        before = way.moved_bytes()
        moved = way.to([stage.filled(turn, 4 * MIB) for turn in range(4)], stage.device)
        total = [float(tensor.sum()) for tensor in moved]
        return total, before is None or not stage.is_gpu or way.moved_bytes() > before

    log.see("child", in_fork(child))


@fault("11-affinity-of-threads", "ends_of_processes", environment={"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"})
def affinity(way, log, stage):
    torch.ones(1_000_000).to(stage.device).cpu()  # the threads of CUDA are there
    # The first parallel operation binds the main thread, and every thread after it.
    torch.ones(4_000_000).sum()
    known = set(os.listdir("/proc/self/task"))
    way.to(stage.filled(1, 64 * MIB), stage.device)
    new = set(os.listdir("/proc/self/task")) - known
    allowed = sorted(len(os.sched_getaffinity(int(thread))) for thread in new)
    few = [count for count in allowed if count == 1]
    is_fine = (os.cpu_count() or 1) < 2 or len(few) <= len(allowed) // 3
    log.claim("threads run on any core", is_fine, f"{len(few)} of {len(allowed)} new threads are bound to one core")


@fault("11b-pin-on-gpu-1", "pin_in_place", gpus=2)
def pin_gpu_1(way, log, stage):
    torch.cuda.set_device(1)
    torch.cuda.init()
    torch.zeros(1, device="cuda:1")
    way.pin_(stage.filled(1, 4 * MIB))
    log.see("GPU 0 is open", open_contexts(2)[0])


@fault("11b-pinned-let-go-on-gpu-1", "pin_in_place", gpus=2)
def unpin_gpu_1(way, log, stage):
    for _ in range(5):
        source = way.pin_(stage.filled(1, 256 * MIB))
        with torch.cuda.device(1):
            torch.cuda._sleep(100_000_000)
            moved = source.to("cuda:1", non_blocking=True)
        if way.is_tp:
            way.unpin_(source)
        else:
            torch.cuda.synchronize(1)
        source = None
        log.attempt("moved", moved.cpu)
    log.attempt("end", lambda: torch.cuda.synchronize(1))


@fault("B15-fork-with-a-copy-under-way", "forks")
def fork_under_way(way, log, stage):
    source, target = stage.filled(1, 4 * MIB, "gpu"), stage.filled(0, 4 * MIB)
    stage.busy(50)
    works = [way.copy_(target, source)]
    log.see("child", in_fork(lambda: works.clear() or 1))
    works[0].synchronize()
    log.see("target", target)
