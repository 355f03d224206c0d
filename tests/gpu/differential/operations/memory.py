"""Operations around memory: storages, lifetimes, page-locking, what has no memory."""

from __future__ import annotations

from operations import KIB, MIB, Block, Draw, operation


def _batch(d: Draw) -> str:
    count, size = d.one(2, 4, 20), d.one(400, 4 * KIB, 16 * KIB, 128 * KIB)
    return f"[stage.filled(turn, {size}) for turn in range({count})]"


@operation(5)
def own_storage(d: Draw, n: int) -> Block:
    call = d.one("tp.to", "tp.prefetch")
    block = Block("own_storage", "storages", call, n)
    if call == "tp.to":
        block.add(f"m{n} = way.to({_batch(d)}, dev)")
    else:
        block.add(f"m{n} = next(iter(way.prefetch([{_batch(d)}], dev)))")
    change = d.one("save", "grow", "free", "look", "set", "share")
    if change == "save":
        block.see(f"saved_bytes(m{n}[0])", change)
    elif change == "grow":
        block.add(f"m{n}[0].resize_({d.one(2, 3)} * m{n}[0].numel()).fill_(9)")
    elif change == "free":
        block.add(f"m{n}[0].untyped_storage().resize_(0)")
    elif change == "set":
        block.add(f"m{n}[0].set_(m{n}[1])")
    elif change == "share":
        block.add(f"m{n}[0].data = m{n}[0].data[:1]")
    block.attempt(f"lambda: [m + 0 for m in m{n}[1:]]", change)
    block.attempt(f"lambda: m{n}[1:]", change)
    return block


@operation(3)
def freed_or_zero(d: Draw, n: int) -> Block:
    call = d.one("tp.to", "tp.prefetch", "tp.copy_", "tp.pipeline")
    block = Block("freed_or_zero", "tensors without memory", call, n)
    items = d.one(10, 1000, 100_000, 1_000_000)
    block.add(f"a{n} = stage.filled(1, {d.one(4 * KIB, 300 * KIB)})")
    if d.chance(0.5):
        block.add(f"z{n} = torch._efficientzerotensor(({items},))")
    else:
        # Plain PyTorch raises only where there is a GPU to copy to.
        block.add(
            f"z{n} = stage.filled(7, {items * 4})",
            f"if stage.is_gpu: z{n}.untyped_storage().resize_(0)",
        )
    result = {
        "tp.to": f"way.to([a{n}, z{n}], dev)",
        "tp.prefetch": f"list(iterated(way.prefetch([[a{n}, z{n}]], dev)))",
        "tp.copy_": f"way.copy_(torch.ones({items}, device=dev), z{n}).wait()",
        "tp.pipeline": f"list(way.pipeline(lambda x: x + 1, [z{n}], dev))",
    }[call]
    plainly = " and None" if call == "tp.copy_" else ""
    block.add(f"def make{n}():\n    made = {result}\n    stage.settle()\n    return made{plainly}")
    block.attempt(f"make{n}")
    return block


@operation(4)
def memory_kept(d: Draw, n: int) -> Block:
    call = d.one("tp.to", "tp.prefetch", "tp.copy_", "tp.fetch", "tp.pipeline")
    block = Block("memory_kept", "lifetimes", call, n, is_alone=True)
    size, count = d.one((128 * KIB, 128), (4 * MIB, 16), (64 * MIB, 2), (60 * KIB, 500))
    block.add(f"before = stage.allocated()\nsource = [stage.filled(turn, {size}) for turn in range({count})]")
    block.add("reference = weakref.ref(source[0])", f"stage.busy({d.one(1, 20, 60)})")
    if call == "tp.to":
        block.add("moved = way.to(source, dev)")
        if d.chance(0.3):
            block.add("moved = way.to(moved, 'cpu')")
        block.add("del moved, source")
    elif call == "tp.prefetch":
        leave = d.one("", "\n    break", "\n    if turn == 1: break")
        block.add(
            f"for turn, batch in enumerate(way.prefetch([source, source[:1], source], dev)):\n    stage.busy(5){leave}",
            "del batch, source",
        )
    elif call == "tp.copy_":
        up = d.chance(0.5)
        block.add("on_gpu = [torch.empty_like(each, device=dev) for each in source]")
        block.add(f"work = [way.copy_(*pair) for pair in zip({'on_gpu, source' if up else 'source, on_gpu'})]")
        block.add("[each.wait() for each in work]", "del work, source, on_gpu")
    elif call == "tp.fetch":
        block.add("on_gpu = [each.to(dev) for each in source]", "fetched = [way.fetch(each) for each in on_gpu]")
        block.add("[each.result() for each in fetched]" if d.chance(0.5) else "None", "del fetched, source, on_gpu")
    else:
        block.add("for result in way.pipeline(lambda x: x * 2, source, dev): pass", "del result, source")
    block.add(f"log.at_most({block.labelled('MiB kept')!r}, stage.kept_mib(before))")
    block.see("stage.is_gone(reference)", "the source is gone")
    return block


@operation(4)
def pin_in_place(d: Draw, n: int) -> Block:
    block = Block("pin_in_place", "storages", "tp.pin_", n)
    size = d.one(4 * KIB, 1 * MIB, 8 * MIB, 64 * MIB)
    block.add(f"p{n} = way.pin_(stage.filled(1, {size}))")
    if d.chance(0.3):
        block.add(f"v{n} = way.pin_(p{n}[1:])")
    if d.chance(0.4):
        block.add(f"g{n} = p{n}.to(dev, non_blocking=True)", "stage.settle()")
    # To make it larger is refused while it is page-locked, which the catalogue has.
    change = d.one("share", "resize", "set", "drop", "unpin", "data", "look")
    block.add(
        {
            "share": f"p{n}.share_memory_()",
            "resize": f"p{n}.resize_({size // 8})",
            "set": f"p{n}.set_(torch.zeros(100))",
            "drop": f"p{n} = torch.zeros(100)",
            "unpin": f"way.unpin_(p{n})",
            "data": f"p{n}.data = torch.zeros(100)",
            "look": f"p{n}.add_(1)",
        }[change]
    )
    if change == "drop":
        block.add(f"v{n} = None")
    if not (change == "look"):
        block.add(f"n{n} = [stage.filled(turn + 2, {size}) for turn in range(2)]")
        block.see(f"n{n}", f"{change}: new tensors")
        block.see(f"[each.to(dev) for each in n{n}]", f"{change}: moved")
    block.see(f"p{n}[:25].to(dev)", change)
    return block


@operation(3)
def pin_and_move(d: Draw, n: int) -> Block:
    block = Block("pin_and_move", "values", "tp.pin_", n)
    block.add(f"p{n} = way.pin_(stage.tensor({d.one(100, 20_000, 300_000, 2_000_000)}, seed={n}))", *d.busy())
    block.add(f"g{n} = {d.one(f'p{n}.to(dev, non_blocking=True)', f'way.to([p{n}, p{n}[1:]], dev)')}")
    if d.chance(0.5):
        block.add(f"p{n} = None")
    else:
        block.add(f"way.unpin_(p{n})", f"p{n}.zero_()")
    block.see(f"g{n}")
    return block
