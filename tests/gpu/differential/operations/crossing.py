"""Operations around one crossing: nests up and down, sources that are written to, snapshots, pipelines."""

from __future__ import annotations

from operations import KIB, MIB, Block, Draw, operation


def _sources(d: Draw, block: Block, count: int, memory: str | None = None, most: int = 16 * MIB) -> list[str]:
    names = [f"s{block.number}_{index}" for index in range(count)]
    for name in names:
        block.add(f"{name} = {d.tensor(memory, most)}")
    return names


@operation(14)
def to_nest(d: Draw, n: int) -> Block:
    block = Block("to_nest", "values", "tp.to", n)
    names = _sources(d, block, d.one(1, 1, 2, 3, 8))
    if d.chance(0.15):  # views of one storage
        block.add(f"s{n}_view = {names[0]}[:1]" if d.chance(0.5) else f"s{n}_view = {names[0]}.detach()")
        names.append(f"s{n}_view")
    if d.chance(0.1):
        names += [f"stage.tensor({d.one(1, 7, 500)}, seed={index})" for index in range(d.one(20, 60))]
    options = d.one("", "", "", ", non_blocking=True", ", dtype=torch.float16", ", dtype=torch.float64")
    call = f"m{n} = way.to({d.nest(names)}, {d.one('dev', 'dev', 'torch.device(dev)')}{options})"
    side = d.one(0, 0, 0, 1, 2)
    block.add(*d.busy())
    if side and d.chance(0.5):
        block.add(f"with stage.on({side}):\n    stage.busy({d.one(0, 10)})\n    {call}", f"stage.join({side})")
    elif side:
        block.add(call[:-1] + f", stream=stage.stream({side}))", f"stage.join({side})")
    else:
        block.add(call)
    if d.chance(0.4) and "non_blocking" not in options:  # the call has returned: the source is the caller's
        block.add(f"if not {names[0]}.stride().count(0): {names[0]}.zero_()")
    block.see(f"m{n}")
    if d.chance(0.3) and not any("way.pin_" in line for line in block.statements):
        block.see(f"[{', '.join(names)}]", "sources")
    return block


@operation(5)
def download(d: Draw, n: int) -> Block:
    block = Block("download", "values", "tp.to", n)
    names = _sources(d, block, d.one(1, 1, 2, 5), "gpu")
    block.add(*d.busy())
    for name in names:
        if d.chance(0.4):
            block.add(f"if not {name}.stride().count(0): {name}.copy_({name} == 0)")
    options = d.one("", "", "", ", dtype=torch.float32")
    block.add(f"h{n} = way.to({d.nest(names)}, 'cpu'{options})")
    if d.chance(0.4):
        block.add(f"if not {names[0]}.stride().count(0): {names[0]}.zero_()")
    block.see(f"h{n}")
    return block


@operation(8)
def written_pinned(d: Draw, n: int) -> Block:
    """Page-locked memory that the GPU writes earlier in stream order."""
    call = d.one("tp.to", "tp.to", "tp.prefetch", "tp.copy_", "tp.pipeline")
    block = Block("written_pinned", "sources that the GPU writes", call, n)
    sizes = [max(4, d.size(4 * MIB)) for _ in range(d.one(1, 1, 2, 4))]
    make = d.one("stage.filled(0, {}, 'pinned')", "stage.filled(0, {}, 'pinned')", "way.pin_(stage.filled(0, {}))")
    block.add(f"p{n} = [{', '.join(make.format(size) for size in sizes)}]")
    block.add(f"g{n} = [torch.full_like(p, {n} + 1.0, device=dev) for p in p{n}]", "stage.settle()")
    write = f"for p, g in zip(p{n}, g{n}): p.copy_(g, non_blocking=True)"
    if d.chance(0.3):
        block.add(f"with stage.on(1):\n    stage.busy({d.one(10, 40)})\n    {write}", "stage.join(1)")
    else:
        block.add(f"stage.busy({d.one(10, 40)})", write)
    if call == "tp.to":
        block.add(f"m{n} = way.to({d.one(f'p{n}', f'dict(enumerate(p{n}))', f'p{n}[0]')}, dev)")
    elif call == "tp.prefetch":
        block.add(f"m{n} = [batch for batch in way.prefetch([p{n}, p{n}[:1]], dev, depth={d.one(1, 2)})]")
    elif call == "tp.copy_":
        block.add(f"m{n} = torch.zeros_like(g{n}[0])", f"way.copy_(m{n}, p{n}[0]).wait()")
    else:
        block.add(f"m{n} = [r for r in way.pipeline(lambda x: x * 2, p{n}, dev)]")
    block.see(f"m{n}")
    return block


@operation(5)
def copy_to_host(d: Draw, n: int) -> Block:
    block = Block("copy_to_host", "lifetimes", "tp.copy_", n)
    size = max(4, d.size(16 * MIB))
    block.add(f"g{n} = stage.tensor({size // 4}, seed={n}, memory='gpu')")
    block.add(f"h{n} = stage.placed(torch.zeros({size // 4}), {d.one('pageable', 'pinned', 'shared')!r})")
    block.add("stage.settle()", f"stage.busy({d.one(5, 40)})")
    if d.chance(0.3):
        block.add(f"g{n}.mul_(2)")
    finish = d.one("wait", "wait", "drop", "drop", "synchronize")
    if finish == "drop":
        block.add(f"way.copy_(h{n}, g{n})")
        if d.chance(0.4):
            block.add("stage.settle()")
    else:
        block.add(f"w{n} = way.copy_(h{n}, g{n})", f"w{n}.{finish}()")
    block.see(f"h{n}", finish)
    if d.chance(0.3):  # it is the caller's again: nothing writes to it later
        block.add(f"h{n}.zero_()", "stage.settle()")
        block.see(f"h{n}", "overwritten")
    block.add(f"w{n} = None")
    return block


@operation(3)
def copy_to_gpu(d: Draw, n: int) -> Block:
    block = Block("copy_to_gpu", "values", "tp.copy_", n)
    source = d.tensor(most=16 * MIB)
    block.add(f"h{n} = {source}")
    block.add(f"g{n} = torch.zeros(h{n}.shape, dtype={d.one(f'h{n}.dtype', 'torch.float32')}, device=dev)")
    block.add(*d.busy(), f"w{n} = way.copy_(g{n}, h{n})")
    block.add(f"w{n}.{d.one('wait', 'synchronize')}()" if d.chance(0.7) else f"w{n} = None")
    block.see(f"g{n}")
    return block


@operation(3)
def copy_on_gpu(d: Draw, n: int) -> Block:
    block = Block("copy_on_gpu", "values", "tp.copy_", n)
    block.add(f"g{n} = {d.tensor('gpu')}", f"t{n} = torch.zeros_like(g{n}, dtype=torch.float32)", *d.busy())
    block.add(f"w{n} = way.copy_(t{n}, g{n})", f"w{n}.wait()")
    if d.chance(0.5):
        block.add(f"if not g{n}.stride().count(0): g{n}.zero_()")
    block.see(f"t{n}")
    return block


@operation(6)
def fetch(d: Draw, n: int) -> Block:
    block = Block("fetch", "values", "tp.fetch", n)
    block.add(f"g{n} = {d.tensor('gpu')}", *d.busy())
    block.add(f"f{n} = way.fetch(g{n})")
    if d.chance(0.6):
        block.add(f"if not g{n}.stride().count(0): g{n}.zero_()")
    if d.chance(0.3):
        block.add(f"f{n}.ready()")
    if d.chance(0.3):
        block.add(f"g{n} = None")
    if d.chance(0.2):
        block.add(f"r{n} = in_thread(f{n}.result)()")
    else:
        block.add(f"r{n} = f{n}.result()")
    block.see(f"r{n}")
    if d.chance(0.3):  # it is the caller's: nothing writes to it later
        block.add(f"r{n}.zero_()", "stage.settle()")
        block.see(f"r{n}", "overwritten")
    return block


@operation(4)
def scalars(d: Draw, n: int) -> Block:
    block = Block("scalars", "values", "tp.fetch", n)
    block.add(f"k{n}, r{n} = way.scalars(every={d.one(1, 1, 4, 16)}), []")
    dtype = d.one("float32", "float32", "float64", "int64", "bool", "bfloat16")
    value = f"torch.tensor({d.one('step / 3', 'step', '2**53 + 1 + step')}, device=dev).to(torch.{dtype})"
    block.add(
        f"for step in range({d.one(1, 7, 40)}):\n    stage.busy({d.one(0, 1)})\n"
        f"    k{n}.add(loss={value}, number=step)\n    r{n} += k{n}.ready()"
    )
    block.see(f"r{n} + k{n}.finish()")
    return block


@operation(5)
def pipeline(d: Draw, n: int) -> Block:
    block = Block("pipeline", "outputs that are used again", "tp.pipeline", n)
    size, count = max(4, d.one(4 * KIB, 64 * KIB, 256 * KIB, 2 * MIB, 16 * MIB)), d.one(1, 4, 10)
    memory = d.one("pageable", "pageable", "pinned", "shared")
    block.add(f"i{n} = [stage.filled(turn + 1, {size}, {memory!r}) for turn in range({count})]")
    kind = d.one("new", "static", "static", "graph", "input", "nest", "view")
    out = ""
    if kind in ("new", "static", "graph") and d.chance(0.4):
        block.add(f"o{n} = [stage.filled(0, {size}, {d.one('pageable', 'pinned')!r}) for _ in i{n}]")
        out = f", out=o{n}"
    if kind in ("static", "graph", "view"):
        block.add(f"b{n} = torch.zeros_like(i{n}[0], device=dev)")
    if kind == "graph":
        block.add("stage.settle()", f"replay{n}, c{n} = stage.captured(lambda: b{n} * 2)")
        work = f"(b{n}.copy_(x), replay{n}(), c{n} if stage.is_gpu else b{n} * 2)[2]"
    else:
        work = {
            "new": "x * 2",
            "static": f"torch.mul(x, 2, out=b{n})",
            "input": "x.mul_(2)",
            "nest": "{'twice': x * 2, 'same': x}",
            "view": f"torch.mul(x, 2, out=b{n})[1:]",
        }[kind]
    block.add(f"def fn{n}(x):\n    stage.busy({d.one(0, 0, 2)})\n    return {work}")
    block.add(f"r{n} = list(way.pipeline(fn{n}, i{n}, dev, depth={d.one(1, 2, 3)}{out}))")
    block.see(f"r{n}", kind)
    return block


@operation(3)
def gradients(d: Draw, n: int) -> Block:
    block = Block("gradients", "gradients", "tp.to", n)
    block.add(
        f"x{n} = [stage.tensor({d.one(1, 100, 70_000)}, seed=turn).requires_grad_() for turn in range({d.one(1, 3)})]"
    )
    options = d.one("", ", dtype=torch.float64", ", dtype=torch.float16")
    block.add(f"y{n} = way.to(x{n}, dev{options})", f"sum((y * y).sum() for y in y{n}).backward()")
    block.see(f"x{n}")
    block.see(f"[y.requires_grad for y in y{n}]", "moved")
    if d.chance(0.3):
        block.add(f"z{n} = way.to(y{n}, 'cpu')", f"sum(z.sum() for z in z{n})")
        block.see(f"z{n}", "back")
    return block
