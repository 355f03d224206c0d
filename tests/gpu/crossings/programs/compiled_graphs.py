"""What code of torch.compile copies leads to the function that was compiled, with each backend."""

import os
import tempfile

# Each run compiles and tunes anew, in this process: a run that finds the results of another makes fewer copies.
cache = tempfile.TemporaryDirectory()
os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache.name
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import torch  # noqa: E402


def by_eager(x):  # <- T1
    y = x.to("cuda")
    y = y * 2 + 1
    return y.cpu()


def by_aot_eager(x):  # <- T2
    y = x.to("cuda")
    y = y * 2 + 1
    return y.cpu()


def by_inductor(x):  # <- T3
    y = x.to("cuda")
    y = y * 2 + 1
    return y.cpu()


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
# expect T1: d2h count=3 bytes=12000 kinds=device->pageable blocked=3 function=by_eager
# expect T2: h2d count=3 bytes=12000 kinds=pageable->device blocked=3 function=by_aot_eager
# expect T2: d2h count=3 bytes=12000 kinds=device->pageable blocked=3 function=by_aot_eager
# expect T3: h2d count=3 bytes=12000 kinds=pageable->device function=by_inductor
# expect T3: d2h count=3 bytes=12000 kinds=device->pageable function=by_inductor
# Inductor tries its kernels on copies of their arguments, as many as time permits.
# expect T3: any
