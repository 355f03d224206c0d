"""Operations around the call: streams, threads, captures, signals, forks, the end of the process."""

from __future__ import annotations

from operations import KIB, MIB, Block, Draw, operation


@operation(1.5)
def busy_streams(d: Draw, n: int) -> Block:
    """What a call may keep the host waiting for, with a kernel of 200 ms in a stream."""
    block = Block("busy_streams", "time in the call", d.one("tp.to", "tp.fetch", "tp.copy_"), n, is_alone=True)
    size = d.one(4 * KIB, 64 * KIB, 255 * KIB, MIB, 19 * MIB // 10, 2 * MIB, 4 * MIB, 8 * MIB, 32 * MIB) // 8 * 8
    is_other = d.chance(0.5)
    block.add(f"source = [stage.filled(turn, {size}) for turn in range({d.one(1, 1, 4)})]")
    block.add("on_gpu = way.to(source, dev)", "way.to(source[0], dev)", "stage.settle()")
    if is_other:  # a large upload waits behind a kernel, this call goes to another stream
        block.add(
            "large = stage.filled(1, 64 * MIB)",
            "def behind():\n    with stage.on(1):\n        stage.busy(200)\n        way.to(large, dev)",
            "join = in_thread(behind)",
            "started.wait(0.05)",
        )
        block.statements.insert(0, "started = threading.Event()")
    else:
        block.add("stage.busy(200)")
    call = {
        "tp.to": "way.to(source, dev)" if d.chance(0.5) else "way.to(source[0], dev)",
        "tp.fetch": "way.fetch(on_gpu[0])",
        "tp.copy_": "way.copy_(on_gpu[0], source[0])",
    }[block.call]
    side = 2 if is_other else 0
    block.add(
        f"with stage.on({side}), log.timed({block.labelled('other stream' if is_other else 'same stream')!r}"
        + ("" if is_other else ", must_not_wait=True")
        + "):\n"
        f"    moved = {call}" + ("\n    stage.wait_for_stream()" if is_other else "")
    )
    if is_other:
        block.add("join()")
    block.add("stage.settle()", "moved = None")
    block.see("on_gpu[0]", "moved before")
    return block


@operation(6)
def capture(d: Draw, n: int) -> Block:
    """A graph captured while something crosses."""
    call = d.one("tp.to", "tp.prefetch", "tp.fetch", "tp.copy_", "tp.pipeline", "tp.pin_")
    block = Block("capture", "captures", call, n)
    size, waits = d.one(4 * KIB, 1 * MIB, 8 * MIB, 32 * MIB), d.one(True, False)
    block.add(f"x{n} = torch.ones(1000, device=dev)", f"s{n} = [stage.filled(turn, {size}) for turn in range(4)]")
    block.add(
        f"def capture{n}():\n    replay, result = stage.captured(lambda: x{n} * 3, waits={waits})\n    replay()\n"
        "    return result",
        f"capture{n}()",
    )
    attempt = f"log.attempt({block.labelled('captured')!r}, capture{n})"
    busy = f"stage.busy({d.one(0, 5, 20)})"
    if call == "tp.to":
        block.add(busy, f"m{n} = way.to(s{n}, dev)", attempt)
    elif call == "tp.prefetch":
        block.add(
            f"m{n} = []\nfor batch in way.prefetch(s{n}, dev):\n    {busy}\n    {attempt}\n    m{n}.append(batch)"
        )
    elif call == "tp.fetch":
        block.add(f"g{n} = [each.to(dev) for each in s{n}]", busy, f"m{n} = [way.fetch(each) for each in g{n}]")
        block.add(attempt, f"m{n} = [each.result() for each in m{n}]")
    elif call == "tp.copy_":
        block.add(f"m{n} = [torch.zeros_like(each, device=dev) for each in s{n}]", busy)
        block.add(f"w{n} = [way.copy_(*pair) for pair in zip(m{n}, s{n})]", attempt, f"[w.wait() for w in w{n}]")
    elif call == "tp.pipeline":
        block.add(
            f"m{n} = []\nfor each in way.pipeline(lambda x: x + 1, s{n}, dev):\n    {attempt}\n    m{n}.append(each)"
        )
    else:
        block.add(f"way.pin_(s{n}[0])", f"m{n} = s{n}[0].to(dev, non_blocking=True)", attempt, f"way.unpin_(s{n}[0])")
    block.see(f"m{n}", "moved")
    return block


@operation(1.5)
def inside_a_capture(d: Draw, n: int) -> Block:
    """Questions to what is under way, and references that go, during a capture."""
    block = Block("inside_a_capture", "captures", "tp.fetch", n)
    block.add(f"g{n} = stage.filled(3, {d.one(400, MIB, 16 * MIB)}, 'gpu')", f"k{n} = way.scalars()", "stage.settle()")
    block.add(f"stage.busy({d.one(1, 20)})", f"f{n} = way.fetch(g{n})", f"k{n}.add(first=g{n}[0])", f"r{n} = []")
    if d.chance(0.4):
        block.add(f"h{n} = torch.zeros_like(g{n}, device='cpu')", f"b{n} = [way.copy_(h{n}, g{n}), way.fetch(g{n})]")
        drop = f"b{n}.clear()"
    else:
        drop = "None"
    block.add(
        f"def work{n}():\n    f{n}.ready()\n    r{n}.extend(k{n}.ready())\n    {drop}\n    return g{n} * 2",
        f"def capture{n}():\n    stage.captured(work{n}, waits={d.chance(0.5)})\n    return True",
    )
    block.attempt(f"capture{n}", "captured")
    block.attempt(f"f{n}.result", "fetched")
    block.attempt(f"lambda: r{n} + k{n}.finish()", "rows")
    return block


@operation(3)
def threads(d: Draw, n: int) -> Block:
    call = d.one("tp.to", "tp.fetch", "tp.prefetch")
    block = Block("threads", "threads", call, n)
    sizes = [d.size(4 * MIB) for _ in range(3)]
    work = {
        "tp.to": "way.to(sources, dev)",
        "tp.fetch": "[way.fetch(each.to(dev)).result() for each in sources]",
        "tp.prefetch": "list(way.prefetch([sources, sources[1:]], dev))",
    }[call]
    block.add(
        f"def thread{n}(number):\n"
        f"    sources = [stage.filled(number + size, size // 4 * 4) for size in {sizes}]\n"
        f"    with stage.on({d.one(0, 'number')}):\n        stage.busy({d.one(0, 5)})\n        moved = {work}\n"
        "        stage.wait_for_stream()\n    return moved"
    )
    # Begun and awaited in one statement: plain PyTorch itself may not copy while another thread captures.
    started = f"[in_thread(lambda number=number: thread{n}(number)) for number in range({d.one(2, 4)})]"
    block.attempt(f"lambda: [join() for join in {started}]")
    return block


@operation(2.5)
def interrupts(d: Draw, n: int) -> Block:
    call = d.one("tp.to", "tp.prefetch", "tp.fetch", "tp.pipeline")
    block = Block("interrupts", "exceptions", call, n, is_alone=True)
    size, count = d.one((4 * KIB, 400), (MIB, 16), (16 * MIB, 4))
    block.add(f"source = [stage.filled(turn, {size}) for turn in range({count})]", "kept = way.to(source, dev)")
    work = {
        "tp.to": "lambda: way.to(source, dev)",
        "tp.prefetch": "lambda: list(way.prefetch(source, dev))",
        "tp.fetch": "lambda: [way.fetch(each).result() for each in kept]",
        "tp.pipeline": "lambda: list(way.pipeline(lambda x: x + 1, source, dev))",
    }[call]
    block.add(
        f"for turn in range({d.one(3, 8)}):\n    interrupted({d.uniform(0.05, 8):.2f} * (1 + turn), {work})\n"
        f"    log.attempt({block.labelled('kept')!r}, lambda: [each.cpu() for each in kept])"
    )
    block.attempt(work.removeprefix("lambda: ").join(("lambda: ", "")), "afterwards")
    return block


@operation(0.5)
def forks(d: Draw, n: int) -> Block:
    """A process forked before CUDA is used, which moves; or while something crosses, which lets go of it."""
    block = Block("forks", "forks", "tp.to", n, is_alone=True, is_isolated=True)
    if d.chance(0.5):
        size = d.one(4 * KIB, 4 * MIB)
        block.add(
            f"def child():\n    before = way.moved_bytes()\n    sources = [stage.filled(k, {size}) for k in range(4)]\n"
            "    total = [float(each.sum()) for each in way.to(sources, dev)]\n"
            "    is_moved = before is None or not stage.is_gpu or way.moved_bytes() > before\n"
            "    return total, is_moved"
        )
        block.see("in_fork(child)", "before CUDA")
        block.see("way.to([torch.ones(100)] * 2, dev)", "the parent afterwards")
    else:
        block.call = d.one("tp.copy_", "tp.fetch", "tp.prefetch")
        block.add("x = stage.filled(1, 4 * MIB, 'gpu')", "y = torch.zeros(MIB)", "stage.busy(20)")
        under_way = {
            "tp.copy_": "way.copy_(y, x)",
            "tp.fetch": "way.fetch(x)",
            "tp.prefetch": "iter(way.prefetch([y, y, y], dev))",
        }[block.call]
        block.add(f"held = [{under_way}]")
        if block.call == "tp.prefetch":
            block.add("batch = next(held[0])")
        block.see("in_fork(lambda: held.clear() or 1)", "under way")
        block.see("[x, way.to([y, y[1:]], dev)]", "the parent afterwards")
    return block


@operation(0.5)
def ends_of_processes(d: Draw, n: int) -> Block:
    """A process that ends while something is under way."""
    call = d.one("tp.to", "tp.prefetch", "tp.fetch", "tp.copy_", "tp.pin_")
    block = Block("ends_of_processes", "ends of processes", call, n, is_alone=True, is_isolated=True)
    block.add(f"source = [stage.filled(turn, {d.one(4 * KIB, MIB, 16 * MIB)}) for turn in range(20)]")
    block.add("on_gpu = way.to(source, dev)", f"stage.busy({d.one(0, 20)})")
    if call == "tp.to":
        block.add(
            "def forever():\n    while True: way.to(source, dev)",
            f"daemons = [in_thread(forever, is_daemon=True) for _ in range({d.one(1, 3)})]",
            f"threading.Event().wait({d.one(0.01, 0.3)})",
        )
    elif call == "tp.prefetch":
        workers = d.one(0, 2)
        loader = f"DataLoader(Numbers(), batch_size=2, num_workers={workers})" if d.chance(0.5) else "source"
        block.add(f"iterator = iter(way.prefetch({loader}, dev))", "batch = next(iterator)")
    elif call == "tp.fetch":
        block.add("fetched = [way.fetch(each) for each in on_gpu]")
    elif call == "tp.copy_":
        block.add("works = [way.copy_(*pair) for pair in zip(source, on_gpu)]")
    else:
        block.add("[way.pin_(each) for each in source]", "moved = [each.to(dev, non_blocking=True) for each in source]")
    if d.chance(0.3):
        block.add("raise SystemExit(3)" if d.chance(0.5) else "1 / 0")
    return block


@operation(1)
def workers(d: Draw, n: int) -> Block:
    block = Block("workers", "order", "tp.prefetch", n)
    options = d.one("", ", pin_memory=stage.is_gpu", ", persistent_workers=True", ", drop_last=True")
    block.add(f"l{n} = DataLoader(Numbers({d.one(3, 24)}), batch_size=4, num_workers={d.one(1, 2)}{options})")
    leave = f"\n        if turn == {d.randrange(3)}: break" if d.chance(0.4) else ""
    block.add(
        f"for epoch in range({d.one(1, 2)}):\n    for turn, batch in enumerate(way.prefetch(l{n}, dev)):\n"
        f"        log.see({block.labelled('batch')!r}, batch){leave}"
    )
    block.add(f"l{n} = None")
    return block
