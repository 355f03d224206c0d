"""bench both: uploads and downloads at the same time, alone and in a loop; and memory of each NUMA node."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from turnpike._bench import numa, two_way
from turnpike._bench.machine import MIB, Machine
from turnpike._bench.timing import POISON, Case, Planned, Way

PYTORCH, TURNPIKE, PINNED = "PyTorch .to and .cpu()", "Turnpike", "pinned"
SIZE_BYTES = 512 * MIB


def plan(quick: bool, **_: Any) -> list[Planned]:
    cases = [Planned("both directions", both_directions, 2)]
    if quick:
        return cases
    cases.append(Planned(two_way.NAME, two_way.two_way, 2))
    nodes = numa.nodes()
    if len(nodes) > 1:
        cases += [Planned(f"up from NUMA node {node}", partial(from_node, node=node)) for node in nodes]
    return cases


def at_once(*runs: Callable[[], Any]) -> list[Any]:
    """Runs each in a thread of its own; their results, or the first exception of one."""
    results: list[Any] = [None] * len(runs)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            results[number] = runs[number]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(runs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def both_directions(m: Machine) -> Case:
    """512 MiB up from pageable and 512 MiB down into fresh memory; a thread for each direction."""
    torch = m.torch
    size = m.sized(SIZE_BYTES)
    up, down = m.pattern(size, 1), m.pattern(size, 2)
    up_wanted, down_source = up.to(m.device), down.to(m.device)
    up_pinned, down_pinned = m.pin(up), m.empty_pinned(size // 4, torch.int32)
    streams = m.new_stream(), m.new_stream()

    def prepare() -> None:
        down_pinned.view(torch.uint8).fill_(POISON)
        m.poison(size, *streams)

    def on(stream: Any, run: Callable[[], Any]) -> Callable[[], Any]:
        def run_there() -> Any:
            with m.use(stream):
                result = run()
                stream.synchronize()
            return result

        return run_there

    def pytorch() -> Any:
        return at_once(on(streams[0], lambda: up.to(m.device)), on(streams[1], down_source.cpu))

    def turnpike() -> Any:
        return at_once(
            on(streams[0], lambda: m.tp.to(up, m.device)), on(streams[1], lambda: m.tp.to(down_source, "cpu"))
        )

    def pinned() -> Any:
        with m.use(streams[0]):
            crossed = up_pinned.to(m.device, non_blocking=True)
        with m.use(streams[1]):
            down_pinned.copy_(down_source, non_blocking=True)
        return crossed, down_pinned

    def check(pair: Any) -> None:
        m.on_device(pair[0])
        m.same(pair[0], up_wanted, "the upload")
        m.same(pair[1], down, "the download")

    def by_turns() -> Any:
        return m.tp.to(up, m.device), m.tp.to(down_source, "cpu")

    ways = [
        Way(PYTORCH, "pytorch", pytorch, check, prepare),
        Way("Turnpike, one after the other", "turnpike", by_turns, check, prepare),
        Way(TURNPIKE, "turnpike", turnpike, check, prepare),
        Way(PINNED, "bound", pinned, check, prepare),
    ]
    buffers = {"the upload's source": up, "the pinned buffer": down_pinned}
    return Case(
        "both directions",
        "GB/s",
        2 * size,
        ways,
        PYTORCH,
        bound=PINNED,
        notes=[numa.sentence(m.pci_address(), buffers)],
    )


def from_node(m: Machine, node: int) -> Case:
    size = m.sized(SIZE_BYTES)
    memory = numa.memory_on(node, size)
    source = m.torch.frombuffer(memory, dtype=m.torch.int32)
    source.copy_(m.pattern(size))
    wanted = source.to(m.device)

    def check(crossed: Any) -> None:
        m.on_device(crossed)
        m.same(crossed, wanted)

    def way(name: str, role: str, run: Callable[[], Any]) -> Way:
        return Way(name, role, run, check, prepare=lambda: m.poison(size))

    ways = [
        way("PyTorch .to", "pytorch", lambda: source.to(m.device)),
        way(TURNPIKE, "turnpike", lambda: m.tp.to(source, m.device)),
    ]
    return Case(
        f"up from NUMA node {node}",
        "GB/s",
        size,
        ways,
        "PyTorch .to",
        notes=[numa.sentence(m.pci_address(), {"the source": source})],
    )
