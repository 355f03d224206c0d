"""Operations around tp.prefetch: loaders of every kind, and what the loop and other libraries see of them."""

from __future__ import annotations

from operations import KIB, MIB, Block, Draw, operation


def _batch(d: Draw) -> str:
    """The expression of a batch that depends on `turn`."""
    size = d.one(400, 4 * KIB, 64 * KIB, 256 * KIB, 2 * MIB, 5 * MIB)
    memory = d.one("pageable", "pageable", "pinned", "shared")
    first = f"stage.filled(turn, {size}, {memory!r})"
    return d.one(
        first, f"[{first}, torch.arange(turn + 1)]", f"{{'x': {first}, 'y': torch.ones(turn, 3).t(), 'name': 'a'}}",
        f"[stage.filled(turn + k, {min(size, 64 * KIB)}) for k in range({d.one(3, 20)})]",
    )  # fmt: skip


@operation(8)
def prefetch(d: Draw, n: int) -> Block:
    block = Block("prefetch", "order", "tp.prefetch", n)
    length = d.one(0, 1, 2, 5, 9)
    if d.chance(0.5):
        block.add(f"l{n} = [{_batch(d)} for turn in range({length})]")
    else:
        block.add(
            f"def batches{n}():\n    for turn in range({length}):\n        yield {_batch(d)}", f"l{n} = batches{n}()"
        )
    options = f"depth={d.one(1, 2, 2, 4)}" + d.one("", "", ", dtype=torch.float64")
    side = d.one(0, 0, 0, 1)
    leave = f"\n    if turn == {d.randrange(6)}: break" if d.chance(0.3) else ""
    work = d.one("", f"\n    stage.busy({d.one(1, 5, 20)})")
    loop = (
        f"for turn, batch in enumerate(way.prefetch(l{n}, dev, {options})):{work}\n"
        f"    log.see({block.labelled('batch')!r}, batch){leave}"
    )
    if side:
        loop = f"with stage.on({side}):\n    " + loop.replace("\n", "\n    ")
    block.add(loop)
    if side:
        block.add(f"stage.join({side})")
    block.add("batch = None")
    block.see(f"len(l{n}) if isinstance(l{n}, list) else 'over'", "over")
    return block


@operation(4)
def refill(d: Draw, n: int) -> Block:
    """A loader that fills the same memory for every batch."""
    block = Block("refill", "values", "tp.prefetch", n)
    size, count, depth = d.one(400, 64 * KIB, MIB, 5 * MIB, 16 * MIB), d.one(1, 1, 2, 3, 5, 8), d.one(1, 2, 2, 4)
    memory = d.one("pageable", "pageable", "pinned", "shared", "NumPy")
    made = f"stage.filled(0, {size}, {memory!r})"
    if memory == "NumPy":
        made = f"torch.from_numpy(np.zeros({size // 4}, dtype=np.float32))"
    buffer = f"b[turn % {count}].fill_(turn)"
    batch = d.one(
        buffer, f"[{buffer}, torch.full((9,), float(turn))]", f"{{'x': {buffer}[::2]}}", f"list({buffer}.view(4, -1))",
        f"{buffer}[:1].expand(50000)",
    )  # fmt: skip
    block.add(
        f"def refilled{n}():\n    b = [{made} for _ in range({count})]\n"
        f"    for turn in range({d.one(3, 9, 14)}):\n        yield {batch}"
    )
    work = d.one("", f"\n    stage.busy({d.one(1, 5, 20)})")
    block.add(
        f"for batch in way.prefetch(refilled{n}(), dev, depth={depth}):{work}\n"
        f"    log.see({block.labelled('batch')!r}, batch)",
        "batch = None",
    )
    return block


@operation(3)
def two_loops(d: Draw, n: int) -> Block:
    """Two iterators of one loader in turns, and a second epoch."""
    block = Block("two_loops", "order", "tp.prefetch", n)
    block.add(f"l{n} = way.prefetch([{_batch(d)} for turn in range(5)], dev, depth={d.one(1, 2, 3)})")
    block.see(f"[pair for pair in zip(l{n}, l{n})]", "in turns")
    block.see(f"[len(l{n}), len(list(l{n}))]", "lengths")
    block.see(f"list(map(list, zip(*[iter(l{n})] * 2)))", "pairs")
    return block


@operation(4)
def random_numbers(d: Draw, n: int) -> Block:
    block = Block("random_numbers", "random numbers", "tp.prefetch", n, is_alone=True)
    workers = 2 if d.chance(0.15) else 0
    block.add(f"seed_all({d.randrange(100)})")
    dataset = d.one("Drawing()", "Numbers(12)") if not workers else "Numbers(12)"
    sampler = d.one("shuffle=True", "sampler=LazySampler(12)", "sampler=LazySampler(12, 'random')")
    loader = f"DataLoader({dataset}, batch_size=2, num_workers={workers}, {sampler})"
    if not workers and d.chance(0.3):
        loader = d.one("(torch.rand(100) for _ in range(6))", "(torch.full((9,), np.random.rand()) for _ in range(6))")
    block.add(f"loader = {loader}")
    leave = "    if turn == 2: break\n" if d.chance(0.3) else ""
    block.add(
        f"for turn, batch in enumerate(way.prefetch(loader, dev, depth={d.one(1, 2, 4)})):\n"
        f"    log.see({block.labelled('batch')!r}, batch)\n{leave}    log.see({block.labelled('drawn')!r}, draws(dev))"
    )
    block.see("draws(dev)", "drawn afterwards")
    return block


@operation(3)
def bad_batches(d: Draw, n: int) -> Block:
    block = Block("bad_batches", "exceptions", "tp.prefetch", n)
    bad = tuple(sorted(d.sample(range(8), d.one(1, 2, 3))))
    loader = d.one(
        f"Failing(8, {bad})", f"Failing(8, {bad})", "DataLoader(Broken(), batch_size=2)",
        f"(1 // (turn - {bad[0]}) * torch.ones(9) for turn in range(8))",
        f"[torch.ones(4) if turn not in {bad} else torch.ones(4).untyped_storage() for turn in range(8)]",
    )  # fmt: skip
    if d.chance(0.1):
        loader = "DataLoader(Broken(), batch_size=2, num_workers=2)"
    block.see(f"list(iterated(way.prefetch({loader}, dev, depth={d.one(1, 2, 4)})))")
    return block


@operation(3)
def inference(d: Draw, n: int) -> Block:
    block = Block("inference", "autograd", "tp.prefetch", n)
    mode = d.one("torch.inference_mode()", "torch.inference_mode()", "torch.no_grad()")
    block.add(f"w{n} = torch.ones((), device=dev, requires_grad=True)")
    block.add(f"i{n} = iter(way.prefetch([stage.filled(turn, {d.one(400, 64 * KIB, MIB)}) for turn in range(5)], dev))")
    block.add(f"with {mode}:\n    log.see({block.labelled('inside')!r}, next(i{n}))")
    block.add(f"def step{n}():\n    (next(i{n}) * w{n}).sum().backward()\n    return w{n}.grad.clone()")
    for turn in range(3):
        block.attempt(f"step{n}", f"step {turn}")
    block.see(f"list(i{n})", "rest")
    return block


@operation(3)
def resumable(d: Draw, n: int) -> Block:
    block = Block("resumable", "frameworks", "tp.prefetch", n)
    block.add(f"l{n}, s{n} = way.prefetch(Resumable(), dev, depth={d.one(1, 2, 4)}), []")
    block.add(
        f"for turn, batch in enumerate(l{n}):\n    s{n}.append(l{n}.state_dict())\n"
        f"    if turn == {d.randrange(12)}: break"
    )
    block.add(f"a{n} = way.prefetch(Resumable(), dev)", f"a{n}.load_state_dict(s{n}[-1])")
    block.see(f"s{n}", "states")
    block.see(f"list(a{n})", "resumed")
    return block


@operation(2)
def attributes(d: Draw, n: int) -> Block:
    block = Block("attributes", "frameworks", "tp.prefetch", n)
    block.add(f"l{n} = Resumable(4)", f"p{n} = way.prefetch(l{n}, dev)", f"p{n}.{d.one('epoch', '_length')} = 2")
    block.see(f"[getattr(l{n}, 'epoch', None), l{n}._length, len(p{n})]")
    block.see(f"list(p{n})", "batches")
    wrapped = d.one("(turn for turn in range(2))", "[]", "[torch.ones(2)]", "range(3)")
    block.attempt(f"lambda: bool(way.prefetch({wrapped}, dev))", "bool")
    return block


@operation(1.5)
def accelerate_loops(d: Draw, n: int) -> Block:
    block = Block("accelerate_loops", "frameworks", "tp.prefetch", n, is_alone=True)
    steps, order = d.one(1, 2, 3), d.one("outside", "inside")
    items, batch = d.one(7, 8, 10, 11), d.one(2, 3, 4)
    block.add(f"accelerator = accelerator_of(stage, gradient_accumulation_steps={steps})")
    block.add(f"loader = DataLoader(Numbers({items}), batch_size={batch}, shuffle={d.chance(0.3)})")
    block.add("seed_all(1)", f"loader = both_ways(way, stage, accelerator, loader, {order!r})")
    block.add(
        "model, optimizer = (lambda m: accelerator.prepare(m, torch.optim.SGD(m.parameters(), lr=1e-3)))"
        "(torch.nn.Linear(64, 1))"
    )
    block.add(
        "for batch in loader:\n"
        "    with accelerator.accumulate(model):\n"
        "        accelerator.backward(model(batch / 10).mean())\n"
        "        optimizer.step()\n"
        "        optimizer.zero_grad()\n"
        f"    log.see({block.labelled('state')!r}, [accelerator.sync_gradients, "
        "accelerator.gradient_state.end_of_dataloader, len(accelerator.gather_for_metrics(batch))])"
    )
    block.see("[parameter.detach().clone() for parameter in model.parameters()]", "weights")
    return block


@operation(3)
def containers(d: Draw, n: int) -> Block:
    call = d.one("tp.to", "tp.prefetch")
    block = Block("containers", "containers", call, n)
    size = d.one(100, 16 * KIB, 100 * KIB)
    kind = d.one(
        "attribute",
        "getitem",
        "namespace",
        "deque",
        "lazy",
        "cache",
        "encoding",
        "counter",
        "ordered",
        "graph",
        "packed",
    )
    make = {
        "attribute": f"AttributeDict(x=stage.filled(1, {size}), y=[stage.filled(2, 400)])",
        "getitem": f"GetItemDict(x=stage.filled(1, {size}), y=[stage.filled(2, 400)])",
        "namespace": f"types.SimpleNamespace(x=stage.filled(1, {size}), y=3)",
        "deque": f"collections.deque([stage.filled(1, {size}), stage.filled(2, 400)], maxlen={d.one(2, 5)})",
        "lazy": "LazyMapping({'a': 1, 'b': 2})",
        "cache": f"(lambda made: (made.doubled, made)[1])(WithCache(stage.filled(1, {size})))",
        "encoding": f"BatchEncoding({{'x': stage.filled(1, {size}), 'y': torch.arange(4)}})",
        "counter": f"collections.defaultdict(list, {{'x': [stage.filled(1, {size})]}})",
        "graph": f"graph_batch({d.randrange(9)})",
        "packed": "torch.nn.utils.rnn.pack_sequence([torch.ones(5, 2), torch.zeros(3, 2)])",
        "ordered": f"collections.OrderedDict(x=stage.filled(1, {size}), y=())",
    }[kind]
    if kind == "encoding":
        block.add("from transformers import BatchEncoding")
    # A mapping that makes its items anew gives those that it was made with once it has been moved.
    read = {
        "lazy": "lambda nest: [nest[key] for key in nest]",
        "graph": "lambda nest: [nest['x'], nest['edge_index']]",
    }.get(kind, "lambda nest: nest")
    options = ", dtype=torch.float16" if call == "tp.to" and kind not in ("cache", "graph") and d.chance(0.3) else ""
    moved = f"way.to({make}, dev{options})" if call == "tp.to" else f"next(iter(way.prefetch([{make}], dev)))"
    block.attempt(f"lambda: ({read})({moved})", kind)
    return block
