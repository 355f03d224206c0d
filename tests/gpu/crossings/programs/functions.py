"""Lambdas, closures, methods, comprehensions and decorated functions, by their qualified names."""

import functools

import torch

x = torch.ones(1000)
upload = lambda t: t.to("cuda")  # <- T1  # noqa: E731


def make_uploader():
    def inner(t):
        return t.to("cuda")  # <- T2

    return inner


class Uploader:
    @functools.lru_cache  # noqa: B019
    def once(self, size):
        return torch.ones(size).to("cuda")  # <- T3

    @staticmethod
    def plain(t):
        return t.to("cuda")  # <- T4


upload(x)
make_uploader()(x)
uploader = Uploader()
uploader.once(1000)
uploader.once(1000)
Uploader.plain(x)
copies = [x.to("cuda") for _ in range(3)]  # <- T5

# expect T1: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1 function=<lambda>
# expect T2: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1 function=make_uploader.<locals>.inner
# expect T3: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1 function=Uploader.once
# expect T4: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1 function=Uploader.plain
# expect T5: h2d count=3 bytes=12000 kinds=pageable->device op=aten::to blocked=3
