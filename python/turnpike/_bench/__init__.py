"""`turnpike bench NAME`: the classic transfer experiments, done by PyTorch, by hand, and by Turnpike.

An experiment is a file of this package: it lists cases, and a case is a few ways to do the same thing. timing.py lets
the ways take turns and checks what they did; figures.py makes medians, ratios and verdicts of it; table.py, result.py
and plot.py show them. Everything but the experiments' own ways works without PyTorch and without a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence

# Experiments of this package, in the order of `turnpike bench all`. The native command lists the same
# (src/cli/bench.cpp): it does so where there is no Python.
EXPERIMENTS = {
    "to": "Host to device: pageable, strided and converted tensors of 64 KiB to 4 GiB; upload in the loop and once",
    "small": "Hundreds of small tensors to the device, one by one and packed",
    "d2h": "Device to host, into fresh and into touched memory, 1 MiB to 4 GiB",
    "prefetch": "A training loop whose uploads overlap its computation, also with busy CPUs",
    "loader": "A training loop over a DataLoader with 0, 2 and 8 workers: batches of 1.5, 16 and 64 MiB, and a nest",
    "fetch": "A training loop that logs its loss in every step",
    "pin": "Pinning existing memory, and how much host memory each way takes",
    "pipeline": "Copy in, multiply, copy out; and how much GPU memory each way takes",
    "peer": "Copies between two GPUs during computation, on the stream of the sender or the receiver",
    "both": "Both directions at once; memory of each NUMA node",
}
# Measured by the native executable: needs neither Python nor PyTorch.
NATIVE = ("link",)


def is_ours(arguments: Sequence[str]) -> bool:
    """Whether `turnpike` with these arguments is for this package; the native executable does the rest."""
    if not arguments or arguments[0] != "bench":
        return False
    words = [word for word in arguments[1:] if not word.startswith("-")]
    if not words:
        # `turnpike bench` and its --help are the native list.
        return len(arguments) > 1 and arguments[1] not in ("-h", "--help")
    return words[0] not in NATIVE and any(word == "all" or word in EXPERIMENTS for word in words)
