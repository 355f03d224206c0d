"""The first GPU sends to the second on the current streams of both, beside compute that does not need the data.

Says: the copy waits for the compute of both GPUs and holds it up; use side streams on both.
Silent: with side streams current on both.
"""

import torch

GPUS = 2
WIDTH = 4096


class Gpus:
    def __init__(self, device):
        self.first, self.second = (device, device) if device == "cpu" else ("cuda:0", "cuda:1")
        self.sent = torch.randn(WIDTH, WIDTH, device=self.first)
        self.received = torch.zeros(WIDTH, WIDTH, device=self.second)
        self.operands = [torch.randn(WIDTH, WIDTH, device=gpu).bfloat16() for gpu in (self.first, self.second)]
        self.results = [torch.empty_like(operand) for operand in self.operands]

    def compute(self):
        for operand, result in zip(self.operands, self.results, strict=True):
            torch.mm(operand, operand, out=result)


def positive(device):
    gpus = Gpus(device)

    def step(i):
        gpus.compute()
        gpus.received.copy_(gpus.sent, non_blocking=True)  # <- site

    return step


def near(device):
    gpus = Gpus(device)
    send, receive = torch.cuda.Stream(gpus.first), torch.cuda.Stream(gpus.second)

    def step(i):
        gpus.compute()
        with torch.cuda.stream(send), torch.cuda.stream(receive):
            gpus.received.copy_(gpus.sent, non_blocking=True)

    return step
