"""The table of what recording costs, from the rows of bench/cost."""

STEADY = "step, recorded over not recorded"
OVER_FLOOR = "step, recorded over bare CUPTI"
TITLES = {
    "mnist_64": "MNIST, 64 images",
    "mnist_64_one_core": "the same on one core",
    "hf_trainer": "Hugging Face Trainer, small BERT",
    "pyg_batches": "PyTorch Geometric, mini-batches",
    "nanogpt": "a small GPT",
    "detection": "torchvision's Faster R-CNN",
    "lightning_fit": "Lightning",
    "graph_500": "a CUDA graph of 500 kernels",
    "item_loop": "a loop of `.item()`",
    "item_loop_thread": "the same in a worker thread",
}
HEAD = ["program", "step", "CUPTI alone", "recorded", "over CUPTI alone", "alike processes apart"]


def table(rows, detail, programs=()):
    """The programs of the rows, or those named, at one detail. What was not measured is left empty."""
    known = {(row["case"], row["metric"]): row for row in rows}
    there = {case.rpartition(", ")[0] for case, metric in known if metric == STEADY and case.endswith(f", {detail}")}
    asked = [name for name in programs if name] or [name for name in TITLES if name in there]
    if lacking := [name for name in asked if name not in there] or sorted(
        name for name in there if name not in TITLES and "," not in name
    ):
        raise ValueError(f"bench/cost has no row or no title for {', '.join(lacking)}")
    lines = [HEAD, ["---"] * len(HEAD), *(cells(known, name, detail) for name in asked)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(known, name, detail):
    ours = known[f"{name}, {detail}", STEADY]
    bare = known.get((f"{name}, bare CUPTI, {detail}", STEADY))
    over = known.get((f"{name}, {detail}", OVER_FLOOR))
    apart = max(row["processes_apart"] for row in (ours, bare, over) if row)
    return [TITLES[name], step(ours["step_us"]), ratio(bare), ratio(ours), ratio(over), f"{100 * apart:.0f} %"]


def step(us):
    return f"{us:.0f} us" if us < 100 else f"{us / 1000:.{2 if us < 1000 else 1}f} ms"


def ratio(row):
    if row is None:
        return ""
    return f"{row['value']:.2f}" + ("" if row["spread"] is None else " ({:.2f}-{:.2f})".format(*row["spread"]))
