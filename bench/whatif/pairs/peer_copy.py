"""A pipeline over two GPUs: the first sends what it computed to the second. A copy between GPUs waits for the current
streams of both, so it holds up both. Fixed: side streams are current on both while it is issued, and two slots that an
event protects carry the data.
"""

import torch

EDITS = ["side_streams@{line}"]
GPUS = 2
ROWS = 32768
WIDTH = 1024
DRY_RUN = {"ROWS": 64, "WIDTH": 32}


class Stages:
    """One matrix product on each GPU: what the first makes, the second takes."""

    def __init__(self, device):
        torch.manual_seed(0)
        self.first, self.second = (device, device) if device == "cpu" else ("cuda:0", "cuda:1")
        # float32: products in bfloat16 draw so much power that a GPU slows down when nothing interrupts them.
        options = {"dtype": torch.float32}
        self.batches = [torch.randn(ROWS, WIDTH, **options).to(self.first) for _ in range(3)]
        self.weights = (torch.randn(WIDTH, WIDTH, **options) / WIDTH**0.5).to(self.first)
        self.more_weights = (torch.randn(WIDTH, WIDTH, **options) / WIDTH**0.5).to(self.second)
        self.made = [torch.empty(ROWS, WIDTH, **options).to(self.first) for _ in range(2)]
        self.taken = [torch.empty(ROWS, WIDTH, **options).to(self.second) for _ in range(2)]
        self.out = torch.empty(ROWS, WIDTH, **options).to(self.second)
        self.total = torch.zeros((), device=self.second)
        for device in {self.first, self.second}:
            torch.cuda.synchronize(device)

    def make(self, i):
        slot = i % 2
        torch.mm(self.batches[i % 3], self.weights, out=self.made[slot])

    def take(self, i):
        torch.mm(self.taken[i % 2], self.more_weights, out=self.out)
        self.total.add_(self.out[::64].float().abs().mean())

    def result(self):
        for device in {self.first, self.second}:
            torch.cuda.synchronize(device)
        return self.total.cpu()


def as_is(device):
    stages = Stages(device)

    def step(i):
        slot = i % 2
        stages.make(i)
        stages.taken[slot].copy_(stages.made[slot], non_blocking=True)  # <- edit
        stages.take(i)

    return step, stages.result


def fixed(device):
    stages = Stages(device)
    compute, other_compute = torch.cuda.current_stream(stages.first), torch.cuda.current_stream(stages.second)
    send, receive = torch.cuda.Stream(stages.first), torch.cuda.Stream(stages.second)
    sent = [torch.cuda.Event() for _ in range(2)]
    used = [torch.cuda.Event() for _ in range(2)]

    def step(i):
        slot = i % 2
        compute.wait_event(sent[slot])  # the copy of two steps ago has read this slot
        stages.make(i)
        send.wait_stream(compute)
        receive.wait_event(used[slot])  # the product of two steps ago has read the other
        with torch.cuda.stream(send), torch.cuda.stream(receive):
            stages.taken[slot].copy_(stages.made[slot], non_blocking=True)
        sent[slot].record(send)
        other_compute.wait_stream(receive)
        stages.take(i)
        used[slot].record(other_compute)

    return step, stages.result
