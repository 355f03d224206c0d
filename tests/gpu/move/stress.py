#!/usr/bin/env python3
"""Moves random tensors by every call for minutes while the host runs far ahead of the GPU, and checks every byte there.

    tests/gpu/move/stress.py [--seconds 600] [--seed N] [--out RESULTS.json]

The consumer's stream sleeps at random, so that copies are ready long before, or long after, what they must wait for.
Each tensor that arrives is summed up on the GPU, byte by byte and weighted by place, compared there, overwritten and
dropped, so that its memory is used again at once. The same is done to the prefetcher that public projects write by
hand, without record_stream() and without waiting for the consumer: it must fail, or this test could not.

Exits 1 when a byte was wrong in Turnpike's calls, or none was in the other.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "bench")]

import result_file  # noqa: E402
import torch  # noqa: E402

import turnpike as tp  # noqa: E402
from tensors import random_tensor  # noqa: E402

SOURCES = 160
MAX_BYTES = 24 << 20
MAX_SLEEP_CYCLES = 4_000_000  # some 2 ms
ROUND_BATCHES = 12
PLACES = 251  # a prime: bytes that are swapped, or shifted by a power of two, change the sum


def checksum(tensor: torch.Tensor) -> torch.Tensor:
    """A sum over all bytes in the order of the items, weighted by place, on the tensor's own device."""
    # A clone: of one item even a contiguous tensor may have another stride than 1.
    data = tensor.flatten().clone(memory_format=torch.contiguous_format).view(torch.uint8).to(torch.int64)
    return (data * torch.arange(1, data.numel() + 1, device=data.device).remainder_(PLACES)).sum()


class Source:
    """A tensor and its checksum."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.sum = int(checksum(tensor))


class Checker:
    """Counts wrong tensors on the GPU, without a synchronisation."""

    def __init__(self) -> None:
        self.wrong = torch.zeros((), dtype=torch.int64, device="cuda")
        self.tensors = 0
        self.bytes = 0

    def check(self, tensor: torch.Tensor, source: Source, is_ours: bool = True) -> None:
        """Compares; and overwrites what is the caller's own."""
        self.wrong += checksum(tensor) != source.sum
        self.tensors += 1
        self.bytes += tensor.nbytes
        if is_ours and tensor.numel():
            tensor.fill_(1)


def sleep(rng: random.Random) -> None:
    """Keeps the current stream waiting for up to two milliseconds, mostly not at all."""
    if rng.random() < 0.4:
        torch.cuda._sleep(rng.randrange(MAX_SLEEP_CYCLES))


def batches_of(sources: list[Source], rng: random.Random) -> list[list[Source]]:
    return [rng.choices(sources, k=rng.choice([0, 1, 2, 3, 8, 40])) for _ in range(ROUND_BATCHES)]


def by_to(sources: list[Source], rng: random.Random, checker: Checker) -> None:
    for batch in batches_of(sources, rng):
        sleep(rng)
        own = [source.tensor.clone() if rng.random() < 0.3 else source.tensor for source in batch]
        moved = tp.to(own, "cuda")
        for tensor, source in zip(own, batch, strict=True):
            if tensor is not source.tensor:
                tensor.fill_(0)  # the call has returned: it is ours again
        sleep(rng)
        at = {id(tensor): index for index, tensor in enumerate(own)}
        for index in at.values():  # what occurs twice is one tensor
            checker.check(moved[index], batch[index])


def by_prefetch(sources: list[Source], rng: random.Random, checker: Checker) -> None:
    batches = batches_of(sources, rng)
    stop = rng.choice([None, None, rng.randrange(ROUND_BATCHES)])
    loader = [[source.tensor for source in batch] for batch in batches]
    side = torch.cuda.Stream() if rng.random() < 0.2 else torch.cuda.current_stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for index, moved in enumerate(tp.prefetch(loader, "cuda", depth=rng.randint(1, 4))):
            sleep(rng)
            for position in {id(source.tensor): i for i, source in enumerate(batches[index])}.values():
                checker.check(moved[position], batches[index][position])
            if index == stop:
                break
    torch.cuda.current_stream().wait_stream(side)


def by_pipeline(sources: list[Source], rng: random.Random, checker: Checker) -> None:
    chosen = rng.choices(sources, k=ROUND_BATCHES)

    def work(tensor: torch.Tensor) -> torch.Tensor:
        sleep(rng)
        way = rng.randrange(3)
        return tensor if way == 0 else tensor.clone() if way == 1 else tensor.contiguous()

    inputs = [source.tensor for source in chosen]
    for result, source in zip(tp.pipeline(work, inputs, "cuda", depth=rng.randint(1, 4)), chosen, strict=True):
        checker.wrong += int(checksum(result)) != source.sum
        checker.tensors += 1
        checker.bytes += result.nbytes


def by_fetch(sources: list[Source], rng: random.Random, checker: Checker) -> None:
    pending: collections.deque = collections.deque()
    for source in rng.choices(sources, k=ROUND_BATCHES):
        there = source.tensor.to("cuda")
        sleep(rng)
        pending.append((tp.fetch(there), source))
        if there.numel():
            there.fill_(1)
        if rng.random() < 0.1:
            pending.pop()  # abandoned
        while pending and (len(pending) > 6 or pending[0][0].ready()):
            settle(*pending.popleft(), checker)
    while pending:
        settle(*pending.popleft(), checker)


def settle(fetched: tp.Fetched, source: Source, checker: Checker) -> None:
    result = fetched.result()
    checker.wrong += int(checksum(result)) != source.sum
    checker.tensors += 1
    checker.bytes += result.nbytes


def by_copy(sources: list[Source], rng: random.Random, checker: Checker) -> None:
    last = torch.cuda.device_count() - 1
    for source in rng.choices(sources, k=ROUND_BATCHES):
        there = source.tensor.to(f"cuda:{rng.randint(0, last)}")
        target = torch.empty_like(there, device="cuda")
        sleep(rng)
        work = tp.copy_(target, there)
        if rng.random() < 0.5:
            work.wait()
        del work  # as wait()
        if there.numel():
            there.fill_(1)
        checker.check(target, source)


def by_hand(sources: list[Source], rng: random.Random, checker: Checker) -> None:
    """The prefetcher of public projects: a side stream, and nothing that tells the allocator of the other one."""
    pinned = [source for source in sources if source.tensor.is_pinned()]
    side = torch.cuda.Stream()
    ahead = None
    for batch in [*(rng.choices(pinned, k=3) for _ in range(ROUND_BATCHES * 4)), None]:
        moved = None
        if batch is not None:
            with torch.cuda.stream(side):
                moved = [source.tensor.to("cuda", non_blocking=True) for source in batch]
        if ahead is not None:
            torch.cuda._sleep(MAX_SLEEP_CYCLES)
            for tensor, source in zip(*ahead, strict=True):
                checker.check(tensor, source, is_ours=False)
        torch.cuda.current_stream().wait_stream(side)
        ahead = (moved, batch) if moved is not None else None


CALLS = {"to": by_to, "prefetch": by_prefetch, "pipeline": by_pipeline, "fetch": by_fetch, "copy_": by_copy}


def run(seconds: float, seed: int) -> tuple[dict[str, Checker], Checker, int]:
    """The checkers of each call, that of the prefetcher by hand, and the rounds."""
    rng = random.Random(seed)
    sources = [Source(random_tensor(rng, MAX_BYTES)) for _ in range(SOURCES)]
    sources += [Source(torch.randint(0, 255, (1 << 20,), dtype=torch.uint8).pin_memory()) for _ in range(8)]
    checkers = {name: Checker() for name in CALLS}
    unsafe = Checker()
    rounds = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for name, call in CALLS.items():
            call(sources, rng, checkers[name])
        if rounds % 20 == 0:
            torch.cuda.synchronize()
            by_hand(sources, rng, unsafe)
            torch.cuda.synchronize()
            found = sum(int(checker.wrong) for checker in checkers.values())
            checked = sum(checker.bytes for checker in checkers.values()) / 1e9
            print(f"{rounds} rounds, {checked:.1f} GB checked, {found} wrong; by hand {int(unsafe.wrong)}", flush=True)
        rounds += 1
        if rng.random() < 0.05:
            tp.configure_move(threads=rng.randint(1, 12), chunk_bytes=rng.choice([1 << 18, 1 << 20, 4 << 20]))
        if rng.random() < 0.05:
            tp.release_pinned()
    torch.cuda.synchronize()
    return checkers, unsafe, rounds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", help="where to write the result file")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    checkers, unsafe, rounds = run(arguments.seconds, arguments.seed)
    rows = []
    for name, checker in checkers.items():
        wrong = int(checker.wrong)
        rows.append(
            result_file.row(
                f"tp.{name}", "corruptions", "tensors", wrong, samples=checker.tensors, target=0,
                met=wrong == 0 and checker.tensors > 0, bytes=checker.bytes,
            )
        )  # fmt: skip
        print(f"tp.{name}: {wrong} of {checker.tensors} tensors wrong, {checker.bytes / 1e9:.1f} GB checked")
    failed = int(unsafe.wrong)
    rows.append(
        result_file.row(
            "prefetch by hand without record_stream", "corruptions", "tensors", failed, samples=unsafe.tensors,
            target=1, met=failed > 0, bytes=unsafe.bytes,
        )
    )  # fmt: skip
    print(f"by hand, without record_stream: {failed} of {unsafe.tensors} tensors wrong")
    if arguments.out:
        result_file.write(
            arguments.out, "move-stress", rows, seed=arguments.seed, seconds=arguments.seconds, rounds=rounds
        )
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
