"""What code of torch.compile copies leads to the lines that it was compiled from, with each backend."""

import os
import tempfile

# Each run compiles and tunes anew, in this process: a run that finds the results of another makes fewer copies.
cache = tempfile.TemporaryDirectory()
os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache.name
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import torch  # noqa: E402


def by_eager(x):
    y = x.to("cuda")  # <- T1
    y = y * 2 + 1
    return y.cpu()  # <- T2


def by_aot_eager(x):
    y = x.to("cuda")  # <- T3
    y = y * 2 + 1
    return y.cpu()  # <- T4


# Its variables have names of their own: of two graphs that differ in a node of the same name, neither is known.
def by_inductor(x):  # <- TUNED
    up = x.to("cuda")  # <- T5
    scaled = up * 2 + 1
    return scaled.cpu()  # <- T6


made = [
    torch.compile(function, backend=backend, fullgraph=True)
    for function, backend in ((by_eager, "eager"), (by_aot_eager, "aot_eager"), (by_inductor, "inductor"))
]
x = torch.ones(1000)
for function in made:
    for _ in range(3):
        y = function(x)
    print(y.sum().item())

# suite: count=none
# expect T1: h2d count=3 bytes=12000 kinds=pageable->device blocked=3 function=by_eager
# expect T2: d2h count=3 bytes=12000 kinds=device->pageable blocked=3 function=by_eager
# expect T3: h2d count=3 bytes=12000 kinds=pageable->device blocked=3 function=by_aot_eager
# expect T4: d2h count=3 bytes=12000 kinds=device->pageable blocked=3 function=by_aot_eager
# expect T5: h2d count=3 bytes=12000 kinds=pageable->device function=by_inductor
# expect T6: d2h count=3 bytes=12000 kinds=device->pageable function=by_inductor
# Inductor tries its kernels on copies of their arguments, as many as time permits. A kernel is shown at its last line.
# expect TUNED: any
# expect T6: any
